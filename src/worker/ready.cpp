// ready.cpp: where a unit goes when it becomes ready.
#include <algorithm>

#include "klt/kernel_sleep.hpp"
#include "pool/pool.hpp"
#include "worker/packing.hpp"
#include "worker/pool_hold.hpp"
#include "worker/runtime.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

const Unit* host_of(const Unit* unit) noexcept {
  return unit->state.load(std::memory_order_relaxed) == UnitState::kFresh ? unit : unit->host;
}

}  // namespace

Pool* required_pool(const Unit* unit) noexcept {
  if (unit_is(unit, flag::kFront)) return unit->pool.load(std::memory_order_relaxed);
  const Unit* host = host_of(unit);
  if (unit_is(host, flag::kPinned | flag::kFront)) return host->pool.load(std::memory_order_relaxed);
  Pool* pool = unit->pool.load(std::memory_order_relaxed);
  const Worker* owner = pool->lane_owner;
  // Not one that only lies in a lane for now (HostedPool): its units are its schedulers', whoever these are later.
  if (owner == nullptr || pool != &owner->lane) return pool;
  if (!unit->homed.load(std::memory_order_relaxed)) return nullptr;
  // A home pool is a preference, which a suspended worker cannot meet.
  const bool gone = owner->suspended.load(std::memory_order_relaxed) && !owner->lane.is_listed();
  return gone ? nullptr : pool;
}

namespace {

// Whether a unit that has to go there (null: any lane will do) goes into the worker's own lane.
bool is_own_lane(Worker* worker, const Pool* required) noexcept {
  if (required == nullptr) return worker->ring != nullptr;
  return required->lane_owner == worker && !worker->lane.is_listed();
}

// Behind what others have pushed before.
void push_in_order(Worker* worker, Unit* unit) noexcept {
  if (worker->lane.has_inbox()) worker->lane.drain_inbox();
  worker->lane.push_private(unit);
}

// Its lane is where units of any lane may go.
bool takes_any(const Worker* worker) noexcept {
  // Acquire, pairs with the release in worker_start(): its record may have been another's before.
  return worker->state.load(std::memory_order_acquire) == WorkerState::kActive && worker->home() == &worker->lane &&
         !worker->lane.is_listed() && !worker->suspended.load(std::memory_order_relaxed);
}

// Calls push(lane) with the lane of a worker that cannot stop before that has returned. False: that one takes none.
template <class F>
bool push_if_it_takes_any(Worker* worker, Worker* to, F&& push) noexcept {
  if (!takes_any(to)) return false;
  const PoolHold hold(worker, &to->lane);
  // Full fence, pairs with the one of leave_lane(): it sees the hold, or we see that it stops.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!takes_any(to)) return false;
  push(to->lane);
  return true;
}

// A foreign thread has no lane: it uses the workers' in turn. False: none takes it.
template <class F>
bool push_into_some_lane(Worker* worker, F&& push) noexcept {
  const unsigned slots = runtime.worker_slots.load(std::memory_order_acquire);
  const unsigned first = runtime.next_lane.fetch_add(1, std::memory_order_relaxed);
  for (unsigned i = 0; i < slots; ++i) {
    Worker* to = runtime.workers[(first + i) % slots].load(std::memory_order_acquire);
    if (to != nullptr && push_if_it_takes_any(worker, to, push)) return true;
  }
  return false;
}

}  // namespace

bool is_taken_over(const Pool* pool) noexcept {
  if (const Worker* owner = pool->lane_owner; owner != nullptr && !owner->lane.is_listed()) return false;
  for (unsigned word = 0; word < kMaxWorkers / 64; ++word) {
    for (uint64_t bits = pool->consumers[word].load(std::memory_order_relaxed); bits != 0; bits &= bits - 1) {
      const unsigned index = word * 64 + static_cast<unsigned>(__builtin_ctzll(bits));
      const Worker* worker = runtime.workers[index].load(std::memory_order_acquire);
      if (worker != nullptr && !worker->suspended.load(std::memory_order_seq_cst) &&
          worker->state.load(std::memory_order_relaxed) == WorkerState::kActive) {
        return true;
      }
    }
  }
  return false;
}

