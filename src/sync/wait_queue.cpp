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
  timer_disarm(timer);
  return waiter.state.load(std::memory_order_acquire) != Waiter::kWoken;
}

}  // namespace weft::rt
