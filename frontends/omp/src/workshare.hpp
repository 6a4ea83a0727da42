// workshare.hpp: what a team shares out: loops, sections, single, ordered, doacross, copyprivate.
//
// Iterations are numbers from 0 to trip - 1 here; the ABI layers turn them into the program's.
#pragma once

#include <atomic>
#include <cstdint>

#include "team.hpp"

namespace weft::omp {

enum class Deal : uint8_t {
  kStatic,   // without chunk: one piece for each member; with chunk: by turns
  kDynamic,
  kGuided,
};

struct LoopSpec {
  uint64_t trip = 0;
  uint64_t chunk = 0;  // 0: static: none; others: 1
  Deal deal = Deal::kDynamic;
  bool ordered = false;
  bool sections = false;  // for tools only
  // doacross: iterations of each of these loops, outermost first; the loop's trip is counts[0] or a product (collapse)
  unsigned dims = 0;
  const uint64_t* counts = nullptr;
  // Memory for the whole team, zeroed: bytes; 0: none. Found in Share::memory.
  size_t memory = 0;
  void* gnu = nullptr;  // Share::gnu: task reductions
  // Called with `gnu` by whoever makes the construct, before anybody else sees it.
  void (*made)(void* gnu) = nullptr;
  // An ABI layer's, found in Share::spec: iteration i is start + i * incr in the program's terms, and what ends the last one
  // is `end`. All wraps around, so that signs do not matter.
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t incr = 1;
};

// schedule(runtime), as the ICV says it now.
LoopSpec runtime_spec(const Member& member, uint64_t trip);

// One worksharing construct of a region. Members pass them in the same order, each at its own pace; whoever comes first makes it.
struct Share {
  // constant once published
  LoopSpec spec;
  uint64_t number = 0;  // in its region
  void* memory = nullptr;
  void* gnu = nullptr;
  uint64_t* counts = nullptr;          // a copy
  std::atomic<uint64_t>* posted = nullptr;  // doacross: a bit for each iteration
  // any member
  alignas(64) std::atomic<uint64_t> next_iteration{0};
  alignas(64) std::atomic<uint64_t> turn{0};  // ordered: iterations below have had theirs
  std::atomic<int> left{0};                   // members that have gone on to the next one
  std::atomic<bool> cancelled{false};
  std::atomic<Share*> next{nullptr};
};

// ---- loops. Every member calls loop_begin(), then loop_next() until that says false, then loop_end().

// Enters the construct. Only the first one's spec counts. True for whoever has made it.
bool loop_begin(Member& member, const LoopSpec& spec);
// The member's next iterations: [*first, *last); all of them in a team of one, unless a tool is told of each piece. False: there are none
// left, or the loop is cancelled.
bool loop_next(Member& member, uint64_t* first, uint64_t* last);
// Leaves it. There is no barrier in it.
void loop_end(Member& member);
// Waits until all iterations before the member's piece have done what is ordered, if the loop is. The end of its piece passes the
// turn on.
void ordered_begin(Member& member, bool in_loop = true);
// With a tool; it is told of the end as well.
void ordered_begin_seen(Member& member, bool in_loop = true);
void ordered_end_seen(Member& member);
// doacross: iteration vec[0 … dims-1]. A wait for one outside of the space returns false, at once.
void doacross_post(Member& member, const int64_t* vec);
bool doacross_wait(Member& member, const int64_t* vec);
// cancel for, cancel sections: true: active.
bool cancel_loop(Member& member);
bool loop_cancelled(const Member& member);

// ---- single

// True for one member. No barrier.
bool single(Member& member);
// What the member of the single construct has for the others. Both parts, with the barriers in them: whoever has `mine` null
// gets what the other one gave. The pointer is good until everybody has called copyprivate_done().
void* copyprivate(Member& member, void* mine);
void copyprivate_done(Member& member);

}  // namespace weft::omp
