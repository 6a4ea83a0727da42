// control.hpp: the parts of control.cpp that front-ends are made of too. All with the guard up.
#pragma once

#include "worker/worker.hpp"

namespace weft::rt {

// Of leave_unit(): the unit is ready again; it has suspended itself.
void yield_action(Worker* worker, Unit* unit, void*);
void suspend_action(Worker* worker, Unit* unit, void*);
// The first of these, at that worker; null: at this one.
void yield_to_worker(Worker* worker, Unit* unit, Worker* to);
// weft_yield() by the general way. Guard down.
int yield_slow() noexcept;  // WEFT_OK
// By way of the scheduler; of a ULT that has not been cancelled. Guard up; it is lowered.
int yield_away(Worker* worker, Unit* unit) noexcept;  // WEFT_OK

inline bool is_ult(const Unit* unit) noexcept { return unit != nullptr && !unit_is(unit, flag::kTasklet); }

// Ends the unit if it has been cancelled.
[[gnu::always_inline]] inline void obey_cancellation(Worker* worker, Unit* unit) noexcept {
  if (__builtin_expect(unit_cancelled(unit), 0)) exit_unit(worker, unit);
}

// The unit has suspended itself, and goes on: where others than its pool's schedulers have continued it these are told.
[[gnu::always_inline]] inline void goes_on(Worker* worker, const Unit* unit) noexcept {
  if (__builtin_expect(!unit_is(unit, flag::kFront), 1)) return;
  Pool* pool = unit->pool.load(std::memory_order_relaxed);
  if (pool != worker->home()) wake_to_finish(worker, pool);
}

// The end of a direct switch: the caller has been resumed, by whatever KLT.
int end_cancelled(Unit* unit) noexcept;
[[gnu::always_inline]] inline int come_back(Unit* unit) noexcept {
  if (__builtin_expect(unit_cancelled(unit), 0)) return end_cancelled(unit);
  // The guard has been up all the time: that a taker has just published is its own business, as in every other leave.
  return guard_leave_ok(san::kOrders ? guard_worker() : nullptr);
}

}  // namespace weft::rt
