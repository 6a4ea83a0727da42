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

// The units of user-defined pools; each is its Extra's. Nothing is allocated: see Lock.
struct Bucket {
  Lock lock;
  Extra* first = nullptr;
};
constexpr unsigned kBucketBits = 16;
constinit Bucket buckets[1u << kBucketBits];  // a mebibyte of address space, of which programs without such pools touch nothing

Bucket& bucket_of(ABT_unit unit) noexcept {
  return buckets[reinterpret_cast<uintptr_t>(unit) * 0x9e3779b97f4a7c15 >> (64 - kBucketBits)];
}

void remember(Extra* extra, ABT_thread thread) noexcept {
  Bucket& bucket = bucket_of(extra->unit);
  std::lock_guard hold(bucket.lock);
  extra->thread = thread;
  extra->next = std::exchange(bucket.first, extra);
}

void forget(Extra* extra) noexcept {
  Bucket& bucket = bucket_of(extra->unit);
  std::lock_guard hold(bucket.lock);
  Extra** link = &bucket.first;
  while (*link != extra) link = &(*link)->next;
  *link = extra->next;
}

void free_unit(PoolUnit of) noexcept {
  const InPool inside;
  const PoolDef& def = record(of.pool)->def;
  if (def.old) {
    def.of_old.u_free(&of.unit);
  } else {
    def.free_unit(of.pool, of.unit);
  }
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
    forget(extra);
    free_unit({extra->unit, extra->unit_pool});
  }
  delete extra;
}

}  // namespace

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
  if (made == nullptr || set_hooks(core(thread), made)) return made;
  delete made;  // somebody else was first
  return extra_if_any(thread);
}

int Association::prepare(ABT_thread thread, ABT_pool pool) noexcept {
  extra_ = extra_if_any(thread);
  // One of a user-defined pool has an Extra.
  if (extra_ == nullptr && weft_unit_pool(core(thread)) == core(pool)) return ABT_SUCCESS;
  if (extra_ != nullptr && extra_->unit != nullptr && extra_->unit_pool == pool) return ABT_SUCCESS;
  if (is_user(pool)) {
    if (extra_ == nullptr) extra_ = extra_of(thread);
    if (extra_ == nullptr) return ABT_ERR_MEM;
    const ABT_unit made = create_unit(pool, thread);
    if (is_null(made)) return ABT_ERR_UNIT;
    now_ = {made, pool};
  }
  thread_ = thread;
  pool_ = pool;
  return ABT_SUCCESS;
}

void Association::move() noexcept {
  if (pool_ == nullptr) return;
  if (extra_ != nullptr) {
    if (extra_->unit != nullptr) forget(extra_);
    before_ = {std::exchange(extra_->unit, now_.unit), std::exchange(extra_->unit_pool, now_.pool)};
    if (now_.unit != nullptr) remember(extra_, thread_);
  }
  if (now_.unit != nullptr) part(core(thread_))->context = kResume;
  if (weft_unit_pool(core(thread_)) != core(pool_)) set_home(core(thread_), core(pool_));
}

void Association::end() noexcept {
  if (before_.unit != nullptr) free_unit(before_);
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
  const Extra* extra = extra_if_any(thread);
  if (extra != nullptr && extra->unit != nullptr) return extra->unit;
  return builtin_unit(thread);
}

ABT_thread thread_of(ABT_unit unit) noexcept {
  if (is_builtin_unit(unit)) return thread_of_builtin(unit);
  Bucket& bucket = bucket_of(unit);
  std::lock_guard hold(bucket.lock);
  const Extra* extra = bucket.first;
  while (extra != nullptr && extra->unit != unit) extra = extra->next;
  return extra != nullptr ? extra->thread : ABT_THREAD_NULL;
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
