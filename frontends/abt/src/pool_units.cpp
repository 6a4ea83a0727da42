// pool_units.cpp: what goes into pools and comes out of them.
#include <vector>

#include "pool.hpp"
#include "runtime.hpp"
#include "unit.hpp"

namespace weft::abt {
namespace {

using namespace front;

// Why a unit comes is in its context where a user's pool is pushed to through the core. The unit is ready or fresh, and
// in no pool.
int push_associated(ABT_pool pool, ABT_thread thread, ABT_pool_context context) noexcept {
  if (is_user(pool)) part(core(thread))->context = context;
  return weft_pool_push(core(pool), core(thread)) == WEFT_OK ? ABT_SUCCESS : ABT_ERR_UNIT;
}

// A scheduler that waits for a built-in pool.
ABT_thread wait_for_thread(ABT_pool pool, double seconds) noexcept {
  constexpr double kForEver = 1e9;
  const double most = seconds < kForEver ? seconds : kForEver;
  return or_null(pool_pop_until(core(pool), most > 0 ? weft_after(static_cast<uint64_t>(most * 1e9)) : 0));
}

struct PrintUnits {
  void* arg;
  void (*print)(void* arg, ABT_unit unit);
};
struct PrintThreads {
  void* arg;
  void (*print)(void* arg, ABT_thread thread);
};

void print_unit_of(void* arg, ABT_thread thread) {
  const auto* to = static_cast<const PrintUnits*>(arg);
  to->print(to->arg, unit_of(thread));
}

void print_thread_of(void* arg, ABT_unit unit) {
  const auto* to = static_cast<const PrintThreads*>(arg);
  to->print(to->arg, thread_of(unit));
}

int print_threads(ABT_pool pool, PrintThreads to) noexcept {
  const Pool* info = record(pool);
  if (!info->user) {
    pool_for_each(core(pool), [](weft_unit_t unit, void* arg) {
      const auto* to = static_cast<const PrintThreads*>(arg);
      to->print(to->arg, to_abt(unit));
    }, &to);
    return ABT_SUCCESS;
  }
  const InPool inside;
  if (info->def.old) {
    if (info->def.of_old.p_print_all == nullptr) return ABT_ERR_POOL;
    return info->def.of_old.p_print_all(pool, &to, print_thread_of);
  }
  if (info->def.print_all == nullptr) return ABT_ERR_POOL;
  info->def.print_all(pool, to.arg, to.print);
  return ABT_SUCCESS;
}

// For a user's pool of the present kind: with its own function for many.
int push_many(ABT_pool pool, const ABT_thread* threads, size_t num, ABT_pool_context context) noexcept try {
  const PoolDef& def = record(pool)->def;
  std::vector<ABT_unit> units;
  units.reserve(num);
  for (size_t i = 0; i < num; ++i) {
    if (!is_null(threads[i])) units.push_back(unit_of(threads[i]));
  }
  for (size_t i = 0; i < num; ++i) {
    if (!is_null(threads[i])) part(core(threads[i]))->context = kResume;
  }
  if (!units.empty()) {
    const InPool inside;
    def.push_many(pool, units.data(), units.size(), context);
  }
  pool_pushed(core(pool));
  return ABT_SUCCESS;
} catch (const std::bad_alloc&) {
  return ABT_ERR_MEM;
}

// All of them, or none.
int associate_all(ABT_pool pool, const ABT_thread* threads, size_t num) noexcept try {
  std::vector<weft_pool_t> before;
  before.reserve(num);
  for (size_t i = 0; i < num; ++i) {
    before.push_back(is_null(threads[i]) ? nullptr : weft_unit_pool(core(threads[i])));
    if (is_null(threads[i])) continue;
    if (const int error = associate(threads[i], pool); error != ABT_SUCCESS) {
      while (i-- > 0) {
        if (before[i] != nullptr) static_cast<void>(associate(threads[i], to_abt(before[i])));
      }
      return error;
    }
  }
  return ABT_SUCCESS;
} catch (const std::bad_alloc&) {
  return ABT_ERR_MEM;
}

}  // namespace

namespace {

ABT_thread pop_of_user(ABT_pool pool, ABT_pool_context context) noexcept {
  const Pool* info = record(pool);
  poll();
  const InPool inside;
  if (!info->def.old) return info->def.pop(pool, context);
  const ABT_unit unit = info->def.of_old.p_pop(pool);
  return is_null(unit) ? ABT_THREAD_NULL : thread_of(unit);
}

}  // namespace

ABT_thread pop_thread(ABT_pool pool, ABT_pool_context context) noexcept {
  weft_unit_t unit = nullptr;
  return pool_pop(core(pool), &unit) ? or_null(unit) : pop_of_user(pool, context);
}

int push_thread(ABT_pool pool, ABT_thread thread, ABT_pool_context context) noexcept {
  if (const int error = associate(thread, pool); error != ABT_SUCCESS) return error;
  return push_associated(pool, thread, context);
}

namespace {

// Version 2.0 leaves the result as it was where a function fails.
int pop_waiting(ABT_pool pool, ABT_thread* thread, double seconds, ABT_pool_context context) noexcept {
  const Pool* info = record(pool);
  if (!info->user) {
    *thread = wait_for_thread(pool, seconds);
    return ABT_SUCCESS;
  }
  const InPool inside;
  if (!info->def.old) {
    if (info->def.pop_wait == nullptr) return fail(thread, ABT_THREAD_NULL, ABT_ERR_POOL);
    *thread = info->def.pop_wait(pool, seconds, context);
    return ABT_SUCCESS;
  }
#if ABT_ENABLE_VER_20_API_VAL
  if (info->def.of_old.p_pop_wait != nullptr) {
    const ABT_unit unit = info->def.of_old.p_pop_wait(pool, seconds);
    *thread = is_null(unit) ? ABT_THREAD_NULL : thread_of(unit);
    return ABT_SUCCESS;
  }
#endif
  return fail(thread, ABT_THREAD_NULL, ABT_ERR_POOL);
}

void to_unit(ABT_thread thread, ABT_unit* unit) noexcept {
  *unit = is_null(thread) ? ABT_UNIT_NULL : unit_of(thread);
}

}  // namespace
}  // namespace weft::abt

