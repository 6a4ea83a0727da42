// wait_queue.hpp: what mutex, condition variable, barrier and event are made of: a state word with
// a lock bit for the list of waiters, and that list. See README.md for the protocols.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "arch/pause.hpp"
#include "klt/guard.hpp"
#include "unit/unit.hpp"
#include "worker/worker.hpp"

namespace weft::rt {

// Bits of a state word. The rest is zero.
namespace sync_bit {
inline constexpr uint32_t kLocked = 1u << 0;   // mutex: somebody holds it
inline constexpr uint32_t kSet = 1u << 0;      // event: waiters pass
inline constexpr uint32_t kWaiters = 1u << 1;  // the list is not empty, or will not be in a moment
inline constexpr uint32_t kQueue = 1u << 2;    // the list is somebody's, who has its guard up
inline constexpr uint32_t kWoken = 1u << 3;    // mutex: a waiter was woken and has not looked yet
}  // namespace sync_bit

// A section with the guard up. `worker` is null on a thread that is not a KLT of Weft, and another
// one after a wait.
struct GuardedSection {
  GuardedSection() noexcept : worker(guard_enter()) {}
  GuardedSection(const GuardedSection&) = delete;
  GuardedSection& operator=(const GuardedSection&) = delete;
  ~GuardedSection() {
    if (worker != nullptr) guard_leave(worker);
  }

  bool can_wait() const noexcept { return worker == nullptr || may_wait(worker); }
  void wait(Waiter& waiter) noexcept { worker = waiter_wait(worker, waiter); }

  Worker* worker;
};

// How to wait for kQueue: its holder is a few instructions from its end, unless the kernel has
// taken its core away.
class QueueBackoff {
 public:
  void pause() noexcept {
    if (spins_++ < kSpinsBeforeYield) {
      cpu_pause();
    } else {
      sched_yield();
    }
  }

 private:
  static constexpr unsigned kSpinsBeforeYield = 200;
  unsigned spins_ = 0;
};

// Takes kQueue whatever the other bits are. Acquire, pairs with the release of queue_unlock().
inline void queue_lock(std::atomic<uint32_t>& state) noexcept {
  QueueBackoff backoff;
  uint32_t seen = state.load(std::memory_order_relaxed);
  for (;;) {
    if ((seen & sync_bit::kQueue) != 0) {
      backoff.pause();
      seen = state.load(std::memory_order_relaxed);
    } else if (state.compare_exchange_weak(seen, seen | sync_bit::kQueue, std::memory_order_acquire,
                                           std::memory_order_relaxed)) {
      return;
    }
  }
}

inline void queue_unlock(std::atomic<uint32_t>& state) noexcept {
  state.fetch_and(~sync_bit::kQueue, std::memory_order_release);
}

// First in, first out. Under kQueue. Two words of the object's `waiters`.
struct WaitQueue {
  Waiter* head;
  Waiter* tail;

  bool empty() const noexcept { return head == nullptr; }

  void push_back(Waiter* waiter) noexcept {
    waiter->next = nullptr;
    (head != nullptr ? tail->next : head) = waiter;
    tail = waiter;
  }

  void push_front(Waiter* waiter) noexcept {
    waiter->next = head;
    if (head == nullptr) tail = waiter;
    head = waiter;
  }

  Waiter* pop_front() noexcept {
    Waiter* waiter = head;
    if (waiter != nullptr) head = waiter->next;
    return waiter;
  }

  // The whole list, for wake_all().
  Waiter* take() noexcept {
    Waiter* all = head;
    head = nullptr;
    return all;
  }
};

// Wakes every waiter of a list that was taken. Precondition: kQueue is not held; what the list
// belonged to may be gone.
inline void wake_all(Worker* worker, Waiter* waiter) noexcept {
  while (waiter != nullptr) {
    Waiter* next = waiter->next;  // gone once it is woken
    waiter_wake(worker, waiter);
    waiter = next;
  }
}

}  // namespace weft::rt
