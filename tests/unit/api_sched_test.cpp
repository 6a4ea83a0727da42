// Schedulers: every built-in kind, user-defined, stacked, replaced.
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/runtime_fixture.hpp"

namespace {

using namespace weft_test;

class ApiSchedKind : public RuntimeTest, public testing::WithParamInterface<weft_sched_kind_t> {};
INSTANTIATE_TEST_SUITE_P(Kinds, ApiSchedKind,
                         testing::Values(WEFT_SCHED_BASIC, WEFT_SCHED_BASIC_WAIT,
                                         WEFT_SCHED_PRIORITY, WEFT_SCHED_RANDWS));

TEST_P(ApiSchedKind, RunsTheUnitsOfAllItsPools) {
  weft_pool_t pools[3] = {};
  for (auto& p : pools) {
    ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &p)));
  }
  weft_sched_t sched = nullptr;
  ASSERT_TRUE(ok(weft_sched_create(GetParam(), 3, pools, &sched)));
  weft_pool_t found[4] = {};
  EXPECT_EQ(weft_sched_pools(sched, 4, found), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(found[i], pools[i]);
  }
  EXPECT_EQ(found[3], nullptr);
  weft_worker_t worker = nullptr;
  ASSERT_TRUE(ok(weft_worker_create(sched, &worker)));
  EXPECT_EQ(weft_worker_sched(worker), sched);
  EXPECT_EQ(weft_worker_pool(worker), pools[0]);
  std::atomic<int> count = 0;
  Call call([&] {
    EXPECT_EQ(weft_worker_self(), worker);
    weft_yield();
    ++count;
  });
  for (int round = 0; round < 20; ++round) {
    std::vector<weft_unit_t> units;
    for (int i = 0; i < 90; ++i) {
      weft_unit_attr_t attr = default_attr();
      attr.pool = pools[i % 3];
      units.push_back(i % 5 == 0 ? call.tasklet(&attr) : call.ult(&attr));
    }
    EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
    if (round % 10 == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));  // lets it fall asleep
    }
  }
  EXPECT_EQ(count, 1800);
  EXPECT_TRUE(ok(weft_worker_free(&worker)));
  EXPECT_TRUE(ok(weft_sched_free(&sched)));
  for (auto& p : pools) {
    EXPECT_TRUE(ok(weft_pool_free(&p)));
  }
}

TEST_P(ApiSchedKind, MakesAPoolOfItsOwn) {
  weft_sched_t sched = nullptr;
  ASSERT_TRUE(ok(weft_sched_create(GetParam(), 0, nullptr, &sched)));
  weft_pool_t pool = nullptr;
  EXPECT_EQ(weft_sched_pools(sched, 1, &pool), 1u);
  ASSERT_NE(pool, nullptr);
  weft_worker_t worker = nullptr;
  ASSERT_TRUE(ok(weft_worker_create(sched, &worker)));
  weft_unit_attr_t attr = default_attr();
  attr.worker = worker;
  in_ult([&] { EXPECT_EQ(weft_unit_pool(weft_self()), pool); }, &attr);
  EXPECT_TRUE(ok(weft_worker_free(&worker)));
  EXPECT_TRUE(ok(weft_sched_free(&sched)));
}

TEST_P(ApiSchedKind, ASleepingWorkerIsWokenByEachPool) {
  weft_pool_t pools[2] = {};
  for (auto& p : pools) {
    ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &p)));
  }
  weft_sched_t sched = nullptr;
  ASSERT_TRUE(ok(weft_sched_create(GetParam(), 2, pools, &sched)));
  weft_worker_t worker = nullptr;
  ASSERT_TRUE(ok(weft_worker_create(sched, &worker)));
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(i % 4));
    weft_unit_attr_t attr = default_attr();
    attr.pool = pools[i % 2];
    in_ult([&] { EXPECT_EQ(weft_worker_self(), worker); }, &attr);
  }
  EXPECT_TRUE(ok(weft_worker_free(&worker)));
  EXPECT_TRUE(ok(weft_sched_free(&sched)));
  for (auto& p : pools) {
    EXPECT_TRUE(ok(weft_pool_free(&p)));
  }
}

