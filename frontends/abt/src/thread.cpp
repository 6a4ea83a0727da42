// thread.cpp: work units: made, revived, joined, freed, resumed. What is asked of one: thread_query.cpp.
#include "thread.hpp"

#include "pool.hpp"
#include "runtime.hpp"
#include "self.hpp"
#include "thread_attr.hpp"
#include "tool.hpp"
#include "unit.hpp"
#include "xstream.hpp"

namespace weft::abt {
namespace {

using namespace front;

bool plain(ABT_thread_attr attr) noexcept {
  return is_null(attr) || (attr->stack_size == 0 && attr->migratable && attr->moved == nullptr);
}

// What of its attributes a unit has to remember. Null: nothing; false: no memory.
bool make_extra_for(ABT_thread_attr attr, bool task, Extra** out) noexcept {
  *out = nullptr;
  const bool watched = tool_active();
  if (plain(attr) && !watched && !task) return true;
  Extra* extra = make_extra();
  if (extra == nullptr) return false;
  *out = extra;
  extra->watched = watched;
  extra->task = task;
  if (is_null(attr)) return true;
  extra->stack = attr->stack;
  extra->stack_size = attr->stack_size;
  extra->moved = attr->moved;
  extra->moved_arg = attr->moved_arg;
  extra->fixed.store(!attr->migratable, std::memory_order_relaxed);
  return true;
}

ABT_pool_context context_of(Start start, bool revived) noexcept {
  if (start == Start::kRunNow) {
    return revived ? ABT_POOL_CONTEXT_OP_THREAD_REVIVE_TO : ABT_POOL_CONTEXT_OP_THREAD_CREATE_TO;
  }
  return revived ? ABT_POOL_CONTEXT_OP_THREAD_REVIVE : ABT_POOL_CONTEXT_OP_THREAD_CREATE;
}

// What a user-defined pool makes of the unit, and what a tool is told, comes before it is pushed.
int create_unpushed(ABT_pool pool, void (*fn)(void*), void* arg, UnitWish& wish, ABT_thread* out) noexcept {
  auto* const extra = static_cast<Extra*>(wish.hooks);
  wish.push = false;
  const bool user = is_user(pool);
  if (user && extra == nullptr) wish.hooks = &user_pools_hooks;
  weft_unit_t unit;
  int error = from_core(unit_create(core(pool), fn, arg, kResume, wish, &unit));
  if (error == ABT_SUCCESS && user) {
    error = associate_fresh(to_abt(unit), pool);
    if (error != ABT_SUCCESS) unit_discard(unit);
  }
  if (error != ABT_SUCCESS) {
    delete_extra(extra);
    return error;
  }
  *out = to_abt(unit);
  if (wish.watched) tell_tool(*out, ABT_TOOL_EVENT_THREAD_CREATE);
  return ABT_SUCCESS;
}

}  // namespace

int create_in_user_pool(bool tasklet, ABT_pool pool, void (*fn)(void*), void* arg, ABT_thread* newunit) noexcept {
  weft_unit_t unit;
  const bool detached = newunit == nullptr;
  if (const int error = unit_create_plain(core(pool), fn, arg, tasklet, detached, &user_pools_hooks, &unit); error != WEFT_OK) return from_core(error);
  if (const int error = associate_fresh(to_abt(unit), pool); error != ABT_SUCCESS) {
    unit_discard(unit);
    return error;
  }
  if (!detached) *newunit = to_abt(unit);
  part(unit)->context = ABT_POOL_CONTEXT_OP_THREAD_CREATE;
  return weft_pool_push(core(pool), unit) == WEFT_OK ? ABT_SUCCESS : ABT_ERR_OTHER;
}

namespace {

// The caller, who has given its place to the unit, comes to its own pool.
int run_now(ABT_thread unit, bool revived) noexcept {
  switch_to(core(unit), Leave::kMade, context_of(Start::kRunNow, revived));
  return ABT_SUCCESS;
}

int start(ABT_pool pool, ABT_thread unit, bool revived) noexcept {
  if (is_user(pool)) part(core(unit))->context = context_of(Start::kPush, revived);
  return weft_pool_push(core(pool), core(unit)) == WEFT_OK ? ABT_SUCCESS : ABT_ERR_OTHER;
}

// Only a ULT under a scheduler has a place to give.
int check_run_now() noexcept {
  ABT_thread self;
  if (const int error = self_ult(&self); error != ABT_SUCCESS) return error;
  return in_main_sched() ? ABT_ERR_INV_THREAD : ABT_SUCCESS;
}

}  // namespace

int create_unit(bool tasklet, ABT_pool pool, void (*fn)(void*), void* arg, ABT_thread_attr attr, Start when,
                ABT_thread* newunit) noexcept {
  if (!running()) return ABT_ERR_UNINITIALIZED;
  if (when == Start::kRunNow) {
    if (const int error = check_run_now(); error != ABT_SUCCESS) return error;
  }
  const bool user = is_user(pool);
  const bool with_stack = tasklet && workers_are_taken();
  Extra* extra;
  if (!make_extra_for(attr, with_stack, &extra)) return ABT_ERR_MEM;
  UnitWish wish;
  wish.tasklet = tasklet && !with_stack;
  wish.detached = newunit == nullptr;
  wish.push = when == Start::kPush;
  wish.hooks = extra;
  wish.watched = extra != nullptr && extra->watched;
  if (!is_null(attr)) {
    wish.stack_size = attr->stack_size;
    wish.stack_memory = attr->stack;
    wish.preemption = attr->preemption;
    wish.blocking = attr->blocking;
  }
  ABT_thread unnamed;
  ABT_thread* const out = newunit != nullptr ? newunit : &unnamed;
  if (user || wish.watched) {
    if (const int error = create_unpushed(pool, fn, arg, wish, out); error != ABT_SUCCESS) return error;
    return when == Start::kRunNow ? run_now(*out, false) : start(pool, *out, false);
  }
  weft_unit_t made;
  weft_unit_t* const to = newunit != nullptr ? reinterpret_cast<weft_unit_t*>(newunit) : &made;
  if (const int error = unit_create(core(pool), fn, arg, kResume, wish, to); error != WEFT_OK) {
    delete_extra(extra);
    return from_core(error);
  }
  return when == Start::kRunNow ? run_now(to_abt(*to), false) : ABT_SUCCESS;
}

int push_sched_unit(ABT_pool pool, void (*fn)(void*), void* arg, size_t stack_size) noexcept {
  ABT_thread_attr_opaque attr;
  attr.stack_size = stack_size;
  return create_unit(false, pool, fn, arg, &attr, Start::kPush, nullptr);
}

int revive_unit(ABT_pool pool, void (*fn)(void*), void* arg, ABT_thread unit, Start when) noexcept {
  if (is_null(pool)) return ABT_ERR_INV_POOL;
  if (is_null(unit)) return ABT_ERR_INV_THREAD;
  if (when == Start::kRunNow) {
    if (const int error = check_run_now(); error != ABT_SUCCESS) return error;
  }
  if (weft_unit_state(core(unit)) != WEFT_UNIT_TERMINATED) return ABT_ERR_INV_THREAD;
  if (const int error = associate(unit, pool); error != ABT_SUCCESS) return error;
  const Extra* extra = extra_if_any(unit);
  const bool watched = extra != nullptr && extra->watched;
  const bool push = when == Start::kPush && !is_user(pool) && !watched;
  if (unit_revive(core(unit), core(pool), fn, arg, kResume, push) != WEFT_OK) return ABT_ERR_INV_THREAD;
  if (watched) tell_tool(unit, ABT_TOOL_EVENT_THREAD_REVIVE);
  if (push) return ABT_SUCCESS;
  return when == Start::kRunNow ? run_now(unit, true) : start(pool, unit, true);
}

namespace {

// A tasklet cannot be suspended: its worker waits with it.
template <class Wait>
int wait_anyhow(Wait wait) noexcept {
  int error = wait();
  if (error == WEFT_ERR_CONTEXT) {
    const bool before = weft_wait_in_place(true);
    error = wait();
    weft_wait_in_place(before);
  }
  return error == WEFT_OK ? ABT_SUCCESS : ABT_ERR_INV_THREAD;
}

}  // namespace

namespace {

bool is_watched(ABT_thread unit) noexcept {
  const Extra* extra = extra_if_any(unit);
  return extra != nullptr && extra->watched;
}

}  // namespace

int join_unit(ABT_thread unit) noexcept {
  if (is_null(unit)) return ABT_ERR_INV_THREAD;
  const int error = wait_anyhow([unit] { return weft_join(core(unit)); });
  if (error == ABT_SUCCESS && tool_active() && is_watched(unit)) tell_tool(unit, ABT_TOOL_EVENT_THREAD_JOIN);
  return error;
}

int free_unit(ABT_thread* unit) noexcept {
  if (unit == nullptr || is_null(*unit)) return ABT_ERR_INV_THREAD;
  if (tool_active()) {
    if (const int error = join_unit(*unit); error != ABT_SUCCESS) return error;
  }
  auto* handle = reinterpret_cast<weft_unit_t*>(unit);
  const int error = wait_anyhow([handle] { return weft_free(handle); });
  if (error == ABT_SUCCESS) *unit = ABT_THREAD_NULL;
  return error;
}

namespace {

[[gnu::noinline]] int create_ult(ABT_pool pool, void (*fn)(void*), void* arg, ABT_thread_attr attr,
                                 ABT_thread* newthread) noexcept {
  const int error = create_unit(false, pool, fn, arg, attr, Start::kPush, newthread);
  return error == ABT_SUCCESS ? error : fail(newthread, ABT_THREAD_NULL, error);
}

int create_plain_ult(weft_pool_t pool, weft_fn fn, void* arg, weft_unit_t* unit) noexcept {
  if (is_user(to_abt(pool))) {
    auto* const newthread = reinterpret_cast<ABT_thread*>(unit);
    const int error = create_in_user_pool(false, to_abt(pool), fn, arg, newthread);
    return error == ABT_SUCCESS ? error : fail(newthread, ABT_THREAD_NULL, error);
  }
  return create_ult(to_abt(pool), fn, arg, ABT_THREAD_ATTR_NULL, reinterpret_cast<ABT_thread*>(unit));
}

}  // namespace
}  // namespace weft::abt

