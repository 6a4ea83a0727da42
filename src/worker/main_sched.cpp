// main_sched.cpp: the loop round a worker's main scheduler: replacing it, stopping.
#include <algorithm>
#include <mutex>

#include "arch/pause.hpp"
#include "klt/guard.hpp"
#include "klt/hand_over.hpp"
#include "os/clock.hpp"
#include "os/overflow.hpp"
#include "os/topology.hpp"
#include "worker/bell.hpp"
#include "worker/packing.hpp"
#include "worker/runtime.hpp"
#include "worker/timers.hpp"
#include "worker/watch.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

void set_consumer(Worker* worker, Sched* sched, bool on) noexcept {
  const uint64_t bit = uint64_t{1} << (worker->index % 64);
  for (size_t i = 0; i < sched->pool_count; ++i) {
    auto& word = sched->pools[i]->consumers[worker->index / 64];
    if (on) {
      word.fetch_or(bit, std::memory_order_seq_cst);
    } else {
      word.fetch_and(~bit, std::memory_order_seq_cst);
    }
  }
}

void adopt_new_sched(Worker* worker) noexcept {
  Sched* const old = worker->sched;
  if (!old->exit.load(std::memory_order_acquire) && !sched_may_be_replaced(old)) return;
  Replacement* const replacement = worker->replacement;
  worker->replacement = nullptr;
  Sched* sched = worker->new_sched.exchange(nullptr, std::memory_order_acquire);
  if (sched != nullptr) {
    if (old->patient) sched_hand_on(old, sched->pools[0]);
    set_main_sched(worker, sched);
  }
  if (replacement == nullptr) return;
  replacement->done = true;
  replacement->adopted(replacement->arg);
  Unit* const unit = replacement->unit;
  watch_unit(worker, unit, UnitEvent::kResume);
  unit_transition(unit, UnitState::kReady);
  push_ready_private(worker, unit);
}

// Precondition: its scheduler has found nothing.
bool told_to_stop(Worker* worker) noexcept {
  return worker->state.load(std::memory_order_acquire) == WorkerState::kStopping &&
         (!worker->sched->patient || sched_should_stop(worker->sched));
}

// To whoever waits for a worker that has stopped. Whoever did that has no worker any more.
void wake_joiners(Klt* self, Waiter* waiter) noexcept {
  if (waiter == nullptr) return;
  const AsThread scope(self);
  while (waiter != nullptr) {
    Waiter* const next = waiter->next;  // gone once it is woken
    waiter_wake(nullptr, waiter);
    waiter = next;
  }
}

// False: there is nothing to wait for.
bool add_joiner(Worker* worker, Waiter* waiter) noexcept {
  Waiter* head = worker->joiners.load(std::memory_order_relaxed);
  do {
    if (head == kNoMoreJoiners) return false;
    waiter->next = head;
    // Release, pairs with the acquire of the exchange in worker_stopped_on_base().
  } while (!worker->joiners.compare_exchange_weak(head, waiter, std::memory_order_release, std::memory_order_relaxed));
  return true;
}

bool goes_by_priority(const Sched* sched) noexcept {
  return sched->kind == WEFT_SCHED_PRIORITY ||
         std::any_of(sched->pools, sched->pools + sched->pool_count,
                     [](const Pool* pool) { return pool->kind == WEFT_POOL_PRIORITY; });
}

}  // namespace

void set_main_sched(Worker* worker, Sched* sched) noexcept {
  if (Sched* old = worker->sched) {
    old->pools[0]->unsettle(worker);
    old->pools[0]->begins(worker, false);
    set_consumer(worker, old, false);
    old->worker.store(nullptr, std::memory_order_release);
  }
  worker->sched = sched;
  worker->preempt.by_priority.store(goes_by_priority(sched), std::memory_order_relaxed);
  Pool* const home = sched->pools[0];
  worker->home_pool.store(home, std::memory_order_relaxed);
  const bool in_lane = home == &worker->lane || (sched->patient && home->settle(worker));
  if (in_lane) worker->lane.allow_woken();
  {
    const std::scoped_lock hold(worker->lane.lock);  // of one that has stopped: Lane::list_stopped()
    worker->ring = in_lane && !worker->lane.is_listed() ? &worker->lane : nullptr;
  }
  worker->ring_first = ring_may_come_first(sched) && in_lane;
  set_parent(worker, worker->parent, worker->parent_stack);
  worker->lane.open_forks(home == &worker->lane);
  sched->worker.store(worker, std::memory_order_release);
  set_consumer(worker, sched, true);
  if (sched->packing != nullptr) home->begins(worker, true);
  note_suspension(worker);
  if (worker->ring == nullptr) leave_lane(worker);
  packing_changed();
}

bool worker_take_from(Worker* worker, Pool* pool) noexcept {
  if (!sched_add_pool(worker->sched, pool)) return false;
  pool->consumers[worker->index / 64].fetch_or(uint64_t{1} << (worker->index % 64), std::memory_order_seq_cst);
  worker->ring_first = false;
  packing_changed();
  return true;
}

