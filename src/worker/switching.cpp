// switching.cpp: how a unit gets on and off a stack.
//
// A stateless scheduler is restarted at the top of its stack each time a unit leaves, and never
// saved: "switching to the scheduler" is one move of the stack pointer. Because the unit's context
// is complete before the scheduler's code runs, a unit is put into a pool only from there, and no
// thief can resume a unit that still runs. The one exception is a yield to a unit that lies in the
// worker's own ring (api/control.cpp).
//
// Three ways to run (dissertation §3.4, design.md §3):
//   here      a tasklet, or a fresh ULT on the scheduler's own stack (SC); if it suspends it keeps the
//             stack, and the scheduler goes on on the prepared one
//   claimed   a fresh ULT, on its joiner's stack
//   own       a fresh ULT, on a stack of its own (SS); or a suspended one, on whatever stack it has
//
// Functions that are left without returning are not instrumented for ThreadSanitizer: it keeps a
// call stack per stack, which would grow with each.
#include <cstdio>
#include <utility>

#include "arch/context.hpp"
#include "base/check.hpp"
#include "klt/callback_scope.hpp"
#include "klt/hand_over.hpp"
#include "klt/kernel_sleep.hpp"
#include "os/cpu_yield.hpp"
#include "os/overflow.hpp"
#include "unit/local.hpp"
#include "worker/exceptions.hpp"
#include "worker/finish.hpp"
#include "worker/identity.hpp"
#include "worker/packing.hpp"
#include "worker/pool_hold.hpp"
#include "worker/runtime.hpp"
#include "worker/tasklet.hpp"
#include "worker/timers.hpp"
#include "worker/watch.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

// ---- ends -------------------------------------------------------------------------------------

void finish_action(Worker* worker, Unit* unit, void*) { finish_unit(worker, unit); }

// Leaves the unit's stack for good; the scheduler ends the unit.
[[noreturn]] WEFT_LEFT_FOR_GOOD void leave_for_good(Worker* worker, Unit* unit) noexcept {
  Stack* from = unit->stack;
  klt_set_current(nullptr);
  if (worker->parent == nullptr) {
    Stack* to = worker->sched_stack;
    san::before_switch(from->san, to->san, to->low, to->usable(), true);
    context_start(to->top, scheduler_restart, worker, unit, reinterpret_cast<void*>(finish_action),
                  nullptr);
  }
  worker->left = {unit, finish_action, nullptr};
  Stack* to = worker->parent_stack;
  san::before_switch(from->san, to->san, to->low, to->usable(), true);
  context_resume(worker->parent);
}

// The current unit goes on, or starts, on its host's stack.
void set_floor(Worker* worker, const Unit* unit) noexcept {
  const Unit* host = unit->host;
  // A pinned ULT on the stack of one that is not: the stack must stay here only while it runs.
  const bool no = worker->parent != nullptr || (unit_is(unit, flag::kPinned) && host != unit);
  klt_set_claim_floor(no ? kNoClaim : host->claim_floor.load(std::memory_order_relaxed));
}

// Runs the unit's function; guard up before and after. Returns the worker that it ended on. An identity needs a stack of its own.
template <bool own_stack>
[[gnu::always_inline]] inline Worker* call_unit(Worker* worker, Unit* unit) noexcept {
  weft_fn fn = unit->fn;
  void* arg = unit->arg;
  unit->host = unit;
  unit_transition(unit, UnitState::kRunning);
  klt_set_current(unit);
  guard_leave(worker);
  call_with_exit(fn, arg, &unit->exit_frame);
  end_detached_locals(unit);  // on its own stack
  if (own_stack && __builtin_expect(unit_is(unit, flag::kOwnState), 0)) identity_body_ends(unit);
  worker = guard_enter_on_klt();
  check_fp(worker, unit);
  return worker;
}

