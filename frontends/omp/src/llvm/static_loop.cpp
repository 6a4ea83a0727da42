// static_loop.cpp: loops that are dealt out beforehand, to a team, to a league, or to both.
#include "llvm/ident.hpp"
#include "llvm/loop.hpp"
#include "llvm/static_deal.hpp"

namespace weft::omp::llvm {
namespace {

// Nobody needs a shared construct for such a loop, but to cancel it, or to wait within it.
void enter_static(Member& member) {
  if (device().cancel || member.doacross != nullptr) [[unlikely]] enter_loop(member, {.trip = 0, .deal = Deal::kStatic});
}

// What a tool is told. `bounds`: the piece that the thread has got, or its first one.
template <typename T>
[[gnu::noinline]] void tell_piece(Member& member, ompt_work_t kind, Bounds<T> bounds) {
  const auto first = static_cast<uint64_t>(*bounds.lower);
  switch (kind) {
    case ompt_work_sections: return tool::section(member);
    case ompt_work_distribute: return tool::piece(member, ompt_dispatch_distribute_chunk, first, bounds.trip());
    default: return tool::piece(member, ompt_dispatch_ws_loop_chunk, first, bounds.trip());
  }
}

void say(int32_t* last, bool value) {
  if (last != nullptr) *last = value;
}

// clang's code for chunks of one goes through what its team of a league has by the stride alone: one thread must not be given all of
// it as one piece, with the stride that leads behind its end.
bool goes_by_stride(const Member& member, int kind, int64_t chunk) {
  return kind == schedule::kStaticChunked && chunk <= 1 && member.team->in_league;
}

template <typename T>
bool deal(int kind, Bounds<T> bounds, Seat seat, int64_t chunk, std::make_signed_t<T>* stride, bool one_by_one) {
  const auto whole = static_cast<std::make_signed_t<T>>(bounds.trip());
  *stride = bounds.step > 0 ? whole : -whole;
  if (seat.count == 1 && !one_by_one) return true;
  switch (kind) {
    case schedule::kStaticChunked:
    case schedule::kDistributeChunked:
      return deal_turns(bounds, seat, chunk, stride);
    case schedule::kStaticBalancedChunked:
      return deal_even_multiple(bounds, seat, chunk);
    default:
      return deal_even(bounds, seat);
  }
}

template <typename T, typename S = std::make_signed_t<T>>
void static_init(const Ident* ident, int32_t gtid, int32_t schedule, int32_t* last, T* lower, T* upper, S* stride, S step,
                 S chunk) {
  Member& member = *thread_of(gtid).member;
  bool ordered = false;
  const int kind = plain_schedule(schedule, &ordered);
  const bool distribute = kind == schedule::kDistribute || kind == schedule::kDistributeChunked;
  if (!distribute) enter_static(member);
  const Bounds<T> bounds = {lower, upper, step};
  const bool sections = ident != nullptr && (ident->flags & kIdentSections) != 0;
  const ompt_work_t work = distribute ? ompt_work_distribute : sections ? ompt_work_sections : ompt_work_loop_static;
  if (tool::there()) tool::work_begins(member, work, bounds.trip());
  if (bounds.trip() == 0) {
    say(last, false);
    *stride = step;
    return;
  }
  say(last, deal(kind, bounds, distribute ? seat_in_league(member) : seat_in_team(member), chunk, stride,
                 goes_by_stride(member, kind, chunk)));
  if (tool::there() && bounds.trip() != 0) tell_piece(member, work, bounds);
}

// `upper_of_team` becomes the last of what the team has, of which the thread gets the first piece.
template <typename T, typename S = std::make_signed_t<T>>
void dist_static_init(int32_t gtid, int32_t schedule, int32_t* last, T* lower, T* upper, T* upper_of_team, S* stride,
                      S step, S chunk) {
  Member& member = *thread_of(gtid).member;
  enter_static(member);
  bool ordered = false;
  const int kind = plain_schedule(schedule, &ordered);
  const Bounds<T> bounds = {lower, upper, step};
  *upper_of_team = *upper;
  if (tool::there()) tool::work_begins(member, ompt_work_distribute, bounds.trip());
  if (bounds.trip() == 0) {
    say(last, false);
    *stride = step;
    return;
  }
  const bool last_team = deal_even(bounds, seat_in_league(member));
  *upper_of_team = *upper;
  if (bounds.trip() == 0) {
    say(last, false);
    *stride = step;
    return;
  }
  say(last, deal(kind, bounds, seat_in_team(member), chunk, stride, goes_by_stride(member, kind, chunk)) && last_team);
  if (tool::there() && bounds.trip() != 0) tell_piece(member, ompt_work_distribute, bounds);
}

template <typename T, typename S = std::make_signed_t<T>>
void team_static_init(int32_t gtid, int32_t* last, T* lower, T* upper, S* stride, S step, S chunk) {
  const Bounds<T> bounds = {lower, upper, step};
  if (bounds.trip() == 0) {
    say(last, false);
    *stride = step;
    return;
  }
  say(last, deal_turns(bounds, seat_in_league(*thread_of(gtid).member), chunk, stride));
}

}  // namespace
}  // namespace weft::omp::llvm

using namespace weft::omp;
using namespace weft::omp::llvm;

#define WEFT_OMP_STATIC_LOOPS(suffix, T, S)                                                                              \
  WEFT_OMP_API void __kmpc_for_static_init_##suffix(Ident* ident, int32_t gtid, int32_t schedule, int32_t* last,         \
                                                    T* lower, T* upper, S* stride, S step, S chunk) {                    \
    const tool::Entry entry(WEFT_OMP_CALLER);                                                                            \
    static_init<T>(ident, gtid, schedule, last, lower, upper, stride, step, chunk);                                      \
  }                                                                                                                      \
  WEFT_OMP_API void __kmpc_dist_for_static_init_##suffix(Ident*, int32_t gtid, int32_t schedule, int32_t* last,          \
                                                         T* lower, T* upper, T* upper_of_team, S* stride, S step,        \
                                                         S chunk) {                                                      \
    const tool::Entry entry(WEFT_OMP_CALLER);                                                                            \
    dist_static_init<T>(gtid, schedule, last, lower, upper, upper_of_team, stride, step, chunk);                         \
  }                                                                                                                      \
  WEFT_OMP_API void __kmpc_team_static_init_##suffix(Ident*, int32_t gtid, int32_t* last, T* lower, T* upper, S* stride, \
                                                     S step, S chunk) {                                                  \
    team_static_init<T>(gtid, last, lower, upper, stride, step, chunk);                                                  \
  }
WEFT_OMP_STATIC_LOOPS(4, int32_t, int32_t)
WEFT_OMP_STATIC_LOOPS(4u, uint32_t, int32_t)
WEFT_OMP_STATIC_LOOPS(8, int64_t, int64_t)
WEFT_OMP_STATIC_LOOPS(8u, uint64_t, int64_t)
#undef WEFT_OMP_STATIC_LOOPS

WEFT_OMP_API void __kmpc_for_static_fini(Ident*, int32_t gtid) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  Member& member = *thread_of(gtid).member;
  leave_loop(member);
  if (tool::there()) tool::work_ends(member);
}
