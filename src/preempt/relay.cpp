// relay.cpp: one timer for the whole process, whose tick the workers pass on (WEFT_PREEMPTION_TIMER): for machines on which
// many workers are not preemptive most of the time, and should not be interrupted for nothing.
//
// The timer is that of one worker's carrier, the *leader*: the first that needs a tick. Its tick begins a round. In its
// handler it sends the tick to all others that can use one, or to the next of them, who sends it on. Who has nothing
// that can be preempted is skipped; a leader that has nothing resigns, and so does one that goes to sleep.
#include <signal.h>

#include "klt/guard.hpp"
#include "klt/own_signal.hpp"
#include "os/clock.hpp"
#include "preempt/preempt.hpp"
#include "worker/runtime.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

struct Relay {
  // whoever needs a tick and sees none; the leader resigns
  std::atomic<Worker*> leader{nullptr};
  // the leader's carrier
  std::atomic<uint64_t> due{0};    // when the process's tick comes, or came last
  std::atomic<uint64_t> begun{0};  // the `due` of the last round
  std::atomic<uint64_t> round{0};
};
constinit Relay relay;

// False: it cannot be queued. What came instead is not sent on by whoever gets it.
bool send(const Worker* worker) noexcept {
  // Sequentially consistent: see preempt_resign().
  Klt* carrier = worker->carrier.load(std::memory_order_seq_cst);
  return carrier == nullptr || own_signal_send(carrier, preempt_settings.signal.load(std::memory_order_relaxed), SI_TKILL) == Sent::kItself;
}

// What we read of its unit may be of one that has just ended. Descriptors stay, and a wrong answer costs one tick. Pools do
// not stay: where some say a kind, each unit that does not counts as preemptive.
bool can_be_preempted(const Unit* unit) noexcept {
  if (unit == nullptr || unit_is(unit, flag::kTasklet)) return false;
  const bool says = unit_is(unit, flag::kCold) && unit->cold.preemption != WEFT_PREEMPTION_DEFAULT;
  if (!says && preempt_settings.pools_say.load(std::memory_order_relaxed)) return true;
  const auto kind = says ? static_cast<weft_preemption_t>(unit->cold.preemption)
                         : preempt_settings.kind.load(std::memory_order_relaxed);
  return kind != WEFT_PREEMPTION_NONE;
}

bool is_active(const Worker* worker) noexcept {
  return worker->state.load(std::memory_order_relaxed) == WorkerState::kActive;
}

bool is_ticking(const Worker* worker) noexcept {
  if (!is_active(worker) || worker->asleep.load(std::memory_order_seq_cst) != Sleep::kAwake) return false;
  return preempt_mode.load(std::memory_order_relaxed) == PreemptMode::On ||
         worker->preempt.ticking.load(std::memory_order_seq_cst);
}

// In `auto` its ticks may be some intervals apart.
bool is_due(const Worker* worker, uint64_t now) noexcept {
  const uint64_t half = preempt_settings.interval.load(std::memory_order_relaxed) / 2;
  return worker->preempt.due.load(std::memory_order_relaxed) <= now + half;
}

// Runs what can be preempted.
bool can_use_tick(const Worker* worker) noexcept {
  const Klt* carrier = is_ticking(worker) ? worker->carrier.load(std::memory_order_acquire) : nullptr;
  return carrier != nullptr && can_be_preempted(carrier->current.load(std::memory_order_relaxed));
}

// Calls f(worker) for the workers behind this one, in a ring, until it returns false.
template <class F>
void for_others(const Worker* from, F&& f) noexcept {
  const unsigned slots = runtime.worker_slots.load(std::memory_order_acquire);
  for (unsigned step = 1; step < slots; ++step) {
    Worker* worker = runtime.workers[(from->index + step) % slots].load(std::memory_order_acquire);
    if (worker != nullptr && worker != from && !f(worker)) return;
  }
}

void pass_on(const Worker* from, uint64_t now) noexcept {
  const bool chain = preempt_settings.timer == PreemptTimer::Chain;
  const Worker* leader = relay.leader.load(std::memory_order_relaxed);
  if (!chain && from != leader) return;
  for_others(from, [=](const Worker* worker) {
    if (worker == leader) return false;  // once round
    if (!can_use_tick(worker) || !is_due(worker, now)) return true;
    return !send(worker) || !chain;
  });
}

