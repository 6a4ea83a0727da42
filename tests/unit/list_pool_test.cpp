// List pools from inside: orders, claims, counts, one consumer and many producers.
#include "pool/list_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "support/bare_workers.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

constexpr weft_pool_kind_t kKinds[] = {WEFT_POOL_FIFO, WEFT_POOL_LIFO, WEFT_POOL_DEQUE,
                                       WEFT_POOL_PRIORITY};
constexpr weft_access_t kAccesses[] = {WEFT_ACCESS_PRIV, WEFT_ACCESS_SPSC, WEFT_ACCESS_SPMC,
                                       WEFT_ACCESS_MPSC, WEFT_ACCESS_MPMC};

// Units and workers that nothing runs.
struct Fixture {
  explicit Fixture(size_t n) : units(n) {
    for (unsigned i = 0; i < 3; ++i) workers[i].index = i;
    for (Unit& unit : units) unit.state.store(UnitState::kFresh);
  }
  Unit* unit(size_t i) { return &units[i]; }
  std::string name(const Unit* found) const {
    return found == nullptr ? "-" : std::to_string(found - units.data());
  }

  std::vector<Unit> units;
  const weft_test::BareWorkers<3> workers;
};

// Workers 0 and 1 have it among the pools of their main schedulers.
std::unique_ptr<Pool> make_pool(weft_pool_kind_t kind, weft_access_t access) {
  std::unique_ptr<Pool> pool(pool_create(kind, access));
  pool->consumers[0].store(0b011);
  return pool;
}

std::string drain(Fixture& f, Pool& pool, Worker* worker) {
  std::string order;
  while (Unit* unit = pool.pop(worker)) order += f.name(unit);
  return order;
}

using Parameter = std::tuple<weft_pool_kind_t, weft_access_t>;

class ListPoolTest : public testing::TestWithParam<Parameter> {
 protected:
  weft_pool_kind_t kind() const { return std::get<0>(GetParam()); }
  weft_access_t access() const { return std::get<1>(GetParam()); }
  bool shared() const { return access() == WEFT_ACCESS_SPMC || access() == WEFT_ACCESS_MPMC; }
  std::unique_ptr<Pool> make() const { return make_pool(kind(), access()); }
};

