// lock.hpp: a lock of the front-end's own. Schedulers, tasklets and the functions of pools take it, which are not preempted: if
// the holder were, one of its own worker's would wait for it for ever.
#pragma once

#include "front/front.hpp"

namespace weft::abt {

// As M; whoever holds it is not preempted, and must not suspend.
template <class M>
class Lock {
 public:
  void lock() noexcept {
    const bool counts = front::no_preemption_begin();
    mutex_.lock();
    counts_ = counts;
  }
  void unlock() noexcept {
    const bool counts = counts_;
    mutex_.unlock();
    if (counts) front::no_preemption_end();
  }

 private:
  M mutex_;
  bool counts_ = false;  // the holder's
};

}  // namespace weft::abt
