// control.cpp: yield, suspend, resume, exit: what a ULT does to itself.
#include <sched.h>

#include "api/handles.hpp"
#include "klt/guard.hpp"
#include "worker/runtime.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

void yield_action(Worker* worker, Unit* unit, void*) {
  unit_transition(unit, UnitState::kReady);
  push_ready_private(worker, unit);
}

void yield_to_action(Worker* worker, Unit* unit, void* target) {
  yield_action(worker, unit, nullptr);
  worker->dispatch_first = static_cast<Unit*>(target);
}

void suspend_action(Worker* worker, Unit* unit, void*) {
  unit_transition(unit, UnitState::kBlocked);
  uint8_t none = kTokenNone;
  // Release, pairs with the acquire in weft_resume(): the context is complete.
  if (unit->token.compare_exchange_strong(none, kTokenParked, std::memory_order_acq_rel)) return;
  unit->token.store(kTokenNone, std::memory_order_relaxed);
  unit_transition(unit, UnitState::kReady);
  push_ready_private(worker, unit);
}

bool nothing_else_ready(Worker* worker) noexcept {
  Lane* lane = &worker->lane;
  return worker->home == lane && worker->parent == nullptr && lane->ring_empty() && lane->forks_empty() &&
         !lane->has_shared() && !lane->has_inbox();
}

// It has to leave all the same: it was migrated, or its worker is to get another scheduler.
bool has_to_leave(Worker* worker, const Unit* unit) noexcept {
  return worker->new_sched.load(std::memory_order_relaxed) != nullptr ||
         (unit->homed.load(std::memory_order_relaxed) &&
          unit->pool.load(std::memory_order_relaxed) != &worker->lane);
}

bool is_ult(const Unit* unit) noexcept {
  return unit != nullptr && !unit_is(unit, flag::kTasklet);
}

bool take_ready(Worker* worker, Unit* target) noexcept {
  if (worker->lane.try_claim(worker, target)) return true;
  Pool* pool = target->pool.load(std::memory_order_relaxed);
  return pool->builtin && may_pop(worker, pool) && pool->try_claim(worker, target);
}

// The target has been taken out of its pool.
Worker* yield_to_taken(Worker* worker, Unit* unit, Unit* target) noexcept {
  if (is_switchable(worker, target) && goes_to_own_lane(worker, unit)) {
    return switch_to(worker, unit, target);
  }
  return leave_unit(worker, unit, yield_to_action, target);
}

// Every so often a yield goes through the scheduler, which looks at the shared part and the inbox too.
constexpr uint32_t kThroughScheduler = 63;

Worker* yield(Worker* worker, Unit* unit) noexcept {
  Lane& lane = worker->lane;
  if (nothing_else_ready(worker) && !has_to_leave(worker, unit)) return worker;
  const bool direct = !lane.has_inbox() && ((worker->tick + 1) & kThroughScheduler) != 0 &&
                      worker->parent == nullptr && !has_to_leave(worker, unit) &&
                      lane.forks_empty() && goes_to_own_lane(worker, unit);
  if (direct) {
    if (Unit* next = lane.pop_private()) {
      ++worker->tick;  // the scheduler counts for itself
      return yield_to_taken(worker, unit, next);
    }
  }
  return leave_unit(worker, unit, yield_action, nullptr);
}

// Ends the unit if it has been cancelled.
[[gnu::always_inline]] inline void obey_cancellation(Worker* worker, Unit* unit) noexcept {
  if (__builtin_expect(unit->cancelled.load(std::memory_order_relaxed), 0)) exit_unit(worker, unit);
}

}  // namespace
}  // namespace weft::rt

using namespace weft::rt;

extern "C" {

void weft_yield(void) {
  Worker* worker = guard_enter();
  if (__builtin_expect(worker == nullptr, 0)) {
    sched_yield();
    return;
  }
  Unit* unit = klt_current();
  if (is_ult(unit)) {
    obey_cancellation(worker, unit);
    worker = yield(worker, unit);
    obey_cancellation(worker, unit);
  }
  guard_leave(worker);
}

int weft_yield_to(weft_unit_t handle) {
  Unit* target = live_unit(handle);
  if (target == nullptr) return WEFT_ERR_INVALID;
  Worker* worker = guard_enter();
  if (worker == nullptr) return runtime_running() ? WEFT_ERR_CONTEXT : WEFT_ERR_UNINITIALIZED;
  Unit* unit = klt_current();
  int error = WEFT_OK;
  if (!is_ult(unit)) {
    error = WEFT_ERR_CONTEXT;
  } else if (unit == target) {
    error = WEFT_ERR_SELF;
  } else if (worker->parent == nullptr && take_ready(worker, target)) {
    worker = yield_to_taken(worker, unit, target);
    obey_cancellation(worker, unit);
  } else {
    error = WEFT_ERR_STATE;
    worker = leave_unit(worker, unit, yield_action, nullptr);
    obey_cancellation(worker, unit);
  }
  guard_leave(worker);
  return error;
}

int weft_suspend(void) {
  Worker* worker = guard_enter();
  if (worker == nullptr) return runtime_running() ? WEFT_ERR_CONTEXT : WEFT_ERR_UNINITIALIZED;
  Unit* unit = klt_current();
  if (!is_ult(unit)) {
    guard_leave(worker);
    return WEFT_ERR_CONTEXT;
  }
  if (unit->token.load(std::memory_order_acquire) == kTokenResumed) {
    unit->token.store(kTokenNone, std::memory_order_relaxed);
  } else {
    worker = leave_unit(worker, unit, suspend_action, nullptr);
  }
  obey_cancellation(worker, unit);
  guard_leave(worker);
  return WEFT_OK;
}

int weft_resume(weft_unit_t handle) {
  Unit* unit = live_unit(handle);
  if (unit == nullptr) return WEFT_ERR_INVALID;
  if (!runtime_running()) return WEFT_ERR_UNINITIALIZED;
  if (unit_state(unit) == UnitState::kTerminated) return WEFT_ERR_STATE;
  Worker* worker = guard_enter();
  uint8_t token = unit->token.load(std::memory_order_relaxed);
  for (;;) {
    if (token == kTokenResumed) break;  // one is remembered already
    const uint8_t next = token == kTokenParked ? kTokenNone : kTokenResumed;
    // Acquire, pairs with the release in suspend_action().
    if (!unit->token.compare_exchange_weak(token, next, std::memory_order_acq_rel)) continue;
    if (token == kTokenParked) {
      unit_transition(unit, UnitState::kReady);
      make_ready(worker, unit);
    }
    break;
  }
  if (worker != nullptr) guard_leave(worker);
  return WEFT_OK;
}

int weft_exit(void) {
  Worker* worker = guard_enter();
  if (worker == nullptr) return runtime_running() ? WEFT_ERR_CONTEXT : WEFT_ERR_UNINITIALIZED;
  Unit* unit = klt_current();
  if (!is_ult(unit) || unit_is(unit, flag::kPrimary)) {
    guard_leave(worker);
    return WEFT_ERR_CONTEXT;
  }
  exit_unit(worker, unit);
  __builtin_unreachable();
}

void weft_cancel_point(void) {
  Worker* worker = guard_enter();
  if (worker == nullptr) return;
  Unit* unit = klt_current();
  if (is_ult(unit) && !unit_is(unit, flag::kPrimary)) obey_cancellation(worker, unit);
  guard_leave(worker);
}

}  // extern "C"
