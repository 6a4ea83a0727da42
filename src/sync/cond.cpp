// cond.cpp: the condition variable. The numbers are the steps of README.md, "Condition variable".
//
// Rejected: moving waiters over to the mutex's list on a broadcast. The signaller would touch a
// mutex that need not exist any more when it does not hold it.
#include <cstddef>

#include "sync/list_lock.hpp"
#include "sync/mutex.hpp"

namespace weft::rt {
namespace {

struct Cond {
  std::atomic<uint32_t> state;  // any thread: kWaiters, kQueue; or a worker's tag and nothing else: list_lock.hpp
  // under the list's lock
  std::atomic<uint32_t> uses;
  WaitQueue waiters;
};
static_assert(sizeof(Cond) == sizeof(weft_cond_t) && alignof(Cond) == alignof(weft_cond_t));
static_assert(offsetof(Cond, state) == offsetof(weft_cond_t, state));
static_assert(offsetof(Cond, waiters) == offsetof(weft_cond_t, waiters));

using namespace sync_bit;

Cond& cond_of(weft_cond_t* cond) noexcept { return *reinterpret_cast<Cond*>(cond); }

ListHold cond_lock(const GuardedSection& section, Cond& cond) noexcept {
  const ListHold hold = list_lock(section.worker, cond.state, cond.uses, kWaiters);
  cond.waiters.forget_stale();
  return hold;
}

// The deadline came.
bool take_out(const GuardedSection& section, Cond& cond, Waiter& waiter) noexcept {
  const ListHold hold = cond_lock(section, cond);
  const bool queued = cond.waiters.remove_if_queued(&waiter);
  hold.unlock(cond.waiters.empty());
  return queued;
}

// S1. Where the list is a worker's, that one has to look into it. Relaxed: who waits because of a state that the caller
// has changed under the mutex has set kWaiters before it released that mutex.
bool cond_may_have_waiters(const Cond& cond) noexcept { return cond.state.load(std::memory_order_relaxed) != 0; }

// S2, S3. Takes one waiter, or all, off the list; giving the lock back is the last access to the condition
// variable.
void cond_wake(Cond& cond, bool all) noexcept {
  GuardedSection section;
  WakeList wakes;
  const ListHold hold = cond_lock(section, cond);
  if (all) {
    cond.waiters.take_all(wakes);
  } else if (Waiter* waiter = cond.waiters.pop_front()) {
    wakes.add(waiter);
  }
  hold.unlock(cond.waiters.empty());
  wakes.wake(section.worker);
}

// W2 to W4.
bool cond_wait(GuardedSection& section, Cond& cond, Mutex& mutex, uint64_t deadline) noexcept {
  Waiter self;
  section.init(self, WaitKind::kCond, &cond, deadline);
  WakeList next_holder;
  const ListHold hold = cond_lock(section, cond);
  cond.waiters.push_back(&self);
  const int error = mutex_give_in(section.worker, mutex, next_holder);
  WEFT_CHECK(error == WEFT_OK);  // somebody else has unlocked the caller's mutex
  const QueueRelease release{hold.word, hold.waiters, true, &next_holder};
  return section.wait_until(self, release, deadline, [&] { return take_out(section, cond, self); });
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
  if (cond_may_have_waiters(cond_of(cond))) cond_wake(cond_of(cond), false);
  return WEFT_OK;
}

int weft_cond_broadcast(weft_cond_t* cond) {
  if (cond == nullptr) return WEFT_ERR_INVALID;
  if (cond_may_have_waiters(cond_of(cond))) cond_wake(cond_of(cond), true);
  return WEFT_OK;
}
