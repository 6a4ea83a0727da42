// pool.hpp: what an ABT_pool has beyond a pool of the core, and user-defined ones.
#pragma once

#include <atomic>

#include "handles.hpp"

namespace weft::abt {

// A user's definition: of the present kind, or (`old`) a struct ABT_pool_def.
struct PoolDef {
  bool old = false;
  struct ABT_pool_def of_old {};
  ABT_pool_user_create_unit_fn create_unit = nullptr;
  ABT_pool_user_free_unit_fn free_unit = nullptr;
  ABT_pool_user_is_empty_fn is_empty = nullptr;
  ABT_pool_user_pop_fn pop = nullptr;
  ABT_pool_user_push_fn push = nullptr;
  ABT_pool_user_init_fn init = nullptr;
  ABT_pool_user_free_fn free = nullptr;
  ABT_pool_user_get_size_fn get_size = nullptr;
  ABT_pool_user_pop_wait_fn pop_wait = nullptr;
  ABT_pool_user_pop_many_fn pop_many = nullptr;
  ABT_pool_user_push_many_fn push_many = nullptr;
  ABT_pool_user_print_all_fn print_all = nullptr;
};

struct Pool {
  // constant
  weft_pool_t core = nullptr;
  int id = 0;
  ABT_pool_access access = ABT_POOL_ACCESS_MPMC;
  ABT_pool_kind kind = ABT_POOL_FIFO;
  bool user = false;
  PoolDef def;  // of a user's
  // any thread
  std::atomic<bool> automatic{false};
  std::atomic<void*> data{nullptr};
};

// Null: not made through this interface.
inline Pool* record(ABT_pool pool) noexcept { return static_cast<Pool*>(front::pool_front(core(pool))); }
inline bool is_user(ABT_pool pool) noexcept {
  const Pool* info = record(pool);
  return info != nullptr && info->user;
}

// While it lives, the caller is in a function of a user-defined pool. Schedulers call these too, which are not preempted, and would wait for
// ever for a lock of the pool's whose holder was. So where workers may be taken it is not preempted, nor may it suspend: what it waits
// for holds its ES, as it would a scheduler. Elsewhere it is nothing.
class InPool {
 public:
  InPool() noexcept
      : counts_(front::workers_are_taken() && front::no_preemption_begin(true)), was_(counts_ && weft_wait_in_place(true)) {}
  InPool(const InPool&) = delete;
  InPool& operator=(const InPool&) = delete;
  ~InPool() {
    if (!counts_) return;
    weft_wait_in_place(was_);
    front::no_preemption_end(true);
  }

 private:
  const bool counts_, was_;
};

// The contexts in which the runtime itself pushes.
inline constexpr ABT_pool_context kResume = ABT_POOL_CONTEXT_OP_THREAD_RESUME;

// A worker's own pool gets what it lacks. Null: no memory.
Pool* adopt_pool(weft_pool_t pool) noexcept;
// The end of what adopt_pool() has made, before its worker's.
void forget_pool(weft_pool_t pool) noexcept;
// A FIFO. ABT_POOL_NULL: no memory.
ABT_pool make_pool(ABT_pool_kind kind, ABT_pool_access access, bool automatic) noexcept;
void free_pool(ABT_pool pool) noexcept;
// Of schedulers that are freed.
void free_pool_if_automatic(ABT_pool pool) noexcept;
bool pool_empty(ABT_pool pool) noexcept;
// False: the user's definition does not say.
bool pool_size(ABT_pool pool, size_t* size) noexcept;
void restart_pool_ids() noexcept;

// Takes a unit out. ABT_THREAD_NULL: none there.
ABT_thread pop_thread(ABT_pool pool, ABT_pool_context context) noexcept;
// Pushes a unit that is in no pool. ABT_SUCCESS, or that of associate().
int push_thread(ABT_pool pool, ABT_thread thread, ABT_pool_context context) noexcept;

}  // namespace weft::abt