TEST_P(ApiSchedKind, ReplacesTheMainSchedulerOfItsWorker) {
  SideWorker side(GetParam());
  weft_sched_t other = nullptr;
  ASSERT_TRUE(ok(weft_sched_create(WEFT_SCHED_PRIORITY, 1, &side.pool, &other)));
  const weft_unit_attr_t attr = side.attr();
  std::atomic<int> count = 0;
  Call waiting([&] { ++count; });
  std::vector<weft_unit_t> units;
  in_ult(
      [&] {
        for (int i = 0; i < 20; ++i) {
          units.push_back(waiting.ult(&attr));
        }
        EXPECT_TRUE(ok(weft_worker_set_sched(side.worker, other)));
        weft_yield();
        EXPECT_EQ(weft_worker_sched(side.worker), other);
      },
      &attr);
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  EXPECT_EQ(count, 20);
  EXPECT_TRUE(fails(WEFT_ERR_STATE, weft_sched_free(&other)));
  in_ult([&] { EXPECT_TRUE(ok(weft_worker_set_sched(side.worker, side.sched))); }, &attr);
  in_ult([&] { EXPECT_EQ(weft_worker_sched(side.worker), side.sched); }, &attr);
  EXPECT_TRUE(ok(weft_sched_free(&other)));
}

class ApiSched : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, ApiSched, kWorkerCounts);

TEST_P(ApiSched, PriorityTakesTheFirstPoolThatIsNotEmpty) {
  weft_pool_t pools[2] = {};
  for (auto& p : pools) {
    ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &p)));
  }
  weft_sched_t sched = nullptr;
  ASSERT_TRUE(ok(weft_sched_create(WEFT_SCHED_PRIORITY, 2, pools, &sched)));
  weft_worker_t worker = nullptr;
  ASSERT_TRUE(ok(weft_worker_create(sched, &worker)));
  std::atomic<bool> held = false;
  std::atomic<bool> go = false;
  Call gate([&] {
    held = true;
    while (!go) {
    }
  });
  weft_unit_attr_t high = default_attr();
  high.pool = pools[0];
  weft_unit_attr_t low = default_attr();
  low.pool = pools[1];
  weft_unit_t g = gate.ult(&high);
  ASSERT_TRUE(wait_until([&] { return held.load(); }));
  std::string log;
  std::vector<weft_unit_t> units;
  Call l([&] { log += 'l'; });
  Call h([&] { log += 'h'; });
  for (int i = 0; i < 10; ++i) {
    units.push_back(l.tasklet(&low));
    units.push_back(h.tasklet(&high));
  }
  go = true;
  EXPECT_TRUE(ok(weft_free(&g)));
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  EXPECT_EQ(log, std::string(10, 'h') + std::string(10, 'l'));
  EXPECT_TRUE(ok(weft_worker_free(&worker)));
  EXPECT_TRUE(ok(weft_sched_free(&sched)));
  for (auto& p : pools) {
    EXPECT_TRUE(ok(weft_pool_free(&p)));
  }
}

// ---- user-defined

struct UserSched {
  std::atomic<int> creates = 0;
  std::atomic<int> frees = 0;
  std::atomic<int> runs = 0;
  std::atomic<int> units = 0;
  std::atomic<int> idles = 0;

  static weft_sched_ops_t ops() {
    weft_sched_ops_t o{};
    o.create = [](weft_sched_t, void* arg) {
      ++static_cast<UserSched*>(arg)->creates;
      return arg;
    };
    o.free = [](weft_sched_t, void* data) { ++static_cast<UserSched*>(data)->frees; };
    o.run = [](weft_sched_t sched, void* data) {
      auto* self = static_cast<UserSched*>(data);
      ++self->runs;
      weft_pool_t pools[8];
      while (!weft_sched_should_stop(sched)) {
        const size_t n = weft_sched_pools(sched, 8, pools);
        bool found = false;
        for (size_t i = 0; i < n; ++i) {
          if (weft_unit_t unit = weft_pool_pop(pools[i])) {
            found = true;
            ++self->units;
            EXPECT_TRUE(ok(weft_sched_run(sched, unit)));
          }
        }
        if (!found) {
          ++self->idles;
          weft_sched_idle(sched);
        }
      }
    };
    return o;
  }
};

