// back.cpp: the signal that stops a ULT which has come back from the kernel, has no worker, and does not come to Weft.
//
// It strikes in user mode only (watch_stop_when_back()), so no system call is cut short. The KLT sleeps in the handler, as
// one that is preempted by KLT-switching does, until somebody picks its ULT.
#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "block/block.hpp"
#include "block/watch.hpp"
#include "klt/guard.hpp"
#include "klt/own_signal.hpp"
#include "klt/process_gate.hpp"
#include "pool/pool.hpp"
#include "sanitizer_switch.hpp"
#include "unit/unit.hpp"
#include "worker/runtime.hpp"
#include "worker/signal_stack.hpp"
#include "worker/unit_signal.hpp"

namespace weft::rt {
namespace {

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
  watch_set_grace(self, !carrier_runs(self->taken_from), block_turn());
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
  if ((klt_register_load<kKltAttention, uint32_t>() & attention::kSignals) != 0) unit_signals_take_in_handler(*frame);
  klt_register_store32<kKltGuard>(kGuardDown);
}

}  // namespace

[[gnu::section("weft_tick"), gnu::noinline]] __attribute__((no_sanitize("thread", "address"))) void block_on_return(
    const siginfo_t* info, ucontext_t* frame) noexcept {
  if (san::kSignalsComeLate) return;
  Klt* self = klt_self();
  if (self->worker.load(std::memory_order_relaxed) != nullptr) return;
  if (!may_stop(self) || own_signal_comes_in_handler(*frame) || watch_comes_for_moments(self)) {
    const int error = errno;
    // In Weft it finds out by itself; but it may be another handler that is just about to go.
    // The worker may not be gone for good yet.
    const Take take = self->take.load(std::memory_order_relaxed);
    const bool out = self->state.load(std::memory_order_relaxed) == KltState::kOut;
    if (out || take == Take::kTaken || take == Take::kHeld || take == Take::kPending) watch_stop_when_back(self);
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
  const int signal = own_signal_take(OwnSignal::kReturn);
  block_settings.signal.store(signal, std::memory_order_relaxed);
  return signal != 0;
}

void block_call_in(Klt* klt) noexcept { static_cast<void>(watch_stop_at_once(klt)); }

void back_remove() noexcept {
  block_settings.signal.store(0, std::memory_order_relaxed);
  own_signal_give_back(OwnSignal::kReturn);
}

}  // namespace weft::rt
