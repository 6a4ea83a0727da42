// join.hpp: the parts of join.cpp that front-ends are made of too: joining and freeing where that takes no waiting. What has to be
// done otherwise is a tail call, so that the common case costs no saved registers.
#pragma once

#include "klt/guard.hpp"
#include "worker/worker.hpp"

namespace weft::rt {

// At the end of a unit that has been joined, if unit_needs_clear(). The destructors of its unit-local values are the user's code: the
// guard is down meanwhile. False: the unit frees itself.
bool drop_values(Worker*& worker, Unit* unit) noexcept;

// What a handle becomes when its unit has been freed: null, or a front-end's own value.
struct NullHandle {
  operator weft_unit_t() const noexcept { return nullptr; }
};

// The unit has been taken out of the ring for that by `self`. Guard up; it is lowered. Null: NullHandle, weft_unit_t. The order is
// such that a caller's own parameters stay in their registers.
int run_and_join(Unit* unit, Unit* self, Worker* worker) noexcept;
template <class Null>
int run_and_free_ult(weft_unit_t* handle, Null null, Unit* unit, Unit* self, Worker* worker) noexcept;
template <class Null>
int run_and_free_tasklet(weft_unit_t* handle, Null null, Unit* unit, Unit* self, Worker* worker) noexcept;

// Nobody has joined the unit, which is not in the ring: it is run and freed if it can be taken out of a pool that the worker serves.
// Guard up; it is lowered.
template <class Null>
int free_from_pool(weft_unit_t* handle, Null null, Unit* unit, Unit* self, Worker* worker, int (*otherwise)(weft_unit_t*)) noexcept;

// The header of a unit that its joiner may run: fresh, nothing requested, no attribute but a name and a priority.
inline constexpr uint64_t kPlainUlt = unit_header_of(UnitState::kFresh, flag::kClaimable, 0, false);
inline constexpr uint64_t kPlainTasklet =
    unit_header_of(UnitState::kFresh, flag::kClaimable | flag::kTasklet, 0, false);
inline constexpr uint64_t kMayDiffer = uint64_t{flag::kTasklet | flag::kCold | flag::kNamed | flag::kFront} << 32 |
                                       uint64_t{0xff} << 8;  // marked: it may have an id
inline constexpr uint64_t kHeaderMask = kHeaderButPriority & ~kMayDiffer;
static_assert((kPlainTasklet & kHeaderMask) == kPlainUlt);

// Whether the caller is a ULT that has room for it, and is in a place where it may; see klt_set_claim_floor(). A tasklet that a
// ULT has claimed finds that one's floor.
[[gnu::always_inline]] inline bool may_claim(const Unit* self) noexcept {
  return reinterpret_cast<uintptr_t>(stack_pointer()) > klt_claim_floor() && !unit_is(self, flag::kTasklet);
}

// Takes the unit out of the ring of this worker, if it may be run here. Precondition: nobody joins it.
[[gnu::always_inline]] inline bool claim_from_ring(Worker* worker, const Unit* self, Unit* unit) noexcept {
  const bool may = (unit_header(unit) & kHeaderMask) == kPlainUlt && may_claim(self);
  return __builtin_expect(may, 1) && worker->lane.remove_private(unit);
}

// Whether the unit, whose end has been told, is nobody else's to free: the join is over.
[[gnu::always_inline]] inline bool has_ended(const Unit* self, const Unit* unit) noexcept {
  return unit->state.load(std::memory_order_relaxed) == UnitState::kTerminated && self != nullptr &&
         !unit_is(self, flag::kTasklet);
}

// weft_join(): ended(worker): where the unit has ended; otherwise(): the whole, where nothing has been done but, maybe, to raise
// the guard. Precondition: a handle that is not null.
template <class Ended, class Otherwise>
[[gnu::always_inline]] inline int join_at_once(Unit* unit, Ended ended, Otherwise otherwise) noexcept {
  if (__builtin_expect(klt_register_valid(), 1)) {
    if (Worker* worker = guard_try_enter(); __builtin_expect(worker != nullptr, 1)) {
      Unit* self = klt_current();
      // Acquire: we see what it has done if it has ended.
      const uintptr_t joiner = unit->joiner.load(std::memory_order_acquire);
      if (joiner == 0 && claim_from_ring(worker, self, unit)) return run_and_join(unit, self, worker);
      if (joiner == kJoinDone && has_ended(self, unit)) return ended(worker);
    }
  }
  return otherwise();
}

// The guard may be up.
int leave_and_free(weft_unit_t* handle, int (*otherwise)(weft_unit_t*)) noexcept;

// weft_free(), the same, and otherwise(handle) with the guard down.
template <class Null, class Ended>
[[gnu::always_inline]] inline int free_at_once(weft_unit_t* handle, Null null, Ended ended, int (*otherwise)(weft_unit_t*)) noexcept {
  if (__builtin_expect(klt_register_valid(), 1)) {
    if (Worker* worker = guard_try_enter(); __builtin_expect(worker != nullptr, 1)) {
      Unit* unit = from_handle(*handle);
      Unit* self = klt_current();
      const uintptr_t joiner = unit->joiner.load(std::memory_order_acquire);  // as in join_at_once()
      if (__builtin_expect(joiner == 0, 1) && claim_from_ring(worker, self, unit)) {
        return unit_is(unit, flag::kTasklet) ? run_and_free_tasklet(handle, null, unit, self, worker)
                                             : run_and_free_ult(handle, null, unit, self, worker);
      }
      if (joiner == kJoinDone && has_ended(self, unit)) return ended(worker, unit);
      if (joiner == 0) return free_from_pool(handle, null, unit, self, worker, otherwise);
      return leave_and_free(handle, otherwise);
    }
  }
  return leave_and_free(handle, otherwise);
}

// Of a unit that has ended, and that has no more than its descriptor.
template <class Null>
[[gnu::always_inline]] inline int free_ended(Worker* worker, Unit* unit, weft_unit_t* handle, Null null) noexcept {
  unit_transition(unit, UnitState::kFree);
  worker->units.push_unchecked(unit);
  *handle = null;
  return guard_leave_ok(worker);
}
[[gnu::always_inline]] inline bool ends_plainly(const Worker* worker, const Unit* unit) noexcept {
  return __builtin_expect(!unit_needs_more(unit) && !worker->units.full(), 1);
}

}  // namespace weft::rt
