// list_lock.hpp: the lock of an object's list, without a locked instruction for the one worker that uses the object.
// Protocol and proof: README.md, "Lists that one worker has to itself".
//
// Idea: as a mutex's bias (bias.hpp). It is simpler here: a list is never held beyond a section, so a worker need not
// say that it holds it, but only that it is in it.
// Rejected: to do so for gates, semaphores, barriers and locks for reading and writing as well: most of what they do
// needs no list, and their words have no room to count.
#pragma once

#include <atomic>

#include "os/membarrier.hpp"
#include "sync/wait_queue.hpp"

namespace weft::rt {

// `uses` from here on: the list is never a worker's own.
inline constexpr uint32_t kNobodysOwn = 1u << 31;
// A number that a front-end has left, from 0 to 3. It is not counted with.
inline constexpr unsigned kUsesFrontShift = 29;
inline constexpr uint32_t kUsesFront = 3u << kUsesFrontShift;

// How the lock is given back: by a store of release, the last access to the object.
struct ListHold {
  std::atomic<uint32_t>* word;
  uint32_t empty;    // what to store there if nobody waits
  uint32_t waiters;  // and if somebody does

  void unlock(bool nobody_waits) const noexcept {
    word->store(nobody_waits ? empty : waiters, std::memory_order_release);
  }
  QueueRelease release() const noexcept { return {word, waiters, true}; }
};

// B1, B2. Where the caller has an ordinary lock and is to have the list to itself from its unlock on: true.
[[gnu::always_inline]] inline bool count_section(const Worker* worker, std::atomic<uint32_t>& uses) noexcept {
  constexpr uint32_t kTimes = 32;  // see bias.cpp
  static_assert(kTimes < 1u << kTagShift && (kMaxWorkers + 1) << kTagShift < 1u << kUsesFrontShift);
  const uint32_t seen = uses.load(std::memory_order_relaxed);
  if (worker == nullptr || seen >= kNobodysOwn) return false;
  const uint32_t front = seen & kUsesFront;
  const uint32_t times = (seen ^ front) ^ worker->tag;
  if (times < kTimes) {
    uses.store(seen + 1, std::memory_order_relaxed);
    return false;
  }
  uses.store(front | (times == kTimes ? kNobodysOwn : worker->tag + 1), std::memory_order_relaxed);
  return times == kTimes;
}

// T1 to T3. The list was another worker's; afterwards the lock is the caller's. False: it was not, or is not any more.
bool take_list_away(std::atomic<uint32_t>& state, uint32_t seen) noexcept;

// L1, where the list is this worker's own: true: it is in it, until a store of 0 to marks->changing. Guard up.
[[gnu::always_inline]] inline bool list_lock_own(const Worker* worker, const std::atomic<uint32_t>& state) noexcept {
  WorkerMarks& marks = *worker->marks;
  marks.changing.store(mark_of(&state), std::memory_order_relaxed);
  // The other half of this fence is the membarrier() in take_list_away().
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (__builtin_expect(state.load(std::memory_order_acquire) == worker->tag, 1)) return true;
  marks.changing.store(0, std::memory_order_release);
  return false;
}

inline void list_unlock_own(const Worker* worker) noexcept { worker->marks->changing.store(0, std::memory_order_release); }

// L1 to L3. `uses`: 0 at first; under the lock. `some`: what the state is while somebody waits. Guard up,
// unless worker is null.
[[gnu::always_inline]] inline ListHold list_lock(const Worker* worker, std::atomic<uint32_t>& state,
                                                 std::atomic<uint32_t>& uses, uint32_t some) noexcept {
  if (worker != nullptr && list_lock_own(worker, state)) return {&worker->marks->changing, 0, 0};
  QueueBackoff backoff;
  for (uint32_t seen;;) {
    seen = state.load(std::memory_order_relaxed);
    if (seen >= 1u << kTagShift) {
      if (take_list_away(state, seen)) return {&state, 0, some};
    } else if ((seen & sync_bit::kQueue) != 0) {
      backoff.pause();
      // Acquire, pairs with the release of whoever gives it back.
    } else if (state.compare_exchange_weak(seen, seen | sync_bit::kQueue, std::memory_order_acquire,
                                           std::memory_order_relaxed)) {
      break;
    }
  }
  if (__builtin_expect(count_section(worker, uses), 0)) return {&state, worker->tag, worker->tag};
  return {&state, 0, some};
}

}  // namespace weft::rt
