// sched.cpp: the built-in policies. They keep nothing between two units but a worker's tick and its
// random numbers.
#include "sched/sched.hpp"

#include <algorithm>
#include <new>

#include "klt/registry.hpp"
#include "pool/lane.hpp"
#include "pool/pool.hpp"
#include "sched/packing.hpp"
#include "worker/pool_hold.hpp"
#include "worker/runtime.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

// Marsaglia's xorshift64: a few instructions, and good enough to spread thieves.
uint64_t next_random(Worker* worker) noexcept {
  uint64_t x = worker->random;
  if (x == 0) x = 0x9e3779b97f4a7c15u * (worker->index + 1);
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  worker->random = x;
  return x;
}

// A number below n, from the upper bits, without a division.
unsigned random_below(Worker* worker, unsigned n) noexcept {
  return static_cast<unsigned>(((next_random(worker) >> 32) * n) >> 32);
}

// pools[first], pools[first + 1] …, and then from pools[low] on.
Unit* pop_round(Sched* sched, Worker* worker, size_t low, size_t first) noexcept {
  const size_t n = sched->pool_count;
  for (size_t i = first; i < n; ++i) {
    if (Unit* unit = sched->pools[i]->pop(worker)) return unit;
  }
  for (size_t i = low; i < first; ++i) {
    if (Unit* unit = sched->pools[i]->pop(worker)) return unit;
  }
  return nullptr;
}

// BASIC begins with another pool now and then, so that those behind a busy one are not starved: when it has picked as
// many units as there were the last time, and 64 at least. A fixed number would not do: a unit of a pool behind
// that makes more than so many each time would get its turn before they have run, and they would become ever more.
constexpr uint32_t kShortestRound = 64;
constexpr size_t kLongestRound = uint32_t{1} << 30;

bool is_turn_of_others(Sched* sched, uint32_t tick) noexcept {
  // Past is a large number, and so is the tick of another worker, which a stacked scheduler may see.
  if (sched->turn_at - tick - 1 < sched->round) return false;
  size_t waiting = kShortestRound;
  for (size_t i = 0; i < sched->pool_count; ++i) waiting = std::max(waiting, sched->pools[i]->size());
  const bool first = sched->round == 0;
  sched->round = static_cast<uint32_t>(std::min(waiting, kLongestRound));
  sched->turn_at = tick + sched->round;
  return !first;
}

Unit* pick_basic(Sched* sched, Worker* worker) noexcept {
  const uint32_t tick = ++worker->tick;
  size_t first = 0;
  if (sched->pool_count > 1 && is_turn_of_others(sched, tick)) {
    first = sched->turn_of = sched->turn_of + 1 < sched->pool_count ? sched->turn_of + 1 : 1;
  }
  return pop_round(sched, worker, 0, first);
}

Unit* steal_from_lanes(Worker* worker) noexcept {
  const unsigned slots = runtime.worker_slots.load(std::memory_order_acquire);
  if (slots < 2) return nullptr;
  unsigned i = random_below(worker, slots);
  for (unsigned left = slots; left > 0; --left, i = i + 1 == slots ? 0 : i + 1) {
    Worker* victim = runtime.workers[i].load(std::memory_order_acquire);
    if (victim == nullptr || victim == worker || !victim->lane.has_shared() || victim->lane.is_listed()) continue;
    if (Unit* unit = victim->lane.try_steal()) {
      count(worker->stats.steals);
      return unit;
    }
  }
  return nullptr;
}

// Of the pools behind the first.
Unit* steal_from_pools(Sched* sched, Worker* worker) noexcept {
  const auto others = static_cast<unsigned>(sched->pool_count - 1);
  if (others == 0) return nullptr;
  Unit* unit = pop_round(sched, worker, 1, 1 + random_below(worker, others));
  if (unit != nullptr) count(worker->stats.steals);
  return unit;
}

[[gnu::noinline]] Unit* steal(Sched* sched, Worker* worker) noexcept {
  if (Unit* unit = steal_from_pools(sched, worker)) return unit;
  return sched->steals_lanes ? steal_from_lanes(worker) : nullptr;
}

[[gnu::noinline]] Unit* pick_other(Sched* sched, Worker* worker) noexcept {
  switch (sched->kind) {
    case WEFT_SCHED_BASIC:
    case WEFT_SCHED_BASIC_WAIT: return pick_basic(sched, worker);
    case WEFT_SCHED_PRIORITY: return pop_round(sched, worker, 0, 0);
    case WEFT_SCHED_PACKING: return packing_pick(sched, worker);
    case WEFT_SCHED_RANDWS: break;
  }
  Unit* unit = sched->pools[0]->pop(worker);
  return unit != nullptr ? unit : steal(sched, worker);
}

constinit Registry<Sched> scheds;

void list(Sched* sched) noexcept {
  for (size_t i = 0; i < sched->pool_count; ++i) {
    sched->pools[i]->schedulers.fetch_add(1, std::memory_order_relaxed);
  }
  scheds.add(sched);
}

