// switch.cpp: what a tick does with the ULT that runs.
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "api/control.hpp"
#include "arch/frame.hpp"
#include "klt/guard.hpp"
#include "klt/hand_over.hpp"
#include "klt/kernel_sleep.hpp"
#include "klt/no_preemption.hpp"
#include "klt/own_signal.hpp"
#include "klt/program_signals.hpp"
#include "os/clock.hpp"
#include "os/proc_file.hpp"
#include "os/signal_mask.hpp"
#include "preempt/preempt.hpp"
#include "sched/packing.hpp"
#include "worker/bell.hpp"
#include "worker/lender_signal.hpp"
#include "worker/packing.hpp"
#include "worker/runtime.hpp"
#include "worker/signal_stack.hpp"
#include "worker/spare_maker.hpp"
#include "worker/timers.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

// A program that lets others run by itself is asked more and more seldom whether it still does.
constexpr uint32_t kMostPeriods = 16;

// Some thread of another process's may have the core.
constexpr uint64_t kLongDueNs = 2'000'000;

// Signal-yield for all does not mean units with an identity where nobody sees soon that a KLT sleeps: what such a unit holds, of
// malloc's locks or stdio's, others wait for in the kernel, and only if their workers go on does it, too.
weft_preemption_t kind_with_identity(weft_preemption_t kind) noexcept {
  const bool seen = block_sees_at_once.load(std::memory_order_relaxed);
  return kind == WEFT_PREEMPTION_SIGNAL_YIELD && !seen ? WEFT_PREEMPTION_KLT_SWITCHING : kind;
}

weft_preemption_t kind_of(const Unit* unit) noexcept {
  if (unit_is(unit, flag::kCold) && unit->cold.preemption != WEFT_PREEMPTION_DEFAULT) {
    return static_cast<weft_preemption_t>(unit->cold.preemption);
  }
  const Pool* home = unit->pool.load(std::memory_order_relaxed);
  const bool has_identity = unit_owns(unit->host, own::kIdentity);
  const uint8_t pools = home != nullptr ? home->preemption.load(std::memory_order_relaxed) : 0;
  const weft_preemption_t kind = pools != WEFT_PREEMPTION_DEFAULT ? static_cast<weft_preemption_t>(pools)
                                                                  : preempt_settings.kind.load(std::memory_order_relaxed);
  return has_identity ? kind_with_identity(kind) : kind;
}

enum class Waiting {
  kNobody,  // who would run in its place
  kOthers,
  kHigher,  // of higher priority
};

bool is_among(const Pool* pool, const Sched* sched) noexcept {
  return std::find(sched->pools, sched->pools + sched->pool_count, pool) != sched->pools + sched->pool_count;
}

// How full it is only the user's own function can tell, which is not for a signal handler.
bool may_have_units(Pool* pool) noexcept { return !pool->builtin || pool->size() != 0; }

// In the unit's own pool.
Waiting who_waits_beside(Pool* pool, const Unit* unit) noexcept {
  if (!may_have_units(pool)) return Waiting::kNobody;
  if (!pool->builtin || pool->kind != WEFT_POOL_PRIORITY) return Waiting::kOthers;
  const int highest = pool->highest();
  if (highest > unit->priority) return Waiting::kHigher;
  return highest == unit->priority ? Waiting::kOthers : Waiting::kNobody;
}

// In the pools of its scheduler. One that goes by priority would take up a unit again that is above all that wait.
Waiting who_waits_in_pools(const Sched* sched, const Unit* unit) noexcept {
  const Pool* home = unit->pool.load(std::memory_order_relaxed);
  if (sched->packing != nullptr) return packing_others_wait(sched, home) ? Waiting::kOthers : Waiting::kNobody;
  const bool by_rank = sched->kind == WEFT_SCHED_PRIORITY && !sched->user && is_among(home, sched);
  Waiting found = Waiting::kNobody;
  for (size_t i = 0; i < sched->pool_count; ++i) {
    Pool* pool = sched->pools[i];
    if (pool == home) {
      found = std::max(found, who_waits_beside(pool, unit));
      if (by_rank) break;
    } else if (may_have_units(pool)) {
      found = std::max(found, by_rank ? Waiting::kHigher : Waiting::kOthers);
    }
  }
  return found;
}

