// The packing scheduler as a policy: workers that nothing carries pick in the place of ticks. What each unit gets, for
// every number of workers.
#include "sched/packing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "support/bare_workers.hpp"
#include "worker/runtime.hpp"

namespace weft::rt {
namespace {

constexpr unsigned kMost = 28;

// `all` workers with a pool each and a unit that computes in each pool, the same in every interval: each worker puts
// back what it ran, and picks the next. Their ticks do not come at the same time.
class Group {
 public:
  Group(unsigned all, unsigned seed, bool shuffled = false)
      : all_(all), units_(all), got_(all), current_(all), random_(seed), shuffled_(shuffled) {
    for (unsigned i = 0; i < all; ++i) {
      workers_[i].index = i;
      workers_[i].state.store(WorkerState::kActive);
      pools_.emplace_back(pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC));
      units_[i].state.store(UnitState::kReady);
      order_.push_back(i);
    }
    for (unsigned i = 0; i < all; ++i) {
      std::vector<Pool*> pools;
      for (unsigned j = 0; j < all; ++j) pools.push_back(pools_[(i + j) % all].get());
      scheds_.push_back(sched_create(WEFT_SCHED_PACKING, all, pools.data()));
      pools[0]->begins(&workers_[i], true);
      pools[0]->push(nullptr, &units_[i]);
    }
    std::shuffle(order_.begin(), order_.end(), random_);
  }
  ~Group() {
    for (unsigned i = 0; i < all_; ++i) put_back(i);
    for (Sched* sched : scheds_) sched_destroy(sched);
  }

  void set_active(unsigned n) {
    active_ = n;
    for (unsigned i = 0; i < all_; ++i) {
      workers_[i].suspended.store(i >= n);
      if (i >= n) put_back(i);
    }
    runtime.packing.fetch_add(1);
  }

  // All active workers have a tick.
  void interval() {
    if (shuffled_) std::shuffle(order_.begin(), order_.end(), random_);
    for (unsigned i : order_) {
      if (i >= active_) continue;
      put_back(i);
      current_[i] = packing_pick(scheds_[i], &workers_[i]);
      if (current_[i] != nullptr) ++got_[index_of(current_[i])];
    }
  }

  // From its next tick on the unit is not there, until it is woken.
  void block(unsigned unit) { blocked_ = &units_[unit]; }
  void wake(unsigned unit) {
    if (std::exchange(gone_, false)) pools_[unit]->push(nullptr, &units_[unit]);
    blocked_ = nullptr;
  }

  const std::vector<unsigned>& got() const { return got_; }
  size_t running() const {
    return static_cast<size_t>(std::count_if(current_.begin(), current_.end(), [](Unit* u) { return u != nullptr; }));
  }

 private:
  size_t index_of(const Unit* unit) const { return static_cast<size_t>(unit - units_.data()); }
  void put_back(unsigned worker) {
    Unit* unit = std::exchange(current_[worker], nullptr);
    if (unit == nullptr) return;
    if (unit == blocked_) {
      gone_ = true;
    } else {
      pools_[index_of(unit)]->push(nullptr, unit);
    }
  }

  unsigned all_, active_ = 0;
  Unit* blocked_ = nullptr;
  bool gone_ = false;
  std::vector<Unit> units_;
  std::vector<unsigned> got_;
  std::vector<Unit*> current_;
  std::vector<unsigned> order_;
  std::minstd_rand random_;
  bool shuffled_;
  std::vector<std::unique_ptr<Pool>> pools_;
  std::vector<Sched*> scheds_;
  const weft_test::BareWorkers<kMost> workers_;
};

// The largest distance of any unit from its share over any stretch of intervals.
double unfairness(Group& group, unsigned all, unsigned active) {
  constexpr unsigned kIntervals = 500;
  std::vector<double> least(all, 0), most(all, 0);
  const std::vector<unsigned> before = group.got();
  double worst = 0;
  for (unsigned w = 1; w <= kIntervals; ++w) {
    group.interval();
    EXPECT_EQ(group.running(), active);
    for (unsigned i = 0; i < all; ++i) {
      const double ahead = group.got()[i] - before[i] - static_cast<double>(w) * active / all;
      worst = std::max({worst, ahead - least[i], most[i] - ahead});
      least[i] = std::min(least[i], ahead);
      most[i] = std::max(most[i], ahead);
    }
  }
  return worst;
}

class SchedPacking : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Workers, SchedPacking, testing::Values(1u, 2u, 3u, 4u, 5u, 7u, 8u, 12u, 28u));

TEST_P(SchedPacking, EachUnitGetsItsShareDownToOneWorker) {
  const unsigned all = GetParam();
  for (unsigned seed = 1; seed <= 3; ++seed) {
    Group group(all, seed);
    for (unsigned active = all; active >= 1; --active) {
      group.set_active(active);
      EXPECT_LE(unfairness(group, all, active), kPackingBound) << active << " of " << all << " workers";
    }
    for (unsigned active = 2; active <= all; active += 3) {
      group.set_active(active);
      EXPECT_LE(unfairness(group, all, active), kPackingBound) << "back to " << active << " of " << all;
    }
  }
}

// A pool that was empty for long is not run until it has caught up with the others.
TEST_P(SchedPacking, WhoeverWaitedDoesNotKeepTheOthersFromRunning) {
  const unsigned all = GetParam();
  Group group(all, 1);
  for (unsigned active = 1; active <= all; ++active) {
    group.set_active(active);
    group.interval();
    group.block(all - 1);
    for (int i = 0; i < 1000; ++i) group.interval();
    group.wake(all - 1);
    EXPECT_LE(unfairness(group, all, active), kPackingBound + kPackingBacklog) << active << " of " << all;
  }
}

// Where the ticks come in another order each time, a shared unit may be put back just behind the one that wanted it. It
// catches up.
TEST_P(SchedPacking, WhatIsMissedIsMadeUpFor) {
  const unsigned all = GetParam();
  Group group(all, 1, true);
  for (unsigned active = all; active >= 1; --active) {
    group.set_active(active);
    EXPECT_LE(unfairness(group, all, active), kPackingBacklog) << active << " of " << all << " workers";
  }
}

}  // namespace
}  // namespace weft::rt
