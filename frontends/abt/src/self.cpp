// self.cpp: ABT_self_*, and the older names: who calls.
#include "self.hpp"

#include "pool.hpp"
#include "thread.hpp"
#include "unit.hpp"
#include "xstream.hpp"

namespace weft::abt {

using namespace front;

int self_unit_in_general(ABT_thread* thread) noexcept {
  if (!running()) return ABT_ERR_UNINITIALIZED;
  Xstream* mine = my_xstream();
  if (mine == nullptr) return ABT_ERR_INV_XSTREAM;
  if (weft_unit_t unit = front::self()) {
    *thread = to_abt(unit);
    return ABT_SUCCESS;
  }
  const weft_unit_t scheduling = front::scheduling_self();
  const weft_unit_t unit = scheduling != nullptr ? scheduling : stand_in_of(mine);
  if (unit == nullptr) return ABT_ERR_MEM;
  *thread = to_abt(unit);
  return ABT_SUCCESS;
}

int check_scheduling() noexcept {
  const weft_unit_t unit = front::self();
  ABT_thread self;
  const bool may = my_xstream() != nullptr && (unit == nullptr || !is_task(to_abt(unit)));
  return __builtin_expect(may, 1) ? ABT_SUCCESS : self_ult(&self);
}

int run_in_pool(weft_unit_t unit, weft_pool_t pool) noexcept {
  if (const int error = check_scheduling(); error != ABT_SUCCESS) return error;
  if (const int error = associate(to_abt(unit), to_abt(pool)); error != ABT_SUCCESS) return error;
  return front::run(unit);
}

bool in_main_sched() noexcept { return front::self() == nullptr && my_xstream() != nullptr; }

namespace {

// The calling ULT leaves its place, which a main scheduler's code does not have.
int check_leaving(ABT_thread* self) noexcept {
  if (const int error = self_ult(self); error != ABT_SUCCESS) return error;
  return in_main_sched() ? ABT_ERR_INV_THREAD : ABT_SUCCESS;
}

// `to` is to be run in the caller's place.
int check_switch(ABT_thread to) noexcept {
  ABT_thread self;
  if (const int error = check_leaving(&self); error != ABT_SUCCESS) return error;
  return is_null(to) || to == self || !weft_is_ult(core(to)) || is_main_sched(to) ? ABT_ERR_INV_THREAD : ABT_SUCCESS;
}

int switch_popped(ABT_thread to, Leave how, ABT_pool_context context) noexcept {
  if (const int error = check_switch(to); error != ABT_SUCCESS) return error;
  const weft_unit_state_t state = weft_unit_state(core(to));
  if (state != WEFT_UNIT_FRESH && state != WEFT_UNIT_READY) return ABT_ERR_INV_THREAD;
  switch_to(core(to), how, context);
  return ABT_SUCCESS;
}

int switch_suspended(ABT_thread to, Leave how, ABT_pool_context context) noexcept {
  if (const int error = check_switch(to); error != ABT_SUCCESS) return error;
  if (!take_suspended(core(to))) return ABT_ERR_INV_THREAD;
  switch_to(core(to), how, context);
  return ABT_SUCCESS;
}

// The primary ULT does not end.
int check_exit() noexcept {
  ABT_thread self;
  if (const int error = check_leaving(&self); error != ABT_SUCCESS) return error;
  return view(core(self)).primary ? ABT_ERR_INV_THREAD : ABT_SUCCESS;
}

// In version 1.x what cannot be told is null, false or 0.
template <class Value>
int refuse(Value* result, Value nothing, int error) noexcept {
  if (!kVersion20 && result != nullptr) *result = nothing;
  return error;
}

// For old-style pools: the unit is taken out of its pool by the pool's own functions.
int take_from_user_pool(ABT_pool pool, ABT_thread thread, bool* taken) noexcept {
  const PoolDef& def = record(pool)->def;
  if (!def.old || def.of_old.u_is_in_pool == nullptr || def.of_old.p_remove == nullptr) return ABT_ERR_POOL;
  const ABT_unit unit = unit_of(thread);
  const InPool inside;
  *taken = def.of_old.u_is_in_pool(unit) != ABT_FALSE && def.of_old.p_remove(pool, unit) == ABT_SUCCESS;
  return ABT_SUCCESS;
}

// ABT_self_yield() by whoever is no ULT; or a main scheduler's code, which stays where it is.
int yield_without_ult() noexcept {
  ABT_thread self;
  return self_ult(&self);
}

// ABT_thread_yield_to() where it takes more than a switch.
int yield_to_in_general(weft_unit_t to) noexcept {
  if (!weft_is_ult(to)) return ABT_ERR_INV_THREAD;
  const weft_unit_t self = front::self();
  if (self == nullptr || !weft_is_ult(self)) return ABT_SUCCESS;
  if (self == to) return ABT_ERR_INV_THREAD;
  const ABT_pool pool = to_abt(weft_unit_pool(to));
  if (!is_user(pool)) {
    static_cast<void>(yield_to(to, ABT_POOL_CONTEXT_OP_THREAD_YIELD_TO));
    return ABT_SUCCESS;
  }
  bool taken = false;
  if (const int error = take_from_user_pool(pool, to_abt(to), &taken); error != ABT_SUCCESS) return error;
  if (taken) switch_to(to, Leave::kYield, ABT_POOL_CONTEXT_OP_THREAD_YIELD_TO);
  return ABT_SUCCESS;
}

}  // namespace
}  // namespace weft::abt

