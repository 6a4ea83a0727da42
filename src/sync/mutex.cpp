// mutex.cpp: the numbers are the steps of README.md, "Mutex".
#include "sync/mutex.hpp"

#include "arch/pause.hpp"
#include "sync/bias.hpp"
#include "weft/mutex_own.h"
#include "worker/runtime.hpp"

namespace weft::rt {
namespace {

using namespace sync_bit;
using namespace mutex_bit;

enum class Rank : uint8_t { kHigh, kNormal, kLow };

struct MutexWaiter : Waiter {
  // under kQueue
  Rank rank = Rank::kNormal;
  bool near = false;      // the holder was on this worker, and cannot unlock before others of it have run
  bool handed = false;    // the waker, before it wakes: the mutex is this waiter's
  unsigned missed = 0;    // how often it was woken and somebody was faster
  unsigned skipped = 0;   // how often one behind it was preferred
};

// L1, of an ordinary one.
[[gnu::always_inline]] inline bool take_free(Mutex& mutex, uint32_t seen) noexcept {
  // Acquire, pairs with the release of whoever unlocked it.
  return __builtin_expect((seen & ~kMarks) == 0, 1) &&
         mutex.state.compare_exchange_strong(seen, seen | kLocked, std::memory_order_acquire,
                                             std::memory_order_relaxed);
}

// U1, of an ordinary one.
[[gnu::always_inline]] inline bool give_unwanted(Mutex& mutex, uint32_t seen) noexcept {
  // Release, pairs with the acquire of whoever locks it next.
  return __builtin_expect((seen & ~kMarks) == kLocked, 1) &&
         mutex.state.compare_exchange_strong(seen, seen & ~kLocked, std::memory_order_release,
                                             std::memory_order_relaxed);
}

// L2. As L1 where it is not biased, also where somebody waits.
bool barge(Mutex& mutex) noexcept {
  uint32_t seen = mutex.state.load(std::memory_order_relaxed);
  while ((seen & kLocked) == 0 && !is_biased(seen)) {
    if (mutex.state.compare_exchange_weak(seen, seen | kLocked, std::memory_order_acquire,
                                          std::memory_order_relaxed)) {
      note_holder(mutex);
      return true;
    }
  }
  return false;
}

// Looks a few times, longer and longer after each other, which is still shorter than a sleep and a wake-up in the
// kernel. Meanwhile the holder's worker can use the mutex many times, as long as it has it in its cache. Not where
// the holder needs the caller's worker to get on.
bool barge_soon(Mutex& mutex) noexcept {
  constexpr unsigned kLooks = 10, kLongest = 64;
  const bool alone = klt_register_valid() && workers_active() <= 1;
  for (unsigned i = 0, pauses = 1;; ++i, pauses = pauses < kLongest ? 2 * pauses : pauses) {
    if (barge(mutex)) return true;
    if (alone || i == kLooks || held_here(mutex)) return false;
    for (unsigned j = 0; j < pauses; ++j) cpu_pause();
  }
}

bool is_open(const Mutex& mutex) noexcept { return (mutex.state.load(std::memory_order_relaxed) & kOpenMark) != 0; }

// Into an open mutex's list: KLTs in front, behind them ULTs that have missed it.
void enqueue_early(WaitQueue& waiters, MutexWaiter& self) noexcept {
  Waiter* before = nullptr;  // few
  for (Waiter* i = waiters.head; i != nullptr && i->unit == nullptr; i = i->next) before = i;
  waiters.insert_behind(before, &self);
}

void enqueue(Mutex& mutex, MutexWaiter& self) noexcept {
  WaitQueue& waiters = mutex.waiters;
  const auto rank_of = [](Waiter* waiter) { return static_cast<MutexWaiter*>(waiter)->rank; };
  if (is_open(mutex) && (self.unit == nullptr || self.missed != 0)) return enqueue_early(waiters, self);
  if (self.missed != 0) return waiters.push_front(&self);
  Waiter* before = waiters.empty() ? nullptr : waiters.tail;
  if (self.rank == Rank::kHigh) {  // few: from the front
    before = nullptr;
    for (Waiter* i = waiters.head; i != nullptr && rank_of(i) == Rank::kHigh; i = i->next) before = i;
  } else if (self.rank == Rank::kNormal) {
    while (before != nullptr && rank_of(before) == Rank::kLow) before = before->prev;
  }
  waiters.insert_behind(before, &self);
}

enum class Try { kTaken, kQueued, kGivenUp };

// L3, L4. Taken: the mutex became free meanwhile and is the caller's. Queued: `self` is in the list, and kQueue
// the caller's. GivenUp: neither, because the deadline has passed.
Try take_or_queue(const Worker* worker, Mutex& mutex, MutexWaiter& self, bool give_up) noexcept {
  QueueBackoff backoff;
  uint32_t seen = mutex.state.load(std::memory_order_relaxed);
  for (;;) {
    if (is_biased(seen)) {
      take_bias_away(worker, mutex);
      seen = mutex.state.load(std::memory_order_relaxed);
      continue;
    }
    // Ours to clear; or of one whom we may be keeping from running.
    const bool in_the_way = self.unit == nullptr && (seen & kOpenMark) != 0;
    const uint32_t woken = self.missed != 0 || in_the_way ? kWoken : 0;
    const bool free = (seen & kLocked) == 0;
    const bool queue = !free && !give_up;
    // Also before it gives up a wake-up: whoever is just giving it to us has to be done with the word.
    if (!free && (seen & kQueue) != 0 && (queue || woken != 0)) {
      backoff.pause();
      seen = mutex.state.load(std::memory_order_relaxed);
      continue;
    }
    const uint32_t wanted =
        (free ? seen | kLocked : queue ? seen | kQueue | kWaiters | kNoBias : seen) & ~woken;
    if (mutex.state.compare_exchange_weak(seen, wanted, std::memory_order_acquire,
                                          std::memory_order_relaxed)) {
      if (free) {
        note_holder(mutex);
        return Try::kTaken;
      }
      if (!queue) return Try::kGivenUp;
      // A kWoken from before a fork() is of a waiter that is not here to clear it.
      if (mutex.waiters.forget_stale()) mutex.state.fetch_and(~kWoken, std::memory_order_relaxed);
      if ((seen & kNoBias) == 0 && was_counted_for(worker, mutex)) note_holder(mutex);
      self.near = held_here(mutex);
      enqueue(mutex, self);
      return Try::kQueued;
    }
  }
}

// The deadline came.
bool take_out(Mutex& mutex, MutexWaiter& self) noexcept {
  queue_lock(mutex.state, mutex.waiters);
  const bool queued = mutex.waiters.remove_if_queued(&self);
  const uint32_t clear = mutex.waiters.empty() ? kQueue | kWaiters : kQueue;
  mutex.state.fetch_and(~clear, std::memory_order_release);
  return queued;
}

// U2. True: given back. False: somebody has to be woken, or it is not locked.
bool give_without_waking(Mutex& mutex, bool& locked) noexcept {
  QueueBackoff backoff;
  uint32_t seen = mutex.state.load(std::memory_order_relaxed);
  for (;;) {
    if ((seen & kDeciding) != 0) {
      backoff.pause();
      seen = mutex.state.load(std::memory_order_relaxed);
      continue;
    }
    locked = (seen & kLocked) != 0;
    if (!locked || (seen & (kWaiters | kWoken)) == kWaiters) return false;
    if (mutex.state.compare_exchange_weak(seen, seen & ~kLocked, std::memory_order_release,
                                          std::memory_order_relaxed)) {
      return true;
    }
  }
}

// U4. Who is next: the first one; or, for a while, the first that waits on this worker, if it is one of the
// first few and of no lower rank.
MutexWaiter* choose(const WaitQueue& waiters, const Worker* worker, bool open) noexcept {
  constexpr unsigned kLooks = 8;
  auto* first = static_cast<MutexWaiter*>(waiters.head);
  if (worker == nullptr || first->skipped >= Mutex::kMostSkips) return first;
  if (first->unit == nullptr && open) return first;
  Waiter* waiter = first;
  for (unsigned i = 0; i < kLooks && waiter != nullptr; ++i, waiter = waiter->next) {
    auto* candidate = static_cast<MutexWaiter*>(waiter);
    if (candidate->rank != first->rank) break;
    if (candidate->worker == worker && candidate->unit != nullptr) {
      if (candidate != first) ++first->skipped;
      return candidate;
    }
  }
  return first;
}

// U3 to U5. Precondition: held by the caller; kWaiters without kWoken, which only the holder
// changes.
void give_and_take_out(const Worker* worker, Mutex& mutex, WakeList& wakes) noexcept {
  queue_lock(mutex.state, mutex.waiters);
  if (mutex.waiters.empty()) {  // their deadlines came; or they are in the process that has forked
    mutex.state.fetch_and(~(kQueue | kWaiters | kLocked), std::memory_order_release);
    return;
  }
  const uint32_t marks = mutex.state.load(std::memory_order_relaxed) & kMarks;
  const bool open = (marks & kOpenMark) != 0;
  MutexWaiter* waiter = choose(mutex.waiters, worker, open);
  mutex.waiters.remove(waiter);
  const bool here = worker != nullptr && waiter->worker == worker && waiter->unit != nullptr;
  const bool its_turn = (here && waiter->near) || waiter->missed >= Mutex::kMostMisses;
  const bool handed = its_turn && (!open || waiter->unit == nullptr);
  waiter->handed = handed;
  const uint32_t rest = (mutex.waiters.empty() ? 0 : kWaiters) | (handed ? kLocked : kWoken) | kNoBias | marks;
  if (waiter->contended) {
    // It may be running, because its deadline came: it sees kWoken once it sees that it is woken. Then it
    // waits for kQueue.
    mutex.state.store(rest | kLocked | kQueue, std::memory_order_release);
  }
  wakes.add(waiter);
  // Nobody else changes the word while kLocked and kQueue are both ours. The last access to the
  // mutex: from here on the next holder may destroy it.
  mutex.state.store(rest, std::memory_order_release);
}

template <bool kFar>
[[gnu::always_inline]] inline int lock_waiting(GuardedSection& section, Mutex& mutex, Rank rank, uint64_t deadline) noexcept {
  if (barge(mutex)) return WEFT_OK;
  if (!section.can_wait()) return has_passed(deadline) ? WEFT_ERR_TIMEOUT : WEFT_ERR_CONTEXT;
  for (unsigned missed = 0;; ++missed) {
    MutexWaiter self;
    section.init(self, WaitKind::kMutex, &mutex, deadline);
    self.rank = rank;
    self.missed = missed;
    const Try result = take_or_queue(section.worker, mutex, self, has_passed(deadline));
    if (result != Try::kQueued) return result == Try::kTaken ? WEFT_OK : WEFT_ERR_TIMEOUT;
    const QueueRelease release{&mutex.state, kQueue, false};
    if (missed != 0 && deadline == kNever) {
      section.wait_elsewhere(self, release);  // whoever has it yields, most often
    } else if constexpr (kFar) {
      section.wait_far(self, release);
    } else if (!section.wait_until(self, release, deadline, [&] { return take_out(mutex, self); })) {
      return WEFT_ERR_TIMEOUT;
    }
    if (self.handed) {
      note_holder(mutex);
      return WEFT_OK;
    }
  }
}

// Precondition: not in a section.
void make_ordinary(Mutex& mutex) noexcept {
  if (!is_biased(mutex.state.load(std::memory_order_relaxed))) return;
  const GuardedSection section;
  take_bias_away(section.worker, mutex);
}

[[gnu::noinline]] int lock_near(Worker* worker, Mutex& mutex, Rank rank, uint64_t deadline) noexcept {
  GuardedSection section(worker);
  return lock_waiting<false>(section, mutex, rank, deadline);
}

[[gnu::noinline]] WEFT_RETURNS_BY_JUMP int lock_far(Worker* worker, Mutex& mutex, Rank rank) noexcept {
  GuardedSection section(worker);
  return lock_waiting<true>(section, mutex, rank, kNever);
}

[[gnu::noinline]] int lock_slow(Mutex& mutex, Rank rank, uint64_t deadline) noexcept {
  make_ordinary(mutex);
  if (barge_soon(mutex)) return WEFT_OK;
  Worker* worker = section_enter();
  return leaves_far(worker, deadline) ? lock_far(worker, mutex, rank) : lock_near(worker, mutex, rank, deadline);
}

[[gnu::noinline]] int trylock_slow(Mutex& mutex) noexcept {
  make_ordinary(mutex);
  return barge(mutex) ? WEFT_OK : WEFT_ERR_BUSY;
}

[[gnu::noinline]] int unlock_slow(Mutex& mutex) noexcept {
  make_ordinary(mutex);
  bool locked;
  if (give_without_waking(mutex, locked)) return WEFT_OK;
  if (!locked) return WEFT_ERR_NOT_OWNER;
  GuardedSection section;
  WakeList wakes;
  give_and_take_out(section.worker, mutex, wakes);
  wakes.wake(section.worker);
  return WEFT_OK;
}

[[gnu::noinline]] int count(Mutex& mutex) noexcept {
  const GuardedSection section;
  count_towards_bias(section.worker, mutex);
  return WEFT_OK;
}

// All calls are tail calls, so the fast ways save no registers.
template <class F>
[[gnu::always_inline]] inline int lock_with(weft_mutex_t* handle, F slow) noexcept {
  if (handle == nullptr) return WEFT_ERR_INVALID;
  Mutex& mutex = mutex_of(handle);
  const uint32_t seen = mutex.state.load(std::memory_order_relaxed);
  if (is_biased(seen)) {
    if (!klt_register_valid()) return slow(mutex);
    Worker* worker = guard_try_enter_in(&mutex);
    if (__builtin_expect(worker != nullptr && lock_own(worker, mutex), 1)) return guard_leave_unfed_ok(worker);
    return leave_and(worker, mutex, slow);
  }
  if (!take_free(mutex, seen)) return slow(mutex);
  if (__builtin_expect(seen == 0, 0)) return count(mutex);
  note_holder(mutex);
  return WEFT_OK;
}

// `met`: called with the worker whose it is, and that is the caller's.
template <class F>
[[gnu::always_inline]] inline int unlock_with(Mutex& mutex, F met) noexcept {
  const uint32_t seen = mutex.state.load(std::memory_order_relaxed);
  if (!is_biased(seen)) return give_unwanted(mutex, seen) ? WEFT_OK : unlock_slow(mutex);
  if (!klt_register_valid()) return unlock_slow(mutex);
  Worker* worker = guard_try_enter_in(&mutex);
  if (__builtin_expect(worker == nullptr || !unlock_own(worker, mutex), 0)) return leave_and(worker, mutex, unlock_slow);
  met(worker);
  return guard_leave_unfed_ok(worker);
}

}  // namespace

void mutex_open(Mutex& mutex, uint32_t front) noexcept {
  const uint32_t marks = kNoBias | kOpenMark | front << kFrontShift;
  uint32_t seen = mutex.state.load(std::memory_order_relaxed);
  if (!is_biased(seen) && (seen & marks) == marks) return;
  const GuardedSection section;
  QueueBackoff backoff;
  for (;; seen = mutex.state.load(std::memory_order_relaxed)) {
    if (is_biased(seen)) {
      take_bias_away(section.worker, mutex);
    } else if ((seen & kQueue) != 0) {
      backoff.pause();
    } else if (mutex.state.compare_exchange_weak(seen, seen | marks, std::memory_order_relaxed)) {
      return;
    }
  }
}

bool mutex_trylock_in(const GuardedSection& section, Mutex& mutex) noexcept {
  const uint32_t seen = mutex.state.load(std::memory_order_relaxed);
  if (is_biased(seen)) return section.worker != nullptr && lock_biased(section.worker, mutex, seen);
  if (seen == 0 && take_free(mutex, seen)) {
    count_towards_bias(section.worker, mutex);
    return true;
  }
  return barge(mutex);
}

int mutex_lock_in(GuardedSection& section, Mutex& mutex) noexcept {
  return mutex_trylock_in(section, mutex) ? WEFT_OK : lock_waiting<false>(section, mutex, Rank::kNormal, kNever);
}

int mutex_give_in(const Worker* worker, Mutex& mutex, WakeList& wakes) noexcept {
  const uint32_t seen = mutex.state.load(std::memory_order_relaxed);
  if (is_biased(seen)) {
    if (worker != nullptr && unlock_biased(worker, mutex, seen)) return WEFT_OK;
    take_bias_away(worker, mutex);
  }
  bool locked;
  if (give_without_waking(mutex, locked)) return WEFT_OK;
  if (!locked) return WEFT_ERR_NOT_OWNER;
  give_and_take_out(worker, mutex, wakes);
  return WEFT_OK;
}

}  // namespace weft::rt

