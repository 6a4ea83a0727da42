// Preemption where nobody can see who waits: in pools of the user's, and below schedulers that are stacked or the user's.
#include <dlfcn.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "support/foreign_sched.hpp"
#include "support/preempting.hpp"
#include "support/user_pool.hpp"

namespace {

using namespace weft_test;
using std::chrono::microseconds;

class PreemptPools : public SlicingTest {
 protected:
  void SetUp() override {
    SlicingTest::SetUp();
    ASSERT_TRUE(ok(weft_preemption_set_interval(WEFT_PREEMPTION_INTERVAL_MIN)));
  }
};
INSTANTIATE_TEST_SUITE_P(All, PreemptPools, kSlicings, name_of);

// Two that meet by spinning, again and again; `rest`: between two times.
template <class F>
void meet(weft_pool_t pool, int rounds, F&& rest) {
  for (int round = 0; round < rounds; ++round) {
    std::atomic<int> there{0};
    Call call([&] {
      ++there;
      while (there < 2) spin_once();
    });
    weft_unit_attr_t attr = default_attr();
    attr.pool = pool;
    weft_unit_t units[] = {call.ult(&attr), call.ult(&attr)};
    ASSERT_TRUE(ok(weft_free_many(2, units)));
    rest(round);
  }
}

TEST_P(PreemptPools, OfTheUsers) {
  UserPool mine;
  mine.is_queue = true;
  const weft_pool_ops_t ops = UserPool::ops();
  weft_pool_t pool = nullptr;
  weft_sched_t sched = nullptr;
  weft_worker_t worker = nullptr;
  ASSERT_TRUE(ok(weft_pool_create_user(&ops, &mine, &pool)));
  ASSERT_TRUE(ok(weft_sched_create(WEFT_SCHED_BASIC_WAIT, 1, &pool, &sched)));
  ASSERT_TRUE(ok(weft_worker_create(sched, &worker)));
  meet(pool, 100, [](int round) {
    if (round % 2 == 0) std::this_thread::sleep_for(microseconds(300));
  });
  // Both wait for a deadline, and go on at the same one.
  meet(pool, 10, [&](int) {
    std::atomic<int> there{0};
    Call call([&] {
      EXPECT_TRUE(ok(weft_sleep(3'000'000)));
      ++there;
      while (there < 2) spin_once();
    });
    weft_unit_attr_t attr = default_attr();
    attr.pool = pool;
    weft_unit_t units[] = {call.ult(&attr), call.ult(&attr)};
    EXPECT_TRUE(ok(weft_free_many(2, units)));
  });
  EXPECT_TRUE(ok(weft_worker_free(&worker)));
  EXPECT_TRUE(ok(weft_sched_free(&sched)));
  EXPECT_TRUE(ok(weft_pool_free(&pool)));
}

// Ticks fall into its own turns: the units yield.
TEST_P(PreemptPools, BelowAStackedScheduler) {
  weft_pool_t outer = nullptr, inner = nullptr;
  weft_sched_t of_outer = nullptr, of_inner = nullptr;
  ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &outer)));
  ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &inner)));
  ASSERT_TRUE(ok(weft_sched_create(WEFT_SCHED_BASIC, 1, &outer, &of_outer)));
  ASSERT_TRUE(ok(weft_sched_create(WEFT_SCHED_BASIC, 1, &inner, &of_inner)));
  std::atomic<int> there{0};
  Call call([&] {
    for (int round = 1; round <= 300; ++round) {
      for (int i = 0; i < 20 + round % 7; ++i) weft_yield();
      ++there;
      while (there < 2 * round) spin_once();
    }
  });
  weft_unit_attr_t attr = default_attr();
  attr.pool = inner;
  weft_unit_t units[] = {call.ult(&attr), call.ult(&attr)};
  weft_unit_t stacked = nullptr;
  ASSERT_TRUE(ok(weft_sched_push(of_inner, outer, &stacked)));
  weft_worker_t worker = nullptr;
  ASSERT_TRUE(ok(weft_worker_create(of_outer, &worker)));
  EXPECT_TRUE(ok(weft_free_many(2, units)));
  EXPECT_TRUE(ok(weft_sched_finish(of_inner)));
  EXPECT_TRUE(ok(weft_free(&stacked)));
  EXPECT_TRUE(ok(weft_worker_free(&worker)));
  for (weft_sched_t* sched : {&of_inner, &of_outer}) EXPECT_TRUE(ok(weft_sched_free(sched)));
  for (weft_pool_t* pool : {&inner, &outer}) EXPECT_TRUE(ok(weft_pool_free(pool)));
}

TEST_P(PreemptPools, ThatASchedulerOfTheUsersStealsFrom) {
  const ForeignWorker worker;
  meet(worker.pool(), 20, [](int) { std::this_thread::sleep_for(microseconds(500)); });
}

