// jump.hpp (x86-64): where a longjmp() leads to.
#pragma once

#include <setjmp.h>

#include <cstdint>

namespace weft::rt {

// The stack pointer of the setjmp(), as the C library hides it.
inline uintptr_t jump_stack_pointer(const __jmp_buf_tag& target) noexcept {
  constexpr unsigned kStackPointer = 6;
  uintptr_t hidden = static_cast<uintptr_t>(target.__jmpbuf[kStackPointer]);
  asm("rorq $17, %0\n\txorq %%fs:0x30, %0" : "+r"(hidden) : : "cc");
  return hidden;
}

}  // namespace weft::rt
