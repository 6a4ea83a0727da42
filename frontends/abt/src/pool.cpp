// pool.cpp: ABT_pool_*: made, freed, asked. What goes in and out: pool_units.cpp.
#include "pool.hpp"

#include <new>
#include <utility>

#include "pool_config.hpp"
#include "pool_user_def.hpp"
#include "runtime.hpp"
#include "sched.hpp"
#include "self.hpp"
#include "unit.hpp"
#include "xstream.hpp"

namespace weft::abt {
namespace {

using namespace front;

constinit std::atomic<int> next_id{0};

Pool* make_record(bool automatic) noexcept {
  auto* pool = new (std::nothrow) Pool;
  if (pool == nullptr) return nullptr;
  pool->automatic.store(automatic, std::memory_order_relaxed);
  pool->id = next_id.fetch_add(1, std::memory_order_relaxed);
  return pool;
}

void connect(Pool* pool, weft_pool_t made) noexcept {
  pool->core = made;
  pool_set_front(made, pool);
}

// ---- what the core calls of a user-defined pool. The unit says in its context why it comes; whoever does not say
// is woken.

ABT_pool handle_of(void* self) noexcept { return to_abt(static_cast<Pool*>(self)->core); }

void core_push(void* self, weft_unit_t unit) {
  const ABT_pool pool = handle_of(self);
  const ABT_unit made = unit_of(to_abt(unit));
  const ABT_pool_context context = std::exchange(part(unit)->context, kResume);
  // From here on another one may have it.
  const PoolDef& def = static_cast<Pool*>(self)->def;
  if (def.old) {
    def.of_old.p_push(pool, made);
  } else {
    def.push(pool, made, context);
  }
}

ABT_pool_context context_of_pop(const Pool* pool) noexcept {
  const Xstream* xstream = my_xstream();
  const Sched* sched = xstream != nullptr ? xstream->main() : nullptr;
  if (sched == nullptr || sched->user || sched->kind != ABT_SCHED_RANDWS) return 0;
  return core(sched->pools[0]) == pool->core ? ABT_POOL_CONTEXT_OWNER_PRIMARY
                                              : ABT_POOL_CONTEXT_OWNER_SECONDARY;
}

weft_unit_t core_pop(void* self) {
  const auto* pool = static_cast<const Pool*>(self);
  const PoolDef& def = pool->def;
  if (def.old) {
    const ABT_unit unit = def.of_old.p_pop(handle_of(self));
    return is_null(unit) ? nullptr : core(thread_of(unit));
  }
  const ABT_thread thread = def.pop(handle_of(self), context_of_pop(pool));
  return is_null(thread) ? nullptr : core(thread);
}

size_t core_size(void* self) {
  const PoolDef& def = static_cast<const Pool*>(self)->def;
  const ABT_pool pool = handle_of(self);
  if (def.old) return def.of_old.p_get_size(pool);
  if (def.get_size != nullptr) return def.get_size(pool);
  return def.is_empty(pool) ? 0 : 1;
}

constexpr weft_pool_ops_t kUserOps = {nullptr, nullptr, core_push, core_pop, core_size};

int init_user_pool(const PoolDef& def, ABT_pool pool, ABT_pool_config config) noexcept {
  const auto init = def.old ? def.of_old.p_init : def.init;
  return init != nullptr ? init(pool, config) : ABT_SUCCESS;
}

void end_user_pool(const PoolDef& def, ABT_pool pool) noexcept {
  if (def.old) {
    if (def.of_old.p_free != nullptr) def.of_old.p_free(pool);
  } else if (def.free != nullptr) {
    def.free(pool);
  }
}

// Any thread may push and pop whatever the access says, since Argobots 1.1: only of a private pool is it believed that
// nobody else pops.
weft_access_t core_access(ABT_pool_access access) noexcept {
  return access == ABT_POOL_ACCESS_PRIV ? WEFT_ACCESS_PRIV : WEFT_ACCESS_MPMC;
}

bool valid(ABT_pool_kind kind) noexcept { return static_cast<unsigned>(kind) <= ABT_POOL_RANDWS; }
bool valid(ABT_pool_access access) noexcept { return static_cast<unsigned>(access) <= ABT_POOL_ACCESS_MPMC; }

}  // namespace

void restart_pool_ids() noexcept { next_id.store(0, std::memory_order_relaxed); }

Pool* adopt_pool(weft_pool_t made) noexcept {
  Pool* pool = make_record(true);
  if (pool != nullptr) connect(pool, made);
  return pool;
}

void forget_pool(weft_pool_t made) noexcept {
  delete static_cast<Pool*>(pool_front(made));
  pool_set_front(made, nullptr);
}

ABT_pool make_pool(ABT_pool_kind kind, ABT_pool_access access, bool automatic) noexcept {
  Pool* pool = make_record(automatic);
  if (pool == nullptr) return ABT_POOL_NULL;
  pool->kind = kind;
  pool->access = access;
  weft_pool_t made = nullptr;
  if (kind == ABT_POOL_RANDWS) {
    static_cast<void>(weft_pool_create(WEFT_POOL_DEQUE, core_access(access), &made));
  } else {
    made = pool_create_fifo(core_access(access));
  }
  if (made == nullptr) {
    delete pool;
    return ABT_POOL_NULL;
  }
  connect(pool, made);
  return to_abt(made);
}

void free_pool(ABT_pool handle) noexcept {
  Pool* pool = record(handle);
  if (pool->user) end_user_pool(pool->def, handle);
  pool_destroy(pool->core);
  delete pool;
}

void free_pool_if_automatic(ABT_pool pool) noexcept {
  Pool* info = record(pool);
  if (info == nullptr || !info->automatic.load(std::memory_order_relaxed)) return;
  if (pool_schedulers(core(pool)) == 0 && !pool_is_own(core(pool))) free_pool(pool);
}

bool pool_empty(ABT_pool pool) noexcept {
  const Pool* info = record(pool);
  if (!info->user) return weft_pool_size(core(pool)) == 0;
  const InPool inside;
  return info->def.old ? info->def.of_old.p_get_size(pool) == 0 : info->def.is_empty(pool) != ABT_FALSE;
}

bool pool_size(ABT_pool pool, size_t* size) noexcept {
  const Pool* info = record(pool);
  if (!info->user) {
    *size = weft_pool_size(core(pool));
    return true;
  }
  const auto get_size = info->def.old ? info->def.of_old.p_get_size : info->def.get_size;
  if (get_size == nullptr) return false;
  const InPool inside;
  *size = get_size(pool);
  return true;
}

}  // namespace weft::abt

