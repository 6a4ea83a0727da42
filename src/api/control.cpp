// control.cpp: yield, suspend, resume, exit: what a ULT does to itself.
#include <sched.h>

#include <algorithm>

#include "api/control.hpp"
#include "api/handles.hpp"
#include "klt/guard.hpp"
#include "worker/bell.hpp"
#include "worker/direct.hpp"
#include "worker/straight.hpp"
#include "worker/runtime.hpp"
#include "worker/timers.hpp"
#include "worker/watch.hpp"
#include "worker/worker.hpp"

namespace weft::rt {

void yield_to_worker(Worker* worker, Unit* unit, Worker* to) {
  watch_unit(worker, unit, UnitEvent::kYield);
  unit_transition(unit, UnitState::kReady);
  if (__builtin_expect((unit->requests.load(std::memory_order_relaxed) & kMoveRequest) != 0, 0)) {
    move_unit(worker, unit);
  } else if (__builtin_expect(to != nullptr, 0)) {
    send_to(worker, unit, to);
  } else {
    push_ready_private(worker, unit);
  }
}

void yield_action(Worker* worker, Unit* unit, void*) { yield_to_worker(worker, unit, nullptr); }

namespace {

void yield_to_action(Worker* worker, Unit* unit, void* target) {
  yield_action(worker, unit, nullptr);
  dispatch_next(worker, static_cast<Unit*>(target), unit);
}

// Uses up a resume that came first. An exchange: a resumer that still finds the old token leaves it at that,
// so what it did before must be seen by what the caller does next; behind a plain store, the caller's next
// look at its condition could come first, and the resume that follows be lost. tests/model/suspend.pml.
void use_up_resume(Unit* unit) noexcept { unit->token.exchange(kTokenNone, std::memory_order_acq_rel); }

}  // namespace

void suspend_action(Worker* worker, Unit* unit, void*) {
  unit_note_wait(unit, WaitKind::kSuspend, nullptr, waits_since(worker));
  watch_unit(worker, unit, UnitEvent::kSuspend);
  unit_transition(unit, UnitState::kBlocked);
  uint8_t none = kTokenNone;
  // Release, pairs with the acquire in weft_resume(): the context is complete.
  if (unit->token.compare_exchange_strong(none, kTokenParked, std::memory_order_acq_rel)) return;
  use_up_resume(unit);
  watch_unit(worker, unit, UnitEvent::kResume);
  unit_transition(unit, UnitState::kReady);
  push_ready_private(worker, unit);
}

namespace {

bool nothing_else_ready(Worker* worker) noexcept {
  Lane* lane = &worker->lane;
  return worker->ring == lane && worker->ring_first && worker->parent == nullptr && worker->dispatch_first == nullptr &&
         lane->ring_empty() && lane->forks_empty() && !lane->has_shared() && !lane->has_inbox();
}

// What is in the scheduler's other pools: its to choose. As far as can be told here: a user's pool is not asked.
bool other_pools_have_some(const Worker* worker) noexcept {
  const Sched* sched = worker->sched;
  return std::any_of(sched->pools + 1, sched->pools + sched->pool_count, [](Pool* pool) { return !pool->builtin || pool->size() != 0; });
}

// It goes to a pool that does not lie in the ring: those that wait there come before it. The ring is the worker's.
bool lives_elsewhere(const Worker* worker, const Unit* unit) noexcept {
  const Pool* pool = unit->pool.load(std::memory_order_relaxed);
  return (unit_is(unit, flag::kFront) || unit->homed.load(std::memory_order_relaxed)) && pool != &worker->lane && pool != worker->home();
}

// It has to leave though the ring is empty: others wait elsewhere, it was migrated, or its worker is to get another scheduler, to stop, or
// is called.
bool has_to_leave(Worker* worker, const Unit* unit) noexcept {
  return worker->new_sched.load(std::memory_order_relaxed) != nullptr || bell_calls(worker) ||
         worker->sched->exit.load(std::memory_order_relaxed) ||
         worker->suspended.load(std::memory_order_relaxed) ||
         (unit->requests.load(std::memory_order_relaxed) & kMoveRequest) != 0 || lives_elsewhere(worker, unit) ||
         other_pools_have_some(worker);
}

bool take_ready(Worker* worker, Unit* target) noexcept {
  if (worker->lane.try_claim(worker, target)) return true;
  Pool* pool = target->pool.load(std::memory_order_relaxed);
  return pool->builtin && may_pop(worker, pool) && pool->try_claim(worker, target);
}

}  // namespace

[[gnu::noinline]] int end_cancelled(Unit* unit) noexcept {
  exit_unit(guard_worker(), unit);
  __builtin_unreachable();
}

namespace {

// The direct way where one of the two has an identity of its own, or is at home here.
[[gnu::noinline]] bool yield_straight(Worker* worker, Unit* unit) noexcept {
  Unit* next = worker->lane.front_private();
  const uint64_t switches = worker->stats.switches.load(std::memory_order_relaxed) + 1;
  if (next == nullptr || is_schedulers_turn(switches) || !may_go_straight(worker, unit, next)) return false;
  worker->lane.rotate_private(unit);
  worker->stats.switches.store(switches, std::memory_order_relaxed);
  go_straight(worker, unit, next);
  come_back(unit);
  return true;
}

}  // namespace

[[gnu::noinline]] WEFT_RETURNS_BY_JUMP int yield_away(Worker* worker, Unit* unit) noexcept {
  const uint64_t switches = worker->stats.switches.load(std::memory_order_relaxed) + 1;
  if (is_schedulers_turn(switches)) worker->tick |= kLookRound;
  worker = leave_unit_far(worker, unit, yield_action, nullptr);
  mark_if_direct(unit);
  obey_cancellation(worker, unit);
  guard_leave(worker);
  return WEFT_OK;
}

[[gnu::noinline]] int yield_slow() noexcept {
  Worker* worker = guard_enter();
  if (worker == nullptr) {
    sched_yield();
    return WEFT_OK;
  }
  Unit* unit = klt_current();
  if (is_ult(unit)) {
    // A front-end's does not overtake what others have sent here: front::yield().
    const bool may = (unit_attributes(unit) & (flag::kDirect | flag::kFront)) == flag::kDirect;
    if (may && yield_straight(worker, unit)) return WEFT_OK;
    obey_cancellation(worker, unit);
    bool leave = !nothing_else_ready(worker) || has_to_leave(worker, unit) || unit_is(unit, flag::kWatched);
    if (!leave) {
      timers_look(worker);  // the scheduler, which would look, does not get its turn
      leave = !nothing_else_ready(worker);
    }
    if (leave) return yield_away(worker, unit);
    obey_cancellation(worker, unit);
  }
  return guard_leave_ok(worker);
}

namespace {

[[gnu::noinline]] int yield_to_slow(weft_unit_t handle) noexcept {
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
  } else {
    const bool taken = worker->parent == nullptr && take_ready(worker, target);
    if (!taken) error = WEFT_ERR_STATE;
    worker = leave_unit(worker, unit, taken ? yield_to_action : yield_action, target);
    mark_if_direct(unit);
    obey_cancellation(worker, unit);
  }
  guard_leave(worker);
  return error;
}

}  // namespace
}  // namespace weft::rt

