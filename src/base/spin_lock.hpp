// spin_lock.hpp: a lock for sections of a few dozen instructions that run with the guard up.
//
// A ULT never waits here for another ULT: the holder has its guard up, so it is neither preempted by
// Weft nor taken from its worker. The kernel may deschedule it; then waiters give way.
#pragma once

#include <sched.h>

#include <atomic>

#include "arch/pause.hpp"

namespace weft::rt {

class SpinLock {
 public:
  void lock() noexcept {
    for (unsigned spins = 0; !try_lock(); ++spins) {
      if (spins < kSpinsBeforeYield) {
        cpu_pause();
      } else {
        sched_yield();  // the holder has lost its core to another thread
      }
    }
  }

  // Acquire, pairs with the release in unlock().
  bool try_lock() noexcept {
    return !held_.load(std::memory_order_relaxed) &&
           !held_.exchange(true, std::memory_order_acquire);
  }

  void unlock() noexcept { held_.store(false, std::memory_order_release); }

 private:
  static constexpr unsigned kSpinsBeforeYield = 200;
  std::atomic<bool> held_{false};
};

// A lock for structures that one worker alone uses.
class NoLock {
 public:
  void lock() noexcept {}
  bool try_lock() noexcept { return true; }
  void unlock() noexcept {}
};

}  // namespace weft::rt
