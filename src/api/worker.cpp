// worker.cpp: weft_worker_*.
#include <mutex>

#include "os/topology.hpp"
#include "api/handles.hpp"
#include "klt/guard.hpp"
#include "klt/hand_over.hpp"
#include "klt/no_preemption.hpp"
#include "worker/packing.hpp"
#include "worker/pool_sleep.hpp"
#include "worker/process_fork.hpp"
#include "worker/runtime.hpp"
#include "worker/spare_maker.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

Worker* live_worker(weft_worker_t handle) noexcept {
  Worker* worker = from_handle(handle);
  if (worker == nullptr) return nullptr;
  for (unsigned i = 0; i < runtime.worker_slots.load(std::memory_order_acquire); ++i) {
    if (runtime.workers[i].load(std::memory_order_acquire) == worker) return worker;
  }
  return nullptr;
}

// The affinity mask of the process as it was before its workers were bound.
bool process_may_use(int cpu) noexcept {
  return !runtime.affinity_known || runtime.affinity.contains(cpu);
}

// A ULT of a front-end's in a pool that others' schedulers have, too: it goes on there when this worker has stopped. Where it
// runs it may not have chosen: a tick, or a block, may have brought it here. Not below a stacked scheduler, for which its worker would wait.
bool goes_on_elsewhere() noexcept {
  if (!klt_register_valid()) return false;
  Worker* worker = guard_enter();
  if (worker == nullptr) return false;
  const Unit* unit = klt_current();
  bool may = unit != nullptr && unit_is(unit, flag::kFront) && !unit_is(unit, flag::kTasklet) && worker->scheduling == nullptr;
  if (may) {
    const Pool* home = unit->pool.load(std::memory_order_relaxed);
    may = home->access != WEFT_ACCESS_PRIV && home->schedulers.load(std::memory_order_relaxed) > 1;
  }
  guard_leave(worker);
  return may;
}

void rebind(Worker* worker) noexcept {
  Worker* mine = section_enter();
  if (mine == worker) {
    bind_carrier(klt_self(), worker);
  } else if (Klt* carrier = worker->carrier.load(std::memory_order_seq_cst)) {
    // Or it has a new carrier by now, which has seen the new CPU: the exchange in hand_to() comes first.
    carrier->attention.fetch_or(attention::kBind, std::memory_order_seq_cst);
  }
  section_leave(mine);
}

// Nobody has it. What a worker began with is that one's alone, and is gone with it.
bool may_be_main(const Sched* sched, const Worker* worker) noexcept {
  if (sched->worker.load() != nullptr || sched->stacked.load()) return false;
  return !sched->implicit || (worker != nullptr && sched == &worker->own_sched);
}

// The ULT that replaces its worker's scheduler goes on under the new one.
void move_to_new_sched(Worker* worker, Unit* unit, void*) {
  Pool* home = worker->new_sched.load(std::memory_order_relaxed)->pools[0];
  unit->host->pool.store(home, std::memory_order_relaxed);
  unit->pool.store(home, std::memory_order_relaxed);
  unit->homed.store(true, std::memory_order_relaxed);
  unit_transition(unit, UnitState::kReady);
  home->push(worker, unit);
}

}  // namespace

Pool* foreign_home() noexcept {
  const unsigned slots = runtime.worker_slots.load(std::memory_order_acquire);
  const unsigned first = runtime.next_lane.fetch_add(1, std::memory_order_relaxed);
  for (unsigned i = 0; i < slots; ++i) {
    Worker* worker = runtime.workers[(first + i) % slots].load(std::memory_order_acquire);
    if (worker == nullptr || worker->suspended.load(std::memory_order_relaxed)) continue;
    if (worker->home() == &worker->lane) return &worker->lane;
  }
  return runtime.workers[0].load(std::memory_order_acquire)->home();
}

}  // namespace weft::rt

using namespace weft::rt;