[[noreturn]] WEFT_LEFT_FOR_GOOD void own_stack_entry(void* worker_arg, void* unit_arg, void*,
                                                     void*) noexcept {
  auto* unit = static_cast<Unit*>(unit_arg);
  san::after_switch(unit->stack->san);
  san::stack_reused(unit->stack->low, stack_pointer());
  auto* worker = static_cast<Worker*>(worker_arg);
  const bool has_identity = unit_owns(unit, own::kIdentity);
  // What it joins does not run on its stack: that would be on its identity.
  unit->claim_floor.store(has_identity ? kNoClaim : claim_floor_of(*unit->stack), std::memory_order_relaxed);
  klt_set_claim_floor(worker->parent != nullptr ? kNoClaim : unit->claim_floor.load(std::memory_order_relaxed));
  enter_own(unit);
  if (__builtin_expect(has_identity, 0)) identity_begin(unit->identity, *unit->stack);
  worker = call_unit<true>(worker, unit);
  leave_own(worker, unit);
  leave_for_good(worker, unit);
}

void run_tasklet(Worker* worker, Unit* unit) noexcept {
  count(worker->stats.units_run);
  klt_set_claim_floor(kNoClaim);
  run_tasklet_body(worker, unit);
  end_detached_locals(unit);
  guard_enter_on_klt();
  klt_set_current(nullptr);
  finish_unit(worker, unit);
}

bool give_stack(Worker* worker, Unit* unit) noexcept {
  if (unit->stack != nullptr) return true;
  const bool default_size = unit->cold.stack_size == 0;
  StackCache& stacks = worker->stacks;
  unit->stack = default_size ? stacks.pop() : stacks.pop_other(unit->cold.stack_size + preempt_stack_room());
  return unit->stack != nullptr;
}

// Nothing can start now for want of memory: the unit waits until something ends.
void put_off(Worker* worker, Unit* unit) noexcept {
  static std::atomic<bool> told{false};
  if (!told.exchange(true, std::memory_order_relaxed)) {
    std::fputs("weft: no memory for another stack: units wait until one is free\n", stderr);
  }
  push_ready_private(worker, unit);
  sched_yield();
}

WEFT_LEFT_FOR_GOOD void start_on_own_stack(Worker* worker, Unit* unit) noexcept {
  if (!give_stack(worker, unit)) return put_off(worker, unit);
  count(worker->stats.units_run);
  Stack* from = worker->sched_stack;
  Stack* to = unit->stack;
  san::before_switch(from->san, to->san, to->low, to->usable(), true);
  context_start(to->top, own_stack_entry, worker, unit, nullptr, nullptr);
}

// False: it was promoted, and this stack is no longer the scheduler's.
[[gnu::always_inline]] inline bool run_here(Worker* worker, Unit* unit) noexcept {
  if (__builtin_expect(worker->next_stack == nullptr, 0) && !prepare_next_stack(worker)) {
    put_off(worker, unit);
    return true;
  }
  count(unit_is(unit, flag::kFork) ? worker->stats.forks : worker->stats.units_run);
  klt_set_claim_floor(worker->sched_floor);
  Worker* now = call_unit<false>(worker, unit);
  if (__builtin_expect(unit->stack != nullptr, 0)) leave_for_good(now, unit);
  klt_set_current(nullptr);
  finish_unit(worker, unit);
  return true;
}

void before_resume(Worker* worker, Unit* unit) noexcept {
  unit_transition(unit, UnitState::kRunning);
  klt_set_current(unit);
  set_floor(worker, unit);
  restore_exceptions(unit);
}

// Hundreds of suspended units do not fit into the first-level cache. While one runs, what the next two need
// at their resumption is fetched: of the first its frames, of the second its descriptor.
[[gnu::always_inline]] inline void prefetch_next(const Lane& lane) noexcept {
  const uint32_t head = lane.ring_head.load(std::memory_order_relaxed);
  if (const Unit* next = lane.slots[head & lane.mask]) {
    const auto frame = reinterpret_cast<uintptr_t>(next->context.sp);  // null if it has not begun
    for (uintptr_t line = 0; line < 256; line += 64) __builtin_prefetch(reinterpret_cast<const void*>(frame + line), 1);
  }
  if (const Unit* second = lane.slots[(head + 1) & lane.mask]) {
    __builtin_prefetch(second, 1);
    __builtin_prefetch(&second->context, 1);
  }
}

