// preempt.hpp: the first reason to hand a worker over: its ULT has had its time slice. What the runtime sees of it is in
// klt/time_slice.hpp; how it works: README.md.
#pragma once

#include <ucontext.h>

#include <atomic>
#include <cstdint>
#include <optional>

#include "klt/time_slice.hpp"
#include "weft/weft.h"

namespace weft::rt {

struct PreemptSettings {
  // any thread
  std::atomic<weft_preemption_t> kind{WEFT_PREEMPTION_KLT_SWITCHING};  // of units that do not say
  std::atomic<uint64_t> interval{1'000'000};
  std::atomic<int> signal{0};  // 0: none yet
  std::atomic<bool> pools_say{false};  // for good
  // constant while there are ticks
  uint64_t kernel_tick = 0;  // the period of the kernel's own tick
  uint64_t spin_slice = 0;   // see preempt_slice()
  PreemptAlign align = PreemptAlign::Tick;
  PreemptTimer timer = PreemptTimer::Worker;
};
extern PreemptSettings preempt_settings;

// Installs the handler. False: no signal is free, or the one that was wished may not be handled.
bool preempt_install() noexcept;
void preempt_uninstall() noexcept;

// The tick of a worker on which a ULT runs. Guard up before and after. `frame`: what the signal has interrupted; null:
// the ULT is about to lower its guard.
void preempt_current(Klt* self, Worker* worker, Unit* unit, const ucontext_t* frame) noexcept;
// Before there are ticks; what is loaded by then, and stays. Then: whether code at this address may hold one of those locks that a unit
// is to keep its KLT with. Async-signal-safe.
void preempt_learn_c_library() noexcept;
bool preempt_in_c_library(uintptr_t address) noexcept;
// One that changes nothing: arms the next one, if there is to be one.
void preempt_tick_again(Klt* self, Worker* worker) noexcept;

// Whether a unit waits for this worker, or something else is wanted of its scheduler. Async-signal-safe.
bool preempt_others_wait(Worker* worker) noexcept;
// Whether one waits in its lane, or in a pool that would have told of it, or the bell was rung. Async-signal-safe.
bool preempt_units_wait(const Worker* worker) noexcept;

// Whether its scheduler goes by priority: whoever has a higher one than what runs is to wait an interval at most.
bool preempt_by_priority(const Worker* worker) noexcept;

// The next tick, on the carrier's timer: when the slice of the unit that it runs ends.
void preempt_arm(Klt* carrier, Worker* worker) noexcept;
// The same where another unit comes now: the first in the ring, as it seems. Guard up.
void preempt_arm_for_next(Klt* carrier, Worker* worker) noexcept;
// The unit stays, and a tick comes after the shortest slice there is.
void preempt_arm_look(Klt* carrier, Worker* worker, const Unit* unit) noexcept;
// turn.cpp. How long the next turn is: the unit that runs is about to be preempted. computes: as far as one can see.
void preempt_next_turn(Worker* worker, bool computes) noexcept;
// Turns are one interval long again.
void preempt_short_turns(Worker* worker) noexcept;
// The lane has told of a unit. True: that was the one that a tick has just preempted, and the turn goes on.
bool preempt_turn_goes_on(Worker* worker) noexcept;
// A longer turn is to end when it has lasted one interval. Any thread.
void preempt_end_turn(Worker* worker) noexcept;
// Soon, because something was in the way this time.
void preempt_arm_soon(Klt* carrier) noexcept;
// There is no next one, until a unit waits.
void preempt_rest(Worker* worker) noexcept;
// For all workers, from now on, as the mode and the interval say.
void preempt_restart_all() noexcept;
// Since the last call of preempt_arm() one unit has run on the worker, and no other.
bool preempt_same_unit(const Worker* worker) noexcept;

// Its parts: the timer itself; the time of a tick that should come about then.
void preempt_set_timer(Klt* klt, uint64_t deadline, uint64_t now) noexcept;
uint64_t preempt_on_grid(uint64_t time, const Worker* worker) noexcept;

enum class SpinLook {
  kNothing,  // it computes, as far as one can see
  kAgain,    // it may spin: one more look, soon, and it is known: see preempt_arm_look()
  kMaySpin,  // it does, or does no more than count
};
// How the tick that has just come stands to the time of its thread.
struct TickTime {
  uint64_t late_ns;                // since it was due
  std::optional<int64_t> away_ns;  // for how long the thread has not run since it was set, where that is known. A little less than
                                   // nothing at times: the two clocks are read one after the other
};
TickTime preempt_tick_time(const Klt* self) noexcept;
// spin.cpp. What a tick has found the unit at; `frame`: as above. Only by whoever carries it.
SpinLook preempt_look_for_spinning(const Unit* unit, const ucontext_t* frame, const TickTime& time) noexcept;
// How long it may run while others wait: the interval; one that only spins less and less. Any thread, async-signal-safe; of a unit
// that is gone, too.
uint64_t preempt_slice(const Unit* unit) noexcept;
inline bool preempt_is_short(uint64_t slice) noexcept { return slice < preempt_settings.interval.load(std::memory_order_relaxed); }

// One timer for all workers: relay.cpp.
bool preempt_relays() noexcept;
// At the beginning of the handler. False: this tick is not for this worker.
bool preempt_relay(Klt* self, Worker* worker, bool from_timer) noexcept;
// In the place of preempt_arm()'s timer.
void preempt_relay_arm(Klt* carrier, Worker* worker, uint64_t now) noexcept;
// This tick leaves no more than a note: the process's goes on all the same.
void preempt_relay_noted(Klt* self, Worker* worker) noexcept;
// It leads no longer, if it did: it sleeps, or what it runs is left alone while others could use ticks.
void preempt_resign(Worker* worker) noexcept;
bool preempt_should_resign(const Worker* worker) noexcept;
// It may be a worker that is no more.
void preempt_check_leader() noexcept;
void preempt_forget_leader() noexcept;

// Where the kernel grants no timer a thread sends the ticks: metronome.cpp. It is asked for by whoever is refused one.
void preempt_want_metronome() noexcept;
// In the place of such a KLT's timer. Async-signal-safe but for errno.
void preempt_beat_set(Klt* klt, uint64_t due) noexcept;
// The maker has ended, and so have all KLTs but the caller's.
void preempt_stop_metronome() noexcept;
// In a forked child: it stayed in the parent.
void preempt_forget_metronome() noexcept;

// Something is due on this CPU at that time, which the hardware's timer is set to.
void preempt_pace(const Worker* worker, uint64_t due) noexcept;
// All KLTs but the caller's have ended.
void preempt_stop_pacers() noexcept;
// In a forked child: they stayed in the parent.
void preempt_forget_pacers() noexcept;

// The futex that the tick has interrupted the thread in, which sleeps there without a time; null: it does something else.
const void* preempt_futex_of(const ucontext_t* frame) noexcept;
// A tick has found a ULT that is left alone, while others wait: stuck.cpp. True: it waits for one of those, and has to let them go on.
bool preempt_left_alone(Worker* worker, const ucontext_t* frame) noexcept;

}  // namespace weft::rt