// Off the unit's stack the handler's floating-point control words, the kernel's, would go on: the worker gets back those
// that its units share. What the unit has is in the signal's frame.
void restore_fp(Worker* worker, const Unit* unit, const ucontext_t* frame) noexcept {
  const auto* state = frame->uc_mcontext.fpregs;
  const bool own = unit_owns(unit->host, own::kFp) || unit_is(unit->host, flag::kPrimary);
  fp_restore(own ? FpEnvironment{state->mxcsr & ~0x3fu, state->cwd} : worker->fp);
}

// Signals are blocked in the tick's handler; which ones the ULT has blocked is in the frame. With an identity it has them blocked until it is
// off the KLT; else the KLT goes on with those that it was made with.
void restore_mask(Klt* self, const Unit* unit) noexcept {
  if (!unit_owns(unit->host, own::kIdentity)) {
    self->native_mask = self->signal_mask;
    self->program_mask.store(mask_between(self), std::memory_order_relaxed);
  }
  const uint64_t mask = self->program_mask.load(std::memory_order_relaxed);
  lender_pass_on(~mask & ~own_signals_mask());
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, nullptr, sizeof mask);  // as much as the kernel knows of a sigset_t
}

bool deadline_has_come(const Worker* worker) noexcept {
  const uint64_t earliest = timers_earliest_of(worker);
  return earliest != kNever && earliest <= now_ns();
}

// The scheduler is to look at the deadlines. Not each time: it takes from the shared part first then, where what has just
// left may be, and what only this worker may run would wait in the ring for ever.
void let_scheduler_look(Worker* worker) noexcept {
  worker->tick |= kLookRound;
  worker->timer_look = ~uint32_t{0};
}

// On the scheduler's side. AfterSwitch.
void push_preempted(Worker* worker, Unit* unit, void*) {
  yield_to_worker(worker, unit, emptier_worker(worker, unit));
  // Of two ULTs that never call Weft nobody else would.
  if (klt_register_load<kKltAttention, uint32_t>() != 0) answer_attention(worker);
}

void yield_by_signal(Klt* self, Worker* worker, Unit* unit, const ucontext_t* frame) noexcept {
  if (frame != nullptr) {
    restore_fp(worker, unit, frame);
    restore_mask(self, unit);
  }
  count(worker->stats.signal_yields);
  if (deadline_has_come(worker) || bell_calls(worker)) let_scheduler_look(worker);
  preempt_arm_for_next(self, worker);
  self->passes_gate.store(false, std::memory_order_relaxed);  // it stays with the ULT
  Worker* now = leave_unit(worker, unit, push_preempted, nullptr);
  if (preempt_is_short(preempt_slice(unit))) preempt_goes_on(klt_self(), now);
}

void switch_klt(Klt* self, Worker* worker) noexcept {
  const bool looks = deadline_has_come(worker) || bell_calls(worker);
  if (looks) let_scheduler_look(worker);
  count(worker->stats.klt_switches);
  if (capture_current(false)) return;
  worker->stats.klt_switches.store(worker->stats.klt_switches.load(std::memory_order_relaxed) - 1,
                                   std::memory_order_relaxed);
  count(worker->stats.put_off);
  spare_maker_call();
  preempt_arm_soon(self);
}

// It sleeps in the kernel, for a lock most of all, which one may hold that its priority is above: made ready it would be picked again
// and again, and that one never.
bool sleeps_above(const Worker* worker, const ucontext_t* frame) noexcept {
  return preempt_by_priority(worker) && frame != nullptr && preempt_futex_of(frame) != nullptr;
}

bool scheduler_is_wanted(const Worker* worker) noexcept {
  return worker->dispatch_first != nullptr || worker->parent != nullptr || deadline_has_come(worker) || bell_calls(worker);
}

