// join.cpp: waiting for a unit's end, and freeing it.
//
// A fresh unit that nobody has started is run here and now, on the joiner's stack (docs/running.md). The
// fast path is the one where it lies in the ring of the joiner's own worker: then no atomic
// instruction is needed.
#include "api/join.hpp"

#include "api/control.hpp"
#include "api/handles.hpp"
#include "klt/guard.hpp"
#include "unit/local.hpp"
#include "worker/exceptions.hpp"
#include "worker/finish.hpp"
#include "worker/identity.hpp"
#include "worker/process_fork.hpp"
#include "worker/runtime.hpp"
#include "worker/tasklet.hpp"
#include "worker/worker.hpp"

namespace weft::rt {

[[gnu::noinline]] bool drop_values(Worker*& worker, Unit* unit) noexcept {
  section_leave(worker);
  const bool ours = end_values_of_identity(unit);
  if (ours) unit_drop_values(unit);
  worker = section_enter();
  if (!ours) return false;
  release_identity(unit);
  unit_clear_cold(unit);
  return true;
}

namespace {

// The joiner has come with its child to another worker, which may not be one that runs the joiner.
[[gnu::noinline]] Worker* go_home(Worker* worker, Unit* self) noexcept {
  if (!unit_is(self, flag::kFront) || may_pop(worker, self->pool.load(std::memory_order_relaxed))) return worker;
  return leave_unit(worker, self, yield_action, nullptr);
}

// A front-end's unit is not where another worker could take it, with its joiner, and its joiner could not go on. Nobody takes a tasklet.
bool claim_allowed(const Unit* unit, const Pool* pool) noexcept {
  return (unit->flags & (flag::kFront | flag::kTasklet)) != flag::kFront || pool->schedulers.load(std::memory_order_relaxed) == 1;
}

// Runs a fresh ULT, just taken out of its pool, on the stack of its joiner `self`. Returns the worker.
[[gnu::always_inline]] inline Worker* run_claimed_ult(Worker* worker, Unit* self, Unit* unit) noexcept {
  weft_fn fn = unit->fn;
  void* arg = unit->arg;
  unit->host = self->host;
  unit_transition(unit, UnitState::kRunning);
  save_exceptions(self);
  klt_set_current(unit);
  guard_leave(worker);
  call_with_exit(fn, arg, &unit->exit_frame);
  Worker* const now = guard_enter_on_klt();
  klt_set_current(self);
  restore_exceptions(self);
  return now;
}

[[gnu::always_inline]] inline Worker* run_claimed_tasklet(Worker* worker, Unit* self, Unit* unit) noexcept {
  // A call within the joiner: the exceptions that it handles just now stay where they are, and so does its claim floor.
  run_tasklet_body(worker, unit);
  worker = guard_enter_on_klt();
  klt_set_current(self);
  return worker;
}

// Runs the unit, which has just been taken out of its pool. What it has come to have meanwhile is the caller's business.
[[gnu::always_inline]] inline Worker* call_claimed(Worker* worker, Unit* self, Unit* unit, bool tasklet) noexcept {
  count(worker->stats.units_claimed);
  if constexpr (kDebugBuild) {
    // Two joins at once are an error of the program; where the other one comes between our look and here, only
    // a locked instruction finds out.
    WEFT_CHECK(unit->joiner.exchange(kJoinTaken, std::memory_order_relaxed) == 0 &&
               "two callers join the same unit at once");
  } else {
    unit->joiner.store(kJoinTaken, std::memory_order_relaxed);
  }
  return tasklet ? run_claimed_tasklet(worker, self, unit) : run_claimed_ult(worker, self, unit);
}

// A scheduler may have come by while the child was away, and wait for the joiner, which goes on past its pool.
[[gnu::always_inline]] inline void joiner_goes_on(Worker* worker, const Unit* self) noexcept {
  if (self->host->stack != nullptr) goes_on(worker, self);
}

// It has ended. A child that was told to go elsewhere, or whose pool has become others' too, is homed.
[[gnu::always_inline]] inline Worker* end_claimed(Worker* worker, Unit* self, Unit* unit, bool tasklet) noexcept {
  if (!tasklet && __builtin_expect(unit->homed.load(std::memory_order_relaxed), 0)) worker = go_home(worker, self);
  unit_transition(unit, UnitState::kTerminated);
  if (!tasklet) joiner_goes_on(worker, self);
  return worker;
}

// Both. Whether others may know it as joined yet is the caller's business.
Worker* run_claimed(Worker* worker, Unit* self, Unit* unit) noexcept {
  const bool tasklet = unit_is(unit, flag::kTasklet);
  return end_claimed(call_claimed(worker, self, unit, tasklet), self, unit, tasklet);
}

int join_error(Worker* worker, const Unit* unit) noexcept {
  if (worker != nullptr && klt_current() == unit) return WEFT_ERR_SELF;
  const UnitState state = unit_state(unit);
  if (state == UnitState::kForked) return WEFT_ERR_FORKED;
  if (state == UnitState::kFree || unit_is(unit, flag::kDetached | flag::kPrimary)) return WEFT_ERR_INVALID;
  return may_wait(worker) ? WEFT_OK : WEFT_ERR_CONTEXT;
}

// Takes the unit out of a pool that the worker serves, if it may be run here. Precondition: nobody joins it.
bool claim_from_pool(Worker* worker, const Unit* self, Unit* unit) noexcept {
  if ((unit_header(unit) & kHeaderMask) != kPlainUlt || !may_claim(self)) return false;
  Pool* pool = unit->pool.load(std::memory_order_relaxed);
  return pool->builtin && may_pop(worker, pool) && claim_allowed(unit, pool) && pool->try_claim(worker, unit);
}

// Waits by the general way. *worker may be another one afterwards.
[[gnu::noinline]] int join_slow(Worker*& worker, Unit* unit) noexcept {
  if (const int error = join_error(worker, unit); error != WEFT_OK) return error;
  if (unit->joiner.load(std::memory_order_acquire) == kJoinDone) return WEFT_OK;
  Unit* self = worker != nullptr ? klt_current() : nullptr;
  if (self != nullptr && unit->joiner.load(std::memory_order_relaxed) == 0 && claim_from_pool(worker, self, unit)) {
    worker = run_claimed(worker, self, unit);
    // Release: a foreign thread may ask.
    unit->joiner.store(kJoinDone, std::memory_order_release);
    return WEFT_OK;
  }
  Waiter waiter;
  waiter_init(worker, waiter, WaitKind::kJoin, unit);
  uintptr_t nobody = 0;
  // Release: whoever ends the unit sees the waiter. Acquire: we see what the unit has done.
  if (!unit->joiner.compare_exchange_strong(nobody, reinterpret_cast<uintptr_t>(&waiter),
                                            std::memory_order_acq_rel)) {
    return nobody == kJoinDone ? WEFT_OK : WEFT_ERR_JOINED;
  }
  worker = waiter_wait(worker, waiter);
  if (waiter.unit != nullptr) goes_on(worker, waiter.unit);  // past its pool, perhaps: waiter_wake_joiner()
  return WEFT_OK;
}

// run_and_free() of a unit with more to be done at its end. It has just run here, so it has no identity of its own.
[[gnu::noinline]] Worker* end_with_more(Worker* worker, Unit* self, Unit* unit) noexcept {
  worker = end_claimed(worker, self, unit, unit_is(unit, flag::kTasklet));
  if (unit_needs_clear(unit)) drop_values(worker, unit);
  return worker;
}

// weft_free() of a unit that has been taken out of the ring: it has no stack of its own.
template <class Null>
[[gnu::always_inline]] inline int run_and_free(weft_unit_t* handle, Null null, Unit* unit, Unit* self, Worker* worker,
                                               bool tasklet) noexcept {
  worker = call_claimed(worker, self, unit, tasklet);
  constexpr uint32_t kMore = kHomedAttribute | flag::kCold;
  const uint32_t more = (unit_attributes(unit) & kMore) | unit->marked.load(std::memory_order_relaxed);
  if (__builtin_expect(more != 0, 0)) {
    worker = end_with_more(worker, self, unit);
  } else {
    // For a moment in which nobody looks, but a scheduler that is woken.
    const bool tells = !tasklet && self->pool.load(std::memory_order_relaxed) != worker->home();
    if (kDebugBuild || __builtin_expect(tells, 0)) unit_transition(unit, UnitState::kTerminated);
    if (__builtin_expect(tells, 0)) joiner_goes_on(worker, self);
  }
  recycle_plain_unit(worker, unit);
  *handle = null;
  return guard_leave_ok(worker);
}

[[gnu::noinline]] int free_ended_slow(Worker* worker, Unit* unit, weft_unit_t* handle) noexcept {
  if (!__builtin_expect(unit_needs_clear(unit), 0) || drop_values(worker, unit)) recycle_unit(worker, unit);
  *handle = nullptr;
  return guard_leave_ok(worker);
}

// Of a thread that is no KLT.
int no_runtime_error() noexcept {
  if (klt_register_valid() || runtime_running()) return WEFT_OK;
  return process_left_runtime_behind() ? WEFT_ERR_FORKED : WEFT_ERR_UNINITIALIZED;
}

[[gnu::noinline]] int free_slow(weft_unit_t* handle) noexcept {
  if (handle == nullptr || *handle == nullptr) return WEFT_ERR_INVALID;
  Unit* unit = from_handle(*handle);
  if (const int error = no_runtime_error(); error != WEFT_OK) return error;
  Worker* worker = section_enter();
  const int error = join_slow(worker, unit);
  if (error == WEFT_OK || error == WEFT_ERR_FORKED) {
    if (!__builtin_expect(unit_needs_clear(unit), 0) || drop_values(worker, unit)) recycle_unit(worker, unit);
    *handle = nullptr;
  }
  section_leave(worker);
  return error;
}

[[gnu::noinline]] int join_guarded(Unit* unit) noexcept {
  if (unit == nullptr) return WEFT_ERR_INVALID;
  if (const int error = no_runtime_error(); error != WEFT_OK) return error;
  Worker* worker = section_enter();
  const int error = join_slow(worker, unit);
  section_leave(worker);
  return error;
}

}  // namespace

// Two copies, because a tasklet needs half the registers.
template <class Null>
[[gnu::noinline]] int run_and_free_ult(weft_unit_t* handle, Null null, Unit* unit, Unit* self, Worker* worker) noexcept {
  return run_and_free(handle, null, unit, self, worker, false);
}
template <class Null>
[[gnu::noinline]] int run_and_free_tasklet(weft_unit_t* handle, Null null, Unit* unit, Unit* self,
                                           Worker* worker) noexcept {
  return run_and_free(handle, null, unit, self, worker, true);
}
[[gnu::noinline]] int leave_and_free(weft_unit_t* handle, int (*otherwise)(weft_unit_t*)) noexcept {
  if (klt_register_valid()) guard_leave(guard_enter());
  return otherwise(handle);
}

// By the general way; what is wrong, and whom a front-end tells of the join, is the other one's business. Guard up; it is lowered.
template <class Null>
[[gnu::noinline]] int wait_and_free(weft_unit_t* handle, Null null, Unit* unit, Unit* self, Worker* worker,
                                    int (*otherwise)(weft_unit_t*)) noexcept {
  const bool plain = self != nullptr && !unit_is(unit, flag::kWatched);
  if (plain && join_slow(worker, unit) == WEFT_OK) {
    if (!unit_needs_clear(unit) || drop_values(worker, unit)) recycle_unit(worker, unit);
    *handle = null;
    return guard_leave_ok(worker);
  }
  guard_leave(worker);
  return otherwise(handle);
}

template <class Null>
[[gnu::noinline]] int free_from_pool(weft_unit_t* handle, Null null, Unit* unit, Unit* self, Worker* worker,
                                     int (*otherwise)(weft_unit_t*)) noexcept {
  if (self != nullptr && claim_from_pool(worker, self, unit)) {
    return unit_is(unit, flag::kTasklet) ? run_and_free_tasklet(handle, null, unit, self, worker)
                                         : run_and_free_ult(handle, null, unit, self, worker);
  }
  return wait_and_free(handle, null, unit, self, worker, otherwise);
}
template int free_from_pool(weft_unit_t*, NullHandle, Unit*, Unit*, Worker*, int (*)(weft_unit_t*)) noexcept;
template int free_from_pool(weft_unit_t*, weft_unit_t, Unit*, Unit*, Worker*, int (*)(weft_unit_t*)) noexcept;
template int run_and_free_ult(weft_unit_t*, NullHandle, Unit*, Unit*, Worker*) noexcept;
template int run_and_free_ult(weft_unit_t*, weft_unit_t, Unit*, Unit*, Worker*) noexcept;
template int run_and_free_tasklet(weft_unit_t*, NullHandle, Unit*, Unit*, Worker*) noexcept;
template int run_and_free_tasklet(weft_unit_t*, weft_unit_t, Unit*, Unit*, Worker*) noexcept;

[[gnu::noinline]] int run_and_join(Unit* unit, Unit* self, Worker* worker) noexcept {
  worker = run_claimed(worker, self, unit);
  // Release: a foreign thread may ask.
  unit->joiner.store(kJoinDone, std::memory_order_release);
  return guard_leave_ok(worker);
}

}  // namespace weft::rt

