#include "sched/packing.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "pool/pool.hpp"
#include "sched/sched.hpp"
#include "worker/runtime.hpp"
#include "worker/worker.hpp"

namespace weft::rt {

// Whoever runs the scheduler, guard up; a tick handler on its KLT reads.
struct Packing {
  uint32_t seen = 0;      // runtime.packing when it was dealt
  bool dealt = false;
  size_t own = 0;         // pools[0, own) are this worker's alone
  size_t shared = 0;      // pools[own, own + shared) are everybody's
  Pool* clock = nullptr;  // the same one for the whole group: the most slices that one has had
  Pool** pools = nullptr;
  Pool** orphans = nullptr;  // room for deal()
};

namespace {

// All schedulers of a group have the same pools, each its own first: from the oldest on it is the same order for all.
size_t first_of_all(const Sched* sched) noexcept {
  Pool** const end = sched->pools + sched->pool_count;
  const auto older = [](const Pool* a, const Pool* b) { return a->id < b->id; };
  return static_cast<size_t>(std::min_element(sched->pools, end, older) - sched->pools);
}

bool has_active_worker(const Pool* pool) noexcept {
  const Worker* worker = pool->first_of.load(std::memory_order_acquire);
  return worker != nullptr && !worker->suspended.load(std::memory_order_relaxed) &&
         worker->state.load(std::memory_order_relaxed) == WorkerState::kActive;
}

// Lines 5 and 6 of the algorithm. A pool whose worker is active is that one's; the others are dealt in turn.
// Somebody may be suspended just now: then runtime.packing changes next.
void deal(const Sched* sched, const Worker* worker, Packing& packing) noexcept {
  const size_t n = sched->pool_count;
  const size_t first = first_of_all(sched);
  size_t active = 0, orphans = 0, rank = n;
  for (size_t i = 0; i < n; ++i) {
    Pool* pool = sched->pools[(first + i) % n];
    if (!has_active_worker(pool)) {
      packing.orphans[orphans++] = pool;
    } else if (pool->first_of.load(std::memory_order_relaxed) == worker) {
      rank = active++;
    } else {
      ++active;
    }
  }
  const bool member = rank < n;
  packing.shared = member ? orphans % active : orphans;
  packing.own = 0;
  if (member) packing.pools[packing.own++] = sched->pools[0];
  const size_t dealt = orphans - packing.shared;
  for (size_t i = rank; i < dealt; i += active) packing.pools[packing.own++] = packing.orphans[i];
  std::copy(packing.orphans + dealt, packing.orphans + orphans, packing.pools + packing.own);
  packing.clock = sched->pools[first];
}

void deal_if_changed(const Sched* sched, const Worker* worker) noexcept {
  Packing& packing = *sched->packing;
  // Acquire, pairs with whoever has changed something: it is seen.
  const uint32_t now = runtime.packing.load(std::memory_order_acquire);
  if (packing.dealt && packing.seen == now) return;
  packing.seen = now;
  packing.dealt = true;
  deal(sched, worker, packing);
}

// Slices are counted from one change to the next: the upper half says from which.
uint32_t slices_of(const std::atomic<uint64_t>& word, uint32_t since) noexcept {
  const uint64_t seen = word.load(std::memory_order_relaxed);
  return static_cast<uint32_t>(seen >> 32) == since ? static_cast<uint32_t>(seen) : 0;
}

void set_slices(std::atomic<uint64_t>& word, uint32_t since, uint32_t slices) noexcept {
  word.store(uint64_t{since} << 32 | slices, std::memory_order_relaxed);
}

// Of what the pool has had. One that had nothing to run meanwhile does not get all that later: kPackingBacklog of it.
uint32_t slices_of(const Packing& packing, const Pool* pool) noexcept {
  const uint32_t most = slices_of(packing.clock->most_slices, packing.seen);
  const uint32_t least = most > kPackingBacklog ? most - kPackingBacklog : 0;
  return std::max(least, slices_of(pool->slices, packing.seen));
}

// Relaxed, and not in one step: others may pick from the pool too, and then one of two slices is not counted.
Unit* pop_counting(Packing& packing, Pool* pool, Worker* worker) noexcept {
  const uint32_t slices = slices_of(packing, pool) + 1;
  Unit* unit = pool->pop(worker);
  if (unit == nullptr) return nullptr;
  set_slices(pool->slices, packing.seen, slices);
  if (slices > slices_of(packing.clock->most_slices, packing.seen)) {
    set_slices(packing.clock->most_slices, packing.seen, slices);
  }
  return unit;
}

// Lines 7 to 14: that one of them which has had least, a shared one first. Of those that have more than the backlog to
// catch up with, which are all the same, that one which has really had least.
Pool* next_pool(const Packing& packing) noexcept {
  using Had = std::pair<uint32_t, uint32_t>;
  Pool* best = nullptr;
  Had least{};
  for (size_t i = packing.own + packing.shared; i-- > 0;) {
    Pool* pool = packing.pools[i];
    if (pool->size() == 0) continue;
    const Had had{slices_of(packing, pool), slices_of(pool->slices, packing.seen)};
    if (best != nullptr && had >= least) continue;
    best = pool;
    least = had;
  }
  return best;
}

Unit* pop_of_others(Sched* sched, Worker* worker) noexcept {
  const size_t n = sched->pool_count;
  const size_t first = ++worker->tick % n;
  for (size_t i = 0; i < n; ++i) {
    if (Unit* unit = pop_counting(*sched->packing, sched->pools[(first + i) % n], worker)) {
      count(worker->stats.steals);
      return unit;
    }
  }
  return nullptr;
}

}  // namespace

Packing* packing_create(const Sched* sched) noexcept {
  auto* packing = new (std::nothrow) Packing;
  if (packing == nullptr) return nullptr;
  packing->pools = new (std::nothrow) Pool*[2 * sched->pool_count];
  if (packing->pools == nullptr) {
    delete packing;
    return nullptr;
  }
  packing->orphans = packing->pools + sched->pool_count;
  return packing;
}

void packing_destroy(Packing* packing) noexcept {
  if (packing == nullptr) return;
  delete[] packing->pools;
  delete packing;
}

Unit* packing_pick(Sched* sched, Worker* worker) noexcept {
  deal_if_changed(sched, worker);
  Packing& packing = *sched->packing;
  while (Pool* pool = next_pool(packing)) {
    if (Unit* unit = pop_counting(packing, pool, worker)) return unit;
    if (pool->size() != 0) break;  // a user's, which gives nothing
  }
  return pop_of_others(sched, worker);
}

bool packing_others_wait(const Sched* sched, const void* home) noexcept {
  const Packing& packing = *sched->packing;
  // Somebody else's may be ours by now: the next pick finds out.
  bool ours = false;
  const bool known = packing.dealt && packing.seen == runtime.packing.load(std::memory_order_relaxed);
  for (size_t i = 0; i < packing.own + packing.shared; ++i) {
    Pool* pool = packing.pools[i];
    if (!pool->builtin || pool->size() != 0) return true;
    ours |= pool == home;
  }
  // What belongs to others is run here only as long as it is the only one; then they take turns too.
  for (size_t i = 0; !(ours && known) && i < sched->pool_count; ++i) {
    if (sched->pools[i]->size() != 0) return true;
  }
  return false;
}

}  // namespace weft::rt
