// loop.hpp: gcc's loops in terms of workshare.hpp.
//
// The compiler's numbers are long, or unsigned long long with an increment that has wrapped around where the loop goes down.
// Both fit in 64 bits that wrap around: LoopSpec::start, end and incr carry them, and iteration i is start + i * incr.
// A chunk that ends the loop is given out with the loop's own end: start + trip * incr may lie beyond what the type can hold.
#pragma once

#include <cstdint>

#include "team.hpp"
#include "workshare.hpp"

namespace weft::omp::gnu {

struct Reductions;
using Ull = unsigned long long;

// Values of the `sched` argument; bit 31: monotonic, which all of ours are.
inline constexpr long kSchedRuntime = 0;
inline constexpr long kSchedStatic = 1;
inline constexpr long kSchedDynamic = 2;
inline constexpr long kSchedGuided = 3;

constexpr uint64_t trip_count(long start, long end, long incr) {
  if (incr > 0) return start < end ? (uint64_t(end) - uint64_t(start) - 1) / uint64_t(incr) + 1 : 0;
  return start > end ? (uint64_t(start) - uint64_t(end) - 1) / (0 - uint64_t(incr)) + 1 : 0;
}

constexpr uint64_t trip_count(bool up, Ull start, Ull end, Ull incr) {
  if (up) return start < end ? (end - start - 1) / incr + 1 : 0;
  return start > end ? (start - end - 1) / (0 - incr) + 1 : 0;
}

// `sched` may be any of the compiler's; `member` is asked for schedule(runtime).
LoopSpec make_spec(const Member& member, long sched, uint64_t trip, uint64_t chunk);

inline LoopSpec long_spec(const Member& member, long sched, long start, long end, long incr, long chunk) {
  LoopSpec spec = make_spec(member, sched, trip_count(start, end, incr), chunk > 0 ? uint64_t(chunk) : 0);
  spec.start = uint64_t(start);
  spec.end = uint64_t(end);
  spec.incr = uint64_t(incr);
  return spec;
}

inline LoopSpec ull_spec(const Member& member, long sched, bool up, Ull start, Ull end, Ull incr, Ull chunk) {
  LoopSpec spec = make_spec(member, sched, trip_count(up, start, end, incr), chunk);
  spec.start = start;
  spec.end = end;
  spec.incr = incr;
  return spec;
}

// Enters the construct with what may hang on it: reductions, and memory for the team: *mem is its size, then its address.
void enter(Member& member, LoopSpec& spec, Reductions* reductions, void** mem);

// What a tool is told of the loop that the member has begun.
inline void tell_begin(Member& member) {
  const LoopSpec& spec = member.share->spec;
  if (tool::there()) tool::work_begins(member, tool::work_of(member, spec), spec.trip);
}

// The end of the member's loop, without a barrier.
inline void finish(Member& member) {
  loop_end(member);
  if (tool::there()) tool::work_ends(member);
}

// The member's next chunk, in the program's numbers.
template <class Number>
inline bool next(Member& member, Number* first, Number* last) {
  uint64_t from, to;
  if (!loop_next(member, &from, &to)) return false;
  const LoopSpec& spec = member.share->spec;
  *first = static_cast<Number>(spec.start + from * spec.incr);
  *last = static_cast<Number>(to == spec.trip ? spec.end : spec.start + to * spec.incr);
  if (tool::there()) tool::piece(member, ompt_dispatch_ws_loop_chunk, static_cast<uint64_t>(*first), to - from);
  return true;
}

template <class Number>
inline bool next(Number* first, Number* last) {
  return next(this_member(), first, last);
}

template <class Number>
inline bool start(Member& member, const LoopSpec& spec, Number* first, Number* last) {
  loop_begin(member, spec);
  tell_begin(member);
  return next(member, first, last);
}

}  // namespace weft::omp::gnu
