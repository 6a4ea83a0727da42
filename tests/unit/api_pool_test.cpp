// Pools: every kind with every access class, and user-defined ones.
#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "support/runtime_fixture.hpp"
#include "support/user_pool.hpp"

namespace {

using namespace weft_test;

constexpr weft_pool_kind_t kKinds[] = {WEFT_POOL_FIFO, WEFT_POOL_LIFO, WEFT_POOL_DEQUE,
                                       WEFT_POOL_PRIORITY};
constexpr weft_access_t kAccesses[] = {WEFT_ACCESS_PRIV, WEFT_ACCESS_SPSC, WEFT_ACCESS_SPMC,
                                       WEFT_ACCESS_MPSC, WEFT_ACCESS_MPMC};

class ApiPool : public RuntimeTest,
                public testing::WithParamInterface<std::tuple<weft_pool_kind_t, weft_access_t>> {
 protected:
  weft_pool_kind_t kind() const { return std::get<0>(GetParam()); }
  weft_access_t access() const { return std::get<1>(GetParam()); }

  // Hands a unit that was popped to the caller's worker, joins and frees it.
  static void finish(weft_unit_t unit) {
    const weft_pool_t here = weft_worker_pool(weft_worker_self());
    EXPECT_TRUE(ok(weft_migrate(unit, here)));
    EXPECT_TRUE(ok(weft_pool_push(here, unit)));
    EXPECT_TRUE(ok(weft_free(&unit)));
  }
};

std::string name_of(const testing::TestParamInfo<ApiPool::ParamType>& info) {
  static const char* const kinds[] = {"Fifo", "Lifo", "Deque", "Priority"};
  static const char* const accesses[] = {"Priv", "Spsc", "Spmc", "Mpsc", "Mpmc"};
  return std::string(kinds[std::get<0>(info.param)]) + accesses[std::get<1>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(All, ApiPool,
                         testing::Combine(testing::ValuesIn(kKinds), testing::ValuesIn(kAccesses)),
                         name_of);

TEST_P(ApiPool, OrderOfItsKind) {
  constexpr int kUnits = 200;
  weft_pool_t pool = nullptr;
  ASSERT_TRUE(ok(weft_pool_create(kind(), access(), &pool)));
  EXPECT_EQ(weft_pool_size(pool), 0u);
  EXPECT_EQ(weft_pool_pop(pool), nullptr);
  Call call([] {});
  weft_unit_attr_t attr = default_attr();
  attr.pool = pool;
  std::vector<weft_unit_t> units;
  for (int i = 0; i < kUnits; ++i) {
    attr.priority = (i * 5) % WEFT_PRIORITIES;
    units.push_back(i % 2 ? call.ult(&attr) : call.tasklet(&attr));
    EXPECT_EQ(weft_pool_size(pool), units.size());
  }
  std::vector<weft_unit_t> expected = units;
  if (kind() == WEFT_POOL_LIFO || kind() == WEFT_POOL_DEQUE) {
    expected.assign(units.rbegin(), units.rend());
  } else if (kind() == WEFT_POOL_PRIORITY) {
    expected.clear();
    for (int priority = WEFT_PRIORITIES - 1; priority >= 0; --priority) {
      std::copy_if(units.begin(), units.end(), std::back_inserter(expected),
                   [&](weft_unit_t u) { return weft_unit_priority(u) == priority; });
    }
  }
  for (int i = 0; i < kUnits; ++i) {
    const weft_unit_t popped = weft_pool_pop(pool);
    ASSERT_EQ(popped, expected[static_cast<size_t>(i)]) << i;
    finish(popped);
  }
  EXPECT_EQ(weft_pool_pop(pool), nullptr);
  EXPECT_EQ(weft_pool_size(pool), 0u);
  EXPECT_TRUE(ok(weft_pool_free(&pool)));
  EXPECT_EQ(pool, nullptr);
}

TEST_P(ApiPool, PushAndPopInterleaved) {
  weft_pool_t pool = nullptr;
  ASSERT_TRUE(ok(weft_pool_create(kind(), access(), &pool)));
  Call call([] {});
  weft_unit_attr_t attr = default_attr();
  attr.pool = pool;
  size_t in_pool = 0;
  for (int round = 0; round < 300; ++round) {
    for (int k = 0; k < round % 7; ++k) {
      call.ult(&attr);
      ++in_pool;
    }
    for (int k = 0; k < round % 5 && in_pool > 0; ++k) {
      const weft_unit_t unit = weft_pool_pop(pool);
      ASSERT_NE(unit, nullptr);
      finish(unit);
      --in_pool;
    }
    ASSERT_EQ(weft_pool_size(pool), in_pool);
  }
  while (weft_unit_t unit = weft_pool_pop(pool)) {
    finish(unit);
    --in_pool;
  }
  EXPECT_EQ(in_pool, 0u);
  EXPECT_TRUE(ok(weft_pool_free(&pool)));
}

// One worker creates, runs and joins in its pool, which every access class allows.
TEST_P(ApiPool, AWorkerUsesItAlone) {
  weft_pool_t pools[2] = {};
  ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &pools[0])));
  ASSERT_TRUE(ok(weft_pool_create(kind(), access(), &pools[1])));
  weft_sched_t sched = nullptr;
  ASSERT_TRUE(ok(weft_sched_create(WEFT_SCHED_BASIC, 2, pools, &sched)));
  weft_worker_t worker = nullptr;
  ASSERT_TRUE(ok(weft_worker_create(sched, &worker)));
  std::atomic<int> count = 0;
  Call child([&] {
    EXPECT_EQ(weft_worker_self(), worker);
    weft_yield();
    ++count;
  });
  weft_unit_attr_t attr = default_attr();
  attr.pool = pools[0];
  in_ult(
      [&] {
        weft_unit_attr_t inner = default_attr();
        inner.pool = pools[1];
        for (const bool newest_first : {false, true}) {
          std::vector<weft_unit_t> units;
          for (int i = 0; i < 300; ++i) {
            units.push_back(child.ult(&inner));
          }
          if (newest_first) {
            std::reverse(units.begin(), units.end());
          }
          EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
        }
      },
      &attr);
  EXPECT_EQ(count, 600);
  EXPECT_TRUE(ok(weft_worker_free(&worker)));
  EXPECT_TRUE(ok(weft_sched_free(&sched)));
  EXPECT_TRUE(ok(weft_pool_free(&pools[0])));
  EXPECT_TRUE(ok(weft_pool_free(&pools[1])));
}