using namespace weft::abt;

extern "C" {

int ABT_pool_create(ABT_pool_user_def def, ABT_pool_config config, ABT_pool* newpool) {
  if (!running()) return fail(newpool, ABT_POOL_NULL, ABT_ERR_UNINITIALIZED);
  if (is_null(def)) return fail(newpool, ABT_POOL_NULL, ABT_ERR_INV_POOL_USER_DEF);
  Pool* pool = make_record(config_automatic(config, false));
  weft_pool_t made = nullptr;
  if (pool == nullptr || weft_pool_create_user(&kUserOps, pool, &made) != WEFT_OK) {
    delete pool;
    return fail(newpool, ABT_POOL_NULL, ABT_ERR_MEM);
  }
  pool->user = true;
  pool->def = read_def(def);
  if (pool->def.old) pool->access = def->access;
  connect(pool, made);
  if (const int error = init_user_pool(pool->def, to_abt(made), config); error != ABT_SUCCESS) {
    weft::front::pool_destroy(made);
    delete pool;
    return fail(newpool, ABT_POOL_NULL, error);
  }
  *newpool = to_abt(made);
  return ABT_SUCCESS;
}

int ABT_pool_create_basic(ABT_pool_kind kind, ABT_pool_access access, ABT_bool automatic, ABT_pool* newpool) {
  if (!running()) return fail(newpool, ABT_POOL_NULL, ABT_ERR_UNINITIALIZED);
  if (!valid(kind)) return fail(newpool, ABT_POOL_NULL, ABT_ERR_INV_POOL_KIND);
  if (!valid(access)) return fail(newpool, ABT_POOL_NULL, ABT_ERR_INV_POOL_ACCESS);
  const ABT_pool pool = make_pool(kind, access, automatic != ABT_FALSE);
  if (is_null(pool)) return fail(newpool, ABT_POOL_NULL, ABT_ERR_MEM);
  *newpool = pool;
  return ABT_SUCCESS;
}

// An ES's own goes with the ES.
int ABT_pool_free(ABT_pool* pool) {
  if (pool == nullptr || is_null(*pool)) return ABT_ERR_INV_POOL;
  const bool is_own = weft::front::pool_is_own(core(*pool));
  if (!is_own && weft::front::pool_schedulers(core(*pool)) != 0) {
    // Programs free the pools of an ES that they have joined before the ES, whose scheduler has them still: that one frees it.
    record(*pool)->automatic.store(true, std::memory_order_relaxed);
  } else if (!is_own) {
    free_pool(*pool);
  }
  *pool = ABT_POOL_NULL;
  return ABT_SUCCESS;
}

int ABT_pool_get_access(ABT_pool pool, ABT_pool_access* access) {
  if (is_null(pool)) return ABT_ERR_INV_POOL;
  *access = record(pool)->access;
  return ABT_SUCCESS;
}

int ABT_pool_is_empty(ABT_pool pool, ABT_bool* is_empty) {
  if (is_null(pool)) return ABT_ERR_INV_POOL;
  *is_empty = pool_empty(pool) ? ABT_TRUE : ABT_FALSE;
  return ABT_SUCCESS;
}

int ABT_pool_get_size(ABT_pool pool, size_t* size) {
  if (is_null(pool)) return ABT_ERR_INV_POOL;
  return pool_size(pool, size) ? ABT_SUCCESS : ABT_ERR_POOL;
}

int ABT_pool_get_total_size(ABT_pool pool, size_t* size) {
  if (is_null(pool)) return ABT_ERR_INV_POOL;
  size_t queued = 0;
  if (!pool_size(pool, &queued)) return ABT_ERR_POOL;
  *size = queued + weft::front::pool_blocked(core(pool));
  return ABT_SUCCESS;
}

int ABT_pool_set_data(ABT_pool pool, void* data) {
  if (is_null(pool)) return ABT_ERR_INV_POOL;
  record(pool)->data.store(data, std::memory_order_release);
  return ABT_SUCCESS;
}

int ABT_pool_get_data(ABT_pool pool, void** data) {
  if (is_null(pool)) return ABT_ERR_INV_POOL;
  *data = record(pool)->data.load(std::memory_order_acquire);
  return ABT_SUCCESS;
}

int ABT_pool_get_id(ABT_pool pool, int* id) {
  if (is_null(pool)) return ABT_ERR_INV_POOL;
  *id = record(pool)->id;
  return ABT_SUCCESS;
}

int ABT_pool_add_sched(ABT_pool pool, ABT_sched sched) {
  if (is_null(pool)) return ABT_ERR_INV_POOL;
  if (is_null(sched)) return ABT_ERR_INV_SCHED;
  return push_sched(record(sched), pool);
}

}  // extern "C"