[[noreturn]] WEFT_LEFT_FOR_GOOD void resume_from_stateless(Worker* worker, Unit* unit) noexcept {
  prefetch_next(worker->lane);
  before_resume(worker, unit);
  Stack* from = worker->sched_stack;
  Stack* to = unit->host->stack;
  san::before_switch(from->san, to->san, to->low, to->usable(), true);
  context_resume(&unit->context);
}

// Of a unit that has just been picked. True: it does not run here and now.
[[gnu::noinline]] bool obey_requests(Worker* worker, Unit* unit) noexcept {
  worker->named = {};
  const uint8_t requests = unit->requests.load(std::memory_order_acquire);
  if ((requests & kAwayRequest) != 0) {
    push_ready_private(worker, unit);
    cpu_yield();
    return true;
  }
  const bool fresh = unit->state.load(std::memory_order_relaxed) == UnitState::kFresh;
  if ((requests & kCancelRequest) != 0) {
    if (!fresh) return false;  // it ends by itself
    watch_unit(worker, unit, UnitEvent::kCancel);
    unit->flags.clear(flag::kWatched);
    unit_transition(unit, UnitState::kRunning);
    finish_unit(worker, unit, false);
    return true;
  }
  if ((requests & kMoveRequest) == 0) return false;
  move_unit(worker, unit);
  return true;
}

[[gnu::always_inline]] inline bool anything_requested(const Unit* unit) noexcept {
  return __builtin_expect(unit->requests.load(std::memory_order_relaxed) != 0, 0);
}

bool runs_on_this_klt(const Unit* unit) noexcept {
  if (unit->state.load(std::memory_order_relaxed) == UnitState::kFresh) return true;
  const Klt* captive = unit->host->captive;
  return captive == nullptr || captive == klt_self();
}

[[gnu::always_inline]] inline void note_where(Worker* worker, Unit* unit) noexcept {
  if (!unit_is(unit, flag::kFront)) return;
  note_worker_of_front_unit(worker, unit);
  if (__builtin_expect(unit_is(unit, flag::kWatched), 0) && runs_on_this_klt(unit)) {
    tell_watcher(worker, unit, UnitEvent::kRun);
  }
}

// Runs one unit from the stateless scheduler. Returns only if the scheduler's stack is still its own.
WEFT_LEFT_FOR_GOOD void dispatch(Worker* worker, Unit* unit) noexcept {
  note_fp(worker);
  if (anything_requested(unit) && obey_requests(worker, unit)) return;
  note_where(worker, unit);
  if (unit->state.load(std::memory_order_relaxed) != UnitState::kFresh) {
    Klt* captive = unit->host->captive;
    if (__builtin_expect(captive == nullptr || captive == klt_self(), 1)) {
      resume_from_stateless(worker, unit);
    }
    give_to_captive(worker, unit, nullptr);
    return;
  }
  if (__builtin_expect(unit_is(unit, flag::kTasklet | flag::kOwnStack), 0)) {
    if (!unit_is(unit, flag::kTasklet)) return start_on_own_stack(worker, unit);
    return run_tasklet(worker, unit);
  }
  run_here(worker, unit);
}

[[noreturn]] WEFT_LEFT_FOR_GOOD void stopped_action_tail(Klt* self, Worker* worker) noexcept {
  klt_go_to_base(self, nullptr, worker->sched_stack, worker_stopped_on_base, worker, nullptr);
  __builtin_unreachable();
}

// The header of a fresh unit of which nothing is requested and that has no attribute but a priority. It may be a
// tasklet, a front-end's, or have no name; the joiner of one that has may run it.
constexpr uint64_t kPlain = unit_header_of(UnitState::kFresh, 0, 0, false);
constexpr uint64_t kPlainMask =
    kHeaderButPriority &
    ~(uint64_t{flag::kTasklet | flag::kDetached | flag::kClaimable | flag::kFront} << 32);

