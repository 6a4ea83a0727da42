// stack_fault.hpp: code has come to run on a stack of ours, which does not allow that.
#pragma once

#include <signal.h>

namespace weft::rt {

// From the handler of a SIGSEGV. True: a library that was loaded meanwhile has asked for that (unit/stack_code.hpp); now it is allowed, and the
// code goes on. Any thread.
bool stack_fault_is_code(const siginfo_t& info, const ucontext_t& frame) noexcept;

}  // namespace weft::rt