TEST_P(ApiSched, UserDefinedAsMainScheduler) {
  UserSched mine;
  const weft_sched_ops_t ops = UserSched::ops();
  weft_pool_t pools[2] = {};
  for (auto& p : pools) {
    ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &p)));
  }
  weft_sched_t sched = nullptr;
  ASSERT_TRUE(ok(weft_sched_create_user(&ops, &mine, 2, pools, &sched)));
  EXPECT_EQ(mine.creates, 1);
  EXPECT_EQ(weft_sched_data(sched), &mine);
  weft_worker_t worker = nullptr;
  ASSERT_TRUE(ok(weft_worker_create(sched, &worker)));
  std::atomic<int> count = 0;
  std::vector<weft_unit_t> units;
  Call call([&] {
    EXPECT_EQ(weft_worker_self(), worker);
    weft_yield();
    weft_unit_attr_t attr = default_attr();
    attr.pool = pools[1];
    Call child([&] { ++count; });
    weft_unit_t u = child.ult(&attr);
    EXPECT_TRUE(ok(weft_free(&u)));
    ++count;
  });
  for (int i = 0; i < 200; ++i) {
    weft_unit_attr_t attr = default_attr();
    attr.pool = pools[i % 2];
    units.push_back(call.ult(&attr));
  }
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  EXPECT_EQ(count, 400);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const int idles = mine.idles;
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_LE(mine.idles - idles, 50) << "idle sleeps until a pool is pushed to";
  weft_unit_attr_t attr = default_attr();
  attr.pool = pools[1];
  in_ult([] {}, &attr);
  EXPECT_TRUE(ok(weft_worker_free(&worker)));
  EXPECT_TRUE(ok(weft_sched_free(&sched)));
  EXPECT_EQ(mine.frees, 1);
  EXPECT_EQ(mine.runs, 1);
  EXPECT_GE(mine.units, 400);
  for (auto& p : pools) {
    EXPECT_TRUE(ok(weft_pool_free(&p)));
  }
}

TEST_P(ApiSched, UserDefinedRunsEveryTechnique) {
  UserSched mine;
  const weft_sched_ops_t ops = UserSched::ops();
  weft_sched_t sched = nullptr;
  ASSERT_TRUE(ok(weft_sched_create_user(&ops, &mine, 0, nullptr, &sched)));
  weft_worker_t worker = nullptr;
  ASSERT_TRUE(ok(weft_worker_create(sched, &worker)));
  for (const weft_technique_t technique :
       {WEFT_TECHNIQUE_AUTO, WEFT_TECHNIQUE_SC, WEFT_TECHNIQUE_SS_L, WEFT_TECHNIQUE_SS,
        WEFT_TECHNIQUE_JOINER}) {
    weft_unit_attr_t attr = default_attr();
    attr.worker = worker;
    attr.technique = technique;
    Call call([] { EXPECT_TRUE(ok(weft_suspend())); });
    std::vector<weft_unit_t> units;
    for (int i = 0; i < 50; ++i) {
      units.push_back(call.ult(&attr));
    }
    for (weft_unit_t u : units) {
      EXPECT_TRUE(ok(weft_resume(u)));
    }
    EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  }
  EXPECT_TRUE(ok(weft_worker_free(&worker)));
  EXPECT_TRUE(ok(weft_sched_free(&sched)));
}

// ---- stacked

