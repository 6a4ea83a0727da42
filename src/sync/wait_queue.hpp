// wait_queue.hpp: what the objects are made of: a state word with a lock bit for the list of waiters, and
// that list. See README.md for the protocols.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "arch/pause.hpp"
#include "klt/guard.hpp"
#include "klt/process_gate.hpp"
#include "unit/unit.hpp"
#include "worker/direct.hpp"
#include "worker/timers.hpp"
#include "worker/worker.hpp"

namespace weft::rt {

// Bits of a state word. What the rest is for is said at the object.
namespace sync_bit {
inline constexpr uint32_t kLocked = 1u << 0;   // somebody holds it (a rwlock: for writing)
inline constexpr uint32_t kOpen = 1u << 0;     // a gate: waiters pass
inline constexpr uint32_t kWaiters = 1u << 1;  // the list is not empty, or will not be in a moment
inline constexpr uint32_t kQueue = 1u << 2;    // the list is somebody's, who has its guard up
inline constexpr uint32_t kWoken = 1u << 3;    // mutex: a waiter was woken and has not looked yet
}  // namespace sync_bit

// How to wait for kQueue: its holder is a few instructions from its end, unless the kernel has
// taken its core away.
class QueueBackoff {
 public:
  void pause() noexcept {
    if (spins_++ < kSpinsBeforeYield) {
      cpu_pause();
    } else {
      sched_yield();
    }
  }

 private:
  static constexpr unsigned kSpinsBeforeYield = 200;
  unsigned spins_ = 0;
};

// Takes kQueue whatever the other bits are; returns the word without it. Acquire, pairs with the release of
// whoever gives it back.
template <class Word>
Word queue_lock(std::atomic<Word>& state) noexcept {
  QueueBackoff backoff;
  Word seen = state.load(std::memory_order_relaxed);
  for (;;) {
    if ((seen & sync_bit::kQueue) != 0) {
      backoff.pause();
      seen = state.load(std::memory_order_relaxed);
    } else if (state.compare_exchange_weak(seen, seen | sync_bit::kQueue, std::memory_order_acquire,
                                           std::memory_order_relaxed)) {
      return seen;
    }
  }
}

inline void queue_unlock(std::atomic<uint32_t>& state) noexcept {
  state.fetch_and(~sync_bit::kQueue, std::memory_order_release);
}

// First in, first out. Under kQueue. The object's `waiters`.
//
// A list from before a fork() of the process is of no use to the child: those waiters' frames are gone. So
// each list says which generation of the process it is of, and counts as empty in a later one. Nothing is
// looked for at the fork itself: the child could not tell which objects still exist.
struct WaitQueue {
  Waiter* head;
  Waiter* tail;
  uintptr_t generation;

  // True: it was from before a fork(), and is empty now. What the object's other words say of waiters is then to
  // be forgotten too.
  bool forget_stale() noexcept {
    if (__builtin_expect(generation == process_generation, 1)) return false;
    head = nullptr;
    generation = process_generation;
    return true;
  }

  bool empty() const noexcept { return head == nullptr; }

  // Behind `before`; null: in front.
  void insert_behind(Waiter* before, Waiter* waiter) noexcept {
    Waiter* after = before != nullptr ? before->next : head;
    waiter->prev = before;
    waiter->next = after;
    (before != nullptr ? before->next : head) = waiter;
    (after != nullptr ? after->prev : tail) = waiter;
    waiter->queued = true;
  }

  void push_back(Waiter* waiter) noexcept { insert_behind(head != nullptr ? tail : nullptr, waiter); }
  void push_front(Waiter* waiter) noexcept { insert_behind(nullptr, waiter); }

  void remove(Waiter* waiter) noexcept {
    (waiter->prev != nullptr ? waiter->prev->next : head) = waiter->next;
    (waiter->next != nullptr ? waiter->next->prev : tail) = waiter->prev;
    waiter->queued = false;
  }

  // False: somebody has taken it out.
  bool remove_if_queued(Waiter* waiter) noexcept {
    const bool queued = waiter->queued;
    if (queued) remove(waiter);
    return queued;
  }

  Waiter* pop_front() noexcept {
    Waiter* waiter = head;
    if (waiter != nullptr) remove(waiter);
    return waiter;
  }

  void take_all(WakeList& wakes) noexcept {
    while (Waiter* waiter = pop_front()) wakes.add(waiter);
  }
};

// queue_lock() for the word and the list that belongs to it. In a forked child the word may still speak of
// the parent's waiters.
template <class Word>
Word queue_lock(std::atomic<Word>& state, WaitQueue& waiters) noexcept {
  const Word seen = queue_lock(state);
  if (!waiters.forget_stale()) return seen;
  constexpr Word kOfWaiters = sync_bit::kWaiters | sync_bit::kWoken;
  state.fetch_and(~kOfWaiters, std::memory_order_relaxed);
  return seen & ~kOfWaiters;
}

// A section with the guard up. `worker` is null on a thread that is not a KLT of Weft, and another
// one after a wait.
struct GuardedSection {
  GuardedSection() noexcept : worker(section_enter()) {}
  explicit GuardedSection(Worker* entered) noexcept : worker(entered) {}  // the caller's section_enter()
  GuardedSection(const GuardedSection&) = delete;
  GuardedSection& operator=(const GuardedSection&) = delete;
  ~GuardedSection() { section_leave(worker); }

