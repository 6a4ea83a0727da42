// sched_run.cpp: what a user-defined or stacked scheduler calls while it runs.
#include <sched.h>

#include "api/handles.hpp"
#include "klt/guard.hpp"
#include "worker/bell.hpp"
#include "worker/pool_sleep.hpp"
#include "worker/runtime.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

// A built-in scheduler as a loop in a ULT.
void run_builtin(Sched* sched) noexcept {
  while (!weft_sched_should_stop(to_handle(sched))) {
    Worker* worker = guard_enter();
    if (bell_calls(worker)) bell_answer(worker);
    Unit* unit = sched_pick(sched, worker);
    if (unit != nullptr) run_from_scheduler(worker, unit);
    worker = guard_worker();
    const bool leave = worker->suspended.load(std::memory_order_relaxed);
    guard_leave(worker);
    if (leave) weft_yield();  // it goes on where a worker is active
    if (unit == nullptr) weft_sched_idle(to_handle(sched));
  }
}

}  // namespace

void stacked_main(void* arg) {
  auto* sched = static_cast<Sched*>(arg);
  sched->unit.store(from_handle(weft_self()), std::memory_order_relaxed);
  if (sched->user) {
    sched->ops.run(to_handle(sched), sched->data);
  } else {
    run_builtin(sched);
  }
  sched->unit.store(nullptr, std::memory_order_relaxed);
  sched->stacked.store(false, std::memory_order_release);
}

namespace {

// A stacked scheduler suspends until one of its pools is pushed to, or it gets an order.
void idle_stacked(Worker* worker, Sched* sched) noexcept {
  Waiter waiter;
  waiter_init(worker, waiter, WaitKind::kIdleSched, sched);
  sched->sleeper.waiter.store(&waiter, std::memory_order_seq_cst);
  sched->sleeper.pools = sched->pools;
  sched->sleeper.pool_count = sched->pool_count;
  pool_sleep_enter(sched->sleeper);
  // Full fences here and in wake_for_pool(): either we see the unit, or the pusher sees us.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const bool awake = sched->exit.load() || !sched_pools_empty(sched) ||
                     (sched->finish.load() && (!sched->patient || sched_done(sched)));
  // If somebody has taken the waiter already, its wake-up has to be waited for.
  if (!awake || sched->sleeper.waiter.exchange(nullptr, std::memory_order_seq_cst) == nullptr) {
    worker = waiter_wait(worker, waiter);
  }
  pool_sleep_leave(sched->sleeper);
  guard_leave(worker);
}

}  // namespace

}  // namespace weft::rt

using namespace weft::rt;

extern "C" {

int weft_sched_push(weft_sched_t handle, weft_pool_t pool, weft_unit_t* unit) {
  Sched* sched = from_handle(handle);
  if (sched == nullptr || pool == nullptr) return WEFT_ERR_INVALID;
  if (!runtime_running()) return WEFT_ERR_UNINITIALIZED;
  bool no = false;
  if (sched->worker.load() != nullptr || !sched->stacked.compare_exchange_strong(no, true)) {
    return WEFT_ERR_STATE;
  }
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.name = "scheduler";
  attr.technique = WEFT_TECHNIQUE_SS_L;
  attr.pool = pool;
  const int error = weft_ult_create(stacked_main, sched, &attr, unit);
  if (error != WEFT_OK) sched->stacked.store(false);
  return error;
}

int weft_sched_run(weft_sched_t handle, weft_unit_t unit_handle) {
  Unit* unit = live_unit(unit_handle);
  if (handle == nullptr || unit == nullptr) return WEFT_ERR_INVALID;
  Worker* worker = guard_enter();
  if (worker == nullptr) return WEFT_ERR_CONTEXT;
  Unit* self = klt_current();
  if (self != nullptr && unit_is(self, flag::kTasklet)) {
    guard_leave(worker);
    return WEFT_ERR_CONTEXT;
  }
  run_from_scheduler(worker, unit);
  guard_leave(guard_worker());
  return WEFT_OK;
}

void weft_sched_idle(weft_sched_t handle) {
  Sched* sched = from_handle(handle);
  if (sched == nullptr) return;
  Worker* worker = guard_enter();
  if (worker == nullptr) return;
  if (klt_current() != nullptr) return idle_stacked(worker, sched);
  idle_user(worker, sched);
  guard_leave(guard_worker());
}

}  // extern "C"
