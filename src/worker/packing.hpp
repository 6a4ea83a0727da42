// packing.hpp: thread packing: some of the workers are suspended, and what they had to run goes to the others. Who does
// what: README.md, "Suspended".
//
// A suspended worker runs what no other worker may run, and otherwise sleeps. It is a worker as ever for whoever looks
// for deadlocks, rings, dumps, forks or ends it.
#pragma once

#include "worker/worker.hpp"

namespace weft::rt {

struct Pool;

// As the worker itself sees it. One that stops, or whose scheduler is to finish or to be replaced, does that first. A
// scheduler of the user's is the user's.
inline bool is_suspended(const Worker* worker) noexcept {
  if (__builtin_expect(!worker->suspended.load(std::memory_order_seq_cst), 1)) return false;
  const Sched* sched = worker->sched;
  return !sched->user && worker->state.load(std::memory_order_acquire) == WorkerState::kActive &&
         worker->new_sched.load(std::memory_order_acquire) == nullptr &&
         !sched->finish.load(std::memory_order_acquire) && !sched->exit.load(std::memory_order_acquire);
}

// All but the first n workers are suspended, those go on. Under runtime.setup; any thread, guard down.
int workers_set_active(unsigned n) noexcept;

// Somebody else runs now, or serves other pools: who serves which is asked again. Any thread.
void packing_changed() noexcept;

// Whether a worker that is not suspended has the pool among its main scheduler's. Async-signal-safe.
bool is_taken_over(const Pool* pool) noexcept;
// Whether a suspended worker, the caller's, leaves the unit to others. Async-signal-safe.
bool others_may_run(const Unit* unit) noexcept;

// ---- the worker itself, guard up

// Its ways past the scheduler are shut, or open again.
void note_suspension(Worker* worker) noexcept;
// Gives a unit that is ready, and in no pool, to somebody else. False: nobody else may run it.
bool hand_on(Worker* worker, Unit* unit) noexcept;
// Its scheduler does not look into its lane, or it stops: what lies there and has to go nowhere else goes to others. Units whose pool the lane is
// stay.
void leave_lane(Worker* worker) noexcept;
// Whoever sent it something there did not know yet.
inline bool has_strays(const Worker* worker) noexcept {
  return worker->ring == nullptr && !worker->lane.is_listed() && worker->lane.has_inbox();
}
// Gives away what it can, and returns what remains: the next unit that only this worker may run, or null.
Unit* pick_suspended(Worker* worker, Sched* sched) noexcept;
// Whether there is anything for pick_suspended() to do.
bool suspended_finds(Worker* worker, Sched* sched) noexcept;
// Wakes somebody for each of the scheduler's pools that has units for others.
void wake_for_suspended(Worker* worker, Sched* sched) noexcept;

}  // namespace weft::rt