  bool can_wait() const noexcept { return worker == nullptr || may_wait(worker); }

  void init(Waiter& waiter, WaitKind kind, const void* object, uint64_t deadline = kNever) const noexcept {
    waiter_init(worker, waiter, kind, object);
    waiter.contended = deadline != kNever && waiter.unit != nullptr;
  }

  // Both: the waiter is in the list, and the caller holds its lock, which `release` gives back.
  void wait(Waiter& waiter, const QueueRelease& release) noexcept {
    worker = waiter_wait_locked(worker, waiter, release);
  }
  // The same where leaves_far().
  void wait_far(Waiter& waiter, const QueueRelease& release) noexcept { worker = waiter_wait_far(worker, waiter, release); }
  // The same where whoever is next waits, most likely, in another place.
  void wait_elsewhere(Waiter& waiter, const QueueRelease& release) noexcept { worker = waiter_wait_elsewhere(worker, waiter, release); }
  // False: the deadline came first, and take_out(), which takes the lock, has found the waiter in the list and
  // taken it out. Where somebody else has, the waiter has been given what it waits for.
  template <class F>
  bool wait_until(Waiter& waiter, const QueueRelease& release, uint64_t deadline, F&& take_out) noexcept {
    if (deadline == kNever) {
      wait(waiter, release);
      return true;
    }
    if (!wait_till(waiter, release, deadline)) return true;
    if (take_out()) return false;
    if (waiter.unit == nullptr) worker = waiter_wait(worker, waiter);  // the waker has not come so far
    return true;
  }

  Worker* worker;

 private:
  // False: it was woken by somebody who has done with the object.
  bool wait_till(Waiter& waiter, const QueueRelease& release, uint64_t deadline) noexcept;
};

// The guard was raised by guard_try_enter(), and what was tried did not work out (or the worker is gone: null).
template <class Object, class F>
[[gnu::noinline]] int leave_and(Worker* worker, Object& object, F otherwise) noexcept {
  if (worker == nullptr) worker = guard_enter();
  guard_leave(worker);
  return otherwise(object);
}

// How who is about to wait leaves.
//
// A ULT that goes straight over to the next one comes back, most often, from one that waits in the same place at the same depth: then returns
// go where they are expected to go. One that leaves through the scheduler, since it waits for the first time, or nobody else is ready, comes
// back by jumps (WEFT_RETURNS_BY_JUMP).
enum class Leaves : uint8_t { kOtherwise, kDirectly, kFar };  // no ULT, or with a deadline: as the general way has it

[[gnu::always_inline]] inline bool is_waiting_ult(const Worker* worker, uint64_t deadline) noexcept {
  if (worker == nullptr || deadline != kNever) return false;
  const Unit* unit = klt_current();
  return unit != nullptr && !unit_is(unit, flag::kTasklet | flag::kInPlace);
}

// By the most frequent reasons: who does so because of another one comes back by returns that are not expected.
[[gnu::always_inline]] inline bool leaves_far(Worker* worker, uint64_t deadline) noexcept {
  if (!is_waiting_ult(worker, deadline)) return false;
  const Unit* next = worker->lane.front_private();
  return next == nullptr || !unit_is(next, flag::kDirect) || !unit_is(klt_current(), flag::kDirect);
}

// The same, for who certainly waits: if it is kDirectly, the next one is out of the ring.
[[gnu::always_inline]] inline Leaves how_it_leaves(Worker* worker, uint64_t deadline, Unit*& next) noexcept {
  if (!is_waiting_ult(worker, deadline)) return Leaves::kOtherwise;
  next = take_direct_successor(worker, klt_current());
  return next != nullptr ? Leaves::kDirectly : Leaves::kFar;
}

// kDirectly. The waiter is in the list, and the caller holds its lock, which `release` gives back. The last of a section, which it ends.
[[gnu::always_inline]] inline int wait_directly(Worker* worker, Unit* next, Waiter& self, const QueueRelease& release) noexcept {
  block(worker, self.unit, self);
  switch_directly_and_release(worker, self.unit, next, release.word, release.value, !release.whole);
  return guard_leave_ok(guard_worker());
}

// Whether there is no point in waiting.
inline bool has_passed(uint64_t deadline) noexcept { return deadline != kNever && now_ns() >= deadline; }

}  // namespace weft::rt
