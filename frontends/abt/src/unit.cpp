// unit.cpp: units as pools see them. Of a built-in pool a unit is its descriptor's address plus 1; of a user-defined
// one what its create_unit() has returned, found again through a table.
#include "unit.hpp"

#include <new>
#include <unordered_map>
#include <utility>

#include "key.hpp"
#include "pool.hpp"
#include "tool.hpp"

namespace weft::abt {
namespace {

using namespace front;

// Programs with user-defined pools alone come here. Several tables, so that their threads seldom meet.
struct alignas(64) Shard {
  Lock<std::mutex> lock;
  std::unordered_map<ABT_unit, ABT_thread> threads;
};
constexpr size_t kShards = 64;

// Never destroyed: threads may go on while the process ends.
Shard& shard_of(ABT_unit unit) noexcept {
  alignas(Shard) static unsigned char memory[kShards * sizeof(Shard)];
  static Shard* const shards = [] {
    auto* first = reinterpret_cast<Shard*>(memory);
    for (size_t i = 0; i < kShards; ++i) new (first + i) Shard;
    return first;
  }();
  const auto bits = reinterpret_cast<uintptr_t>(unit);
  return shards[(bits >> 4 ^ bits >> 12) % kShards];
}

bool remember(ABT_unit unit, ABT_thread thread) noexcept try {
  Shard& shard = shard_of(unit);
  std::lock_guard hold(shard.lock);
  shard.threads[unit] = thread;
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

void forget(ABT_unit unit) noexcept {
  Shard& shard = shard_of(unit);
  std::lock_guard hold(shard.lock);
  shard.threads.erase(unit);
}

// What a pool has made of a work unit; null: it is built in.
struct PoolUnit {
  ABT_unit unit;
  ABT_pool pool;
};

void free_unit(PoolUnit of) noexcept {
  const InPool inside;
  const PoolDef& def = record(of.pool)->def;
  if (def.old) {
    def.of_old.u_free(&of.unit);
  } else {
    def.free_unit(of.pool, of.unit);
  }
}

// The unit that it has been until now.
PoolUnit exchange_unit(Extra* extra, PoolUnit now) noexcept {
  return {std::exchange(extra->unit, now.unit), std::exchange(extra->unit_pool, now.pool)};
}

ABT_unit create_unit(ABT_pool pool, ABT_thread thread) noexcept {
  const InPool inside;
  const PoolDef& def = record(pool)->def;
  return def.old ? def.of_old.u_create_from_thread(thread) : def.create_unit(pool, thread);
}

// FrontHooks
void move(weft_unit_t unit, FrontHooks* hooks) {
  auto* extra = static_cast<Extra*>(hooks);
  extra->lock.lock();
  const ABT_pool to = extra->move_to;
  const auto moved = extra->moved;
  void* const arg = extra->moved_arg;
  extra->lock.unlock();
  if (to == nullptr || associate(to_abt(unit), to) != ABT_SUCCESS) return;
  if (is_user(to)) part(unit)->context = ABT_POOL_CONTEXT_OP_THREAD_MIGRATE;
  if (moved != nullptr) moved(to_abt(unit), arg);
}

void drop(weft_unit_t unit, FrontHooks* hooks) {
  auto* extra = static_cast<Extra*>(hooks);
  if (extra->watched) tell_tool(to_abt(unit), ABT_TOOL_EVENT_THREAD_FREE);
  destroy_values(extra);
  if (extra->unit != nullptr) {
    forget(extra->unit);
    free_unit({extra->unit, extra->unit_pool});
  }
  delete extra;
}

}  // namespace

Extra* extra_if_any(ABT_thread thread) noexcept { return static_cast<Extra*>(hooks(core(thread))); }

Extra* make_extra() noexcept {
  auto* extra = new (std::nothrow) Extra;
  if (extra == nullptr) return nullptr;
  extra->move = move;
  extra->drop = drop;
  return extra;
}

void delete_extra(Extra* extra) noexcept { delete extra; }

bool is_task(ABT_thread thread) noexcept {
  if (!weft_is_ult(core(thread))) return true;
  const Extra* extra = extra_if_any(thread);
  return extra != nullptr && extra->task;
}

Extra* extra_of(ABT_thread thread) noexcept {
  if (Extra* extra = extra_if_any(thread)) return extra;
  Extra* made = make_extra();
  if (made == nullptr || set_hooks(core(thread), made)) return made;
  delete made;  // somebody else was first
  return extra_if_any(thread);
}

int associate(ABT_thread thread, ABT_pool pool) noexcept {
  Extra* extra = extra_if_any(thread);
  // One of a user-defined pool has an Extra.
  if (extra == nullptr && weft_unit_pool(core(thread)) == core(pool)) return ABT_SUCCESS;
  const bool user = is_user(pool);
  if (extra != nullptr && extra->unit != nullptr && extra->unit_pool == pool) return ABT_SUCCESS;
  PoolUnit now{};
  if (user) {
    if (extra == nullptr) extra = extra_of(thread);
    if (extra == nullptr) return ABT_ERR_MEM;
    const ABT_unit made = create_unit(pool, thread);
    if (is_null(made)) return ABT_ERR_UNIT;
    if (!remember(made, thread)) {
      free_unit({made, pool});
      return ABT_ERR_MEM;
    }
    now = {made, pool};
  }
  PoolUnit before{};
  {
    // Where it is the caller's own, a tick would push a unit of one pool into another one.
    const front::NoPreemption scope;
    if (extra != nullptr) before = exchange_unit(extra, now);
    if (user) part(core(thread))->context = kResume;
    if (weft_unit_pool(core(thread)) != core(pool)) set_home(core(thread), core(pool));
  }
  if (before.unit != nullptr) {
    if (before.unit != now.unit) forget(before.unit);  // a pool may call it by the work unit's address, as the other one does
    free_unit(before);
  }
  return ABT_SUCCESS;
}

ABT_unit unit_of(ABT_thread thread) noexcept {
  const Extra* extra = extra_if_any(thread);
  if (extra != nullptr && extra->unit != nullptr) return extra->unit;
  return builtin_unit(thread);
}

ABT_thread thread_of(ABT_unit unit) noexcept {
  if (is_builtin_unit(unit)) return thread_of_builtin(unit);
  Shard& shard = shard_of(unit);
  std::lock_guard hold(shard.lock);
  const auto found = shard.threads.find(unit);
  return found != shard.threads.end() ? found->second : ABT_THREAD_NULL;
}

}  // namespace weft::abt

using namespace weft::abt;

extern "C" {

int ABT_unit_get_thread(ABT_unit unit, ABT_thread* thread) {
  if (is_null(unit)) return fail(thread, ABT_THREAD_NULL, ABT_ERR_INV_UNIT);
  const ABT_thread found = thread_of(unit);
  if (is_null(found)) return fail(thread, ABT_THREAD_NULL, ABT_ERR_INV_UNIT);
  *thread = found;
  return ABT_SUCCESS;
}

// Pools do it themselves since Argobots 1.1.
int ABT_unit_set_associated_pool(ABT_unit unit, ABT_pool pool) {
  if (is_null(unit)) return ABT_ERR_INV_UNIT;
  return is_null(pool) ? ABT_ERR_INV_POOL : ABT_SUCCESS;
}

}  // extern "C"
