// sem.cpp: the counting semaphore. Protocol and proof: README.md, "Semaphore".
#include <cstddef>

#include "sync/wait_queue.hpp"
#include "weft/weft.h"

namespace weft::rt {
namespace {

using namespace sync_bit;

struct Sem {
  // any thread: below, kWaiters and kQueue; above, the count. Never a count with kWaiters.
  std::atomic<uint64_t> word;
  WaitQueue waiters;  // under kQueue
};
static_assert(sizeof(Sem) == sizeof(weft_sem_t) && alignof(Sem) == alignof(weft_sem_t));
static_assert(offsetof(weft_sem_t, state) == 0 && offsetof(weft_sem_t, count) == 4);
static_assert(offsetof(Sem, waiters) == offsetof(weft_sem_t, waiters));
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

constexpr uint64_t kOne = uint64_t{1} << 32;
constexpr uint64_t kBits = kOne - 1;
constexpr uint64_t kMost = INT32_MAX;

Sem& sem_of(weft_sem_t* sem) noexcept { return *reinterpret_cast<Sem*>(sem); }

// Its low half, for who gives kQueue back while the count is 0.
std::atomic<uint32_t>* state_of(Sem& sem) noexcept { return reinterpret_cast<std::atomic<uint32_t>*>(&sem.word); }

// P1. Acquire, pairs with the release of whoever has released it.
bool take_one(Sem& sem) noexcept {
  uint64_t seen = sem.word.load(std::memory_order_relaxed);
  while (seen >= kOne && (seen & kBits) == 0) {
    if (sem.word.compare_exchange_weak(seen, seen - kOne, std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

// Nobody else changes the word while kQueue is ours.
void sem_unlock(Sem& sem, uint64_t count) noexcept {
  sem.word.store(sem.waiters.empty() ? count * kOne : kWaiters, std::memory_order_release);
}

bool take_out(Sem& sem, Waiter& waiter) noexcept {
  const uint64_t seen = queue_lock(sem.word, sem.waiters);
  const bool queued = sem.waiters.remove_if_queued(&waiter);
  sem_unlock(sem, seen / kOne);
  return queued;
}

// Precondition of all three: kQueue is the caller's, and there is none.
[[gnu::noinline]] int acquire_near(Worker* worker, Sem& sem, uint64_t deadline) noexcept {
  GuardedSection section(worker);
  const int error = has_passed(deadline) ? WEFT_ERR_TIMEOUT : !section.can_wait() ? WEFT_ERR_CONTEXT : WEFT_OK;
  if (error != WEFT_OK) {
    sem_unlock(sem, 0);
    return error;
  }
  Waiter self;
  section.init(self, WaitKind::kSemaphore, &sem, deadline);
  sem.waiters.push_back(&self);  // P3
  const QueueRelease release{state_of(sem), kWaiters, true};
  const bool given = section.wait_until(self, release, deadline, [&] { return take_out(sem, self); });
  return given ? WEFT_OK : WEFT_ERR_TIMEOUT;
}

[[gnu::noinline]] int acquire_directly(Worker* worker, Sem& sem, Unit* next) noexcept {
  Waiter self;
  waiter_init(worker, klt_current(), self, WaitKind::kSemaphore, &sem);
  sem.waiters.push_back(&self);
  return wait_directly(worker, next, self, {state_of(sem), kWaiters, true});
}

[[gnu::noinline]] WEFT_RETURNS_BY_JUMP int acquire_far(Worker* worker, Sem& sem) noexcept {
  GuardedSection section(worker);
  Waiter self;
  section.init(self, WaitKind::kSemaphore, &sem);
  sem.waiters.push_back(&self);
  section.wait_far(self, {state_of(sem), kWaiters, true});
  return WEFT_OK;
}

[[gnu::noinline]] int acquire_slow(Sem& sem, uint64_t deadline) noexcept {
  Worker* worker = section_enter();
  const auto has_one = [&] { return sem.word.load(std::memory_order_relaxed) >= kOne; };
  if (worker != nullptr && !has_passed(deadline)) look_before_waiting(worker, has_one);
  const uint64_t count = queue_lock(sem.word, sem.waiters) / kOne;  // P2
  if (count == 0) {
    Unit* next;
    switch (how_it_leaves(worker, deadline, next)) {
      case Leaves::kDirectly: return acquire_directly(worker, sem, next);
      case Leaves::kFar: return acquire_far(worker, sem);
      default: return acquire_near(worker, sem, deadline);
    }
  }
  sem_unlock(sem, count - 1);
  section_leave(worker);
  return WEFT_OK;
}

// V2, V3.
[[gnu::noinline]] int release_slow(Sem& sem, uint32_t n) noexcept {
  GuardedSection section;
  WakeList wakes;
  const uint64_t count = queue_lock(sem.word, sem.waiters) / kOne;
  const bool fits = count + n <= kMost;
  for (; fits && n > 0 && !sem.waiters.empty(); --n) wakes.add(sem.waiters.pop_front());
  sem_unlock(sem, fits ? count + n : count);
  wakes.wake(section.worker);
  return fits ? WEFT_OK : WEFT_ERR_LIMIT;
}

int release(Sem& sem, uint32_t n) noexcept {
  uint64_t seen = sem.word.load(std::memory_order_relaxed);
  while ((seen & kBits) == 0) {  // V1
    if (seen / kOne + n > kMost) return WEFT_ERR_LIMIT;
    if (sem.word.compare_exchange_weak(seen, seen + n * kOne, std::memory_order_release,
                                       std::memory_order_relaxed)) {
      return WEFT_OK;
    }
  }
  return release_slow(sem, n);
}

}  // namespace
}  // namespace weft::rt

using namespace weft::rt;

int weft_sem_acquire(weft_sem_t* sem) { return weft_sem_acquire_until(sem, WEFT_NEVER); }

int weft_sem_acquire_until(weft_sem_t* sem, uint64_t deadline) {
  if (sem == nullptr) return WEFT_ERR_INVALID;
  return take_one(sem_of(sem)) ? WEFT_OK : acquire_slow(sem_of(sem), deadline);
}

int weft_sem_tryacquire(weft_sem_t* sem) {
  if (sem == nullptr) return WEFT_ERR_INVALID;
  if (take_one(sem_of(sem))) return WEFT_OK;
  GuardedSection section;
  const uint64_t count = queue_lock(sem_of(sem).word, sem_of(sem).waiters) / kOne;
  sem_unlock(sem_of(sem), count > 0 ? count - 1 : 0);
  return count > 0 ? WEFT_OK : WEFT_ERR_BUSY;
}

int weft_sem_release(weft_sem_t* sem, uint32_t n) {
  if (sem == nullptr) return WEFT_ERR_INVALID;
  return n == 0 ? WEFT_OK : release(sem_of(sem), n);
}

uint32_t weft_sem_value(const weft_sem_t* sem) {
  if (sem == nullptr) return 0;
  const auto& word = sem_of(const_cast<weft_sem_t*>(sem)).word;
  return static_cast<uint32_t>(word.load(std::memory_order_relaxed) / kOne);
}
