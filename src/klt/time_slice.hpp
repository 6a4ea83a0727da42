// time_slice.hpp: what the runtime tells preempt/, and asks of it. Defined there; while the mode is Off, which is where it
// begins, each of these costs a look at one word at most.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "config/options.hpp"
#include "klt/klt.hpp"

namespace weft::rt {

extern std::atomic<PreemptMode> preempt_mode;

inline bool preempt_off() noexcept {
  return __builtin_expect(preempt_mode.load(std::memory_order_relaxed) == PreemptMode::Off, 1);
}

// ---- the process ----------------------------------------------------------------------------------

// As the options say; a message where the system cannot do it.
void preempt_start(const Options& options) noexcept;
// Nobody but the caller runs units; the other workers are still there, and a tick may be under way.
void preempt_stop() noexcept;
// All KLTs but the caller's have ended: no tick is under way any more.
void preempt_remove() noexcept;
// In a forked child, in its one thread. worker: null: the runtime stayed behind.
void preempt_become_child(Klt* self, Worker* worker) noexcept;
void preempt_start_in_child() noexcept;

// What the thread that makes spare KLTs does when spare_maker_look() asks for it: a deadlock over a foreign lock is told.
void preempt_look_for_stuck() noexcept;
void preempt_forget_stuck() noexcept;
// The same thread: the one that sends ticks where the kernel grants no timer, if it is wanted. Whether it does nothing of ours yet.
void preempt_start_metronome() noexcept;
bool preempt_metronome_is_starting() noexcept;

// Some pool says how its units are preempted.
void preempt_pools_say() noexcept;

// By how much a stack of a size that the program has asked for is to be larger: the frame of a signal lies there while the
// ULT is away, and the handler runs there. 0: there are no ticks.
size_t preempt_stack_room() noexcept;

// ---- a KLT's thread -------------------------------------------------------------------------------

// A tick: the signal's handler, in a KLT.
void preempt_on_tick(const siginfo_t* info, ucontext_t* frame) noexcept;
// Where the C library's way back from handlers begins. Before there are ticks.
void preempt_way_back(uintptr_t first) noexcept;

void preempt_klt_starts(Klt* klt) noexcept;
void preempt_klt_ends(Klt* klt) noexcept;

// It has been let out for a fork() that is through: it is to come in. Under the list's lock. False: there is no signal for that.
bool preempt_call_in(Klt* klt) noexcept;

// ---- a worker; guard up, but for preempt_unit_waits() -----------------------------------------------

// It is this KLT's from here on, or it has slept.
void preempt_goes_on(Klt* self, Worker* worker) noexcept;
// It goes to another KLT, and this one is in the kernel, or about to go there: no tick is to cut that short. Nobody gives this KLT a
// worker before we have returned.
void preempt_leaves(Klt* klt) noexcept;
// The answer to attention::kPreempt: a tick came while the guard was up. The worker may be another one afterwards.
void preempt_noted() noexcept;
// One that came while the unit was just coming back: that has not had its time yet, and on a slow machine never would.
void preempt_put_off(Worker* worker) noexcept;
// There is a note, but this is no place to leave at: another tick comes soon.
void preempt_later() noexcept;
// There is such a note.
inline bool preempt_tick_waits() noexcept {
  return (klt_register_load<kKltAttention, uint32_t>() & attention::kPreempt) != 0 &&
         klt_register_load<kKltNoPreemption, uint32_t>() == 0;
}
// Its lane has asked to be told: a unit waits there now. Any thread.
void preempt_unit_waits(Worker* worker) noexcept;
// The tick is long due, and has not come, since the carrier's thread has it blocked by itself. Reads a file of the kernel's where one is long
// due (15 us). Any thread.
bool preempt_cannot_come(const Worker* worker, const Klt* carrier, uint64_t now) noexcept;
// Whether its ticks leave it alone. Whoever holds its worker.
bool preempt_leaves_alone(const Unit* unit) noexcept;
// Its earliest deadline is another one now: a tick comes then, if there is no other.
void preempt_deadline(Worker* worker) noexcept;

}  // namespace weft::rt