// For this unit's place.
Waiting who_waits(const Worker* worker, const Unit* unit) noexcept {
  const Waiting found = who_waits_in_pools(worker->sched, unit);
  if (found != Waiting::kNobody) return found;
  const bool more = worker->lane.has_unit() && !is_among(&worker->lane, worker->sched);
  return more || scheduler_is_wanted(worker) ? Waiting::kOthers : Waiting::kNobody;
}

// At each tick. spins: what it has found does. Returns whether one has lately, before this tick.
bool keep_in_mind(Worker* worker, bool spins) noexcept {
  std::atomic<uint32_t>& spun = worker->preempt.spun;
  const uint32_t ticks = spun.load(std::memory_order_relaxed);
  if (spins) {
    spun.store(kMostPeriods, std::memory_order_relaxed);
  } else if (ticks != 0) {
    spun.store(ticks - 1, std::memory_order_relaxed);
  }
  return ticks != 0;
}

}  // namespace

bool preempt_leaves_alone(const Unit* unit) noexcept { return kind_of(unit) == WEFT_PREEMPTION_NONE; }

bool preempt_cannot_come(const Worker* worker, const Klt* carrier, uint64_t now) noexcept {
  if (preempt_off() || preempt_relays() || !worker->preempt.ticking.load(std::memory_order_relaxed)) return false;
  if (now < worker->preempt.due.load(std::memory_order_relaxed) + kLongDueNs) return false;
  const int signal = preempt_settings.signal.load(std::memory_order_relaxed);
  return signal != 0 && has_blocked_of(signal_bit(signal), carrier->tid.load(std::memory_order_relaxed));
}

bool preempt_by_priority(const Worker* worker) noexcept {
  return worker->preempt.by_priority.load(std::memory_order_relaxed);
}

bool preempt_units_wait(const Worker* worker) noexcept {
  if (worker->lane.has_unit() || bell_calls(worker)) return true;
  if (worker->suspended.load(std::memory_order_relaxed)) return false;  // they are for others
  const Sched* sched = worker->sched;
  return std::any_of(sched->pools, sched->pools + sched->pool_count,
                     [](Pool* pool) { return pool->builtin && pool->size() != 0; });
}

bool preempt_others_wait(Worker* worker) noexcept {
  return worker->suspended.load(std::memory_order_relaxed) || units_wait(worker);
}

void preempt_tick_again(Klt* self, Worker* worker) noexcept {
  const PreemptMode mode = preempt_mode.load(std::memory_order_relaxed);
  if (mode == PreemptMode::Off) return;
  preempt_short_turns(worker);
  if (mode == PreemptMode::Auto) {
    if (!preempt_others_wait(worker) && !bell_calls(worker)) return preempt_rest(worker);
    std::atomic<uint32_t>& periods = worker->preempt.periods;
    const uint32_t now = periods.load(std::memory_order_relaxed);
    // Not where one of higher priority may come: that gets the worker within an interval. Nor where units have spun lately: the next
    // that begins to spin is to be noticed as soon.
    const bool spun = keep_in_mind(worker, false);
    const uint32_t most = preempt_by_priority(worker) || spun ? 1 : kMostPeriods;
    const bool everybodys = worker->preempt.whose.load(std::memory_order_relaxed) == nullptr;
    if (everybodys && !preempt_same_unit(worker)) periods.store(std::min(2 * now, most), std::memory_order_relaxed);
  }
  preempt_arm(self, worker);
}