bool others_may_run(const Unit* unit) noexcept {
  // Left with this KLT (take_deferred()): another worker would only bring it back.
  const bool fresh = unit->state.load(std::memory_order_relaxed) == UnitState::kFresh;
  if (!fresh && unit->host->captive == klt_self()) return false;
  const Pool* pool = required_pool(unit);
  return pool == nullptr || is_taken_over(pool);
}

void push_and_wake(Worker* worker, Pool* pool, Unit* unit) noexcept {
  const PoolHold hold(worker, pool);
  pool->push(worker, unit);
  if (leaves_its_klt() || !serves_alone(worker, pool)) wake_for_pool(worker, pool);
}

void push_all_and_wake(Worker* worker, Pool* pool, UnitList& units, unsigned n) noexcept {
  const PoolHold hold(worker, pool);
  pool->push_all(worker, units);
  for (unsigned i = 0; i < n; ++i) wake_for_pool(worker, pool);
}

bool hand_on(Worker* worker, Unit* unit) noexcept {
  if (!others_may_run(unit)) return false;
  Pool* pool = required_pool(unit);
  if (pool != nullptr) {
    push_and_wake(worker, pool, unit);
    return true;
  }
  // Behind what is ready there, and not into its shared part, where it would wait until that worker is idle.
  return push_into_some_lane(worker, [unit](Lane& lane) {
    lane.push_inbox(unit);
    wake_worker(lane.lane_owner);
  });
}

void leave_lane(Worker* worker) noexcept {
  Lane& lane = worker->lane;
  // Full fence, pairs with the one of push_if_it_takes_any(): who pushes still is waited for.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  wait_for_pool_holds(&lane);
  if (lane.is_listed() || !lane.has_unit()) return;
  const auto goes = [worker](Unit* unit) {
    Pool* pool = required_pool(unit);
    if (pool != nullptr && pool->lane_owner == worker) return false;
    if (pool != nullptr) {
      push_and_wake(worker, pool, unit);
    } else {
      make_ready(nullptr, unit);  // as from outside: into the shared part of a lane, where whoever is idle finds it
    }
    return true;
  };
  if (lane.has_inbox()) lane.drain_inbox();
  lane.take_some(lane.ring_head.load(std::memory_order_relaxed), goes);
  lane.set_barren();  // else the others would look for units here for ever
  if (worker->state.load(std::memory_order_relaxed) == WorkerState::kActive) return;
  // Of what is shared others take what they want as long as there is the worker.
  for (uint32_t left = lane.shared_count.load(std::memory_order_relaxed); left > 0; --left) {
    Unit* unit = lane.pop_shared();
    if (unit == nullptr) break;
    if (!goes(unit)) lane.push_shared(unit);
  }
}

void send_to(Worker* worker, Unit* unit, Worker* to) noexcept {
  const bool goes = to != worker && required_pool(unit) == nullptr && others_may_run(unit) &&
                    push_if_it_takes_any(worker, to, [unit](Lane& lane) {
                      lane.push_inbox(unit);
                      wake_worker(lane.lane_owner);
                    });
  if (!goes) push_ready_private(worker, unit);
}

// Whoever is idle steals. But one that always has somebody to run, who only spins, is never idle, and keeps its two while another
// has six: each of these has a third of the time, and whoever waits for it waits for three times as long. Lengths of others' rings
// are a moment's: what is moved wrongly is moved back, or was as well off there.
Worker* emptier_worker(Worker* worker, const Unit* unit) noexcept {
  constexpr unsigned kAsked = 8;
  if (!is_own_lane(worker, required_pool(unit)) || required_pool(unit) != nullptr) return nullptr;
  const uint32_t mine = worker->lane.ring_length();  // besides this one
  if (mine < 2 || !others_may_run(unit)) return nullptr;
  const unsigned slots = runtime.worker_slots.load(std::memory_order_acquire);
  const auto first = static_cast<unsigned>(worker->stats.handovers.load(std::memory_order_relaxed)) + worker->tick;
  for (unsigned i = 0; i < std::min(slots, kAsked); ++i) {
    Worker* other = runtime.workers[(first + i) % slots].load(std::memory_order_acquire);
    if (other == nullptr || other == worker || !takes_any(other) || other->lane.has_inbox()) continue;
    if (other->lane.ring_length() + 2 <= mine) return other;
  }
  return nullptr;
}