TEST_P(ApiSched, AStackedSchedulerRunsUntilItIsToldToFinish) {
  for (const bool user : {false, true}) {
    UserSched mine;
    const weft_sched_ops_t ops = UserSched::ops();
    weft_pool_t pool = nullptr;
    ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &pool)));
    weft_sched_t sched = nullptr;
    ASSERT_TRUE(ok(user ? weft_sched_create_user(&ops, &mine, 1, &pool, &sched)
                        : weft_sched_create(WEFT_SCHED_BASIC, 1, &pool, &sched)));
    weft_unit_t unit = nullptr;
    ASSERT_TRUE(ok(weft_sched_push(sched, weft_worker_pool(weft_worker_self()), &unit)));
    ASSERT_NE(unit, nullptr);
    EXPECT_TRUE(fails(WEFT_ERR_STATE, weft_sched_free(&sched)));
    weft_unit_attr_t attr = default_attr();
    attr.pool = pool;
    std::atomic<int> count = 0;
    Call call([&] {
      for (int k = 0; k < 3; ++k) {
        weft_yield();
      }
      ++count;
    });
    std::vector<weft_unit_t> units;
    for (int i = 0; i < 50; ++i) {
      units.push_back(call.ult(&attr));
    }
    EXPECT_TRUE(wait_until([&] { return count == 50; }));
    for (int i = 0; i < 30; ++i) {
      units.push_back(call.ult(&attr));
    }
    EXPECT_TRUE(ok(weft_sched_finish(sched)));
    EXPECT_TRUE(ok(weft_join(unit)));
    EXPECT_EQ(count, 80);
    EXPECT_EQ(weft_pool_size(pool), 0u);
    EXPECT_TRUE(ok(weft_free(&unit)));
    EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
    EXPECT_TRUE(ok(weft_sched_free(&sched)));
    EXPECT_TRUE(ok(weft_pool_free(&pool)));
  }
}

TEST_P(ApiSched, AStackedSchedulerThatIsToldToExitLeavesItsUnits) {
  weft_pool_t pool = nullptr;
  ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &pool)));
  weft_sched_t sched = nullptr;
  ASSERT_TRUE(ok(weft_sched_create(WEFT_SCHED_BASIC, 1, &pool, &sched)));
  weft_unit_t unit = nullptr;
  ASSERT_TRUE(ok(weft_sched_push(sched, weft_worker_pool(weft_worker_self()), &unit)));
  weft_unit_attr_t attr = default_attr();
  attr.pool = pool;
  std::atomic<bool> stop = false;
  Call call([&] {
    while (!stop) {
      weft_yield();
    }
  });
  std::vector<weft_unit_t> units = {call.ult(&attr), call.ult(&attr)};
  EXPECT_TRUE(ok(weft_sched_exit(sched)));
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_EQ(weft_pool_size(pool), 2u);
  stop = true;
  const weft_pool_t here = weft_worker_pool(weft_worker_self());
  while (weft_unit_t u = weft_pool_pop(pool)) {
    EXPECT_TRUE(ok(weft_migrate(u, here)));
    EXPECT_TRUE(ok(weft_pool_push(here, u)));
  }
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  EXPECT_TRUE(ok(weft_sched_free(&sched)));
  EXPECT_TRUE(ok(weft_pool_free(&pool)));
}

TEST_P(ApiSched, SchedulersStackOnSchedulers) {
  constexpr int kDepth = 4;
  weft_pool_t pools[kDepth] = {};
  weft_sched_t scheds[kDepth] = {};
  weft_unit_t units[kDepth] = {};
  weft_pool_t below = weft_worker_pool(weft_worker_self());
  for (int i = 0; i < kDepth; ++i) {
    ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &pools[i])));
    ASSERT_TRUE(ok(weft_sched_create(WEFT_SCHED_BASIC, 1, &pools[i], &scheds[i])));
    ASSERT_TRUE(ok(weft_sched_push(scheds[i], below, &units[i])));
    below = pools[i];
  }
  weft_unit_attr_t attr = default_attr();
  attr.pool = below;
  std::atomic<int> count = 0;
  Call call([&] {
    weft_yield();
    ++count;
  });
  std::vector<weft_unit_t> leaves;
  for (int i = 0; i < 20; ++i) {
    leaves.push_back(call.ult(&attr));
  }
  EXPECT_TRUE(ok(weft_free_many(leaves.size(), leaves.data())));
  EXPECT_EQ(count, 20);
  for (int i = kDepth - 1; i >= 0; --i) {
    EXPECT_TRUE(ok(weft_sched_finish(scheds[i])));
    EXPECT_TRUE(ok(weft_free(&units[i])));
    EXPECT_TRUE(ok(weft_sched_free(&scheds[i])));
    EXPECT_TRUE(ok(weft_pool_free(&pools[i])));
  }
}

