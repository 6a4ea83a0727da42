// control.cpp: whether there are ticks, and the functions of the C interface.
#include <time.h>

#include <cstdio>
#include <mutex>

#include "klt/guard.hpp"
#include "klt/no_preemption.hpp"
#include "os/kernel_timer.hpp"
#include "os/signal_frame.hpp"
#include "preempt/preempt.hpp"
#include "sanitizer_switch.hpp"
#include "worker/process_fork.hpp"
#include "worker/runtime.hpp"
#include "worker/signal_stack.hpp"
#include "worker/spare_maker.hpp"

namespace weft::rt {

std::atomic<PreemptMode> preempt_mode{PreemptMode::Off};
PreemptSettings preempt_settings;

namespace {

// Creates it: then it can be armed from a handler, and by others.
void give_timer(Klt* klt) noexcept {
  if (klt->tick_timer.load(std::memory_order_relaxed) != kNoTimer) return;
  const int tid = klt->tid.load(std::memory_order_acquire);
  if (tid == 0) return;  // its thread is only starting: it does so itself
  const int timer = kernel_timer_create(tid, preempt_settings.signal.load(std::memory_order_relaxed));
  int none = kNoTimer;
  if (timer == kNoTimer) return preempt_want_metronome();
  // Its thread may have done the same.
  if (!klt->tick_timer.compare_exchange_strong(none, timer, std::memory_order_acq_rel)) kernel_timer_delete(timer);
}

void take_timer(Klt* klt) noexcept {
  const int timer = klt->tick_timer.exchange(kNoTimer, std::memory_order_acq_rel);
  if (timer != kNoTimer) kernel_timer_delete(timer);
  klt->beat.store(kNever, std::memory_order_relaxed);
}

void give_timers() noexcept {
  klts_lock();
  klt_for_each([](Klt* klt, void*) {
    if (klt->lives()) give_timer(klt);
  }, nullptr);
  klts_unlock();
}

uint64_t kernel_tick() noexcept {
  timespec period{};
  clock_getres(CLOCK_MONOTONIC_COARSE, &period);
  return period.tv_sec == 0 && period.tv_nsec > 0 ? static_cast<uint64_t>(period.tv_nsec) : 4'000'000;
}

// False: it cannot be, here.
bool make_ready_for(PreemptMode mode) noexcept {
  PreemptSettings& settings = preempt_settings;
  if (mode == PreemptMode::Off || settings.signal.load(std::memory_order_relaxed) != 0) return true;
  settings.kernel_tick = kernel_tick();
  preempt_learn_c_library();
  return preempt_install();
}

// Under runtime.setup, or before anybody else knows the runtime; in a section. worker: the caller's; null: it is no KLT.
int set_mode(PreemptMode mode, Worker* worker) noexcept {
  if (const Unit* unit = worker != nullptr ? klt_current() : nullptr; unit != nullptr) share_fp(worker, unit->host);
  const PreemptMode before = preempt_mode.exchange(mode, std::memory_order_seq_cst);
  int error = WEFT_OK;
  // From here on every thread that starts gives itself one.
  if (mode != PreemptMode::Off) give_timers();
  if (mode != PreemptMode::Off && !spare_maker_start()) {
    preempt_mode.store(before, std::memory_order_seq_cst);
    error = WEFT_ERR_UNSUPPORTED;
  }
  preempt_restart_all();
  return error;
}

}  // namespace

void preempt_start(const Options& options) noexcept {
  PreemptSettings& settings = preempt_settings;
  settings.kind.store(static_cast<weft_preemption_t>(static_cast<int>(options.preemption_kind) + 1), std::memory_order_relaxed);
  settings.interval.store(uint64_t{1000} * static_cast<unsigned>(options.preemption_interval_us),
                          std::memory_order_relaxed);
  settings.spin_slice = uint64_t{1000} * static_cast<unsigned>(options.preemption_spin_us);
  settings.align = options.preemption_align;
  // Where a handler leaves no more than a note it passes nothing on.
  settings.timer = san::kSignalsComeLate ? PreemptTimer::Worker : options.preemption_timer;
  const PreemptMode mode = options.preemption;
  if (mode == PreemptMode::Off || (make_ready_for(mode) && set_mode(mode, guard_worker()) == WEFT_OK)) return;
  std::fputs("weft: no preemption: no real-time signal is free, or the kernel grants no thread; "
             "ULTs that do not come back to Weft keep their worker\n", stderr);
}

void preempt_pools_say() noexcept { preempt_settings.pools_say.store(true, std::memory_order_relaxed); }

size_t preempt_stack_room() noexcept {
  return preempt_off() ? 0 : signal_frame_bytes() + kHandlerRoom;
}

void preempt_stop() noexcept { preempt_mode.store(PreemptMode::Off, std::memory_order_seq_cst); }

void preempt_remove() noexcept {
  preempt_stop_metronome();
  preempt_forget_leader();
  preempt_forget_stuck();
  preempt_stop_pacers();
  preempt_uninstall();
}

void preempt_become_child(Klt* self, Worker* worker) noexcept {
  preempt_forget_pacers();
  preempt_forget_leader();
  preempt_forget_metronome();
  if (preempt_off()) return;
  if (worker == nullptr) {
    preempt_mode.store(PreemptMode::Off, std::memory_order_relaxed);
    preempt_remove();
    return;
  }
  if (self->tick_timer.load(std::memory_order_relaxed) == kNoTimer) preempt_want_metronome();
  preempt_goes_on(self, worker);
}

void preempt_start_in_child() noexcept {
  // ThreadSanitizer's forked children cannot start threads.
  if (!preempt_off() && !san::kSignalsComeLate) spare_maker_start();
}

void preempt_klt_starts(Klt* klt) noexcept {
  if (!preempt_off()) give_timer(klt);
}

void preempt_klt_ends(Klt* klt) noexcept {
  take_timer(klt);
  if (!preempt_off() && preempt_relays()) preempt_check_leader();
}

}  // namespace weft::rt

