// system_call.hpp: a system call that touches nothing else, errno included.
#pragma once

namespace weft::rt {

#if defined(__x86_64__)

// The kernel's answer as it is: -EINTR, and so on.
[[gnu::always_inline]] inline long system_call(long number, long a, long b, long c, long d) noexcept {
  register long fourth asm("r10") = d;
  long result;
  asm volatile("syscall" : "=a"(result) : "0"(number), "D"(a), "S"(b), "d"(c), "r"(fourth) : "rcx", "r11", "memory");
  return result;
}

[[gnu::always_inline]] inline long system_call(long number, long a, long b, long c, long d, long e, long f) noexcept {
  register long fourth asm("r10") = d;
  register long fifth asm("r8") = e;
  register long sixth asm("r9") = f;
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "0"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
               : "rcx", "r11", "memory");
  return result;
}

#else
#error "weft: no system call for this ISA yet: add it to src/arch/system_call.hpp"
#endif

}  // namespace weft::rt