using namespace weft::rt;

extern "C" {

// Both: everything but the direct way is a tail call.
void weft_yield(void) {
  if (__builtin_expect(!klt_register_valid(), 0)) return static_cast<void>(yield_slow());
  Worker* worker = guard_try_enter();
  if (__builtin_expect(worker == nullptr, 0)) return static_cast<void>(yield_slow());
  Unit* unit = klt_current();
  Lane& lane = worker->lane;
  Unit* next = lane.front_private();
  const uint64_t switches = worker->stats.switches.load(std::memory_order_relaxed) + 1;
  if (__builtin_expect(next == nullptr || unit == nullptr || is_schedulers_turn(switches), 0) ||
      !leaves_directly(worker, unit) || !resumes_directly(next)) {
    return static_cast<void>(yield_slow());
  }
  lane.rotate_private(unit);
  worker->stats.switches.store(switches, std::memory_order_relaxed);
  switch_directly(worker, unit, next);
  come_back(unit);
}

// The unit takes the other one's place in the ring.
int weft_yield_to(weft_unit_t handle) {
  if (__builtin_expect(handle == nullptr || !klt_register_valid(), 0)) return yield_to_slow(handle);
  Worker* worker = guard_try_enter();
  if (__builtin_expect(worker == nullptr, 0)) return yield_to_slow(handle);
  Unit* unit = klt_current();
  Unit* next = from_handle(handle);
  // Its fields are looked at once it is known to be in the ring: elsewhere it may be running, or start anew.
  // The flags say as much as the state. But where it is not read, the switch takes a tenth longer on Zen 4.
  if (__builtin_expect(unit == nullptr, 0) || !leaves_directly(worker, unit) ||
      __builtin_expect(!worker->lane.holds_private(next), 0) ||
      __builtin_expect(next->state.load(std::memory_order_relaxed) != UnitState::kReady, 0) || !resumes_directly(next)) {
    return yield_to_slow(handle);
  }
  worker->lane.exchange_private(next, unit);
  count(worker->stats.switches);
  switch_directly(worker, unit, next);
  return come_back(unit);
}

int weft_suspend(void) {
  Worker* worker = guard_enter();
  if (worker == nullptr) return runtime_running() ? WEFT_ERR_CONTEXT : WEFT_ERR_UNINITIALIZED;
  Unit* unit = klt_current();
  if (!is_ult(unit)) {
    guard_leave(worker);
    return WEFT_ERR_CONTEXT;
  }
  if (unit->token.load(std::memory_order_relaxed) == kTokenResumed) {
    use_up_resume(unit);
  } else {
    worker = leave_unit(worker, unit, suspend_action, nullptr);
    goes_on(worker, unit);
  }
  obey_cancellation(worker, unit);
  guard_leave(worker);
  return WEFT_OK;
}

int weft_resume(weft_unit_t handle) {
  Unit* unit = live_unit(handle);
  if (unit == nullptr) return WEFT_ERR_INVALID;
  if (!runtime_running()) return WEFT_ERR_UNINITIALIZED;
  if (unit_state(unit) >= UnitState::kTerminated) return WEFT_ERR_STATE;
  Worker* worker = section_enter();
  uint8_t token = unit->token.load(std::memory_order_relaxed);
  for (;;) {
    // Also where one is remembered already: release, pairs with the acquire in use_up_resume().
    const uint8_t next = token == kTokenParked ? kTokenNone : kTokenResumed;
    // Acquire, pairs with the release in suspend_action().
    if (!unit->token.compare_exchange_weak(token, next, std::memory_order_acq_rel)) continue;
    if (token == kTokenParked) {
      watch_unit(worker, unit, UnitEvent::kResume);
      unit_transition(unit, UnitState::kReady);
      make_ready(worker, unit);
    }
    break;
  }
  section_leave(worker);
  return WEFT_OK;
}

int weft_exit(void) {
  Worker* worker = guard_enter();
  if (worker == nullptr) return runtime_running() ? WEFT_ERR_CONTEXT : WEFT_ERR_UNINITIALIZED;
  Unit* unit = klt_current();
  if (!is_ult(unit) || unit_is(unit, flag::kPrimary) || unit->exit_frame == nullptr) {
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

// Only the unit itself asks, so no guard is needed.
bool weft_wait_in_place(bool on) {
  Unit* unit = klt_register_valid() ? klt_current() : nullptr;
  if (unit == nullptr) return true;
  const bool was = unit_is(unit, flag::kInPlace);
  if (on) {
    unit->flags.set(flag::kInPlace);
  } else {
    unit->flags.clear(flag::kInPlace);
  }
  return was;
}

}  // extern "C"
