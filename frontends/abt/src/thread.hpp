// thread.hpp: how units are made, joined and moved; for ABT_thread_* and ABT_task_*.
#pragma once

#include "handles.hpp"
#include "tool.hpp"

namespace weft::abt {

enum class Start { kPush, kRunNow };

// In version 1.x a tasklet may be null where a thread may, and the other way round. newunit == nullptr: unnamed.
int create_unit(bool tasklet, ABT_pool pool, void (*fn)(void*), void* arg, ABT_thread_attr attr, Start start,
                ABT_thread* newunit) noexcept;
// As most are made there: without attributes and tools; a tasklet where no workers are taken.
int create_in_user_pool(bool tasklet, ABT_pool pool, void (*fn)(void*), void* arg, ABT_thread* newunit) noexcept;
// The ULT of a stacked scheduler, unnamed.
int push_sched_unit(ABT_pool pool, void (*fn)(void*), void* arg, size_t stack_size) noexcept;
int revive_unit(ABT_pool pool, void (*fn)(void*), void* arg, ABT_thread unit, Start start) noexcept;
// As a tasklet does it too: it has its worker wait. INV_THREAD.
int join_unit(ABT_thread unit) noexcept;
int free_unit(ABT_thread* unit) noexcept;

// INV_THREAD said of a tasklet.
inline int of_task(int error) noexcept { return error == ABT_ERR_INV_THREAD ? ABT_ERR_INV_TASK : error; }

// Whether it stands for a main scheduler.
bool is_main_sched(ABT_thread unit) noexcept;

}  // namespace weft::abt