using namespace weft::rt;

extern "C" {

int weft_join(weft_unit_t handle) {
  Unit* unit = from_handle(handle);
  if (__builtin_expect(unit == nullptr, 0)) return join_guarded(nullptr);
  return join_at_once(
      unit, [](Worker* worker) { return guard_leave_ok(worker); }, [unit] { return join_guarded(unit); });
}

int weft_free(weft_unit_t* handle) {
  if (__builtin_expect(handle == nullptr || *handle == nullptr, 0)) return free_slow(handle);
  const auto ended = [handle](Worker* worker, Unit* unit) {
    return ends_plainly(worker, unit) ? free_ended(worker, unit, handle, NullHandle{})
                                      : free_ended_slow(worker, unit, handle);
  };
  return free_at_once(handle, NullHandle{}, ended, free_slow);
}

int weft_join_many(size_t n, const weft_unit_t* units) {
  if (n > 0 && units == nullptr) return WEFT_ERR_INVALID;
  int first = WEFT_OK;
  for (size_t i = 0; i < n; ++i) {
    const int error = weft_join(units[i]);
    if (first == WEFT_OK) first = error;
  }
  return first;
}

int weft_free_many(size_t n, weft_unit_t* units) {
  if (n > 0 && units == nullptr) return WEFT_ERR_INVALID;
  int first = WEFT_OK;
  for (size_t i = 0; i < n; ++i) {
    const int error = weft_free(&units[i]);
    if (first == WEFT_OK) first = error;
  }
  return first;
}

}  // extern "C"
