#include "worker/pool_sleep.hpp"

#include <algorithm>

#include "arch/pause.hpp"
#include "base/spin_lock.hpp"
#include "klt/guard.hpp"
#include "klt/process_gate.hpp"
#include "os/clock.hpp"
#include "os/futex.hpp"
#include "os/membarrier.hpp"
#include "worker/runtime.hpp"
#include "worker/spare_maker.hpp"
#include "worker/timers.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

// Whoever wakes one takes its waiter; it leaves the list by itself.
struct PoolSleepers {
  SpinLock lock;
  PoolSleeper* head = nullptr;
  std::atomic<unsigned> on_klts{0};  // those with a KLT
};
constinit PoolSleepers sleepers;

bool sleeps_on(const PoolSleeper& sleeper, const Pool* pool) noexcept {
  for (size_t i = 0; i < sleeper.pool_count; ++i) {
    if (sleeper.pools[i] == pool) return true;
  }
  return false;
}

// Those whose ULTs signal handlers would have to push into pools of the user's; by their `next`.
constinit std::atomic<Waiter*> left_by_handlers{nullptr};

// Sequentially consistent, as is the maker's wish: either that is new, or the maker looks here after it has seen the one before.
void leave_to_spare_maker(Waiter* waiter) noexcept {
  waiter->next = left_by_handlers.load(std::memory_order_relaxed);
  while (!left_by_handlers.compare_exchange_weak(waiter->next, waiter, std::memory_order_seq_cst)) {
  }
  spare_maker_look();
}

// A scheduler's ULT may have to go into a pool of the user's, whose function a KLT without a worker cannot call as a KLT, and a
// signal handler, which may have interrupted malloc, cannot call at all.
void wake_sleeper(Worker* worker, Waiter* waiter) noexcept {
  const bool no_worker = worker == nullptr && klt_register_valid() && klt_is_inside_here();
  if (!no_worker || waiter->unit == nullptr || goes_to_builtin(waiter->unit)) return waiter_wake(worker, waiter);
  if (klt_self()->passes_gate.load(std::memory_order_relaxed)) return leave_to_spare_maker(waiter);
  const AsThread scope(klt_self());
  waiter_wake(nullptr, waiter);
}

template <class F>
void wake_one(Worker* worker, F&& wanted) noexcept {
  Waiter* waiter = nullptr;
  sleepers.lock.lock();
  for (PoolSleeper* each = sleepers.head; each != nullptr && waiter == nullptr; each = each->next) {
    if (wanted(*each)) waiter = each->waiter.exchange(nullptr, std::memory_order_seq_cst);
  }
  sleepers.lock.unlock();
  if (waiter != nullptr) wake_sleeper(worker, waiter);
}

// Something that only this worker's scheduler gets done: a unit that waits for this KLT, or its own end.
bool is_wanted(const Worker* worker) noexcept {
  return worker->dispatch_first != nullptr ||
         (klt_self()->attention.load(std::memory_order_seq_cst) & attention::kDeferred) != 0 ||
         sched_should_stop(worker->sched);
}

bool look_round(Worker* worker, Pool* pool, bool scheduling, uint64_t end) noexcept {
  for (;;) {
    if (pool->size() != 0 || (scheduling && is_wanted(worker))) return true;
    if (worker != nullptr) rest_if_closed(klt_self());
    if (now_ns() >= end) return false;
    for (unsigned i = 0; i < 16; ++i) cpu_pause();
  }
}

// Until it is woken. With the guard down: the KLT sleeps as in the user's code, so others may open its worker's lane,
// or have the worker.
Worker* sleep_outside(Worker* worker, Waiter& waiter, uint64_t until) noexcept {
  section_leave(worker);
  // Acquire, pairs with the exchange of whoever wakes us.
  while (waiter.state.load(std::memory_order_acquire) != Waiter::kWoken) {
    if (until == kNever) {
      futex_wait(waiter.state, Waiter::kWaiting);
    } else if (now_ns() < until) {
      futex_wait_until(waiter.state, Waiter::kWaiting, until);
    } else {
      break;
    }
  }
  return section_enter();
}

}  // namespace