// What attributes it has come to have while it ran is looked for at its end.
[[gnu::always_inline]] inline void run_plain_tasklet(Worker* worker, Unit* unit) noexcept {
  count(worker->stats.units_run);
  klt_set_claim_floor(kNoClaim);
  run_tasklet_body(worker, unit);
  constexpr uint32_t kMore = flag::kCold | flag::kWatched;
  const bool unnamed = (unit_attributes(unit) & (flag::kDetached | kMore)) == flag::kDetached;
  if (!unnamed) end_detached_locals(unit);
  guard_enter_on_klt();
  klt_set_current(nullptr);
  if (__builtin_expect(!unnamed || unit->marked.load(std::memory_order_relaxed) != 0, 0)) {
    return finish_unit(worker, unit);
  }
  unit_transition(unit, UnitState::kTerminated);
  recycle_plain_unit(worker, unit);
}

// dispatch() of such a unit that was in this worker's ring: there a front-end's is where it belongs, and nothing need
// be noted. False: it is not such a one.
[[gnu::always_inline]] inline bool run_plain(Worker* worker, Unit* unit) noexcept {
  const uint64_t header = unit_header(unit);
  if ((header & kPlainMask) != kPlain) return false;
  WEFT_DCHECK(!unit_is(unit, flag::kFront) || unit->pool.load(std::memory_order_relaxed)->lane_owner == worker);
  note_fp(worker);
  if ((header & uint64_t{flag::kTasklet} << 32) != 0) {
    run_plain_tasklet(worker, unit);
  } else {
    run_here(worker, unit);
  }
  return true;
}

// The main scheduler, stateless: nothing on this stack outlives a dispatch.
[[noreturn]] WEFT_LEFT_FOR_GOOD void stateless_loop(Worker* worker) noexcept {
  for (;;) {
    Unit* unit = next_unit_of_ring(worker);
    if (unit != nullptr && run_plain(worker, unit)) continue;
    if (__builtin_expect(unit == nullptr, 0)) unit = next_unit_of_first_pool(worker);
    if (__builtin_expect(unit == nullptr, 0)) unit = next_unit(worker);
    if (__builtin_expect(unit == nullptr, 0)) {
      if (worker->sched->user) run_user_main(worker);
      if (worker_may_stop(worker)) {
        worker->state.store(WorkerState::kStopping, std::memory_order_relaxed);  // its lane is for nobody any more
        leave_lane(worker);
        timers_news(worker);  // it may have watched over the deadlines
        stopped_action_tail(klt_self(), worker);
      }
      continue;
    }
    dispatch(worker, unit);
  }
}

}  // namespace

[[noreturn]] WEFT_LEFT_FOR_GOOD void scheduler_restart(void* worker_arg, void* left, void* action,
                                                       void* arg) noexcept {
  auto* worker = static_cast<Worker*>(worker_arg);
  san::after_switch(worker->sched_stack->san);
  san::stack_reused(worker->sched_stack->low, stack_pointer());
  if (action != nullptr) {
    reinterpret_cast<AfterSwitch>(action)(worker, static_cast<Unit*>(left), arg);
  }
  stateless_loop(worker);
}

[[noreturn]] WEFT_LEFT_FOR_GOOD void klt_carry(Klt* self, Worker* worker) noexcept {
  san::acquire(worker);
  end_pull(self);
  bind_carrier(self, worker);
  preempt_goes_on(self, worker);
  fp_restore(worker->fp);
  Stack* to = worker->parent_or_sched_stack();
  san::before_switch(self->base.san, to->san, to->low, to->usable(), true);
  if (worker->parent != nullptr) context_resume(worker->parent);
  const auto left = std::exchange(worker->left, {});
  context_start(to->top, scheduler_restart, worker, left.unit, reinterpret_cast<void*>(left.action), left.arg);
}

uintptr_t claim_floor_of(const Stack& stack) noexcept {
  const size_t needed = stack_options().default_size / 2;
  return stack.usable() > needed ? reinterpret_cast<uintptr_t>(stack.low) + needed : kNoClaim;
}

void set_sched_stack(Worker* worker, Stack* stack) noexcept {
  worker->sched_stack = stack;
  worker->sched_floor = claim_floor_of(*stack);
}

bool prepare_next_stack(Worker* worker) noexcept {
  if (worker->next_stack != nullptr) return true;
  Stack* stack = worker->stacks.pop();
  worker->next_stack = stack;
  if (stack == nullptr) return false;
  // It is needed soon: as the scheduler's, or to hand out the one after it.
  for (int line = 1; line <= 4; ++line) __builtin_prefetch(stack->top - 64 * line, 1);
  __builtin_prefetch(worker->stacks.head, 1);
  return true;
}

