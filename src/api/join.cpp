// join.cpp: waiting for a unit's end, and freeing it.
//
// A fresh unit that nobody has started is run here and now, on the joiner's stack (docs/running.md). The
// fast path is the one where it lies in the ring of the joiner's own worker: then no atomic
// instruction is needed.
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
namespace {

// The joiner has come with its child to another worker, which may not be one that runs the joiner.
[[gnu::noinline]] Worker* go_home(Worker* worker, Unit* self) noexcept {
  if (!unit_is(self, flag::kFront) || may_pop(worker, self->pool.load(std::memory_order_relaxed))) return worker;
  return leave_unit(worker, self, yield_action, nullptr);
}

// A front-end's unit is not where another worker could take it, with its joiner, and its joiner could not go on.
bool claim_allowed(const Unit* unit, const Pool* pool) noexcept {
  return !unit_is(unit, flag::kFront) || pool->schedulers.load(std::memory_order_relaxed) == 1;
}

// Runs a fresh ULT, just taken out of its pool, on the stack of its joiner `self`. Returns the worker.
[[gnu::always_inline]] inline Worker* run_claimed_ult(Worker* worker, Unit* self, Unit* unit) noexcept {
  weft_fn fn = unit->fn;
  void* arg = unit->arg;
  unit->host = self->host;
  unit_transition(unit, UnitState::kRunning);
  const bool saved = save_exceptions(self);
  klt_set_current(unit);
  guard_leave(worker);
  call_with_exit(fn, arg, &unit->exit_frame);
  Worker* const now = guard_enter_on_klt();
  klt_set_current(self);
  if (__builtin_expect(saved, 0)) restore_exceptions(self);
  // A child that was told to go elsewhere, or whose pool has become others' too, is homed.
  return __builtin_expect(unit->homed.load(std::memory_order_relaxed), 0) ? go_home(now, self) : now;
}

[[gnu::always_inline]] inline Worker* run_claimed_tasklet(Worker* worker, Unit* self, Unit* unit) noexcept {
  // A call within the joiner: the exceptions that it handles just now stay where they are.
  const uintptr_t floor = klt_claim_floor();
  klt_set_claim_floor(kNoClaim);
  run_tasklet_body(worker, unit);
  worker = guard_enter_on_klt();
  klt_set_claim_floor(floor);
  klt_set_current(self);
  return worker;
}

// Runs the unit, which has just been taken out of its pool; afterwards it has terminated. Whether others
// may know it as joined yet is the caller's business.
[[gnu::always_inline]] inline Worker* run_claimed(Worker* worker, Unit* unit, bool tasklet) noexcept {
  Unit* self = klt_current();
  count(worker->stats.units_claimed);
  if constexpr (kDebugBuild) {
    // Two joins at once are an error of the program; where the other one comes between our look and here, only
    // a locked instruction finds out.
    WEFT_CHECK(unit->joiner.exchange(kJoinTaken, std::memory_order_relaxed) == 0 &&
               "two callers join the same unit at once");
  } else {
    unit->joiner.store(kJoinTaken, std::memory_order_relaxed);
  }
  worker = tasklet ? run_claimed_tasklet(worker, self, unit) : run_claimed_ult(worker, self, unit);
  unit_transition(unit, UnitState::kTerminated);
  return worker;
}

// The header of a unit that its joiner may run: fresh, nothing requested, no attribute but a name and a priority.
constexpr uint64_t kPlainUlt = unit_header_of(UnitState::kFresh, flag::kClaimable, 0, false);
constexpr uint64_t kPlainTasklet =
    unit_header_of(UnitState::kFresh, flag::kClaimable | flag::kTasklet, 0, false);
constexpr uint64_t kMayDiffer = uint64_t{flag::kTasklet | flag::kCold | flag::kNamed | flag::kFront} << 32 |
                                uint64_t{0xff} << 8;  // marked: it may have an id
constexpr uint64_t kHeaderMask = kHeaderButPriority & ~kMayDiffer;
static_assert((kPlainTasklet & kHeaderMask) == kPlainUlt);

// Whether the calling ULT has room for it, and is in a place where it may; see klt_set_claim_floor().
[[gnu::always_inline]] inline bool may_claim() noexcept {
  return reinterpret_cast<uintptr_t>(stack_pointer()) > klt_claim_floor();
}

// Takes the unit out of the ring of this worker, if it may be run here. Precondition: nobody joins it.
[[gnu::always_inline]] inline bool claim_from_ring(Worker* worker, Unit* unit) noexcept {
  return (unit_header(unit) & kHeaderMask) == kPlainUlt && may_claim() && worker->lane.remove_private(unit);
}

// Whether the unit, whose end has been told, is nobody else's to free: the join is over.
[[gnu::always_inline]] inline bool has_ended(const Unit* unit) noexcept {
  const Unit* self = klt_current();
  return unit->state.load(std::memory_order_relaxed) == UnitState::kTerminated && self != nullptr &&
         !unit_is(self, flag::kTasklet);
}

int join_error(Worker* worker, const Unit* unit) noexcept {
  if (worker != nullptr && klt_current() == unit) return WEFT_ERR_SELF;
  const UnitState state = unit_state(unit);
  if (state == UnitState::kForked) return WEFT_ERR_FORKED;
  if (state == UnitState::kFree || unit_is(unit, flag::kDetached | flag::kPrimary)) return WEFT_ERR_INVALID;
  return may_wait(worker) ? WEFT_OK : WEFT_ERR_CONTEXT;
}

// Waits by the general way. *worker may be another one afterwards.
[[gnu::noinline]] int join_slow(Worker*& worker, Unit* unit) noexcept {
  if (const int error = join_error(worker, unit); error != WEFT_OK) return error;
  if (unit->joiner.load(std::memory_order_acquire) == kJoinDone) return WEFT_OK;
  if (worker != nullptr && (unit_header(unit) & kHeaderMask) == kPlainUlt && may_claim() &&
      unit->joiner.load(std::memory_order_relaxed) == 0) {
    Pool* pool = unit->pool.load(std::memory_order_relaxed);
    if (pool->builtin && may_pop(worker, pool) && claim_allowed(unit, pool) && pool->try_claim(worker, unit)) {
      worker = run_claimed(worker, unit, unit_is(unit, flag::kTasklet));
      // Release: a foreign thread may ask.
      unit->joiner.store(kJoinDone, std::memory_order_release);
      return WEFT_OK;
    }
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
  return WEFT_OK;
}

// The destructors of its unit-local values are the user's code: the guard is down meanwhile. False: the unit frees itself.
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

// Of one that has just run here, so it has no identity of its own. By value: where it is not called that costs nothing.
[[gnu::noinline]] Worker* drop_values_here(Worker* worker, Unit* unit) noexcept {
  drop_values(worker, unit);
  return worker;
}

// weft_free() of a unit that has been taken out of the ring: it has no stack of its own. Two copies, because a tasklet needs half the
// registers.
[[gnu::always_inline]] inline int run_and_free(Worker* worker, Unit* unit, weft_unit_t* handle,
                                               bool tasklet) noexcept {
  worker = run_claimed(worker, unit, tasklet);
  if (__builtin_expect(unit_needs_clear(unit), 0)) worker = drop_values_here(worker, unit);
  recycle_plain_unit(worker, unit);
  *handle = nullptr;
  return guard_leave_ok(worker);
}
[[gnu::noinline]] int run_and_free_ult(Worker* worker, Unit* unit, weft_unit_t* handle) noexcept {
  return run_and_free(worker, unit, handle, false);
}
[[gnu::noinline]] int run_and_free_tasklet(Worker* worker, Unit* unit, weft_unit_t* handle) noexcept {
  return run_and_free(worker, unit, handle, true);
}

[[gnu::noinline]] int run_and_join(Worker* worker, Unit* unit) noexcept {
  worker = run_claimed(worker, unit, unit_is(unit, flag::kTasklet));
  // Release: a foreign thread may ask.
  unit->joiner.store(kJoinDone, std::memory_order_release);
  return guard_leave_ok(worker);
}

[[gnu::noinline]] int free_ended_slow(Worker* worker, Unit* unit, weft_unit_t* handle) noexcept {
  if (!__builtin_expect(unit_needs_clear(unit), 0) || drop_values(worker, unit)) recycle_unit(worker, unit);
  *handle = nullptr;
  return guard_leave_ok(worker);
}

[[gnu::always_inline]] inline int free_ended(Worker* worker, Unit* unit, weft_unit_t* handle) noexcept {
  if (__builtin_expect(unit_needs_more(unit) || worker->units.full(), 0)) return free_ended_slow(worker, unit, handle);
  unit_transition(unit, UnitState::kFree);
  worker->units.push_unchecked(unit);
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
}  // namespace weft::rt

using namespace weft::rt;

extern "C" {

// Both: everything but the common case is a tail call, so that it costs no saved registers.
int weft_join(weft_unit_t handle) {
  Unit* unit = from_handle(handle);
  if (__builtin_expect(unit != nullptr && klt_register_valid(), 1)) {
    if (Worker* worker = guard_try_enter(); __builtin_expect(worker != nullptr, 1)) {
      // Acquire: we see what it has done if it has ended.
      const uintptr_t joiner = unit->joiner.load(std::memory_order_acquire);
      if (joiner == 0 && claim_from_ring(worker, unit)) return run_and_join(worker, unit);
      if (joiner == kJoinDone && has_ended(unit)) return guard_leave_ok(worker);
    }
  }
  return join_guarded(unit);
}

int weft_free(weft_unit_t* handle) {
  if (__builtin_expect(handle != nullptr && *handle != nullptr && klt_register_valid(), 1)) {
    if (Worker* worker = guard_try_enter(); __builtin_expect(worker != nullptr, 1)) {
      Unit* unit = from_handle(*handle);
      const uintptr_t joiner = unit->joiner.load(std::memory_order_acquire);  // as in weft_join()
      if (joiner == 0 && claim_from_ring(worker, unit)) {
        return unit_is(unit, flag::kTasklet) ? run_and_free_tasklet(worker, unit, handle)
                                             : run_and_free_ult(worker, unit, handle);
      }
      if (joiner == kJoinDone && has_ended(unit)) return free_ended(worker, unit, handle);
    }
  }
  return free_slow(handle);
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
