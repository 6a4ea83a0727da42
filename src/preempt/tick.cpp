// tick.cpp: the handler of the tick.
//
// It runs on the stack of the ULT that it has interrupted, if that has room, and may leave that stack as any ULT does: the ULT goes on
// later, maybe on another KLT, by returning from here. Else it runs on the KLT's alternate stack. Nothing below allocates or waits for
// a lock.
#include "preempt/preempt.hpp"

#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>

#include "klt/guard.hpp"
#include "klt/no_preemption.hpp"
#include "klt/own_signal.hpp"
#include "os/overflow.hpp"
#include "worker/runtime.hpp"
#include "worker/signal_stack.hpp"
#include "worker/unit_signal.hpp"
#include "worker/worker.hpp"

namespace weft::rt {

namespace {

// A ULT may go on on another KLT: its errno's address must be asked for anew.
[[gnu::noinline]] int load_errno() noexcept { return errno; }
[[gnu::noinline]] void store_errno(int value) noexcept { errno = value; }

// Somebody has published the worker as gone, to look into its lane or to take it; or the KLT sleeps without one, and the
// tick was meant for what it carried before.
void tick_without_worker(Klt* self) noexcept {
  const KltState state = self->state.load(std::memory_order_relaxed);
  if (state == KltState::kCarrying || state == KltState::kOut) return preempt_arm_soon(self);
  if (preempt_relays()) preempt_check_leader();
}

// In a section of mutex_own.h.
bool is_in_own_code(const Klt* self) noexcept {
  return self->own.load(std::memory_order_relaxed)->mutex.load(std::memory_order_relaxed) != 0;
}

// The guard is up: whoever lowers it finds the note; in a section of the program's own code only if that unlocks.
void tick_inside(Klt* self, uint32_t guard) noexcept {
  Worker* worker = self->worker.load(std::memory_order_relaxed);
  if (worker == nullptr) return tick_without_worker(self);
  if (klt_current() != nullptr) {
    self->attention.fetch_or(attention::kPreempt, std::memory_order_relaxed);
    if (preempt_relays()) preempt_relay_noted(self, worker);
    if (is_in_own_code(self)) preempt_arm_soon(self);
  } else if (guard == kGuardResting && worker->asleep.load(std::memory_order_relaxed) != Sleep::kAwake) {
    preempt_rest(worker);  // preempt_goes_on() comes when it wakes
  } else {
    // Also where it has been woken and has not got to it yet, or waits at the gate: of several that would pass the lead on each would
    // send a tick to all others, and those again.
    preempt_tick_again(self, worker);
  }
}

// The guard is up, by us.
void tick_outside(const ucontext_t* frame) noexcept {
  Klt* self = klt_self();
  Worker* worker = self->worker.load(std::memory_order_relaxed);
  if (worker == nullptr) {
    if (self->state.load(std::memory_order_relaxed) != KltState::kOut || !preemption_allowed(self)) {
      return tick_without_worker(self);
    }
    if (!stays_out(self)) static_cast<void>(guard_worker());
    return;
  }
  san::acquire(worker);
  Unit* unit = klt_current();
  if (unit == nullptr || unit_is(unit, flag::kTasklet)) return preempt_tick_again(self, worker);
  preempt_current(self, worker, unit, frame);
}

// What could not be queued does not say whether it was sent on (klt/own_signal.hpp): then it counts as a timer's.
// False: it was not for the worker that this KLT carries. At the runtime's end that worker may be gone: nothing is passed on.
bool passed_on(Klt* self, const siginfo_t* info) noexcept {
  Worker* worker = self->worker.load(std::memory_order_relaxed);
  return preempt_off() || !preempt_relays() || worker == nullptr || preempt_relay(self, worker, info->si_code != SI_TKILL);
}

// True: the guard is up, and it is outside()'s to lower.
[[gnu::noinline]] bool begin(const siginfo_t* info) noexcept {
  const int error = load_errno();
  Klt* const self = klt_self();
  const bool ours = passed_on(self, info);
  const uint32_t guard = self->guard.load(std::memory_order_relaxed);
  const bool inside = guard != kGuardDown || is_in_own_code(self);
  if (ours && inside) tick_inside(self, guard);
  if (ours && !inside) klt_register_store32<kKltGuard>(kGuardUp);
  store_errno(error);
  return ours && !inside;
}

[[gnu::noinline]] void handle(ucontext_t* frame) noexcept {
  const int error = load_errno();
  Klt* const before = klt_self();
  before->passes_gate.store(true, std::memory_order_relaxed);
  tick_outside(frame);
  klt_self()->passes_gate.store(false, std::memory_order_relaxed);
  // The kernel takes from the frame which alternate stack the thread has: that is the KLT's, not the ULT's.
  if (klt_self() != before) alternate_stack(nullptr, &frame->uc_stack);
  store_errno(error);
}

// The C library's way back from a handler, two instructions: the stack pointer is at the frame there.
struct Restorer {
  uintptr_t first = 0, last = 0;
  bool has(uintptr_t ip) const noexcept { return ip >= first && ip < last; }
};
Restorer restorer;  // written before there are ticks
constexpr uintptr_t kRestorerBytes = 9;  // mov $15, %rax; syscall

extern "C" __attribute__((visibility("hidden"))) const char __start_weft_tick[], __stop_weft_tick[];

// Between the guard's going down and the return to what was interrupted, another tick would put a frame on this one,
// and so on.
[[gnu::always_inline]] inline bool is_way_back(uintptr_t ip) noexcept {
  return (ip >= reinterpret_cast<uintptr_t>(__start_weft_tick) &&
          ip < reinterpret_cast<uintptr_t>(__stop_weft_tick)) || restorer.has(ip);
}

// What was interrupted may never come to Weft again by itself.
[[gnu::noinline]] void tick_later() noexcept {
  const int error = load_errno();
  preempt_arm_soon(klt_self());
  store_errno(error);
}

// The guard is up.
[[gnu::section("weft_tick"), gnu::noinline]] __attribute__((no_sanitize("thread"))) void outside(ucontext_t* frame) noexcept {
  handle(frame);
  own_signal_returns_to(*frame);
  // One that came meanwhile has left a note, which the ULT may never look for. What else is wanted of this KLT waits
  // for the next time that the ULT lowers its guard, as ever.
  while ((klt_register_load<kKltAttention, uint32_t>() & attention::kPreempt) != 0) {
    klt_register_and32<kKltAttention>(~attention::kPreempt);
    tick_later();
  }
  const bool signals = (klt_register_load<kKltAttention, uint32_t>() & attention::kSignals) != 0;
  if (signals) unit_signals_take_in_handler(*frame);
  klt_register_store32<kKltGuard>(kGuardDown);
  if (signals) unit_signals_leave_handler();
}

// Others may have set the timer anew by now, or have sent this one themselves.
[[gnu::section("weft_tick"), gnu::always_inline]] inline void note_handled(Klt* self, const siginfo_t* info) noexcept {
  const uint64_t set = self->tick_set.load(std::memory_order_relaxed);
  if (info->si_code == SI_TIMER && set <= now_ns()) self->tick_handled.store(set, std::memory_order_relaxed);
}

}  // namespace

[[gnu::section("weft_tick"), gnu::noinline]] __attribute__((no_sanitize("thread", "address"))) void preempt_on_tick(
    const siginfo_t* info, ucontext_t* frame) noexcept {
  Klt* self = klt_self();
  if (san::kSignalsComeLate) {
    // ThreadSanitizer's state may be half changed: no more than a note can be left.
    klt_register_or32<kKltAttention>(attention::kPreempt);
    return;
  }
  note_handled(self, info);
  if (is_way_back(static_cast<uintptr_t>(frame->uc_mcontext.gregs[REG_RIP])) || own_signal_comes_in_handler(*frame)) return tick_later();
  if (!begin(info)) return;
  if (const Unit* unit = klt_current()) {
    move_to_stack_of(unit, klt_self()->worker.load(std::memory_order_relaxed), info, *frame, outside);
  }
  if (__builtin_expect(has_room_here(*frame), 1)) return outside(frame);
  tick_later();
  klt_register_store32<kKltGuard>(kGuardDown);
}

void preempt_way_back(uintptr_t first) noexcept {
  if (restorer.first != first) restorer = {first, first + kRestorerBytes};
}

bool preempt_install() noexcept {
  const int signal = own_signal_take(OwnSignal::kTick);
  preempt_settings.signal.store(signal, std::memory_order_release);
  return signal != 0;
}

bool preempt_call_in(Klt* klt) noexcept {
  const int signal = preempt_settings.signal.load(std::memory_order_acquire);
  if (signal == 0) return false;
  own_signal_send(klt, signal, SI_TKILL);
  return true;
}

void preempt_uninstall() noexcept {
  preempt_settings.signal.store(0, std::memory_order_relaxed);
  own_signal_give_back(OwnSignal::kTick);
}

}  // namespace weft::rt