// Null: out of memory.
Sched* make(size_t n, Pool* const* pools) noexcept {
  auto* sched = new (std::nothrow) Sched;
  if (sched == nullptr) return nullptr;
  if (n == 0 || pools == nullptr) {
    sched->own_pool = pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC);
    if (sched->own_pool == nullptr) {
      delete sched;
      return nullptr;
    }
    sched->pools[sched->pool_count++] = sched->own_pool;
  } else {
    if (n > Sched::kMaxPools) sched->pools = new (std::nothrow) Pool*[n];
    if (sched->pools == nullptr) {
      delete sched;
      return nullptr;
    }
    for (size_t i = 0; i < n; ++i) sched->pools[sched->pool_count++] = pools[i];
  }
  list(sched);
  return sched;
}

}  // namespace

Sched* sched_create(weft_sched_kind_t kind, size_t n, Pool* const* pools) noexcept {
  Sched* sched = make(n, pools);
  if (sched == nullptr) return nullptr;
  sched->kind = kind;
  if (kind != WEFT_SCHED_PACKING) return sched;
  sched->packing = packing_create(sched);
  if (sched->packing != nullptr) return sched;
  sched_destroy(sched);
  return nullptr;
}

Sched* sched_create_user(const weft_sched_ops_t& ops, void* arg, size_t n,
                         Pool* const* pools) noexcept {
  Sched* sched = make(n, pools);
  if (sched == nullptr) return nullptr;
  sched->user = true;
  sched->ops = ops;
  sched->arg = arg;
  sched->data = ops.create != nullptr ? ops.create(to_handle(sched), arg) : arg;
  return sched;
}

void sched_begin_implicit(Sched* sched, weft_sched_kind_t kind, Pool* lane) noexcept {
  sched->~Sched();
  ::new (sched) Sched;
  sched->kind = kind;
  sched->implicit = true;
  sched->pools[sched->pool_count++] = lane;
  list(sched);
}

bool sched_add_pool(Sched* sched, Pool* pool) noexcept {
  if (!sched->steals_lanes || sched->pool_count == Sched::kMaxPools) return false;
  pool->schedulers.fetch_add(1, std::memory_order_relaxed);
  sched->pools[sched->pool_count] = pool;
  // Release: who looks from elsewhere, and sees the number, sees the pool.
  std::atomic_ref(sched->pool_count).store(sched->pool_count + 1, std::memory_order_release);
  return true;
}

