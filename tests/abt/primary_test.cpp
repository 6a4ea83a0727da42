// The primary ULT in a pool that other ESs use too: they come by it, and only its own thread may run it.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

#include "support/abt_fixture.hpp"

namespace {

using namespace weft_test;

class AbtPrimary : public AbtTest {
 protected:
  static constexpr int kStreams = 4;

  // Each ES has its own pool first, and then all others.
  void SetUp() override {
    AbtTest::SetUp();
    for (ABT_pool& pool : pools) {
      ASSERT_TRUE(abt_ok(ABT_pool_create_basic(ABT_POOL_FIFO, ABT_POOL_ACCESS_MPMC, ABT_TRUE, &pool)));
    }
    ASSERT_TRUE(abt_ok(ABT_self_get_xstream(&streams[0])));
    for (int i = 0; i < kStreams; ++i) {
      ABT_pool order[kStreams];
      for (int j = 0; j < kStreams; ++j) order[j] = pools[(i + j) % kStreams];
      const int error =
          i == 0 ? ABT_xstream_set_main_sched_basic(streams[0], ABT_SCHED_DEFAULT, kStreams, order)
                 : ABT_xstream_create_basic(ABT_SCHED_DEFAULT, kStreams, order, ABT_SCHED_CONFIG_NULL, &streams[i]);
      ASSERT_TRUE(abt_ok(error));
    }
  }
  void TearDown() override {
    for (int i = 1; i < kStreams; ++i) EXPECT_TRUE(abt_ok(ABT_xstream_free(&streams[i])));
    AbtTest::TearDown();
  }

  ABT_pool pools[kStreams];
  ABT_xstream streams[kStreams];
};

// A tree of unnamed ULTs, half of which are run in their creator's place.
std::atomic<int> leaves;

void grow(void* arg) {
  const auto depth = reinterpret_cast<intptr_t>(arg);
  if (depth == 0) {
    ++leaves;
    return;
  }
  for (int i = 0; i < 2; ++i) {
    ABT_pool pool;
    EXPECT_TRUE(abt_ok(ABT_self_get_last_pool(&pool)));
    const auto create = i == 0 ? ABT_thread_create : ABT_thread_create_to;
    EXPECT_TRUE(abt_ok(create(pool, grow, reinterpret_cast<void*>(depth - 1), ABT_THREAD_ATTR_NULL, nullptr)));
  }
}

TEST_F(AbtPrimary, LeavesToChosenUnitsAndComesBack) {
  constexpr intptr_t kDepth = 8;
  const pthread_t thread = pthread_self();
  for (int round = 1; round <= 100; ++round) {
    grow(reinterpret_cast<void*>(kDepth));
    ASSERT_EQ(pthread_self(), thread);
  }
  ASSERT_TRUE(wait_until([] { return leaves == 100 << kDepth; }));
}

TEST_F(AbtPrimary, YieldsAndComesBack) {
  const pthread_t thread = pthread_self();
  for (int i = 0; i < 3000; ++i) {
    EXPECT_TRUE(abt_ok(ABT_self_yield()));
    ASSERT_EQ(pthread_self(), thread);
  }
}

int rank() {
  int rank = -1;
  EXPECT_TRUE(abt_ok(ABT_xstream_self_rank(&rank)));
  return rank;
}

// One that waits for another one's fork() gives its ES to another thread, and goes on at any that shares its pool.
TEST(AbtPrimaryAlone, StaysAtItsEsWhileOthersFork) {
  ASSERT_TRUE(abt_ok(ABT_init(0, nullptr)));
  ABT_pool pools[2];
  for (ABT_pool& pool : pools) {
    ASSERT_TRUE(abt_ok(ABT_pool_create_basic(ABT_POOL_FIFO, ABT_POOL_ACCESS_MPMC, ABT_TRUE, &pool)));
  }
  ABT_xstream mine, other;
  ASSERT_TRUE(abt_ok(ABT_self_get_xstream(&mine)));
  ASSERT_TRUE(abt_ok(ABT_xstream_set_main_sched_basic(mine, ABT_SCHED_DEFAULT, 2, pools)));
  ASSERT_TRUE(abt_ok(ABT_xstream_create_basic(ABT_SCHED_DEFAULT, 1, &pools[1], ABT_SCHED_CONFIG_NULL, &other)));
  std::atomic<int> left = 8;
  Call forks([&] {
    for (int i = 0; i < 40; ++i) {
      const pid_t child = fork();
      if (child == 0) _exit(0);
      EXPECT_EQ(waitpid(child, nullptr, 0), child);
      EXPECT_TRUE(abt_ok(ABT_self_yield()));
    }
    --left;
  });
  for (int i = left; i > 0; --i) {
    ASSERT_TRUE(abt_ok(ABT_thread_create(pools[1], Call::run, &forks, ABT_THREAD_ATTR_NULL, nullptr)));
  }
  EXPECT_TRUE(wait_until([&] { return rank() != 0 || left == 0; }));
  EXPECT_EQ(rank(), 0);
  EXPECT_TRUE(wait_until([&] { return left == 0; }));
  EXPECT_TRUE(abt_ok(ABT_xstream_free(&other)));
  EXPECT_TRUE(abt_ok(ABT_finalize()));
}

// A scheduler of the program's own, as BOLT's.
void run_own(ABT_sched sched) {
  ABT_pool pool;
  EXPECT_TRUE(abt_ok(ABT_sched_get_pools(sched, 1, 0, &pool)));
  for (ABT_bool stop = ABT_FALSE; stop == ABT_FALSE;) {
    ABT_unit unit;
    EXPECT_TRUE(abt_ok(ABT_pool_pop(pool, &unit)));
    if (unit != ABT_UNIT_NULL) {
      EXPECT_TRUE(abt_ok(ABT_xstream_run_unit(unit, pool)));
    }
    EXPECT_TRUE(abt_ok(ABT_sched_has_to_stop(sched, &stop)));
    EXPECT_TRUE(abt_ok(ABT_xstream_check_events(sched)));
  }
}

// A tick takes main to another ES, whose pool is its own as well; nobody asked it. With schedulers of the program's own, or without.
class AbtPrimaryElsewhere : public testing::TestWithParam<bool> {
 protected:
  ABT_sched make_sched(ABT_pool pool) {
    ABT_sched sched = ABT_SCHED_NULL;
    ABT_sched_def def = {ABT_SCHED_TYPE_ULT, nullptr, run_own, nullptr, nullptr};
    const int error = GetParam() ? ABT_sched_create(&def, 1, &pool, ABT_SCHED_CONFIG_NULL, &sched)
                                 : ABT_sched_create_basic(ABT_SCHED_BASIC_WAIT, 1, &pool, ABT_SCHED_CONFIG_NULL, &sched);
    EXPECT_TRUE(abt_ok(error));
    return sched;
  }

