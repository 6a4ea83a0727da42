// dispatch.cpp: loops whose pieces are asked for while they run.
#include <algorithm>

#include "llvm/ident.hpp"
#include "llvm/loop.hpp"
#include "llvm/static_deal.hpp"

namespace weft::omp::llvm {
namespace {

// What the schedule asks for. `*unit`: pieces are multiples of it (simd).
LoopSpec spec_of(const Member& member, int kind, uint64_t trip, uint64_t chunk, uint64_t* unit) {
  const uint64_t members = static_cast<uint64_t>(member.team->n);
  switch (kind) {
    case schedule::kStaticChunked:
      return {.trip = trip, .chunk = chunk, .deal = Deal::kStatic};
    case schedule::kStatic:
    case schedule::kStaticGreedy:
    case schedule::kStaticBalanced:
      return {.trip = trip, .deal = Deal::kStatic};
    case schedule::kStaticBalancedChunked: {
      const uint64_t even = trip / members + (trip % members != 0 ? 1 : 0);
      return {.trip = trip, .chunk = (even + chunk - 1) / chunk * chunk, .deal = Deal::kStatic};
    }
    case schedule::kDynamic:
    case schedule::kStaticSteal:
      return {.trip = trip, .chunk = chunk, .deal = Deal::kDynamic};
    case schedule::kRuntime:
      return runtime_spec(member, trip);
    case schedule::kRuntimeSimd: {
      // guided's pieces are multiples of the chunk as well.
      LoopSpec spec = runtime_spec(member, trip);
      *unit = chunk * (spec.deal == Deal::kGuided ? std::max<uint64_t>(spec.chunk, 1) : 1);
      if (spec.deal == Deal::kGuided) spec.chunk = 1;
      spec.trip = (trip + *unit - 1) / *unit;
      return spec;
    }
    case schedule::kGuidedSimd:
      *unit = chunk;
      return {.trip = (trip + chunk - 1) / chunk, .chunk = 1, .deal = Deal::kGuided};
    default:  // guided in all its shapes, and auto
      return {.trip = trip, .chunk = chunk, .deal = Deal::kGuided};
  }
}

template <typename T, typename S = std::make_signed_t<T>>
void dispatch_init(Member& member, int32_t schedule, T lower, T upper, S step, S chunk) {
  bool ordered = false;
  const int kind = plain_schedule(schedule, &ordered);
  const uint64_t trip = trip_count<T>(lower, upper, step);
  uint64_t unit = 1;
  LoopSpec spec = spec_of(member, kind, trip, chunk < 1 ? 1 : static_cast<uint64_t>(chunk), &unit);
  spec.ordered = ordered;
  enter_loop(member, spec);
  member.loop_base = static_cast<uint64_t>(lower);
  member.loop_step = static_cast<uint64_t>(step);
  member.loop_unit = unit;
  member.loop_trip = trip;
  if (tool::there()) tool::work_begins(member, tool::work_of(member, member.share->spec), trip);
}

template <typename T, typename S = std::make_signed_t<T>>
int32_t dispatch_next(int32_t gtid, int32_t* last, T* lower, T* upper, S* step) {
  Member& member = *thread_of(gtid).member;
  uint64_t first = 0;
  uint64_t end = 0;
  if (!member.loop_open) return 0;
  if (!loop_next(member, &first, &end)) {
    leave_loop(member);
    if (tool::there()) tool::work_ends(member);
    return 0;
  }
  first *= member.loop_unit;
  end = std::min(end * member.loop_unit, member.loop_trip);
  *lower = static_cast<T>(member.loop_base + first * member.loop_step);
  *upper = static_cast<T>(member.loop_base + (end - 1) * member.loop_step);
  if (step != nullptr) *step = static_cast<S>(member.loop_step);
  if (last != nullptr) *last = end == member.loop_trip;
  if (tool::there()) tool::piece(member, ompt_dispatch_ws_loop_chunk, static_cast<uint64_t>(*lower), end - first);
  return 1;
}

// Of the team's part of the loop.
template <typename T, typename S = std::make_signed_t<T>>
void dist_dispatch_init(int32_t gtid, int32_t schedule, int32_t* last, T lower, T upper, S step, S chunk) {
  Member& member = *thread_of(gtid).member;
  const Bounds<T> bounds = {&lower, &upper, step};
  const bool last_team = bounds.trip() != 0 && deal_even(bounds, seat_in_league(member));
  if (last != nullptr) *last = last_team;
  dispatch_init<T>(member, schedule, lower, upper, step, chunk);
}

}  // namespace
}  // namespace weft::omp::llvm

