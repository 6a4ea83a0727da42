// kernel_sleep.hpp: what the runtime tells block/, and asks of it. Defined there; while the mode is Off, which is where it
// begins, each of these costs a look at one word at most.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <atomic>
#include <cstdint>

#include "config/options.hpp"
#include "klt/klt.hpp"
#include "klt/time_slice.hpp"

namespace weft::rt {

extern std::atomic<BlockMode> block_mode;

// Whether a worker whose KLT goes to sleep in the kernel is taken from it within microseconds, where that happens often: not where
// that is found by looking round now and then.
extern std::atomic<bool> block_sees_at_once;

// How often the program has set the mode; and what takes long, by a thread that may wait: the mode `auto`, unless the mode has been
// set since `made`, or is on.
uint32_t block_settings_made() noexcept;
int block_begin_auto(uint32_t made) noexcept;

inline bool block_off() noexcept {
  return __builtin_expect(block_mode.load(std::memory_order_relaxed) == BlockMode::Off, 1);
}

// While either reason exists nobody but main runs on main's KLT: see leave_its_klt().
inline bool leaves_its_klt() noexcept { return !(preempt_off() && block_off()); }

// ---- the process ----------------------------------------------------------------------------------

// What its files need of the kernel, as long as the process has one thread: for several the kernel takes 10 to 35 ms, which whoever opens the
// first one waits then.
void block_prepare() noexcept;
// As the options say; a message where the system cannot do it.
void block_start(const Options& options) noexcept;
// From here on no worker is taken.
void block_off_for_good() noexcept;
// Nobody but the caller runs units, and nobody makes spares.
void block_stop() noexcept;
// All KLTs but the caller's have ended.
void block_remove() noexcept;
// In a forked child, in its one thread. worker: null: the runtime stayed behind.
void block_become_child(Klt* self, Worker* worker) noexcept;
// What it takes of threads: see worker/process_fork.hpp. Under runtime.setup.
void block_start_in_child() noexcept;
// The thread that makes spares: beside many that keep their ticks out scouts have nothing of the core. True: it is to do so again soon.
bool block_look_for_deaf() noexcept;
// The same thread: has as many scouts as the mode says, if it has been asked to see to that. True: it is to do so again soon.
bool block_see_to_scouts() noexcept;
// One of ours that is no KLT.
bool block_is_scout(int tid) noexcept;
// One of those has been made, and does nothing of ours yet.
bool block_scouts_are_starting() noexcept;

// ---- a KLT's thread; guard up -----------------------------------------------------------------------

// It has come back, and has not come to Weft: the signal's handler, with the guard as it was.
void block_on_return(const siginfo_t* info, ucontext_t* frame) noexcept;
void block_klt_starts(Klt* klt) noexcept;
// Its thread ends, or has not begun: the number is free for another one next. Under the list's lock.
void block_klt_ends(Klt* klt) noexcept;
// The record is to be another thread's.
void block_klt_renewed(Klt* klt) noexcept;
// It is about to be deleted. `there`: false in a forked child, which does not have what its parent had mapped, nor its timers.
void block_klt_gone(Klt* klt, bool there) noexcept;
// A spare that is kept for this worker has been woken. True: it carries the worker now.
bool block_inherit(Klt* self, Worker* worker) noexcept;
// The ULT gives its worker away and is about to wait in the kernel; false: there is nobody to give it to, or no ULT. Guard up, and down afterwards.
bool block_about_to_wait() noexcept;
// Its worker was taken while it was in the kernel; it has come back, and wants one.
void block_came_back(Klt* self) noexcept;
// Whether it may be worth while to take that worker back: its carrier sleeps in the kernel, too.
bool block_may_take_back(const Klt* self) noexcept;
enum class WayBack { kQueue, kInstead, kBehindOthers };
// The same for good, where the worker is the caller's already, by take_begin(): Instead: it has not used up its turn, or nobody
// waits there; BehindOthers: somebody else is to have the worker.
WayBack block_way_back(const Klt* self, Worker* worker, const Klt* victim) noexcept;
// It is taken from the victim now, but not by the worker's scout.
void block_takes(Worker* worker, Klt* victim) noexcept;
// It has waited for its turn, and has it.
void block_has_turn(Klt* self) noexcept;

// It has been let out for a fork() that is through: it is to come in, on a rung that can stop it. Under the list's lock.
void block_call_in(Klt* klt) noexcept;

// ---- a worker ---------------------------------------------------------------------------------------

// It has a scout soon, if there are any. It is active already.
void block_worker_starts(Worker* worker) noexcept;
// Nobody carries it any more.
void block_worker_ends(Worker* worker) noexcept;
// It has slept by its own will, and goes on.
void block_goes_on(Worker* worker) noexcept;
// Its lane has asked to be told: a unit waits there now. Any thread.
void block_unit_waits(Worker* worker) noexcept;
// Its earliest deadline is another one now.
void block_deadline(Worker* worker) noexcept;

}  // namespace weft::rt
