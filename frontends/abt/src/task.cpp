// task.cpp: ABT_task_*: tasklets, and the names by which what thread.cpp does is known for them.
#include "pool.hpp"
#include "runtime.hpp"
#include "thread.hpp"
#include "tool.hpp"
#include "xstream.hpp"

namespace weft::abt {
namespace {

[[gnu::noinline]] int create_tasklet(weft_pool_t pool, weft_fn fn, void* arg, weft_unit_t* unit) noexcept {
  auto* newtask = reinterpret_cast<ABT_task*>(unit);
  const bool plain = is_user(to_abt(pool)) && !tool_active() && !weft::front::workers_are_taken();
  const int error = plain ? create_in_user_pool(true, to_abt(pool), fn, arg, newtask)
                          : create_unit(true, to_abt(pool), fn, arg, ABT_THREAD_ATTR_NULL, Start::kPush, newtask);
  return error == ABT_SUCCESS ? error : fail(newtask, ABT_TASK_NULL, error);
}

int free_tasklet(weft_unit_t* unit) noexcept {
  auto* task = reinterpret_cast<ABT_task*>(unit);
  const int error = of_task(free_unit(task));
  if (error == ABT_SUCCESS) *task = ABT_TASK_NULL;
  return error;
}

int join_tasklet(weft_unit_t unit) noexcept { return of_task(join_unit(to_abt(unit))); }

}  // namespace
}  // namespace weft::abt

using namespace weft::abt;

extern "C" {

int ABT_task_create(ABT_pool pool, void (*task_func)(void*), void* arg, ABT_task* newtask) {
  if (__builtin_expect(is_null(pool), 0)) return fail(newtask, ABT_TASK_NULL, ABT_ERR_INV_POOL);
  auto* unit = reinterpret_cast<weft_unit_t*>(newtask);
  if (__builtin_expect(tool_active(), 0)) return create_tasklet(core(pool), task_func, arg, unit);
  return weft::front::tasklet_create_here(core(pool), task_func, arg, unit, create_tasklet);
}

int ABT_task_create_on_xstream(ABT_xstream xstream, void (*task_func)(void*), void* arg, ABT_task* newtask) {
  if (is_null(xstream)) return fail(newtask, ABT_TASK_NULL, ABT_ERR_INV_XSTREAM);
  return ABT_task_create(first_pool(record(xstream)), task_func, arg, newtask);
}

int ABT_task_revive(ABT_pool pool, void (*task_func)(void*), void* arg, ABT_task* task) {
  return of_task(ABT_thread_revive(pool, task_func, arg, task));
}

int ABT_task_free(ABT_task* task) {
  if (__builtin_expect(holds_null(task), 0)) return ABT_ERR_INV_TASK;
  return weft::front::free_here(reinterpret_cast<weft_unit_t*>(task), core(ABT_TASK_NULL), free_tasklet);
}

int ABT_task_join(ABT_task task) {
  if (__builtin_expect(is_null(task), 0)) return ABT_ERR_INV_TASK;
  return weft::front::join_here(core(task), join_tasklet);
}
int ABT_task_cancel(ABT_task task) { return of_task(ABT_thread_cancel(task)); }
int ABT_task_get_xstream(ABT_task task, ABT_xstream* xstream) {
  return of_task(ABT_thread_get_last_xstream(task, xstream));
}

int ABT_task_get_state(ABT_task task, ABT_task_state* state) {
  if (is_null(task)) return ABT_ERR_INV_TASK;
  switch (weft_unit_state(core(task))) {
    case WEFT_UNIT_FRESH:
    case WEFT_UNIT_READY: *state = ABT_TASK_STATE_READY; break;
    case WEFT_UNIT_RUNNING:
    case WEFT_UNIT_BLOCKED: *state = ABT_TASK_STATE_RUNNING; break;
    case WEFT_UNIT_TERMINATED: *state = ABT_TASK_STATE_TERMINATED; break;
  }
  return ABT_SUCCESS;
}

int ABT_task_get_last_pool(ABT_task task, ABT_pool* pool) { return of_task(ABT_thread_get_last_pool(task, pool)); }
int ABT_task_get_last_pool_id(ABT_task task, int* id) { return of_task(ABT_thread_get_last_pool_id(task, id)); }
int ABT_task_set_migratable(ABT_task task, ABT_bool flag) { return of_task(ABT_thread_set_migratable(task, flag)); }
int ABT_task_is_migratable(ABT_task task, ABT_bool* flag) { return of_task(ABT_thread_is_migratable(task, flag)); }
int ABT_task_equal(ABT_task task1, ABT_task task2, ABT_bool* result) {
  return ABT_thread_equal(task1, task2, result);
}
int ABT_task_get_id(ABT_task task, uint64_t* task_id) { return of_task(ABT_thread_get_id(task, task_id)); }
int ABT_task_get_arg(ABT_task task, void** arg) { return of_task(ABT_thread_get_arg(task, arg)); }

}  // extern "C"