extern "C" {

int weft_worker_create(weft_sched_t sched_handle, weft_worker_t* out) {
  if (!runtime_running()) return WEFT_ERR_UNINITIALIZED;
  if (out == nullptr) return WEFT_ERR_INVALID;
  Sched* sched = from_handle(sched_handle);
  if (sched != nullptr && !may_be_main(sched, nullptr)) return WEFT_ERR_STATE;
  process_start_threads();
  Klt* const klt = spare_for_new_worker();
  Worker* mine = section_enter();
  Worker* worker = worker_create(sched);
  if (worker == nullptr && klt != nullptr) klt_put_back(klt);
  int error = worker != nullptr ? worker_start(worker, klt) : WEFT_ERR_NO_MEMORY;
  if (error == WEFT_OK) {
    *out = to_handle(worker);
  } else if (worker != nullptr) {
    worker_destroy(worker);
  }
  section_leave(mine);
  return error;
}

int weft_worker_join(weft_worker_t handle) {
  Worker* worker = live_worker(handle);
  if (worker == nullptr) return WEFT_ERR_INVALID;
  if (worker->index == 0) return WEFT_ERR_STATE;
  if (weft_worker_self() == handle && !goes_on_elsewhere()) return WEFT_ERR_SELF;
  WorkerState active = WorkerState::kActive;
  worker->state.compare_exchange_strong(active, WorkerState::kStopping, std::memory_order_seq_cst);
  Worker* mine = section_enter();
  wake_worker_and_sleeper(worker);
  section_leave(mine);
  worker_wait_stopped(worker);
  return WEFT_OK;
}

int weft_worker_free(weft_worker_t* handle) {
  if (handle == nullptr) return WEFT_ERR_INVALID;
  if (const int error = weft_worker_join(*handle); error != WEFT_OK) return error;
  Worker* mine = section_enter();
  worker_destroy(from_handle(*handle));
  section_leave(mine);
  *handle = nullptr;
  return WEFT_OK;
}

int weft_worker_revive(weft_worker_t handle) {
  Worker* worker = live_worker(handle);
  if (worker == nullptr) return WEFT_ERR_INVALID;
  if (worker->state.load(std::memory_order_relaxed) != WorkerState::kStopped) return WEFT_ERR_STATE;
  Klt* const klt = spare_for_new_worker();  // first: a ULT is suspended there, and others may revive the worker
  WorkerState stopped = WorkerState::kStopped;
  if (!worker->state.compare_exchange_strong(stopped, WorkerState::kNew)) {
    if (klt != nullptr) klt_put_back(klt);
    return WEFT_ERR_STATE;
  }
  worker->sched->finish.store(false, std::memory_order_relaxed);
  worker->sched->exit.store(false, std::memory_order_relaxed);
  Worker* mine = section_enter();
  const int error = worker_start(worker, klt);
  if (error != WEFT_OK) worker->state.store(WorkerState::kStopped, std::memory_order_release);
  section_leave(mine);
  return error;
}

int weft_worker_bind(weft_worker_t handle, int cpu) {
  Worker* worker = live_worker(handle);
  if (worker == nullptr || cpu < -1) return WEFT_ERR_INVALID;
  if (cpu >= kMaxCpus || (cpu >= 0 && !process_may_use(cpu))) return WEFT_ERR_INVALID;
  worker->cpu.store(cpu, std::memory_order_seq_cst);
  rebind(worker);
  return WEFT_OK;
}

int weft_worker_cpu(weft_worker_t handle) {
  Worker* worker = live_worker(handle);
  return worker != nullptr ? worker->cpu.load(std::memory_order_relaxed) : -1;
}

int weft_worker_set_sched(weft_worker_t handle, weft_sched_t sched_handle) {
  Worker* worker = live_worker(handle);
  Sched* sched = from_handle(sched_handle);
  if (worker == nullptr || sched == nullptr) return WEFT_ERR_INVALID;
  if (!may_be_main(sched, worker)) return WEFT_ERR_STATE;
  Worker* mine = section_enter();
  Unit* unit = mine != nullptr ? klt_current() : nullptr;
  const bool may = mine == worker && unit != nullptr && !unit_is(unit, flag::kTasklet);
  // Another one has replaced it, and waits until it looks: that one's pools would have no scheduler.
  if (!may || worker->new_sched.load(std::memory_order_relaxed) != nullptr) {
    section_leave(mine);
    return WEFT_ERR_STATE;
  }
  worker->new_sched.store(sched, std::memory_order_release);
  mine = leave_unit(worker, unit, move_to_new_sched, nullptr);
  guard_leave(mine);
  return WEFT_OK;
}

weft_sched_t weft_worker_sched(weft_worker_t handle) {
  Worker* worker = live_worker(handle);
  return worker != nullptr ? to_handle(worker->sched) : nullptr;
}

weft_pool_t weft_worker_pool(weft_worker_t handle) {
  Worker* worker = live_worker(handle);
  return worker != nullptr ? to_handle(worker->home()) : nullptr;
}

weft_worker_t weft_worker_self(void) {
  Worker* worker = guard_enter();
  if (worker == nullptr) return nullptr;
  const weft_worker_t handle = to_handle(worker);
  guard_leave(worker);
  return handle;
}

unsigned weft_worker_index(weft_worker_t handle) {
  return handle != nullptr ? from_handle(handle)->index : 0;
}

weft_worker_t weft_worker_get(unsigned index) {
  return index < kMaxWorkers ? to_handle(runtime.workers[index].load(std::memory_order_acquire))
                             : nullptr;
}

unsigned weft_worker_count(void) { return runtime.active.load(std::memory_order_relaxed); }

int weft_workers_set_active(unsigned n) {
  const NoPreemption scope;
  std::lock_guard hold(runtime.setup);
  if (!runtime_running()) return WEFT_ERR_UNINITIALIZED;
  Worker* mine = section_enter();
  const int error = workers_set_active(n);
  section_leave(mine);
  return error;
}

unsigned weft_workers_active(void) { return runtime_running() ? workers_active() : 0; }

int weft_worker_stats(weft_worker_t handle, weft_worker_stats_t* out) {
  Worker* worker = live_worker(handle);
  if (worker == nullptr || out == nullptr) return WEFT_ERR_INVALID;
  const WorkerStats& from = worker->stats;
  constexpr auto kRelaxed = std::memory_order_relaxed;
  out->units_run = from.units_run.load(kRelaxed);
  out->units_claimed = from.units_claimed.load(kRelaxed);
  out->forks = from.forks.load(kRelaxed);
  out->switches = from.switches.load(kRelaxed);
  out->steals = from.steals.load(kRelaxed);
  out->sleeps = from.sleeps.load(kRelaxed);
  out->handovers = from.handovers.load(kRelaxed);
  out->promotions = from.promotions.load(kRelaxed);
  return WEFT_OK;
}

}  // extern "C"
