// get_cpu.hpp: where the calling thread is, as the kernel says; not as a word says that the C library has it keep for each thread (rseq).
#pragma once

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::rt {

inline bool get_cpu(unsigned& cpu, unsigned& node) noexcept {
#if __GLIBC_PREREQ(2, 29)
  return getcpu(&cpu, &node) == 0;  // without a system call
#else
  return syscall(SYS_getcpu, &cpu, &node, nullptr) == 0;
#endif
}

}  // namespace weft::rt
