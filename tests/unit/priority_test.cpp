// Priorities with preemption: a unit of higher priority gets a worker at the next tick, and nobody of lower priority takes
// it away again.
#include <memory>
#include <vector>

#include "support/preempting.hpp"

namespace {

using namespace weft_test;

// How a program may order its units.
enum class Order {
  kLevels,  // one pool of kind PRIORITY, under BASIC
  kPools,   // a pool each for high and low, under the PRIORITY scheduler
};

struct Case {
  Slicing slicing;
  Order order;
};

std::string case_name(const testing::TestParamInfo<Case>& info) {
  const testing::TestParamInfo<Slicing> slicing(info.param.slicing, info.index);
  return name_of(slicing) + (info.param.order == Order::kLevels ? "Levels" : "Pools");
}

// A worker of its own that runs what is ordered; main is on another one.
class Priority : public PreemptingTest, public testing::WithParamInterface<Case> {
 protected:
  Priority() : PreemptingTest(1, GetParam().slicing.mode, GetParam().slicing.kind) {}
  void SetUp() override {
    PreemptingTest::SetUp();
    const bool levels = GetParam().order == Order::kLevels;
    const weft_pool_kind_t kind = levels ? WEFT_POOL_PRIORITY : WEFT_POOL_FIFO;
    for (weft_pool_t& pool : pools_) ASSERT_TRUE(ok(weft_pool_create(kind, WEFT_ACCESS_MPMC, &pool)));
    const weft_sched_kind_t sched = levels ? WEFT_SCHED_BASIC : WEFT_SCHED_PRIORITY;
    ASSERT_TRUE(ok(weft_sched_create(sched, levels ? 1 : 2, pools_, &sched_)));
    ASSERT_TRUE(ok(weft_worker_create(sched_, &worker_)));
  }
  void TearDown() override {
    EXPECT_TRUE(ok(weft_worker_free(&worker_)));
    EXPECT_TRUE(ok(weft_sched_free(&sched_)));
    for (weft_pool_t& pool : pools_) EXPECT_TRUE(ok(weft_pool_free(&pool)));
    PreemptingTest::TearDown();
  }
  weft_unit_attr_t attr(bool high) const {
    weft_unit_attr_t attr = default_attr();
    const bool levels = GetParam().order == Order::kLevels;
    attr.pool = pools_[levels || high ? 0 : 1];
    if (levels) attr.priority = high ? 6 : 2;
    return attr;
  }
  weft_worker_t worker() const { return worker_; }

 private:
  weft_pool_t pools_[2] = {};
  weft_sched_t sched_ = nullptr;
  weft_worker_t worker_ = nullptr;
};

Case with(weft_preemption_mode_t mode, weft_preemption_t kind, Order order) { return {{mode, kind, 1}, order}; }

INSTANTIATE_TEST_SUITE_P(
    All, Priority,
    testing::Values(with(WEFT_PREEMPTION_ON, WEFT_PREEMPTION_SIGNAL_YIELD, Order::kLevels),
                    with(WEFT_PREEMPTION_ON, WEFT_PREEMPTION_KLT_SWITCHING, Order::kPools),
                    with(WEFT_PREEMPTION_AUTO, WEFT_PREEMPTION_SIGNAL_YIELD, Order::kPools),
                    with(WEFT_PREEMPTION_AUTO, WEFT_PREEMPTION_KLT_SWITCHING, Order::kLevels)),
    case_name);

// Two low ones take turns for ever; each high one is run all the same, and to its end.
TEST_P(Priority, AHigherOneComesAtTheNextTick) {
  std::atomic<bool> stop{false};
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  const weft_unit_attr_t low = attr(false), high = attr(true);
  for (int i = 0; i < 2; ++i) {
    calls.push_back(std::make_unique<Call>([&] { spin_until(stop); }));
    units.push_back(calls.back()->ult(&low));
  }
  for (int i = 0; i < 20; ++i) {
    std::atomic<bool> ran{false};
    Call call([&] { ran = true; });
    weft_unit_t unit = call.ult(&high);
    EXPECT_TRUE(wait_until([&] { return ran.load(); }));
    EXPECT_TRUE(ok(weft_free(&unit)));
  }
  stop = true;
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
}

TEST_P(Priority, ALowerOneDoesNotTakeItsPlace) {
  std::atomic<bool> high_runs{false}, low_wait{false};
  std::atomic<unsigned> low_ran{0}, low_ran_between{0};
  const weft_unit_attr_t low = attr(false), high = attr(true);
  Call busy([&] {
    high_runs = true;
    spin_until(low_wait);
    spin_for(std::chrono::milliseconds(30));
    low_ran_between = low_ran.load();
  });
  Call others([&] { ++low_ran; });
  weft_unit_t first = busy.ult(&high);
  ASSERT_TRUE(wait_until([&] { return high_runs.load(); }));
  std::vector<weft_unit_t> units;
  for (int i = 0; i < 5; ++i) units.push_back(others.ult(&low));
  low_wait = true;
  EXPECT_TRUE(ok(weft_free(&first)));
  EXPECT_EQ(low_ran_between, 0u);
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  EXPECT_EQ(low_ran, 5u);
}

// It was not preempted in order to be taken up again at once.
TEST_P(Priority, NorDoesItCostAnything) {
  const weft_unit_attr_t low = attr(false), high = attr(true);
  std::atomic<bool> started{false}, stop{false};
  Call busy([&] {
    started = true;
    spin_until(stop);
  });
  Call other([] {});
  weft_unit_t first = busy.ult(&high);
  ASSERT_TRUE(wait_until([&] { return started.load(); }));
  weft_unit_t second = other.ult(&low);
  weft_worker_stats_t before{}, after{};
  EXPECT_TRUE(ok(weft_worker_stats(worker(), &before)));
  weft_sleep(20'000'000);
  EXPECT_TRUE(ok(weft_worker_stats(worker(), &after)));
  EXPECT_EQ(after.switches, before.switches);
  EXPECT_EQ(after.handovers, before.handovers);
  stop = true;
  EXPECT_TRUE(ok(weft_free(&first)));
  EXPECT_TRUE(ok(weft_free(&second)));
}

TEST_P(Priority, EqualsTakeTurns) {
  std::atomic<unsigned> turn{0};
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  const weft_unit_attr_t high = attr(true);
  for (unsigned i = 0; i < 3; ++i) {
    calls.push_back(std::make_unique<Call>([&, i] {
      for (unsigned round = 0; round < 4; ++round) {
        while (turn.load(std::memory_order_relaxed) != 3 * round + i) spin_once();
        turn.store(3 * round + i + 1, std::memory_order_relaxed);
      }
    }));
    units.push_back(calls.back()->ult(&high));
  }
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  EXPECT_EQ(turn, 12u);
}

}  // namespace
