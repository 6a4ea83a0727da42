// rwlock.cpp: the lock for many readers or one writer. Protocol and proof: README.md, "Rwlock".
#include <cstddef>

#include "sync/wait_queue.hpp"
#include "weft/weft.h"

namespace weft::rt {
namespace {

using namespace sync_bit;

struct Rwlock {
  std::atomic<uint32_t> state;  // any thread: kLocked: a writer; kWaiters, kQueue; above: readers
  uint32_t unused;
  WaitQueue waiters;  // under kQueue; who waits to write says so by its kind
};
static_assert(sizeof(Rwlock) == sizeof(weft_rwlock_t) && alignof(Rwlock) == alignof(weft_rwlock_t));
static_assert(offsetof(Rwlock, state) == offsetof(weft_rwlock_t, state));
static_assert(offsetof(Rwlock, waiters) == offsetof(weft_rwlock_t, waiters));

constexpr uint32_t kReader = 1u << 8;
constexpr uint32_t kMostReaders = ~uint32_t{0} - (kReader - 1);
constexpr uint32_t kHeld = ~(kReader - 1) | kLocked;
constexpr uint32_t kBehindAll = kLocked | kWaiters | kQueue;  // what keeps a reader from entering at once

// How it is to be held. kReadPast: for reading, past those who wait to write.
enum class How { kRead, kReadPast, kWrite };

Rwlock& lock_of(weft_rwlock_t* lock) noexcept { return *reinterpret_cast<Rwlock*>(lock); }

// R1. Acquire, pairs with the release of a writer. BUSY: one of these bits is set.
int try_read(Rwlock& lock, uint32_t obstacles) noexcept {
  uint32_t seen = lock.state.load(std::memory_order_relaxed);
  for (;;) {
    if ((seen & obstacles) != 0) return WEFT_ERR_BUSY;
    if (seen >= kMostReaders) return WEFT_ERR_LIMIT;
    if (lock.state.compare_exchange_weak(seen, seen + kReader, std::memory_order_acquire,
                                         std::memory_order_relaxed)) {
      return WEFT_OK;
    }
  }
}

int try_write(Rwlock& lock) noexcept {
  uint32_t free = 0;
  const bool taken = lock.state.compare_exchange_strong(free, kLocked, std::memory_order_acquire,
                                                        std::memory_order_relaxed);
  return taken ? WEFT_OK : WEFT_ERR_BUSY;
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
  const uint32_t seen = queue_lock(lock.state, lock.waiters);
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

[[gnu::noinline]] int lock_slow(Rwlock& lock, How how, uint64_t deadline) noexcept {
  GuardedSection section;
  const uint32_t seen = queue_lock(lock.state, lock.waiters);
  uint32_t entered = 0;
  const int error = enters(seen, how, &entered) ? WEFT_OK
                    : has_passed(deadline)      ? WEFT_ERR_TIMEOUT
                    : !section.can_wait()       ? WEFT_ERR_CONTEXT
                                                : WEFT_ERR_BUSY;
  if (error != WEFT_ERR_BUSY) {
    unlock_queue(lock, error == WEFT_OK ? entered : 0);
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
  const bool given = section.wait_until(self, {&lock.state, kQueue, false}, deadline,
                                        [&] { return take_out(section, lock, self); });
  return given ? WEFT_OK : WEFT_ERR_TIMEOUT;
}

int lock_until(weft_rwlock_t* lock, How how, uint64_t deadline) noexcept {
  if (lock == nullptr) return WEFT_ERR_INVALID;
  const int error = how == How::kWrite  ? try_write(lock_of(lock))
                    : how == How::kRead ? try_read(lock_of(lock), kBehindAll)
                                        : try_read(lock_of(lock), kLocked | kQueue);
  return error == WEFT_ERR_BUSY ? lock_slow(lock_of(lock), how, deadline) : error;
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
    if (held == 0) return WEFT_ERR_NOT_OWNER;
    const bool last = held == kLocked || held == kReader;
    if (last && (seen & kQueue) != 0) {
      backoff.pause();
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

}  // namespace
}  // namespace weft::rt

using namespace weft::rt;

int weft_rwlock_rdlock(weft_rwlock_t* lock) { return lock_until(lock, How::kRead, kNever); }

int weft_rwlock_rdlock_until(weft_rwlock_t* lock, uint64_t deadline) {
  return lock_until(lock, How::kRead, deadline);
}

int weft_rwlock_rdlock_high(weft_rwlock_t* lock) { return lock_until(lock, How::kReadPast, kNever); }

int weft_rwlock_tryrdlock(weft_rwlock_t* lock) {
  return lock != nullptr ? try_read(lock_of(lock), kBehindAll) : WEFT_ERR_INVALID;
}

int weft_rwlock_wrlock(weft_rwlock_t* lock) { return lock_until(lock, How::kWrite, kNever); }

int weft_rwlock_wrlock_until(weft_rwlock_t* lock, uint64_t deadline) {
  return lock_until(lock, How::kWrite, deadline);
}

int weft_rwlock_trywrlock(weft_rwlock_t* lock) {
  return lock != nullptr ? try_write(lock_of(lock)) : WEFT_ERR_INVALID;
}

int weft_rwlock_unlock(weft_rwlock_t* lock) {
  if (lock == nullptr) return WEFT_ERR_INVALID;
  return unlock_unwanted(lock_of(lock)) ? WEFT_OK : unlock_slow(lock_of(lock));
}