Unit* next_unit(Worker* worker) noexcept {
  for (;;) {
    if (Unit* unit = worker->dispatch_first) {
      worker->dispatch_first = nullptr;
      if (!is_suspended(worker) || !hand_on(worker, unit)) return unit;
      worker->named = {};
    }
    if (__builtin_expect(worker->new_sched.load(std::memory_order_relaxed) != nullptr, 0)) {
      adopt_new_sched(worker);
    }
    if (__builtin_expect(worker->lane.listing.load(std::memory_order_relaxed), 0)) worker->lane.make_listed(worker);
    if (__builtin_expect(has_strays(worker), 0)) leave_lane(worker);
    // Units that end on this stack do not give it back. Here it is as good as empty, and the ring's fast way
    // comes by every 64th time.
    if (__builtin_expect(!stack_intact(*worker->sched_stack), 0)) overflow_noticed(nullptr, *worker->sched_stack);
    if (__builtin_expect(bell_calls(worker), 0)) bell_answer(worker);
    Sched* sched = worker->sched;
    if (sched->user || sched->exit.load(std::memory_order_acquire)) return nullptr;
    timers_look(worker);
    const bool suspended = is_suspended(worker);
    if (__builtin_expect(suspended != worker->parked, 0)) note_suspension(worker);
    if (Unit* unit = suspended ? pick_suspended(worker, sched) : sched_pick(sched, worker)) return unit;
    if (told_to_stop(worker) || sched_should_stop(sched)) return nullptr;
    if ((klt_self()->attention.load(std::memory_order_relaxed) & attention::kDeferred) != 0) {
      take_deferred(worker);
      continue;
    }
    if (suspended) {
      idle_suspended(worker, sched);
      continue;
    }
    if (Unit* unit = idle_wait(worker, sched, sched->kind != WEFT_SCHED_BASIC_WAIT)) return unit;
  }
}

bool units_wait(Worker* worker) noexcept {
  if (worker->dispatch_first != nullptr || worker->parent != nullptr || worker->lane.has_unit()) return true;
  const uint64_t earliest = timers_earliest_of(worker);
  if (earliest != kNever && earliest <= now_ns()) return true;
  const Sched* sched = worker->sched;
  // How full a user's is only the user's function can tell, which may want to wait for a lock.
  return std::any_of(sched->pools, sched->pools + sched->pool_count,
                     [](Pool* pool) { return !pool->builtin || pool->size() != 0; });
}

void run_user_main(Worker* worker) noexcept {
  Sched* sched = worker->sched;
  klt_set_claim_floor(kNoClaim);
  klt_register_store32<kKltGuard>(kGuardDown);  // it may block; with no current unit nobody takes its worker
  sched->ops.run(to_handle(sched), sched->data);
  klt_register_store32<kKltGuard>(kGuardUp);
  worker = guard_worker();
  // A scheduler that returns without having been replaced has finished its worker.
  if (worker->new_sched.load(std::memory_order_acquire) == nullptr) {
    worker->state.store(WorkerState::kStopping, std::memory_order_release);
  }
}

bool worker_may_stop(Worker* worker) noexcept {
  return worker->new_sched.load(std::memory_order_acquire) == nullptr &&
         (told_to_stop(worker) || sched_should_stop(worker->sched));
}

void worker_stopped_on_base(void* worker_arg, void*) noexcept {
  auto* worker = static_cast<Worker*>(worker_arg);
  Klt* self = klt_self();
  give_begin(self);
  forget_tag(self);
  self->worker.store(nullptr, std::memory_order_relaxed);
  worker->carrier.store(nullptr, std::memory_order_release);
  self->take.store(Take::kNone, std::memory_order_release);
  wake_joiners(self, worker->joiners.exchange(kNoMoreJoiners, std::memory_order_acquire));
  worker->state.store(WorkerState::kStopped, std::memory_order_release);
  runtime.active.fetch_sub(1, std::memory_order_relaxed);
  if (worker->suspended.exchange(false, std::memory_order_seq_cst)) {
    runtime.suspended.fetch_sub(1, std::memory_order_relaxed);
  }
  packing_changed();
  san::release(worker);
  // Release, pairs with the acquire of whoever joins it. From here on it may be freed, and so may the joiners' pools.
  worker->stopped.store(1, std::memory_order_release);
  futex_wake_all(worker->stopped);
}

void worker_wait_stopped(Worker* worker) noexcept {
  Worker* mine = section_enter();
  Waiter waiter;
  waiter_init(mine, waiter, WaitKind::kWorker, worker);
  if (waiter.unit != nullptr && add_joiner(worker, &waiter)) mine = waiter_wait(mine, waiter);
  section_leave(mine);
  // Whoever has woken a ULT may be at it still, and look at the ULT's pool: that ends with a few instructions.
  constexpr unsigned kLooks = 300;  // some 10 µs
  const unsigned looks = waiter.unit != nullptr ? kLooks : 0;
  for (unsigned i = 0; i < looks && worker->stopped.load(std::memory_order_relaxed) == 0; ++i) cpu_pause();
  while (worker->stopped.load(std::memory_order_acquire) == 0) futex_wait(worker->stopped, 0);
}

void bind_carrier(Klt* klt, Worker* worker) noexcept {
  const int cpu = worker->cpu.load(std::memory_order_seq_cst);
  if (klt->bound_cpu.load(std::memory_order_relaxed) == cpu) return;
  const int tid = klt->tid.load(std::memory_order_acquire);
  if (tid == 0) return;  // its thread is only starting: it binds itself
  if (cpu >= 0) {
    if (bind_thread(cpu, tid) != 0) return;
  } else if (runtime.affinity_known && set_affinity(runtime.affinity, tid) != 0) {
    return;  // a thread starts with the binding of the one that made it
  }
  klt->bound_cpu.store(cpu, std::memory_order_relaxed);
}

}  // namespace weft::rt
