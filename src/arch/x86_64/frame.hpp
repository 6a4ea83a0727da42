// frame.hpp (x86-64): what a thread was at that a signal has interrupted. Async-signal-safe.
#pragma once

#include <ucontext.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace weft::rt {

inline uintptr_t frame_ip(const ucontext_t& frame) noexcept {
  return static_cast<uintptr_t>(frame.uc_mcontext.gregs[REG_RIP]);
}

// It was in the kernel, in a call that fails for the signal or is about to be begun again: the registers hold the call's number and
// arguments again then, and the instruction pointer is before it.
inline bool frame_in_kernel(const ucontext_t& frame) noexcept {
  if (frame.uc_mcontext.gregs[REG_RAX] == -EINTR) return true;
  const auto* code = reinterpret_cast<const unsigned char*>(frame.uc_mcontext.gregs[REG_RIP]);
  return code[0] == 0x0f && code[1] == 0x05;
}

// The general registers, in no order that matters: neither the instruction pointer nor the flags are among them.
inline constexpr unsigned kFrameGeneral = 16;
static_assert(REG_R8 == 0 && REG_RSP == kFrameGeneral - 1);
inline uint64_t frame_general(const ucontext_t& frame, unsigned i) noexcept {
  return static_cast<uint64_t>(frame.uc_mcontext.gregs[i]);
}

// A number for what the vector and floating-point registers hold, but for vectors' upper halves.
inline uint64_t frame_vectors(const ucontext_t& frame) noexcept {
  constexpr uint64_t kFactor = 0x9e3779b97f4a7c15;
  uint64_t sum = 0;
  const auto add = [&sum](uint64_t value) { sum = (sum ^ value ^ sum >> 29) * kFactor; };
  const auto* state = frame.uc_mcontext.fpregs;
  if (state == nullptr) return sum;
  for (const auto& vector : state->_xmm) {
    uint64_t halves[2];
    std::memcpy(halves, &vector, sizeof halves);
    add(halves[0]);
    add(halves[1]);
  }
  // Ten bytes each: nobody writes the others.
  for (const auto& number : state->_st) {
    uint64_t significand;
    std::memcpy(&significand, number.significand, sizeof significand);
    add(significand);
    add(number.exponent);
  }
  return sum;
}

}  // namespace weft::rt
