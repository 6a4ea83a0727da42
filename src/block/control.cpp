// control.cpp: whether workers are taken from KLTs that block, and the functions of the C interface.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <new>

#include "block/block.hpp"
#include "block/bpf/plugin.h"
#include "block/watch.hpp"
#include "klt/guard.hpp"
#include "klt/hand_over.hpp"
#include "klt/no_preemption.hpp"
#include "os/clock.hpp"
#include "sanitizer_switch.hpp"
#include "weft/block.h"
#include "worker/process_fork.hpp"
#include "worker/runtime.hpp"
#include "worker/spare_maker.hpp"
#include "worker/unit_signal.hpp"
#include "worker/worker.hpp"

extern "C" [[gnu::weak]] char __libc_single_threaded;  // glibc 2.32

namespace weft::rt {

constinit std::atomic<BlockMode> block_mode{BlockMode::Off};
constinit std::atomic<bool> block_sees_at_once{false};
BlockSettings block_settings;
constinit BlockCounts block_counts;

namespace {

template <class F>
void for_each_worker(F&& f) noexcept {
  const unsigned slots = runtime.worker_slots.load(std::memory_order_acquire);
  for (unsigned i = 0; i < slots; ++i) {
    Worker* worker = runtime.workers[i].load(std::memory_order_acquire);
    if (worker != nullptr) f(worker);
  }
}

// Where the kernel refuses that, it is not seen to block, and keeps its worker.
void watch(Klt* klt) noexcept {
  static_cast<void>(watch_open(klt, block_settings.rung.load(std::memory_order_relaxed)));
  back_open(klt);
}

void open_all() noexcept {
  klts_lock();
  klt_for_each([](Klt* klt, void*) {
    if (klt->lives()) watch(klt);
  }, nullptr);
  klts_unlock();
}

// See block_worker_starts().
bool start_scouts() noexcept {
  bool all = true;
  for_each_worker([&](Worker* worker) {
    if (worker->state.load(std::memory_order_seq_cst) == WorkerState::kActive) all = scout_start(worker) && all;
  });
  return all;
}

bool perf_is_asked_for() noexcept {
  if (!runtime_running()) return false;
  const BlockRung wish = runtime.options.blocking_rung;
  return wish == BlockRung::Perf || wish == BlockRung::Bpf;
}

const char* rung_name(BlockRung rung) noexcept {
  switch (rung) {
    case BlockRung::Bpf: return "bpf";
    case BlockRung::Perf: return "perf";
    case BlockRung::Proc: return "proc";
    default: return "none";
  }
}

// What the thread that makes spares is asked for: as many scouts as the mode says. Counts.
constinit std::atomic<uint32_t> asked{0}, served{0};
constinit std::atomic<bool> refused{false};  // a thread, as it served last

uint32_t ask_for_scouts() noexcept {
  const uint32_t ticket = asked.fetch_add(1, std::memory_order_seq_cst) + 1;
  spare_maker_look();
  return ticket;
}

// False: the kernel refuses a thread.
bool have_scouts() noexcept {
  const bool all = start_scouts();
  for_each_worker([](Worker* worker) { scout_look(worker); });
  block_sees_at_once.store(all, std::memory_order_relaxed);
  return all;
}

// Not the scouts. Under runtime.setup, or before anybody else knows the runtime.
int set_mode(BlockMode mode) noexcept {
  const BlockMode before = block_mode.load(std::memory_order_relaxed);
  if (mode == BlockMode::Off) {
    block_sees_at_once.store(false, std::memory_order_relaxed);
    block_mode.store(mode, std::memory_order_seq_cst);
    return WEFT_OK;
  }
  if (before == BlockMode::Off) {
    const BlockRung rung = watch_find_rung(runtime.options.blocking_rung);
    if (rung == BlockRung::None || !back_install()) return WEFT_ERR_UNSUPPORTED;
    block_settings.rung.store(rung, std::memory_order_relaxed);
    scouts_be_calm();
  }
  if (mode == BlockMode::On) scouts_be_alert();
  // From here on every thread that starts is watched, and every worker gets a scout.
  block_mode.store(mode, std::memory_order_seq_cst);
  open_all();
  if (spare_maker_start()) return WEFT_OK;
  block_mode.store(BlockMode::Off, std::memory_order_seq_cst);
  return WEFT_ERR_UNSUPPORTED;
}

// Nobody else asks for scouts, as yet.
int begin(BlockMode mode) noexcept {
  const int error = set_mode(mode);
  if (error != WEFT_OK || have_scouts()) return error;
  set_mode(BlockMode::Off);
  scouts_stop();
  return WEFT_ERR_UNSUPPORTED;
}

// False: the kernel has refused one of them a thread.
bool wait_for_scouts(uint32_t ticket) noexcept {
  // A tasklet keeps its worker, which may be the one that has to get on first.
  if (klt_register_valid() && klt_current() != nullptr && unit_is(klt_current(), flag::kTasklet)) return true;
  while (runtime_running()) {
    const uint32_t round = spare_maker_rounds();
    if (static_cast<int32_t>(served.load(std::memory_order_acquire) - ticket) >= 0) break;
    spare_maker_pause(round);
  }
  return !refused.load(std::memory_order_relaxed);
}

const char* what_it_takes(BlockRung rung) noexcept {
  return rung == BlockRung::Bpf
             ? "CAP_BPF and CAP_PERFMON, a process outside of containers, " WEFT_BPF_PLUGIN ", and what `perf` takes"
             : "kernel.perf_event_paranoid of 2 or less, and a container that lets perf_event_open() pass";
}

// Not through the C library's stderr: whoever holds that one's lock may have been preempted, and wait for this very worker.
// Not of a forked child that goes on: what its parent had loaded for the rung `bpf` stays with the parent.
void tell_of_lower_rung() noexcept {
  static constinit std::atomic<bool> told{false};
  const BlockRung wish = runtime.options.blocking_rung;
  const BlockRung granted = block_settings.rung.load(std::memory_order_relaxed);
  if (wish == BlockRung::Auto || granted == wish || told.exchange(true, std::memory_order_relaxed)) return;
  char line[320];
  const int length = std::snprintf(line, sizeof line,
                                   "weft: WEFT_BLOCKING_RUNG=%s is not granted, and `%s` is used instead: it takes %s "
                                   "(docs/blocking.md)\n",
                                   rung_name(wish), rung_name(granted), what_it_takes(wish));
  static_cast<void>(!write(STDERR_FILENO, line, static_cast<size_t>(length)));
}

// In a forked child, until there is anybody to go on; written under runtime.setup.
constinit std::atomic<BlockMode> put_off{BlockMode::Off};

constinit std::atomic<uint32_t> settings_made{0};  // calls of weft_blocking_set_mode(); written under runtime.setup

// changes(): under runtime.setup: whether it is to be.
template <class F>
int change_mode(BlockMode mode, F&& changes) noexcept {
  process_start_threads();
  uint32_t ticket;
  {
    const WatchBegins begins(mode != BlockMode::Off && block_off() && perf_is_asked_for());
    const NoPreemption scope;
    std::lock_guard hold(runtime.setup);
    if (!runtime_running()) return WEFT_ERR_UNINITIALIZED;
    if (!changes()) return WEFT_OK;
    if (const int error = set_mode(mode); error != WEFT_OK) return error;
    if (!spare_maker_is_there()) return WEFT_OK;  // there have never been scouts
    ticket = ask_for_scouts();
  }
  // Not with the lock: what the threads take may be in the hands of a ULT that was taken off this very worker.
  const bool all = wait_for_scouts(ticket);
  if (mode == BlockMode::Off) return WEFT_OK;
  if (all) {
    tell_of_lower_rung();
    return WEFT_OK;
  }
  const NoPreemption scope;
  std::lock_guard hold(runtime.setup);
  if (runtime_running() && block_mode.load(std::memory_order_relaxed) == mode) {
    set_mode(BlockMode::Off);
    ask_for_scouts();
  }
  return WEFT_ERR_UNSUPPORTED;
}

}  // namespace

uint32_t block_settings_made() noexcept { return settings_made.load(std::memory_order_relaxed); }

int block_begin_auto(uint32_t made) noexcept {
  const int error = change_mode(BlockMode::Auto, [made] { return block_settings_made() == made && block_off(); });
  return error != WEFT_ERR_UNINITIALIZED ? error : WEFT_OK;
}

void block_prepare() noexcept {
  if (&__libc_single_threaded != nullptr && __libc_single_threaded != 0) watch_make_room();
}

void block_start(const Options& options) noexcept {
  block_settings.klts.store(static_cast<uint32_t>(options.blocking_klts), std::memory_order_relaxed);
  if (options.blocking == BlockMode::Off) return;
  if (begin(options.blocking) == WEFT_OK) return tell_of_lower_rung();
  std::fputs("weft: blocking is not noticed: the kernel grants neither /proc nor its switch records "
             "(kernel.perf_event_paranoid), or no thread, or no real-time signal is free; a ULT that blocks in the kernel keeps "
             "its worker\n", stderr);
}

void block_off_for_good() noexcept {
  block_sees_at_once.store(false, std::memory_order_relaxed);
  block_mode.store(BlockMode::Off, std::memory_order_seq_cst);
  put_off.store(BlockMode::Off, std::memory_order_relaxed);
}

void block_stop() noexcept {
  scouts_lock();  // the process may be about to end
  scouts_stop();
  scouts_unlock();
  scouts_forget_workers();
  served.store(asked.load(std::memory_order_relaxed), std::memory_order_release);
}

void block_remove() noexcept {
  back_remove();
  block_settings.rung.store(BlockRung::None, std::memory_order_relaxed);
}

void block_become_child(Klt*, Worker* worker) noexcept {
  const BlockMode before = block_mode.exchange(BlockMode::Off, std::memory_order_relaxed);
  const BlockMode waits = put_off.exchange(BlockMode::Off, std::memory_order_relaxed);
  const BlockMode mode = before != BlockMode::Off ? before : waits;
  block_sees_at_once.store(false, std::memory_order_relaxed);
  scouts_forget_threads();
  served.store(asked.load(std::memory_order_relaxed), std::memory_order_relaxed);
  ::new (&block_counts) BlockCounts;  // what they count is the parent's
  if (mode == BlockMode::Off) return;
  if (worker == nullptr) return block_remove();
  // ThreadSanitizer's forked children cannot start threads.
  if (!san::kSignalsComeLate) put_off.store(mode, std::memory_order_relaxed);
}

void block_start_in_child() noexcept {
  const BlockMode mode = put_off.exchange(BlockMode::Off, std::memory_order_relaxed);
  if (mode != BlockMode::Off) static_cast<void>(begin(mode));
}

bool block_see_to_scouts() noexcept {
  // Sequentially consistent, pairs with block_worker_starts(): either that sees the mode that was set before we were asked, or we see its worker.
  const uint32_t now = asked.load(std::memory_order_seq_cst);
  if (now == served.load(std::memory_order_relaxed)) return false;
  if (!scouts_try_lock()) return false;  // the process ends
  if (block_off()) {
    block_sees_at_once.store(false, std::memory_order_relaxed);  // it may have been turned off while we started them
    scouts_end();
  }
  const bool ended = scouts_have_ended();  // also those of a mode before
  bool all = true;
  if (ended && !block_off()) outside_of_forks([&all] { all = have_scouts(); });
  scouts_unlock();
  if (!ended) return true;
  refused.store(!all, std::memory_order_relaxed);
  served.store(now, std::memory_order_release);
  return false;
}

bool block_is_scout(int tid) noexcept { return is_scout(tid); }
bool block_scouts_are_starting() noexcept { return scouts_are_starting(); }

void block_klt_starts(Klt* klt) noexcept {
  if (!block_off()) watch(klt);
}

void block_klt_ends(Klt* klt) noexcept { watch_thread_ends(klt); }
void block_klt_renewed(Klt* klt) noexcept {
  watch_reopen(klt);
  back_close(klt, true);
}
void block_klt_gone(Klt* klt, bool there) noexcept {
  watch_close(klt, there);
  back_close(klt, there);
}

bool carrier_runs(const Worker* worker) noexcept {
  const Klt* carrier = worker->carrier.load(std::memory_order_acquire);
  return carrier != nullptr && !watch_look(carrier).asleep;
}

uint64_t block_turn() noexcept {
  constexpr uint64_t kLongestSliceNs = 1'000'000;
  // Nobody is promised a slice then, and a stop costs some 100 µs.
  constexpr uint64_t kWithoutTicksNs = 4'000'000;
  if (preempt_off()) return kWithoutTicksNs;
  return std::min(uint64_t{1000} * static_cast<unsigned>(runtime.options.preemption_interval_us), kLongestSliceNs);
}

bool block_may_take_back(const Klt* self) noexcept {
  if (block_off()) return false;
  // One that sleeps for want of work has its guard up.
  const Klt* carrier = self->taken_from->carrier.load(std::memory_order_acquire);
  return carrier != nullptr && carrier->guard.load(std::memory_order_relaxed) == kGuardDown && watch_look(carrier).asleep;
}

void block_has_turn(Klt* self) noexcept { self->stop.turn = thread_cpu_ns(); }

void block_came_back(Klt* self) noexcept {
  block_counts.returns.fetch_add(1, std::memory_order_relaxed);
  back_do_not_stop(self);
  const uint64_t before = self->stop.cpu.exchange(0, std::memory_order_relaxed);
  if (before == 0 || !carrier_runs(self->taken_from)) return;
  block_counts.extra_ns.fetch_add(thread_cpu_ns() - before, std::memory_order_relaxed);
}

void block_worker_starts(Worker* worker) noexcept {
  worker->post.index.store(worker->index, std::memory_order_relaxed);
  if (block_mode.load(std::memory_order_seq_cst) == BlockMode::Off) return;
  // Not by us: see spare_for_new_worker(). Where the kernel refuses the thread the worker is kept by who blocks, as without us.
  if (worker->post.started.load(std::memory_order_seq_cst)) {  // one that ends is joined before our worker is looked at
    scout_look(worker);
  } else {
    ask_for_scouts();
  }
}

void block_worker_ends(Worker* worker) noexcept { heir_dismiss(worker); }

void block_goes_on(Worker* worker) noexcept { scout_look(worker); }

void block_unit_waits(Worker* worker) noexcept { scout_look(worker); }

void block_deadline(Worker* worker) noexcept {
  // It sleeps until the earliest one that it knew.
  scout_look(worker);
}

bool block_about_to_wait() noexcept {
  leave_klt_of_main();
  if (!leave_for_kernel()) {
    guard_leave(guard_worker());
    return false;
  }
  block_counts.blocks.fetch_add(1, std::memory_order_relaxed);
  block_counts.taken.fetch_add(1, std::memory_order_relaxed);
  unit_signals_look();  // they are to end the call that comes now, or to come before it
  return true;
}

}  // namespace weft::rt

