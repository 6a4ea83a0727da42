// unit.cpp: units of a front-end: made, queried, told to move or to end.
#include "api/control.hpp"
#include "api/handles.hpp"
#include "api/join.hpp"
#include "front/front.hpp"
#include "klt/guard.hpp"
#include "klt/kernel_sleep.hpp"
#include "worker/finish.hpp"
#include "worker/process_fork.hpp"
#include "worker/runtime.hpp"
#include "worker/watch.hpp"
#include "worker/worker.hpp"

namespace weft::front {

using namespace rt;

static_assert(offsetof(Unit, cold) + offsetof(UnitCold, front) == kFrontPartOffset);
static_assert(kKltCurrent == kCurrentOffset);
static_assert(offsetof(Unit, flags) == kFlagsOffset && kMade == flag::kFront && kTasklet == flag::kTasklet);

namespace {

// For the ring of this worker, which writes `inside`. In a free descriptor there are no hooks.
[[gnu::always_inline]] inline void write_fresh_here(Unit* unit, uint64_t header, weft_fn fn, void* arg,
                                                    Pool* home) noexcept {
  WEFT_DCHECK(unit_transition_allowed(unit->state.load(std::memory_order_relaxed), UnitState::kFresh));
  unit->fn = fn;
  unit->arg = arg;
  unit->pool.store(home, std::memory_order_relaxed);
  unit->joiner.store(0, std::memory_order_relaxed);
  unit->cold.front.fn = fn;
  unit->cold.front.arg = arg;
  unit_set_header(unit, header);
}

void write_fresh(Unit* unit, uint64_t header, weft_fn fn, void* arg, Pool* home, FrontHooks* hooks,
                 uint64_t context) noexcept {
  unit->inside.store(0, std::memory_order_relaxed);
  unit->cold.front.hooks = hooks;
  unit->cold.front.context = context;
  write_fresh_here(unit, header, fn, arg, home);
}

uint16_t flags_for(const UnitWish& wish) noexcept {
  uint32_t flags = flag::kFront;
  if (wish.detached) flags |= flag::kDetached;
  if (wish.hooks != nullptr) flags |= flag::kCold;
  if (wish.tasklet) flags |= flag::kTasklet;
  const bool own = wish.stack_memory != nullptr || wish.stack_size > stack_options().default_size / 2;
  if (own) flags |= flag::kOwnStack;
  if (wish.stack_memory != nullptr) flags |= flag::kStackKept | flag::kCold;
  const bool says = wish.preemption != WEFT_PREEMPTION_DEFAULT || wish.blocking != WEFT_BLOCKING_DEFAULT;
  if (says || wish.stack_size > stack_options().default_size) flags |= flag::kCold;
  if (wish.watched) flags |= flag::kWatched;
  if (!own && !wish.detached && !wish.watched && !says) flags |= flag::kClaimable;
  return static_cast<uint16_t>(flags);
}

// First in, first out, also with what others have pushed.
void take_inbox_first(Worker* worker, const Pool* pool) noexcept {
  if (worker == nullptr || worker->ring == nullptr || pool != worker->home()) return;
  if (worker->lane.has_inbox()) worker->lane.drain_inbox();
}

int create_with(Worker* worker, Pool* pool, weft_fn fn, void* arg, uint64_t context, const UnitWish& wish,
                weft_unit_t* out) noexcept {
  Unit* unit = worker != nullptr ? worker->units.pop() : unit_acquire_global();
  if (unit == nullptr) return WEFT_ERR_NO_MEMORY;
  const uint16_t flags = flags_for(wish);
  if (wish.stack_memory != nullptr) {
    unit->stack = stack_over(wish.stack_memory, wish.stack_size);
  } else if (wish.stack_size > stack_options().default_size) {
    unit->cold.stack_size = wish.stack_size;
  }
  if (wish.preemption != WEFT_PREEMPTION_DEFAULT) unit->cold.preemption = static_cast<uint8_t>(wish.preemption);
  if (wish.blocking != WEFT_BLOCKING_DEFAULT) unit->cold.blocking = static_cast<uint8_t>(wish.blocking);
  const uint64_t header = unit_header_of(UnitState::kFresh, flags, WEFT_PRIORITY_DEFAULT, false);
  write_fresh(unit, header, fn, arg, pool, wish.hooks, context);
  *out = to_handle(unit);
  take_inbox_first(worker, pool);
  if (wish.push) make_ready(worker, unit);
  return WEFT_OK;
}

// The guard may be up.
[[gnu::noinline]] int create_otherwise(weft_pool_t pool, weft_fn fn, void* arg, weft_unit_t* out,
                                       CreateOtherwise otherwise) noexcept {
  if (klt_register_valid()) guard_leave(guard_enter());
  return otherwise(pool, fn, arg, out);
}

template <bool kTasklet>
inline constexpr uint16_t kFlags = flag::kFront | (kTasklet ? flag::kTasklet : 0);
template <bool kTasklet>
inline constexpr uint64_t kNamed =
    unit_header_of(UnitState::kFresh, kFlags<kTasklet> | flag::kClaimable, WEFT_PRIORITY_DEFAULT, false);
template <bool kTasklet>
inline constexpr uint64_t kUnnamed =
    unit_header_of(UnitState::kFresh, kFlags<kTasklet> | flag::kDetached, WEFT_PRIORITY_DEFAULT, false);

// In a pool that is not the ring of this worker.
template <bool kTasklet>
[[gnu::noinline]] int create_elsewhere(weft_pool_t pool, weft_fn fn, void* arg, weft_unit_t* out,
                                       CreateOtherwise otherwise) noexcept {
  Pool* const home = from_handle(pool);
  Worker* const worker = guard_enter();
  Unit* const unit = worker != nullptr && home->builtin ? worker->units.pop() : nullptr;
  if (unit == nullptr) {
    guard_leave(worker);
    return otherwise(pool, fn, arg, out);
  }
  write_fresh(unit, out != nullptr ? kNamed<kTasklet> : kUnnamed<kTasklet>, fn, arg, home, nullptr, 0);
  if (out != nullptr) *out = to_handle(unit);
  if (home->lane_owner == nullptr) {
    push_and_wake(worker, home, unit);
  } else {
    take_inbox_first(worker, home);
    make_ready(worker, unit);
  }
  return guard_leave_ok(worker);
}

template <bool kTasklet>
[[gnu::always_inline]] inline int create(weft_pool_t pool, weft_fn fn, void* arg, weft_unit_t* out,
                                         CreateOtherwise otherwise) noexcept {
  if (__builtin_expect(!klt_register_valid(), 0)) return create_otherwise(pool, fn, arg, out, otherwise);
  if (kTasklet && __builtin_expect(leaves_its_klt(), 0)) return create_otherwise(pool, fn, arg, out, otherwise);
  Worker* worker = guard_try_enter();
  if (__builtin_expect(worker == nullptr, 0)) return create_otherwise(pool, fn, arg, out, otherwise);
  Lane& lane = worker->lane;
  const bool usual = worker->ring != nullptr && worker->home() == from_handle(pool) && worker->units.head != nullptr &&
                     !lane.ring_full() && !lane.has_inbox();
  if (__builtin_expect(!usual, 0)) {
    return create_elsewhere<kTasklet>(pool, fn, arg, out, otherwise);
  }
  Unit* unit = worker->units.pop_unchecked();
  WEFT_DCHECK(unit->cold.front.hooks == nullptr);
  write_fresh_here(unit, out != nullptr ? kNamed<kTasklet> : kUnnamed<kTasklet>, fn, arg, from_handle(pool));
  if (out != nullptr) *out = to_handle(unit);
  lane.push_fresh_unchecked(unit);
  return guard_leave_ok(worker);
}

}  // namespace

int ult_create_here(weft_pool_t pool, weft_fn fn, void* arg, weft_unit_t* unit,
                    CreateOtherwise otherwise) {
  return create<false>(pool, fn, arg, unit, otherwise);
}

int tasklet_create_here(weft_pool_t pool, weft_fn fn, void* arg, weft_unit_t* unit,
                        CreateOtherwise otherwise) {
  return create<true>(pool, fn, arg, unit, otherwise);
}

namespace {

// The guard may be up.
template <class Handle>
[[gnu::noinline]] int end_otherwise(Handle handle, int (*otherwise)(Handle)) noexcept {
  if (klt_register_valid()) guard_leave(guard_enter());
  return otherwise(handle);
}

}  // namespace

int join_here(weft_unit_t handle, int (*otherwise)(weft_unit_t)) {
  Unit* unit = from_handle(handle);
  const auto instead = [=] { return end_otherwise(handle, otherwise); };
  const auto ended = [=](Worker* worker) {
    return __builtin_expect(unit_needs_clear(unit), 0) ? instead() : guard_leave_ok(worker);
  };
  return join_at_once(unit, ended, instead);
}

int free_here(weft_unit_t* handle, weft_unit_t null, int (*otherwise)(weft_unit_t*)) {
  const auto ended = [=](Worker* worker, Unit* unit) {
    return ends_plainly(worker, unit) ? free_ended(worker, unit, handle, null) : end_otherwise(handle, otherwise);
  };
  return free_at_once(handle, null, ended, otherwise);
}

void units_make_ahead(unsigned n) {
  unit_make_ahead(n);
  if (Worker* worker = guard_enter()) {
    worker->lane.touch(n);
    guard_leave(worker);
  }
}

int unit_create(weft_pool_t pool, weft_fn fn, void* arg, uint64_t context, const UnitWish& wish,
                weft_unit_t* unit) {
  if (!runtime_running()) return WEFT_ERR_UNINITIALIZED;
  Worker* worker = section_enter();
  const int error = create_with(worker, from_handle(pool), fn, arg, context, wish, unit);
  section_leave(worker);
  if (worker == nullptr) process_start_threads();
  return error;
}

int unit_create_plain(weft_pool_t pool, weft_fn fn, void* arg, bool tasklet, bool detached, FrontHooks* hooks, weft_unit_t* out) {
  Worker* const worker = klt_register_valid() ? guard_try_enter() : nullptr;
  if (__builtin_expect(worker == nullptr, 0)) {
    UnitWish wish;
    wish.tasklet = tasklet;
    wish.detached = detached;
    wish.push = false;
    wish.hooks = hooks;
    return unit_create(pool, fn, arg, 0, wish, out);
  }
  Unit* const unit = worker->units.pop();
  if (__builtin_expect(unit == nullptr, 0)) {
    guard_leave(worker);
    return WEFT_ERR_NO_MEMORY;
  }
  const uint32_t flags = flag::kFront | flag::kCold | (tasklet ? flag::kTasklet : 0) | (detached ? flag::kDetached : flag::kClaimable);
  const uint64_t header = unit_header_of(UnitState::kFresh, static_cast<uint16_t>(flags), WEFT_PRIORITY_DEFAULT, false);
  write_fresh(unit, header, fn, arg, from_handle(pool), hooks, 0);
  *out = to_handle(unit);
  return guard_leave_ok(worker);
}

uint64_t unit_ids_given() { return rt::unit_ids_given(); }

void unit_discard(weft_unit_t handle) {
  Unit* unit = from_handle(handle);
  __atomic_store_n(&unit->cold.front.hooks, nullptr, __ATOMIC_RELAXED);
  Worker* worker = section_enter();
  recycle_unit_unrun(worker, unit);
  section_leave(worker);
}

int unit_revive(weft_unit_t handle, weft_pool_t pool, weft_fn fn, void* arg, uint64_t context, bool push) {
  Unit* unit = from_handle(handle);
  if (unit->joiner.load(std::memory_order_acquire) != kJoinDone) return WEFT_ERR_STATE;
  Worker* worker = section_enter();
  const auto flags = static_cast<uint16_t>(unit->flags & ~flag::kDirect);
  uint64_t header = unit_header_of(UnitState::kFresh, flags, unit->priority, false);
  if (unit->marked.load(std::memory_order_relaxed) != 0) header |= uint64_t{1} << 8;
  Pool* home = from_handle(pool);
  write_fresh(unit, header, fn, arg, home, unit->cold.front.hooks, context);
  take_inbox_first(worker, home);
  if (push) make_ready(worker, unit);
  section_leave(worker);
  if (worker == nullptr) process_start_threads();
  return WEFT_OK;
}

UnitView view(weft_unit_t handle) {
  const Unit* unit = from_handle(handle);
  UnitView view{};
  view.state = weft_unit_state(handle);
  view.suspended = view.state == WEFT_UNIT_BLOCKED &&
                   unit->slot.load(std::memory_order_relaxed) == static_cast<uint32_t>(WaitKind::kSuspend);
  view.detached = unit_is(unit, flag::kDetached);
  view.tasklet = unit_is(unit, flag::kTasklet);
  view.primary = unit_is(unit, flag::kPrimary);
  return view;
}

void set_arg(weft_unit_t handle, void* arg) {
  Unit* unit = from_handle(handle);
  unit->cold.front.arg = arg;
  if (unit_state(unit) == UnitState::kFresh) unit->arg = arg;
}

void set_home(weft_unit_t handle, weft_pool_t pool) {
  Unit* unit = from_handle(handle);
  unit->flags.clear(flag::kDirect);
  unit->pool.store(from_handle(pool), std::memory_order_relaxed);
}

bool set_hooks(weft_unit_t handle, FrontHooks* before, FrontHooks* hooks) {
  Unit* unit = from_handle(handle);
  unit_mark(unit);  // not a flag: another thread may ask
  // Release, pairs with the acquire in hooks() and in whoever calls them.
  return __atomic_compare_exchange_n(&unit->cold.front.hooks, &before, hooks, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE);
}

void request_move(weft_unit_t handle) {
  Unit* unit = from_handle(handle);
  unit_mark(unit);
  unit->requests.fetch_or(kMoveRequest, std::memory_order_release);
  unit->homed.store(true, std::memory_order_release);  // then it does not leave by a mere switch
}

void request_cancel(weft_unit_t handle) {
  Unit* unit = from_handle(handle);
  unit_mark(unit);
  unit->requests.fetch_or(kCancelRequest, std::memory_order_release);
}

weft_worker_t last_worker(weft_unit_t handle) {
  const Unit* unit = from_handle(handle);
  if (unit_state(unit) == UnitState::kFresh) return nullptr;
  const uint32_t inside = unit->inside.load(std::memory_order_relaxed);
  if ((inside & kRanOn) != 0) return weft_worker_get(inside & ~kRanOn);
  const Pool* pool = unit->pool.load(std::memory_order_relaxed);
  if (Worker* owner = pool->lane_owner) return to_handle(owner);
  for (unsigned word = 0; word < kMaxWorkers / 64; ++word) {
    const uint64_t bits = pool->consumers[word].load(std::memory_order_relaxed);
    if (bits != 0) return weft_worker_get(word * 64 + static_cast<unsigned>(__builtin_ctzll(bits)));
  }
  return nullptr;
}

bool stack_of(weft_unit_t handle, void** low, size_t* size) {
  const Unit* unit = from_handle(handle);
  if (unit_is(unit, flag::kTasklet | flag::kPrimary)) return false;
  const Stack* stack = unit->stack;
  if (stack == nullptr) return false;
  *low = stack->low;
  *size = stack->size;
  return true;
}

size_t default_stack_size() { return stack_options().default_size; }
bool stacks_are_guarded() { return stack_options().guard != GuardKind::kNone; }

void set_watcher(void (*watcher)(weft_unit_t unit, UnitEvent event, weft_unit_t by, weft_worker_t worker)) {
  set_unit_watcher(watcher);
}

void watch_self() {
  Worker* worker = guard_enter();
  if (worker == nullptr) return;
  Unit* unit = klt_current();
  if (unit != nullptr && unit_is(unit, flag::kFront)) {
    unit->flags.clear(flag::kDirect);
    unit->flags.set(flag::kWatched);
  }
  guard_leave(worker);
}

bool keep_in(weft_pool_t handle) {
  Worker* worker = guard_enter();
  if (worker == nullptr) return false;
  Unit* unit = klt_current();
  constexpr uint32_t kElsewhere = flag::kTasklet | flag::kPrimary | flag::kFront;
  const bool may = unit != nullptr && !unit_is(unit, kElsewhere) && unit->host == unit;
  Pool* pool = from_handle(handle);
  if (may && pool == nullptr) {
    unit->flags.clear(flag::kPinned);
    unit->homed.store(false, std::memory_order_relaxed);
    // As a preference it may be any lane.
    unit->pool.store(&worker->lane, std::memory_order_relaxed);
  } else if (may) {
    unit->flags.clear(flag::kDirect);
    unit->flags.set(flag::kPinned);
    unit->pool.store(pool, std::memory_order_relaxed);
    unit->homed.store(true, std::memory_order_relaxed);
    const Worker* owner = pool->lane_owner;
    const bool here = owner != nullptr ? owner == worker : may_pop(worker, pool);
    if (!here) worker = leave_unit(worker, unit, yield_action, nullptr);
  }
  guard_leave(worker);
  return may;
}

WaitView wait_of(weft_unit_t handle) {
  const Unit* unit = from_handle(handle);
  const auto kind = static_cast<WaitKind>(unit->slot.load(std::memory_order_relaxed));
  return {wait_kind_name(kind), static_cast<unsigned>(kind), unit->wait_object};
}

unsigned scheduling_depth(weft_worker_t worker) { return from_handle(worker)->depth; }

weft_unit_t scheduling_self() {
  Worker* worker = guard_enter();
  if (worker == nullptr) return nullptr;
  Unit* const unit = klt_current() == nullptr ? worker->scheduling : nullptr;
  guard_leave(worker);
  return to_handle(unit);
}

weft_unit_t stand_in_create(weft_pool_t pool) {
  Worker* worker = section_enter();
  Unit* unit = worker != nullptr ? worker->units.pop() : unit_acquire_global();
  if (unit != nullptr) {
    constexpr uint16_t kFlags = flag::kFront | flag::kDetached | flag::kCold;
    const uint64_t header = unit_header_of(UnitState::kFresh, kFlags, WEFT_PRIORITY_DEFAULT, false);
    write_fresh(unit, header, nullptr, nullptr, from_handle(pool), nullptr, 0);
    unit->host = unit;
    unit_transition(unit, UnitState::kRunning);
  }
  section_leave(worker);
  return to_handle(unit);
}

void stand_in_free(weft_unit_t handle) {
  Unit* unit = from_handle(handle);
  unit_transition(unit, UnitState::kTerminated);
  unit_drop_values(unit);
  Worker* worker = section_enter();
  unit_clear_cold(unit);
  unit_transition(unit, UnitState::kFree);
  recycle_fresh(worker, unit);
  section_leave(worker);
}

}  // namespace weft::front