using namespace weft::abt;
using weft::front::Leave;

// What the core has done it says in its own codes.
static_assert(ABT_SUCCESS == WEFT_OK);

extern "C" {

// ---- who

int ABT_self_get_xstream(ABT_xstream* xstream) {
  if (Xstream* mine = my_xstream()) {
    *xstream = to_abt(mine);
    return ABT_SUCCESS;
  }
  return fail(xstream, ABT_XSTREAM_NULL, running() ? ABT_ERR_INV_XSTREAM : ABT_ERR_UNINITIALIZED);
}

int ABT_self_get_xstream_rank(int* rank) {
  if (const Xstream* mine = my_xstream()) {
    *rank = mine->rank.load(std::memory_order_relaxed);
    return ABT_SUCCESS;
  }
  return running() ? ABT_ERR_INV_XSTREAM : ABT_ERR_UNINITIALIZED;
}

int ABT_xstream_self(ABT_xstream* xstream) { return ABT_self_get_xstream(xstream); }
int ABT_xstream_self_rank(int* rank) { return ABT_self_get_xstream_rank(rank); }

int ABT_self_get_thread(ABT_thread* thread) {
  const int error = self_unit(thread);
  return error == ABT_SUCCESS ? error : fail(thread, ABT_THREAD_NULL, error);
}

int ABT_self_get_thread_id(ABT_unit_id* id) {
  ABT_thread self;
  if (const int error = self_unit(&self); error != ABT_SUCCESS) return error;
  return ABT_thread_get_id(self, id);
}

int ABT_thread_self(ABT_thread* thread) {
  const int error = kVersion20 ? self_unit(thread) : self_ult(thread);
  return error == ABT_SUCCESS ? error : fail(thread, ABT_THREAD_NULL, error);
}

int ABT_thread_self_id(ABT_unit_id* id) {
  ABT_thread self;
  const int error = kVersion20 ? self_unit(&self) : self_ult(&self);
  return error == ABT_SUCCESS ? ABT_thread_get_id(self, id) : error;
}

int ABT_task_self(ABT_task* task) {
  ABT_thread self;
  int error = self_unit(&self);
  if (error == ABT_SUCCESS && !kVersion20 && !is_task(self)) error = ABT_ERR_INV_TASK;
  if (error != ABT_SUCCESS) return fail(task, ABT_TASK_NULL, error);
  *task = self;
  return ABT_SUCCESS;
}

int ABT_task_self_id(uint64_t* id) {
  ABT_task self = ABT_TASK_NULL;
  if (const int error = ABT_task_self(&self); error != ABT_SUCCESS) return error;
  return ABT_thread_get_id(self, id);
}

int ABT_self_get_type(ABT_unit_type* type) {
  ABT_thread self;
  if (const int error = self_unit(&self); error != ABT_SUCCESS) {
    *type = ABT_UNIT_TYPE_EXT;
    return kVersion20 ? ABT_SUCCESS : error;
  }
  *type = is_task(self) ? ABT_UNIT_TYPE_TASK : ABT_UNIT_TYPE_THREAD;
  return ABT_SUCCESS;
}

int ABT_self_is_primary(ABT_bool* is_primary) {
  ABT_thread self;
  if (const int error = kVersion20 ? self_unit(&self) : self_ult(&self); error != ABT_SUCCESS) {
    *is_primary = ABT_FALSE;
    return kVersion20 ? ABT_SUCCESS : error;
  }
  return ABT_thread_is_primary(self, is_primary);
}

int ABT_self_on_primary_xstream(ABT_bool* on_primary) {
  const Xstream* mine = my_xstream();
  *on_primary = mine != nullptr && mine->primary ? ABT_TRUE : ABT_FALSE;
  if (mine != nullptr || kVersion20) return ABT_SUCCESS;
  return running() ? ABT_ERR_INV_XSTREAM : ABT_ERR_UNINITIALIZED;
}

int ABT_self_is_unnamed(ABT_bool* is_unnamed) {
  ABT_thread self;
  if (const int error = self_unit(&self); error != ABT_SUCCESS) return refuse(is_unnamed, ABT_FALSE, error);
  return ABT_thread_is_unnamed(self, is_unnamed);
}

int ABT_self_get_last_pool(ABT_pool* pool) {
  ABT_thread self;
  if (const int error = self_unit(&self); error != ABT_SUCCESS) return fail(pool, ABT_POOL_NULL, error);
  return ABT_thread_get_last_pool(self, pool);
}

int ABT_self_get_last_pool_id(int* pool_id) {
  ABT_thread self;
  if (const int error = self_unit(&self); error != ABT_SUCCESS) return refuse(pool_id, -1, error);
  return ABT_thread_get_last_pool_id(self, pool_id);
}

int ABT_self_set_associated_pool(ABT_pool pool) {
  ABT_thread self;
  if (const int error = self_unit(&self); error != ABT_SUCCESS) return error;
  return ABT_thread_set_associated_pool(self, pool);
}

int ABT_self_get_unit(ABT_unit* unit) {
  ABT_thread self;
  if (const int error = self_unit(&self); error != ABT_SUCCESS) return fail(unit, ABT_UNIT_NULL, error);
  return ABT_thread_get_unit(self, unit);
}

int ABT_self_set_arg(void* arg) {
  ABT_thread self;
  if (const int error = self_unit(&self); error != ABT_SUCCESS) return error;
  return ABT_thread_set_arg(self, arg);
}

int ABT_self_get_arg(void** arg) {
  ABT_thread self;
  if (const int error = self_unit(&self); error != ABT_SUCCESS) {
    return refuse(arg, static_cast<void*>(nullptr), error);
  }
  return ABT_thread_get_arg(self, arg);
}

int ABT_self_get_thread_func(void (**thread_func)(void*)) {
  ABT_thread self;
  if (const int error = self_unit(&self); error != ABT_SUCCESS) return error;
  return ABT_thread_get_thread_func(self, thread_func);
}

// ---- leaving

// Elsewhere than in a ULT it does nothing.
int ABT_thread_yield(void) {
  if (kVersion20) return ABT_self_yield();
  return weft::front::yield(ABT_POOL_CONTEXT_OP_THREAD_YIELD);
}

int ABT_self_yield(void) { return weft::front::yield(ABT_POOL_CONTEXT_OP_THREAD_YIELD, yield_without_ult); }

// Of a ULT that is in its pool; of another one nothing is said.
int ABT_thread_yield_to(ABT_thread thread) {
  if (is_null(thread)) return ABT_ERR_INV_THREAD;
  return weft::front::yield_to_directly(core(thread), yield_to_in_general);
}

int ABT_self_yield_to(ABT_thread thread) {
  return switch_popped(thread, Leave::kYield, ABT_POOL_CONTEXT_OP_THREAD_YIELD_TO);
}

int ABT_self_resume_yield_to(ABT_thread thread) {
  return switch_suspended(thread, Leave::kYield, ABT_POOL_CONTEXT_OP_THREAD_RESUME_YIELD_TO);
}

int ABT_self_suspend(void) {
  ABT_thread self;
  if (const int error = check_leaving(&self); error != ABT_SUCCESS) return error;
  return from_core(weft_suspend());
}

int ABT_self_suspend_to(ABT_thread thread) { return switch_popped(thread, Leave::kSuspend, kResume); }
int ABT_self_resume_suspend_to(ABT_thread thread) { return switch_suspended(thread, Leave::kSuspend, kResume); }

int ABT_self_exit(void) {
  if (const int error = check_exit(); error != ABT_SUCCESS) return error;
  return weft_exit() == WEFT_OK ? ABT_SUCCESS : ABT_ERR_INV_THREAD;
}

int ABT_thread_exit(void) { return ABT_self_exit(); }

// Nor is the primary ULT ended for.
int ABT_self_exit_to(ABT_thread thread) {
  if (const int error = check_exit(); error != ABT_SUCCESS) return error;
  if (!is_null(thread) && weft::front::view(core(thread)).primary) return ABT_ERR_INV_THREAD;
  return switch_popped(thread, Leave::kExit, kResume);
}

int ABT_self_resume_exit_to(ABT_thread thread) {
  if (const int error = check_exit(); error != ABT_SUCCESS) return error;
  return switch_suspended(thread, Leave::kExit, kResume);
}

int ABT_self_schedule(ABT_thread thread, ABT_pool pool) {
  if (!is_null(thread) && !is_null(pool)) return weft::front::run_of_pool(core(thread), core(pool), run_in_pool);
  if (const int error = check_scheduling(); error != ABT_SUCCESS) return error;
  return is_null(thread) ? ABT_ERR_INV_THREAD : weft::front::run(core(thread));
}

}  // extern "C"
