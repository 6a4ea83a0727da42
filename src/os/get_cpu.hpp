// get_cpu.hpp: where the calling thread is, as the kernel says; not as a word says that the C library has it keep for each thread (rseq).
#pragma once

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" [[gnu::weak]] int getcpu(unsigned*, unsigned*) noexcept;  // glibc 2.29: without a system call

namespace weft::rt {

inline bool get_cpu(unsigned& cpu, unsigned& node) noexcept {
  return (&getcpu != nullptr ? getcpu(&cpu, &node) : syscall(SYS_getcpu, &cpu, &node, nullptr)) == 0;
}

}  // namespace weft::rt
