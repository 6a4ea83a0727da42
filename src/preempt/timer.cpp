// timer.cpp: when the next tick comes, and when there is none.
//
// One-shot, set anew at each tick by whoever carries the worker then: a periodic timer would have to be stopped and
// started at each change of the KLT, which costs as much as the tick itself, and would go on for a worker that sleeps.
#include <algorithm>

#include "os/clock.hpp"
#include "os/kernel_timer.hpp"
#include "preempt/preempt.hpp"
#include "worker/runtime.hpp"
#include "worker/timers.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

// early: not to a later one.
uint64_t round_to(uint64_t time, uint64_t grid, uint64_t phase, bool early) noexcept {
  return (time + (early ? 0 : grid / 2) - phase) / grid * grid + phase;
}

// Where ticks take longer than what is between them (a tracer stops the thread at each signal), the next one would wait
// at the end of the handler, and what was interrupted never get on. Whoever had his tick late gets the next one later.
uint64_t not_too_soon(const Klt* klt, uint64_t deadline, uint64_t now) noexcept {
  constexpr uint64_t kMostNs = 1'000'000;
  const uint64_t last = klt->tick_due.load(std::memory_order_relaxed);
  return now <= last ? deadline : std::max(deadline, now + std::min(4 * (now - last), kMostNs));
}

// A carrier that has just got its worker may not have read that there are ticks.
void arm_carrier(Worker* worker) noexcept {
  Klt* carrier = worker->carrier.load(std::memory_order_seq_cst);
  if (carrier != nullptr) preempt_arm(carrier, worker);
}

}  // namespace

// The grid is one of the clock, not of the worker's past: so it is the same after workers have come and gone.
uint64_t preempt_on_grid(uint64_t time, const Worker* worker) noexcept {
  const PreemptSettings& now = preempt_settings;
  const uint64_t interval = now.interval.load(std::memory_order_relaxed);
  const unsigned workers = workers_active();
  const uint64_t phase = interval / workers * (worker->index % workers);
  const bool early = preempt_by_priority(worker);
  if (now.align == PreemptAlign::Spread) return round_to(time, interval, phase, early);
  if (interval < now.kernel_tick) return round_to(time, interval, 0, early);
  return round_to(time, now.kernel_tick, 0, early);
}

namespace {

// If its timer has fired, and its signal has not been handled yet, the kernel drops that when the timer is set anew (from Linux 6.13 on); but a
// system call that it has interrupted may end with EINTR all the same. Who has come back from one waits until we have counted that.
void set_anew(Klt* klt, int timer, uint64_t due) noexcept {
  klt->timer_changes.fetch_add(1, std::memory_order_acq_rel);
  const uint64_t when = due == 0 ? kNever : due;
  klt->tick_due.store(when, std::memory_order_relaxed);
  const uint64_t before = klt->tick_set.exchange(when, std::memory_order_relaxed);
  const bool handled = before == kNever || klt->tick_handled.load(std::memory_order_relaxed) == before;
  constexpr uint64_t kSurelyLater = 20'000;  // ns
  if (kernel_timer_set(timer, due) < kSurelyLater && !handled) klt->interruptions.fetch_add(1, std::memory_order_relaxed);
  klt->timer_changes.fetch_sub(1, std::memory_order_release);
}

}  // namespace

void preempt_set_timer(Klt* klt, uint64_t deadline, uint64_t now) noexcept {
  const int timer = klt->tick_timer.load(std::memory_order_acquire);
  const uint64_t due = not_too_soon(klt, deadline, now);
  klt->tick_away.store(0, std::memory_order_relaxed);
  if (timer != kNoTimer) return set_anew(klt, timer, due);
  klt->tick_due.store(due, std::memory_order_relaxed);
  preempt_beat_set(klt, due);
}