using namespace weft::abt;

extern "C" {

int ABT_pool_pop_thread_ex(ABT_pool pool, ABT_thread* thread, ABT_pool_context pool_ctx) {
  if (is_null(pool)) return fail(thread, ABT_THREAD_NULL, ABT_ERR_INV_POOL);
  *thread = pop_thread(pool, pool_ctx);
  return ABT_SUCCESS;
}

int ABT_pool_pop_thread(ABT_pool pool, ABT_thread* thread) { return ABT_pool_pop_thread_ex(pool, thread, 0); }

int ABT_pool_pop_threads_ex(ABT_pool pool, ABT_thread* threads, size_t len, size_t* num, ABT_pool_context pool_ctx) {
  if (is_null(pool)) return ABT_ERR_INV_POOL;
  if (len == 0) return ABT_SUCCESS;
  const Pool* info = record(pool);
  if (info->user && !info->def.old) {
    if (info->def.pop_many == nullptr) return ABT_ERR_POOL;
    const InPool inside;
    info->def.pop_many(pool, threads, len, num, pool_ctx);
    return ABT_SUCCESS;
  }
  size_t popped = 0;
  for (; popped < len; ++popped) {
    const ABT_thread thread = pop_thread(pool, pool_ctx);
    if (is_null(thread)) break;
    threads[popped] = thread;
  }
  *num = popped;
  return ABT_SUCCESS;
}

int ABT_pool_pop_threads(ABT_pool pool, ABT_thread* threads, size_t len, size_t* num) {
  return ABT_pool_pop_threads_ex(pool, threads, len, num, 0);
}

int ABT_pool_push_thread_ex(ABT_pool pool, ABT_thread thread, ABT_pool_context pool_ctx) {
  if (is_null(pool)) return ABT_ERR_INV_POOL;
  return is_null(thread) ? ABT_SUCCESS : push_thread(pool, thread, pool_ctx);
}

int ABT_pool_push_thread(ABT_pool pool, ABT_thread thread) { return ABT_pool_push_thread_ex(pool, thread, 0); }

int ABT_pool_push_threads_ex(ABT_pool pool, const ABT_thread* threads, size_t num, ABT_pool_context pool_ctx) {
  if (is_null(pool)) return ABT_ERR_INV_POOL;
  const Pool* info = record(pool);
  const bool at_once = info->user && !info->def.old;
  if (at_once && info->def.push_many == nullptr) return ABT_ERR_POOL;
  if (const int error = associate_all(pool, threads, num); error != ABT_SUCCESS) return error;
  if (at_once) return push_many(pool, threads, num, pool_ctx);
  int error = ABT_SUCCESS;
  for (size_t i = 0; i < num && error == ABT_SUCCESS; ++i) {
    if (!is_null(threads[i])) error = push_thread(pool, threads[i], pool_ctx);
  }
  return error;
}

int ABT_pool_push_threads(ABT_pool pool, const ABT_thread* threads, size_t num) {
  return ABT_pool_push_threads_ex(pool, threads, num, 0);
}

int ABT_pool_pop_wait_thread_ex(ABT_pool pool, ABT_thread* thread, double time_secs, ABT_pool_context pool_ctx) {
  if (is_null(pool)) return fail(thread, ABT_THREAD_NULL, ABT_ERR_INV_POOL);
  return pop_waiting(pool, thread, time_secs, pool_ctx);
}

int ABT_pool_pop_wait_thread(ABT_pool pool, ABT_thread* thread, double time_secs) {
  return ABT_pool_pop_wait_thread_ex(pool, thread, time_secs, 0);
}

int ABT_pool_print_all_threads(ABT_pool pool, void* arg, void (*print_fn)(void*, ABT_thread)) {
  if (is_null(pool)) return ABT_ERR_INV_POOL;
  return print_threads(pool, {arg, print_fn});
}

// ---- the older interface, in units

int ABT_pool_pop(ABT_pool pool, ABT_unit* unit) {
  if (is_null(pool)) return fail(unit, ABT_UNIT_NULL, ABT_ERR_INV_POOL);
  weft_unit_t popped = nullptr;
  if (pool_pop(core(pool), &popped)) {
    *unit = popped != nullptr ? builtin_unit(to_abt(popped)) : ABT_UNIT_NULL;
  } else {
    to_unit(pop_of_user(pool, 0), unit);
  }
  return ABT_SUCCESS;
}

int ABT_pool_pop_wait(ABT_pool pool, ABT_unit* unit, double time_secs) {
  if (is_null(pool)) return fail(unit, ABT_UNIT_NULL, ABT_ERR_INV_POOL);
  ABT_thread thread = ABT_THREAD_NULL;
  if (const int error = pop_waiting(pool, &thread, time_secs, 0); error != ABT_SUCCESS) {
    return fail(unit, ABT_UNIT_NULL, error);
  }
  to_unit(thread, unit);
  return ABT_SUCCESS;
}

int ABT_pool_pop_timedwait(ABT_pool pool, ABT_unit* unit, double abstime_secs) {
  if (is_null(pool)) return fail(unit, ABT_UNIT_NULL, ABT_ERR_INV_POOL);
  const Pool* info = record(pool);
  if (info->user && info->def.old) {
    const auto pop = info->def.of_old.p_pop_timedwait;
    if (pop == nullptr) return fail(unit, ABT_UNIT_NULL, ABT_ERR_POOL);
    const InPool inside;
    *unit = pop(pool, abstime_secs);
    return ABT_SUCCESS;
  }
  return ABT_pool_pop_wait(pool, unit, abstime_secs - ABT_get_wtime());
}

int ABT_pool_remove(ABT_pool pool, ABT_unit unit) {
  if (is_null(pool)) return ABT_ERR_INV_POOL;
  if (is_null(unit)) return ABT_ERR_INV_UNIT;
  const Pool* info = record(pool);
  if (info->user) {
    const auto remove = info->def.old ? info->def.of_old.p_remove : nullptr;
    const InPool inside;
    return remove != nullptr ? remove(pool, unit) : ABT_ERR_POOL;
  }
  const ABT_thread thread = thread_of(unit);
  if (is_null(thread)) return ABT_ERR_INV_UNIT;
  return weft::front::pool_remove(core(pool), core(thread)) ? ABT_SUCCESS : ABT_ERR_POOL;
}

int ABT_pool_push(ABT_pool pool, ABT_unit unit) {
  if (is_null(pool)) return ABT_ERR_INV_POOL;
  if (is_null(unit)) return ABT_ERR_INV_UNIT;
  const ABT_thread thread = thread_of(unit);
  return is_null(thread) ? ABT_ERR_INV_UNIT : push_thread(pool, thread, 0);
}

int ABT_pool_print_all(ABT_pool pool, void* arg, void (*print_fn)(void*, ABT_unit)) {
  if (is_null(pool)) return ABT_ERR_INV_POOL;
  const Pool* info = record(pool);
  if (info->user && info->def.old) {
    const auto print = info->def.of_old.p_print_all;
    const InPool inside;
    return print != nullptr ? print(pool, arg, print_fn) : ABT_ERR_POOL;
  }
  PrintUnits to{arg, print_fn};
  return print_threads(pool, {&to, print_unit_of});
}

}  // extern "C"
