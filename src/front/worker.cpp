// worker.cpp: workers, and the runtime, beyond weft.h.
#include <cerrno>

#include "api/handles.hpp"
#include "front/front.hpp"
#include "identity/identity.hpp"
#include "identity/keeper.hpp"
#include "inspect/dump.hpp"
#include "inspect/loaded.hpp"
#include "inspect/unwind.hpp"
#include "klt/guard.hpp"
#include "klt/kernel_sleep.hpp"
#include "klt/no_preemption.hpp"
#include "klt/program_signals.hpp"
#include "os/clock.hpp"
#include "os/cpu_set.hpp"
#include "os/local_ranks.hpp"
#include "os/quota.hpp"
#include "os/topology.hpp"
#include "worker/adopt.hpp"
#include "worker/bell.hpp"
#include "worker/identity.hpp"
#include "worker/process_fork.hpp"
#include "worker/runtime.hpp"
#include "worker/spare_maker.hpp"
#include "worker/watch.hpp"
#include "worker/worker.hpp"

namespace weft::front {

using namespace rt;

namespace {

// What a front-end's worker starts with: its lane alone, from which nobody steals, and it from nobody.
// Of a worker whose scheduler is not running just now, or the caller's own.
void begin_lane_sched(Worker* worker) noexcept {
  Sched* own = &worker->own_sched;
  if (!own->implicit) sched_begin_implicit(own, WEFT_SCHED_BASIC, &worker->lane);
  own->kind = WEFT_SCHED_BASIC;
  own->steals_lanes = false;
  own->patient = true;
  set_main_sched(worker, own);
}

void replace_action(Worker* worker, Unit* unit, void* arg) {
  unit_note_wait(unit, WaitKind::kNone, nullptr, coarse_now_ns());
  watch_unit(worker, unit, UnitEvent::kSuspend);
  unit_transition(unit, UnitState::kBlocked);
  Replacement* const before = worker->replacement;
  auto* const replacement = static_cast<Replacement*>(arg);
  replacement->left(replacement->arg);
  worker->replacement = replacement;
  // Release, pairs with the acquire in adopt_new_sched(), for those who look from elsewhere.
  worker->new_sched.store(replacement->sched, std::memory_order_release);
  if (before == nullptr) return;
  Unit* const overtaken = before->unit;
  watch_unit(worker, overtaken, UnitEvent::kResume);
  unit_transition(overtaken, UnitState::kReady);
  push_ready_private(worker, overtaken);
}

bool is_primary() noexcept { return klt_register_valid() && klt_current() == runtime.primary; }

}  // namespace

int initialize(const weft_options_t* options) {
  if (const int error = weft_initialize(options); error != WEFT_OK) return error;
  if (!is_primary()) {
    static_cast<void>(weft_finalize());
    return WEFT_ERR_CONTEXT;
  }
  Worker* worker = guard_enter();
  runtime.primary->cold.front = {};
  runtime.primary->flags.set(flag::kFront | flag::kCold);
  begin_lane_sched(worker);
  guard_leave(worker);
  return WEFT_OK;
}

int finalize() { return runtime_finalize_dropping(); }

const Topology* topology() { return read_topology(); }
UsableCpus usable_cpus(const Topology& topology) {
  const double quota = cpu_quota();
  return {rt::usable_cpus(topology, quota), workers_for(cpu_share(topology), local_ranks(), quota)};
}
void prefer_cpus(const int* cpus, int count) { runtime_prefer_cpus(cpus, count); }

bool may_adopt() { return adopt_unsupported() == nullptr; }
void will_adopt() { others_take_signals(true); }
int adopt_caller(weft_pool_t home) { return rt::adopt_caller(from_handle(home)); }
void leave_unwinder() { inspect_leaves_unwinder(keeper_ask); }
void load_unwinder() { unwind_prepare(); }
const link_map* object_of(const void* code) { return loaded_object(code); }
uint32_t blocking_settings_made() { return block_settings_made(); }
int begin_awareness(uint32_t settings_made) { return block_begin_auto(settings_made); }

bool begin_identities() {
  if (identity_unsupported() != nullptr) return false;
  const NoPreemption scope;
  std::lock_guard hold(runtime.setup);
  return keeper_start();  // who needs an identity asks for it again
}
void identities_foreseen(unsigned n, size_t stack_size) {
  Worker* worker = section_enter();
  identity_wait_begins(n, identity_stack_size(stack_size));
  section_leave(worker);
}
void identities_had(unsigned n) { identity_wait_ends(n); }

weft_unit_t primary() { return to_handle(runtime.primary); }

void worker_set_front(weft_worker_t worker, void* front) {
  from_handle(worker)->front.store(front, std::memory_order_release);
}
void* worker_front(weft_worker_t worker) { return from_handle(worker)->front.load(std::memory_order_acquire); }

void* my_front() {
  if (!klt_register_valid()) return nullptr;
  Worker* worker = guard_enter();
  const Unit* unit = klt_current();
  const bool ours = unit == nullptr || unit_is(unit, flag::kFront);
  void* front = ours ? worker->front.load(std::memory_order_relaxed) : nullptr;
  guard_leave(worker);
  return front;
}

weft_pool_t worker_lane(weft_worker_t worker) { return to_handle(static_cast<Pool*>(&from_handle(worker)->lane)); }

bool worker_stopped(weft_worker_t worker) {
  return from_handle(worker)->state.load(std::memory_order_acquire) == WorkerState::kStopped;
}

int worker_create(weft_sched_t sched, void* front, weft_worker_t* out) {
  if (!runtime_running()) return WEFT_ERR_UNINITIALIZED;
  process_start_threads();
  Worker* mine = section_enter();
  Worker* worker = rt::worker_create(from_handle(sched));
  if (worker != nullptr) {
    if (sched == nullptr) begin_lane_sched(worker);
    worker->front.store(front, std::memory_order_release);
    *out = to_handle(worker);
  }
  section_leave(mine);
  return worker != nullptr ? WEFT_OK : WEFT_ERR_NO_MEMORY;
}

int worker_start(weft_worker_t worker) {
  Klt* const klt = spare_for_new_worker();
  Worker* mine = section_enter();
  const int error = rt::worker_start(from_handle(worker), klt);
  section_leave(mine);
  return error;
}

void worker_discard(weft_worker_t worker) {
  Worker* mine = section_enter();
  worker_destroy(from_handle(worker));
  section_leave(mine);
}

bool worker_replace_sched(weft_sched_t sched, void (*left)(void* arg), void (*adopted)(void* arg), void* arg) {
  Worker* worker = guard_enter();
  Unit* unit = klt_current();
  Replacement replacement{unit, from_handle(sched), left, adopted, arg, false};
  leave_unit(worker, unit, replace_action, &replacement);
  guard_leave(guard_worker());
  return replacement.done;
}

void worker_drop_sched() {
  Worker* worker = guard_enter();
  begin_lane_sched(worker);
  guard_leave(worker);
}

void worker_in_child(weft_sched_t sched) {
  Worker* worker = guard_enter();
  if (sched == nullptr) {
    begin_lane_sched(worker);
  } else {
    set_main_sched(worker, from_handle(sched));
  }
  guard_leave(worker);
}

void worker_change_stopped(weft_worker_t handle, weft_sched_t sched) {
  Worker* mine = section_enter();
  Worker* worker = from_handle(handle);
  set_main_sched(worker, from_handle(sched));
  section_leave(mine);
}

bool worker_take_from(weft_pool_t pool) {
  Worker* worker = guard_enter();
  const bool done = worker != nullptr && rt::worker_take_from(worker, from_handle(pool));
  if (worker != nullptr) guard_leave(worker);
  return done;
}

void set_bell(void (*function)()) { bell.function.store(function, std::memory_order_release); }
void set_lasting_bell(void (*function)()) { bell.lasting.store(function, std::memory_order_release); }
void ring_bell() { bell_ring(); }

void carrier_to(unsigned cpu) {
  Worker* worker = guard_enter();  // on one KLT
  if (worker == nullptr) return;
  if (cpu_now() == static_cast<int>(cpu)) return guard_leave(worker);
  const int error = errno;
  Klt* self = klt_self();
  const int tid = self->tid.load(std::memory_order_relaxed);
  // It may take long, and may be long after it was asked for: what the program's threads have blocked meanwhile is not for this one to take.
  const bool between = !unit_owns(klt_current()->host, own::kIdentity);
  if (between) take_no_signals(self);
  CpuSet all, one;
  one.add(static_cast<int>(cpu));
  const bool may = get_affinity(all, tid) == 0 && all.contains(static_cast<int>(cpu));
  if (may && set_affinity(one, tid) == 0) set_affinity(all, tid);
  if (between) take_signals(self);
  errno = error;
  guard_leave(guard_worker());
}

static_assert(kMostCpus == kMaxCpus);
bool may_use_cpu(int cpu) { return runtime.affinity_known && runtime.affinity.contains(cpu); }

void primary_may_host(bool may) {
  Unit* primary = runtime.primary;
  const uintptr_t floor = may ? claim_floor_of(primary_stack) : kNoClaim;
  primary->claim_floor.store(floor, std::memory_order_relaxed);
  Worker* worker = guard_enter();
  if (worker == nullptr) return;
  const Unit* unit = klt_current();
  if (unit != nullptr && !unit_is(unit, flag::kTasklet) && unit->host == primary && worker->parent == nullptr) {
    klt_set_claim_floor(floor);
  }
  guard_leave(worker);
}

}  // namespace weft::front
