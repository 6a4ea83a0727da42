// thread_pointer.hpp (x86-64): the thread pointer, the FS base. Thread-local variables lie below it, the C library's
// record of the thread begins at it, and its first word is itself.
//
// A function that changes it uses no thread-local variable: the compiler takes for granted that it stays what it is.
#pragma once

#include <asm/prctl.h>
#include <sys/syscall.h>

#include <cstdint>

namespace weft::rt {

// With which the C library registers its restartable sequences' area (RSEQ_SIG of its newer headers).
inline constexpr long kRseqSignature = 0x53053053;

// Whether the kernel lets programs write it by an instruction (Linux 5.9, with FSGSBASE). Else a system call does.
extern bool thread_pointer_by_instruction;
// Asks the kernel. Before the first thread_pointer_set().
void thread_pointer_setup() noexcept;

[[gnu::always_inline]] inline uintptr_t thread_pointer() noexcept {
  uintptr_t value;
  asm volatile("movq %%fs:0, %0" : "=r"(value));
  return value;
}

[[gnu::always_inline]] inline void thread_pointer_set(uintptr_t value) noexcept {
  if (__builtin_expect(thread_pointer_by_instruction, 1)) {
    asm volatile("wrfsbase %0" ::"r"(value) : "memory");
    return;
  }
  // Not syscall(), which sets errno.
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "0"(SYS_arch_prctl), "D"(ARCH_SET_FS), "S"(value)
               : "rcx", "r11", "memory");
}

}  // namespace weft::rt