// The primary ULT pushes, another worker pops: all but PRIV allow that.
TEST_P(ApiPool, OneProducerAndAnotherConsumer) {
  if (access() == WEFT_ACCESS_PRIV) {
    GTEST_SKIP() << "a private pool has one user";
  }
  SideWorker side(WEFT_SCHED_BASIC, kind(), access());
  const weft_unit_attr_t attr = side.attr();
  std::atomic<int> count = 0;
  Call call([&] {
    EXPECT_EQ(weft_worker_self(), side.worker);
    ++count;
  });
  std::vector<weft_unit_t> units;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 100; ++i) {
      units.push_back(i % 3 ? call.ult(&attr) : call.tasklet(&attr));
    }
    EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
    units.clear();
  }
  EXPECT_EQ(count, 2000);
}

// Several consumers, and several producers where the class allows them.
TEST_P(ApiPool, SeveralUsersLoseNoUnit) {
  const bool producers = access() == WEFT_ACCESS_MPMC || access() == WEFT_ACCESS_MPSC;
  const bool consumers = access() == WEFT_ACCESS_MPMC || access() == WEFT_ACCESS_SPMC;
  if (!producers && !consumers) {
    GTEST_SKIP() << "one producer and one consumer";
  }
  constexpr int kWorkers = 3;
  const int used = consumers ? kWorkers : 1;
  weft_pool_t pool = nullptr;
  ASSERT_TRUE(ok(weft_pool_create(kind(), access(), &pool)));
  weft_sched_t scheds[kWorkers] = {};
  weft_worker_t workers[kWorkers] = {};
  for (int i = 0; i < used; ++i) {
    ASSERT_TRUE(ok(weft_sched_create(WEFT_SCHED_BASIC, 1, &pool, &scheds[i])));
    ASSERT_TRUE(ok(weft_worker_create(scheds[i], &workers[i])));
  }
  std::atomic<int> count = 0;
  Call call([&] {
    if (producers) {
      weft_yield();  // pushes from a consumer
    }
    ++count;
  });
  weft_unit_attr_t attr = default_attr();
  attr.pool = pool;
  auto produce = [&] {
    for (int round = 0; round < 20; ++round) {
      std::vector<weft_unit_t> units;
      for (int i = 0; i < 100; ++i) {
        units.push_back(call.ult(&attr));
      }
      EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
    }
  };
  if (producers) {
    std::vector<std::unique_ptr<Call>> calls;
    std::vector<weft_unit_t> units;
    for (int i = 0; i < 4; ++i) {
      calls.push_back(std::make_unique<Call>(produce));
      units.push_back(calls.back()->ult());
    }
    on_klt(produce);
    EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
    EXPECT_EQ(count, 10000);
  } else {
    produce();
    EXPECT_EQ(count, 2000);
  }
  for (int i = 0; i < used; ++i) {
    EXPECT_TRUE(ok(weft_worker_free(&workers[i])));
    EXPECT_TRUE(ok(weft_sched_free(&scheds[i])));
  }
  EXPECT_TRUE(ok(weft_pool_free(&pool)));
}

