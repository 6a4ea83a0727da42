// pool.hpp: where ready units wait.
//
// Lane      one per worker, the default: see lane.hpp
// ListPool  FIFO, LIFO, deque or priority under a lock (none for PRIV)
// UserPool  a table of the user's functions
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "pool/unit_list.hpp"
#include "unit/unit.hpp"
#include "weft/weft.h"

namespace weft::rt {

struct Sched;
struct Worker;

inline constexpr unsigned kMaxWorkers = 1024;

struct Pool {
  Pool(weft_pool_kind_t kind, weft_access_t access, bool builtin) noexcept;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  virtual ~Pool();

  // `worker` is the caller's, null on a foreign thread. Guard up, unless worker is null.
  // Neither wakes anybody: see wake_for_pool().
  virtual void push(Worker* worker, Unit* unit) = 0;
  // Several of a front-end's, in this order.
  virtual void push_all(Worker* worker, UnitList& units) {
    while (Unit* unit = units.pop_front()) push(worker, unit);
  }
  virtual Unit* pop(Worker* worker) = 0;
  virtual size_t size() = 0;
  // Of a pool of kind PRIORITY: the highest priority of what waits there, or a higher one where that is not known;
  // -1: nothing waits. Any thread; async-signal-safe.
  virtual int highest() noexcept { return WEFT_PRIORITIES - 1; }
  // Takes this fresh unit out if it is here. Built-in pools only.
  virtual bool try_claim(Worker*, Unit*) { return false; }
  // Takes this unit out if it is here. Built-in pools only.
  virtual bool try_remove(Worker*, Unit*) { return false; }
  // Calls f for each unit, with the pool locked. Built-in pools only, of which one with a single consumer is not
  // consumed meanwhile.
  virtual void for_each(void (*)(weft_unit_t, void*), void*) {}
  // It is the first pool of this worker's main scheduler, or no longer. Who has the worker's private part. True: it
  // lives in the worker's lane now.
  virtual bool settle(Worker*) noexcept { return false; }
  virtual void unsettle(Worker*) noexcept {}
  // A worker's main scheduler that packs begins with it, or no longer.
  void begins(Worker* worker, bool on) noexcept {
    Worker* before = on ? nullptr : worker;
    first_of.compare_exchange_strong(before, on ? worker : nullptr, std::memory_order_acq_rel);
  }
  // Of one that is that worker's lane, or lives there: makes the lane listed (lane.hpp), if the worker has stopped. Any thread.
  virtual void list_stopped(Worker*) noexcept {}
  // In a forked child: what was in it stayed behind in the parent.
  virtual void forget_units() noexcept {}

  // constant
  const weft_pool_kind_t kind;
  const weft_access_t access;
  const bool builtin;
  const uint32_t id;  // never 0; tells where a unit is
  // A lane's worker; of a pool that lives in a lane (hosted_pool.hpp), whoever has that worker's private part.
  std::atomic<Worker*> lane_owner{nullptr};
  void* front = nullptr;         // a front-end's; written by whoever made the pool, before others know it
  // any thread
  std::atomic<unsigned> schedulers{0};                // that have it among their pools
  std::atomic<uint8_t> preemption{WEFT_PREEMPTION_DEFAULT};  // of its units that do not say
  std::atomic<uint8_t> blocking{WEFT_BLOCKING_DEFAULT};      // the same
  std::atomic<int> sleepers{0};                       // pool_sleeper.hpp
  std::atomic<Worker*> first_of{nullptr};             // whose own it is among those that pack (sched/packing.hpp)
  std::atomic<uint64_t> slices{0};                    // what it has had, as those count it
  std::atomic<uint64_t> most_slices{0};               // of the oldest pool of a group: the most that one of them has had
  std::atomic<uint64_t> consumers[kMaxWorkers / 64];  // workers whose main scheduler has it
  // the registry
  Pool* next_all = nullptr;
  Pool* prev_all = nullptr;

 private:
  static uint32_t next_id() noexcept;
};

inline uint32_t Pool::next_id() noexcept {
  static std::atomic<uint32_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

// A unit has been put into this pool's list, or taken out, or is in there. Under the pool's lock.
inline void mark_in(Unit* unit, const Pool* pool) noexcept {
  unit->inside.store(pool->id, std::memory_order_relaxed);
}
inline void mark_out(Unit* unit) noexcept { unit->inside.store(0, std::memory_order_relaxed); }
inline bool is_in(const Unit* unit, const Pool* pool) noexcept {
  return unit->inside.load(std::memory_order_relaxed) == pool->id;
}

// A front-end's unit that is in no list: the index of the worker that ran it last, if it is not its lane's. So told
// apart from the id of a pool.
inline constexpr uint32_t kRanOn = uint32_t{1} << 31;

// In a forked child: of all pools there are. User-defined ones keep what they have.
void pools_forget_units() noexcept;

// Null: out of memory.
Pool* pool_create(weft_pool_kind_t kind, weft_access_t access) noexcept;
// A FIFO that lives in the lane of the worker that alone serves it.
Pool* pool_create_hosted(weft_access_t access) noexcept;
Pool* pool_create_user(const weft_pool_ops_t& ops, void* arg) noexcept;

inline weft_pool_t to_handle(Pool* pool) noexcept { return reinterpret_cast<weft_pool_t>(pool); }
inline Pool* from_handle(weft_pool_t pool) noexcept { return reinterpret_cast<Pool*>(pool); }
inline weft_unit_t to_handle(Unit* unit) noexcept { return reinterpret_cast<weft_unit_t>(unit); }
inline Unit* from_handle(weft_unit_t unit) noexcept { return reinterpret_cast<Unit*>(unit); }

}  // namespace weft::rt