bool push_if_own_lane(Worker* worker, Unit* unit) noexcept {
  if (!is_own_lane(worker, required_pool(unit))) return false;
  worker->lane.push_private(unit);
  return true;
}

bool goes_to_ring(Worker* worker, const Unit* unit) noexcept {
  return is_own_lane(worker, required_pool(unit)) && worker->ring != nullptr && worker->lane.ring_room() > 0;
}

bool scheduler_has_its_turn(const Worker* worker) noexcept {
  return worker->parent != nullptr || worker->dispatch_first != nullptr ||
         worker->new_sched.load(std::memory_order_relaxed) != nullptr;
}

bool may_pass_scheduler(const Unit* unit) noexcept {
  return unit->requests.load(std::memory_order_relaxed) == 0 && !unit_is(unit, flag::kFront);
}

Unit* first_in_ring(Worker* worker) noexcept {
  const bool ordinary = worker->ring_first && !scheduler_has_its_turn(worker) && !worker->lane.has_inbox() &&
                        ((worker->tick + 1) & kLookRound) != 0;
  Unit* unit = ordinary ? worker->lane.front_private() : nullptr;
  if (unit == nullptr || !may_pass_scheduler(unit)) return nullptr;
  ++worker->tick;  // else the scheduler would never get its turn
  return unit;
}

void push_ready_private(Worker* worker, Unit* unit) noexcept {
  Pool* pool = required_pool(unit);
  if (is_own_lane(worker, pool)) {
    push_in_order(worker, unit);
    return;
  }
  if (pool == nullptr) pool = unit->pool.load(std::memory_order_relaxed);
  push_and_wake(worker, pool, unit);
}

void make_ready(Worker* worker, Unit* unit) noexcept {
  Pool* pool = required_pool(unit);
  if (worker != nullptr && is_own_lane(worker, pool)) {
    push_in_order(worker, unit);
    return;  // who is hungry has set our attention
  }
  if (pool == nullptr) {
    const bool went = push_into_some_lane(worker, [=](Lane& lane) {
      lane.push(worker, unit);
      wake_for_pool(worker, &lane);
    });
    if (went) return;
    pool = unit->pool.load(std::memory_order_relaxed);
  }
  push_and_wake(worker, pool, unit);
}

bool goes_to_builtin(const Unit* unit) noexcept {
  return unit->pool.load(std::memory_order_relaxed)->builtin && host_of(unit)->pool.load(std::memory_order_relaxed)->builtin;
}

void make_ready_without_worker(Klt* self, Unit* unit) noexcept {
  if (goes_to_builtin(unit)) return make_ready(nullptr, unit);
  const AsThread scope(self);  // the user's function may call Weft
  make_ready(nullptr, unit);
}

void take_deferred(Worker* worker) noexcept {
  Klt* self = klt_self();
  self->attention.fetch_and(~attention::kDeferred, std::memory_order_seq_cst);
  if (Unit* unit = self->deferred.exchange(nullptr, std::memory_order_seq_cst)) {
    // Here whatever its pool is: elsewhere another worker would pick it, and leave it with this KLT again.
    if (worker->ring != nullptr) {
      worker->lane.push_private(unit);
    } else if (worker->dispatch_first == nullptr) {
      worker->dispatch_first = unit;
    } else {
      push_ready_private(worker, unit);
    }
  }
}

void dispatch_next(Worker* worker, Unit* unit, Unit* by) noexcept {
  if (Unit* other = worker->dispatch_first) push_ready_private(worker, other);
  worker->dispatch_first = unit;
  if (by != nullptr && __builtin_expect(unit_is(unit, flag::kWatched), 0)) worker->named = {unit, by};
}

// Its KLT went to sleep while the unit was left with it: the unit's own worker picks it again.
void klt_return_deferred(Unit* unit) noexcept { make_ready_without_worker(klt_self(), unit); }

}  // namespace weft::rt
