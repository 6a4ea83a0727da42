// pool.cpp: pools, beyond weft.h.
#include "api/handles.hpp"
#include "front/front.hpp"
#include "klt/guard.hpp"
#include "klt/registry.hpp"
#include "klt/time_slice.hpp"
#include "os/clock.hpp"
#include "pool/lane.hpp"
#include "worker/pool_hold.hpp"
#include "worker/pool_sleep.hpp"
#include "worker/runtime.hpp"
#include "worker/timers.hpp"

namespace weft::front {

using namespace rt;

namespace {

struct Total {
  const Pool* pool;
  size_t count = 0;
};

}  // namespace

void pool_set_front(weft_pool_t pool, void* front) { from_handle(pool)->front = front; }
void* pool_front(weft_pool_t pool) { return from_handle(pool)->front; }
void pool_set_preemption(weft_pool_t pool, weft_preemption_t kind) {
  from_handle(pool)->preemption.store(static_cast<uint8_t>(kind), std::memory_order_relaxed);
  preempt_pools_say();
}

void pool_set_blocking(weft_pool_t pool, weft_blocking_t kind) {
  from_handle(pool)->blocking.store(static_cast<uint8_t>(kind), std::memory_order_relaxed);
}
bool pool_is_own(weft_pool_t handle) {
  const Pool* pool = from_handle(handle);
  const Worker* owner = pool->lane_owner;
  return owner != nullptr && pool == &owner->lane;
}

weft_pool_t pool_create_fifo(weft_access_t access) { return to_handle(pool_create_hosted(access)); }

void pool_share(weft_pool_t handle) {
  lane_list(*from_handle(handle), weft_yield);
}

size_t pool_blocked(weft_pool_t handle) {
  Total total{from_handle(handle)};
  InSection section;
  unit_for_each(
      [](Unit* unit, void* arg) {
        auto* total = static_cast<Total*>(arg);
        const UnitState state = unit_state(unit);
        const bool waits = state == UnitState::kBlocked || state == UnitState::kInKernel;
        if (waits && unit->pool.load(std::memory_order_relaxed) == total->pool) ++total->count;
      },
      &total);
  return total.count;
}

void pool_pushed(weft_pool_t pool) {
  Worker* worker = section_enter();
  wake_for_pool(worker, from_handle(pool));
  section_leave(worker);
}

void pool_destroy(weft_pool_t pool) { pool_delete(from_handle(pool)); }

unsigned pool_schedulers(weft_pool_t pool) {
  return from_handle(pool)->schedulers.load(std::memory_order_relaxed);
}

namespace {

// The guard may be up.
[[gnu::noinline]] Unit* pop_in_general(Pool* pool) noexcept {
  Worker* worker = section_enter();
  if (worker != nullptr) {
    timers_look(worker);  // a user's scheduler may look for nothing but units
    run_deferred(worker);
  }
  // Another one's: from now on it is for several.
  if (Worker* owner = pool->lane_owner; owner != nullptr && owner != worker && !owner->lane.is_listed()) {
    section_leave(worker);
    pool_share(to_handle(pool));
    worker = section_enter();
  }
  Unit* unit = pool->pop(worker);
  if (unit != nullptr) unit->flags.clear(flag::kDirect);
  section_leave(worker);
  return unit;
}

}  // namespace

bool pool_pop(weft_pool_t handle, weft_unit_t* popped) {
  Pool* pool = from_handle(handle);
  if (!pool->builtin) return false;
  Worker* worker = klt_register_valid() ? guard_try_enter() : nullptr;
  if (worker == nullptr || pool->lane_owner != worker || worker->dispatch_first != nullptr || !worker->lane.is_all_private()) {
    *popped = to_handle(pop_in_general(pool));
    return true;
  }
  timers_look(worker);
  Unit* unit = worker->lane.pop_private();
  if (unit != nullptr) unit->flags.clear(flag::kDirect);
  *popped = to_handle(unit);
  guard_leave(worker);
  return true;
}

weft_unit_t pool_pop_until(weft_pool_t handle, uint64_t deadline) {
  for (;;) {
    weft_unit_t unit = nullptr;
    if (pool_pop(handle, &unit); unit != nullptr) return unit;
    const uint64_t now = now_ns();
    if (now >= deadline) return nullptr;
    Worker* worker = section_enter();
    if (worker != nullptr) timers_poll_all(worker, now);
    const bool stop = worker != nullptr && klt_current() == nullptr && sched_should_stop(worker->sched);
    if (!stop) worker = pool_wait(worker, from_handle(handle), deadline);
    section_leave(worker);
    if (stop) return nullptr;
  }
}

bool pool_remove(weft_pool_t handle, weft_unit_t unit) {
  Pool* pool = from_handle(handle);
  Worker* worker = section_enter();
  if (Worker* owner = pool->lane_owner; owner != nullptr && owner != worker && !owner->lane.is_listed()) {
    section_leave(worker);
    pool_share(handle);
    worker = section_enter();
  }
  const bool removed = pool->try_remove(worker, from_handle(unit));
  if (removed) from_handle(unit)->flags.clear(flag::kDirect);
  section_leave(worker);
  return removed;
}

void pool_for_each(weft_pool_t handle, void (*f)(weft_unit_t unit, void* arg), void* arg) {
  const Worker* owner = from_handle(handle)->lane_owner;
  if (owner != nullptr && to_handle(const_cast<Worker*>(owner)) != weft_worker_self()) pool_share(handle);
  InSection section;
  from_handle(handle)->for_each(f, arg);
}

}  // namespace weft::front
