// pool_hold.hpp: who pushes into a pool looks at it once more, for those who sleep on it. By then the unit may run
// elsewhere, be joined, and the pool be freed: whoever frees it waits for those who look.
//
// A pusher stores what it holds before it pushes, and clears that with a release after its last look. Whoever frees the
// pool because of anything that the unit did comes after the push, and so sees the first store or a later one.
//
// A lane has no such order of things: its worker may stop because of anything. Who pushes there what any lane will do for
// looks at the worker once more when it holds the lane; who stops looks at the holds when its state says so: two full fences.
#pragma once

#include <atomic>

#include "worker/worker.hpp"

namespace weft::rt {

class PoolHold {
 public:
  // worker: the caller's, guard up; null: a foreign thread, or a KLT that has no worker just now.
  PoolHold(Worker* worker, const Pool* pool) noexcept
      : place_(worker != nullptr && worker->holds.load(std::memory_order_relaxed) == nullptr ? &worker->holds
                                                                                             : free_place()) {
    place_->store(pool, std::memory_order_relaxed);
  }
  PoolHold(const PoolHold&) = delete;
  PoolHold& operator=(const PoolHold&) = delete;
  ~PoolHold() { place_->store(nullptr, std::memory_order_release); }

 private:
  // Of those who have no worker, and of who pushes while it pushes: a pool of the user's may push into another one.
  static std::atomic<const Pool*>* free_place() noexcept;

  std::atomic<const Pool*>* const place_;
};

// Until nobody looks at it who did when it was called. Any thread; no lock is held, nor the pool by the caller.
void wait_for_pool_holds(const Pool* pool) noexcept;
// Deletes the pool, which nobody pushes into any more, once nobody looks at it. Any thread; no lock is held.
void pool_delete(Pool* pool) noexcept;
// In a forked child: of the parent's other threads nobody does.
void forget_pool_holds() noexcept;

}  // namespace weft::rt
