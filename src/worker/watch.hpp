// watch.hpp: telling a front-end's tool what becomes of its units (flag::kWatched). Such units are not run early and do
// not switch directly, so these places are all there are, and none is on a fast path.
#pragma once

#include "unit/unit.hpp"
#include "worker/unit_event.hpp"

namespace weft::rt {

// by: who does it: the unit that runs there, or has named this one as its successor; null: a main scheduler, or a thread. worker: where it happens; null:
// on a foreign thread. Called before others can have the unit, without a current
// unit; of kSuspend maybe with the lock of the object held that the unit waits for.
using UnitWatcher = void (*)(weft_unit_t unit, UnitEvent event, weft_unit_t by, weft_worker_t worker);
void set_unit_watcher(UnitWatcher watcher) noexcept;

void tell_watcher(Worker* worker, Unit* unit, UnitEvent event) noexcept;

[[gnu::always_inline]] inline void watch_unit(Worker* worker, Unit* unit, UnitEvent event) noexcept {
  if (__builtin_expect(unit_is(unit, flag::kWatched), 0)) tell_watcher(worker, unit, event);
}

}  // namespace weft::rt
