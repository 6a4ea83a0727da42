// sched.cpp: ABT_sched_*.
#include "sched.hpp"

#include <sched.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "pool.hpp"
#include "runtime.hpp"
#include "sched_config.hpp"
#include "self.hpp"
#include "thread.hpp"
#include "unit.hpp"
#include "xstream.hpp"

namespace weft::abt {
namespace {

using namespace front;

// ---- the core's side of a user-defined scheduler. A main scheduler whose function returns is called again until it
// shall stop.

void run_user(weft_sched_t core, void* data) {
  auto* sched = static_cast<Sched*>(data);
  for (;;) {
    sched->def.run(to_abt(sched));
    if (sched->use.load(std::memory_order_relaxed) != SchedUse::kMain || sched_should_stop(core)) return;
    poll();
    sched_yield();
  }
}

constexpr weft_sched_ops_t kUserOps = {nullptr, nullptr, run_user};

// ---- making one

weft_sched_kind_t core_kind(ABT_sched_predef predef) noexcept {
  switch (predef) {
    case ABT_SCHED_PRIO: return WEFT_SCHED_PRIORITY;
    case ABT_SCHED_RANDWS: return WEFT_SCHED_RANDWS;
    case ABT_SCHED_BASIC_WAIT: return WEFT_SCHED_BASIC_WAIT;
    default: return WEFT_SCHED_BASIC;
  }
}

int default_pools(ABT_sched_predef predef) noexcept { return predef == ABT_SCHED_PRIO ? 3 : 1; }

ABT_pool make_default_pool(const Sched* sched) noexcept {
  const ABT_pool_kind kind = !sched->user && sched->kind == ABT_SCHED_BASIC_WAIT ? ABT_POOL_FIFO_WAIT : ABT_POOL_FIFO;
  return make_pool(kind, sched->user ? ABT_POOL_ACCESS_MPSC : ABT_POOL_ACCESS_MPMC, true);
}

void free_made(Sched* sched, const std::vector<ABT_pool>& made) noexcept {
  for (const ABT_pool pool : made) free_pool(pool);
  delete sched;
}

// BASIC looks at those first that fewer consume.
constexpr int kRanks = 3;
int rank_of(ABT_pool pool) noexcept {
  switch (record(pool)->access) {
    case ABT_POOL_ACCESS_PRIV: return 0;
    case ABT_POOL_ACCESS_SPSC:
    case ABT_POOL_ACCESS_MPSC: return 1;
    default: return 2;
  }
}

int make_core(Sched* sched) noexcept {
  std::vector<weft_pool_t> pools;
  for (const ABT_pool pool : sched->pools) {
    pool_share(core(pool));
    pools.push_back(core(pool));
  }
  if (sched->user) return sched_create_user(&kUserOps, sched, pools.size(), pools.data(), &sched->core);
  const weft_sched_kind_t kind = core_kind(sched->kind);
  if (kind == WEFT_SCHED_BASIC || kind == WEFT_SCHED_BASIC_WAIT) {
    std::vector<weft_pool_t> ordered;
    for (int rank = 0; rank < kRanks; ++rank) {
      std::copy_if(pools.begin(), pools.end(), std::back_inserter(ordered),
                   [rank](weft_pool_t pool) { return rank_of(to_abt(pool)) == rank; });
    }
    pools = std::move(ordered);
  }
  return sched_create(kind, pools.size(), pools.data(), &sched->core);
}

// Takes over `sched`, whose kind, definition and flags are set.
int complete(Sched* sched, int num_pools, const ABT_pool* pools, Sched** out) try {
  std::vector<ABT_pool> made;
  for (int i = 0; i < num_pools; ++i) {
    ABT_pool pool = pools != nullptr ? pools[i] : ABT_POOL_NULL;
    if (is_null(pool)) {
      pool = make_default_pool(sched);
      if (is_null(pool)) {
        free_made(sched, made);
        return ABT_ERR_MEM;
      }
      made.push_back(pool);
    }
    sched->pools.push_back(pool);
  }
  if (const int error = make_core(sched); error != WEFT_OK) {
    free_made(sched, made);
    return from_core(error);
  }
  *out = sched;
  return ABT_SUCCESS;
} catch (const std::bad_alloc&) {
  delete sched;
  return ABT_ERR_MEM;
}

// ---- stacked

// The ULT of a stacked scheduler.
void stacked_main(void* arg) {
  auto* sched = static_cast<Sched*>(arg);
  sched_stacked_main(sched->core);
  leave_sched(sched);
}

}  // namespace

int make_sched(ABT_sched_predef predef, int num_pools, const ABT_pool* pools, ABT_sched_config config,
               Sched** made) noexcept {
  auto* sched = new (std::nothrow) Sched;
  if (sched == nullptr) return ABT_ERR_MEM;
  sched->kind = predef;
  sched->automatic = config_automatic(config, true);
  return complete(sched, pools != nullptr ? num_pools : default_pools(predef), pools, made);
}

Sched* adopt_sched(weft_sched_t core, ABT_pool own) noexcept try {
  auto* sched = new Sched;
  sched->core = core;
  sched->implicit = true;
  sched->automatic = true;
  sched->use.store(SchedUse::kMain, std::memory_order_relaxed);
  sched->pools.push_back(own);
  return sched;
} catch (const std::bad_alloc&) {
  return nullptr;
}

void free_sched(Sched* sched) noexcept {
  if (sched->user && sched->def.free != nullptr) sched->def.free(to_abt(sched));
  if (sched->core != nullptr) sched_free(sched->core);
  for (const ABT_pool pool : sched->pools) free_pool_if_automatic(pool);
  delete sched;
}

bool use_sched(Sched* sched, SchedUse use) noexcept {
  SchedUse none = SchedUse::kNone;
  if (!sched->use.compare_exchange_strong(none, use, std::memory_order_acq_rel)) return false;
  sched_renew(sched->core);
  return true;
}

void leave_sched(Sched* sched) noexcept {
  if (sched->automatic) {
    free_sched(sched);
  } else {
    sched->use.store(SchedUse::kNone, std::memory_order_release);
  }
}

bool has_pool(const Sched* sched, ABT_pool pool) noexcept {
  return std::find(sched->pools.begin(), sched->pools.end(), pool) != sched->pools.end();
}

int push_sched(Sched* sched, ABT_pool pool) noexcept {
  if (!use_sched(sched, SchedUse::kStacked)) return ABT_ERR_INV_SCHED;
  static_cast<void>(sched_claim_stacked(sched->core, true));
  // It ends when it has nothing left to do.
  static_cast<void>(weft_sched_finish(sched->core));
  const int error = push_sched_unit(pool, stacked_main, sched, state.environment.sched_stack_size);
  if (error == ABT_SUCCESS) return error;
  static_cast<void>(sched_claim_stacked(sched->core, false));
  sched->use.store(SchedUse::kNone, std::memory_order_release);
  return error;
}

ABT_pool migration_pool(Sched* sched) noexcept {
  if (sched->user && sched->def.get_migr_pool != nullptr) return sched->def.get_migr_pool(to_abt(sched));
  return sched->pools.empty() ? ABT_POOL_NULL : sched->pools[0];
}

}  // namespace weft::abt