TEST_P(ApiSched, ADetachedStackedSchedulerEndsByItself) {
  weft_pool_t pool = nullptr;
  ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &pool)));
  weft_sched_t sched = nullptr;
  ASSERT_TRUE(ok(weft_sched_create(WEFT_SCHED_BASIC, 1, &pool, &sched)));
  ASSERT_TRUE(ok(weft_sched_push(sched, weft_worker_pool(weft_worker_self()), nullptr)));
  EXPECT_TRUE(ok(weft_sched_finish(sched)));
  EXPECT_TRUE(wait_until([&] { return weft_sched_free(&sched) == WEFT_OK; }));
  EXPECT_TRUE(ok(weft_pool_free(&pool)));
}

TEST_P(ApiSched, ReplaceTheSchedulerOfWorkerZero) {
  const weft_worker_t me = weft_worker_self();
  const weft_sched_t old = weft_worker_sched(me);
  weft_pool_t pool = weft_worker_pool(me);
  weft_sched_t mine = nullptr;
  ASSERT_TRUE(ok(weft_sched_create(WEFT_SCHED_BASIC, 1, &pool, &mine)));
  EXPECT_TRUE(ok(weft_worker_set_sched(me, mine)));
  for (int i = 0; i < 20; ++i) {
    in_ult([] { weft_yield(); });
    weft_yield();
  }
  EXPECT_EQ(weft_worker_sched(me), mine);
  weft_worker_t another = nullptr;
  EXPECT_TRUE(fails(WEFT_ERR_STATE, weft_worker_create(old, &another)));
  EXPECT_TRUE(ok(weft_worker_set_sched(me, old)));
  weft_yield();
  in_ult([] { weft_yield(); });
  EXPECT_TRUE(wait_until([&] { return weft_sched_free(&mine) == WEFT_OK; }));
}

// One of the program's that runs a unit of each of its pools before it looks.
TEST_P(ApiSched, OneThatHasBeenReplacedIsNotReplacedAgainBeforeItLooks) {
  UserSched mine;
  const weft_sched_ops_t ops = UserSched::ops();
  weft_pool_t pools[2] = {};
  for (auto& p : pools) ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &p)));
  weft_sched_t sched = nullptr, others[2] = {};
  ASSERT_TRUE(ok(weft_sched_create_user(&ops, &mine, 2, pools, &sched)));
  for (auto& other : others) ASSERT_TRUE(ok(weft_sched_create(WEFT_SCHED_BASIC, 0, nullptr, &other)));
  int errors[2] = {-1, -1};
  Call first([&] { errors[0] = weft_worker_set_sched(weft_worker_self(), others[0]); });
  Call second([&] { errors[1] = weft_worker_set_sched(weft_worker_self(), others[1]); });
  weft_unit_attr_t attr = default_attr();
  attr.pool = pools[0];
  weft_unit_t units[2] = {first.ult(&attr)};
  attr.pool = pools[1];
  units[1] = second.ult(&attr);
  weft_worker_t worker = nullptr;
  ASSERT_TRUE(ok(weft_worker_create(sched, &worker)));
  EXPECT_TRUE(ok(weft_free_many(2, units)));
  EXPECT_TRUE(ok(errors[0]));
  EXPECT_TRUE(fails(WEFT_ERR_STATE, errors[1]));
  EXPECT_TRUE(ok(weft_worker_free(&worker)));
  for (weft_sched_t each : {sched, others[0], others[1]}) EXPECT_TRUE(ok(weft_sched_free(&each)));
  for (auto& p : pools) EXPECT_TRUE(ok(weft_pool_free(&p)));
}

TEST_P(ApiSched, ArgumentsAreChecked) {
  weft_sched_t sched = nullptr;
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_sched_create(WEFT_SCHED_BASIC, 0, nullptr, nullptr)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID,
                    weft_sched_create(static_cast<weft_sched_kind_t>(99), 0, nullptr, &sched)));
  EXPECT_TRUE(
      fails(WEFT_ERR_INVALID, weft_sched_create_user(nullptr, nullptr, 0, nullptr, &sched)));
  const weft_sched_ops_t empty{};
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_sched_create_user(&empty, nullptr, 0, nullptr, &sched)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_sched_free(nullptr)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_sched_free(&sched)));
  EXPECT_EQ(weft_sched_pools(nullptr, 0, nullptr), 0u);
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_sched_finish(nullptr)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_sched_exit(nullptr)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_sched_push(nullptr, nullptr, nullptr)));
  std::vector<weft_pool_t> pools(65);
  for (auto& p : pools) {
    ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &p)));
  }
  EXPECT_TRUE(fails(WEFT_ERR_LIMIT,
                    weft_sched_create(WEFT_SCHED_BASIC, pools.size(), pools.data(), &sched)));
  EXPECT_TRUE(ok(weft_sched_create(WEFT_SCHED_BASIC, 64, pools.data(), &sched)));
  EXPECT_TRUE(ok(weft_sched_free(&sched)));
  for (auto& p : pools) {
    EXPECT_TRUE(ok(weft_pool_free(&p)));
  }
}

