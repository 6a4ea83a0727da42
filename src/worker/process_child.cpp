// process_child.cpp: what a forked child makes of the parent's runtime. Runs in the child's only thread,
// before anybody else's handler: no lock is taken, and what is said of owners elsewhere does not count here.
//
// The ULT that has called fork() becomes the primary one, on a worker of its own; all other units are
// dropped. Every structure is whole, because the gate was closed (klt/process_gate.hpp), so that it can be
// walked; where walking is not needed it is made anew.
// Rejected: putting this off until the child first calls Weft, for the sake of children that call exec(): the
// kernel would then unmap the same stacks, and queries would have to ask first.
#include <algorithm>
#include <cerrno>
#include <mutex>
#include <new>

#include "base/check.hpp"
#include "identity/identity.hpp"
#include "identity/number.hpp"
#include "inspect/dump.hpp"
#include "klt/hand_over.hpp"
#include "klt/process_gate.hpp"
#include "klt/kernel_sleep.hpp"
#include "klt/no_preemption.hpp"
#include "klt/program_signals.hpp"
#include "os/membarrier.hpp"
#include "os/overflow.hpp"
#include "unit/local.hpp"
#include "unit/stack.hpp"
#include "worker/bell.hpp"
#include "worker/lender_signal.hpp"
#include "worker/pool_hold.hpp"
#include "worker/pool_sleep.hpp"
#include "worker/process_fork.hpp"
#include "worker/runtime.hpp"
#include "worker/spare_maker.hpp"
#include "worker/timers.hpp"