using namespace weft::omp;
using namespace weft::omp::llvm;

// fini: an ordered iteration has been done. What comes after it is let on with the whole piece, in loop_next().
#define WEFT_OMP_DISPATCH(suffix, T, S)                                                                                \
  WEFT_OMP_API void __kmpc_dispatch_init_##suffix(Ident*, int32_t gtid, int32_t schedule, T lower, T upper, S step,    \
                                                  S chunk) {                                                           \
    const tool::Entry entry(WEFT_OMP_CALLER);                                                                          \
    dispatch_init<T>(*thread_of(gtid).member, schedule, lower, upper, step, chunk);                                    \
  }                                                                                                                    \
  WEFT_OMP_API void __kmpc_dist_dispatch_init_##suffix(Ident*, int32_t gtid, int32_t schedule, int32_t* last, T lower, \
                                                       T upper, S step, S chunk) {                                     \
    const tool::Entry entry(WEFT_OMP_CALLER);                                                                          \
    dist_dispatch_init<T>(gtid, schedule, last, lower, upper, step, chunk);                                            \
  }                                                                                                                    \
  WEFT_OMP_API int32_t __kmpc_dispatch_next_##suffix(Ident*, int32_t gtid, int32_t* last, T* lower, T* upper,          \
                                                     S* step) {                                                        \
    const tool::Entry entry(WEFT_OMP_CALLER);                                                                          \
    return dispatch_next<T>(gtid, last, lower, upper, step);                                                           \
  }                                                                                                                    \
  WEFT_OMP_API void __kmpc_dispatch_fini_##suffix(Ident*, int32_t) {}
WEFT_OMP_DISPATCH(4, int32_t, int32_t)
WEFT_OMP_DISPATCH(4u, uint32_t, int32_t)
WEFT_OMP_DISPATCH(8, int64_t, int64_t)
WEFT_OMP_DISPATCH(8u, uint64_t, int64_t)
#undef WEFT_OMP_DISPATCH

// The loop is over, also where it has been left by cancellation.
WEFT_OMP_API void __kmpc_dispatch_deinit(Ident*, int32_t gtid) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  Member& member = *thread_of(gtid).member;
  leave_loop(member);
  if (tool::there()) tool::work_ends(member);
}

// ---- sections that are asked for one by one. How many there are is said at each question.

// 0: the caller is alone, does them all, and asks for none.
WEFT_OMP_API int32_t __kmpc_sections_init(Ident*, int32_t gtid) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  constexpr uint64_t kMany = uint64_t{1} << 32;
  Member& member = *thread_of(gtid).member;
  if (tool::there()) tool::work_begins(member, ompt_work_sections, 0);
  if (member.team->n == 1) return 0;
  enter_loop(member, {.trip = kMany, .chunk = 1, .deal = Deal::kDynamic});
  return 1;
}

// `count`: there is none left.
WEFT_OMP_API int32_t __kmpc_next_section(Ident*, int32_t gtid, int32_t count) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  Member& member = *thread_of(gtid).member;
  uint64_t first = 0;
  uint64_t end = 0;
  if (!member.loop_open || !loop_next(member, &first, &end)) return count;
  if (tool::there() && first < static_cast<uint64_t>(count)) tool::section(member);
  return static_cast<int32_t>(std::min(first, static_cast<uint64_t>(count)));
}

WEFT_OMP_API void __kmpc_end_sections(Ident*, int32_t gtid) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  Member& member = *thread_of(gtid).member;
  leave_loop(member);
  if (tool::there()) tool::work_ends(member);
}