using namespace weft::rt;

int weft_mutex_lock(weft_mutex_t* mutex) {
  return lock_with(mutex, [](Mutex& m) { return lock_slow(m, Rank::kNormal, kNever); });
}

int weft_mutex_open(weft_mutex_t* mutex) {
  if (mutex == nullptr) return WEFT_ERR_INVALID;
  mutex_open(mutex_of(mutex), 0);
  return WEFT_OK;
}

int weft_mutex_lock_until(weft_mutex_t* mutex, uint64_t deadline) {
  return lock_with(mutex, [deadline](Mutex& m) { return lock_slow(m, Rank::kNormal, deadline); });
}

int weft_mutex_lock_high(weft_mutex_t* mutex) {
  return lock_with(mutex, [](Mutex& m) { return lock_slow(m, Rank::kHigh, kNever); });
}

int weft_mutex_lock_low(weft_mutex_t* mutex) {
  return lock_with(mutex, [](Mutex& m) { return lock_slow(m, Rank::kLow, kNever); });
}

int weft_mutex_trylock(weft_mutex_t* mutex) {
  return lock_with(mutex, [](Mutex& m) { return trylock_slow(m); });
}

void weft_own_leave(void) { guard_leave(nullptr); }

int weft_mutex_unlock(weft_mutex_t* handle) {
  if (handle == nullptr) return WEFT_ERR_INVALID;
  return unlock_with(mutex_of(handle), [](const Worker*) {});
}

int weft_own_call_lock(weft_mutex_t* mutex) __attribute__((nothrow, alias("weft_mutex_lock")));
int weft_own_call_trylock(weft_mutex_t* mutex) __attribute__((nothrow, alias("weft_mutex_trylock")));
int weft_own_call_unlock(weft_mutex_t* mutex) __attribute__((nothrow, alias("weft_mutex_unlock")));

int weft_own_unlock_missed(weft_mutex_t* handle) { return unlock_with(mutex_of(handle), know_tag); }
