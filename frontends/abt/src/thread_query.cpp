// thread_query.cpp: what can be asked of a work unit, and set.
#include <new>

#include "pool.hpp"
#include "runtime.hpp"
#include "self.hpp"
#include "thread.hpp"
#include "thread_attr.hpp"
#include "unit.hpp"
#include "xstream.hpp"

namespace weft::abt {
namespace {

using namespace front;

size_t stack_size_of(ABT_thread thread) noexcept {
  if (view(core(thread)).primary || is_task(thread)) return 0;
  const Extra* extra = extra_if_any(thread);
  return extra != nullptr && extra->stack_size != 0 ? extra->stack_size : default_stack_size();
}

bool migratable(ABT_thread thread) noexcept {
  if (view(core(thread)).primary || is_main_sched(thread)) return false;
  const Extra* extra = extra_if_any(thread);
  return extra == nullptr || !extra->fixed.load(std::memory_order_relaxed);
}

}  // namespace

bool is_main_sched(ABT_thread unit) noexcept {
  struct Search {
    weft_unit_t unit;
    bool found;
  } search{core(unit), false};
  if (part(search.unit)->fn != nullptr) return false;  // it has none
  for_each_xstream(
      [](Xstream* xstream, void* arg) {
        auto* s = static_cast<Search*>(arg);
        if (xstream->stand_in.load(std::memory_order_relaxed) == s->unit) s->found = true;
      },
      &search);
  return search.found;
}

}  // namespace weft::abt

using namespace weft::abt;

