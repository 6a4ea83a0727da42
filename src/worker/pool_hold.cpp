#include "worker/pool_hold.hpp"

#include <sched.h>

#include "pool/pool.hpp"
#include "worker/runtime.hpp"

namespace weft::rt {
namespace {

constexpr unsigned kPlaces = 64;
struct alignas(64) Place {
  std::atomic<const Pool*> pool{nullptr};
};
constinit Place places[kPlaces];

// What a place holds before its owner says.
const Pool* taken() noexcept { return reinterpret_cast<const Pool*>(places); }

// Acquire, pairs with the release of a hold's end: all that its owner has read of the pool has been read.
void wait_for(const std::atomic<const Pool*>& place, const Pool* pool) noexcept {
  while (place.load(std::memory_order_acquire) == pool) sched_yield();
}

}  // namespace

std::atomic<const Pool*>* PoolHold::free_place() noexcept {
  for (;;) {
    for (Place& each : places) {
      const Pool* nobody = nullptr;
      if (each.pool.load(std::memory_order_relaxed) == nullptr &&
          each.pool.compare_exchange_strong(nobody, taken(), std::memory_order_relaxed)) {
        return &each.pool;
      }
    }
    sched_yield();
  }
}

void wait_for_pool_holds(const Pool* pool) noexcept {
  const unsigned slots = runtime.worker_slots.load(std::memory_order_acquire);
  for (unsigned i = 0; i < slots; ++i) {
    if (const Worker* worker = runtime.workers[i].load(std::memory_order_acquire)) wait_for(worker->holds, pool);
  }
  for (const Place& each : places) wait_for(each.pool, pool);
}

void pool_delete(Pool* pool) noexcept {
  wait_for_pool_holds(pool);
  delete pool;
}

void forget_pool_holds() noexcept {
  for (Place& each : places) each.pool.store(nullptr, std::memory_order_relaxed);
}

}  // namespace weft::rt
