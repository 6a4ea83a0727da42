// pool.cpp: pools, as weft.h has them.
#include "pool/pool.hpp"

#include "klt/guard.hpp"
#include "worker/pool_hold.hpp"
#include "worker/timers.hpp"
#include "worker/worker.hpp"

using namespace weft::rt;

namespace {

bool kind_valid(weft_pool_kind_t kind) noexcept {
  return static_cast<unsigned>(kind) <= WEFT_POOL_PRIORITY;
}

bool access_valid(weft_access_t access) noexcept {
  return static_cast<unsigned>(access) <= WEFT_ACCESS_MPMC;
}

// Units in it, a scheduler that has it, or it is a worker's own.
bool in_use(Pool* pool) noexcept {
  return pool->lane_owner != nullptr || pool->schedulers.load(std::memory_order_acquire) != 0 ||
         pool->size() != 0;
}

int give_out(Pool* created, weft_pool_t* pool) noexcept {
  if (created == nullptr) return WEFT_ERR_NO_MEMORY;
  *pool = to_handle(created);
  return WEFT_OK;
}

}  // namespace

int weft_pool_create(weft_pool_kind_t kind, weft_access_t access, weft_pool_t* pool) {
  if (pool == nullptr || !kind_valid(kind) || !access_valid(access)) return WEFT_ERR_INVALID;
  return give_out(pool_create(kind, access), pool);
}

int weft_pool_create_user(const weft_pool_ops_t* ops, void* arg, weft_pool_t* pool) {
  if (ops == nullptr || pool == nullptr || ops->push == nullptr || ops->pop == nullptr ||
      ops->size == nullptr) {
    return WEFT_ERR_INVALID;
  }
  return give_out(pool_create_user(*ops, arg), pool);
}

int weft_pool_free(weft_pool_t* pool) {
  if (pool == nullptr || *pool == nullptr) return WEFT_ERR_INVALID;
  Pool* freed = from_handle(*pool);
  if (in_use(freed)) return WEFT_ERR_STATE;
  pool_delete(freed);
  *pool = nullptr;
  return WEFT_OK;
}

size_t weft_pool_size(weft_pool_t pool) { return pool != nullptr ? from_handle(pool)->size() : 0; }

weft_unit_t weft_pool_pop(weft_pool_t pool) {
  if (pool == nullptr) return nullptr;
  Worker* worker = section_enter();
  if (worker != nullptr) {
    timers_look(worker);  // a user's scheduler may look for nothing but units
    run_deferred(worker);
  }
  Unit* unit = from_handle(pool)->pop(worker);
  section_leave(worker);
  return to_handle(unit);
}

int weft_pool_push(weft_pool_t pool, weft_unit_t unit) {
  if (pool == nullptr || unit == nullptr) return WEFT_ERR_INVALID;
  Pool* to = from_handle(pool);
  Unit* pushed = from_handle(unit);
  const UnitState state = unit_state(pushed);
  if (state != UnitState::kFresh && state != UnitState::kReady) return WEFT_ERR_STATE;
  const uint32_t inside = pushed->inside.load(std::memory_order_relaxed);
  if (inside != 0 && (inside & kRanOn) == 0) return WEFT_ERR_STATE;
  Worker* worker = section_enter();
  pushed->pool.store(to, std::memory_order_relaxed);
  pushed->flags.clear(flag::kDirect);
  push_and_wake(worker, to, pushed);  // from here on it is the pool's
  section_leave(worker);
  return WEFT_OK;
}