[[gnu::always_inline]] inline void detach(Worker* worker, Unit* unit) noexcept {
  Unit* host = unit->host;
  if (host->stack == nullptr) {
    host->stack = worker->sched_stack;
    host->claim_floor.store(worker->sched_floor, std::memory_order_relaxed);
    set_sched_stack(worker, worker->next_stack);
    worker->next_stack = nullptr;
    count(worker->stats.promotions);
  }
  if (!worker->lane.forks_empty()) worker->lane.settle_forks(worker);
}

void detach_stack(Worker* worker, Unit* unit) noexcept { detach(worker, unit); }

bool detaches_at_once(const Worker* worker, const Unit* unit) noexcept {
  const Lane& lane = worker->lane;
  const auto forks = static_cast<size_t>(lane.fork_top.load(std::memory_order_relaxed) -
                                         lane.fork_low.load(std::memory_order_relaxed));
  const bool has_stack = unit->host->stack != nullptr || worker->next_stack != nullptr;
  // A listed lane's other users may hold its lock for a moment: not what a handler may wait for.
  const bool settles = worker->units.count >= forks && lane.ring_room() > forks && !lane.is_listed();
  return has_stack && (forks == 0 || settles);
}

// While a ULT may be captured where it runs, or its worker be taken there, nobody but the primary ULT runs on the thread that it is bound to: it could
// not go on before whoever is captive there. So its worker leaves that thread when it does. False: not necessary.
[[gnu::noinline]] bool leave_its_klt(Worker* worker, Unit* unit, AfterSwitch action, void* arg) noexcept {
  if (!leaves_its_klt()) return false;
  leave_for_base(worker, unit, action, arg);
  return true;
}

[[gnu::always_inline]] inline void put_aside(Worker* worker, Unit* unit) noexcept {
  detach(worker, unit);
  check_fp(worker, unit->host);
  share_fp(worker, unit->host);
  save_exceptions(unit);
  leave_own(worker, unit->host);
  count(worker->stats.switches);
  klt_set_current(nullptr);
}

namespace {

[[gnu::always_inline]] inline Worker* leave_and_come_back(Worker* worker, Unit* unit, AfterSwitch action, void* arg) noexcept {
  put_aside(worker, unit);
  Stack* from = unit->host->stack;
  if (__builtin_expect(unit_is(unit->host, flag::kPrimary), 0) && leave_its_klt(worker, unit, action, arg)) {
    // it has come back
  } else if (__builtin_expect(worker->parent == nullptr, 1)) {
    Stack* to = worker->sched_stack;
    san::before_switch(from->san, to->san, to->low, to->usable(), false);
    context_switch_to_entry(&unit->context, to->top, scheduler_restart, worker, unit,
                            reinterpret_cast<void*>(action), arg);
  } else {
    worker->left = {unit, action, arg};
    Stack* to = worker->parent_stack;
    san::before_switch(from->san, to->san, to->low, to->usable(), false);
    context_switch(&unit->context, worker->parent);
  }
  san::after_switch(from->san);
  worker = guard_worker();
  enter_own(unit->host);
  return worker;
}

}  // namespace

[[gnu::noinline]] Worker* leave_unit(Worker* worker, Unit* unit, AfterSwitch action, void* arg) noexcept {
  return leave_and_come_back(worker, unit, action, arg);
}

[[gnu::noinline]] WEFT_RETURNS_BY_JUMP Worker* leave_unit_far(Worker* worker, Unit* unit, AfterSwitch action, void* arg) noexcept {
  return leave_and_come_back(worker, unit, action, arg);
}

static void goes_on_at_once(Worker* worker, Unit* unit, void*) noexcept {
  watch_unit(worker, unit, UnitEvent::kYield);
  unit_transition(unit, UnitState::kReady);
  dispatch_next(worker, unit, nullptr);
}

