// sched.hpp: which unit is next: policy over pools, nothing else.
//
// Built-in schedulers keep nothing on their stack between two units, so a worker restarts them at
// will (dissertation §3.4.2, "SS"); they can also be stacked, and then run as a loop in a ULT.
// User-defined ones are coroutines: they are switched to and from with their context saved.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "pool/pool_sleeper.hpp"
#include "unit/unit.hpp"
#include "weft/weft.h"

namespace weft::rt {

struct Packing;
struct Pool;
struct Waiter;
struct Worker;

struct Sched {
  // constant
  weft_sched_kind_t kind = WEFT_SCHED_RANDWS;
  bool user = false;
  bool implicit = false;      // in use as a worker's own, in whose record it lies
  // It also waits for units that are blocked and that only it may run, before it finishes or is replaced.
  bool patient = false;
  bool steals_lanes = false;  // the default one: steals from every other worker's lane
  weft_sched_ops_t ops{};
  void* arg = nullptr;
  void* data = nullptr;
  static constexpr size_t kMaxPools = 64;  // for users of weft.h
  Pool* few[kMaxPools] = {};
  Pool** pools = few;  // or an array of its own
  size_t pool_count = 0;
  Pool* own_pool = nullptr;  // made for it, freed with it
  Packing* packing = nullptr;  // PACKING's; whoever runs it
  // whoever runs it: BASIC's turns
  uint32_t round = 0;    // from one to the next: so many picks
  uint32_t turn_at = 0;  // the worker's tick at the next one
  size_t turn_of = 0;    // the pool that the last one began with; of a default one, how often it has picked
  // any thread
  std::atomic<bool> finish{false};
  std::atomic<bool> exit{false};
  std::atomic<Worker*> worker{nullptr};  // whose main scheduler it is
  std::atomic<bool> stacked{false};      // pushed as a unit and not ended yet
  std::atomic<Unit*> unit{nullptr};      // the unit that runs it, while stacked
  std::atomic<unsigned> telling{0};      // calls that give it an order and still look at it
  PoolSleeper sleeper;                   // stacked and asleep
  // the registry
  Sched* next_all = nullptr;
  Sched* prev_all = nullptr;
};

Sched* sched_create(weft_sched_kind_t kind, size_t n, Pool* const* pools) noexcept;
// The default scheduler of a worker, which is the caller's, gets one more pool. False: it is another, or has as many as it can.
bool sched_add_pool(Sched* sched, Pool* pool) noexcept;
Sched* sched_create_user(const weft_sched_ops_t& ops, void* arg, size_t n,
                         Pool* const* pools) noexcept;
void sched_destroy(Sched* sched) noexcept;
// A worker's own, over its lane. No memory is allocated or freed: in a section nobody may wait for malloc's lock, which
// a unit that was preempted on the same worker can hold.
void sched_begin_implicit(Sched* sched, weft_sched_kind_t kind, Pool* lane) noexcept;
void sched_end_implicit(Sched* sched) noexcept;
// In a forked child: of all schedulers there are. Nobody runs one.
void scheds_forget_users() noexcept;

// The next unit by the policy of a built-in scheduler; null: nothing found in one pass. Guard up.
Unit* sched_pick(Sched* sched, Worker* worker) noexcept;
// Of other workers alone, and of pools behind the first. Precondition: Sched::steals_lanes. Guard up.
Unit* sched_steal(Sched* sched, Worker* worker) noexcept;
bool sched_pools_empty(Sched* sched) noexcept;
enum class WaitsFor { kAll, kItsOwn };  // kItsOwn: front-ends' units, and those that were put into one of its pools
// Whether a scheduler of the pool that shall finish waits for the units that will come back to it: nobody else would run them.
bool sched_serves_alone(const Pool* pool) noexcept;
// Whether it may finish, if it shall.
bool sched_done(Sched* sched, WaitsFor whom = WaitsFor::kAll) noexcept;
// The units that it does not wait for go to its successor: sched_hand_on().
bool sched_may_be_replaced(Sched* sched) noexcept;
// All other units that are at home in its pools are so in that one from here on; where they lie in a pool they stay.
void sched_hand_on(Sched* sched, Pool* to) noexcept;
bool sched_should_stop(Sched* sched) noexcept;

inline weft_sched_t to_handle(Sched* s) noexcept { return reinterpret_cast<weft_sched_t>(s); }
inline Sched* from_handle(weft_sched_t s) noexcept { return reinterpret_cast<Sched*>(s); }

}  // namespace weft::rt
