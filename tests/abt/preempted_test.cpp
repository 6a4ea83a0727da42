// ULTs that are preempted inside of the front-end, or of a pool's functions, keep no scheduler and no tasklet of their ES waiting.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "support/abt_fixture.hpp"
#include "support/preempting.hpp"

namespace {

using namespace weft_test;

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kLong{300};

// One more ES, with the pools that a test gives it.
class AbtPreempted : public testing::Test {
 protected:
  void SetUp() override {
    setenv("WEFT_PREEMPTION", "on", 1);
    setenv("WEFT_PREEMPTION_INTERVAL", "100", 1);
    ASSERT_TRUE(abt_ok(ABT_init(0, nullptr)));
    unsetenv("WEFT_PREEMPTION");
    unsetenv("WEFT_PREEMPTION_INTERVAL");
    end = Clock::now() + kLong;
  }
  void TearDown() override { EXPECT_TRUE(abt_ok(ABT_finalize())); }

  // Has ULTs run there until they end.
  void run(int count, ABT_pool* pools, int pool_count, void (*function)(void*)) {
    ABT_xstream stream;
    ASSERT_TRUE(abt_ok(ABT_xstream_create_basic(ABT_SCHED_BASIC, pool_count, pools, ABT_SCHED_CONFIG_NULL, &stream)));
    std::vector<ABT_thread> ults(static_cast<size_t>(count));
    for (ABT_thread& ult : ults) ASSERT_TRUE(abt_ok(ABT_thread_create(pools[0], function, this, ABT_THREAD_ATTR_NULL, &ult)));
    for (ABT_thread& ult : ults) ASSERT_TRUE(abt_ok(ABT_thread_free(&ult)));
    ASSERT_TRUE(abt_ok(ABT_xstream_free(&stream)));
  }

 public:
  bool goes_on() const { return Clock::now() < end; }

