// yielding_lock.hpp: a lock that is held for a few instructions. A holder that has been preempted is waited for by giving way.
#pragma once

#include <atomic>

#include "arch/pause.hpp"
#include "weft/weft.h"

namespace weft::omp {

struct YieldingLock {
  std::atomic_flag flag = ATOMIC_FLAG_INIT;
};

// Holds one while it lives.
class Locked {
 public:
  explicit Locked(YieldingLock& lock) : lock_(lock) {
    for (unsigned tries = 0; lock_.flag.test_and_set(std::memory_order_acquire); ++tries) {
      if (tries < 100) {
        rt::cpu_pause();
      } else {
        weft_yield();
      }
    }
  }
  ~Locked() { lock_.flag.clear(std::memory_order_release); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  YieldingLock& lock_;
};

}  // namespace weft::omp