using namespace weft::rt;

extern "C" {

int weft_blocking_set_mode(weft_blocking_mode_t mode) {
  if (static_cast<unsigned>(mode) > WEFT_BLOCKING_AUTO) return WEFT_ERR_INVALID;
  return change_mode(static_cast<BlockMode>(mode), [] {
    settings_made.fetch_add(1, std::memory_order_relaxed);
    return true;
  });
}

int weft_blocking_set_klts(unsigned klts) {
  if (klts == 0) return WEFT_ERR_INVALID;
  if (!runtime_running()) return WEFT_ERR_UNINITIALIZED;
  block_settings.klts.store(klts, std::memory_order_relaxed);
  return WEFT_OK;
}

int weft_blocking_info(weft_blocking_info_t* info) {
  if (info == nullptr) return WEFT_ERR_INVALID;
  if (!runtime_running()) return WEFT_ERR_UNINITIALIZED;
  const BlockCounts& counts = block_counts;
  *info = {};
  const BlockMode mode = block_mode.load(std::memory_order_relaxed);
  info->mode = static_cast<weft_blocking_mode_t>(mode != BlockMode::Off ? mode : put_off.load(std::memory_order_relaxed));
  info->rung = rung_name(block_settings.rung.load(std::memory_order_relaxed));
  info->klts = block_settings.klts.load(std::memory_order_relaxed);
  info->in_kernel = ults_in_kernel.load(std::memory_order_relaxed);
  info->blocks = counts.blocks.load(std::memory_order_relaxed);
  info->hand_overs = counts.taken.load(std::memory_order_relaxed);
  info->returns = counts.returns.load(std::memory_order_relaxed);
  info->stopped = counts.stopped.load(std::memory_order_relaxed);
  info->beyond = counts.beyond.load(std::memory_order_relaxed);
  info->looks = counts.looks.load(std::memory_order_relaxed);
  info->idle_ns = counts.idle_ns.load(std::memory_order_relaxed);
  info->oversubscribed_ns = counts.extra_ns.load(std::memory_order_relaxed);
  return WEFT_OK;
}

int weft_blocking_begin(void) {
  Worker* worker = guard_enter();
  if (worker == nullptr) return WEFT_OK;  // a thread of the program's own: it has no worker to keep
  const bool in_ult = klt_current() != nullptr && !unit_is(klt_current(), flag::kTasklet);
  if (block_about_to_wait()) return WEFT_OK;
  return in_ult ? WEFT_ERR_NO_KLT : WEFT_ERR_CONTEXT;
}

void weft_blocking_end(void) {
  if (Worker* worker = guard_enter()) guard_leave(worker);
}

}  // extern "C"