TEST_P(ApiSched, ASchedulerHasOneUser) {
  SideWorker side;
  weft_worker_t worker = nullptr;
  EXPECT_TRUE(fails(WEFT_ERR_STATE, weft_worker_create(side.sched, &worker)));
  EXPECT_TRUE(fails(WEFT_ERR_STATE, weft_sched_free(&side.sched)));
  EXPECT_TRUE(fails(WEFT_ERR_STATE,
                    weft_sched_push(side.sched, weft_worker_pool(weft_worker_self()), nullptr)));
  EXPECT_TRUE(fails(WEFT_ERR_STATE, weft_worker_set_sched(weft_worker_self(), side.sched)));
}

// ---- what a worker has stolen, when it has another scheduler or ends

class Stolen : public OneWorkerTest {
 protected:
  void SetUp() override {
    OneWorkerTest::SetUp();
    ASSERT_TRUE(ok(weft_worker_create(nullptr, &thief)));
    yields = call.ult();
    while (!is_there) {
    }  // nobody else than the thief may run it
  }
  void TearDown() override {
    done = true;
    EXPECT_TRUE(ok(weft_free(&yields)));  // somebody runs it
    OneWorkerTest::TearDown();
  }
  // In a ULT there, with the stolen one in the ring.
  void do_there(std::function<void()> f) {
    weft_unit_attr_t attr = default_attr();
    attr.worker = thief;
    attr.pinned = true;
    std::atomic<bool> over = false;
    Call last([&] {
      f();
      over = true;
    });
    weft_unit_t unit = last.ult(&attr);
    while (!over) {
    }  // as before: it is not to come back by itself
    EXPECT_TRUE(ok(weft_free(&unit)));
  }

  weft_worker_t thief = nullptr;
  weft_unit_t yields = nullptr;
  std::atomic<bool> is_there = false, done = false;
  Call call{[this] {
    while (!done) {
      is_there = is_there || weft_worker_self() == thief;
      weft_yield();
    }
  }};
};

TEST_F(Stolen, GoesOnWhereTheSchedulerIsReplaced) {
  weft_pool_t pool = nullptr;
  weft_sched_t sched = nullptr;
  ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &pool)));
  ASSERT_TRUE(ok(weft_sched_create(WEFT_SCHED_BASIC, 1, &pool, &sched)));
  do_there([&] { EXPECT_TRUE(ok(weft_worker_set_sched(thief, sched))); });
  EXPECT_TRUE(ok(weft_worker_free(&thief)));
  EXPECT_TRUE(ok(weft_sched_free(&sched)));
  EXPECT_TRUE(ok(weft_pool_free(&pool)));
}

TEST_F(Stolen, GoesOnWhereTheWorkerEndsAtOnce) {
  do_there([&] { EXPECT_TRUE(ok(weft_sched_exit(weft_worker_sched(thief)))); });
  EXPECT_TRUE(ok(weft_worker_free(&thief)));
}

// ---- what comes from outside while workers come and go

TEST_F(OneWorkerTest, NothingFromOutsideIsLostWithAWorkerThatStopsJustThen) {
  constexpr int kThreads = 2, kWorkers = 100;
  std::atomic<bool> over = false;
  std::atomic<int> made = 0, ran = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      while (!over) {
        EXPECT_TRUE(ok(weft_ult_create([](void* arg) { ++*static_cast<std::atomic<int>*>(arg); }, &ran, nullptr, nullptr)));
        for (const int n = ++made; ran < n - 100 && !over;) std::this_thread::yield();
      }
    });
  }
  for (int i = 0; i < kWorkers; ++i) {
    weft_worker_t worker = nullptr;
    ASSERT_TRUE(ok(weft_worker_create(nullptr, &worker)));
    for (const int n = ran; ran < n + 50;) weft_yield();
    EXPECT_TRUE(ok(weft_worker_free(&worker)));
  }
  over = true;
  for (std::thread& each : threads) each.join();
  while (ran < made) weft_yield();
}

