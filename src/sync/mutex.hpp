// mutex.hpp: what is behind weft_mutex_t. Protocol and proof: README.md, "Mutex".
//
// Idea: a waiter on the unlocker's own worker is handed the mutex: it runs as soon as the unlocker leaves, so
// nothing is lost by that, and it need not come for it a second time. Towards other workers, whoever finds the
// mutex free may take it, also past a waiter that has been woken and has not run yet (a hand-over would leave
// the mutex idle for that long). Both have a limit, so nobody starves.
// Rejected: a ticket lock (every holder waits for its turn to be scheduled); always handing over
// (lock convoys); waking a second waiter while the first has not looked yet (both would come for
// one mutex); leaving out the lock prefix while the process has one thread, as glibc does (a ULT
// that is preempted between that question and the exchange may go on when there are two).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sync/wait_queue.hpp"
#include "weft/weft.h"

namespace weft::rt {

// bias.hpp says what these are for.
namespace mutex_bit {
inline constexpr uint32_t kNoBias = 1u << 4;    // it has been wanted by several workers, and is ordinary for good
inline constexpr uint32_t kDeciding = 1u << 5;  // with kLocked and kQueue: its bias is just being taken away
inline constexpr uint32_t kOpenMark = 1u << 6;  // with kNoBias: no ULT is handed it
inline constexpr unsigned kFrontShift = 7;      // a number that a front-end has left, with kOpenMark
inline constexpr uint32_t kFrontMarks = 3u << kFrontShift;
// What may be there where nobody has it or wants it. Once set, they stay; nobody sets them while kQueue is set.
inline constexpr uint32_t kMarks = kNoBias | kOpenMark | kFrontMarks;
// From kTagShift on: the tag of the worker that has it to itself; then the other bits are 0.
}  // namespace mutex_bit

struct Mutex {
  // any thread: kLocked, kWaiters, kQueue, kWoken, kMarks; or a worker's number and nothing else
  std::atomic<uint32_t> state;
  // biased: that worker; see held::. Otherwise the holder: which worker has come, and how often in a row
  std::atomic<uint32_t> held;
  WaitQueue waiters;  // under kQueue

  // How often a woken waiter may find that somebody was faster. Small: each time costs it a trip
  // through its pool.
  static constexpr unsigned kMostMisses = 2;
  // How often the first in the list may see another one preferred. A mutex that goes to another worker costs
  // as much as dozens that stay.
  static constexpr unsigned kMostSkips = 32;
};
static_assert(sizeof(Mutex) == sizeof(weft_mutex_t) && alignof(Mutex) == alignof(weft_mutex_t));
static_assert(offsetof(Mutex, state) == offsetof(weft_mutex_t, state));
static_assert(offsetof(Mutex, held) == offsetof(weft_mutex_t, held));
static_assert(offsetof(Mutex, waiters) == offsetof(weft_mutex_t, waiters));
static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));
// mutex_own.h
static_assert(offsetof(Mutex, state) == 0 && offsetof(Mutex, held) == 4 && alignof(Mutex) == 8);
static_assert(kKltAttention == 12 && offsetof(OwnWords, mutex) == 0 && offsetof(OwnWords, tag) == 4);
static_assert(1u << kTagShift == 1024);
// WEFT_MUTEX_OPEN_INIT
static_assert((mutex_bit::kNoBias | mutex_bit::kOpenMark) == 0x50);

// Values of `held` while the mutex is biased.
namespace held {
inline constexpr uint32_t kNo = 0;
inline constexpr uint32_t kYes = 1;
}  // namespace held

inline bool is_biased(uint32_t state) noexcept { return state >= 1u << kTagShift; }

inline Mutex& mutex_of(weft_mutex_t* mutex) noexcept { return *reinterpret_cast<Mutex*>(mutex); }

// Makes it open, and leaves a number in it. Not in a section.
void mutex_open(Mutex& mutex, uint32_t front) noexcept;
inline uint32_t mutex_front(const Mutex& mutex) noexcept {
  const uint32_t seen = mutex.state.load(std::memory_order_relaxed);
  return is_biased(seen) ? 0 : (seen & mutex_bit::kFrontMarks) >> mutex_bit::kFrontShift;
}

// For operations that are inside a section already (the condition variable).
// WEFT_OK, or CONTEXT: it would have to wait and may not. The section's worker may be another one.
int mutex_lock_in(GuardedSection& section, Mutex& mutex) noexcept;
bool mutex_trylock_in(const GuardedSection& section, Mutex& mutex) noexcept;
// WEFT_OK or NOT_OWNER. Who is to be woken for it goes into `wakes`.
int mutex_give_in(const Worker* worker, Mutex& mutex, WakeList& wakes) noexcept;

// For front-ends.
int cond_wait_leaving(weft_cond_t* cond, weft_mutex_t* mutex, uint64_t deadline, uint32_t mark, bool& locked) noexcept;
bool cond_has_waiters(weft_cond_t* cond) noexcept;
uint32_t cond_front(const weft_cond_t* cond) noexcept;

// For its holder, who asks whether it is that.
inline bool mutex_is_locked(const Mutex& mutex) noexcept {
  const uint32_t seen = mutex.state.load(std::memory_order_relaxed);
  if (is_biased(seen)) return mutex.held.load(std::memory_order_relaxed) == held::kYes;
  return (seen & sync_bit::kLocked) != 0;
}

}  // namespace weft::rt
