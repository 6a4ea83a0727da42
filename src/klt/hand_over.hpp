// hand_over.hpp: how a worker gets from one KLT to another. The protocol is in README.md.
#pragma once

#include "klt/klt.hpp"

namespace weft::rt {

// ---- the owner gives, guard up ------------------------------------------------------------------

// Keeps takers off until the worker has left. Called before the owner gives its worker away.
void give_begin(Klt* self) noexcept;
// Lets `to`, which sleeps, go on with the worker. The caller no longer has it. `then`: kTaken: its unit is in the kernel.
void give_worker(Klt* self, Worker* worker, Klt* to, Take then = Take::kNone) noexcept;

// The same on the base stack of the KLT that gives, where nobody needs the stack any more that it has left. BaseAction.
void give_worker_on_base(void* worker, void* to) noexcept;

// The last step of both ways: `to`, which sleeps, is the worker's carrier from here on.
void hand_to(Worker* worker, Klt* to) noexcept;

// The ULT that runs becomes captive of this KLT, and ready; its worker goes to a spare; this KLT sleeps
// until somebody picks the ULT. False: no spare, or not in a ULT: nothing has happened.
// `may_create`: a new KLT may be made, and memory mapped (not in a signal handler).
bool capture_current(bool may_create) noexcept;
// It runs where whoever has given it the worker was, and may be moved from there again. The KLT itself, when it carries the worker,
// and before bind_carrier().
void end_pull(Klt* self) noexcept;

// The ULT leaves, and its KLT with it: this goes to its base loop, and its worker to a spare, or to a captive that lies in the
// worker's ring; where there is no KLT to go on with, it goes on itself. action(worker, unit, arg) is carried out before, once the ULT's context is
// complete. Returns when the ULT is resumed.
void leave_for_base(Worker* worker, Unit* unit, void (*action)(Worker*, Unit*, void*), void* arg) noexcept;

// The scheduler has picked a unit that only `unit->host->captive` may run. Gives it the worker; this
// KLT becomes a spare. `save`: the scheduler's context, if it has one worth keeping. Returns true when
// that is resumed, false when the unit had to be left for later.
bool give_to_captive(Worker* worker, Unit* unit, Context* save) noexcept;

// ---- taking, from outside -----------------------------------------------------------------------

// Opens the worker's private part to the caller, if its carrier runs a ULT with its guard down. Null: not
// now. Afterwards take_retract() or take_finish().
Klt* take_begin(Worker* worker) noexcept;
void take_retract(Worker* worker, Klt* victim) noexcept;
// The victim stays without a worker, its ULT InKernel and captive; the worker goes to `to`.
// False: no stack to go on with: retracted. `to`: asleep, or the caller, if that is a KLT without a worker.
bool take_finish(Worker* worker, Klt* victim, Klt* to) noexcept;
// The same for the KLT that sleeps inside the unit that comes next. False: there is no such one, and nothing has happened.
bool take_for_next_captive(Worker* worker, Klt* victim) noexcept;
// The same of any unit in the pools of the worker's scheduler.
bool take_for_any_captive(Worker* worker, Klt* victim) noexcept;

// In a signal handler that has interrupted the ULT's sleep in the kernel, guard up: that goes on without its worker, as if it had been taken.
// False: no spare, or not now: nothing has happened.
bool leave_asleep() noexcept;

// The whole of it: takes the worker from its carrier if that blocks, for a spare. The caller judges
// whether it blocks. False: not now.
bool take_worker(Worker* worker) noexcept;

// ULTs in the kernel without their workers.
extern std::atomic<uint32_t> ults_in_kernel;

// The caller is about to block, and says so: its worker goes on without it at once. The guard is down afterwards. False: no
// KLT to go on with, or not in a ULT: nothing has happened.
bool leave_for_kernel() noexcept;

// ---- after a fork() -----------------------------------------------------------------------------

// What ran on this thread when the process forked has ended, in the child: the process ends with it. Defined
// by worker/.
[[noreturn]] void process_end_of_unit() noexcept;

// ---- for tests ----------------------------------------------------------------------------------

// Asked each time a KLT lowers its guard in a ULT; true: the ULT is captured there. Null: no more.
using HandOverHook = bool (*)();
void set_hand_over_hook(HandOverHook hook) noexcept;

}  // namespace weft::rt