// True: there was none, and now it is this one, or it was already.
bool leads(Worker* worker) noexcept {
  Worker* leader = relay.leader.load(std::memory_order_seq_cst);
  if (leader == worker) return true;
  if (leader != nullptr && is_active(leader)) return false;
  return relay.leader.compare_exchange_strong(leader, worker, std::memory_order_seq_cst);
}

// The process's tick comes at its time, however often its leader changes its KLT meanwhile.
uint64_t next_due(uint64_t now, uint64_t interval) noexcept {
  const uint64_t due = relay.due.load(std::memory_order_relaxed);
  for (const uint64_t next : {due, due + interval}) {
    if (next > now && next - now <= interval) return next;
  }
  return now + interval;
}

}  // namespace

bool preempt_relays() noexcept { return preempt_settings.timer != PreemptTimer::Worker; }

void preempt_relay_arm(Klt* carrier, Worker* worker, uint64_t now) noexcept {
  if (!leads(worker)) return;
  const uint64_t interval = preempt_settings.interval.load(std::memory_order_relaxed);
  const uint64_t due = next_due(now, interval);
  relay.due.store(due, std::memory_order_relaxed);
  preempt_set_timer(carrier, preempt_on_grid(due, worker), now);
}

bool preempt_relay(Klt* self, Worker* worker, bool from_timer) noexcept {
  const uint64_t now = now_ns();
  if (relay.leader.load(std::memory_order_acquire) != worker) {
    if (from_timer) {
      preempt_check_leader();
      return true;  // what had been put off
    }
    const uint64_t round = relay.round.load(std::memory_order_relaxed);
    const bool again = worker->preempt.round.exchange(round, std::memory_order_relaxed) == round;
    // Sent again: meant for what this KLT carried before, or because there is no leader.
    if (again) return relay.leader.load(std::memory_order_relaxed) == nullptr;
    pass_on(worker, now);
    return true;
  }
  const uint64_t due = relay.due.load(std::memory_order_relaxed);
  const uint64_t slack = preempt_settings.interval.load(std::memory_order_relaxed) / 2;  // what the grid may take
  if (!from_timer || due > now + slack || relay.begun.exchange(due, std::memory_order_relaxed) == due) return true;
  relay.round.fetch_add(1, std::memory_order_relaxed);
  pass_on(worker, now);
  if (is_due(worker, now) || self->guard.load(std::memory_order_relaxed) == kGuardResting) return true;
  preempt_relay_arm(self, worker, now);
  return false;
}

// Whoever is to act on the note may end before, and the worker then sleep, or it may wait where it is for somebody who needs ticks.
// At the runtime's end the worker may be gone.
void preempt_relay_noted(Klt* self, Worker* worker) noexcept {
  if (!preempt_off() && relay.leader.load(std::memory_order_relaxed) == worker) preempt_relay_arm(self, worker, now_ns());
}

void preempt_resign(Worker* worker) noexcept {
  // Sequentially consistent, pairs with whoever begins to need ticks, or gets a worker that does, and then looks whether
  // there is a leader: either that one sees none, or we see it.
  Worker* leader = worker;
  // There may be none already, because the last one has resigned in favour of us, who now need no ticks either.
  if (!relay.leader.compare_exchange_strong(leader, nullptr, std::memory_order_seq_cst) && leader != nullptr) return;
  for_others(worker, [](const Worker* other) {
    if (is_ticking(other)) send(other);
    return true;
  });
}

void preempt_check_leader() noexcept {
  Worker* leader = relay.leader.load(std::memory_order_acquire);
  if (leader != nullptr && !is_active(leader)) preempt_resign(leader);
}

bool preempt_should_resign(const Worker* worker) noexcept {
  bool others = false;
  if (relay.leader.load(std::memory_order_relaxed) != worker) return false;
  for_others(worker, [&](const Worker* other) { return !(others = can_use_tick(other)); });
  return others;
}

void preempt_forget_leader() noexcept { relay.leader.store(nullptr, std::memory_order_seq_cst); }

}  // namespace weft::rt