  ABT_pool pools[2];
  ABT_mutex mutex;
  Clock::time_point end;
};

void ask_often(void*) {
  for (int i = 0; i < 20; ++i) {
    int count;
    EXPECT_TRUE(abt_ok(ABT_xstream_get_num(&count)));
  }
}

TEST_F(AbtPreempted, WhileItLooksAtTheListOfEss) {
  ASSERT_TRUE(abt_ok(ABT_pool_create_basic(ABT_POOL_FIFO, ABT_POOL_ACCESS_MPMC, ABT_TRUE, &pools[0])));
  run(4, pools, 1, [](void* arg) {
    const auto* test = static_cast<AbtPreempted*>(arg);
    while (test->goes_on()) {
      for (int i = 0; i < 20; ++i) ask_often(nullptr);
      EXPECT_TRUE(abt_ok(ABT_task_create(test->pools[0], ask_often, nullptr, nullptr)));
      EXPECT_TRUE(abt_ok(ABT_thread_yield()));
    }
  });
}

// A tick or more comes while it has it.
void take_and_let_go(ABT_mutex mutex, int (*lock)(ABT_mutex)) {
  EXPECT_TRUE(abt_ok(lock(mutex)));
  for (const auto until = Clock::now() + std::chrono::microseconds(300); Clock::now() < until;) {
  }
  EXPECT_TRUE(abt_ok(ABT_mutex_unlock(mutex)));
}

// Nobody waits for its ES but who wants to see all stacks.
TEST_F(AbtPreempted, WhileItSpinsAndAllStacksAreAskedFor) {
  for (const char* mode : {"on", "auto"}) {
    ASSERT_TRUE(abt_ok(ABT_finalize()));
    setenv("WEFT_PREEMPTION", mode, 1);
    ASSERT_TRUE(abt_ok(ABT_init(0, nullptr)));
    unsetenv("WEFT_PREEMPTION");
    ABT_pool pool;
    ABT_xstream stream;
    ABT_thread ult;
    ASSERT_TRUE(abt_ok(ABT_pool_create_basic(ABT_POOL_FIFO, ABT_POOL_ACCESS_MPMC, ABT_TRUE, &pool)));
    ASSERT_TRUE(abt_ok(ABT_xstream_create_basic(ABT_SCHED_BASIC, 1, &pool, ABT_SCHED_CONFIG_NULL, &stream)));
    static std::atomic<int> state;
    state = 0;
    const auto spin = [](void*) {
      state = 1;
      while (state != 2) spin_once();
    };
    ASSERT_TRUE(abt_ok(ABT_thread_create(pool, spin, nullptr, ABT_THREAD_ATTR_NULL, &ult)));
    ASSERT_TRUE(wait_until([&] { return state == 1; }));
    usleep(10'000);  // its ticks rest
    FILE* const to = std::tmpfile();
    ASSERT_NE(to, nullptr);
    const auto over = [](ABT_bool in_vain, void*) {
      EXPECT_EQ(in_vain, ABT_FALSE);
      state = 2;
    };
    ASSERT_TRUE(abt_ok(ABT_info_trigger_print_all_thread_stacks(to, -1, over, nullptr)));
    EXPECT_TRUE(wait_until([&] { return state == 2; }));
    EXPECT_TRUE(abt_ok(ABT_thread_free(&ult)));
    EXPECT_TRUE(abt_ok(ABT_xstream_free(&stream)));
    std::fclose(to);
  }
}

TEST_F(AbtPreempted, WhileItHoldsAMutexThatAnotherOneSpinsFor) {
  ASSERT_TRUE(abt_ok(ABT_pool_create_basic(ABT_POOL_FIFO, ABT_POOL_ACCESS_MPMC, ABT_TRUE, &pools[0])));
  ASSERT_TRUE(abt_ok(ABT_mutex_create(&mutex)));
  run(2, pools, 1, [](void* arg) {
    const auto* test = static_cast<AbtPreempted*>(arg);
    while (test->goes_on()) {
      take_and_let_go(test->mutex, ABT_mutex_spinlock);
    }
  });
  EXPECT_TRUE(abt_ok(ABT_mutex_free(&mutex)));
}

TEST_F(AbtPreempted, WhileItHoldsAMutexThatATaskletWaitsFor) {
  ASSERT_TRUE(abt_ok(ABT_pool_create_basic(ABT_POOL_FIFO, ABT_POOL_ACCESS_MPMC, ABT_TRUE, &pools[0])));
  ASSERT_TRUE(abt_ok(ABT_mutex_create(&mutex)));
  run(2, pools, 1, [](void* arg) {
    const auto* test = static_cast<AbtPreempted*>(arg);
    while (test->goes_on()) {
      ABT_task task;
      const auto wait = [](void* mutex) { take_and_let_go(static_cast<ABT_mutex>(mutex), ABT_mutex_lock); };
      EXPECT_TRUE(abt_ok(ABT_task_create(test->pools[0], wait, test->mutex, &task)));
      take_and_let_go(test->mutex, ABT_mutex_lock);
      EXPECT_TRUE(abt_ok(ABT_task_free(&task)));
    }
  });
  EXPECT_TRUE(abt_ok(ABT_mutex_free(&mutex)));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their allocators wait by spinning
TEST_F(AbtPreempted, WhileItAllocatesWhatTaskletsGiveBack) {
  ASSERT_TRUE(abt_ok(ABT_pool_create_basic(ABT_POOL_FIFO, ABT_POOL_ACCESS_MPMC, ABT_TRUE, &pools[0])));
  run(4, pools, 1, [](void* arg) {
    const auto* test = static_cast<AbtPreempted*>(arg);
    while (test->goes_on()) {
      for (int i = 0; i < 100; ++i) {
        EXPECT_TRUE(abt_ok(ABT_task_create(test->pools[0], std::free, std::malloc(2000), nullptr)));
        std::free(std::malloc(3000));
      }
      EXPECT_TRUE(abt_ok(ABT_thread_yield()));
    }
  });
}
#endif

// It has a stack there, and nobody is told.
TEST_F(AbtPreempted, ATaskletIsOneStill) {
  ASSERT_TRUE(abt_ok(ABT_pool_create_basic(ABT_POOL_FIFO, ABT_POOL_ACCESS_MPMC, ABT_TRUE, &pools[0])));
  run(1, pools, 1, [](void* arg) {
    ABT_task task;
    const auto ask = [](void*) {
      ABT_unit_type type;
      EXPECT_TRUE(abt_ok(ABT_self_get_type(&type)));
      EXPECT_EQ(type, ABT_UNIT_TYPE_TASK);
      ABT_task self;
      EXPECT_TRUE(abt_ok(ABT_task_self(&self)));
      ABT_thread ult;
      EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_self(&ult)));
    };
    EXPECT_TRUE(abt_ok(ABT_task_create(static_cast<AbtPreempted*>(arg)->pools[0], ask, nullptr, &task)));
    EXPECT_TRUE(abt_ok(ABT_task_join(task)));
    size_t size = 1;
    EXPECT_TRUE(abt_ok(ABT_thread_get_stacksize(task, &size)));
    EXPECT_EQ(size, 0u);
    EXPECT_TRUE(abt_ok(ABT_task_revive(static_cast<AbtPreempted*>(arg)->pools[0], ask, nullptr, &task)));
    EXPECT_TRUE(abt_ok(ABT_task_free(&task)));
  });
}

// It is at home in the new one's pool only once it does not run.
TEST_F(AbtPreempted, WhileItsEsGetsAnotherScheduler) {
  ASSERT_TRUE(abt_ok(ABT_pool_create_basic(ABT_POOL_FIFO, ABT_POOL_ACCESS_MPMC, ABT_TRUE, &pools[0])));
  run(1, pools, 1, [](void* arg) {
    ABT_xstream self;
    ASSERT_TRUE(abt_ok(ABT_self_get_xstream(&self)));
    const auto compute = [](void*) {
      for (int i = 0; i < 5; ++i) {
        for (const auto until = Clock::now() + std::chrono::microseconds(10); Clock::now() < until;) {
        }
        EXPECT_TRUE(abt_ok(ABT_thread_yield()));
      }
    };
    while (static_cast<AbtPreempted*>(arg)->goes_on()) {
      ABT_pool here, next;
      ABT_sched sched;
      ASSERT_TRUE(abt_ok(ABT_pool_create_basic(ABT_POOL_FIFO, ABT_POOL_ACCESS_MPMC, ABT_TRUE, &next)));
      ASSERT_TRUE(abt_ok(ABT_sched_create_basic(ABT_SCHED_BASIC, 1, &next, ABT_SCHED_CONFIG_NULL, &sched)));
      ASSERT_TRUE(abt_ok(ABT_self_get_last_pool(&here)));
      std::vector<ABT_thread> others(2);
      for (ABT_thread& other : others) ASSERT_TRUE(abt_ok(ABT_thread_create(here, compute, nullptr, ABT_THREAD_ATTR_NULL, &other)));
      ASSERT_TRUE(abt_ok(ABT_xstream_set_main_sched(self, sched)));
      for (ABT_thread& other : others) ASSERT_TRUE(abt_ok(ABT_thread_free(&other)));
    }
  });
}

class AbtPreemptedTool : public AbtPreempted {
 protected:
  void SetUp() override {
    setenv("ABT_ENABLE_TOOL", "yes", 1);
    AbtPreempted::SetUp();
    unsetenv("ABT_ENABLE_TOOL");
  }
};

// Schedulers call it, too, and would wait for who has what it locks.
TEST_F(AbtPreemptedTool, WhileItHoldsALockOfTheTool) {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  const auto tell = [](ABT_thread, ABT_xstream, uint64_t, ABT_tool_context, void* lock) {
    pthread_mutex_lock(static_cast<pthread_mutex_t*>(lock));
    for (const auto until = Clock::now() + std::chrono::microseconds(2); Clock::now() < until;) {
    }
    pthread_mutex_unlock(static_cast<pthread_mutex_t*>(lock));
  };
  ASSERT_TRUE(abt_ok(ABT_tool_register_thread_callback(tell, ABT_TOOL_EVENT_THREAD_ALL, &lock)));
  ASSERT_TRUE(abt_ok(ABT_pool_create_basic(ABT_POOL_FIFO, ABT_POOL_ACCESS_MPMC, ABT_TRUE, &pools[0])));
  run(2, pools, 1, [](void* arg) {
    const auto* test = static_cast<AbtPreempted*>(arg);
    while (test->goes_on()) {
      ABT_thread other;
      EXPECT_TRUE(abt_ok(ABT_thread_create(test->pools[0], [](void*) {}, nullptr, ABT_THREAD_ATTR_NULL, &other)));
      EXPECT_TRUE(abt_ok(ABT_thread_free(&other)));
    }
  });
  EXPECT_TRUE(abt_ok(ABT_tool_register_thread_callback(nullptr, ABT_TOOL_EVENT_THREAD_NONE, nullptr)));
}

// ---- a pool whose functions lock, and know their own units

struct OwnUnit {
  ABT_thread thread;
  ABT_pool pool;
  OwnUnit* next = nullptr;
};
// A scheduler that pushes, or pops, must not allocate: it might wait for a ULT that was preempted.
struct OwnPool {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  OwnUnit* first = nullptr;
  OwnUnit** end = &first;
};

OwnPool& own(ABT_pool pool) {
  void* data = nullptr;
  EXPECT_TRUE(abt_ok(ABT_pool_get_data(pool, &data)));
  return *static_cast<OwnPool*>(data);
}

class Held {
 public:
  explicit Held(OwnPool& pool) : pool_(pool) { pthread_mutex_lock(&pool_.lock); }
  ~Held() { pthread_mutex_unlock(&pool_.lock); }

