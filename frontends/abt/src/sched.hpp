// sched.hpp: what an ABT_sched is: a scheduler of the core, and what Argobots has beyond it.
#pragma once

#include <atomic>
#include <vector>

#include "handles.hpp"

namespace weft::abt {

enum class SchedUse { kNone, kMain, kStacked };

struct Sched {
  // constant once it is known to others
  weft_sched_t core = nullptr;
  bool implicit = false;  // `core` came with its ES, and goes with it
  bool user = false;
  ABT_sched_predef kind = ABT_SCHED_DEFAULT;  // of a predefined one
  ABT_sched_def def{};                        // of a user's
  bool automatic = false;
  std::vector<ABT_pool> pools;
  // any thread
  std::atomic<SchedUse> use{SchedUse::kNone};
  std::atomic<void*> data{nullptr};
};

// ABT_POOL_NULL among the pools, and pools == nullptr: new FIFOs. MEM, INV_ARG.
int make_sched(ABT_sched_predef predef, int num_pools, const ABT_pool* pools, ABT_sched_config config,
               Sched** made) noexcept;
// Over an ES's own pool. Null: no memory.
Sched* adopt_sched(weft_sched_t core, ABT_pool own) noexcept;
// Precondition: nobody uses it.
void free_sched(Sched* sched) noexcept;
// False: it has been used already.
bool use_sched(Sched* sched, SchedUse use) noexcept;
// It is nobody's any more: freed if it is automatic.
void leave_sched(Sched* sched) noexcept;
bool has_pool(const Sched* sched, ABT_pool pool) noexcept;
// As a ULT in that pool.
int push_sched(Sched* sched, ABT_pool pool) noexcept;
// Where migrations to it go.
ABT_pool migration_pool(Sched* sched) noexcept;

}  // namespace weft::abt