  void SetUp() override {
    setenv("WEFT_PREEMPTION", "on", 1);
    ASSERT_TRUE(abt_ok(ABT_init(0, nullptr)));
    unsetenv("WEFT_PREEMPTION");
    ABT_pool pool;
    ABT_xstream self;
    ASSERT_TRUE(abt_ok(ABT_pool_create_basic(ABT_POOL_FIFO_WAIT, ABT_POOL_ACCESS_MPMC, ABT_TRUE, &pool)));
    ASSERT_TRUE(abt_ok(ABT_xstream_self(&self)));
    ASSERT_TRUE(abt_ok(ABT_xstream_set_main_sched(self, make_sched(pool))));
    ASSERT_TRUE(abt_ok(ABT_xstream_create(make_sched(pool), &other)));
    std::atomic<bool> there{false};
    const auto wait_for_main = [](void* arg) {
      while (!*static_cast<std::atomic<bool>*>(arg)) EXPECT_TRUE(abt_ok(ABT_self_yield()));
    };
    ABT_thread ults[3];
    for (ABT_thread& ult : ults) {
      ASSERT_TRUE(abt_ok(ABT_thread_create(pool, wait_for_main, &there, ABT_THREAD_ATTR_NULL, &ult)));
    }
    while (rank() == 0) EXPECT_TRUE(abt_ok(ABT_self_yield()));
    there = true;
    for (ABT_thread& ult : ults) ASSERT_TRUE(abt_ok(ABT_thread_free(&ult)));
  }
  ABT_xstream other;
};

TEST_P(AbtPrimaryElsewhere, JoinsTheEsThatItIsOn) {
  while (rank() == 0) EXPECT_TRUE(abt_ok(ABT_self_yield()));
  EXPECT_TRUE(abt_ok(ABT_xstream_join(other)));
  EXPECT_EQ(rank(), 0);
  EXPECT_TRUE(abt_ok(ABT_xstream_free(&other)));
  EXPECT_TRUE(abt_ok(ABT_finalize()));
}

TEST_P(AbtPrimaryElsewhere, FreesTheEsThatItIsOn) {
  EXPECT_TRUE(abt_ok(ABT_xstream_free(&other)));
  EXPECT_EQ(rank(), 0);
  EXPECT_TRUE(abt_ok(ABT_finalize()));
}

TEST_P(AbtPrimaryElsewhere, Finalises) {
  EXPECT_TRUE(abt_ok(ABT_finalize()));
  EXPECT_EQ(ABT_initialized(), ABT_ERR_UNINITIALIZED);
}

INSTANTIATE_TEST_SUITE_P(Scheds, AbtPrimaryElsewhere, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& info) { return info.param ? "Own" : "Predefined"; });

}  // namespace
