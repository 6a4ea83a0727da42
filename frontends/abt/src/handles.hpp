// handles.hpp: handles as programs pass them, and what they stand for.
//
//   ABT_thread, ABT_task   weft_unit_t: the descriptor itself
//   ABT_pool               weft_pool_t: the pool itself; what Argobots has beyond it is its Pool
//   ABT_sched, ABT_xstream Sched, Xstream: records of ours that hold a scheduler, a worker
#pragma once

#include <cstdint>

#include "abt.h"
#include "front/front.hpp"
#include "handle.hpp"
#include "weft/weft.h"

namespace weft::abt {

struct Sched;
struct Xstream;

inline weft_unit_t core(ABT_thread thread) noexcept { return reinterpret_cast<weft_unit_t>(thread); }
inline weft_pool_t core(ABT_pool pool) noexcept { return reinterpret_cast<weft_pool_t>(pool); }
inline ABT_thread to_abt(weft_unit_t unit) noexcept { return reinterpret_cast<ABT_thread>(unit); }
inline ABT_pool to_abt(weft_pool_t pool) noexcept { return reinterpret_cast<ABT_pool>(pool); }
inline Sched* record(ABT_sched sched) noexcept { return reinterpret_cast<Sched*>(sched); }
inline ABT_sched to_abt(Sched* sched) noexcept { return reinterpret_cast<ABT_sched>(sched); }
inline Xstream* record(ABT_xstream xstream) noexcept { return reinterpret_cast<Xstream*>(xstream); }
inline ABT_xstream to_abt(Xstream* xstream) noexcept { return reinterpret_cast<ABT_xstream>(xstream); }

inline ABT_thread or_null(weft_unit_t unit) noexcept { return unit != nullptr ? to_abt(unit) : ABT_THREAD_NULL; }

// What went wrong in the core, of what an argument cannot have been the reason for.
inline int from_core(int error) noexcept {
  switch (error) {
    case WEFT_OK: return ABT_SUCCESS;
    case WEFT_ERR_UNINITIALIZED: return ABT_ERR_UNINITIALIZED;
    case WEFT_ERR_NO_MEMORY:
    case WEFT_ERR_LIMIT: return ABT_ERR_MEM;
    case WEFT_ERR_NO_KLT: return ABT_ERR_SYS;
    default: return ABT_ERR_OTHER;
  }
}

}  // namespace weft::abt
