// back.cpp: the signal that stops a ULT which has come back from the kernel, has no worker, and does not come to Weft.
//
// A timer sends it that counts the CPU time of the KLT's thread: the kernel looks at those at its tick, and nothing has to be done as the
// thread gets a core, and leaves it. It strikes where the thread is about to go on in user mode, so no system call is cut short. The KLT
// sleeps in the handler, as one that is preempted by KLT-switching does, until somebody picks its ULT.
#include <signal.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "block/block.hpp"
#include "klt/guard.hpp"
#include "klt/own_signal.hpp"
#include "klt/process_gate.hpp"
#include "os/clock.hpp"
#include "os/kernel_timer.hpp"
#include "pool/pool.hpp"
#include "sanitizer_switch.hpp"
#include "unit/unit.hpp"
#include "worker/runtime.hpp"
#include "worker/signal_stack.hpp"
#include "worker/unit_signal.hpp"

namespace weft::rt {
namespace {

// How long who has come back may run, at least.
constexpr uint64_t kGraceNs = 50'000;

constinit std::atomic<bool> may_stop_at_all{false};

// Before Linux 5.9 such a timer strikes in the interrupt of the tick, be it inside of a system call.
bool strikes_in_user_mode() noexcept {
  utsname kernel{};
  int major = 0, minor = 0;
  if (uname(&kernel) != 0 || std::sscanf(kernel.release, "%d.%d", &major, &minor) != 2) return false;
  return major > 5 || (major == 5 && minor >= 9);
}

void start_timer(const Klt* klt, uint64_t grace) noexcept {
  const int timer = klt->stop.timer.load(std::memory_order_acquire);
  constexpr int kFromNowOn = 0;
  if (timer != kNoTimer) kernel_timer_set(timer, grace, kFromNowOn);
}
void start_again(const Klt* klt) noexcept { start_timer(klt, klt->stop.grace.load(std::memory_order_relaxed)); }

// Not where the way back leads through a function of the program's, which may lock and allocate: such a unit comes back
// when it next calls Weft.
bool may_stop(const Klt* self) noexcept {
  const Unit* unit = self->current.load(std::memory_order_relaxed);
  return !klt_is_inside(self) && self->no_preemption == 0 && unit != nullptr &&
         unit->pool.load(std::memory_order_relaxed)->builtin &&
         unit->host->pool.load(std::memory_order_relaxed)->builtin;
}

// It is about to stop. A stop costs as much as several changes of the kernel thread; where its worker's carrier sleeps, too, it has
// run beside nobody, and may go further the next time.
void note_stop(Klt* self) noexcept {
  block_counts.stopped.fetch_add(1, std::memory_order_relaxed);
  const uint64_t grace = self->stop.grace.load(std::memory_order_relaxed);
  const uint64_t next = carrier_runs(self->taken_from) ? kGraceNs : std::max(std::min(2 * grace, block_turn()), kGraceNs);
  self->stop.grace.store(next, std::memory_order_relaxed);
}

// Like preempt/'s: where the guard goes down behind a ULT's signal, a tick is known as one that comes too early.
[[gnu::section("weft_tick"), gnu::noinline]] __attribute__((no_sanitize("thread"))) void stop(ucontext_t* frame) noexcept {
  Klt* self = klt_self();
  const int error = errno;  // the KLT is the same afterwards
  self->passes_gate.store(true, std::memory_order_relaxed);
  if (!stays_out(self)) {
    if (self->take.load(std::memory_order_acquire) == Take::kTaken) note_stop(self);
    static_cast<void>(guard_worker());
  }
  self->passes_gate.store(false, std::memory_order_relaxed);
  while (preempt_tick_waits()) preempt_later();
  errno = error;
  own_signal_returns_to(*frame);
  const bool signals = (klt_register_load<kKltAttention, uint32_t>() & attention::kSignals) != 0;
  if (signals) unit_signals_take_in_handler(*frame);
  klt_register_store32<kKltGuard>(kGuardDown);
  if (signals) unit_signals_leave_handler();
}

}  // namespace

[[gnu::section("weft_tick"), gnu::noinline]] __attribute__((no_sanitize("thread", "address"))) void block_on_return(
    const siginfo_t* info, ucontext_t* frame) noexcept {
  if (san::kSignalsComeLate) return;
  Klt* self = klt_self();
  if (self->worker.load(std::memory_order_relaxed) != nullptr) return;
  if (!may_stop(self) || own_signal_comes_in_handler(*frame)) {
    const int error = errno;
    // In Weft it finds out by itself; but it may be another handler that is just about to go.
    // The worker may not be gone for good yet.
    const Take take = self->take.load(std::memory_order_relaxed);
    const bool out = self->state.load(std::memory_order_relaxed) == KltState::kOut;
    if (out || take == Take::kTaken || take == Take::kHeld || take == Take::kPending) start_again(self);
    errno = error;
    return;
  }
  klt_register_store32<kKltGuard>(kGuardUp);
  move_to_stack_of(klt_current(), nullptr, info, *frame, stop);
  if (has_room_here(*frame)) return stop(frame);
  klt_register_store32<kKltGuard>(kGuardDown);  // it comes back when it next calls Weft
}

bool back_install() noexcept {
  if (block_settings.signal.load(std::memory_order_relaxed) != 0) return true;
  may_stop_at_all.store(strikes_in_user_mode(), std::memory_order_relaxed);
  const int signal = own_signal_take(OwnSignal::kReturn);
  block_settings.signal.store(signal, std::memory_order_relaxed);
  return signal != 0;
}

void block_call_in(Klt* klt) noexcept { start_timer(klt, kGraceNs); }

void back_open(Klt* klt) noexcept {
  const int tid = klt->tid.load(std::memory_order_acquire);
  if (!may_stop_at_all.load(std::memory_order_relaxed) || tid == 0 || klt->stop.timer.load(std::memory_order_relaxed) != kNoTimer) return;
  const int signal = block_settings.signal.load(std::memory_order_relaxed);
  const int timer = kernel_timer_create(cpu_clock_of(tid), tid, signal, kBackFromKernel);
  klt->stop.grace.store(kGraceNs, std::memory_order_relaxed);
  int none = kNoTimer;
  // Its thread may have done the same.
  if (timer != kNoTimer && !klt->stop.timer.compare_exchange_strong(none, timer, std::memory_order_acq_rel)) kernel_timer_delete(timer);
}

void back_close(Klt* klt, bool there) noexcept {
  const int timer = klt->stop.timer.exchange(kNoTimer, std::memory_order_acq_rel);
  if (there && timer != kNoTimer) kernel_timer_delete(timer);
}

void back_stop(Klt* klt) noexcept {
  klt->stop.cpu.store(cpu_ns_of(klt->tid.load(std::memory_order_relaxed)), std::memory_order_relaxed);
  start_again(klt);
}

void back_do_not_stop(const Klt* klt) noexcept {
  const int timer = klt->stop.timer.load(std::memory_order_relaxed);
  if (timer != kNoTimer) kernel_timer_set(timer, 0);
}

void back_remove() noexcept {
  block_settings.signal.store(0, std::memory_order_relaxed);
  own_signal_give_back(OwnSignal::kReturn);
}

}  // namespace weft::rt
