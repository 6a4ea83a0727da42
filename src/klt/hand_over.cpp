// hand_over.cpp: giving, capturing, taking, coming back. Steps as in README.md.
#include "klt/hand_over.hpp"

#include <sched.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.hpp"
#include "klt/guard.hpp"
#include "klt/kernel_sleep.hpp"
#include "klt/process_gate.hpp"
#include "os/cpu_yield.hpp"
#include "os/membarrier.hpp"
#include "worker/packing.hpp"
#include "worker/process_fork.hpp"
#include "worker/spare_maker.hpp"
#include "worker/timers.hpp"
#include "worker/unit_signal.hpp"
#include "worker/worker.hpp"

namespace weft::rt {

constinit std::atomic<uint32_t> ults_in_kernel{0};

namespace {

constexpr uint64_t kLookAgainNs = 100'000;  // for captives, of whom nobody tells
constinit std::atomic<HandOverHook> hook{nullptr};

// What a unit that was in the kernel is counted as.
void count_return() noexcept { ults_in_kernel.fetch_sub(1, std::memory_order_relaxed); }

bool runs_ult(const Klt* klt) noexcept {
  const Unit* unit = klt->current.load(std::memory_order_relaxed);
  return unit != nullptr && !unit_is(unit, flag::kTasklet);
}

// Carries out what the unit that has left has asked for, once.
void settle_left(Worker* worker) noexcept {
  const auto left = std::exchange(worker->left, {});
  if (left.action != nullptr) left.action(worker, left.unit, left.arg);
}

Worker* carry_on(Klt* self) noexcept {
  self->state.store(KltState::kCarrying, std::memory_order_relaxed);
  Worker* worker = guard_worker();
  end_pull(self);
  bind_carrier(self, worker);
  settle_left(worker);
  preempt_goes_on(self, worker);
  note_fp(worker);
  return worker;
}

// Until somebody gives it a worker, which is returned. Null: it is let out: back to where the signal has come, touching
// nothing of Weft's.
Worker* sleep_as_captive(Klt* self) noexcept {
  if (klt_sleep(self) == kGoOut) return nullptr;
  return carry_on(self);
}

// take_back() of a worker that is the caller's already.
WayBack end_take_back(Klt* self, Unit* unit, Worker* worker, Klt* victim) noexcept;

// The worker that it had, from one that went on with it and sleeps in the kernel, too: then neither the scout nor the heir need
// wake up, nor somebody to give it to this one again. The carrier is this KLT then (Instead), or the one that sleeps in the unit
// that comes next, and this one's unit lies behind that. Queue: nothing has happened.
WayBack take_back(Klt* self, Unit* unit) noexcept {
  Worker* worker = self->taken_from;
  if (!block_may_take_back(self) || !goes_to_builtin(unit)) return WayBack::kQueue;
  Klt* victim = take_begin(worker);
  return victim != nullptr ? end_take_back(self, unit, worker, victim) : WayBack::kQueue;
}

// The KLT has been told that its worker is gone: takes it back, or queues its unit and sleeps until one comes.
Worker* come_back(Klt* self) noexcept {
  Unit* unit = self->current.load(std::memory_order_relaxed);
  WEFT_CHECK(unit != nullptr);
  block_came_back(self);
  self->call_in.store(false, std::memory_order_relaxed);
  // Before `take` says None: whoever forks would take it for one who has no worker and brings none.
  const WayBack way = take_back(self, unit);
  self->take.store(Take::kNone, std::memory_order_relaxed);
  count_return();
  if (way == WayBack::kInstead) return carry_on(self);
  if (way == WayBack::kQueue) {
    unit_transition(unit, UnitState::kReady);
    make_ready_without_worker(self, unit);
  }
  Worker* worker = sleep_as_captive(self);
  if (worker != nullptr) block_has_turn(self);
  return worker;
}

// It has been let out, and comes to Weft. Its unit has waited in its pool all the time, or had got a worker already.
Worker* come_in(Klt* self) noexcept {
  self->call_in.store(false, std::memory_order_relaxed);
  if (Worker* worker = std::exchange(self->given, nullptr)) {
    self->worker.store(worker, std::memory_order_release);
    return carry_on(self);
  }
  // Release, pairs with the acquire of whoever picks the unit.
  self->state.store(KltState::kCaptive, std::memory_order_release);
  return sleep_as_captive(self);
}

}  // namespace

Worker* guard_enter_slow() noexcept {
  Klt* self = klt_self();
  for (unsigned spins = 0;; wait_a_little(spins)) {
    if (!self->passes_gate.load(std::memory_order_relaxed)) rest_if_closed(self);
    if (self->state.load(std::memory_order_relaxed) == KltState::kOut) return come_in(self);
    switch (self->take.load(std::memory_order_acquire)) {
      case Take::kNone:
      case Take::kGiving:
        if (Worker* worker = self->worker.load(std::memory_order_acquire)) return worker;
        break;
      case Take::kPending:
      case Take::kHeld:
        break;  // an answer comes: the taker decides without us
      case Take::kTaken:
        return come_back(self);
      case Take::kForked:
        process_end_of_unit();
    }
  }
}

void answer_attention(Worker* worker) noexcept {
  Klt* self = klt_self();
  const uint32_t wants = self->attention.load(std::memory_order_relaxed);
  if ((wants & attention::kDeferred) != 0) take_deferred(worker);
  if ((wants & attention::kHungry) != 0) feed_the_hungry(worker);
  if ((wants & attention::kTimer) != 0) timers_news(worker);
  if ((wants & attention::kBind) != 0) {
    // Sequentially consistent: a CPU that is chosen later sets the bit again.
    self->attention.fetch_and(~attention::kBind, std::memory_order_seq_cst);
    bind_carrier(self, worker);
  }
  if ((wants & attention::kSuspend) != 0) {
    // Sequentially consistent: whoever suspends it later sets the bit again.
    self->attention.fetch_and(~attention::kSuspend, std::memory_order_seq_cst);
    note_suspension(worker);
  }
}

void guard_leave_slow() noexcept {
  Worker* worker = guard_enter_on_klt();
  const uint32_t wants = klt_register_load<kKltAttention, uint32_t>();
  answer_attention(worker);
  if ((wants & attention::kPreempt) != 0) preempt_noted();
  if ((wants & attention::kHook) != 0) {
    const HandOverHook ask = hook.load(std::memory_order_acquire);
    if (ask != nullptr && ask()) capture_current(true);
  }
  san::release(guard_worker());
  klt_register_store32<kKltGuard>(0);
  // What others have wanted meanwhile is seen at the next leave. There may be none: so not a tick.
  while (__builtin_expect(preempt_tick_waits(), 0)) {
    preempt_put_off(guard_enter_on_klt());
    san::release(guard_worker());
    klt_register_store32<kKltGuard>(0);
  }
  const auto left = klt_register_load<kKltAttention, uint32_t>();
  if ((left & attention::kThreads) != 0) {
    klt_register_and32<kKltAttention>(~attention::kThreads);
    process_start_threads();
  }
  if ((left & attention::kSignals) != 0) unit_signals_take();
}

int guard_leave_slow_ok() noexcept {
  guard_leave_slow();
  return WEFT_OK;
}

void set_hand_over_hook(HandOverHook new_hook) noexcept {
  hook.store(new_hook, std::memory_order_release);
  klt_set_sticky_attention(new_hook != nullptr ? attention::kHook : 0);
}

void give_begin(Klt* self) noexcept {
  // Whom it gives the worker to is chosen already, and must not be let out before it has it.
  const bool before = self->passes_gate.load(std::memory_order_relaxed);
  self->passes_gate.store(true, std::memory_order_relaxed);
  Take none = Take::kNone;
  // Acquire, pairs with the release of a taker's retraction.
  for (unsigned spins = 0; !self->take.compare_exchange_weak(none, Take::kGiving, std::memory_order_acquire);) {
    none = Take::kNone;
    wait_a_little(spins);
  }
  self->passes_gate.store(before, std::memory_order_relaxed);
}

namespace {

void set_carrier(Worker* worker, Klt* to) noexcept {
  san::release(worker);
  to->worker.store(worker, std::memory_order_release);
  // Sequentially consistent, pairs with a hungry worker that counts itself and then tells the carrier it
  // sees: either it sees the new one, or we see that somebody is hungry.
  worker->carrier.exchange(to, std::memory_order_seq_cst);
  if (anybody_hungry()) to->attention.fetch_or(attention::kHungry, std::memory_order_relaxed);
  // The same with whoever has suspended it and told the carrier that it saw.
  if (worker->suspended.load(std::memory_order_seq_cst)) {
    to->attention.fetch_or(attention::kSuspend, std::memory_order_relaxed);
  }
}

}  // namespace

void hand_to(Worker* worker, Klt* to) noexcept {
  set_carrier(worker, to);
  // It wakes up where it is to run. Asleep it is moved for free; awake, the CPU that it was bound to would have
  // to run it first, which may be another worker's, and busy.
  bind_carrier(to, worker);
  klt_wake(to);
}

namespace {

// A worker that is not bound stays where it is: it would go on where the KLT has slept, though another worker may be there, and
// nobody here in a moment. Where ULTs that spin are interrupted each has a KLT of its own, and two workers would hop from CPU to CPU,
// each time that they meet at the expense of both. For the time of its waking up only: afterwards the kernel may move it.
void pull(const Worker* worker, Klt* to) noexcept {
  constexpr int kUnbound = -1;
  if (worker->cpu.load(std::memory_order_relaxed) != kUnbound || to->bound_cpu.load(std::memory_order_relaxed) != kUnbound) return;
  const int cpu = cpu_now(), tid = to->tid.load(std::memory_order_acquire);
  const int slept_on = to->slept_on.load(std::memory_order_relaxed);
  if (slept_on < 0 || slept_on == cpu || tid == 0) return;
  CpuSet here;
  here.add(cpu);
  if (get_affinity(to->pulled_from, tid) != 0 || !to->pulled_from.contains(cpu) || set_affinity(here, tid) != 0) return;
  to->pulled = true;
}

}  // namespace

void end_pull(Klt* self) noexcept {
  if (__builtin_expect(!self->pulled, 1)) return;
  self->pulled = false;
  // Its worker may have been bound meanwhile, and it with it as it slept: that counts.
  if (self->bound_cpu.load(std::memory_order_relaxed) < 0) static_cast<void>(set_affinity(self->pulled_from));
}

void give_worker(Klt* self, Worker* worker, Klt* to, Take then) noexcept {
  pull(worker, to);
  count(worker->stats.handovers);
  forget_tag(self);
  self->worker.store(nullptr, std::memory_order_relaxed);
  self->take.store(then, std::memory_order_release);
  // A worker's note, which its next carrier finds in our place.
  const uint32_t timer = self->attention.load(std::memory_order_relaxed) & attention::kTimer;
  if (timer != 0) to->attention.fetch_or(timer, std::memory_order_relaxed);
  hand_to(worker, to);
}

namespace {

// By the next carrier, on the scheduler's side: where another worker may pick the unit it must not be before our
// worker has left, because that one gives us itself at once. AfterSwitch.
void push_captured(Worker* worker, Unit* unit, void*) {
  unit_transition(unit, UnitState::kReady);
  push_ready_private(worker, unit);
}

// The same of one that a tick has interrupted.
void push_interrupted(Worker* worker, Unit* unit, void*) {
  Worker* to = emptier_worker(worker, unit);
  unit_transition(unit, UnitState::kReady);
  to != nullptr ? send_to(worker, unit, to) : push_ready_private(worker, unit);
}

// Whether a KLT sleeps inside the unit, which waits in a pool. True: it does until somebody takes the unit out.
bool is_asleep_in(const Unit* unit) noexcept {
  if (unit->state.load(std::memory_order_relaxed) != UnitState::kReady) return false;
  const Klt* klt = unit->host->captive;
  return klt != nullptr && klt->state.load(std::memory_order_acquire) == KltState::kCaptive &&
         klt->held.load(std::memory_order_acquire) == unit;
}

// Takes the unit that comes next out of the ring, if a KLT sleeps inside it; else null.
Unit* take_next_captive(Worker* worker) noexcept {
  Unit* next = first_in_ring(worker);
  if (next == nullptr || !is_asleep_in(next)) return nullptr;
  worker->lane.pop_front_private();
  return next;
}

// The same of the oldest such unit in the pool. Whatever is requested of it: a cancellation it finds itself, and a move can wait for
// the next time.
Unit* take_captive_of(Worker* worker, Pool* pool) noexcept {
  const Worker* owner = pool->lane_owner;
  if (!pool->builtin || (owner != nullptr && owner != worker) || pool->size() == 0) return nullptr;
  Unit* found = nullptr;
  const auto look = [](weft_unit_t handle, void* arg) {
    auto& first = *static_cast<Unit**>(arg);
    Unit* unit = from_handle(handle);
    if (first == nullptr && is_asleep_in(unit)) first = unit;
  };
  pool->for_each(look, &found);
  if (found == nullptr || !pool->try_remove(worker, found)) return nullptr;
  if (unit_is(found, flag::kFront)) note_worker_of_front_unit(worker, found);
  return found;
}

// A pool for one consumer that is another worker's: a unit may go over to it while it runs.
bool is_anothers(const Worker* worker, const Pool* pool) noexcept {
  if (pool->access == WEFT_ACCESS_SPMC || pool->access == WEFT_ACCESS_MPMC || is_consumer(worker, pool)) return false;
  return std::any_of(std::begin(pool->consumers), std::end(pool->consumers),
                     [](const std::atomic<uint64_t>& word) { return word.load(std::memory_order_relaxed) != 0; });
}

// One of the pools that the worker's main scheduler takes from, one pool after the other. Below a scheduler that is saved, whose pools
// nobody here knows, first of the pool of the unit that leaves; whoever it is leaves for that scheduler in the end. Null: there is none,
// or it is not for us to choose. leaves: who loses the worker; null: it has left already. urgent: even before a unit that somebody has named, or
// before the scheduler is replaced.
Unit* take_any_captive(Worker* worker, const Unit* leaves, bool urgent) noexcept {
  const Sched* sched = worker->sched;
  const bool named = worker->dispatch_first != nullptr || worker->new_sched.load(std::memory_order_relaxed) != nullptr;
  if (named && !urgent) return nullptr;
  Pool* const beside = worker->parent != nullptr && leaves != nullptr ? leaves->pool.load(std::memory_order_relaxed) : nullptr;
  if (beside != nullptr && !is_anothers(worker, beside)) {
    if (Unit* found = take_captive_of(worker, beside)) return found;
  }
  if (sched->user) return nullptr;
  const uint64_t turn = worker->stats.handovers.load(std::memory_order_relaxed);
  for (size_t i = 0; i < sched->pool_count; ++i) {
    if (Unit* found = take_captive_of(worker, sched->pools[(turn + i) % sched->pool_count])) return found;
  }
  return nullptr;
}

// The unit, taken out of its pool, runs from here on, on its KLT, which is returned.
Klt* let_go(Unit* next) noexcept {
  Klt* klt = next->host->captive;
  klt->held.store(nullptr, std::memory_order_relaxed);
  if (!unit_is(next->host, flag::kPrimary)) next->host->captive = nullptr;
  unit_transition(next, UnitState::kRunning);
  return klt;
}

// A spare; else the KLT of a captive, since to start a thread takes a lock of malloc's that a captive may hold, and who
// makes spares may be waiting for just that. Null: there is none.
Klt* spare_or_captive(Worker* worker, const Unit* leaves, bool urgent) noexcept {
  if (Klt* spare = klt_try_acquire(worker->cpu.load(std::memory_order_relaxed))) return spare;
  if (Unit* next = take_any_captive(worker, leaves, urgent)) {
    spare_maker_call();  // whoever waits behind it, and needs a KLT, gets on then
    return let_go(next);
  }
  return nullptr;
}

// The same, and waits until there is one. It is not made here: who carries a worker must not wait for what a captive of its own
// holds, which may be captured only now. Null: the kernel refuses threads.
Klt* wait_for_spare_or_captive(Worker* worker, const Unit* leaves) noexcept {
  Klt* self = klt_self();
  const uint32_t refusals = spare_maker_refusals();
  constexpr unsigned kPatience = 10;
  for (unsigned looks = 0;; ++looks) {
    const uint32_t rounds = spare_maker_rounds();
    if (Klt* to = spare_or_captive(worker, leaves, looks >= kPatience)) return to;
    if (spare_maker_tid() == 0) return klt_acquire(worker->cpu.load(std::memory_order_relaxed));  // nobody is captured by a tick
    if (spare_maker_refusals() != refusals) break;
    spare_maker_call();
    rest_begin(self);
    spare_maker_wait(rounds, kLookAgainNs);
    rest_end(self);
  }
  preempt_goes_on(self, worker);
  return nullptr;
}

// Who is to have the worker when the unit is captured: one that sleeps in the unit that comes next needs no scheduler in
// between. What comes out of its turn pushes this one, and may sleep in a signal handler, where no function of the user's runs.
Klt* successor(Worker* worker, const Unit* unit, bool may_create) noexcept {
  Unit* next = goes_to_ring(worker, unit) ? take_next_captive(worker) : nullptr;
  if (next != nullptr) return let_go(next);
  if (goes_to_builtin(unit)) return may_create ? wait_for_spare_or_captive(worker, unit) : spare_or_captive(worker, unit, true);
  const int cpu = worker->cpu.load(std::memory_order_relaxed);
  return may_create ? klt_acquire(cpu) : klt_try_acquire(cpu);
}

// The unit is the KLT's from here on, and the worker whoever's is next.
void become_captive(Worker* worker, Klt* klt, Unit* unit) noexcept {
  detach_stack(worker, unit);
  unit->host->captive = klt;
  klt->held.store(unit, std::memory_order_relaxed);
  klt->state.store(KltState::kCaptive, std::memory_order_release);
}

// The same of one that is in the kernel, or about to go there: nothing is to be pushed.
void become_captive_in_kernel(Worker* worker, Klt* klt, Unit* unit) noexcept {
  become_captive(worker, klt, unit);
  unit_transition(unit, UnitState::kInKernel);
  worker->left = {nullptr, nullptr, nullptr};
  klt->taken_from = worker;
  ults_in_kernel.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

bool capture_current(bool may_create) noexcept {
  Klt* self = klt_self();
  Worker* worker = guard_worker();
  Unit* unit = klt_current();
  if (!runs_ult(self)) return false;
  if (may_create && worker->parent == nullptr && !prepare_next_stack(worker)) return false;
  if (!may_create && !detaches_at_once(worker, unit)) return false;
  Klt* to = successor(worker, unit, may_create);
  if (to == nullptr) return false;
  give_begin(self);
  become_captive(worker, self, unit);
  worker->left = {unit, may_create ? push_captured : push_interrupted, nullptr};
  give_worker(self, worker, to);
  sleep_as_captive(self);
  return true;
}

void give_worker_on_base(void* worker_arg, void* to_arg) noexcept {
  auto* worker = static_cast<Worker*>(worker_arg);
  give_worker(klt_self(), worker, static_cast<Klt*>(to_arg));
}

namespace {

// What has left is dealt with first. It may be in an object's list, whose lock is given back then: who waits for a spare, and one that is woken, rest where
// somebody forks, who waits for all that want that lock; and a captive's sleeps in the midst of anything. BaseAction.
void leave_on_base(void* worker_arg, void*) noexcept {
  settle_left(static_cast<Worker*>(worker_arg));
  Klt* self = klt_self();
  Klt* to = wait_for_spare_or_captive(guard_worker(), nullptr);
  if (to == nullptr) klt_carry(self, guard_worker());
  give_begin(self);
  give_worker_on_base(guard_worker(), to);
}

}  // namespace

void leave_for_base(Worker* worker, Unit* unit, AfterSwitch action, void* arg) noexcept {
  worker->left = {unit, action, arg};
  klt_go_to_base(klt_self(), &unit->context, unit->host->stack, leave_on_base, worker, nullptr);
}

namespace {

// Reserves the KLT for us. kCarrying: it was asleep in its base loop, and must be told what to run;
// kCaptive: it sleeps in this very unit; kOut: it runs in it, and comes in soon; anything else: it is busy.
KltState reserve_captive(Klt* klt, Unit* unit) noexcept {
  KltState state = klt->state.load(std::memory_order_seq_cst);
  if (state == KltState::kCaptive || state == KltState::kOut) {
    return klt->held.load(std::memory_order_acquire) == unit ? state : KltState::kStopping;
  }
  if (state == KltState::kSpare &&
      klt->state.compare_exchange_strong(state, KltState::kCarrying, std::memory_order_seq_cst)) {
    return KltState::kCarrying;
  }
  return KltState::kStopping;
}

// Leaves the unit with its busy KLT. False: that became idle meanwhile, try again.
bool defer_to(Klt* klt, Unit* unit) noexcept {
  klt->deferred.store(unit, std::memory_order_seq_cst);
  klt->attention.fetch_or(attention::kDeferred, std::memory_order_seq_cst);
  if (klt->state.load(std::memory_order_seq_cst) == KltState::kSpare) {
    return klt->deferred.exchange(nullptr, std::memory_order_seq_cst) == nullptr;
  }
  // It may sleep as the carrier of an idle worker. Its own `worker` word is no guide: a taker may have it
  // null just now.
  wake_carried_by(klt);
  return true;
}

}  // namespace

WEFT_LEFT_FOR_GOOD bool give_to_captive(Worker* worker, Unit* unit, Context* save) noexcept {
  Klt* self = klt_self();
  Klt* to = unit->host->captive;
  for (;;) {
    const KltState reserved = reserve_captive(to, unit);
    if (reserved == KltState::kOut) {
      push_ready_private(worker, unit);
      rest_if_closed(self);  // there may be nothing else to run, and it comes in only when the gate is open
      cpu_yield();           // it may have to do so on this very CPU
      return false;
    }
    if (reserved == KltState::kStopping) {
      if (defer_to(to, unit)) return false;
      continue;
    }
    give_begin(self);
    if (reserved == KltState::kCaptive) {
      to->held.store(nullptr, std::memory_order_relaxed);
      if (!unit_is(unit->host, flag::kPrimary)) unit->host->captive = nullptr;
      unit_transition(unit, UnitState::kRunning);
    } else {
      worker->dispatch_first = unit;
    }
    klt_go_to_base(self, save, worker->parent_or_sched_stack(), give_worker_on_base, worker, to);
    return true;
  }
}

Klt* take_begin(Worker* worker) noexcept {
  Klt* victim = worker->carrier.load(std::memory_order_acquire);
  if (victim == nullptr) return nullptr;
  Take none = Take::kNone;
  if (!victim->take.compare_exchange_strong(none, Take::kPending, std::memory_order_acquire)) {
    return nullptr;
  }
  Worker* expected = worker;
  if (!victim->worker.compare_exchange_strong(expected, nullptr, std::memory_order_acq_rel)) {
    victim->take.store(Take::kNone, std::memory_order_release);
    return nullptr;  // it carries another one by now, or none
  }
  forget_tag(victim);
  membarrier_all();
  // Acquire: `current` is what the victim had when it lowered its guard, not what it had before.
  const bool out = !klt_is_inside(victim);
  if (out) san::acquire(worker);
  if (!out || !runs_ult(victim)) {
    take_retract(worker, victim);
    return nullptr;
  }
  return victim;
}

void take_retract(Worker* worker, Klt* victim) noexcept {
  san::release(worker);
  victim->worker.store(worker, std::memory_order_release);
  victim->take.store(Take::kNone, std::memory_order_release);
}

namespace {

// The victim's unit is the victim's from here on, and the worker the caller's.
void separate(Worker* worker, Klt* victim) noexcept {
  become_captive_in_kernel(worker, victim, victim->current.load(std::memory_order_relaxed));
  count(worker->stats.handovers);
  preempt_leaves(victim);
  // Release, pairs with the acquire in guard_enter_slow().
  victim->take.store(Take::kTaken, std::memory_order_release);
}

}  // namespace

bool take_finish(Worker* worker, Klt* victim, Klt* to) noexcept {
  if (worker->parent == nullptr && !prepare_next_stack(worker)) {
    take_retract(worker, victim);
    return false;
  }
  separate(worker, victim);
  if (klt_register_valid() && to == klt_self()) {
    set_carrier(worker, to);
  } else {
    hand_to(worker, to);
  }
  return true;
}

namespace {

// Whether the worker's unit can leave it, and another one go on, without memory being mapped if we are in a signal handler.
bool may_separate(const Klt* self, Worker* worker, const Unit* unit) noexcept {
  const bool in_handler = self->passes_gate.load(std::memory_order_relaxed);
  if (worker->next_stack == nullptr && (in_handler || !prepare_next_stack(worker))) return false;
  return !in_handler || detaches_at_once(worker, unit);
}

WayBack end_take_back(Klt* self, Unit* unit, Worker* worker, Klt* victim) noexcept {
  const bool fits = worker->ring_first && !scheduler_has_its_turn(worker) && !worker->lane.has_inbox() &&
                    goes_to_ring(worker, unit) && !worker->suspended.load(std::memory_order_relaxed) &&
                    may_separate(self, worker, victim->current.load(std::memory_order_relaxed));
  const WayBack way = fits ? block_way_back(self, worker, victim) : WayBack::kQueue;
  if (way == WayBack::kInstead) {
    block_takes(worker, victim);
    unit_transition(unit, UnitState::kReady);
    separate(worker, victim);
    let_go(unit);
    set_carrier(worker, self);
    return way;
  }
  Unit* next = nullptr;
  if (way == WayBack::kBehindOthers) {
    unit_transition(unit, UnitState::kReady);
    worker->lane.push_private(unit);
    next = take_next_captive(worker);
  }
  if (next == nullptr) {
    take_retract(worker, victim);
    return way;
  }
  block_takes(worker, victim);
  separate(worker, victim);
  hand_to(worker, let_go(next));
  return way;
}

template <class F>
bool take_for_captive(Worker* worker, Klt* victim, F&& take_captive) noexcept {
  if (worker->parent == nullptr && !prepare_next_stack(worker)) return false;
  Unit* next = take_captive();
  if (next == nullptr) return false;
  separate(worker, victim);
  hand_to(worker, let_go(next));
  return true;
}

}  // namespace

bool take_for_next_captive(Worker* worker, Klt* victim) noexcept {
  return take_for_captive(worker, victim, [=] { return take_next_captive(worker); });
}

bool take_for_any_captive(Worker* worker, Klt* victim) noexcept {
  return take_for_captive(worker, victim, [=] { return take_any_captive(worker, victim->current.load(std::memory_order_relaxed), true); });
}

bool leave_for_kernel() noexcept {
  Klt* self = klt_self();
  Worker* worker = guard_worker();
  if (!runs_ult(self)) return false;
  if (worker->parent == nullptr && !prepare_next_stack(worker)) return false;
  Klt* to = wait_for_spare_or_captive(worker, klt_current());
  if (to == nullptr) return false;
  give_begin(self);
  preempt_leaves(self);
  become_captive_in_kernel(worker, self, klt_current());
  give_worker(self, worker, to, Take::kTaken);
  self->guard.store(kGuardDown, std::memory_order_release);
  return true;
}

bool leave_asleep() noexcept {
  Klt* self = klt_self();
  Worker* worker = guard_worker();
  Unit* unit = klt_current();
  if (!runs_ult(self) || !detaches_at_once(worker, unit)) return false;
  Klt* to = spare_or_captive(worker, unit, true);
  if (to == nullptr) {
    spare_maker_call();
    return false;
  }
  give_begin(self);
  preempt_leaves(self);
  become_captive_in_kernel(worker, self, unit);
  give_worker(self, worker, to, Take::kTaken);
  return true;
}

bool take_worker(Worker* worker) noexcept {
  Klt* victim = take_begin(worker);
  if (victim == nullptr) return false;
  Klt* to = klt_acquire(worker->cpu.load(std::memory_order_relaxed));
  if (to == nullptr) {
    take_retract(worker, victim);
    return false;
  }
  if (take_finish(worker, victim, to)) return true;
  klt_put_back(to);
  return false;
}

}  // namespace weft::rt
