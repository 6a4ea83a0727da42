// direct.hpp: straight from one ULT to another, past the scheduler.
//
// Where both belong into this worker's ring, and leaving or coming takes no more than the context. Anything else
// goes through the scheduler, by leave_unit(). A ULT that yields is in the ring before its context is complete;
// nobody can take it out before, since the ring is this worker's, and the guard is up until the other one lowers
// it. One that waits is given to whoever wakes it by a store behind the last use of its stack.
//
// A unit that has once left otherwise is marked `kDirect` if only `kHomed`, which others set, can change that. Pinned ones are marked
// as well, and homed: straight.hpp is for them.
#pragma once

#include "arch/context.hpp"
#include "klt/kernel_sleep.hpp"
#include "worker/exceptions.hpp"
#include "worker/waiter.hpp"
#include "worker/watch.hpp"
#include "worker/worker.hpp"

namespace weft::rt {

inline constexpr uint32_t kDirectWays = flag::kDirect | flag::kExceptions | flag::kOwnState | kHomedAttribute;

[[gnu::always_inline]] inline bool leaves_directly(Worker* worker, const Unit* unit) noexcept {
  return (unit_attributes(unit) & kDirectWays) == flag::kDirect && worker->direct &&
         worker->lane.forks_empty() && !has_exceptions();
}

// Precondition: it is in the ring. There a fresh one, which has no context, is not direct: it has never left.
[[gnu::always_inline]] inline bool resumes_directly(const Unit* next) noexcept {
  const bool direct = (unit_attributes(next) & kDirectWays) == flag::kDirect;
  WEFT_DCHECK(!direct || next->state.load(std::memory_order_relaxed) == UnitState::kReady);
  return direct && (next->host->captive == nullptr || next->host->captive == klt_self());
}

// The unit runs, and has left before: it has a stack.
inline void mark_if_direct(Unit* unit) noexcept {
  const Unit* host = unit->host;
  const auto in_lane = [](const Unit* u) {
    const Pool* pool = u->pool.load(std::memory_order_relaxed);
    const Worker* owner = pool->lane_owner;
    if (!unit_is(u, flag::kFront)) return owner != nullptr && pool == &owner->lane;
    return owner == guard_worker() && guard_worker()->ring != nullptr;
  };
  if (unit_is(host, flag::kPrimary) && leaves_its_klt()) return;  // see leave_its_klt()
  const bool fp_alone = unit_owns(host, own::kFp) && !unit_owns(host, own::kIdentity);  // straight.hpp is for those that have both
  if (unit_is(unit, flag::kPrimary | flag::kWatched) || fp_alone || !in_lane(unit)) return;
  if (unit_is(unit, flag::kPinned) && !unit->homed.load(std::memory_order_relaxed)) return;
  if (unit != host && unit_is(host, flag::kOwnState)) return;
  if (unit_is(host, flag::kPinned | flag::kFront) && !in_lane(host)) return;  // else only that lane's worker ever runs it
  unit->flags.set(flag::kDirect);
}

// A unit that has waited goes into this worker's ring. Most do; for the others ask make_ready(). `more`: flags which it has not.
[[gnu::always_inline]] inline bool becomes_ready_here(const Worker* worker, const Unit* unit, uint32_t more = 0) noexcept {
  const uint32_t ways = unit_attributes(unit) & (flag::kDirect | flag::kFront | kHomedAttribute | more);
  if (ways == flag::kDirect) {
    const Unit* host = unit->host;
    if (__builtin_expect(!unit_is(host, flag::kPinned | flag::kFront), 1)) return worker->ring != nullptr;
    // On main's stack, most often.
    return worker->ring != nullptr && !unit_is(host, flag::kFront) && host->pool.load(std::memory_order_relaxed) == &worker->lane;
  }
  return ways == (flag::kDirect | flag::kFront) && worker->ring != nullptr &&
         unit->pool.load(std::memory_order_relaxed) == worker->home();
}

// Who is to run is noted before the stacks are changed: then nothing but the context is left to do.
[[gnu::always_inline]] inline Stack* prepare_direct_switch(Worker* worker, Unit* unit, Unit* next) noexcept {
  const Unit* to = next->host;
  check_fp(worker, unit->host);
  unit_transition(next, UnitState::kRunning);
  klt_set_current(next);
  klt_set_claim_floor(to->claim_floor.load(std::memory_order_relaxed));
  Stack* from = unit->host->stack;
  san::before_switch(from->san, to->stack->san, to->stack->low, to->stack->usable(), false);
  return from;
}

// The unit is in the ring already, and the next one no longer.
[[gnu::always_inline]] inline void switch_directly(Worker* worker, Unit* unit, Unit* next) noexcept {
  unit_transition(unit, UnitState::kReady);
  Stack* from = prepare_direct_switch(worker, unit, next);
  context_switch(&unit->context, &next->context);
  san::after_switch(from->san);
}

// Whether the unit can leave for the scheduler that is saved and runs it by a mere switch.
[[gnu::always_inline]] inline bool leaves_to_parent(const Worker* worker, const Unit* unit) noexcept {
  const Unit* host = unit->host;
  return worker->parent != nullptr && host->stack != nullptr && !unit_is(host, flag::kOwnState) &&
         worker->lane.forks_empty() && !has_exceptions() &&
         !(unit_is(host, flag::kPrimary) && leaves_its_klt());  // see leave_its_klt()
}

// leave_unit() of such a one. Inline, because after a change of stack every return goes where the processor does not expect
// it: as few of them as can be. `action`: null: nothing is left to do.
[[gnu::always_inline]] inline void leave_to_parent(Worker* worker, Unit* unit, AfterSwitch action) noexcept {
  check_fp(worker, unit->host);
  share_fp(worker, unit->host);
  count(worker->stats.switches);
  klt_set_current(nullptr);
  if (action != nullptr) worker->left = {unit, action, nullptr};
  Stack* from = unit->host->stack;
  Stack* to = worker->parent_stack;
  san::before_switch(from->san, to->san, to->low, to->usable(), false);
  context_switch(&unit->context, worker->parent);
  san::after_switch(from->san);
}

// The unit is in a list that is locked by *word, and whoever finds it there may make it ready; the lock is given back
// by a store of `value`, or (`clears`) by clearing these bits. The next one is no longer in the ring.
[[gnu::always_inline]] inline void switch_directly_and_release(Worker* worker, Unit* unit, Unit* next,
                                                               std::atomic<uint32_t>* word, uint32_t value,
                                                               bool clears) noexcept {
  static_assert(sizeof *word == sizeof(uint32_t));
  san::release(word);  // as the stack that is left: the store itself is nothing that TSan sees
  Stack* from = prepare_direct_switch(worker, unit, next);
  auto* plain = reinterpret_cast<uint32_t*>(word);
  if (clears) {
    context_switch_and_clear(&unit->context, &next->context, plain, value);
  } else {
    context_switch_and_store(&unit->context, &next->context, plain, value);
  }
  san::after_switch(from->san);
}

// Every so often a ULT leaves through the scheduler, which looks at the shared part and the inbox too.
inline constexpr uint64_t kThroughScheduler = 63;

// `switches`: how many there are with this one.
[[gnu::always_inline]] inline bool is_schedulers_turn(uint64_t switches) noexcept {
  return (switches & kThroughScheduler) == 0;
}

// The next unit, if the waiting one may switch to it by itself; it is out of the ring then.
[[gnu::always_inline]] inline Unit* take_direct_successor(Worker* worker, const Unit* unit) noexcept {
  Unit* next = worker->lane.front_private();
  const uint64_t switches = worker->stats.switches.load(std::memory_order_relaxed) + 1;
  if (next == nullptr || is_schedulers_turn(switches) || !leaves_directly(worker, unit) || !resumes_directly(next)) {
    return nullptr;
  }
  worker->stats.switches.store(switches, std::memory_order_relaxed);
  worker->lane.pop_front_private();
  return next;
}

// The time for units that begin to wait. The clock, too, costs some nanoseconds: where the last eight switches have passed between two of
// its ticks it is read once in the next eight. If one of these computes for longer, those that wait after it, but before the eighth,
// look as if they waited for as much longer.
[[gnu::always_inline]] inline uint64_t waits_since(Worker* worker) noexcept {
  const uint64_t turn = worker->stats.switches.load(std::memory_order_relaxed) / WaitClock::kSwitches;
  WaitClock& clock = worker->wait_clock;
  if (__builtin_expect(clock.steady && clock.turn == turn, 1)) return clock.time;
  return look_at_wait_clock(clock, turn);
}

// Before it leaves: it waits, as the waiter says.
[[gnu::always_inline]] inline void block(Worker* worker, Unit* unit, const Waiter& waiter) noexcept {
  unit_note_wait(unit, waiter.kind, waiter.object, waits_since(worker));
  watch_unit(worker, unit, UnitEvent::kSuspend);
  unit_transition(unit, UnitState::kBlocked);
}

// Of one that waits the locked way and is still in its list: whether its unit goes into this worker's ring when it is woken.
[[gnu::always_inline]] inline bool wakes_into_ring(const Worker* worker, const Waiter& waiter) noexcept {
  const Unit* unit = waiter.unit;
  return unit != nullptr && !waiter.contended && !waiter.stays && becomes_ready_here(worker, unit, flag::kWatched);
}

// Of such a one that has been taken out. It may be gone afterwards.
[[gnu::always_inline]] inline void wake_into_ring(Worker* worker, const Waiter& waiter) noexcept {
  unit_transition(waiter.unit, UnitState::kReady);
  worker->lane.push_private(waiter.unit);
}

}  // namespace weft::rt