class ApiPoolMisuse : public RuntimeTest {};

TEST_F(ApiPoolMisuse, AThiefTakesTheOldestOfADeque) {
  weft_pool_t pool = nullptr;
  ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_DEQUE, WEFT_ACCESS_MPMC, &pool)));
  weft_unit_attr_t attr = default_attr();
  attr.pool = pool;
  Call call([] {});
  weft_unit_t units[3] = {call.ult(&attr), call.ult(&attr), call.ult(&attr)};
  weft_unit_t stolen = nullptr;
  weft_unit_attr_t other = default_attr();
  other.worker = weft_worker_get(1);
  other.pinned = true;
  in_ult([&] { stolen = weft_pool_pop(pool); }, &other);
  EXPECT_EQ(stolen, units[0]);
  EXPECT_EQ(weft_pool_pop(pool), units[2]);
  EXPECT_EQ(weft_pool_pop(pool), units[1]);
  const weft_pool_t here = weft_worker_pool(weft_worker_self());
  for (weft_unit_t unit : units) {
    EXPECT_TRUE(ok(weft_migrate(unit, here)));
    EXPECT_TRUE(ok(weft_pool_push(here, unit)));
  }
  EXPECT_TRUE(ok(weft_free_many(3, units)));
  EXPECT_TRUE(ok(weft_pool_free(&pool)));
}

TEST_F(ApiPoolMisuse, APoolInUseIsNotFreed) {
  weft_pool_t pool = nullptr;
  ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &pool)));
  weft_unit_attr_t attr = default_attr();
  attr.pool = pool;
  Call call([] {});
  weft_unit_t unit = call.ult(&attr);
  EXPECT_TRUE(fails(WEFT_ERR_STATE, weft_pool_free(&pool)));
  ASSERT_NE(pool, nullptr);
  ASSERT_EQ(weft_pool_pop(pool), unit);
  const weft_pool_t here = weft_worker_pool(weft_worker_self());
  EXPECT_TRUE(ok(weft_migrate(unit, here)));
  EXPECT_TRUE(ok(weft_pool_push(here, unit)));
  EXPECT_TRUE(ok(weft_free(&unit)));
  weft_sched_t sched = nullptr;
  ASSERT_TRUE(ok(weft_sched_create(WEFT_SCHED_BASIC, 1, &pool, &sched)));
  EXPECT_TRUE(fails(WEFT_ERR_STATE, weft_pool_free(&pool)));
  EXPECT_TRUE(ok(weft_sched_free(&sched)));
  EXPECT_TRUE(ok(weft_pool_free(&pool)));
}

TEST_F(ApiPoolMisuse, ArgumentsAreChecked) {
  weft_pool_t pool = nullptr;
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, nullptr)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID,
                    weft_pool_create(static_cast<weft_pool_kind_t>(99), WEFT_ACCESS_MPMC, &pool)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID,
                    weft_pool_create(WEFT_POOL_FIFO, static_cast<weft_access_t>(99), &pool)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_pool_create_user(nullptr, nullptr, &pool)));
  const weft_pool_ops_t empty{};
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_pool_create_user(&empty, nullptr, &pool)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_pool_free(nullptr)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_pool_free(&pool)));
  EXPECT_EQ(weft_pool_size(nullptr), 0u);
  EXPECT_EQ(weft_pool_pop(nullptr), nullptr);
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_pool_push(nullptr, weft_self())));
  EXPECT_TRUE(
      fails(WEFT_ERR_INVALID, weft_pool_push(weft_worker_pool(weft_worker_self()), nullptr)));
}

// ---- a user-defined pool

class ApiPoolUser : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, ApiPoolUser, kWorkerCounts);