// One of high priority waits, in the kernel, for a lock that a preempted one of low priority holds.
void wait_for_lower(weft_pool_t high_pool, weft_pool_t low_pool, weft_preemption_t kind) {
  std::mutex mutex;
  Call high([&] { const std::lock_guard hold(mutex); });
  weft_unit_attr_t above = default_attr();
  above.pool = high_pool;
  above.priority = 7;
  above.preemption = kind;
  Call low([&] {
    std::vector<weft_unit_t> units;
    {
      const std::lock_guard hold(mutex);
      for (int i = 0; i < 3; ++i) units.push_back(high.ult(&above));
      spin_for(std::chrono::milliseconds(5));
    }
    EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  });
  weft_unit_attr_t below = default_attr();
  below.pool = low_pool;
  below.priority = 0;
  for (int round = 0; round < 5; ++round) {
    weft_unit_t unit = low.ult(&below);
    EXPECT_TRUE(ok(weft_free(&unit)));
  }
}

TEST_P(PreemptPools, ByPriorityWithALockThatALowerOneHolds) {
  if (weft::rt::san::kSignalsComeLate || GetParam().kind == WEFT_PREEMPTION_SIGNAL_YIELD) return;  // a foreign lock
  for (const weft_pool_kind_t pool_kind : {WEFT_POOL_PRIORITY, WEFT_POOL_FIFO}) {
    weft_pool_t pools[2] = {};
    weft_sched_t sched = nullptr;
    weft_worker_t worker = nullptr;
    for (weft_pool_t& pool : pools) ASSERT_TRUE(ok(weft_pool_create(pool_kind, WEFT_ACCESS_MPMC, &pool)));
    ASSERT_TRUE(ok(weft_sched_create(WEFT_SCHED_PRIORITY, 2, pools, &sched)));
    ASSERT_TRUE(ok(weft_worker_create(sched, &worker)));
    wait_for_lower(pools[0], pools[pool_kind == WEFT_POOL_PRIORITY ? 0 : 1], WEFT_PREEMPTION_DEFAULT);
    EXPECT_TRUE(ok(weft_worker_free(&worker)));
    EXPECT_TRUE(ok(weft_sched_free(&sched)));
    for (weft_pool_t& pool : pools) EXPECT_TRUE(ok(weft_pool_free(&pool)));
  }
}

// Who has the loader's lock is captured, and so are all kernel threads; the maker of spares wants that lock for the next one.
class PreemptPoolsAlone : public PreemptingTest {
 protected:
  PreemptPoolsAlone() : PreemptingTest(1, WEFT_PREEMPTION_AUTO, WEFT_PREEMPTION_KLT_SWITCHING) {}
  void SetUp() override {
    PreemptingTest::SetUp();
    ASSERT_TRUE(ok(weft_preemption_set_interval(WEFT_PREEMPTION_INTERVAL_MIN)));
  }
};

void load_often(int times) {
  for (int i = 0; i < times; ++i) {
    void* const library = dlopen("libBrokenLocale.so.1", RTLD_NOW);  // a small one of the C library's
    EXPECT_NE(library, nullptr) << dlerror();
    if (library != nullptr) dlclose(library);
  }
}

TEST_F(PreemptPoolsAlone, OfAStackedSchedulerWithTheLoadersLock) {
  Call loads([] { load_often(200); });
  std::vector<weft_unit_t> units;
  weft_pool_t pool = nullptr;
  weft_sched_t sched = nullptr;
  ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &pool)));
  ASSERT_TRUE(ok(weft_sched_create(WEFT_SCHED_BASIC, 1, &pool, &sched)));
  weft_unit_attr_t attr = default_attr();
  attr.pool = pool;
  for (int i = 0; i < 12; ++i) units.push_back(loads.ult(&attr));
  weft_unit_t stacked = nullptr;
  ASSERT_TRUE(ok(weft_sched_push(sched, weft_worker_pool(weft_worker_self()), &stacked)));
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  EXPECT_TRUE(ok(weft_sched_finish(sched)));
  EXPECT_TRUE(ok(weft_free(&stacked)));
  EXPECT_TRUE(ok(weft_sched_free(&sched)));
  EXPECT_TRUE(ok(weft_pool_free(&pool)));
}

// Whom main has named comes after the one that has the lock. Early: a runtime has few spares then.
TEST(PreemptPoolsEarly, WithTheLoadersLockBeforeOneThatIsNamed) {
  for (int round = 0; round < 100; ++round) {
    weft_options_t options{};
    options.workers = 1;
    ASSERT_TRUE(ok(weft_initialize(&options)));
    ASSERT_TRUE(ok(weft_preemption_set_interval(WEFT_PREEMPTION_INTERVAL_MIN)));
    ASSERT_TRUE(ok(weft_preemption_set_mode(WEFT_PREEMPTION_AUTO)));
    Call loads([] { load_often(10); }), nothing([] { weft_yield(); });
    std::vector<weft_unit_t> units;
    for (int i = 0; i < 4; ++i) units.push_back(loads.ult());
    while (std::any_of(units.begin(), units.end(), [](weft_unit_t unit) { return weft_unit_state(unit) != WEFT_UNIT_TERMINATED; })) {
      weft_unit_t unit = nothing.ult();
      EXPECT_TRUE(ok(weft_yield_to(unit)));
      EXPECT_TRUE(ok(weft_free(&unit)));
    }
    EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
    ASSERT_TRUE(ok(weft_finalize()));
  }
}

}  // namespace
