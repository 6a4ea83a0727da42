// self.hpp: who calls.
#pragma once

#include "handles.hpp"
#include "runtime.hpp"
#include "unit.hpp"

namespace weft::abt {

// The calling ES; null: a thread that is none.
inline Xstream* my_xstream() noexcept { return static_cast<Xstream*>(front::my_front()); }

// The calling work unit, also that of a main scheduler. ABT_SUCCESS, UNINITIALIZED, INV_XSTREAM: an external thread,
// MEM.
int self_unit_in_general(ABT_thread* thread) noexcept;
[[gnu::always_inline]] inline int self_unit(ABT_thread* thread) noexcept {
  const weft_unit_t unit = front::self();
  if (__builtin_expect(unit == nullptr || (front::flags_of(unit) & front::kMade) == 0 || !running(), 0)) return self_unit_in_general(thread);
  *thread = to_abt(unit);
  return ABT_SUCCESS;
}

// The same for what only ULTs may do: INV_THREAD: a tasklet.
inline int self_ult(ABT_thread* thread) noexcept {
  if (const int error = self_unit(thread); __builtin_expect(error != ABT_SUCCESS, 0)) return error;
  return is_task(*thread) ? ABT_ERR_INV_THREAD : ABT_SUCCESS;
}

// The same, without the unit: whether the caller may run others.
int check_scheduling() noexcept;

// ABT_xstream_run_unit(): runs the unit, which becomes one of that pool.
int run_in_pool(weft_unit_t unit, weft_pool_t pool) noexcept;

// The caller runs the code of a main scheduler.
bool in_main_sched() noexcept;

}  // namespace weft::abt
