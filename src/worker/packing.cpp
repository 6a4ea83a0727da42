// packing.cpp: the numbers are the steps of README.md, "Suspended".
#include "worker/packing.hpp"

#include <mutex>

#include "klt/time_slice.hpp"
#include "worker/runtime.hpp"

namespace weft::rt {
namespace {

template <class F>
void for_each_running(F&& f) noexcept {
  const unsigned slots = runtime.worker_slots.load(std::memory_order_acquire);
  for (unsigned i = 0; i < slots; ++i) {
    Worker* worker = runtime.workers[i].load(std::memory_order_acquire);
    if (worker != nullptr && worker->state.load(std::memory_order_acquire) == WorkerState::kActive) f(worker);
  }
}

// The unit that it runs is to leave soon.
void tell_carrier(Worker* worker) noexcept {
  if (Klt* carrier = worker->carrier.load(std::memory_order_seq_cst)) {
    carrier->attention.fetch_or(attention::kSuspend, std::memory_order_seq_cst);
  }
  if (!preempt_off()) preempt_unit_waits(worker);
}

// S1. True: it is another state than before.
bool set_suspended(Worker* worker, bool on) noexcept {
  // Sequentially consistent, pairs with a worker that is about to sleep, and with hand_to().
  if (worker->suspended.exchange(on, std::memory_order_seq_cst) == on) return false;
  if (on) {
    runtime.suspended.fetch_add(1, std::memory_order_seq_cst);
  } else {
    runtime.suspended.fetch_sub(1, std::memory_order_seq_cst);
  }
  return true;
}

// What has come into the ring since it was last looked at.
void sweep_ring(Worker* worker) noexcept {
  Lane& lane = worker->lane;
  if (lane.has_inbox()) lane.drain_inbox();
  lane.take_some(worker->swept_tail, [worker](Unit* unit) { return hand_on(worker, unit); });
  worker->swept_tail = lane.ring_tail.load(std::memory_order_relaxed);
}

// A lane that is its worker's alone.
bool is_private_lane(const Pool* pool) noexcept {
  const Worker* owner = pool->lane_owner;
  return owner != nullptr && !owner->lane.is_listed();
}

Unit* pop_own(Worker* worker) noexcept {
  while (Unit* unit = worker->lane.pop_private()) {
    if (!hand_on(worker, unit)) return unit;
  }
  while (Unit* unit = worker->lane.has_shared() ? worker->lane.pop_shared() : nullptr) {
    if (!hand_on(worker, unit)) return unit;
  }
  return nullptr;
}

}  // namespace

int workers_set_active(unsigned n) noexcept {
  unsigned count = 0;
  bool refused = false;
  for_each_running([&](const Worker* worker) { refused |= count++ >= n && worker->sched->user; });
  if (n == 0 || n > count) return WEFT_ERR_INVALID;
  if (refused) return WEFT_ERR_STATE;
  unsigned place = 0;
  for_each_running([&](Worker* worker) {
    const bool on = place++ >= n;
    if (set_suspended(worker, on) && on) tell_carrier(worker);
  });
  runtime.packing.fetch_add(1, std::memory_order_seq_cst);
  for_each_running(wake_worker);
  return WEFT_OK;
}

// S2. Those that are suspended sleep on pools that others have served until now.
void packing_changed() noexcept {
  runtime.packing.fetch_add(1, std::memory_order_seq_cst);
  if (runtime.suspended.load(std::memory_order_seq_cst) != 0) for_each_running(wake_worker);
}

void note_suspension(Worker* worker) noexcept {
  worker->parked = is_suspended(worker);
  const bool home_in_lane = worker->home()->lane_owner == worker;
  worker->ring_first = !worker->parked && ring_may_come_first(worker->sched) && home_in_lane;
  worker->first_pool = !worker->parked && begins_with_first_pool(worker->sched) && !home_in_lane ? worker->sched->pools[0] : nullptr;
  {
    const std::scoped_lock hold(worker->lane.lock);  // of one that has stopped: Lane::list_stopped()
    worker->direct = !worker->parked && worker->parent == nullptr && worker->ring != nullptr;
  }
  worker->swept_tail = worker->lane.ring_head.load(std::memory_order_relaxed);
}

// S3.
Unit* pick_suspended(Worker* worker, Sched* sched) noexcept {
  if (!worker->lane.is_listed()) sweep_ring(worker);
  const size_t n = sched->pool_count;
  const size_t first = ++worker->tick % n;
  for (size_t i = 0; i < n; ++i) {
    Pool* pool = sched->pools[(first + i) % n];
    Unit* unit = nullptr;
    if (is_private_lane(pool)) {
      if (pool->lane_owner == worker) unit = pop_own(worker);
    } else if (!is_taken_over(pool)) {
      unit = pool->pop(worker);
    }
    if (unit != nullptr) return unit;
  }
  // Of one whose lane is not among its pools.
  return worker->lane.is_listed() ? nullptr : pop_own(worker);
}

bool suspended_finds(Worker* worker, Sched* sched) noexcept {
  if (!worker->lane.is_listed() && worker->lane.has_unit()) return true;
  for (size_t i = 0; i < sched->pool_count; ++i) {
    Pool* pool = sched->pools[i];
    if (!is_private_lane(pool) && !is_taken_over(pool) && pool->size() != 0) return true;
  }
  return false;
}

// S4.
void wake_for_suspended(Worker* worker, Sched* sched) noexcept {
  for (size_t i = 0; i < sched->pool_count; ++i) {
    Pool* pool = sched->pools[i];
    if (!is_private_lane(pool) && is_taken_over(pool) && pool->size() != 0) wake_for_pool(worker, pool);
  }
}

}  // namespace weft::rt
