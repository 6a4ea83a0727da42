// self.hpp: who calls.
#pragma once

#include "handles.hpp"
#include "runtime.hpp"

namespace weft::abt {

// The calling ES; null: a thread that is none.
inline Xstream* my_xstream() noexcept { return static_cast<Xstream*>(front::my_front()); }

// The calling work unit, also that of a main scheduler. ABT_SUCCESS, UNINITIALIZED, INV_XSTREAM: an external thread,
// MEM.
int self_unit(ABT_thread* thread) noexcept;

// The same for what only ULTs may do: INV_THREAD: a tasklet.
int self_ult(ABT_thread* thread) noexcept;

// The same, without the unit: whether the caller may run others.
int check_scheduling() noexcept;

// ABT_xstream_run_unit(): runs the unit, which becomes one of that pool.
int run_in_pool(weft_unit_t unit, weft_pool_t pool) noexcept;

// The caller runs the code of a main scheduler.
bool in_main_sched() noexcept;

}  // namespace weft::abt
