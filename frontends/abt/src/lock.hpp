// lock.hpp: a lock of the front-end's own, for a few instructions. Schedulers and the functions of pools take it, which are not
// preempted: if the holder were, one of its own worker's would wait for it for ever.
#pragma once

#include "arch/pause.hpp"
#include "base/spin_lock.hpp"
#include "front/front.hpp"
#include "os/cpu_yield.hpp"

namespace weft::abt {

// Whoever holds it is not preempted, and neither suspends, allocates nor waits for anything: a ULT that was preempted on the same ES may
// have that.
class Lock {
 public:
  void lock() noexcept {
    const bool counts = front::no_preemption_begin(false);
    for (unsigned looks = 0; !lock_.try_lock(); ++looks) {
      if (looks < kLooks) {
        rt::cpu_pause();
      } else {
        rt::cpu_yield();  // the holder has lost its core to another thread; not sched_yield(), which the OpenMP front-end stands in for
      }
    }
    counts_ = counts;
  }
  void unlock() noexcept {
    const bool counts = counts_;
    lock_.unlock();
    if (counts) front::no_preemption_end(false);
  }

 private:
  static constexpr unsigned kLooks = 200;
  rt::SpinLock lock_;
  bool counts_ = false;  // the holder's
};

}  // namespace weft::abt
