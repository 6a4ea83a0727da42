// sched.cpp: schedulers, as weft.h has them. What runs units is elsewhere.
#include "sched/sched.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>

#include "klt/guard.hpp"
#include "pool/pool.hpp"
#include "worker/pool_sleep.hpp"
#include "worker/worker.hpp"

using namespace weft::rt;

namespace {

int check_pools(size_t n, const weft_pool_t* pools) noexcept {
  if (n == 0 || pools == nullptr) return WEFT_OK;  // it gets one of its own
  if (n > Sched::kMaxPools) return WEFT_ERR_LIMIT;
  const bool whole =
      std::none_of(pools, pools + n, [](weft_pool_t pool) { return pool == nullptr; });
  return whole ? WEFT_OK : WEFT_ERR_INVALID;
}

// For several consumers, whoever they are.
bool can_be_shared(size_t n, const weft_pool_t* pools) noexcept {
  return pools == nullptr || std::all_of(pools, pools + n, [](weft_pool_t handle) {
    const Pool* pool = from_handle(handle);
    const bool several = pool->access == WEFT_ACCESS_MPMC || pool->access == WEFT_ACCESS_SPMC;
    return pool->lane_owner == nullptr && (several || !pool->builtin);
  });
}

Pool* const* to_pools(const weft_pool_t* pools) noexcept {
  return reinterpret_cast<Pool* const*>(pools);
}

int give_out(Sched* created, weft_sched_t* sched) noexcept {
  if (created == nullptr) return WEFT_ERR_NO_MEMORY;
  *sched = to_handle(created);
  return WEFT_OK;
}

// Its worker's, or somebody runs it as a unit.
bool in_use(const Sched* sched) noexcept {
  return sched->implicit || sched->worker.load(std::memory_order_acquire) != nullptr ||
         sched->stacked.load(std::memory_order_acquire);
}

// A main scheduler also stops when its worker shall, or has got another one.
bool worker_wants_stop(Sched* sched) noexcept {
  Worker* worker = sched->worker.load(std::memory_order_acquire);
  if (worker == nullptr) return false;
  if (worker->new_sched.load(std::memory_order_acquire) != nullptr) return true;
  return worker->state.load(std::memory_order_acquire) == WorkerState::kStopping &&
         sched_pools_empty(sched);
}

// Sets one of its orders and has it look. Sequentially consistent: either a scheduler that is about
// to sleep sees the order, or we see that it sleeps.
int tell(weft_sched_t handle, std::atomic<bool> Sched::* order) noexcept {
  if (handle == nullptr) return WEFT_ERR_INVALID;
  Sched* sched = from_handle(handle);
  sched->telling.fetch_add(1, std::memory_order_relaxed);
  Worker* self = section_enter();
  (sched->*order).store(true, std::memory_order_seq_cst);
  if (Worker* worker = sched->worker.load(std::memory_order_seq_cst)) wake_worker_and_sleeper(worker);
  if (Waiter* waiter = sched->sleeper.waiter.exchange(nullptr, std::memory_order_seq_cst)) {
    waiter_wake(self, waiter);
  }
  // Release, pairs with the acquire in weft_sched_free(): the order may be carried out by now.
  sched->telling.fetch_sub(1, std::memory_order_release);
  section_leave(self);
  return WEFT_OK;
}

}  // namespace

int weft_sched_create(weft_sched_kind_t kind, size_t n, const weft_pool_t* pools,
                      weft_sched_t* sched) {
  if (sched == nullptr || static_cast<unsigned>(kind) > WEFT_SCHED_PACKING) return WEFT_ERR_INVALID;
  int error = check_pools(n, pools);
  if (error == WEFT_OK && kind == WEFT_SCHED_PACKING && !can_be_shared(n, pools)) error = WEFT_ERR_INVALID;
  return error != WEFT_OK ? error : give_out(sched_create(kind, n, to_pools(pools)), sched);
}

int weft_sched_create_user(const weft_sched_ops_t* ops, void* arg, size_t n,
                           const weft_pool_t* pools, weft_sched_t* sched) {
  if (ops == nullptr || ops->run == nullptr || sched == nullptr) return WEFT_ERR_INVALID;
  const int error = check_pools(n, pools);
  return error != WEFT_OK ? error
                          : give_out(sched_create_user(*ops, arg, n, to_pools(pools)), sched);
}

int weft_sched_free(weft_sched_t* sched) {
  if (sched == nullptr || *sched == nullptr) return WEFT_ERR_INVALID;
  Sched* freed = from_handle(*sched);
  if (in_use(freed)) return WEFT_ERR_STATE;
  if (freed->own_pool != nullptr && freed->own_pool->size() != 0) return WEFT_ERR_STATE;
  while (freed->telling.load(std::memory_order_acquire) != 0) sched_yield();
  sched_destroy(freed);
  *sched = nullptr;
  return WEFT_OK;
}

size_t weft_sched_pools(weft_sched_t sched, size_t max, weft_pool_t* pools) {
  if (sched == nullptr) return 0;
  const Sched* s = from_handle(sched);
  for (size_t i = 0; pools != nullptr && i < std::min(max, s->pool_count); ++i) {
    pools[i] = to_handle(s->pools[i]);
  }
  return s->pool_count;
}

void* weft_sched_data(weft_sched_t sched) {
  return sched != nullptr ? from_handle(sched)->data : nullptr;
}

int weft_sched_finish(weft_sched_t sched) { return tell(sched, &Sched::finish); }
int weft_sched_exit(weft_sched_t sched) { return tell(sched, &Sched::exit); }

bool weft_sched_should_stop(weft_sched_t sched) {
  if (sched == nullptr) return true;
  return sched_should_stop(from_handle(sched)) || worker_wants_stop(from_handle(sched));
}
