// ready.cpp: where a unit goes when it becomes ready.
#include "pool/pool.hpp"
#include "worker/runtime.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

const Unit* host_of(const Unit* unit) noexcept {
  return unit->state.load(std::memory_order_relaxed) == UnitState::kFresh ? unit : unit->host;
}

// The pool that it has to go to, or null: any lane will do, so the caller's own.
Pool* required_pool(const Unit* unit) noexcept {
  if (unit_is(unit, flag::kFront)) return unit->pool.load(std::memory_order_relaxed);
  const Unit* host = host_of(unit);
  if (unit_is(host, flag::kPinned | flag::kFront)) return host->pool.load(std::memory_order_relaxed);
  Pool* pool = unit->pool.load(std::memory_order_relaxed);
  return unit->homed.load(std::memory_order_relaxed) || pool->lane_owner == nullptr ? pool : nullptr;
}

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

// A foreign thread has no lane: it uses the workers' in turn.
Lane* some_lane() noexcept {
  const unsigned slots = runtime.worker_slots.load(std::memory_order_acquire);
  const unsigned first = runtime.next_lane.fetch_add(1, std::memory_order_relaxed);
  for (unsigned i = 0; i < slots; ++i) {
    Worker* worker = runtime.workers[(first + i) % slots].load(std::memory_order_acquire);
    if (worker != nullptr && worker->home == &worker->lane && !worker->lane.is_listed() &&
        worker->state.load(std::memory_order_relaxed) == WorkerState::kActive) {
      return &worker->lane;
    }
  }
  return nullptr;
}

}  // namespace

bool push_if_own_lane(Worker* worker, Unit* unit) noexcept {
  if (!is_own_lane(worker, required_pool(unit))) return false;
  worker->lane.push_private(unit);
  return true;
}

bool goes_to_ring(Worker* worker, const Unit* unit) noexcept {
  return is_own_lane(worker, required_pool(unit)) && worker->ring != nullptr && worker->lane.ring_room() > 0;
}

Unit* first_in_ring(Worker* worker) noexcept {
  const bool ordinary = worker->ring_first && worker->parent == nullptr && worker->dispatch_first == nullptr &&
                        worker->new_sched.load(std::memory_order_relaxed) == nullptr &&
                        !worker->lane.has_inbox() && ((worker->tick + 1) & kLookRound) != 0;
  Unit* unit = ordinary ? worker->lane.front_private() : nullptr;
  if (unit == nullptr || unit->requests.load(std::memory_order_relaxed) != 0 || unit_is(unit, flag::kFront)) {
    return nullptr;
  }
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
  pool->push(worker, unit);
  wake_for_pool(worker, pool);
}

void make_ready(Worker* worker, Unit* unit) noexcept {
  Pool* pool = required_pool(unit);
  if (worker != nullptr && is_own_lane(worker, pool)) {
    push_in_order(worker, unit);
    return;  // who is hungry has set our attention
  }
  if (pool == nullptr) {
    pool = some_lane();
    if (pool == nullptr) pool = unit->pool.load(std::memory_order_relaxed);
  }
  pool->push(worker, unit);
  wake_for_pool(worker, pool);
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

void dispatch_next(Worker* worker, Unit* unit) noexcept {
  if (Unit* other = worker->dispatch_first) push_ready_private(worker, other);
  worker->dispatch_first = unit;
}

// Its KLT went to sleep while the unit was left with it: the unit's own worker picks it again.
void klt_return_deferred(Unit* unit) noexcept { make_ready(nullptr, unit); }

}  // namespace weft::rt