namespace {

void unlist(Sched* sched) noexcept {
  scheds.remove(sched);
  if (sched->user && sched->ops.free != nullptr) sched->ops.free(to_handle(sched), sched->data);
  for (size_t i = 0; i < sched->pool_count; ++i) {
    // Release, pairs with the acquire of whoever frees the pool then.
    sched->pools[i]->schedulers.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace

void sched_end_implicit(Sched* sched) noexcept {
  unlist(sched);
  sched->implicit = false;
}

void sched_destroy(Sched* sched) noexcept {
  unlist(sched);
  if (sched->own_pool != nullptr) pool_delete(sched->own_pool);
  packing_destroy(sched->packing);
  if (sched->pools != sched->few) delete[] sched->pools;
  delete sched;
}

void scheds_forget_users() noexcept {
  scheds.for_each([](Sched* sched) {
    sched->worker.store(nullptr, std::memory_order_relaxed);
    sched->stacked.store(false, std::memory_order_relaxed);
    sched->unit.store(nullptr, std::memory_order_relaxed);
    sched->telling.store(0, std::memory_order_relaxed);
    sched->sleeper.waiter.store(nullptr, std::memory_order_relaxed);
  });
}

// By turns, so that neither the lane nor the pools behind it starve the other: those are not for whoever has time, as what is
// stolen is, but have nobody else.
[[gnu::noinline]] static Unit* pick_by_turns(Sched* sched, Worker* worker) noexcept {
  const size_t turn = ++sched->turn_of;
  const size_t first = 1 + turn / 2 % (sched->pool_count - 1);
  const bool pools_first = turn % 2 != 0;
  Unit* unit = pools_first ? pop_round(sched, worker, 1, first) : nullptr;
  if (unit == nullptr) unit = worker->lane.pop(worker);
  if (unit == nullptr && !pools_first) unit = pop_round(sched, worker, 1, first);
  return unit != nullptr ? unit : steal_from_lanes(worker);
}

Unit* sched_pick(Sched* sched, Worker* worker) noexcept {
  if (__builtin_expect(sched->steals_lanes && sched->pools[0] == &worker->lane, 1)) {
    if (__builtin_expect(sched->pool_count > 1, 0)) return pick_by_turns(sched, worker);
    Unit* unit = worker->lane.pop(worker);  // a direct call: a lane is final
    if (__builtin_expect(unit != nullptr, 1)) return unit;
    return steal(sched, worker);
  }
  return pick_other(sched, worker);
}

Unit* sched_steal(Sched* sched, Worker* worker) noexcept { return steal(sched, worker); }

bool sched_pools_empty(Sched* sched) noexcept {
  for (size_t i = 0; i < sched->pool_count; ++i) {
    if (sched->pools[i]->size() != 0) return false;
  }
  return true;
}

namespace {

// Ready or fresh ones that are in no pool are on their way there, or somebody has popped them to run them. The
// walk over all units is what keeps waiting free of counting; it is made only by schedulers that shall finish.
struct Joiners;
struct Search {
  const Pool* pool;
  WaitsFor whom;
  Joiners* joiners;
  bool found = false;
};

// It is there because its maker was, as OpenMP's threads are: it can be anywhere else.
bool is_there_by_chance(const Unit* unit) noexcept {
  return !unit_is(unit, flag::kFront) && !unit->homed.load(std::memory_order_relaxed);
}

// Front-ends' units of the pool that are said to run, by their hosts. One that joins a unit on its own stack is among them all that time, and
// goes on where it is at home once that one has ended.
struct Joiners {
  static constexpr unsigned kMost = 64;
  const Unit* units[kMost];
  unsigned count = 0;
  bool found = false;  // one that is below another one

  void add(const Unit* unit) noexcept {
    if (count < kMost) units[count++] = unit;
  }
};

bool has_joiners_below(Joiners& joiners) noexcept {
  unit_for_each(
      [](Unit* unit, void* arg) {
        auto* joiners = static_cast<Joiners*>(arg);
        const UnitState state = unit_state(unit);
        if (state == UnitState::kFree || state == UnitState::kFresh || state >= UnitState::kTerminated) return;
        const Unit* host = unit->host;
        const bool on_top = state != UnitState::kRunning;  // of its stack: else it may be in between
        const auto below = [=](const Unit* joiner) {
          return joiner != unit && joiner->host == host && (joiner == host || (on_top && unit != host));
        };
        joiners->found = joiners->found || std::any_of(joiners->units, joiners->units + joiners->count, below);
      },
      &joiners);
  return joiners.found;
}

bool has_waiting_units(const Pool* pool, WaitsFor whom) noexcept {
  Joiners joiners;
  Search search{pool, whom, &joiners};
  unit_for_each(
      [](Unit* unit, void* arg) {
        auto* search = static_cast<Search*>(arg);
        if (unit->pool.load(std::memory_order_relaxed) != search->pool) return;
        const UnitState state = unit_state(unit);
        if (state == UnitState::kRunning && unit_is(unit, flag::kFront)) search->joiners->add(unit);
        if (state == UnitState::kRunning || state == UnitState::kFree || state >= UnitState::kTerminated) return;
        if (required_pool(unit) != search->pool) return;  // it goes on elsewhere
        if (search->whom == WaitsFor::kItsOwn && is_there_by_chance(unit)) return;
        search->found = true;
      },
      &search);
  return search.found || (joiners.count > 0 && has_joiners_below(joiners));
}

}  // namespace

bool sched_serves_alone(const Pool* pool) noexcept {
  return pool->access == WEFT_ACCESS_PRIV || pool->schedulers.load(std::memory_order_relaxed) == 1;
}

bool sched_done(Sched* sched, WaitsFor whom) noexcept {
  if (!sched_pools_empty(sched)) return false;
  for (size_t i = 0; sched->patient && i < sched->pool_count; ++i) {
    if (sched_serves_alone(sched->pools[i]) && has_waiting_units(sched->pools[i], whom)) return false;
  }
  return true;
}

void sched_hand_on(Sched* sched, Pool* to) noexcept {
  struct Move {
    const Sched* sched;
    Pool* to;
  } move{sched, to};
  unit_for_each(
      [](Unit* unit, void* arg) {
        const auto* move = static_cast<Move*>(arg);
        if (unit_state(unit) == UnitState::kFree || !is_there_by_chance(unit)) return;
        Pool* const* pools = move->sched->pools;
        Pool* pool = unit->pool.load(std::memory_order_relaxed);
        if (std::find(pools, pools + move->sched->pool_count, pool) == pools + move->sched->pool_count) return;
        unit->pool.compare_exchange_strong(pool, move->to, std::memory_order_relaxed);
      },
      &move);
}

bool sched_may_be_replaced(Sched* sched) noexcept { return !sched->patient || sched_done(sched, WaitsFor::kItsOwn); }

bool sched_should_stop(Sched* sched) noexcept {
  // Acquire, pairs with the release of whoever told it: units pushed before are seen.
  if (sched->exit.load(std::memory_order_acquire)) return true;
  if (Worker* worker = sched->worker.load(std::memory_order_acquire)) {
    if (worker->new_sched.load(std::memory_order_acquire) != nullptr) return sched_may_be_replaced(sched);
    if (worker->state.load(std::memory_order_acquire) == WorkerState::kStopping) return sched_done(sched);
  }
  return sched->finish.load(std::memory_order_acquire) && sched_done(sched);
}

}  // namespace weft::rt