 private:
  OwnPool& pool_;
};

ABT_unit create_unit(ABT_pool pool, ABT_thread thread) {
  const Held held(own(pool));
  return reinterpret_cast<ABT_unit>(new OwnUnit{thread, pool});
}
void free_unit(ABT_pool pool, ABT_unit unit) {
  const Held held(own(pool));
  EXPECT_EQ(reinterpret_cast<OwnUnit*>(unit)->pool, pool);
  delete reinterpret_cast<OwnUnit*>(unit);
}
ABT_bool is_empty(ABT_pool pool) {
  const Held held(own(pool));
  return own(pool).first == nullptr ? ABT_TRUE : ABT_FALSE;
}
ABT_thread pop(ABT_pool pool, ABT_pool_context) {
  const Held held(own(pool));
  OwnUnit* unit = own(pool).first;
  if (unit == nullptr) return ABT_THREAD_NULL;
  own(pool).first = std::exchange(unit->next, nullptr);
  if (own(pool).first == nullptr) own(pool).end = &own(pool).first;
  return unit->thread;
}
void push(ABT_pool pool, ABT_unit unit, ABT_pool_context) {
  const Held held(own(pool));
  auto* pushed = reinterpret_cast<OwnUnit*>(unit);
  EXPECT_EQ(pushed->pool, pool) << "a unit of another pool";
  *own(pool).end = pushed;
  own(pool).end = &pushed->next;
}
int init_pool(ABT_pool pool, ABT_pool_config) { return ABT_pool_set_data(pool, new OwnPool); }
void free_pool(ABT_pool pool) { delete &own(pool); }

// With ticks each of its steps may be its last for now: then it is pushed into the pool that it has.
TEST_F(AbtPreempted, WhileItGoesFromPoolToPool) {
  ABT_pool_user_def def;
  ASSERT_TRUE(abt_ok(ABT_pool_user_def_create(create_unit, free_unit, is_empty, pop, push, &def)));
  ASSERT_TRUE(abt_ok(ABT_pool_user_def_set_init(def, init_pool)));
  ASSERT_TRUE(abt_ok(ABT_pool_user_def_set_free(def, free_pool)));
  for (ABT_pool& pool : pools) ASSERT_TRUE(abt_ok(ABT_pool_create(def, ABT_POOL_CONFIG_NULL, &pool)));
  ASSERT_TRUE(abt_ok(ABT_pool_user_def_free(&def)));
  run(4, pools, 2, [](void* arg) {
    const auto* test = static_cast<AbtPreempted*>(arg);
    for (size_t i = 0; test->goes_on(); ++i) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
      // What the pools' functions allocate, and the front-end for them, waits for who was preempted in here.
      static std::atomic<void*> given[512];
      std::free(given[i % 512].exchange(std::malloc(64 + i * 61 % 4000)));
#endif
      EXPECT_TRUE(abt_ok(ABT_self_set_associated_pool(test->pools[i % 2])));
      if (i % 16 != 0) continue;
      EXPECT_TRUE(abt_ok(ABT_thread_yield()));
    }
  });
  for (ABT_pool& pool : pools) ASSERT_TRUE(abt_ok(ABT_pool_free(&pool)));
}

}  // namespace
