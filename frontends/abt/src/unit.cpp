// unit.cpp: units as pools see them. Of a built-in pool a unit is its descriptor's address plus 1; of a user-defined
// one what its create_unit() has returned, found again through a table.
#include "unit.hpp"

#include <mutex>
#include <new>
#include <utility>

#include "key.hpp"
#include "pool.hpp"
#include "tool.hpp"

namespace weft::abt {
namespace {

using namespace front;

// The units of user-defined pools, and whose they are. Whoever holds a lock allocates nothing: see Lock.
struct alignas(64) Bucket {
  struct Entry {
    ABT_unit unit;
    ABT_thread thread;
  };
  Lock lock;  // the first one's is that of all of them
  Bucket* more = nullptr;
  Entry entries[3] = {};

  Entry* find(ABT_unit unit) noexcept {
    for (Bucket* bucket = this; bucket != nullptr; bucket = bucket->more) {
      for (Entry& entry : bucket->entries) {
        if (entry.unit == unit) return &entry;
      }
    }
    return nullptr;
  }
};
static_assert(sizeof(Bucket) == 64);
constexpr unsigned kBucketBits = 15;
constinit Bucket buckets[1u << kBucketBits];  // two mebibytes of address space, of which programs without such pools touch nothing

Bucket& bucket_of(ABT_unit unit) noexcept {
  return buckets[reinterpret_cast<uintptr_t>(unit) * 0x9e3779b97f4a7c15 >> (64 - kBucketBits)];
}

// False: there is no room; more is put in its place.
bool remember_in(Bucket& bucket, Bucket*& more, ABT_unit unit, ABT_thread thread) noexcept {
  const std::lock_guard hold(bucket.lock);
  Bucket::Entry* entry = bucket.find(nullptr);
  if (entry == nullptr && more != nullptr) {
    more->more = std::exchange(bucket.more, more);
    entry = &std::exchange(more, nullptr)->entries[0];
  }
  if (entry == nullptr) return false;
  *entry = {unit, thread};
  return true;
}

// False: no memory.
bool remember(ABT_unit unit, ABT_thread thread) noexcept {
  Bucket& bucket = bucket_of(unit);
  Bucket* more = nullptr;
  while (!remember_in(bucket, more, unit, thread)) {
    more = new (std::nothrow) Bucket;
    if (more == nullptr) return false;
  }
  if (__builtin_expect(more != nullptr, 0)) delete more;
  return true;
}

void forget(ABT_unit unit) noexcept {
  Bucket& bucket = bucket_of(unit);
  const std::lock_guard hold(bucket.lock);
  *bucket.find(unit) = {};
}

void free_unit(ABT_pool pool, ABT_unit unit) noexcept {
  const InPool inside;
  const PoolDef& def = record(pool)->def;
  if (def.old) {
    def.of_old.u_free(&unit);
  } else {
    def.free_unit(pool, unit);
  }
}

// *made: found from here on.
int create_unit(ABT_pool pool, ABT_thread thread, ABT_unit* made) noexcept {
  {
    const InPool inside;
    const PoolDef& def = record(pool)->def;
    *made = def.old ? def.of_old.u_create_from_thread(thread) : def.create_unit(pool, thread);
  }
  if (is_null(*made)) return ABT_ERR_UNIT;
  if (remember(*made, thread)) return ABT_SUCCESS;
  free_unit(pool, *made);
  return ABT_ERR_MEM;
}

// FrontHooks
void move(weft_unit_t unit, FrontHooks* hooks) {
  if (hooks == &user_pools_hooks) return;
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
  auto* const extra = hooks != &user_pools_hooks ? static_cast<Extra*>(hooks) : nullptr;
  if (extra != nullptr) {
    if (extra->watched) tell_tool(to_abt(unit), ABT_TOOL_EVENT_THREAD_FREE);
    destroy_values(extra);
  }
  if (void* const made = std::exchange(part(unit)->made, nullptr)) {
    forget(static_cast<ABT_unit>(made));
    free_unit(to_abt(weft_unit_pool(unit)), static_cast<ABT_unit>(made));
  }
  if (extra != nullptr) delete extra;
}

}  // namespace

constinit FrontHooks user_pools_hooks{move, drop};

Extra* make_extra() noexcept {
  auto* extra = new (std::nothrow) Extra;
  if (extra == nullptr) return nullptr;
  extra->move = move;
  extra->drop = drop;
  return extra;
}

void delete_extra(Extra* extra) noexcept { delete extra; }

Extra* extra_of(ABT_thread thread) noexcept {
  if (Extra* extra = extra_if_any(thread)) return extra;
  Extra* made = make_extra();
  if (made == nullptr) return nullptr;
  for (;;) {
    FrontHooks* const hooks = front::hooks(core(thread));
    const bool has_one = hooks != nullptr && hooks != &user_pools_hooks;
    if (!has_one && set_hooks(core(thread), hooks, made)) return made;
    if (!has_one) continue;
    delete made;  // somebody else was first
    return static_cast<Extra*>(hooks);
  }
}

int associate_fresh(ABT_thread thread, ABT_pool pool) noexcept {
  ABT_unit made;
  const int error = create_unit(pool, thread, &made);
  if (error != ABT_SUCCESS) return error;
  part(core(thread))->made = made;
  part(core(thread))->context = kResume;
  return ABT_SUCCESS;
}

int Association::prepare(ABT_thread thread, ABT_pool pool) noexcept {
  const ABT_pool home = to_abt(weft_unit_pool(core(thread)));
  if (home == pool) return ABT_SUCCESS;
  if (is_user(pool)) {
    if (front::hooks(core(thread)) == nullptr) static_cast<void>(set_hooks(core(thread), nullptr, &user_pools_hooks));
    if (const int error = create_unit(pool, thread, &now_); error != ABT_SUCCESS) return error;
  }
  thread_ = thread;
  pool_before_ = home;
  pool_ = pool;
  return ABT_SUCCESS;
}

void Association::move() noexcept {
  if (pool_ == nullptr) return;
  moved_ = true;
  FrontPart* const its = part(core(thread_));
  before_ = static_cast<ABT_unit>(std::exchange(its->made, now_));
  if (now_ != nullptr) its->context = kResume;
  set_home(core(thread_), core(pool_));
}

void Association::end() noexcept {
  const ABT_unit left = moved_ ? before_ : now_;
  if (left == nullptr) return;
  forget(left);
  free_unit(moved_ ? pool_before_ : pool_, left);
}

int associate(ABT_thread thread, ABT_pool pool) noexcept {
  Association association;
  if (const int error = association.prepare(thread, pool); error != ABT_SUCCESS) return error;
  {
    // In one go: where it is the caller's own, a tick would push a unit of one pool into another one.
    const front::NoPreemption scope;
    association.move();
  }
  association.end();
  return ABT_SUCCESS;
}

ABT_unit unit_of(ABT_thread thread) noexcept {
  const ABT_unit made = made_unit(thread);
  return made != nullptr ? made : builtin_unit(thread);
}

ABT_thread thread_of(ABT_unit unit) noexcept {
  if (is_builtin_unit(unit)) return thread_of_builtin(unit);
  Bucket& bucket = bucket_of(unit);
  const std::lock_guard hold(bucket.lock);
  const Bucket::Entry* entry = bucket.find(unit);
  return entry != nullptr ? entry->thread : ABT_THREAD_NULL;
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
