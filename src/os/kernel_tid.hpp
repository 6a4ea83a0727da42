// kernel_tid.hpp: the kernel's number of the thread that runs this. gettid() may tell a ULT another one: intercept/number.cpp.
#pragma once

#include <sys/syscall.h>

#include "arch/system_call.hpp"

namespace weft::rt {

inline int kernel_tid() noexcept { return static_cast<int>(system_call(SYS_gettid, 0, 0, 0, 0)); }

}  // namespace weft::rt
