// handles.hpp: what the C functions share: checking the handles that users pass.
#pragma once

#include "pool/pool.hpp"
#include "sched/sched.hpp"
#include "unit/unit.hpp"
#include "weft/weft.h"
#include "worker/worker.hpp"

namespace weft::rt {

inline weft_worker_t to_handle(Worker* w) noexcept { return reinterpret_cast<weft_worker_t>(w); }
inline Worker* from_handle(weft_worker_t w) noexcept { return reinterpret_cast<Worker*>(w); }

// The unit behind a handle; null if there is none, or it has been freed (as far as its descriptor has
// not been used again: debug builds keep freed ones back for a while).
inline Unit* live_unit(weft_unit_t handle) noexcept {
  Unit* unit = from_handle(handle);
  return unit != nullptr && unit_state(unit) != UnitState::kFree ? unit : nullptr;
}

// A descriptor that has been taken from the cache and is not needed after all.
inline void recycle_fresh(Worker* worker, Unit* unit) noexcept {
  if (worker != nullptr) {
    worker->units.push(unit);
  } else {
    unit_release_global(unit);
  }
}

// The function of a ULT that runs a stacked scheduler.
void stacked_main(void* sched);

// Where units of foreign threads go.
Pool* foreign_home() noexcept;

}  // namespace weft::rt