using namespace weft::abt;

namespace {

// Of a scheduler that has none of a pool's definitions in its way.
int add_up(ABT_sched sched, size_t* size, bool blocked) noexcept {
  if (is_null(sched)) return ABT_ERR_INV_SCHED;
  size_t sum = 0;
  for (const ABT_pool pool : record(sched)->pools) {
    size_t queued = 0;
    if (!pool_size(pool, &queued)) return ABT_ERR_POOL;
    sum += queued + (blocked ? weft::front::pool_blocked(core(pool)) : 0);
  }
  *size = sum;
  return ABT_SUCCESS;
}

}  // namespace

extern "C" {

int ABT_sched_create(ABT_sched_def* def, int num_pools, ABT_pool* pools, ABT_sched_config config,
                     ABT_sched* newsched) {
  if (!running()) return fail(newsched, ABT_SCHED_NULL, ABT_ERR_UNINITIALIZED);
  if (newsched == nullptr) return ABT_ERR_SCHED;
  if (def == nullptr || def->run == nullptr || num_pools < 0) return fail(newsched, ABT_SCHED_NULL, ABT_ERR_INV_ARG);
  auto* sched = new (std::nothrow) Sched;
  if (sched == nullptr) return fail(newsched, ABT_SCHED_NULL, ABT_ERR_MEM);
  sched->user = true;
  sched->def = *def;
  sched->automatic = config_automatic(config, false);
  Sched* made = nullptr;
  if (const int error = complete(sched, num_pools, pools, &made); error != ABT_SUCCESS) {
    return fail(newsched, ABT_SCHED_NULL, error);
  }
  if (def->init != nullptr) {
    if (const int error = def->init(to_abt(made), config); error != ABT_SUCCESS) {
      made->def.free = nullptr;  // of what has not been made
      free_sched(made);
      return fail(newsched, ABT_SCHED_NULL, error);
    }
  }
  *newsched = to_abt(made);
  return ABT_SUCCESS;
}

int ABT_sched_create_basic(ABT_sched_predef predef, int num_pools, ABT_pool* pools, ABT_sched_config config,
                           ABT_sched* newsched) {
  if (!running()) return fail(newsched, ABT_SCHED_NULL, ABT_ERR_UNINITIALIZED);
  if (static_cast<unsigned>(predef) > ABT_SCHED_BASIC_WAIT) {
    return fail(newsched, ABT_SCHED_NULL, ABT_ERR_INV_SCHED_PREDEF);
  }
  if (num_pools < 0) return fail(newsched, ABT_SCHED_NULL, ABT_ERR_INV_ARG);
  Sched* made = nullptr;
  if (const int error = make_sched(predef, num_pools, pools, config, &made); error != ABT_SUCCESS) {
    return fail(newsched, ABT_SCHED_NULL, error);
  }
  *newsched = to_abt(made);
  return ABT_SUCCESS;
}

int ABT_sched_free(ABT_sched* sched) {
  if (sched == nullptr || is_null(*sched)) return ABT_ERR_INV_SCHED;
  if (record(*sched)->use.load(std::memory_order_acquire) != SchedUse::kNone) return ABT_ERR_SCHED;
  free_sched(record(*sched));
  *sched = ABT_SCHED_NULL;
  return ABT_SUCCESS;
}

int ABT_sched_set_data(ABT_sched sched, void* data) {
  if (is_null(sched)) return ABT_ERR_INV_SCHED;
  record(sched)->data.store(data, std::memory_order_release);
  return ABT_SUCCESS;
}

int ABT_sched_get_data(ABT_sched sched, void** data) {
  if (is_null(sched)) return ABT_ERR_INV_SCHED;
  *data = record(sched)->data.load(std::memory_order_acquire);
  return ABT_SUCCESS;
}

int ABT_sched_get_num_pools(ABT_sched sched, int* num_pools) {
  if (is_null(sched)) return ABT_ERR_INV_SCHED;
  *num_pools = static_cast<int>(record(sched)->pools.size());
  return ABT_SUCCESS;
}

int ABT_sched_get_pools(ABT_sched sched, int max_pools, int idx, ABT_pool* pools) {
  if (is_null(sched)) return ABT_ERR_INV_SCHED;
  if (max_pools < 0 || idx < 0) return ABT_ERR_INV_ARG;
  const auto& all = record(sched)->pools;
  const int count = static_cast<int>(all.size());
  if (!kVersion20 && idx + max_pools > count) return ABT_ERR_SCHED;
  for (int i = idx; i < std::min(idx + max_pools, count); ++i) pools[i - idx] = all[static_cast<size_t>(i)];
  return ABT_SUCCESS;
}

int ABT_sched_get_size(ABT_sched sched, size_t* size) { return add_up(sched, size, false); }
int ABT_sched_get_total_size(ABT_sched sched, size_t* size) { return add_up(sched, size, true); }

int ABT_sched_finish(ABT_sched sched) {
  if (is_null(sched)) return ABT_ERR_INV_SCHED;
  return from_core(weft_sched_finish(record(sched)->core));
}

int ABT_sched_exit(ABT_sched sched) {
  if (is_null(sched)) return ABT_ERR_INV_SCHED;
  return from_core(weft_sched_exit(record(sched)->core));
}

int ABT_sched_has_to_stop(ABT_sched sched, ABT_bool* stop) {
  if (!kVersion20) {
    if (stop != nullptr) *stop = ABT_FALSE;
    if (my_xstream() == nullptr) return ABT_ERR_INV_XSTREAM;
  }
  if (is_null(sched)) return ABT_ERR_INV_SCHED;
  *stop = weft::front::sched_should_stop(record(sched)->core) ? ABT_TRUE : ABT_FALSE;
  return ABT_SUCCESS;
}

}  // extern "C"