std::string parameter_name(const testing::TestParamInfo<Parameter>& info) {
  static const char* const kinds[] = {"Fifo", "Lifo", "Deque", "Priority"};
  static const char* const accesses[] = {"Priv", "Spsc", "Spmc", "Mpsc", "Mpmc"};
  return std::string(kinds[std::get<0>(info.param)]) + accesses[std::get<1>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(All, ListPoolTest,
                         testing::Combine(testing::ValuesIn(kKinds), testing::ValuesIn(kAccesses)),
                         parameter_name);

TEST_P(ListPoolTest, OrderOfOneWorker) {
  Fixture f(5);
  auto pool = make();
  Worker* me = &f.workers[0];
  EXPECT_EQ(pool->pop(me), nullptr);
  f.unit(3)->priority = 6;
  f.unit(1)->priority = 1;
  for (size_t i = 0; i < 5; ++i) {
    pool->push(me, f.unit(i));
    EXPECT_EQ(pool->size(), i + 1);
    EXPECT_TRUE(is_in(f.unit(i), pool.get()));
  }
  const char* const expected[] = {"01234", "43210", "43210", "30241"};
  EXPECT_EQ(drain(f, *pool, me), expected[kind()]);
  EXPECT_EQ(pool->size(), 0u);
  for (Unit& unit : f.units) {
    EXPECT_EQ(unit.inside.load(), 0u);
  }
}

// What others pushed keeps its place among what the consumer pushes.
TEST_P(ListPoolTest, OrderOfTwoPushers) {
  Fixture f(4);
  auto pool = make();
  Worker* me = &f.workers[0];
  EXPECT_EQ(pool->pop(me), nullptr);
  pool->push(me, f.unit(0));
  pool->push(&f.workers[1], f.unit(1));
  pool->push(nullptr, f.unit(2));
  EXPECT_EQ(pool->size(), 3u);
  pool->push(me, f.unit(3));
  // Deque: the newest is mine; the next one is not, so the oldest, and so on.
  const char* const expected[] = {"0123", "3210", "3012", "0123"};
  EXPECT_EQ(drain(f, *pool, me), expected[kind()]);
}

TEST_P(ListPoolTest, AYieldedUnitComesLast) {
  Fixture f(3);
  auto pool = make();
  Worker* me = &f.workers[0];
  EXPECT_EQ(pool->pop(me), nullptr);
  pool->push(me, f.unit(0));
  pool->push(me, f.unit(1));
  f.unit(2)->state.store(UnitState::kReady);
  pool->push(me, f.unit(2));
  const char* const expected[] = {"012", "102", "102", "012"};
  EXPECT_EQ(drain(f, *pool, me), expected[kind()]);
}

TEST_P(ListPoolTest, ClaimsFreshUnitsFromAnywhere) {
  Fixture f(5);
  auto pool = make();
  Worker* me = &f.workers[0];
  EXPECT_EQ(pool->pop(me), nullptr);
  for (size_t i = 0; i < 4; ++i) pool->push(me, f.unit(i));
  EXPECT_FALSE(pool->try_claim(me, f.unit(4))) << "it is not here";
  EXPECT_TRUE(pool->try_claim(me, f.unit(1)));
  EXPECT_FALSE(pool->try_claim(me, f.unit(1))) << "not twice";
  EXPECT_TRUE(pool->try_claim(me, f.unit(0)));
  EXPECT_TRUE(pool->try_claim(me, f.unit(3)));
  EXPECT_EQ(pool->size(), 1u);
  EXPECT_EQ(drain(f, *pool, me), "2");
}

TEST_P(ListPoolTest, ClaimsWhatAnotherPushed) {
  Fixture f(2);
  auto pool = make();
  Worker* me = &f.workers[0];
  EXPECT_EQ(pool->pop(me), nullptr);
  pool->push(&f.workers[1], f.unit(0));
  pool->push(&f.workers[1], f.unit(1));
  EXPECT_TRUE(pool->try_claim(me, f.unit(1)));
  EXPECT_EQ(pool->size(), 1u);
  EXPECT_FALSE(pool->try_claim(&f.workers[2], f.unit(0))) << "it does not pop from here";
  EXPECT_EQ(pool->try_claim(&f.workers[1], f.unit(0)), shared()) << "one consumer or several";
  EXPECT_EQ(drain(f, *pool, me), shared() ? "" : "0");
}

TEST_P(ListPoolTest, DoesNotClaimWhatHasRun) {
  Fixture f(1);
  auto pool = make();
  Worker* me = &f.workers[0];
  EXPECT_EQ(pool->pop(me), nullptr);
  f.unit(0)->state.store(UnitState::kReady);
  pool->push(me, f.unit(0));
  EXPECT_FALSE(pool->try_claim(me, f.unit(0)));
  EXPECT_EQ(pool->size(), 1u);
}

// The home is another pool by now, but the unit is where it was.
TEST_P(ListPoolTest, AMigratedUnitIsClaimedFromNeitherWrongList) {
  Fixture f(2);
  auto here = make();
  auto there = make();
  Worker* me = &f.workers[0];
  EXPECT_EQ(here->pop(me), nullptr);
  EXPECT_EQ(there->pop(me), nullptr);
  here->push(me, f.unit(0));
  there->push(me, f.unit(1));
  f.unit(0)->pool.store(there.get());
  EXPECT_FALSE(there->try_claim(me, f.unit(0)));
  EXPECT_EQ(here->pop(me), f.unit(0));
  EXPECT_EQ(there->pop(me), f.unit(1));
}

TEST_P(ListPoolTest, AnotherConsumerTakesOver) {
  Fixture f(3);
  auto pool = make();
  pool->push(&f.workers[0], f.unit(0));
  EXPECT_EQ(pool->pop(&f.workers[1]), f.unit(0));
  pool->push(&f.workers[1], f.unit(1));
  pool->push(&f.workers[0], f.unit(2));
  EXPECT_EQ(pool->size(), 2u);
  std::string all = drain(f, *pool, &f.workers[2]);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, "12");
}

TEST_P(ListPoolTest, ManyThreadsLoseNothing) {
  constexpr size_t kEach = 2000;
  constexpr size_t kPushers = 3;
  Fixture f(kEach * kPushers);
  auto pool = make();
  std::vector<std::atomic<int>> seen(f.units.size());
  std::atomic<size_t> popped{0};
  std::vector<std::thread> threads;
  for (size_t p = 0; p < kPushers; ++p) {
    threads.emplace_back([&, p] {
      for (size_t i = 0; i < kEach; ++i) pool->push(nullptr, f.unit(p * kEach + i));
    });
  }
  auto consume = [&](Worker* worker) {
    while (popped.load() < f.units.size()) {
      Unit* unit = pool->pop(worker);
      if (unit == nullptr) {
        std::this_thread::yield();
        continue;
      }
      seen[static_cast<size_t>(unit - f.units.data())].fetch_add(1);
      popped.fetch_add(1);
    }
  };
  const size_t consumers = shared() ? 3 : 1;
  for (size_t c = 0; c < consumers; ++c) threads.emplace_back(consume, &f.workers[c]);
  for (std::thread& thread : threads) thread.join();
  for (const auto& times : seen) EXPECT_EQ(times.load(), 1);
  EXPECT_EQ(pool->size(), 0u);
}

TEST(ListPoolDeque, OthersTakeTheOldest) {
  Fixture f(4);
  auto pool = make_pool(WEFT_POOL_DEQUE, WEFT_ACCESS_MPMC);
  for (size_t i = 0; i < 4; ++i) pool->push(&f.workers[0], f.unit(i));
  EXPECT_EQ(pool->pop(&f.workers[1]), f.unit(0));
  EXPECT_EQ(pool->pop(&f.workers[0]), f.unit(3));
  EXPECT_EQ(pool->pop(&f.workers[1]), f.unit(1));
  EXPECT_EQ(pool->pop(&f.workers[0]), f.unit(2));
}

TEST(ListPoolPriority, AClaimDoesNotOvertake) {
  Fixture f(2);
  auto pool = make_pool(WEFT_POOL_PRIORITY, WEFT_ACCESS_MPMC);
  f.unit(1)->priority = WEFT_PRIORITY_DEFAULT + 1;
  pool->push(&f.workers[0], f.unit(0));
  pool->push(&f.workers[0], f.unit(1));
  EXPECT_FALSE(pool->try_claim(&f.workers[0], f.unit(0)));
  EXPECT_TRUE(pool->try_claim(&f.workers[0], f.unit(1)));
  EXPECT_TRUE(pool->try_claim(&f.workers[0], f.unit(0)));
}

TEST(ListPoolPriority, APriorityMayChangeInside) {
  Fixture f(2);
  auto pool = make_pool(WEFT_POOL_PRIORITY, WEFT_ACCESS_PRIV);
  Worker* me = &f.workers[0];
  EXPECT_EQ(pool->pop(me), nullptr);
  pool->push(me, f.unit(0));
  f.unit(0)->priority = 0;
  EXPECT_TRUE(pool->try_claim(me, f.unit(0)));
  pool->push(me, f.unit(0));
  pool->push(me, f.unit(1));
  EXPECT_EQ(pool->pop(me), f.unit(1));
  EXPECT_EQ(pool->pop(me), f.unit(0));
  EXPECT_EQ(pool->pop(me), nullptr);
}

}  // namespace
}  // namespace weft::rt
