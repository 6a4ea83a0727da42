// unit.hpp: what a work unit has beyond a unit of the core, made when it is first needed.
#pragma once

#include <atomic>

#include "handles.hpp"
#include "lock.hpp"

namespace weft::abt {

struct KeyEntry;

struct Extra : front::FrontHooks {
  // whoever owns the unit
  size_t stack_size = 0;         // asked for; 0: default
  void* stack = nullptr;         // the program's
  bool watched = false;          // a tool is told of it
  bool task = false;             // a tasklet with a stack: is_task()
  // any thread
  std::atomic<KeyEntry*> keys{nullptr};  // newest first; nothing is taken out before the end
  std::atomic<bool> fixed{false};        // not migratable
  Lock lock;                             // of the following
  ABT_pool move_to = nullptr;
  void (*moved)(ABT_thread, void*) = nullptr;
  void* moved_arg = nullptr;
};

// Of units that have no more than what a user-defined pool has made of them.
extern front::FrontHooks user_pools_hooks;

inline Extra* extra_if_any(ABT_thread thread) noexcept {
  front::FrontHooks* const hooks = front::hooks(core(thread));
  return hooks != &user_pools_hooks ? static_cast<Extra*>(hooks) : nullptr;
}
// Null: no memory.
Extra* extra_of(ABT_thread thread) noexcept;
// One that belongs to no unit yet; with unit_create(). Null: no memory.
Extra* make_extra() noexcept;
void delete_extra(Extra* extra) noexcept;

// The program knows it as a tasklet. Where workers are taken from units it is a ULT of the core's: what a tasklet waits for, or an allocator
// that it calls, may be locked by a ULT that has lost its worker to it.
inline bool is_task(ABT_thread thread) noexcept {
  if (front::is_tasklet(core(thread))) return true;
  const Extra* extra = extra_if_any(thread);
  return extra != nullptr && extra->task;
}

// What the user-defined pool that is its home has made of it; null: that is built in. Whoever owns the unit.
inline ABT_unit made_unit(ABT_thread thread) noexcept { return static_cast<ABT_unit>(front::part(core(thread))->made); }

// The first time, of a unit that has just been created in a user-defined pool with hooks. ABT_SUCCESS, MEM, UNIT.
int associate_fresh(ABT_thread thread, ABT_pool pool) noexcept;
// Makes the pool the unit's, which is in none: the new pool's create_unit() first, then the old one's free_unit().
// ABT_SUCCESS, MEM, UNIT.
int associate(ABT_thread thread, ABT_pool pool) noexcept;
// The same in three steps, for a ULT that is to be at home there only once it does not run: a tick would push it into a pool that nobody
// serves yet.
class Association {
 public:
  // What may fail, and calls the new pool's functions. If it has not, the others follow.
  int prepare(ABT_thread thread, ABT_pool pool) noexcept;
  // Guard up, or the unit does not run.
  void move() noexcept;
  // Also where it has not been moved.
  void end() noexcept;

 private:
  ABT_thread thread_ = nullptr;
  ABT_pool pool_ = nullptr;  // null: there is nothing to be done
  ABT_pool pool_before_ = nullptr;
  ABT_unit now_ = nullptr, before_ = nullptr;
  bool moved_ = false;
};
ABT_unit unit_of(ABT_thread thread) noexcept;
// ABT_THREAD_NULL: there is no such unit.
ABT_thread thread_of(ABT_unit unit) noexcept;

// The unit of one whose pool is built in: its descriptor's address, which is even, and one more.
inline ABT_unit builtin_unit(ABT_thread thread) noexcept {
  return reinterpret_cast<ABT_unit>(reinterpret_cast<uintptr_t>(thread) | 1);
}
inline bool is_builtin_unit(ABT_unit unit) noexcept {
  return (reinterpret_cast<uintptr_t>(unit) & 1) != 0 && !is_null(unit);
}
inline ABT_thread thread_of_builtin(ABT_unit unit) noexcept {
  return reinterpret_cast<ABT_thread>(reinterpret_cast<uintptr_t>(unit) & ~uintptr_t{1});
}

}  // namespace weft::abt
