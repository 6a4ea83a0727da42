// tasklet.hpp: running a tasklet: a call.
#pragma once

#include "unit/local.hpp"
#include "worker/worker.hpp"

namespace weft::rt {

// With the guard just lowered. Apart, so that the other way saves no registers for it.
[[gnu::noinline, gnu::cold]] inline void answer_and_call(weft_fn fn, void* arg) noexcept {
  guard_leave_slow();
  fn(arg);
}

// Guard up before and down after. Neither the worker nor the stack changes: a tasklet does not suspend, and
// is not handed over. The caller sets the claim floor before, and the current unit afterwards.
[[gnu::always_inline]] inline void run_tasklet_body(Worker* worker, Unit* unit) noexcept {
  weft_fn fn = unit->fn;
  void* arg = unit->arg;
  unit->host = unit;
  unit_transition(unit, UnitState::kRunning);
  klt_set_current(unit);
  san::release(worker);
  klt_register_store32<kKltGuard>(0);
  if (__builtin_expect(klt_register_load<kKltAttention, uint32_t>() != 0, 0)) return answer_and_call(fn, arg);
  fn(arg);
}

// A detached unit's local values end with it; another's when it is freed. Guard down. A front-end's units have
// their values until they have left their stack: see finish_unit().
[[gnu::always_inline]] inline void end_detached_locals(Unit* unit) noexcept {
  constexpr uint16_t kBoth = flag::kDetached | flag::kCold;
  if (__builtin_expect((unit->flags & (kBoth | flag::kFront)) == kBoth, 0)) locals_destroy(unit);
}

}  // namespace weft::rt
