// switching.cpp: from one unit straight to a chosen one, and running one as a scheduler does.
#include <algorithm>

#include "api/control.hpp"
#include "api/handles.hpp"
#include "arch/pause.hpp"
#include "front/front.hpp"
#include "identity/identity.hpp"
#include "klt/guard.hpp"
#include "klt/kernel_sleep.hpp"
#include "klt/no_preemption.hpp"
#include "klt/own_signal.hpp"
#include "klt/program_signals.hpp"
#include "os/membarrier.hpp"
#include "os/signal_mask.hpp"
#include "pool/list_pool.hpp"
#include "worker/bell.hpp"
#include "worker/direct.hpp"
#include "worker/runtime.hpp"
#include "worker/straight.hpp"
#include "worker/timers.hpp"
#include "worker/watch.hpp"

namespace weft::front {

using namespace rt;

namespace {

void yield_to_chosen(Worker* worker, Unit* unit, void* to) {
  yield_action(worker, unit, nullptr);
  dispatch_next(worker, static_cast<Unit*>(to), unit);
}

void suspend_to_chosen(Worker* worker, Unit* unit, void* to) {
  suspend_action(worker, unit, nullptr);
  dispatch_next(worker, static_cast<Unit*>(to), unit);
}

// On its joiner's stack a unit cannot end without its joiner going on: it is ready until `to` has left, and ends then.
[[nodiscard]] bool is_guest(const Unit* unit) noexcept { return unit->host != unit; }

// For the pool of a user's that it will come to.
void note_context(Unit* unit, uint64_t context) noexcept {
  if (unit_is(unit, flag::kFront) && !unit->pool.load(std::memory_order_relaxed)->builtin) {
    unit->cold.front.context = context;
  }
}

// The guard may be up.
[[gnu::noinline]] int yield_in_general(uint64_t context, int (*otherwise)()) noexcept {
  const bool on_klt = klt_register_valid();
  // The calling unit is the same one wherever it goes on.
  Unit* unit = on_klt ? klt_current() : nullptr;
  if (is_ult(unit)) {
    note_context(unit, context);
  } else if (otherwise != nullptr) {
    if (on_klt) guard_leave(guard_enter());
    return otherwise();
  }
  return yield_slow();
}

// Whether a unit that yields goes straight into the worker's ring.
[[gnu::always_inline]] inline bool yields_into_ring(const Worker* worker, const Unit* unit) noexcept {
  const Lane& lane = worker->lane;
  return (unit_attributes(unit) & (flag::kFront | flag::kWatched)) == flag::kFront &&
         unit->pool.load(std::memory_order_relaxed)->lane_owner == worker && !lane.is_listed() && !lane.has_inbox() &&
         !lane.ring_full();
}

// The worker runs a user-defined or stacked scheduler, or one whose first pool is no lane.
[[gnu::noinline]] int yield_to_parent(Worker* worker, uint64_t context, int (*otherwise)()) noexcept {
  Unit* unit = klt_current();
  const bool by_scheduler = worker->parent == nullptr && worker->ring == nullptr && is_ult(unit) && !unit_is(unit, flag::kWatched);
  if (by_scheduler && unit->requests.load(std::memory_order_relaxed) == 0) {
    note_context(unit, context);
    return yield_away(worker, unit);
  }
  if (!is_ult(unit) || unit->requests.load(std::memory_order_relaxed) != 0 || !leaves_to_parent(worker, unit)) {
    return yield_in_general(context, otherwise);
  }
  if (yields_into_ring(worker, unit)) {  // before its context is complete, as in a direct switch
    unit_transition(unit, UnitState::kReady);
    worker->lane.push_private_unchecked(unit);
    leave_to_parent(worker, unit, nullptr);
  } else {
    note_context(unit, context);
    leave_to_parent(worker, unit, yield_action);
  }
  return come_back(unit);
}

}  // namespace

// As weft_yield(), but what others have pushed is not overtaken.
int yield(uint64_t context, int (*otherwise)()) {
  if (__builtin_expect(!klt_register_valid(), 0)) return yield_in_general(context, otherwise);
  Worker* worker = guard_try_enter();
  if (__builtin_expect(worker == nullptr, 0)) return yield_in_general(context, otherwise);
  if (__builtin_expect(!worker->direct, 0)) return yield_to_parent(worker, context, otherwise);
  Unit* unit = klt_current();
  Lane& lane = worker->lane;
  Unit* next = lane.front_private();
  const uint64_t switches = worker->stats.switches.load(std::memory_order_relaxed) + 1;
  if (next == nullptr || unit == nullptr || is_schedulers_turn(switches) || lane.has_inbox() ||
      !leaves_directly(worker, unit) || !resumes_directly(next)) {
    return yield_in_general(context, otherwise);
  }
  lane.rotate_private(unit);
  worker->stats.switches.store(switches, std::memory_order_relaxed);
  switch_directly(worker, unit, next);
  return come_back(unit);
}

namespace {

// The guard is up; it is lowered.
void switch_to_taken(Worker* worker, Unit* unit, Unit* target, Leave how, uint64_t context) noexcept {
  WEFT_CHECK(is_ult(unit));
  if (how == Leave::kExit && !is_guest(unit)) {
    dispatch_next(worker, target, nullptr);  // the unit may be gone by the time a watcher is told of that
    exit_unit(worker, unit);
  }
  note_context(unit, context);
  if (how == Leave::kSuspend && unit->token.load(std::memory_order_relaxed) == kTokenResumed) {
    how = Leave::kYield;
    unit->token.exchange(kTokenNone, std::memory_order_acq_rel);  // as weft_suspend() does
  }
  if (how == Leave::kMade && is_deque(unit->pool.load(std::memory_order_relaxed))) {
    unit->slot.store(kAsMadeLast, std::memory_order_relaxed);
  }
  worker = leave_unit(worker, unit, how == Leave::kSuspend ? suspend_to_chosen : yield_to_chosen, target);
  if (how == Leave::kExit) exit_unit(worker, unit);
  if (how == Leave::kSuspend) goes_on(worker, unit);
  mark_if_direct(unit);
  obey_cancellation(worker, unit);
  guard_leave(guard_worker());
}

}  // namespace

void switch_to(weft_unit_t to, Leave how, uint64_t context) {
  Worker* worker = guard_enter();
  switch_to_taken(worker, klt_current(), from_handle(to), how, context);
}

namespace {

// The guard may be up.
[[gnu::noinline]] int yield_otherwise(weft_unit_t to, int (*otherwise)(weft_unit_t)) noexcept {
  if (klt_register_valid()) guard_leave(guard_enter());
  return otherwise(to);
}

}  // namespace

// As weft_yield_to(), but the caller comes last, as in every other yield.
int yield_to_directly(weft_unit_t to, int (*otherwise)(weft_unit_t to)) {
  if (__builtin_expect(!klt_register_valid(), 0)) return otherwise(to);
  Worker* worker = guard_try_enter();
  if (__builtin_expect(worker == nullptr, 0)) return yield_otherwise(to, otherwise);
  Unit* unit = klt_current();
  Unit* next = from_handle(to);
  Lane& lane = worker->lane;
  // Its fields are looked at once it is known to be in the ring: elsewhere it may be running, or start anew.
  const bool may = unit != nullptr && leaves_directly(worker, unit) && !lane.has_inbox() && lane.holds_private(next) &&
                   resumes_directly(next);
  if (__builtin_expect(!may, 0)) {
    return yield_otherwise(to, otherwise);
  }
  lane.rotate_private(next, unit);
  count(worker->stats.switches);
  switch_directly(worker, unit, next);
  return come_back(unit);
}

bool yield_nearby(weft_unit_t to) {
  if (__builtin_expect(to == nullptr || !klt_register_valid(), 0)) return false;
  Worker* worker = guard_enter();
  if (__builtin_expect(worker == nullptr, 0)) return false;
  Unit* unit = klt_current();
  Unit* next = from_handle(to);
  Lane& lane = worker->lane;
  // Its fields are looked at once it is known to be in the ring.
  if (is_ult(unit) && lane.holds_private(next)) {
    const uint64_t switches = worker->stats.switches.load(std::memory_order_relaxed) + 1;
    if (is_schedulers_turn(switches)) {
      lane.put_second(next);
    } else if (may_go_straight(worker, unit, next)) {
      lane.exchange_private(next, unit);
      lane.no_longer_barren();  // it may have been the caller's, whom others may run
      worker->stats.switches.store(switches, std::memory_order_relaxed);
      go_straight(worker, unit, next);
      come_back(unit);
      return true;
    }
  }
  guard_leave(worker);
  return false;
}

namespace {

void send_action(Worker* worker, Unit* unit, void* to) {
  unit_transition(unit, UnitState::kReady);
  send_to(worker, unit, static_cast<Worker*>(to));
}

}  // namespace

void move_to(weft_worker_t to) {
  Worker* worker = guard_enter();
  if (worker == nullptr) return;
  Unit* unit = klt_current();
  if (is_ult(unit) && !unit_is(unit, flag::kFront)) {
    worker = leave_unit(worker, unit, send_action, from_handle(to));
    obey_cancellation(worker, unit);
  }
  guard_leave(worker);
}

bool yield_to(weft_unit_t to, uint64_t context) {
  if (Worker* worker = guard_enter()) {
    Unit* unit = klt_current();
    Unit* next = from_handle(to);
    Lane& lane = worker->lane;
    // As above.
    if (unit != nullptr && lane.holds_private(next) && !lane.has_inbox()) {
      lane.remove_private(next);
      // It goes on at this worker, where it is from: unlike one that is taken for whatever purpose it stays direct.
      switch_to_taken(worker, unit, next, Leave::kYield, context);
      return true;
    }
    guard_leave(worker);
  }
  if (!take_ready(to)) return false;
  switch_to(to, Leave::kYield, context);
  return true;
}

bool take_suspended(weft_unit_t handle) {
  Unit* unit = from_handle(handle);
  uint8_t parked = kTokenParked;
  // Acquire, pairs with the release in suspend_action(): its context is complete.
  while (!unit->token.compare_exchange_strong(parked, kTokenNone, std::memory_order_acq_rel)) {
    const bool suspends = unit_state(unit) == UnitState::kBlocked && unit->slot.load(std::memory_order_relaxed) == static_cast<uint32_t>(WaitKind::kSuspend);
    if (!suspends || parked == kTokenResumed) return false;
    parked = kTokenParked;
    cpu_pause();  // it is about to be parked
  }
  Worker* worker = section_enter();
  watch_unit(worker, unit, UnitEvent::kResume);
  section_leave(worker);
  unit_transition(unit, UnitState::kReady);
  unit->flags.clear(flag::kDirect);
  return true;
}

bool take_ready(weft_unit_t handle) {
  Unit* unit = from_handle(handle);
  return pool_remove(to_handle(unit->pool.load(std::memory_order_relaxed)), handle);
}

namespace {

struct Errand {
  weft_unit_t unit, waits;
  weft_event_t done;
};

// Whoever waits goes on at once, and not when its pool gets to it; it may have other plans, or have been resumed, by whomever.
void do_errand(void* arg) {
  Errand& errand = *static_cast<Errand*>(arg);
  run_from_scheduler_and_leave(guard_enter(), from_handle(errand.unit));
  const weft_unit_t waits = errand.waits;
  weft_event_set(&errand.done);  // it may be gone afterwards
  if (take_ready(waits)) switch_to(waits, Leave::kExit, 0);
}

// What main runs as a scheduler does must not stay on main's KLT: blocked, or preempted, it would have it, and main go on elsewhere, with another thread's
// variables, and never again once it has slept (see leave_its_klt()). So another ULT runs it, which is nobody's, is left alone, and never in a pool.
// Guard up; true: lowered, and it has been run.
bool run_away_from_main(Worker* worker, Unit* self, weft_unit_t unit) noexcept {
  if (self == nullptr || !unit_is(self->host, flag::kPrimary) || !leaves_its_klt()) return false;
  UnitWish wish;
  wish.detached = true;
  wish.push = false;
  wish.preemption = WEFT_PREEMPTION_NONE;
  wish.blocking = WEFT_BLOCKING_UNAWARE;
  Errand errand{unit, to_handle(self), WEFT_EVENT_INIT};
  const weft_pool_t home = to_handle(worker->home());
  guard_leave(worker);
  weft_unit_t helper = nullptr;
  if (unit_create(home, do_errand, &errand, 0, wish, &helper) != WEFT_OK) {
    static_cast<void>(guard_enter());
    return false;
  }
  worker = guard_enter();
  dispatch_next(worker, from_handle(helper), nullptr);
  guard_leave(worker);
  weft_event_wait(&errand.done);
  return true;
}

}  // namespace

int run(weft_unit_t unit) {
  Worker* worker = guard_enter();
  if (worker == nullptr) return WEFT_ERR_CONTEXT;
  Unit* self = klt_current();
  if (self != nullptr && unit_is(self, flag::kTasklet)) {
    guard_leave(worker);
    return WEFT_ERR_CONTEXT;
  }
  if (run_away_from_main(worker, self, unit)) return WEFT_OK;
  return run_from_scheduler_and_leave(guard_worker(), from_handle(unit));
}

int run_of_pool(weft_unit_t handle, weft_pool_t pool_handle, int (*otherwise)(weft_unit_t, weft_pool_t)) {
  if (__builtin_expect(!klt_register_valid(), 0)) return otherwise(handle, pool_handle);
  Worker* worker = guard_enter();
  if (__builtin_expect(worker == nullptr, 0)) return otherwise(handle, pool_handle);
  Unit* self = klt_current();
  const uint32_t kind = self != nullptr ? self->flags & (flag::kFront | flag::kTasklet) : flag::kFront;
  Unit* unit = from_handle(handle);
  const Pool* pool = from_handle(pool_handle);
  if (kind != flag::kFront || worker->front.load(std::memory_order_relaxed) == nullptr || !pool->builtin ||
      unit->pool.load(std::memory_order_relaxed) != pool) {
    guard_leave(worker);
    return otherwise(handle, pool_handle);
  }
  if (run_away_from_main(worker, self, handle)) return WEFT_OK;
  return run_from_scheduler_and_leave(guard_worker(), unit);
}

unsigned others_waiting() {
  if (!klt_register_valid()) return 0;
  Worker* worker = guard_enter();
  unsigned others = 0;
  if (worker != nullptr) {
    others = worker->lane.ring_length();
    if (others == 0 && units_wait(worker)) others = 1;
  }
  guard_leave(guard_worker());
  return others;
}

namespace {

// Who has come back from the kernel and has no worker shares a core with who has it: to give way to that is the kernel's. Only for a
// while: what is waited for may be ready, and wait for a worker whose carrier sleeps.
bool yields_in_kernel(Klt* self) noexcept {
  constexpr unsigned kMost = 128;  // some 60 us
  constexpr uint64_t kApart = 50'000;  // ns
  if (self->take.load(std::memory_order_relaxed) != Take::kTaken) return false;
  const uint64_t now = now_ns();
  if (now - self->stop.yielded_at > kApart) self->stop.yields = 0;
  self->stop.yielded_at = now;
  return self->stop.yields++ < kMost;
}

}  // namespace

bool yield_as_thread(unsigned calls) {
  // To look costs some microseconds. Where nothing waits here, each call is one of the kernel's; else it is some 20 ns, and
  // what is here is to be run first.
  constexpr unsigned kTurnAlone = 128, kTurn = 256;
  if (!klt_register_valid() || klt_is_inside_here() || yields_in_kernel(klt_self())) return false;
  Worker* worker = guard_enter();
  Unit* unit = klt_current();
  if (!is_ult(unit) || !unit_owns(unit, own::kIdentity)) {
    guard_leave(worker);
    return false;
  }
  const bool some = units_wait(worker), others_turn = calls % (some ? kTurn : kTurnAlone) == 0;
  // In a handler it stays on its KLT: the kernel's frame there tells the KLT's alternate stack and mask, and the handler's end sets both. And
  // another ULT would run with what the handler blocks.
  if ((some || others_turn) && program_has_handlers() && own_signals_handler_runs(signal_mask_here())) {
    guard_leave(worker);
    return false;
  }
  if (others_turn) {
    if (Unit* other = take_from_others(worker)) {
      switch_to_taken(worker, unit, other, Leave::kYield, 0);
      return true;
    }
  }
  guard_leave(guard_worker());
  if (some) weft_yield();
  return some;
}

bool sleep_as_thread(uint64_t ns) {
  // The kernel's own are as long at least, and who polls by them is not to take all of its worker's time.
  constexpr uint64_t kLeast = 20'000;
  if (!klt_register_valid() || klt_is_inside_here()) return false;
  Worker* worker = guard_enter();
  const Unit* unit = klt_current();
  const bool pays = is_ult(unit) && unit_owns(unit, own::kIdentity) &&
                    (units_wait(worker) || timers_earliest_of(worker) != kNever) &&
                    signal_mask_here() == unit->host->identity->mask.load(std::memory_order_relaxed);
  guard_leave(guard_worker());
  return pays && weft_sleep(std::max(ns, kLeast)) == WEFT_OK;
}

static_assert(kAttentionOffset == kKltAttention && kNoPreemptionOffset == kKltNoPreemption);
static_assert(front::kNeverLeaves == rt::kNeverLeaves && front::kMayLeave == rt::kMayLeave);
void attend() { no_preemption_attend(); }
bool workers_are_taken() { return leaves_its_klt(); }

bool interrupts_section() {
  if (!klt_register_valid()) return false;
  // Without a worker, or a unit: it sleeps, or runs a scheduler.
  const Klt* self = klt_self();
  return klt_is_inside(self) || self->worker.load(std::memory_order_relaxed) == nullptr ||
         self->current.load(std::memory_order_relaxed) == nullptr;
}

void fence_everywhere() { membarrier_all(); }

// Where the kernel refuses, weft_initialize() says so.
void prepare() {
  static_cast<void>(membarrier_register());
  block_prepare();
}

void set_idle_patience(uint64_t ns) { runtime.idle_patience_ns.store(ns, std::memory_order_relaxed); }

void set_idle_sleeps_at_once(bool on) { runtime.idle_sleeps_at_once.store(on, std::memory_order_relaxed); }

void poll() {
  Worker* worker = guard_enter();
  if (worker == nullptr) return;
  timers_look(worker);
  if (bell_calls(worker)) bell_answer(worker);
  run_deferred(worker);
  guard_leave(guard_worker());
}

}  // namespace weft::front