void leave_klt_of_main() noexcept {
  Worker* worker = guard_worker();
  Unit* unit = klt_current();
  if (!klt_self()->initial || unit == nullptr || unit_is(unit, flag::kTasklet) || unit_is(unit->host, flag::kPrimary)) return;
  if (unit->host->stack == nullptr && !prepare_next_stack(worker)) return;
  // The scopes that it is in (klt/no_preemption.hpp) are its own, and go with it.
  const auto scopes = klt_register_load<kKltNoPreemption, uint32_t>();
  klt_register_add32<kKltNoPreemption>(-scopes);
  put_aside(worker, unit);
  Stack* from = unit->host->stack;
  leave_for_base(worker, unit, goes_on_at_once, nullptr);
  san::after_switch(from->san);
  enter_own(unit->host);
  klt_register_add32<kKltNoPreemption>(scopes);
}

void drop_front_unit(Unit* unit) noexcept {
  CallbackScope scope;
  unit_drop_values(unit);
}

void move_unit(Worker* worker, Unit* unit) noexcept {
  Pool* const old = unit->pool.load(std::memory_order_relaxed);
  unit->flags.clear(flag::kDirect);
  const bool guest = unit->state.load(std::memory_order_relaxed) != UnitState::kFresh && unit->host != unit;
  unit->homed.store(guest, std::memory_order_relaxed);  // its joiner looks for that
  // Acquire, pairs with the release of whoever requested it: its target is seen. One that comes from here on
  // is another request.
  unit->requests.fetch_and(static_cast<uint8_t>(~kMoveRequest), std::memory_order_acq_rel);
  FrontHooks* hooks = unit->cold.front.hooks;
  if (hooks != nullptr) {
    CallbackScope scope;
    hooks->move(to_handle(unit), hooks);
  }
  const PoolHold hold(worker, old);
  push_ready_private(worker, unit);
  wake_for_pool(worker, old);  // its workers may have waited for this one unit to stop
}

void retire_stack(Worker* worker, const Unit* unit, Stack* stack) noexcept {
  if (!stack_intact(*stack)) overflow_noticed(unit, *stack);
  worker->stacks.retire(stack);
}

// ---- for schedulers that are saved --------------------------------------------------------------

namespace {

// One leg: until control is back at this scheduler, on whatever KLT. Inline, as all that is on the way to it: after a
// change of stack every return goes where the processor does not expect it.
[[gnu::always_inline]] inline void switch_to_unit(Worker* worker, Unit* unit, Context* here) noexcept {
  Stack* from = worker->parent_stack;
  if (unit->state.load(std::memory_order_relaxed) == UnitState::kFresh) {
    Stack* to = unit->stack;
    san::before_switch(from->san, to->san, to->low, to->usable(), false);
    context_switch_to_entry(here, to->top, own_stack_entry, worker, unit, nullptr, nullptr);
  } else if (Klt* captive = unit->host->captive; captive == nullptr || captive == klt_self()) {
    before_resume(worker, unit);
    Stack* to = unit->host->stack;
    san::before_switch(from->san, to->san, to->low, to->usable(), false);
    context_switch(here, &unit->context);
  } else if (!give_to_captive(worker, unit, here)) {
    return;
  }
  san::after_switch(from->san);
}

}  // namespace