using namespace weft::abt;

extern "C" {

int ABT_thread_create(ABT_pool pool, void (*thread_func)(void*), void* arg, ABT_thread_attr attr,
                      ABT_thread* newthread) {
  if (__builtin_expect(is_null(pool), 0)) return fail(newthread, ABT_THREAD_NULL, ABT_ERR_INV_POOL);
  if (__builtin_expect(!is_null(attr) || tool_active(), 0)) return create_ult(pool, thread_func, arg, attr, newthread);
  auto* unit = reinterpret_cast<weft_unit_t*>(newthread);
  return weft::front::ult_create_here(core(pool), thread_func, arg, unit, create_plain_ult);
}

int ABT_thread_create_to(ABT_pool pool, void (*thread_func)(void*), void* arg, ABT_thread_attr attr,
                         ABT_thread* newthread) {
  if (is_null(pool)) return fail(newthread, ABT_THREAD_NULL, ABT_ERR_INV_POOL);
  const int error = create_unit(false, pool, thread_func, arg, attr, Start::kRunNow, newthread);
  return error == ABT_SUCCESS ? error : fail(newthread, ABT_THREAD_NULL, error);
}

int ABT_thread_create_on_xstream(ABT_xstream xstream, void (*thread_func)(void*), void* arg, ABT_thread_attr attr,
                                 ABT_thread* newthread) {
  if (is_null(xstream)) return fail(newthread, ABT_THREAD_NULL, ABT_ERR_INV_XSTREAM);
  return ABT_thread_create(first_pool(record(xstream)), thread_func, arg, attr, newthread);
}

int ABT_thread_create_many(int num_threads, ABT_pool* pool_list, void (**thread_func_list)(void*), void** arg_list,
                           ABT_thread_attr attr, ABT_thread* newthread_list) {
  // One stack cannot be several units'.
  if (!is_null(attr) && attr->stack != nullptr) return ABT_ERR_INV_THREAD_ATTR;
  for (int i = 0; i < num_threads; ++i) {
    void* const arg = arg_list != nullptr ? arg_list[i] : nullptr;
    ABT_thread* const out = newthread_list != nullptr ? &newthread_list[i] : nullptr;
    if (const int error = ABT_thread_create(pool_list[i], thread_func_list[i], arg, attr, out)) return error;
  }
  return ABT_SUCCESS;
}

int ABT_thread_revive(ABT_pool pool, void (*thread_func)(void*), void* arg, ABT_thread* thread) {
  if (thread == nullptr) return ABT_ERR_INV_THREAD;
  return revive_unit(pool, thread_func, arg, *thread, Start::kPush);
}

int ABT_thread_revive_to(ABT_pool pool, void (*thread_func)(void*), void* arg, ABT_thread* thread) {
  if (thread == nullptr) return ABT_ERR_INV_THREAD;
  if (!is_null(*thread) && is_task(*thread)) return ABT_ERR_INV_THREAD;
  return revive_unit(pool, thread_func, arg, *thread, Start::kRunNow);
}

int ABT_thread_join(ABT_thread thread) {
  if (__builtin_expect(is_null(thread), 0)) return ABT_ERR_INV_THREAD;
  return weft::front::join_here(core(thread), [](weft_unit_t unit) { return join_unit(to_abt(unit)); });
}
int ABT_thread_free(ABT_thread* thread) {
  if (__builtin_expect(holds_null(thread), 0)) return ABT_ERR_INV_THREAD;
  auto* unit = reinterpret_cast<weft_unit_t*>(thread);
  return weft::front::free_here(unit, core(ABT_THREAD_NULL), [](weft_unit_t* handle) {
    return free_unit(reinterpret_cast<ABT_thread*>(handle));
  });
}

// Null ones are left out.
int ABT_thread_join_many(int num_threads, ABT_thread* thread_list) {
  for (int i = 0; i < num_threads; ++i) {
    if (is_null(thread_list[i])) continue;
    if (const int error = join_unit(thread_list[i])) return error;
  }
  return ABT_SUCCESS;
}

int ABT_thread_free_many(int num_threads, ABT_thread* thread_list) {
  for (int i = 0; i < num_threads; ++i) {
    if (is_null(thread_list[i])) continue;
    if (const int error = free_unit(&thread_list[i])) return error;
  }
  return ABT_SUCCESS;
}

int ABT_thread_cancel(ABT_thread thread) {
  if (is_null(thread) || weft::front::view(core(thread)).primary) return ABT_ERR_INV_THREAD;
  weft::front::request_cancel(core(thread));
  return ABT_SUCCESS;
}

int ABT_thread_resume(ABT_thread thread) {
  if (is_null(thread) || !weft_is_ult(core(thread))) return ABT_ERR_INV_THREAD;
  // One that has not suspended itself yet cannot be told from one that never will: who resumes looks at the state.
  if (!weft::front::view(core(thread)).suspended) return ABT_ERR_THREAD;
  return weft_resume(core(thread)) == WEFT_OK ? ABT_SUCCESS : ABT_ERR_THREAD;
}

int ABT_thread_set_associated_pool(ABT_thread thread, ABT_pool pool) {
  if (is_null(thread)) return ABT_ERR_INV_THREAD;
  return is_null(pool) ? ABT_ERR_INV_POOL : associate(thread, pool);
}

}  // extern "C"