void pool_sleep_enter(PoolSleeper& sleeper) noexcept {
  if (sleeper.klt != nullptr) sleepers.on_klts.fetch_add(1, std::memory_order_seq_cst);
  sleepers.lock.lock();
  sleeper.next = sleepers.head;
  sleepers.head = &sleeper;
  sleepers.lock.unlock();
  for (size_t i = 0; i < sleeper.pool_count; ++i) {
    sleeper.pools[i]->sleepers.fetch_add(1, std::memory_order_seq_cst);
  }
}

void pool_sleep_leave(PoolSleeper& sleeper) noexcept {
  for (size_t i = 0; i < sleeper.pool_count; ++i) {
    sleeper.pools[i]->sleepers.fetch_sub(1, std::memory_order_seq_cst);
  }
  sleepers.lock.lock();
  for (PoolSleeper** link = &sleepers.head; *link != nullptr; link = &(*link)->next) {
    if (*link == &sleeper) {
      *link = sleeper.next;
      break;
    }
  }
  sleepers.lock.unlock();
  if (sleeper.klt != nullptr) sleepers.on_klts.fetch_sub(1, std::memory_order_relaxed);
}

void wake_pool_sleeper(Worker* worker, Pool* pool) noexcept {
  wake_one(worker, [pool](const PoolSleeper& each) { return sleeps_on(each, pool); });
}

void wake_pool_sleeper_on(const Klt* klt) noexcept {
  // Sequentially consistent, as is what it is woken for: either it sees that, or it is seen here.
  if (klt == nullptr || sleepers.on_klts.load(std::memory_order_seq_cst) == 0) return;
  wake_one(nullptr, [klt](const PoolSleeper& each) { return each.klt == klt; });
}

void wake_worker_and_sleeper(Worker* worker) noexcept {
  wake_worker(worker);
  wake_pool_sleeper_on(worker->carrier.load(std::memory_order_seq_cst));
}

void wake_left_by_handlers() noexcept {
  if (left_by_handlers.load(std::memory_order_seq_cst) == nullptr) return;
  Worker* none = section_enter();
  for (Waiter* waiter = left_by_handlers.exchange(nullptr, std::memory_order_seq_cst); waiter != nullptr;) {
    Waiter* const next = waiter->next;
    waiter_wake(none, waiter);
    waiter = next;
  }
  section_leave(none);
}

void forget_pool_sleepers() noexcept {
  left_by_handlers.store(nullptr, std::memory_order_relaxed);
  sleepers.head = nullptr;
  sleepers.on_klts.store(0, std::memory_order_relaxed);
}

Worker* pool_wait(Worker* worker, Pool* pool, uint64_t deadline) noexcept {
  const bool scheduling = worker != nullptr && klt_current() == nullptr;
  const uint64_t spin = now_ns() + static_cast<uint64_t>(runtime.options.idle_spin_us) * 1000u;
  if (look_round(worker, pool, scheduling, std::min(spin, deadline))) return worker;
  Waiter waiter;
  waiter_init(nullptr, waiter, WaitKind::kNone, pool);  // of no unit, whoever it is
  PoolSleeper sleeper;
  sleeper.waiter.store(&waiter, std::memory_order_relaxed);
  sleeper.pools = &pool;
  sleeper.pool_count = 1;
  if (scheduling) sleeper.klt = klt_self();
  pool_sleep_enter(sleeper);
  membarrier_all();
  const bool something = pool->size() != 0 || (scheduling && is_wanted(worker));
  const uint64_t until = worker != nullptr ? std::min(deadline, timers_unwatched()) : deadline;
  if (!something) worker = sleep_outside(worker, waiter, until);
  // If somebody has taken the waiter already, its wake-up has to be waited for.
  if (sleeper.waiter.exchange(nullptr, std::memory_order_seq_cst) == nullptr) {
    worker = sleep_outside(worker, waiter, kNever);
  }
  pool_sleep_leave(sleeper);
  return worker;
}

}  // namespace weft::rt