extern "C" {

int ABT_thread_get_last_xstream(ABT_thread thread, ABT_xstream* xstream) {
  if (is_null(thread)) return fail(xstream, ABT_XSTREAM_NULL, ABT_ERR_INV_THREAD);
  const weft_worker_t worker = weft::front::last_worker(core(thread));
  void* const last = worker != nullptr ? weft::front::worker_front(worker) : nullptr;
  *xstream = last != nullptr ? to_abt(static_cast<Xstream*>(last)) : ABT_XSTREAM_NULL;
  return ABT_SUCCESS;
}

int ABT_thread_get_state(ABT_thread thread, ABT_thread_state* state) {
  if (is_null(thread)) return ABT_ERR_INV_THREAD;
  switch (weft_unit_state(core(thread))) {
    case WEFT_UNIT_FRESH:
    case WEFT_UNIT_READY: *state = ABT_THREAD_STATE_READY; break;
    case WEFT_UNIT_RUNNING: *state = ABT_THREAD_STATE_RUNNING; break;
    case WEFT_UNIT_BLOCKED: *state = ABT_THREAD_STATE_BLOCKED; break;
    case WEFT_UNIT_TERMINATED: *state = ABT_THREAD_STATE_TERMINATED; break;
  }
  return ABT_SUCCESS;
}

int ABT_thread_get_last_pool(ABT_thread thread, ABT_pool* pool) {
  if (is_null(thread)) return fail(pool, ABT_POOL_NULL, ABT_ERR_INV_THREAD);
  *pool = to_abt(weft_unit_pool(core(thread)));
  return ABT_SUCCESS;
}

int ABT_thread_get_last_pool_id(ABT_thread thread, int* id) {
  if (is_null(thread)) return ABT_ERR_INV_THREAD;
  return ABT_pool_get_id(to_abt(weft_unit_pool(core(thread))), id);
}

int ABT_thread_get_unit(ABT_thread thread, ABT_unit* unit) {
  if (is_null(thread)) return fail(unit, ABT_UNIT_NULL, ABT_ERR_INV_THREAD);
  *unit = unit_of(thread);
  return ABT_SUCCESS;
}

int ABT_thread_is_primary(ABT_thread thread, ABT_bool* is_primary) {
  if (is_null(thread)) return ABT_ERR_INV_THREAD;
  *is_primary = weft::front::view(core(thread)).primary ? ABT_TRUE : ABT_FALSE;
  return ABT_SUCCESS;
}

int ABT_thread_is_unnamed(ABT_thread thread, ABT_bool* is_unnamed) {
  if (is_null(thread)) return ABT_ERR_INV_THREAD;
  const auto seen = weft::front::view(core(thread));
  *is_unnamed = seen.detached || seen.primary ? ABT_TRUE : ABT_FALSE;
  return ABT_SUCCESS;
}

// Both kinds of null are the same.
int ABT_thread_equal(ABT_thread thread1, ABT_thread thread2, ABT_bool* result) {
  const bool equal = thread1 == thread2 || (is_null(thread1) && is_null(thread2));
  *result = equal ? ABT_TRUE : ABT_FALSE;
  return ABT_SUCCESS;
}

int ABT_thread_get_stacksize(ABT_thread thread, size_t* stacksize) {
  if (is_null(thread)) return ABT_ERR_INV_THREAD;
  *stacksize = stack_size_of(thread);
  return ABT_SUCCESS;
}

int ABT_thread_get_stack(ABT_thread thread, void** stackaddr, size_t* stacksize) {
  if (is_null(thread)) return ABT_ERR_INV_THREAD;
  const Extra* extra = extra_if_any(thread);
  const size_t size = stack_size_of(thread);
  void* low = nullptr;
  size_t real = 0;
  if (extra != nullptr && extra->stack != nullptr) {
    low = extra->stack;
  } else if (size != 0 && weft::front::stack_of(core(thread), &low, &real) && real > size) {
    low = static_cast<char*>(low) + (real - size);  // it has got a larger one than it asked for
  }
  if (stackaddr != nullptr) *stackaddr = low;
  if (stacksize != nullptr) *stacksize = size;
  return ABT_SUCCESS;
}

int ABT_thread_get_id(ABT_thread thread, ABT_unit_id* thread_id) {
  if (is_null(thread)) return ABT_ERR_INV_THREAD;
  // From 0 on, as Argobots gives them: programs ask whether one is 0. The core's begin with 1.
  const uint64_t id = weft_unit_id(core(thread));
  const uint64_t before = id > state.ids_before ? state.ids_before : 0;  // else it is of one that others have made before
  *thread_id = id != 0 ? id - 1 - before : 0;
  return ABT_SUCCESS;
}

int ABT_thread_set_arg(ABT_thread thread, void* arg) {
  if (is_null(thread)) return ABT_ERR_INV_THREAD;
  weft::front::set_arg(core(thread), arg);
  return ABT_SUCCESS;
}

int ABT_thread_get_arg(ABT_thread thread, void** arg) {
  if (is_null(thread)) return ABT_ERR_INV_THREAD;
  *arg = weft::front::part(core(thread))->arg;
  return ABT_SUCCESS;
}

int ABT_thread_get_thread_func(ABT_thread thread, void (**thread_func)(void*)) {
  if (is_null(thread)) return ABT_ERR_INV_THREAD;
  *thread_func = weft::front::part(core(thread))->fn;
  return ABT_SUCCESS;
}

int ABT_thread_get_attr(ABT_thread thread, ABT_thread_attr* attr) {
  if (is_null(thread)) return fail(attr, ABT_THREAD_ATTR_NULL, ABT_ERR_INV_THREAD);
  if (!kVersion20 && is_task(thread)) {
    return fail(attr, ABT_THREAD_ATTR_NULL, ABT_ERR_INV_THREAD);
  }
  auto* made = new (std::nothrow) ABT_thread_attr_opaque;
  if (made == nullptr) return fail(attr, ABT_THREAD_ATTR_NULL, ABT_ERR_MEM);
  size_t size = 0;
  void* stack = nullptr;
  static_cast<void>(ABT_thread_get_stack(thread, &stack, &size));
  made->stack = stack;
  made->stack_size = size;
  made->no_stack = size == 0;
  made->migratable = migratable(thread);
  if (Extra* extra = extra_if_any(thread)) {
    extra->lock.lock();
    made->moved = extra->moved;
    made->moved_arg = extra->moved_arg;
    extra->lock.unlock();
  }
  *attr = made;
  return ABT_SUCCESS;
}

int ABT_thread_set_callback(ABT_thread thread, void (*cb_func)(ABT_thread, void*), void* cb_arg) {
  if (is_null(thread)) return ABT_ERR_INV_THREAD;
  Extra* extra = extra_of(thread);
  if (extra == nullptr) return ABT_ERR_MEM;
  extra->lock.lock();
  extra->moved = cb_func;
  extra->moved_arg = cb_arg;
  extra->lock.unlock();
  return ABT_SUCCESS;
}

// Of the primary ULT and of main schedulers it is not to be changed; in version 1.x nothing is said about that.
int ABT_thread_set_migratable(ABT_thread thread, ABT_bool migratable) {
  if (is_null(thread)) return ABT_ERR_INV_THREAD;
  if (weft::front::view(core(thread)).primary || is_main_sched(thread)) {
    return kVersion20 ? ABT_ERR_INV_THREAD : ABT_SUCCESS;
  }
  Extra* extra = migratable != ABT_FALSE ? extra_if_any(thread) : extra_of(thread);
  if (extra == nullptr) return migratable != ABT_FALSE ? ABT_SUCCESS : ABT_ERR_MEM;
  extra->fixed.store(migratable == ABT_FALSE, std::memory_order_relaxed);
  return ABT_SUCCESS;
}

int ABT_thread_is_migratable(ABT_thread thread, ABT_bool* is_migratable) {
  if (is_null(thread)) return ABT_ERR_INV_THREAD;
  *is_migratable = migratable(thread) ? ABT_TRUE : ABT_FALSE;
  return ABT_SUCCESS;
}

}  // extern "C"