TEST_P(ApiPoolUser, ItsCallbacksAreUsed) {
  UserPool mine;
  const weft_pool_ops_t ops = UserPool::ops();
  weft_pool_t pool = nullptr;
  ASSERT_TRUE(ok(weft_pool_create_user(&ops, &mine, &pool)));
  EXPECT_EQ(mine.creates, 1);
  weft_unit_attr_t attr = default_attr();
  attr.pool = pool;
  Call call([] {});
  weft_unit_t a = call.ult(&attr);
  weft_unit_t b = call.tasklet(&attr);
  EXPECT_EQ(weft_pool_size(pool), 2u);
  EXPECT_EQ(mine.pushes, 2);
  EXPECT_EQ(weft_pool_pop(pool), b);
  EXPECT_EQ(weft_pool_pop(pool), a);
  EXPECT_EQ(weft_pool_pop(pool), nullptr);
  EXPECT_TRUE(ok(weft_pool_push(pool, a)));
  EXPECT_TRUE(ok(weft_pool_push(pool, b)));
  weft_sched_t sched = nullptr;
  weft_worker_t worker = nullptr;
  ASSERT_TRUE(ok(weft_sched_create(WEFT_SCHED_BASIC, 1, &pool, &sched)));
  ASSERT_TRUE(ok(weft_worker_create(sched, &worker)));
  EXPECT_TRUE(ok(weft_free(&a)));
  EXPECT_TRUE(ok(weft_free(&b)));
  EXPECT_TRUE(ok(weft_worker_free(&worker)));
  EXPECT_TRUE(ok(weft_sched_free(&sched)));
  EXPECT_TRUE(ok(weft_pool_free(&pool)));
  EXPECT_EQ(mine.frees, 1);
  EXPECT_EQ(mine.pushes, 4);
  EXPECT_EQ(mine.pops, 4);
}

// What wakes a joiner of a worker has no worker any more when it calls the pool.
TEST_P(ApiPoolUser, AUltOfItJoinsAWorker) {
  UserPool mine;
  weft_pool_ops_t ops = UserPool::ops();
  static std::atomic<int> inside, outside;
  inside = outside = 0;
  ops.push = [](void* self, weft_unit_t unit) {
    ++(weft_worker_self() != nullptr ? inside : outside);
    UserPool::ops().push(self, unit);
  };
  weft_pool_t pool = nullptr;
  ASSERT_TRUE(ok(weft_pool_create_user(&ops, &mine, &pool)));
  weft_sched_t sched = nullptr;
  weft_worker_t worker = nullptr;
  ASSERT_TRUE(ok(weft_sched_create(WEFT_SCHED_BASIC, 1, &pool, &sched)));
  ASSERT_TRUE(ok(weft_worker_create(sched, &worker)));
  weft_unit_attr_t attr = default_attr();
  attr.pool = pool;
  in_ult(
      [] {
        for (int i = 0; i < 20; ++i) {
          SideWorker side;
          const weft_unit_attr_t there = side.attr();
          Call call([] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
          weft_unit_t unit = call.ult(&there);
          EXPECT_TRUE(ok(weft_worker_join(side.worker)));
          EXPECT_TRUE(ok(weft_free(&unit)));
        }
      },
      &attr);
  EXPECT_GE(outside, 1);
  EXPECT_TRUE(ok(weft_worker_free(&worker)));
  EXPECT_TRUE(ok(weft_sched_free(&sched)));
  EXPECT_TRUE(ok(weft_pool_free(&pool)));
}

TEST_P(ApiPoolUser, UnitsThatYieldSuspendAndJoinInIt) {
  UserPool mine;
  weft_pool_ops_t ops = UserPool::ops();
  ops.create = nullptr;  // then `self` is arg
  ops.free = nullptr;
  weft_pool_t pool = nullptr;
  ASSERT_TRUE(ok(weft_pool_create_user(&ops, &mine, &pool)));
  weft_sched_t scheds[2] = {};
  weft_worker_t workers[2] = {};
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(ok(weft_sched_create(WEFT_SCHED_BASIC, 1, &pool, &scheds[i])));
    ASSERT_TRUE(ok(weft_worker_create(scheds[i], &workers[i])));
  }
  weft_unit_attr_t attr = default_attr();
  attr.pool = pool;
  std::atomic<int> count = 0;
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  for (int i = 0; i < 200; ++i) {
    calls.push_back(std::make_unique<Call>([&, attr] {
      weft_yield();
      Call child([&] {
        weft_yield();
        ++count;
      });
      weft_unit_t u = child.ult(&attr);
      EXPECT_TRUE(ok(weft_free(&u)));
    }));
    units.push_back(calls.back()->ult(&attr));
  }
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  EXPECT_EQ(count, 200);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(ok(weft_worker_free(&workers[i])));
    EXPECT_TRUE(ok(weft_sched_free(&scheds[i])));
  }
  EXPECT_TRUE(ok(weft_pool_free(&pool)));
  EXPECT_TRUE(mine.units.empty());
}

}  // namespace
