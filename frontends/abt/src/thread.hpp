// thread.hpp: how units are made, joined and moved; for ABT_thread_* and ABT_task_*.
#pragma once

#include "handles.hpp"
#include "tool.hpp"

namespace weft::abt {

enum class Start { kPush, kRunNow };

// In version 1.x a tasklet may be null where a thread may, and the other way round. newunit == nullptr: unnamed.
int create_unit(bool tasklet, ABT_pool pool, void (*fn)(void*), void* arg, ABT_thread_attr attr, Start start,
                ABT_thread* newunit) noexcept;
// The ULT of a stacked scheduler, unnamed.
int push_sched_unit(ABT_pool pool, void (*fn)(void*), void* arg, size_t stack_size) noexcept;
int revive_unit(ABT_pool pool, void (*fn)(void*), void* arg, ABT_thread unit, Start start) noexcept;
// As a tasklet does it too: it has its worker wait. INV_THREAD.
int join_unit(ABT_thread unit) noexcept;
int free_unit(ABT_thread* unit) noexcept;
// The same where no more is to be done than the core does. False: nothing has been done.
[[gnu::always_inline]] inline bool free_at_once(ABT_thread* unit, ABT_thread null) noexcept {
  if (__builtin_expect(unit == nullptr || is_null(*unit) || tool_active(), 0)) return false;
  if (__builtin_expect(weft_free(reinterpret_cast<weft_unit_t*>(unit)) != WEFT_OK, 0)) return false;
  *unit = null;
  return true;
}
[[gnu::always_inline]] inline bool join_at_once(ABT_thread unit) noexcept {
  if (__builtin_expect(is_null(unit) || tool_active(), 0)) return false;
  return __builtin_expect(weft_join(core(unit)) == WEFT_OK, 1);
}

// INV_THREAD said of a tasklet.
inline int of_task(int error) noexcept { return error == ABT_ERR_INV_THREAD ? ABT_ERR_INV_TASK : error; }

// Whether it stands for a main scheduler.
bool is_main_sched(ABT_thread unit) noexcept;

}  // namespace weft::abt
