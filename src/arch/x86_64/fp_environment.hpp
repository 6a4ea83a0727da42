// fp_environment.hpp (x86-64): the control words of SSE and x87.
#pragma once

#include <cstdint>

namespace weft::rt {

struct FpEnvironment {
  uint32_t mxcsr;
  uint16_t x87;
};
inline constexpr FpEnvironment kFpOfNewThreads{0x1f80, 0x037f};

inline FpEnvironment fp_save() noexcept {
  FpEnvironment env;
  asm volatile("stmxcsr %0" : "=m"(env.mxcsr));
  asm volatile("fnstcw %0" : "=m"(env.x87));
  env.mxcsr &= ~0x3fu;  // control bits only, not the sticky exception flags
  return env;
}

// As it is, with SSE's exception flags, to where it is read by fp_get() alone: a load that follows closely would wait for the store.
[[gnu::always_inline]] inline void fp_put(FpEnvironment& env) noexcept {
  asm volatile("stmxcsr %0" : "=m"(env.mxcsr));
  asm volatile("fnstcw %0" : "=m"(env.x87));
}
// x87's flags stay as they are, whoever has raised them; but where an exception is not masked one of them would raise that now.
[[gnu::always_inline]] inline void fp_get(const FpEnvironment& env) noexcept {
  asm volatile("ldmxcsr %0" ::"m"(env.mxcsr));
  if (__builtin_expect((env.x87 & 0x3f) != 0x3f, 0)) asm volatile("fnclex");
  asm volatile("fldcw %0" ::"m"(env.x87));
}

// The controls alone: all flags stay as they are.
inline void fp_restore(const FpEnvironment& env) noexcept {
  FpEnvironment now;
  asm volatile("stmxcsr %0" : "=m"(now.mxcsr));
  now.mxcsr = (now.mxcsr & 0x3fu) | (env.mxcsr & ~0x3fu);
  now.x87 = env.x87;
  fp_get(now);
}

// But for the flags.
inline bool operator==(const FpEnvironment& a, const FpEnvironment& b) noexcept {
  return ((a.mxcsr ^ b.mxcsr) & ~0x3fu) == 0 && a.x87 == b.x87;
}

}  // namespace weft::rt