namespace {

void arm_short(Klt* carrier, Worker* worker, const Unit* unit, uint64_t slice) noexcept {
  PreemptClock& clock = worker->preempt;
  const uint64_t now = now_ns();
  clock.whose.store(unit, std::memory_order_relaxed);
  clock.due.store(now + slice, std::memory_order_relaxed);
  clock.seen.store(worker->stats.begun(), std::memory_order_relaxed);
  preempt_set_timer(carrier, now + slice, now);
  const bool ours = klt_register_valid() && carrier == klt_self();
  if (ours) carrier->tick_away.store(now - thread_cpu_ns(), std::memory_order_relaxed);
}

void arm_for_all(Klt* carrier, Worker* worker) noexcept {
  PreemptClock& clock = worker->preempt;
  clock.whose.store(nullptr, std::memory_order_relaxed);
  const bool long_turn = clock.turn.load(std::memory_order_relaxed) != 1;
  // Sequentially consistent: preempt_end_turn() finds us as the carrier, or we see what it has stored.
  const uint64_t periods = clock.periods.load(std::memory_order_seq_cst);
  const uint64_t interval = preempt_settings.interval.load(std::memory_order_relaxed) * periods;
  const uint64_t now = now_ns();
  // From when the last one was due: on a grid coarser than the interval the ticks come as often as they should.
  const uint64_t next = clock.due.load(std::memory_order_relaxed) + interval;
  const bool steady = next > now && next - now <= interval;
  const uint64_t due = steady ? next : now + interval;
  clock.due.store(due, std::memory_order_relaxed);
  clock.seen.store(worker->stats.begun(), std::memory_order_relaxed);
  if (preempt_relays()) return preempt_relay_arm(carrier, worker, now);
  preempt_set_timer(carrier, std::max(preempt_on_grid(due, worker), now + interval / 2), now);
  // Not for ticks that come now and then; nor where the kernel's own comes before ours.
  if (steady && interval < preempt_settings.kernel_tick) preempt_pace(worker, preempt_on_grid(due + interval, worker));
  // Whoever has ended the turn meanwhile may have set the timer before us.
  if (long_turn && clock.turn.load(std::memory_order_seq_cst) == 1) arm_for_all(carrier, worker);
}

}  // namespace

void preempt_arm_look(Klt* carrier, Worker* worker, const Unit* unit) noexcept {
  arm_short(carrier, worker, unit, preempt_settings.spin_slice);
}

namespace {

// unit: a name; null: none in particular.
void arm_for(Klt* carrier, Worker* worker, const Unit* unit) noexcept {
  const uint64_t slice = unit != nullptr && !preempt_relays() ? preempt_slice(unit) : UINT64_MAX;
  if (preempt_is_short(slice)) return arm_short(carrier, worker, unit, slice);
  arm_for_all(carrier, worker);
}

}  // namespace

void preempt_arm(Klt* carrier, Worker* worker) noexcept {
  // Of another worker's carrier that may have ended since: we only ask by its address.
  arm_for(carrier, worker, carrier->current.load(std::memory_order_relaxed));
}

// It may turn out to be another one: then the tick is not for that.
void preempt_arm_for_next(Klt* carrier, Worker* worker) noexcept { arm_for(carrier, worker, worker->lane.front_private()); }

void preempt_arm_soon(Klt* carrier) noexcept {
  const uint64_t now = now_ns();
  preempt_set_timer(carrier, now + WEFT_PREEMPTION_INTERVAL_MIN, now);
}

bool preempt_same_unit(const Worker* worker) noexcept {
  return worker->stats.begun() - worker->preempt.seen.load(std::memory_order_relaxed) <= 2;
}

// How full one is only its own function can tell, which neither ticks nor those who push elsewhere may call.
static bool has_pool_of_users(const Worker* worker) noexcept {
  const Sched* sched = worker->sched;
  return std::any_of(sched->pools, sched->pools + sched->pool_count, [](const Pool* pool) { return !pool->builtin; });
}

void preempt_rest(Worker* worker) noexcept {
  worker->preempt.ticking.store(false, std::memory_order_relaxed);
  if (preempt_relays()) preempt_resign(worker);
  // Sequentially consistent, pairs with whoever pushes a unit, into the lane or a pool, and then looks whether it is to
  // tell: either that one tells, or we see the unit.
  const bool tell = preempt_mode.load(std::memory_order_relaxed) == PreemptMode::Auto;
  if (tell) {
    worker->lane.tells.fetch_or(tell_to::kPreempt, std::memory_order_seq_cst);
  } else {
    worker->lane.tells.fetch_and(~tell_to::kPreempt, std::memory_order_relaxed);
  }
  preempt_short_turns(worker);
  const bool awake = worker->asleep.load(std::memory_order_relaxed) == Sleep::kAwake;
  if (tell && (preempt_units_wait(worker) || (awake && has_pool_of_users(worker)))) return preempt_unit_waits(worker);
  // One that sleeps watches over the deadlines itself.
  if (tell && awake) preempt_deadline(worker);
}