namespace {

// What a scheduler that is saved has for itself while others run.
struct SavedScheduler {
  Unit* const me;  // null: a main scheduler
  Unit* const outer_me;
  Context* const outer;
  Stack* const outer_stack;
  Stack* const stack;
};

// A tick, or a block, in the scheduler's own turn may have found nobody who waits, so ticks and scout rest. Who waits for the place of
// the unit that comes now, in pools that only that scheduler takes from, be it one of the program's, nobody tells them of.
[[gnu::noinline, gnu::cold]] void others_may_wait(Worker* worker) noexcept {
  const uint32_t whom = worker->lane.tells.load(std::memory_order_relaxed);
  if ((whom & tell_to::kPreempt) != 0) preempt_unit_waits(worker);
  if ((whom & tell_to::kBlock) == 0) return;
  worker->lane.tells.fetch_and(~tell_to::kBlock, std::memory_order_seq_cst);
  block_unit_waits(worker);
}

// Runs a ULT until it leaves. `here`: where it leaves for.
[[gnu::always_inline]] inline void run_ult_from(Worker* worker, const SavedScheduler& saved, Context* here, Unit* unit) noexcept {
  if (unit->state.load(std::memory_order_relaxed) == UnitState::kFresh) {
    if (!give_stack(worker, unit)) return put_off(worker, unit);
    count(worker->stats.units_run);
  }
  set_parent(worker, here, saved.stack);
  if (__builtin_expect(worker->lane.tells.load(std::memory_order_relaxed) != 0, 0)) others_may_wait(worker);
  worker->left.action = nullptr;
  switch_to_unit(worker, unit, here);
  set_parent(worker, saved.outer, saved.outer_stack);
  // Field by field: a copy of the whole, by loads that are wider than the stores just before, would wait for these.
  Worker::Left& left = worker->left;
  const AfterSwitch action = std::exchange(left.action, nullptr);  // a KLT that carries the worker next is not to do it again
  if (action != nullptr) action(worker, left.unit, left.arg);
}

[[gnu::always_inline]] inline void run_one_from(Worker* worker, const SavedScheduler& saved, Context* here, Unit* unit) noexcept {
  note_fp(worker);
  if (anything_requested(unit) && obey_requests(worker, unit)) return;
  note_where(worker, unit);
  if (unit_is(unit, flag::kTasklet)) {
    run_tasklet(worker, unit);
  } else {
    run_ult_from(worker, saved, here, unit);
  }
}

// Then: whom the one that left has named, or a KLT that was given the worker for one unit.
[[gnu::always_inline]] inline void run_all_from(Worker* worker, const SavedScheduler& saved, Unit* unit) noexcept {
  Context here;
  worker->scheduling = saved.me;
  for (; unit != nullptr; unit = std::exchange(worker->dispatch_first, nullptr)) {
    klt_set_current(nullptr);
    run_one_from(worker, saved, &here, unit);
  }
  worker->scheduling = saved.outer_me;
  klt_set_current(saved.me);
}

// No scheduler is saved below it: the worker's main scheduler, or what a pool's or a front-end's function runs before a ULT's first unit.
[[gnu::always_inline]] inline bool is_main_alone(const Worker* worker) noexcept {
  return klt_current() == nullptr && worker->parent == nullptr;
}

[[gnu::always_inline]] inline void run_from_main(Worker* worker, Unit* unit) noexcept {
  run_all_from(worker, {nullptr, worker->scheduling, nullptr, nullptr, worker->sched_stack}, unit);
  klt_set_claim_floor(kNoClaim);
}

[[gnu::noinline]] void run_from_any(Worker* worker, Unit* unit) noexcept {
  Unit* const me = klt_current();
  if (me != nullptr) {
    if (me->host->stack == nullptr) detach_stack(worker, me);
    save_exceptions(me);
    leave_own(worker, me->host);
    ++worker->depth;
  }
  run_all_from(worker, {me, worker->scheduling, worker->parent, worker->parent_stack,
                        me != nullptr ? me->host->stack : worker->sched_stack}, unit);
  if (me == nullptr) return klt_set_claim_floor(kNoClaim);
  --worker->depth;
  set_floor(worker, me);
  restore_exceptions(me);
  enter_own(me->host);
}

}  // namespace

void run_from_scheduler(Worker* worker, Unit* unit) noexcept {
  timers_look(worker);
  if (!is_main_alone(worker)) return run_from_any(worker, unit);
  run_from_main(worker, unit);
}

int run_from_scheduler_and_leave(Worker* worker, Unit* unit) noexcept {
  timers_look(worker);
  if (is_main_alone(worker)) {
    run_from_main(worker, unit);
  } else {
    run_from_any(worker, unit);
  }
  return guard_leave_ok(guard_worker());
}

// ---- ends, continued ----------------------------------------------------------------------------

WEFT_LEFT_FOR_GOOD void exit_unit(Worker*, Unit* unit) noexcept {
  *(unit_owns(unit->host, own::kIdentity) ? exceptions_of_thread() : klt_exceptions()) = {};
  // The runner expects the guard down; it raises it itself.
  void* frame = unit->exit_frame;
  san::stack_reused(stack_pointer(), frame);  // the frames between are left without returning
  klt_register_store32<kKltGuard>(0);
  call_leave(frame);
}

}  // namespace weft::rt