using namespace weft::rt;

extern "C" {

int weft_preemption_set_mode(weft_preemption_mode_t mode) {
  if (static_cast<unsigned>(mode) > WEFT_PREEMPTION_AUTO) return WEFT_ERR_INVALID;
  process_start_threads();
  const NoPreemption scope;
  std::lock_guard hold(runtime.setup);
  if (!runtime_running()) return WEFT_ERR_UNINITIALIZED;
  const auto wish = static_cast<PreemptMode>(mode);
  if (!make_ready_for(wish)) return WEFT_ERR_UNSUPPORTED;
  Worker* worker = section_enter();
  const int error = set_mode(wish, worker);
  section_leave(worker);
  return error;
}

int weft_preemption_set_default(weft_preemption_t kind) {
  if (kind < WEFT_PREEMPTION_NONE || kind > WEFT_PREEMPTION_KLT_SWITCHING) return WEFT_ERR_INVALID;
  if (!runtime_running()) return WEFT_ERR_UNINITIALIZED;
  preempt_settings.kind.store(kind, std::memory_order_relaxed);
  return WEFT_OK;
}

int weft_preemption_set_interval(uint64_t ns) {
  if (ns < WEFT_PREEMPTION_INTERVAL_MIN || ns > WEFT_PREEMPTION_INTERVAL_MAX) return WEFT_ERR_INVALID;
  if (!runtime_running()) return WEFT_ERR_UNINITIALIZED;
  preempt_settings.interval.store(ns, std::memory_order_relaxed);
  Worker* worker = section_enter();
  if (!preempt_off()) preempt_restart_all();
  section_leave(worker);
  return WEFT_OK;
}

int weft_preemption_info(weft_preemption_info_t* info) {
  if (info == nullptr) return WEFT_ERR_INVALID;
  if (!runtime_running()) return WEFT_ERR_UNINITIALIZED;
  const PreemptSettings& settings = preempt_settings;
  *info = {};
  info->mode = static_cast<weft_preemption_mode_t>(preempt_mode.load(std::memory_order_relaxed));
  info->standard = settings.kind.load(std::memory_order_relaxed);
  info->interval = settings.interval.load(std::memory_order_relaxed);
  info->signal = settings.signal.load(std::memory_order_relaxed);
  Worker* self = section_enter();
  const unsigned slots = runtime.worker_slots.load(std::memory_order_acquire);
  for (unsigned i = 0; i < slots; ++i) {
    const Worker* worker = runtime.workers[i].load(std::memory_order_acquire);
    if (worker == nullptr) continue;
    info->ticks += worker->stats.ticks.load(std::memory_order_relaxed);
    info->signal_yields += worker->stats.signal_yields.load(std::memory_order_relaxed);
    info->klt_switches += worker->stats.klt_switches.load(std::memory_order_relaxed);
    info->put_off += worker->stats.put_off.load(std::memory_order_relaxed);
  }
  section_leave(self);
  return WEFT_OK;
}

}  // extern "C"