void preempt_deadline(Worker* worker) noexcept {
  const uint64_t earliest = timers_earliest_of(worker);
  Klt* carrier = worker->carrier.load(std::memory_order_seq_cst);
  const PreemptClock& clock = worker->preempt;
  if (clock.ticking.load(std::memory_order_relaxed) && earliest >= clock.due.load(std::memory_order_relaxed)) return;
  // One that has come: what runs now may be about to look.
  const uint64_t now = now_ns();
  const uint64_t soonest = now + WEFT_PREEMPTION_INTERVAL_MIN;
  if (earliest != kNever && carrier != nullptr) preempt_set_timer(carrier, std::max(earliest, soonest), now);
}

void preempt_unit_waits(Worker* worker) noexcept {
  if (preempt_turn_goes_on(worker)) return;
  worker->lane.tells.fetch_and(~tell_to::kPreempt, std::memory_order_relaxed);
  const bool rests = !worker->preempt.ticking.exchange(true, std::memory_order_seq_cst);
  preempt_end_turn(worker);
  if (rests) arm_carrier(worker);
}

void preempt_goes_on(Klt* self, Worker* worker) noexcept {
  // Sequentially consistent, all three: whoever changes the mode, or starts the ticks, looks for the carrier afterwards.
  const PreemptMode mode = preempt_mode.load(std::memory_order_seq_cst);
  if (mode == PreemptMode::Off) return;
  klt_register_and32<kKltAttention>(~attention::kPreempt);  // one that was meant for what this KLT carried before
  self->tick_due.store(kNever, std::memory_order_relaxed);
  if (mode == PreemptMode::On || worker->preempt.ticking.load(std::memory_order_seq_cst)) {
    if (self->current.load(std::memory_order_relaxed) != nullptr) {
      preempt_arm(self, worker);
    } else {
      preempt_arm_for_next(self, worker);
    }
  } else if ((worker->lane.tells.load(std::memory_order_seq_cst) & tell_to::kPreempt) == 0) {
    preempt_rest(worker);
  } else if (has_pool_of_users(worker)) {
    preempt_unit_waits(worker);  // who was pushed there while the worker slept, or by itself, is not told
  }
}

void preempt_leaves(Klt* klt) noexcept {
  if (preempt_off()) return;
  const int timer = klt->tick_timer.load(std::memory_order_acquire);
  if (timer == kNoTimer) return klt->beat.store(kNever, std::memory_order_relaxed);
  set_anew(klt, timer, 0);
}

void preempt_restart_all() noexcept {
  const PreemptMode mode = preempt_mode.load(std::memory_order_seq_cst);
  preempt_forget_leader();
  const unsigned slots = runtime.worker_slots.load(std::memory_order_acquire);
  for (unsigned i = 0; i < slots; ++i) {
    Worker* worker = runtime.workers[i].load(std::memory_order_acquire);
    if (worker == nullptr || worker->state.load(std::memory_order_relaxed) != WorkerState::kActive) continue;
    worker->preempt.periods.store(1, std::memory_order_relaxed);
    worker->preempt.turn.store(1, std::memory_order_relaxed);
    if (mode == PreemptMode::Off) {
      worker->lane.tells.fetch_and(~tell_to::kPreempt, std::memory_order_relaxed);
      worker->preempt.ticking.store(false, std::memory_order_relaxed);
    } else if (mode == PreemptMode::Auto && !worker->preempt.ticking.load(std::memory_order_relaxed)) {
      preempt_rest(worker);
    } else {
      worker->preempt.ticking.store(true, std::memory_order_seq_cst);
      arm_carrier(worker);
    }
  }
}

}  // namespace weft::rt
