// fp_environment.hpp (x86-64): the control words of SSE and x87.
#pragma once

#include <cstdint>

namespace weft::rt {

struct FpEnvironment {
  uint32_t mxcsr = 0x1f80;
  uint16_t x87 = 0x037f;
};

inline FpEnvironment fp_save() noexcept {
  FpEnvironment env;
  asm volatile("stmxcsr %0" : "=m"(env.mxcsr));
  asm volatile("fnstcw %0" : "=m"(env.x87));
  env.mxcsr &= ~0x3fu;  // control bits only, not the sticky exception flags
  return env;
}

// The exception flags stay as they are; but one of x87's that is not masked any more would raise its exception now, at whoever comes next.
inline void fp_restore(const FpEnvironment& env) noexcept {
  uint32_t mxcsr;
  uint16_t x87_flags;
  asm volatile("stmxcsr %0" : "=m"(mxcsr));
  asm volatile("fnstsw %0" : "=m"(x87_flags));
  mxcsr = (mxcsr & 0x3fu) | env.mxcsr;
  asm volatile("ldmxcsr %0" ::"m"(mxcsr));
  if ((x87_flags & ~env.x87 & 0x3fu) != 0) asm volatile("fnclex");
  asm volatile("fldcw %0" ::"m"(env.x87));
}

inline bool operator==(const FpEnvironment& a, const FpEnvironment& b) noexcept {
  return a.mxcsr == b.mxcsr && a.x87 == b.x87;
}

}  // namespace weft::rt
