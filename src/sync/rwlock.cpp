// rwlock.cpp: the lock for many readers or one writer. Protocol and proof: README.md, "Rwlock" and "Readers that are
// counted apart".
#include <cstddef>

#include "sync/read_counts.hpp"
#include "sync/wait_queue.hpp"
#include "weft/weft.h"

namespace weft::rt {
namespace {

using namespace sync_bit;

struct Rwlock {
  std::atomic<uint32_t> state;  // any thread: kLocked: a writer; kWaiters, kQueue, kCounted; above: readers
  std::atomic<uint32_t> reads;  // any thread: roughly how many in a row, without a writer, while not kCounted
  WaitQueue waiters;  // under kQueue; who waits to write says so by its kind
};
static_assert(sizeof(Rwlock) == sizeof(weft_rwlock_t) && alignof(Rwlock) == alignof(weft_rwlock_t));
static_assert(offsetof(Rwlock, state) == offsetof(weft_rwlock_t, state));
static_assert(offsetof(Rwlock, waiters) == offsetof(weft_rwlock_t, waiters));

constexpr uint32_t kCounted = 1u << 5;  // workers count readers apart
constexpr uint32_t kReader = 1u << 8;
constexpr uint32_t kFlags = kReader - 1;
constexpr uint32_t kMostReaders = ~uint32_t{0} - (kReader - 1);
constexpr uint32_t kHeld = ~(kReader - 1) | kLocked;
constexpr uint32_t kBehindAll = kLocked | kWaiters | kQueue;  // what keeps a reader from entering at once

// How it is to be held. kReadPast: for reading, past those who wait to write.
enum class How { kRead, kReadPast, kWrite };

Rwlock& lock_of(weft_rwlock_t* lock) noexcept { return *reinterpret_cast<Rwlock*>(lock); }

// W1. The caller has locked it for reading, where nobody waits: after so many in a row workers count them.
[[gnu::noinline]] void count_apart(Rwlock& lock) noexcept {
  lock.reads.store(0, std::memory_order_relaxed);
  if (!klt_register_valid() || !read_counts_are_free(lock.state)) return;
  uint32_t seen = lock.state.load(std::memory_order_relaxed);
  // Release, pairs with the acquire in count_reader(); acquire, pairs with the release of a writer.
  while ((seen & kFlags) == 0 && seen < kMostReaders / 2 &&
         !lock.state.compare_exchange_weak(seen, seen | kCounted, std::memory_order_acq_rel,
                                           std::memory_order_relaxed)) {
  }
}

void note_read(Rwlock& lock) noexcept {
  // A writer that comes then has to pay a membarrier(), which is as much as some hundred of these.
  constexpr uint32_t kReads = 4096;
  const uint32_t reads = lock.reads.load(std::memory_order_relaxed) + 1;
  lock.reads.store(reads, std::memory_order_relaxed);
  if (__builtin_expect(reads >= kReads, 0)) count_apart(lock);
}

// R1. Acquire, pairs with the release of a writer. BUSY: one of these bits is set.
int try_read(Rwlock& lock, uint32_t obstacles) noexcept {
  uint32_t seen = lock.state.load(std::memory_order_relaxed);
  for (;;) {
    if ((seen & obstacles) != 0) return WEFT_ERR_BUSY;
    if (seen >= ((seen & kCounted) != 0 ? kMostReaders / 2 : kMostReaders)) return WEFT_ERR_LIMIT;
    if (lock.state.compare_exchange_weak(seen, seen + kReader, std::memory_order_acquire,
                                         std::memory_order_relaxed)) {
      if ((seen & kCounted) == 0) note_read(lock);
      return WEFT_OK;
    }
  }
}

int try_write(Rwlock& lock) noexcept {
  uint32_t free = 0;
  if (!lock.state.compare_exchange_strong(free, kLocked, std::memory_order_acquire, std::memory_order_relaxed)) {
    return WEFT_ERR_BUSY;
  }
  lock.reads.store(0, std::memory_order_relaxed);
  return WEFT_OK;
}

// Takes kQueue; returns the word without it, with all readers in it. X1 to X5. Guard up.
uint32_t lock_queue(Rwlock& lock) noexcept {
  uint32_t seen = queue_lock(lock.state, lock.waiters);
  if ((seen & kCounted) == 0) return seen;
  seen = (seen & ~kCounted) + take_read_counts(lock.state) * kReader;
  // Nobody else changes the word with kCounted and kQueue set. Release, pairs with the acquire in count_reader().
  lock.state.store(seen | kQueue, std::memory_order_release);
  return seen;
}

bool waits_to_read(const Waiter* waiter) noexcept { return waiter->kind == WaitKind::kReadLock; }

// Lets those enter that stand in front and read. Under kQueue; no writer holds the lock. How many.
uint32_t let_readers_in(Rwlock& lock, WakeList& wakes) noexcept {
  uint32_t readers = 0;
  while (!lock.waiters.empty() && waits_to_read(lock.waiters.head)) {
    wakes.add(lock.waiters.pop_front());
    readers += kReader;
  }
  return readers;
}

// Gives kQueue back, with that many readers more. Those who hold the lock may leave it meanwhile, unless they are
// the last.
void unlock_queue(Rwlock& lock, uint32_t readers) noexcept {
  const uint32_t waiters = lock.waiters.empty() ? 0 : kWaiters;
  uint32_t seen = lock.state.load(std::memory_order_relaxed);
  while (!lock.state.compare_exchange_weak(seen, ((seen & ~(kQueue | kWaiters)) | waiters) + readers,
                                           std::memory_order_acq_rel, std::memory_order_relaxed)) {
  }
}

// The deadline of one came. If it was the writer that readers had to queue behind, they enter.
bool take_out(const GuardedSection& section, Rwlock& lock, Waiter& waiter) noexcept {
  WakeList wakes;
  const uint32_t seen = lock_queue(lock);
  const bool queued = lock.waiters.remove_if_queued(&waiter);
  unlock_queue(lock, (seen & kLocked) == 0 ? let_readers_in(lock, wakes) : 0);
  wakes.wake(section.worker);
  return queued;
}

// R2. Under kQueue: whether it can be entered, and what it is then.
bool enters(uint32_t seen, How how, uint32_t* entered) noexcept {
  if ((seen & kWaiters) != 0 && how != How::kReadPast) return false;
  *entered = how == How::kWrite ? kLocked : kReader;
  return (seen & (how == How::kWrite ? kHeld : kLocked)) == 0;
}

// Precondition: kQueue is the caller's, and it cannot be entered.
template <bool kFar>
[[gnu::always_inline]] inline int lock_waiting(Worker* worker, Rwlock& lock, How how, uint64_t deadline) noexcept {
  GuardedSection section(worker);
  const int error = has_passed(deadline) ? WEFT_ERR_TIMEOUT : !section.can_wait() ? WEFT_ERR_CONTEXT : WEFT_OK;
  if (error != WEFT_OK) {
    unlock_queue(lock, 0);
    return error;
  }
  Waiter self;
  section.init(self, how == How::kWrite ? WaitKind::kWriteLock : WaitKind::kReadLock, &lock, deadline);
  if (how == How::kReadPast) {  // R3
    lock.waiters.push_front(&self);
  } else {
    lock.waiters.push_back(&self);
  }
  // Before kQueue is given back: until then the last one who holds the lock waits for it.
  lock.state.fetch_or(kWaiters, std::memory_order_relaxed);
  if constexpr (kFar) {
    section.wait_far(self, {&lock.state, kQueue, false});
    return WEFT_OK;
  }
  const bool given = section.wait_until(self, {&lock.state, kQueue, false}, deadline,
                                        [&] { return take_out(section, lock, self); });
  return given ? WEFT_OK : WEFT_ERR_TIMEOUT;
}

[[gnu::noinline]] int lock_near(Worker* worker, Rwlock& lock, How how, uint64_t deadline) noexcept {
  return lock_waiting<false>(worker, lock, how, deadline);
}
[[gnu::noinline]] WEFT_RETURNS_BY_JUMP int lock_far(Worker* worker, Rwlock& lock, How how) noexcept {
  return lock_waiting<true>(worker, lock, how, kNever);
}

[[gnu::noinline]] int lock_slow(Rwlock& lock, How how, uint64_t deadline) noexcept {
  Worker* worker = section_enter();
  uint32_t entered = 0;
  if (!enters(lock_queue(lock), how, &entered)) {
    return leaves_far(worker, deadline) ? lock_far(worker, lock, how) : lock_near(worker, lock, how, deadline);
  }
  unlock_queue(lock, entered);
  section_leave(worker);
  return WEFT_OK;
}

int lock_until(Rwlock& lock, How how, uint64_t deadline) noexcept {
  const int error = how == How::kWrite  ? try_write(lock)
                    : how == How::kRead ? try_read(lock, kBehindAll)
                                        : try_read(lock, kLocked | kQueue);
  return error == WEFT_ERR_BUSY ? lock_slow(lock, how, deadline) : error;
}

// U2 to U4. The caller is the last who holds it; kQueue is ours, so nobody else changes the word.
void give_to_waiters(const GuardedSection& section, Rwlock& lock) noexcept {
  WakeList wakes;
  lock.waiters.forget_stale();
  uint32_t next = let_readers_in(lock, wakes);
  if (next == 0 && !lock.waiters.empty()) {
    wakes.add(lock.waiters.pop_front());
    next = kLocked;
  }
  // The last access to the lock: whoever has it now may destroy it.
  lock.state.store(next | (lock.waiters.empty() ? 0 : kWaiters), std::memory_order_release);
  wakes.wake(section.worker);
}

[[gnu::noinline]] int unlock_slow(Rwlock& lock) noexcept {
  GuardedSection section;
  QueueBackoff backoff;
  uint32_t seen = lock.state.load(std::memory_order_relaxed);
  for (;;) {
    const uint32_t held = seen & kHeld;
    const bool counted = (seen & kCounted) != 0;
    if (held == 0 && !counted) return WEFT_ERR_NOT_OWNER;
    const bool last = held == kLocked || held == kReader;
    if ((seen & kQueue) != 0 && (last || counted)) {
      backoff.pause();
      seen = lock.state.load(std::memory_order_relaxed);
      continue;
    }
    if (held == 0) {  // it was locked on another worker, if at all
      lock_queue(lock);
      unlock_queue(lock, 0);
      seen = lock.state.load(std::memory_order_relaxed);
      continue;
    }
    const bool wake = last && (seen & kWaiters) != 0;
    const uint32_t wanted = wake ? seen | kQueue : seen - (held == kLocked ? kLocked : kReader);
    if (!lock.state.compare_exchange_weak(seen, wanted, std::memory_order_acq_rel,
                                          std::memory_order_relaxed)) {
      continue;
    }
    if (wake) give_to_waiters(section, lock);
    return WEFT_OK;
  }
}

// U1. Nobody waits.
bool unlock_unwanted(Rwlock& lock) noexcept {
  uint32_t seen = lock.state.load(std::memory_order_relaxed);
  while ((seen & (kWaiters | kQueue)) == 0 && (seen & kHeld) != 0) {
    const uint32_t wanted = (seen & kLocked) != 0 ? 0 : seen - kReader;
    if (lock.state.compare_exchange_weak(seen, wanted, std::memory_order_release,
                                         std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

// R0. `otherwise`, a function without a section, does the same where workers do not count.
template <bool leaves, class F>
[[gnu::always_inline]] inline int read_with(weft_rwlock_t* handle, F otherwise) noexcept {
  if (handle == nullptr) return WEFT_ERR_INVALID;
  Rwlock& lock = lock_of(handle);
  if ((lock.state.load(std::memory_order_relaxed) & kFlags) == kCounted && klt_register_valid()) {
    Worker* worker = guard_try_enter();
    if (__builtin_expect(worker != nullptr && count_reader<leaves, kFlags>(worker, lock.state, kCounted), 1)) {
      return guard_leave_unfed_ok(worker);
    }
    return leave_and(worker, lock, otherwise);
  }
  return otherwise(lock);
}

}  // namespace
}  // namespace weft::rt

using namespace weft::rt;

int weft_rwlock_rdlock(weft_rwlock_t* lock) {
  return read_with<false>(lock, [](Rwlock& l) { return lock_until(l, How::kRead, kNever); });
}

int weft_rwlock_rdlock_until(weft_rwlock_t* lock, uint64_t deadline) {
  return read_with<false>(lock, [deadline](Rwlock& l) { return lock_until(l, How::kRead, deadline); });
}

int weft_rwlock_rdlock_high(weft_rwlock_t* lock) {
  return read_with<false>(lock, [](Rwlock& l) { return lock_until(l, How::kReadPast, kNever); });
}

int weft_rwlock_tryrdlock(weft_rwlock_t* lock) {
  return read_with<false>(lock, [](Rwlock& l) { return try_read(l, kBehindAll); });
}

int weft_rwlock_wrlock(weft_rwlock_t* lock) { return weft_rwlock_wrlock_until(lock, kNever); }

int weft_rwlock_wrlock_until(weft_rwlock_t* lock, uint64_t deadline) {
  return lock != nullptr ? lock_until(lock_of(lock), How::kWrite, deadline) : WEFT_ERR_INVALID;
}

int weft_rwlock_trywrlock(weft_rwlock_t* lock) {
  if (lock == nullptr) return WEFT_ERR_INVALID;
  int error = try_write(lock_of(lock));
  if (error != WEFT_OK && (lock_of(lock).state.load(std::memory_order_relaxed) & kCounted) != 0) {
    error = lock_slow(lock_of(lock), How::kWrite, 0);
  }
  return error == WEFT_OK ? WEFT_OK : WEFT_ERR_BUSY;
}

// A writer, too.
int weft_rwlock_unlock(weft_rwlock_t* lock) {
  return read_with<true>(lock, [](Rwlock& l) { return unlock_unwanted(l) ? WEFT_OK : unlock_slow(l); });
}
