#include "sync/wait_queue.hpp"

#include "os/futex.hpp"

namespace weft::rt {

bool GuardedSection::wait_till(Waiter& waiter, const QueueRelease& release, uint64_t deadline) noexcept {
  if (waiter.unit == nullptr) {
    release(worker);
    while (waiter.state.load(std::memory_order_acquire) != Waiter::kWoken) {
      if (now_ns() >= deadline) return true;
      futex_wait_until(waiter.state, Waiter::kWaiting, deadline);
    }
    return false;
  }
  Timer timer;
  timer_arm(worker, timer, waiter, deadline);
  worker = waiter_wait_locked(worker, waiter, release);
  timer_disarm(timer);
  return waiter.state.load(std::memory_order_acquire) != Waiter::kWoken;
}

}  // namespace weft::rt
