#include "sync/wait_queue.hpp"

namespace weft::rt {

bool GuardedSection::wait_till(Waiter& waiter, const QueueRelease& release, uint64_t deadline) noexcept {
  if (waiter.unit == nullptr) {
    release(worker);
    return !waiter_sleep(worker, waiter, deadline);
  }
  Timer timer;
  timer_arm(worker, timer, waiter, deadline);
  worker = waiter_wait_locked(worker, waiter, release);
  // One that goes on because its deadline has come may be woken besides, and told so before its waker has given the
  // list's lock back. It must not let the object be destroyed before that: it takes the lock, too.
  const bool by_itself = !timer_disarm(timer);
  return by_itself || waiter.state.load(std::memory_order_acquire) != Waiter::kWoken;
}

}  // namespace weft::rt
