// cond.cpp: the condition variable. The numbers are the steps of README.md, "Condition variable".
//
// Rejected: moving waiters over to the mutex's list on a broadcast. The signaller would touch a
// mutex that need not exist any more when it does not hold it.
#include <cstddef>

#include "sync/mutex.hpp"
#include "sync/wait_queue.hpp"

namespace weft::rt {
namespace {

struct Cond {
  std::atomic<uint32_t> state;  // any thread: kWaiters, kQueue
  uint32_t unused;
  WaitQueue waiters;  // under kQueue
};
static_assert(sizeof(Cond) == sizeof(weft_cond_t) && alignof(Cond) == alignof(weft_cond_t));
static_assert(offsetof(Cond, state) == offsetof(weft_cond_t, state));
static_assert(offsetof(Cond, waiters) == offsetof(weft_cond_t, waiters));

using namespace sync_bit;

Cond& cond_of(weft_cond_t* cond) noexcept { return *reinterpret_cast<Cond*>(cond); }

// Nobody else changes the word while kQueue is ours. Release, pairs with the acquire of queue_lock().
void cond_unlock(Cond& cond) noexcept {
  cond.state.store(cond.waiters.empty() ? 0 : kWaiters, std::memory_order_release);
}

// The deadline came.
bool take_out(Cond& cond, Waiter& waiter) noexcept {
  queue_lock(cond.state, cond.waiters);
  const bool queued = cond.waiters.remove_if_queued(&waiter);
  cond_unlock(cond);
  return queued;
}

// S1. Relaxed: who waits because of a state that the caller has changed under the mutex has set
// kWaiters before it released that mutex.
bool cond_has_waiters(const Cond& cond) noexcept {
  return (cond.state.load(std::memory_order_relaxed) & (kWaiters | kQueue)) != 0;
}

// S2, S3. Takes one waiter, or all, off the list; giving the lock back is the last access to the condition
// variable.
void cond_wake(Cond& cond, bool all) noexcept {
  GuardedSection section;
  WakeList wakes;
  queue_lock(cond.state, cond.waiters);
  if (all) {
    cond.waiters.take_all(wakes);
  } else if (Waiter* waiter = cond.waiters.pop_front()) {
    wakes.add(waiter);
  }
  cond_unlock(cond);
  wakes.wake(section.worker);
}

// W2 to W4.
bool cond_wait(GuardedSection& section, Cond& cond, Mutex& mutex, uint64_t deadline) noexcept {
  Waiter self;
  section.init(self, WaitKind::kCond, &cond, deadline);
  WakeList next_holder;
  queue_lock(cond.state, cond.waiters);
  cond.waiters.push_back(&self);
  const int error = mutex_give_in(section, mutex, next_holder);
  WEFT_CHECK(error == WEFT_OK);  // somebody else has unlocked the caller's mutex
  const QueueRelease release{&cond.state, kWaiters, true, &next_holder};
  return section.wait_until(self, release, deadline, [&] { return take_out(cond, self); });
}

int cond_wait_checked(weft_cond_t* cond, weft_mutex_t* mutex, uint64_t deadline) noexcept {
  if (cond == nullptr || mutex == nullptr) return WEFT_ERR_INVALID;
  if (!mutex_is_locked(mutex_of(mutex))) return WEFT_ERR_NOT_OWNER;  // W1
  GuardedSection section;
  if (!section.can_wait()) return WEFT_ERR_CONTEXT;
  const bool woken = cond_wait(section, cond_of(cond), mutex_of(mutex), deadline);
  const int error = mutex_lock_in(section, mutex_of(mutex));  // W5
  return error != WEFT_OK || woken ? error : WEFT_ERR_TIMEOUT;
}

}  // namespace
}  // namespace weft::rt

using namespace weft::rt;

int weft_cond_wait(weft_cond_t* cond, weft_mutex_t* mutex) {
  return cond_wait_checked(cond, mutex, kNever);
}

int weft_cond_wait_until(weft_cond_t* cond, weft_mutex_t* mutex, uint64_t deadline) {
  return cond_wait_checked(cond, mutex, deadline);
}

int weft_cond_signal(weft_cond_t* cond) {
  if (cond == nullptr) return WEFT_ERR_INVALID;
  if (cond_has_waiters(cond_of(cond))) cond_wake(cond_of(cond), false);
  return WEFT_OK;
}

int weft_cond_broadcast(weft_cond_t* cond) {
  if (cond == nullptr) return WEFT_ERR_INVALID;
  if (cond_has_waiters(cond_of(cond))) cond_wake(cond_of(cond), true);
  return WEFT_OK;
}
