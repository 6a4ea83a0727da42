// registers.hpp (x86-64): what an unwinder starts from, numbered as DWARF does.
#pragma once

#include <ucontext.h>

#include <cstdint>

#include "arch/x86_64/context.hpp"

namespace weft::rt {

struct Registers {
  static constexpr unsigned kCount = 17;
  static constexpr unsigned kBx = 3, kBp = 6, kSp = 7, k12 = 12, kIp = 16;

  uintptr_t value[kCount] = {};
  uint32_t known = 0;  // a bit for each

  uintptr_t ip() const noexcept { return value[kIp]; }
  uintptr_t sp() const noexcept { return value[kSp]; }
  uintptr_t bp() const noexcept { return value[kBp]; }
  bool has(unsigned number) const noexcept { return number < kCount && (known >> number & 1) != 0; }
  void set(unsigned number, uintptr_t to) noexcept {
    value[number] = to;
    known |= 1u << number;
  }
};

// A suspended ULT's. What the compiler saved at the switch is found by the unwinder.
inline Registers registers_of(const Context& context) noexcept {
  Registers registers;
  registers.set(Registers::kIp, reinterpret_cast<uintptr_t>(context.ip));
  registers.set(Registers::kSp, reinterpret_cast<uintptr_t>(context.sp));
  registers.set(Registers::kBp, reinterpret_cast<uintptr_t>(context.bp));
  return registers;
}

// Those of a thread that a signal has interrupted.
inline Registers registers_of(const ucontext_t& context) noexcept {
  constexpr int kInOrder[Registers::kCount] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                               REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                               REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  Registers registers;
  for (unsigned i = 0; i < Registers::kCount; ++i) {
    registers.set(i, static_cast<uintptr_t>(context.uc_mcontext.gregs[kInOrder[i]]));
  }
  return registers;
}

// The caller's own, of use as long as the function that asks does not return.
[[gnu::always_inline]] inline Registers registers_here() noexcept {
  uintptr_t ip, sp, bp, bx, r12, r13, r14, r15;
  asm volatile(
      "leaq 0(%%rip), %0\n\t"
      "movq %%rsp, %1\n\t"
      "movq %%rbp, %2\n\t"
      : "=r"(ip), "=r"(sp), "=r"(bp));
  asm volatile(
      "movq %%rbx, %0\n\t"
      "movq %%r12, %1\n\t"
      "movq %%r13, %2\n\t"
      "movq %%r14, %3\n\t"
      "movq %%r15, %4\n\t"
      : "=m"(bx), "=m"(r12), "=m"(r13), "=m"(r14), "=m"(r15));
  Registers registers;
  registers.set(Registers::kIp, ip);
  registers.set(Registers::kSp, sp);
  registers.set(Registers::kBp, bp);
  registers.set(Registers::kBx, bx);
  registers.set(Registers::k12, r12);
  registers.set(Registers::k12 + 1, r13);
  registers.set(Registers::k12 + 2, r14);
  registers.set(Registers::k12 + 3, r15);
  return registers;
}

}  // namespace weft::rt
