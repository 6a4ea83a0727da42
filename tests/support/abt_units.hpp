// abt_units.hpp: work units of Argobots' interface whose functions have captures, and where they run.
#pragma once

#include "support/abt_fixture.hpp"

namespace weft_test {

inline ABT_pool main_pool() {
  ABT_xstream self = ABT_XSTREAM_NULL;
  ABT_pool pool = ABT_POOL_NULL;
  EXPECT_TRUE(abt_ok(ABT_self_get_xstream(&self)));
  EXPECT_TRUE(abt_ok(ABT_xstream_get_main_pools(self, 1, &pool)));
  return pool;
}

inline ABT_pool main_pool_of(ABT_xstream xstream) {
  ABT_pool pool = ABT_POOL_NULL;
  EXPECT_TRUE(abt_ok(ABT_xstream_get_main_pools(xstream, 1, &pool)));
  return pool;
}

// A function with captures as that of a unit. Must outlive the unit.
class AbtCall {
 public:
  explicit AbtCall(std::function<void()> f) : f_(std::move(f)) {}
  AbtCall(const AbtCall&) = delete;
  AbtCall& operator=(const AbtCall&) = delete;

  ABT_thread thread(ABT_pool pool, ABT_thread_attr attr = ABT_THREAD_ATTR_NULL) {
    ABT_thread thread = ABT_THREAD_NULL;
    EXPECT_TRUE(abt_ok(ABT_thread_create(pool, &AbtCall::run, this, attr, &thread)));
    return thread;
  }
  ABT_task task(ABT_pool pool) {
    ABT_task task = ABT_TASK_NULL;
    EXPECT_TRUE(abt_ok(ABT_task_create(pool, &AbtCall::run, this, &task)));
    return task;
  }
  static void run(void* self) { static_cast<AbtCall*>(self)->f_(); }

 private:
  std::function<void()> f_;
};

inline void in_abt_ult(std::function<void()> f, ABT_pool pool = main_pool()) {
  AbtCall call(std::move(f));
  ABT_thread thread = call.thread(pool);
  EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
  EXPECT_EQ(thread, ABT_THREAD_NULL);
}

inline void in_abt_task(std::function<void()> f, ABT_pool pool = main_pool()) {
  AbtCall call(std::move(f));
  ABT_task task = call.task(pool);
  EXPECT_TRUE(abt_ok(ABT_task_free(&task)));
  EXPECT_EQ(task, ABT_TASK_NULL);
}

// On a thread that is no ES, while the calling ULT lets others run.
inline void on_external(const std::function<void()>& f) {
  std::atomic<bool> done = false;
  std::thread thread([&] {
    f();
    done = true;
  });
  while (!done) ABT_thread_yield();
  thread.join();
}

inline ABT_thread_state state_of(ABT_thread thread) {
  ABT_thread_state state = ABT_THREAD_STATE_READY;
  EXPECT_TRUE(abt_ok(ABT_thread_get_state(thread, &state)));
  return state;
}

inline size_t size_of(ABT_pool pool) {
  size_t size = 99;
  EXPECT_TRUE(abt_ok(ABT_pool_get_size(pool, &size)));
  return size;
}

inline size_t total_size_of(ABT_pool pool) {
  size_t size = 99;
  EXPECT_TRUE(abt_ok(ABT_pool_get_total_size(pool, &size)));
  return size;
}

inline int my_rank() {
  int rank = -1;
  EXPECT_TRUE(abt_ok(ABT_self_get_xstream_rank(&rank)));
  return rank;
}

// Lets others run until it is true.
template <class P>
bool abt_wait_until(P condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    ABT_thread_yield();
  }
  return true;
}

// An ES, joined and freed at the end.
class AnXstream {
 public:
  explicit AnXstream(ABT_sched sched = ABT_SCHED_NULL) { EXPECT_TRUE(abt_ok(ABT_xstream_create(sched, &handle))); }
  AnXstream(const AnXstream&) = delete;
  AnXstream& operator=(const AnXstream&) = delete;
  ~AnXstream() {
    EXPECT_TRUE(abt_ok(ABT_xstream_free(&handle)));
    EXPECT_EQ(handle, ABT_XSTREAM_NULL);
  }
  operator ABT_xstream() const { return handle; }
  ABT_pool pool() const { return main_pool_of(handle); }

  ABT_xstream handle = ABT_XSTREAM_NULL;
};

// A pool that no scheduler has; empty at its end.
class APool {
 public:
  explicit APool(ABT_pool_kind kind = ABT_POOL_FIFO, ABT_pool_access access = ABT_POOL_ACCESS_MPMC) {
    EXPECT_TRUE(abt_ok(ABT_pool_create_basic(kind, access, ABT_FALSE, &handle)));
  }
  APool(const APool&) = delete;
  APool& operator=(const APool&) = delete;
  ~APool() {
    EXPECT_TRUE(abt_ok(ABT_pool_free(&handle)));
    EXPECT_EQ(handle, ABT_POOL_NULL);
  }
  operator ABT_pool() const { return handle; }

  ABT_pool handle = ABT_POOL_NULL;
};

}  // namespace weft_test