void preempt_current(Klt* self, Worker* worker, Unit* unit, const ucontext_t* frame) noexcept {
  count(worker->stats.ticks);
  const PreemptMode mode = preempt_mode.load(std::memory_order_relaxed);
  weft_preemption_t kind = kind_of(unit);
  if (!preemption_allowed(self)) {
    const bool may_leave = may_leave_asleep(self) && kind != WEFT_PREEMPTION_NONE && mode != PreemptMode::Off;
    const bool asleep = may_leave && frame != nullptr && preempt_futex_of(frame) != nullptr;
    if (asleep && preempt_others_wait(worker)) return switch_klt(self, worker);
    klt_register_or32<kKltAttention>(attention::kPreempt);
    if (preempt_relays()) return preempt_relay_noted(self, worker);
    if (may_leave) preempt_tick_again(self, worker);  // it may be about to fall asleep
    return;
  }
  if (kind == WEFT_PREEMPTION_NONE && mode != PreemptMode::Off && preempt_others_wait(worker) && preempt_left_alone(worker, frame)) {
    if (sleeps_above(worker, frame) && leave_asleep()) return;
    return switch_klt(self, worker);
  }
  if (kind == WEFT_PREEMPTION_NONE && preempt_relays() && preempt_should_resign(worker)) return preempt_resign(worker);
  if (mode == PreemptMode::Off || kind == WEFT_PREEMPTION_NONE) return preempt_tick_again(self, worker);
  if (sleeps_above(worker, frame) && preempt_others_wait(worker) && leave_asleep()) return;
  const SpinLook look = preempt_relays() ? SpinLook::kNothing : preempt_look_for_spinning(unit, frame, preempt_tick_time(self));
  const bool hands_on = worker->suspended.load(std::memory_order_relaxed) && others_may_run(unit);
  if (hands_on) {
    let_scheduler_look(worker);
  } else {
    const Waiting who = who_waits(worker, unit);
    const Unit* whose = worker->preempt.whose.load(std::memory_order_relaxed);
    const bool lets_others = (mode == PreemptMode::Auto && !preempt_same_unit(worker)) || (whose != nullptr && whose != unit);
    if (who == Waiting::kNobody || (who == Waiting::kOthers && lets_others)) return preempt_tick_again(self, worker);
    if (who == Waiting::kOthers && look == SpinLook::kAgain) return preempt_arm_look(self, worker, unit);
    const bool spins = who == Waiting::kOthers && !preempt_relays() && preempt_is_short(preempt_slice(unit));
    keep_in_mind(worker, spins);
  }
  // What idle workers were offered and have not taken waits for every 64th turn otherwise: 64 slices.
  if (worker->lane.has_shared()) worker->tick |= kLookRound;
  preempt_next_turn(worker, look == SpinLook::kNothing);
  // It is bound to its KLT in any case.
  if (unit_is(unit->host, flag::kPrimary)) kind = WEFT_PREEMPTION_KLT_SWITCHING;
  // The frame has stayed on the KLT's alternate stack: that is not the ULT's to take along.
  if (frame != nullptr && !is_on(*stack_of(unit, worker), reinterpret_cast<uintptr_t>(frame))) kind = WEFT_PREEMPTION_KLT_SWITCHING;
  if (frame != nullptr && preempt_in_c_library(frame_ip(*frame))) kind = WEFT_PREEMPTION_KLT_SWITCHING;
  if (kind == WEFT_PREEMPTION_KLT_SWITCHING) return switch_klt(self, worker);
  if (frame != nullptr && !detaches_at_once(worker, unit)) {
    count(worker->stats.put_off);
    klt_register_or32<kKltAttention>(attention::kPreempt);  // then memory may be mapped
    return preempt_arm_soon(self);
  }
  if (frame == nullptr && worker->parent == nullptr && !prepare_next_stack(worker)) return preempt_arm(self, worker);
  yield_by_signal(self, worker, unit, frame);
}

void preempt_put_off(Worker* worker) noexcept {
  klt_register_and32<kKltAttention>(~attention::kPreempt);
  preempt_tick_again(klt_self(), worker);
}

void preempt_later() noexcept {
  klt_register_and32<kKltAttention>(~attention::kPreempt);
  preempt_arm_soon(klt_self());
}

void preempt_noted() noexcept {
  Klt* self = klt_self();
  self->attention.fetch_and(~attention::kPreempt, std::memory_order_relaxed);
  Worker* worker = guard_worker();
  Unit* unit = klt_current();
  if (unit == nullptr || unit_is(unit, flag::kTasklet)) return preempt_tick_again(self, worker);
  preempt_current(self, worker, unit, nullptr);
}

}  // namespace weft::rt
