// block.hpp: the second reason to hand a worker over: its ULT has blocked in the kernel. What the runtime sees of it is in
// klt/kernel_sleep.hpp; how it works: README.md.
#pragma once

#include <atomic>
#include <cstdint>

#include "klt/kernel_sleep.hpp"
#include "os/futex.hpp"

namespace weft::rt {

struct Sight;

struct BlockSettings {
  // written while there are no scouts
  std::atomic<BlockRung> rung{BlockRung::None};
  std::atomic<int> signal{0};  // by which a ULT is stopped that has come back and has no worker; 0: none
  // any thread
  std::atomic<uint32_t> klts{512};  // the most that may be in the kernel, unless all workers would stand still
};
extern BlockSettings block_settings;

// Any thread.
struct alignas(64) BlockCounts {
  std::atomic<uint32_t> in_kernel{0};  // ULTs whose worker has been taken, and that have not come back
  std::atomic<uint64_t> blocks{0};     // a scout found its worker's carrier asleep in the kernel
  std::atomic<uint64_t> taken{0};
  std::atomic<uint64_t> returns{0};
  std::atomic<uint64_t> stopped{0};    // of those: by the signal
  std::atomic<uint64_t> idle_ns{0};    // from a ULT's block to its worker's going on
  std::atomic<uint64_t> extra_ns{0};   // from a ULT's return to its stop
  std::atomic<uint64_t> looks{0};      // of scouts
  std::atomic<uint64_t> beyond{0};     // taken though `klts` were in the kernel already
};
extern BlockCounts block_counts;

// ---- scout.cpp --------------------------------------------------------------------------------------

// Values of BlockPost::state.
inline constexpr uint32_t kPostEnds = 0;     // no scout, or it ends
inline constexpr uint32_t kPostRests = 1;    // asleep until a unit waits
inline constexpr uint32_t kPostLooks = 2;    // runnable: it looks whenever the kernel has nothing better for the core

// The threads are started and ended by the thread that makes spares, or while it is not there. Whoever does so has this lock.
void scouts_lock() noexcept;
bool scouts_try_lock() noexcept;
void scouts_unlock() noexcept;
// False: the kernel refuses the thread.
bool scout_start(Worker* worker) noexcept;
// All are told to.
void scouts_end() noexcept;
// Those that have ended are joined, and their heirs spares again. False: others are on their way still. Guard down.
bool scouts_have_ended() noexcept;
// They look round now and then, until workers are often taken from those that block: those that begin from here on.
void scouts_be_calm() noexcept;
// They see at once who blocks. Any thread.
void scouts_be_alert() noexcept;
// Both, and waits for them.
void scouts_stop() noexcept;
// Nobody knows the workers any more.
void scouts_forget_workers() noexcept;
// In a forked child, where their threads are no more.
void scouts_forget_threads() noexcept;
bool is_scout(int tid) noexcept;
// Whether the thread of one has been made and does nothing of ours yet.
bool scouts_are_starting() noexcept;
// The carrier sleeps: counts that, if it is not the block that was counted last.
void count_block(Worker* worker, const Klt* carrier, const Sight& sight) noexcept;
// The worker was taken for it. The next one that is seen is another one, though the stamp be the same: the kernel's record of
// what came in between may be late.
void count_taken(Worker* worker, const Klt* carrier, const Sight& sight) noexcept;
// A worker was taken from one that did not sleep, and kept its ticks out: others may do the same.
void note_deaf() noexcept;
// The next unit that comes to the worker's lane wakes it. Scout, heir; also where the worker is only being set up.
void scout_rest(Worker* worker) noexcept;
void scout_look(Worker* worker) noexcept;

// ---- heir.cpp ---------------------------------------------------------------------------------------

// Makes a spare the one that carries the worker on, if it has none. False: there is no spare.
bool heir_choose(Worker* worker) noexcept;
// The scout, where there is no spare for long: the worker goes to a ULT that sleeps captured, if it has one and its carrier
// sleeps. Whoever makes spares may wait for what that ULT holds.
void heir_is_captive(Worker* worker) noexcept;
// Makes it a spare again.
void heir_dismiss(Worker* worker) noexcept;

// ---- control.cpp -------------------------------------------------------------------------------------

// Whether it has a KLT that does not sleep in the kernel, as far as one can see.
bool carrier_runs(const Worker* worker) noexcept;
// For how long, of its own CPU time, one that has come back may go before those that wait; and run before it is stopped, at most.
uint64_t block_turn() noexcept;

// ---- back.cpp ---------------------------------------------------------------------------------------

// Installs the handler of the signal that stops those who have come back. False: no real-time signal is free.
bool back_install() noexcept;
void back_remove() noexcept;
// From here on its thread can be stopped, unless the kernel refuses. Under the list's lock, or by the KLT itself.
void back_open(Klt* klt) noexcept;
// The record is to be another thread's, or nobody's. `there`: false in a forked child, which has none of its parent's timers.
void back_close(Klt* klt, bool there) noexcept;
// When its thread has had its grace in user mode it is stopped; once. No system call is interrupted. Whoever takes its worker.
void back_stop(Klt* klt) noexcept;
// The KLT itself.
void back_do_not_stop(const Klt* klt) noexcept;

}  // namespace weft::rt
