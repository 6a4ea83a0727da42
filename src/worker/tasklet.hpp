// tasklet.hpp: running a tasklet: a call.
#pragma once

#include "unit/local.hpp"
#include "worker/worker.hpp"

namespace weft::rt {

// Guard up before and down after. Neither the worker nor the stack changes: a tasklet does not suspend, and
// is not handed over. The caller sets the claim floor before, and the current unit afterwards.
[[gnu::always_inline]] inline void run_tasklet_body(Worker* worker, Unit* unit) noexcept {
  weft_fn fn = unit->fn;
  void* arg = unit->arg;
  unit->host = unit;
  unit_transition(unit, UnitState::kRunning);
  klt_set_current(unit);
  guard_leave(worker);
  fn(arg);
}

// A detached unit's local values end with it; another's when it is freed. Guard down. A front-end's units have
// their values until they have left their stack: see finish_unit().
[[gnu::always_inline]] inline void end_detached_locals(Unit* unit) noexcept {
  constexpr uint16_t kBoth = flag::kDetached | flag::kCold;
  if (__builtin_expect((unit->flags & (kBoth | flag::kFront)) == kBoth, 0)) locals_destroy(unit);
}

}  // namespace weft::rt
