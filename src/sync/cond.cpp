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
  void* unused_pointer;
};
static_assert(sizeof(Cond) == sizeof(weft_cond_t) && alignof(Cond) == alignof(weft_cond_t));
static_assert(offsetof(Cond, state) == offsetof(weft_cond_t, state));
static_assert(offsetof(Cond, waiters) == offsetof(weft_cond_t, waiters));

using namespace sync_bit;

Cond& cond_of(weft_cond_t* cond) noexcept { return *reinterpret_cast<Cond*>(cond); }

// W2. Before the mutex is released.
void cond_queue(Cond& cond, Waiter& waiter) noexcept {
  queue_lock(cond.state);
  cond.waiters.push_back(&waiter);
  // Release, pairs with the acquire of queue_lock(); keeps kWaiters, drops kQueue.
  cond.state.store(kWaiters, std::memory_order_release);
}

// S1. Relaxed: who waits because of a state that the caller has changed under the mutex has set
// kWaiters before it released that mutex.
bool cond_has_waiters(const Cond& cond) noexcept {
  return (cond.state.load(std::memory_order_relaxed) & (kWaiters | kQueue)) != 0;
}

// S2. Takes one waiter, or all, off the list; the last access to the condition variable.
Waiter* cond_take(Cond& cond, bool all) noexcept {
  queue_lock(cond.state);
  Waiter* waiter = all ? cond.waiters.take() : cond.waiters.pop_front();
  cond.state.store(cond.waiters.empty() ? 0 : kWaiters, std::memory_order_release);
  return waiter;
}

}  // namespace
}  // namespace weft::rt

using namespace weft::rt;

int weft_cond_wait(weft_cond_t* cond, weft_mutex_t* mutex) {
  if (cond == nullptr || mutex == nullptr) return WEFT_ERR_INVALID;
  if (!mutex_is_locked(mutex_of(mutex))) return WEFT_ERR_NOT_OWNER;
  GuardedSection section;
  if (!section.can_wait()) return WEFT_ERR_CONTEXT;
  Waiter self;
  waiter_init(section.worker, self);
  cond_queue(cond_of(cond), self);
  const int error = mutex_unlock_in(section, mutex_of(mutex));
  WEFT_CHECK(error == WEFT_OK);  // somebody else has unlocked the caller's mutex
  section.wait(self);
  return mutex_lock_in(section, mutex_of(mutex));
}

int weft_cond_signal(weft_cond_t* cond) {
  if (cond == nullptr) return WEFT_ERR_INVALID;
  if (!cond_has_waiters(cond_of(cond))) return WEFT_OK;
  GuardedSection section;
  Waiter* waiter = cond_take(cond_of(cond), false);
  if (waiter != nullptr) waiter_wake(section.worker, waiter);
  return WEFT_OK;
}

int weft_cond_broadcast(weft_cond_t* cond) {
  if (cond == nullptr) return WEFT_ERR_INVALID;
  if (!cond_has_waiters(cond_of(cond))) return WEFT_OK;
  GuardedSection section;
  wake_all(section.worker, cond_take(cond_of(cond), true));
  return WEFT_OK;
}
