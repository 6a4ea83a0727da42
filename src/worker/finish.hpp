// finish.hpp: how a unit ends: its stack goes back, its joiner is told, its descriptor is used again.
#pragma once

#include "worker/identity.hpp"
#include "worker/watch.hpp"
#include "worker/worker.hpp"

namespace weft::rt {

// Frees a descriptor. Precondition: terminated and joined, or detached and ended.
WEFT_HOT void recycle_unit(Worker* worker, Unit* unit) noexcept {
  if (__builtin_expect(unit_needs_more(unit), 0)) {
    release_identity(unit);
    unit_release_more(unit);
  }
  unit_transition(unit, UnitState::kFree);
  if (__builtin_expect(worker != nullptr, 1)) {
    worker->units.push(unit);
  } else {
    unit_release_global(unit);
  }
}

// The same of a unit without attributes, on a worker. Precondition: !unit_needs_more().
[[gnu::always_inline]] inline void recycle_plain_unit(Worker* worker, Unit* unit) noexcept {
  unit_transition(unit, UnitState::kFree);
  worker->units.push(unit);
}

// Frees one that has been taken out of its pool and will not run.
inline void recycle_unit_unrun(Worker* worker, Unit* unit) noexcept {
  unit_transition(unit, UnitState::kRunning);
  unit_transition(unit, UnitState::kTerminated);
  recycle_unit(worker, unit);
}

// Gives back the stack of a unit that has ended, where that takes more than a push.
void retire_stack(Worker* worker, const Unit* unit, Stack* stack) noexcept;

// The end of a front-end's detached unit, by its scheduler.
void drop_front_unit(Unit* unit) noexcept;

// Ends a unit: gives back its stack, tells its joiner. Guard up; nothing runs on its stack any more. `ran`: it did; else its joiner does not go on in its
// place.
WEFT_HOT void finish_unit(Worker* worker, Unit* unit, bool ran = true) noexcept {
  watch_unit(worker, unit, UnitEvent::kFinish);
  if (Stack* stack = unit->stack; stack != nullptr && !unit_is(unit, flag::kStackKept)) {
    unit->stack = nullptr;
    if (__builtin_expect(stack->cached, 1)) {
      worker->stacks.push(stack);
    } else {
      retire_stack(worker, unit, stack);
    }
  }
  unit_transition(unit, UnitState::kTerminated);
  if (unit_is(unit, flag::kDetached)) {
    if (__builtin_expect(unit_needs_clear(unit), 0) && unit_is(unit, flag::kFront)) drop_front_unit(unit);
    recycle_unit(worker, unit);
    return;
  }
  // Acquire-release: what the unit has done is seen by its joiner; the joiner's waiter is seen by us.
  // From here on the unit may be gone, unless its joiner is a ULT that waits.
  const uintptr_t joiner = unit->joiner.exchange(kJoinDone, std::memory_order_acq_rel);
  if (__builtin_expect(joiner > kJoinTaken, 0)) waiter_wake_joiner(worker, reinterpret_cast<Waiter*>(joiner), ran ? unit : nullptr);
}

}  // namespace weft::rt