// ---- BASIC over several pools, of which the first is the worker's lane or another one

class BasicTurns : public OneWorkerTest, public testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    OneWorkerTest::SetUp();
    for (weft_pool_t& pool : pools) {
      ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &pool)));
    }
    lane = weft_worker_pool(weft_worker_get(0));
    old = weft_worker_sched(weft_worker_get(0));
    first = GetParam() ? lane : pools[0];
    const weft_pool_t in_order[] = {first, pools[1], pools[2], GetParam() ? pools[0] : lane};
    ASSERT_TRUE(ok(weft_sched_create(WEFT_SCHED_BASIC, 4, in_order, &sched)));
    ASSERT_TRUE(ok(weft_worker_set_sched(weft_worker_get(0), sched)));
  }
  void TearDown() override {
    ASSERT_TRUE(ok(weft_worker_set_sched(weft_worker_get(0), old)));
    EXPECT_TRUE(ok(weft_sched_free(&sched)));
    for (weft_pool_t& pool : pools) EXPECT_TRUE(ok(weft_pool_free(&pool)));
    OneWorkerTest::TearDown();
  }
  static weft_unit_attr_t in(weft_pool_t pool) {
    weft_unit_attr_t attr = default_attr();
    attr.pool = pool;
    return attr;
  }

  weft_pool_t pools[3] = {};
  weft_pool_t first = nullptr;
  weft_pool_t lane = nullptr;
  weft_sched_t sched = nullptr;
  weft_sched_t old = nullptr;
};
INSTANTIATE_TEST_SUITE_P(LaneFirst, BasicTurns, testing::Bool());

// The first pool is never empty: a tasklet there makes its successor.
TEST_P(BasicTurns, ABusyPoolStarvesNobody) {
  bool stop = false;
  int made = 0;
  weft_unit_attr_t attr = in(first);
  Call busy([&] {
    if (stop) return;
    ++made;
    EXPECT_TRUE(ok(weft_tasklet_create(&Call::run, &busy, &attr, nullptr)));
  });
  EXPECT_TRUE(ok(weft_tasklet_create(&Call::run, &busy, &attr, nullptr)));
  int ran = 0;
  Call others([&] { ++ran; });
  const weft_unit_attr_t behind = in(pools[1]);
  const weft_unit_attr_t last = in(pools[2]);
  weft_unit_t units[] = {others.ult(&behind), others.ult(&last)};
  weft_unit_t self = weft_self();
  Call ends([&] {
    stop = true;
    EXPECT_TRUE(ok(weft_resume(self)));
  });
  weft_unit_t end = ends.ult(&last);  // behind the other one
  EXPECT_TRUE(ok(weft_suspend()));
  EXPECT_EQ(ran, 2);
  EXPECT_LT(made, 2000);
  EXPECT_TRUE(ok(weft_free_many(2, units)));
  EXPECT_TRUE(ok(weft_free(&end)));
}

// Who makes many units in a pool before its own finds nearly all of them run when its turn comes, however many they are.
TEST_P(BasicTurns, UnitsDoNotBecomeEverMore) {
  constexpr int kMany = 500;
  const weft_unit_attr_t attr = in(first);
  int ran = 0;
  int left = 0;
  Call work([&] { ++ran; });
  Call maker([&] {
    for (int i = 1; i <= 100; ++i) {
      for (int k = 0; k < kMany; ++k) EXPECT_TRUE(ok(weft_tasklet_create(&Call::run, &work, &attr, nullptr)));
      weft_yield();
      left = std::max(left, i * kMany - ran);
    }
  });
  const weft_unit_attr_t behind = in(pools[1]);
  weft_unit_t unit = maker.ult(&behind);
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_LE(left, 2 * kMany);
  EXPECT_TRUE(wait_until([&] { return ran == 100 * kMany; }));
}

}  // namespace
