// timer_heap.hpp: the deadlines that ULTs of one worker wait for.
//
// A pairing heap of records that lie in the waiters' frames: O(1) to insert, O(log n) to remove, and nothing
// is allocated.
// Rejected: a timer wheel (its tick is either late or wakes an idle machine); an array heap (has to grow, with
// the guard up).
#pragma once

#include <atomic>
#include <cstdint>

#include "base/spin_lock.hpp"
#include "os/clock.hpp"

namespace weft::rt {

struct Waiter;
class TimerHeap;

struct Timer {
  // constant once armed
  uint64_t deadline = kNever;
  Waiter* waiter = nullptr;
  TimerHeap* heap = nullptr;  // null: never armed
  // under the heap's lock
  bool armed = false;
  Timer* child = nullptr;    // the first of those that are later
  Timer* sibling = nullptr;
  Timer* before = nullptr;   // the sibling before it, or the parent of the first one
};

class TimerHeap {
 public:
  // True: it is the earliest now.
  bool insert(Timer* timer) noexcept;
  // False: it has been popped.
  bool remove(Timer* timer) noexcept;
  // Calls fire(timer), under the lock, for those that are due, at most `most`. The timer may be gone
  // afterwards.
  template <class F>
  void pop_due(uint64_t now, unsigned most, F&& fire) noexcept {
    lock_.lock();
    while (root_ != nullptr && root_->deadline <= now && most-- > 0) {
      Timer* timer = root_;
      take_root();
      fire(timer);
    }
    publish_earliest();
    lock_.unlock();
  }

  // In a forked child: those who waited stayed behind in the parent.
  void forget_all() noexcept {
    root_ = nullptr;
    publish_earliest();
  }

  // kNever: it is empty. Sequentially consistent: who arms a timer and then asks who sleeps, and who says that it
  // sleeps and then asks for the earliest, do not miss each other.
  uint64_t earliest() const noexcept { return earliest_.load(std::memory_order_seq_cst); }

 private:
  void take_root() noexcept;
  void publish_earliest() noexcept;

  // any worker
  SpinLock lock_;
  std::atomic<uint64_t> earliest_{kNever};
  Timer* root_ = nullptr;  // under lock_
};

}  // namespace weft::rt
