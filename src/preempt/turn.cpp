// turn.cpp: how many intervals a ULT's turn is. One, as a rule; more where all who wait are ULTs that ticks have preempted, one
// after the other, and nobody else has been pushed meanwhile: they compute, as far as one can see, and each turn begins with a
// cold cache.
//
// Whoever is pushed during a longer turn does not wait for its end: the lane tells, and the turn ends when it has lasted an
// interval. So while a turn is longer than one the lane tells, but for the short time in which somebody does just that.
#include <algorithm>

#include "os/clock.hpp"
#include "preempt/preempt.hpp"
#include "worker/runtime.hpp"
#include "worker/timers.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

constexpr uint32_t kMostTurn = 4;  // the kernel's slices are as long

// Whether somebody waits that no tick has preempted. `tail`: of the ring, if nobody has been pushed there. The carrier, guard up.
bool somebody_new_waits(const Worker* worker, uint32_t tail) noexcept {
  const Lane& lane = worker->lane;
  if (lane.ring_tail.load(std::memory_order_relaxed) != tail || lane.has_shared() || lane.has_inbox()) return true;
  if (worker->dispatch_first != nullptr || worker->parent != nullptr) return true;
  const Sched* sched = worker->sched;
  // How full a user's pool is only its own function can tell.
  return std::any_of(sched->pools, sched->pools + sched->pool_count, [&](Pool* pool) {
    return pool != &lane && (!pool->builtin || pool->size() != 0);
  });
}

// One that is set later has a tick of its own: preempt_deadline().
bool deadline_is_near(const Worker* worker) noexcept {
  const uint64_t earliest = timers_earliest_of(worker);
  return earliest != kNever && earliest < now_ns() + kMostTurn * preempt_settings.interval.load(std::memory_order_relaxed);
}

bool turns_may_be_long(const Worker* worker) noexcept {
  return preempt_mode.load(std::memory_order_relaxed) == PreemptMode::Auto && !preempt_relays() &&
         !preempt_by_priority(worker) && worker->sched->packing == nullptr &&
         !worker->suspended.load(std::memory_order_relaxed) &&
         // Where units have spun lately the next that begins to is to be noticed as soon.
         worker->preempt.spun.load(std::memory_order_relaxed) == 0 && !deadline_is_near(worker);
}

void set_turn(Worker* worker, uint32_t turn) noexcept {
  PreemptClock& clock = worker->preempt;
  // Sequentially consistent: see arm_for_all().
  clock.periods.store(turn, std::memory_order_seq_cst);
  clock.turn.store(turn, std::memory_order_seq_cst);
}

}  // namespace

void preempt_next_turn(Worker* worker, bool computes) noexcept {
  PreemptClock& clock = worker->preempt;
  const uint32_t tail = worker->lane.ring_tail.load(std::memory_order_relaxed);
  const uint32_t waiting = tail - worker->lane.ring_head.load(std::memory_order_relaxed);
  const bool new_ones = somebody_new_waits(worker, clock.tail.load(std::memory_order_relaxed));
  const bool same = computes && !new_ones && turns_may_be_long(worker);
  const uint32_t settled = same ? clock.settled.load(std::memory_order_relaxed) + 1 : 0;
  clock.settled.store(settled, std::memory_order_relaxed);
  clock.tail.store(tail + 1, std::memory_order_relaxed);  // this one is pushed next
  if (settled == 0 || settled < waiting) return set_turn(worker, 1);
  set_turn(worker, std::min(2 * clock.turn.load(std::memory_order_relaxed), kMostTurn));
  // Sequentially consistent, pairs with whoever pushes, and then looks whether it is to tell.
  worker->lane.tells.fetch_or(tell_to::kPreempt, std::memory_order_seq_cst);
  if (somebody_new_waits(worker, tail)) set_turn(worker, 1);
}

void preempt_short_turns(Worker* worker) noexcept {
  if (worker->preempt.turn.load(std::memory_order_relaxed) != 1) set_turn(worker, 1);
}

bool preempt_turn_goes_on(Worker* worker) noexcept {
  const PreemptClock& clock = worker->preempt;
  const bool ours = klt_register_valid() && worker->carrier.load(std::memory_order_relaxed) == klt_self();
  if (!ours || clock.turn.load(std::memory_order_relaxed) == 1) return false;
  const uint32_t tail = clock.tail.load(std::memory_order_relaxed);
  if (somebody_new_waits(worker, tail)) return false;
  worker->lane.tells.fetch_or(tell_to::kPreempt, std::memory_order_seq_cst);
  return !somebody_new_waits(worker, tail);
}

void preempt_end_turn(Worker* worker) noexcept {
  PreemptClock& clock = worker->preempt;
  if (clock.turn.load(std::memory_order_seq_cst) == 1) return;
  clock.periods.store(1, std::memory_order_seq_cst);
  const uint32_t turn = clock.turn.exchange(1, std::memory_order_seq_cst);
  if (turn == 1) return;
  Klt* carrier = worker->carrier.load(std::memory_order_seq_cst);
  if (carrier == nullptr) return;  // whoever becomes it sees what we have stored
  const uint64_t interval = preempt_settings.interval.load(std::memory_order_relaxed), now = now_ns();
  const uint64_t due = clock.due.load(std::memory_order_relaxed) - (turn - 1) * interval;
  preempt_set_timer(carrier, std::max(due, now + WEFT_PREEMPTION_INTERVAL_MIN), now);
}

}  // namespace weft::rt