namespace weft::rt {
namespace {

constinit bool stranded = false;
constinit bool left_behind = false;
constinit std::atomic<bool> threads_wait{false};  // to be started; written under runtime.setup

// ---- units

bool ended(const Unit* unit) noexcept { return unit_state(unit) == UnitState::kTerminated; }

// A tasklet forks on the stack of the ULT that joins it or has it run, or of a stacked scheduler: that ULT stays behind, and its stack does not.
bool is_here(const Stack& stack) noexcept {
  const auto* here = static_cast<const char*>(stack_pointer());
  return here >= stack.low && here < stack.top;
}

// Stacks of the default size go by the batch. That of main is the thread's; its record is the survivor's now.
void drop_stack(Unit* unit, const Unit* survivor) noexcept {
  Stack* stack = unit->stack;
  const bool lenders = stack != nullptr && stack->part;  // which has stayed behind
  if (stack == nullptr || (unit_is(unit, flag::kStackKept) && ended(unit) && !lenders)) return;  // for a revival
  const bool stays = stack == &primary_stack || (survivor != nullptr && unit == survivor->host) || is_here(*stack);
  if (!stays && !lenders && stack->batch == nullptr) stack_dispose(stack);
  unit->stack = nullptr;
  unit->flags.clear(flag::kStackKept);
}

// Whoever had lent it stayed behind.
void forget_identity(Unit* unit) noexcept {
  if (!unit_owns(unit, own::kIdentity)) return;
  unit->cold.own &= static_cast<uint8_t>(~own::kIdentity);
  unit->exceptions[0] = nullptr;
}

void drop_unit(Unit* unit, const Unit* survivor) noexcept {
  const bool fresh = unit_state(unit) == UnitState::kFresh;
  drop_stack(unit, survivor);
  locals_forget(unit);
  forget_identity(unit);
  unit_transition(unit, UnitState::kForked);
  unit->joiner.store(fresh ? kJoinNotStarted : kJoinTaken, std::memory_order_relaxed);
  unit->inside.store(0, std::memory_order_relaxed);
  unit->captive = nullptr;
  if (!unit_is(unit, flag::kDetached)) return;
  if (unit_needs_clear(unit)) unit_clear_cold(unit);
  unit_transition(unit, UnitState::kFree);
  unit_release_global(unit);
}

// One that has ended keeps its result and its values, for whoever joins it.
void keep_ended(Unit* unit) noexcept {
  drop_stack(unit, nullptr);
  forget_identity(unit);
  if (unit->pool.load(std::memory_order_relaxed)->lane_owner == nullptr) return;
  unit->pool.store(&runtime.workers[0].load(std::memory_order_relaxed)->lane, std::memory_order_relaxed);
}

void forget_units(Unit* survivor) noexcept {
  const auto forget = [](Unit* unit, void* arg) {
    const auto* saved = static_cast<const Unit*>(arg);
    if (unit == saved) return;
    if (saved == nullptr || (!ended(unit) && unit_state(unit) != UnitState::kForked)) drop_unit(unit, saved);
  };
  unit_for_each(forget, survivor);
}

// ---- workers

void forget_worker(Worker* worker) noexcept {
  san::acquire(worker);
  worker->units.drain();
  worker->stacks.drain_others();
  worker->stacks.head = nullptr;
  worker->stacks.count = 0;
  worker->sched_stack = nullptr;
  worker->next_stack = nullptr;
  worker_end_own_sched(worker);
  worker->sched = nullptr;
  set_parent(worker, nullptr, nullptr);
  worker->left = {nullptr, nullptr, nullptr};
  worker->tick = 0;
  ::new (&worker->stats) WorkerStats;
  worker->carrier.store(nullptr, std::memory_order_relaxed);
  worker->park.store(0, std::memory_order_relaxed);
  worker->asleep.store(Sleep::kAwake, std::memory_order_relaxed);
  worker_retire(worker);
}

// `own` last: the next worker that is made gets its record.
void forget_workers(Worker* own) noexcept {
  for (auto& slot : runtime.workers) {
    Worker* worker = slot.exchange(nullptr, std::memory_order_relaxed);
    if (worker != nullptr && worker != own) forget_worker(worker);
  }
  if (own != nullptr) forget_worker(own);
  runtime.worker_slots.store(0, std::memory_order_relaxed);
  runtime.active.store(0, std::memory_order_relaxed);
  runtime.suspended.store(0, std::memory_order_relaxed);
  runtime.sleepers.store(0, std::memory_order_relaxed);
  runtime.searchers.store(0, std::memory_order_relaxed);
  runtime.hungry.store(0, std::memory_order_relaxed);
  ults_in_kernel.store(0, std::memory_order_relaxed);
}

// ---- what the survivor takes along

struct Survivor {
  Unit* unit = nullptr;
  // Forks that nobody has taken yet: pointers into the lane of its worker.
  weft_fork_t** fork_low = nullptr;
  weft_fork_t** fork_top = nullptr;
};

// Those of joiners below it on the same stack are dropped with them; they are the older ones.
void find_forks(Survivor& survivor, const Worker* own, const Stack& stack) noexcept {
  if (own == nullptr || own->lane.forks_empty()) return;
  survivor.fork_low = own->lane.fork_low.load(std::memory_order_relaxed);
  survivor.fork_top = own->lane.fork_top.load(std::memory_order_relaxed);
  if (survivor.unit->host == survivor.unit) return;
  const auto below = [&](const void* fork) {
    return fork > survivor.unit->exit_frame && fork < static_cast<const void*>(stack.top);
  };
  while (survivor.fork_low != survivor.fork_top && below(*survivor.fork_low)) *survivor.fork_low++ = nullptr;
}

const Stack& stack_of(const Unit* unit, const Worker* own) noexcept {
  const Stack* stack = unit->host->stack != nullptr ? unit->host->stack : own->sched_stack;
  WEFT_CHECK(stack != nullptr);
  return *stack;
}

// By whoever makes a unit: at the end of that. A thread that is no KLT does it itself (process_start_threads()).
void ask_for_threads() noexcept {
  if (klt_register_valid()) klt_register_or32<kKltAttention>(attention::kThreads);
}

// From now on it is what main was: its stack is there for good, and its end that of the process.
void make_primary(Unit* unit, Worker* worker, Klt* self) noexcept {
  // A thread that has become a ULT has none: its outermost frame is the C library's already.
  if (!unit_is(unit, flag::kPrimary) && unit->exit_frame != nullptr) context_divert(unit->exit_frame);
  const uint32_t kept = unit->flags & (flag::kCold | flag::kNamed | flag::kOwnState | flag::kFront);
  unit->flags = static_cast<uint16_t>(kept | flag::kPrimary | flag::kPinned | flag::kOwnStack);
  unit->requests.store(0, std::memory_order_relaxed);
  // A front-end's may keep a pool of the program's: the front-end sees to who serves it.
  const Pool* pool = unit->pool.load(std::memory_order_relaxed);
  const Worker* owner = pool->lane_owner;
  const bool in_lane = owner != nullptr && pool == &owner->lane;
  if (in_lane || !unit_is(unit, flag::kFront)) unit->pool.store(&worker->lane, std::memory_order_relaxed);
  unit->homed.store(true, std::memory_order_relaxed);
  unit->joiner.store(kJoinTaken, std::memory_order_relaxed);
  unit->host = unit;
  unit->stack = &primary_stack;
  unit->captive = self;
  unit->claim_floor.store(claim_floor_of(primary_stack), std::memory_order_relaxed);
  runtime.primary = unit;
}

// `front`: what a front-end knows its worker by.
void go_on(const Survivor& survivor, Klt* self, void* front) noexcept {
  forget_tag(self);
  self->worker.store(nullptr, std::memory_order_relaxed);
  // Its identity, if it has one, is the thread's own from here on.
  if (unit_owns(survivor.unit->host, own::kIdentity)) {
    identity_becomes_native(self->thread_pointer);
    forget_identity(survivor.unit->host);
  }
  const bool known = membarrier_register() && klt_become_initial(self);
  Worker* worker = known ? worker_create(nullptr) : nullptr;
  WEFT_CHECK(worker != nullptr && "no memory to go on after fork()");
  worker->front.store(front, std::memory_order_relaxed);
  if (survivor.fork_low != survivor.fork_top) {
    worker->lane.fork_low.store(survivor.fork_low, std::memory_order_relaxed);
    worker->lane.fork_top.store(survivor.fork_top, std::memory_order_relaxed);
  }
  // Its worker may have been taken: the kernel is where fork() is.
  // Or its KLT had been let out for another fork(), and it waits in its pool.
  if (unit_state(survivor.unit) == UnitState::kInKernel) unit_transition(survivor.unit, UnitState::kReady);
  if (unit_state(survivor.unit) == UnitState::kReady) unit_transition(survivor.unit, UnitState::kRunning);
  make_primary(survivor.unit, worker, self);
  worker->state.store(WorkerState::kActive, std::memory_order_relaxed);
  worker->carrier.store(self, std::memory_order_relaxed);
  note_fp(worker);
  runtime.active.store(1, std::memory_order_relaxed);
  runtime.initial = self;
  self->worker.store(worker, std::memory_order_relaxed);
  klt_set_claim_floor(survivor.unit->claim_floor.load(std::memory_order_relaxed));
  bind_carrier(self, worker);  // it has no CPU of its own: the process's mask
  preempt_become_child(self, worker);
  block_become_child(self, worker);
  bool others = false;  // which may be revived
  const auto keep = [](Unit* unit, void* others_arg) {
    if (!ended(unit)) return;
    keep_ended(unit);
    *static_cast<bool*>(others_arg) = true;
  };
  unit_for_each(keep, &others);
  threads_wait.store(true, std::memory_order_relaxed);
  unit_tell_of_next(ask_for_threads);
  if (others) ask_for_threads();
}

// No ULT has called fork(): as if the runtime had never been started.
void leave_behind(Klt* self) noexcept {
  left_behind = true;
  runtime.running.store(false, std::memory_order_relaxed);
  runtime.initialized = 0;
  runtime.initial = nullptr;
  runtime.primary = nullptr;
  inspect_stop();
  overflow_remove();
  preempt_become_child(self, nullptr);
  block_become_child(self, nullptr);
  if (self == nullptr) return;
  stranded = true;
  klt_register_hide();
  // When what is on its stack returns into Weft, it comes to guard_enter_slow().
  forget_tag(self);
  self->worker.store(nullptr, std::memory_order_relaxed);
  self->take.store(Take::kForked, std::memory_order_relaxed);
}

}  // namespace

void process_become_child(Klt* self, bool inside) noexcept {
  inspect_forget();
  bell_forget();
  spare_maker_forget();
  identity_forget();
  numbers_become_child();
  process_forget_threads();
  others_take_signals(false);
  lender_pass_on_forget();
  if (inside) return leave_behind(self);  // nothing is whole
  Survivor survivor;
  Worker* own = nullptr;
  void* front = nullptr;
  if (self != nullptr) {
    own = self->worker.load(std::memory_order_relaxed);
    Unit* unit = self->current.load(std::memory_order_relaxed);
    if (own != nullptr) front = own->front.load(std::memory_order_relaxed);
    if (unit != nullptr && !unit_is(unit, flag::kTasklet)) survivor.unit = unit;
  }
  if (survivor.unit != nullptr) {
    const Stack& stack = stack_of(survivor.unit, own);
    find_forks(survivor, own, stack);
    if (&stack != &primary_stack) stack_adopt(primary_stack, stack.low, stack.top);
  }
  forget_units(survivor.unit);
  timers_forget();
  forget_workers(own);
  klts_forget_all_but(self);
  pools_forget_units();
  scheds_forget_users();
  forget_pool_sleepers();
  forget_pool_holds();
  // The stack pointer may be in a coroutine of the program's.
  stack_forget_all_but(survivor.unit != nullptr ? primary_stack.top : stack_pointer());
  if (survivor.unit == nullptr) {
    leave_behind(self);
  } else {
    go_on(survivor, self, front);
  }
  identity_unmap_forgotten();
}

void process_start_threads() noexcept {
  if (!threads_wait.load(std::memory_order_relaxed)) return;
  const int error = errno;
  {
    const NoPreemption scope;
    std::lock_guard hold(runtime.setup);
    if (threads_wait.exchange(false, std::memory_order_relaxed)) {
      preempt_start_in_child();
      block_start_in_child();
    }
  }
  errno = error;
}

void process_forget_threads() noexcept {
  threads_wait.store(false, std::memory_order_relaxed);
  unit_tell_of_next(nullptr);
}

bool process_is_stranded() noexcept { return stranded; }
bool process_left_runtime_behind() noexcept { return left_behind && !runtime_running(); }

}  // namespace weft::rt
