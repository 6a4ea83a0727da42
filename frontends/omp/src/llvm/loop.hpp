// loop.hpp: what the loops of clang's code share: schedules, and the construct that a member is in.
#pragma once

#include <cstdint>

#include "icv.hpp"
#include "team.hpp"
#include "workshare.hpp"

namespace weft::omp::llvm {

// Numbers of the ABI's; ordered ones are 32 above, and "nomerge" ones 128.
namespace schedule {
inline constexpr int kStaticChunked = 33;
inline constexpr int kStatic = 34;
inline constexpr int kDynamic = 35;
inline constexpr int kGuided = 36;
inline constexpr int kRuntime = 37;
inline constexpr int kAuto = 38;
inline constexpr int kTrapezoidal = 39;
inline constexpr int kStaticGreedy = 40;
inline constexpr int kStaticBalanced = 41;
inline constexpr int kGuidedIterative = 42;
inline constexpr int kGuidedAnalytical = 43;
inline constexpr int kStaticSteal = 44;
inline constexpr int kStaticBalancedChunked = 45;  // pieces are multiples of the chunk: simd
inline constexpr int kGuidedSimd = 46;
inline constexpr int kRuntimeSimd = 47;
inline constexpr int kOrderedFirst = 65;
inline constexpr int kOrderedLast = 71;
inline constexpr int kDistributeChunked = 91;
inline constexpr int kDistribute = 92;
inline constexpr int kNomergeFirst = 160;
inline constexpr int kModifiers = 0x60000000;  // monotonic, nonmonotonic
}  // namespace schedule

// Modifiers off; `ordered` says whether it was one of those.
inline int plain_schedule(int schedule, bool* ordered) {
  int kind = schedule & ~schedule::kModifiers;
  if (kind > schedule::kNomergeFirst) kind -= 128;
  *ordered = kind >= schedule::kOrderedFirst && kind <= schedule::kOrderedLast;
  return *ordered ? kind - 32 : kind;
}

// Number of iterations of [lower, upper] by `step`, in 64 bits: 2^64 counts as 0.
template <typename T>
uint64_t trip_count(T lower, T upper, int64_t step) {
  if (step == 0 || (step > 0 ? lower > upper : lower < upper)) return 0;
  const uint64_t distance = step > 0 ? static_cast<uint64_t>(upper) - static_cast<uint64_t>(lower)
                                     : static_cast<uint64_t>(lower) - static_cast<uint64_t>(upper);
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  return distance / stride + 1;
}

// Enters the construct, after leaving one that was left by cancellation. It takes a doacross nest's loops with it that
// has been told of before.
void enter_loop(Member& member, LoopSpec spec);
// Ends the construct that the member is in, if it is in one.
void leave_loop(Member& member);

}  // namespace weft::omp::llvm
