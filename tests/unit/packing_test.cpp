// Thread packing: fewer workers than there are. What the suspended ones had to run goes to the others; nothing is left
// behind; with the packing scheduler each pool gets the same.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "pool/pool.hpp"
#include "sched/packing.hpp"
#include "support/forked_child.hpp"
#include "support/preempting.hpp"
#include "worker/runtime.hpp"

namespace {

using namespace weft_test;
using std::chrono::milliseconds;

constexpr unsigned kAll = 4;

class Packing : public RuntimeTest {
 protected:
  Packing() : RuntimeTest(kAll) {}
};

unsigned here() { return weft_worker_index(weft_worker_self()); }

weft_unit_attr_t on_worker(unsigned index, bool pinned) {
  weft_unit_attr_t attr = default_attr();
  attr.worker = weft_worker_get(index);
  attr.pinned = pinned;
  return attr;
}

// Until the suspended workers sleep.
void settle(unsigned active) {
  ASSERT_TRUE(wait_until([&] {
    for (unsigned i = active; i < weft_worker_count(); ++i) {
      const auto* worker = reinterpret_cast<const weft::rt::Worker*>(weft_worker_get(i));
      if (worker->asleep.load() == weft::rt::Sleep::kAwake) return false;
    }
    return true;
  }));
}

TEST_F(Packing, CountsAndErrors) {
  EXPECT_EQ(weft_workers_active(), kAll);
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_workers_set_active(0)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_workers_set_active(kAll + 1)));
  for (unsigned n : {1u, 3u, 2u, kAll, 1u, kAll}) {
    EXPECT_TRUE(ok(weft_workers_set_active(n)));
    EXPECT_EQ(weft_workers_active(), n);
    EXPECT_EQ(weft_worker_count(), kAll);
  }
  in_tasklet([] { EXPECT_TRUE(ok(weft_workers_set_active(2))); });
  on_klt([] { EXPECT_TRUE(ok(weft_workers_set_active(3))); });
  EXPECT_EQ(weft_workers_active(), 3u);
}

TEST(PackingOutside, NeedsTheRuntime) {
  EXPECT_TRUE(fails(WEFT_ERR_UNINITIALIZED, weft_workers_set_active(1)));
  EXPECT_EQ(weft_workers_active(), 0u);
}

TEST_F(Packing, OnlyActiveWorkersRunWhatIsMade) {
  ASSERT_TRUE(ok(weft_workers_set_active(2)));
  settle(2);
  std::atomic<unsigned> wrong{0};
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  for (int i = 0; i < 200; ++i) {
    calls.push_back(std::make_unique<Call>([&] {
      for (int turn = 0; turn < 5; ++turn) {
        if (here() >= 2) ++wrong;
        weft_yield();
      }
    }));
    // Made for suspended workers too: a home is a preference.
    const weft_unit_attr_t attr = on_worker(static_cast<unsigned>(i) % kAll, false);
    units.push_back(calls.back()->ult(i % 2 == 0 ? &attr : nullptr));
  }
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  EXPECT_EQ(wrong, 0u);
}

// They yield all the time, on all workers, while the number of those changes.
TEST_F(Packing, UnitsThatYieldAreTakenOver) {
  std::atomic<bool> stop{false};
  std::atomic<unsigned> turns[16] = {};
  std::atomic<uint32_t> where[16] = {};
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  for (unsigned i = 0; i < 16; ++i) {
    calls.push_back(std::make_unique<Call>([&, i] {
      while (!stop) {
        ++turns[i];
        where[i] = here();
        weft_yield();
      }
    }));
    units.push_back(calls.back()->ult());
  }
  for (unsigned n : {1u, 3u, 2u, 4u, 1u, 2u}) {
    ASSERT_TRUE(ok(weft_workers_set_active(n)));
    settle(n);
    for (unsigned i = 0; i < 16; ++i) {
      const unsigned before = turns[i];
      ASSERT_TRUE(wait_until([&] { return turns[i] > before + 2; })) << "unit " << i << " with " << n;
      EXPECT_LT(where[i], n);
    }
  }
  stop = true;
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
}

TEST_F(Packing, PinnedUnitsGoOnWhereTheyBelong) {
  std::atomic<bool> stop{false};
  std::atomic<unsigned> turns{0}, wrong{0};
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  const auto add = [&] {
    for (unsigned i = 0; i < kAll; ++i) {
      calls.push_back(std::make_unique<Call>([&, i] {
        while (!stop) {
          if (here() != i) ++wrong;
          ++turns;
          weft_sleep(100'000);
          weft_yield();
        }
      }));
      const weft_unit_attr_t attr = on_worker(i, true);
      units.push_back(calls.back()->ult(&attr));
    }
  };
  add();
  ASSERT_TRUE(ok(weft_workers_set_active(1)));
  add();
  const unsigned before = turns;
  EXPECT_TRUE(wait_until([&] { return turns > before + 50; }));
  stop = true;
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  EXPECT_EQ(wrong, 0u);
}

// What waits on a suspended worker's own structures: a mutex that is biased to it, a deadline in its heap, a join.
TEST_F(Packing, WaitersAreWoken) {
  weft_mutex_t mutex = WEFT_MUTEX_INIT;
  weft_event_t event = WEFT_EVENT_INIT;
  std::atomic<unsigned> done{0};
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  for (unsigned i = 0; i < 4 * kAll; ++i) {
    calls.push_back(std::make_unique<Call>([&] {
      for (int turn = 0; turn < 100; ++turn) {
        weft_mutex_lock(&mutex);
        weft_yield();
        weft_mutex_unlock(&mutex);
      }
      weft_sleep(2'000'000);
      weft_event_wait(&event);
      ++done;
    }));
    const weft_unit_attr_t attr = on_worker(i % kAll, false);
    units.push_back(calls.back()->ult(&attr));
  }
  weft_yield();
  ASSERT_TRUE(ok(weft_workers_set_active(1)));
  weft_sleep(5'000'000);
  weft_event_set(&event);
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  EXPECT_EQ(done, 4 * kAll);
}

TEST_F(Packing, PoolsThatAnActiveWorkerServesAreTakenOverAndOthersAreNot) {
  weft_pool_t common = nullptr, own = nullptr;
  ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &common)));
  ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPSC, &own)));
  weft_sched_t scheds[2];
  weft_worker_t workers[2];
  ASSERT_TRUE(ok(weft_sched_create(WEFT_SCHED_BASIC, 1, &common, &scheds[0])));
  const weft_pool_t both[2] = {common, own};
  ASSERT_TRUE(ok(weft_sched_create(WEFT_SCHED_BASIC, 2, both, &scheds[1])));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(ok(weft_worker_create(scheds[i], &workers[i])));
  ASSERT_TRUE(ok(weft_workers_set_active(kAll + 1)));
  const unsigned last = weft_worker_index(workers[1]);
  std::atomic<unsigned> wrong{0};
  const auto run = [&](weft_pool_t pool, bool on_last) {
    Call call([&] {
      for (int turn = 0; turn < 10; ++turn) {
        if ((here() == last) != on_last) ++wrong;
        weft_yield();
      }
    });
    weft_unit_attr_t attr = default_attr();
    attr.pool = pool;
    std::vector<weft_unit_t> units;
    for (int i = 0; i < 20; ++i) units.push_back(call.ult(&attr));
    EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  };
  ASSERT_TRUE(wait_until([&] { return weft_pool_size(common) == 0; }));
  settle(kAll + 1);
  run(common, false);
  run(own, true);
  EXPECT_EQ(wrong, 0u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(ok(weft_worker_free(&workers[i])));
    EXPECT_TRUE(ok(weft_sched_free(&scheds[i])));
  }
  EXPECT_TRUE(ok(weft_pool_free(&common)));
  EXPECT_TRUE(ok(weft_pool_free(&own)));
  EXPECT_EQ(weft_workers_active(), kAll);
}

TEST_F(Packing, ASuspendedWorkerCanBeJoinedRevivedAndFreed) {
  SideWorker side;
  ASSERT_TRUE(ok(weft_workers_set_active(kAll)));
  EXPECT_EQ(weft_workers_active(), kAll);
  std::atomic<int> count{0};
  Call call([&] {
    weft_yield();
    ++count;
  });
  const weft_unit_attr_t attr = side.attr();
  std::vector<weft_unit_t> units;
  for (int i = 0; i < 100; ++i) units.push_back(call.ult(&attr));
  EXPECT_TRUE(ok(weft_worker_join(side.worker)));
  EXPECT_EQ(count, 100);
  EXPECT_EQ(weft_worker_count(), kAll);
  EXPECT_EQ(weft_workers_active(), kAll);
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  EXPECT_TRUE(ok(weft_worker_revive(side.worker)));
  EXPECT_EQ(weft_workers_active(), kAll + 1);
}

void run_user(weft_sched_t sched, void*) {
  weft_pool_t pool;
  weft_sched_pools(sched, 1, &pool);
  while (!weft_sched_should_stop(sched)) {
    if (weft_unit_t unit = weft_pool_pop(pool)) {
      weft_sched_run(sched, unit);
    } else {
      weft_sched_idle(sched);
    }
  }
}

TEST_F(Packing, ASchedulerOfTheUsersIsNotSuspended) {
  const weft_sched_ops_t ops{nullptr, nullptr, run_user};
  weft_sched_t sched;
  weft_worker_t worker;
  ASSERT_TRUE(ok(weft_sched_create_user(&ops, nullptr, 0, nullptr, &sched)));
  ASSERT_TRUE(ok(weft_worker_create(sched, &worker)));
  EXPECT_TRUE(fails(WEFT_ERR_STATE, weft_workers_set_active(2)));
  EXPECT_EQ(weft_workers_active(), kAll + 1);
  EXPECT_TRUE(ok(weft_worker_free(&worker)));
  EXPECT_TRUE(ok(weft_sched_free(&sched)));
  EXPECT_TRUE(ok(weft_workers_set_active(2)));
}

TEST_F(Packing, ForksAndLoopsUseTheActiveOnes) {
  ASSERT_TRUE(ok(weft_workers_set_active(2)));
  settle(2);
  std::atomic<unsigned> wrong{0}, sum{0};
  struct Both {
    std::atomic<unsigned>&wrong, &sum;
  } both{wrong, sum};
  const auto body = [](size_t first, size_t last, void* arg) {
    auto& to = *static_cast<Both*>(arg);
    if (here() >= 2) ++to.wrong;
    to.sum += static_cast<unsigned>(last - first);
  };
  for (int i = 0; i < 20; ++i) weft_parallel_for(0, 1000, 0, body, &both);
  EXPECT_EQ(sum, 20'000u);
  EXPECT_EQ(wrong, 0u);
}

TEST_F(Packing, AForkedChildHasOneActiveWorker) {
  ASSERT_TRUE(ok(weft_workers_set_active(2)));
  const int status = run_in_child([] {
    CHILD_CHECK(weft_workers_active() == 1 && weft_worker_count() == 1);
    CHILD_OK(weft_workers_set_active(1));
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(weft_workers_active(), 2u);
}

TEST_F(Packing, TheNumberChangesWhileEverythingMoves) {
  std::atomic<unsigned> ended{0};
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  weft_mutex_t mutex = WEFT_MUTEX_INIT;
  for (unsigned i = 0; i < 64; ++i) {
    calls.push_back(std::make_unique<Call>([&, i] {
      for (int turn = 0; turn < 50; ++turn) {
        switch ((i + static_cast<unsigned>(turn)) % 4) {
          case 0: weft_yield(); break;
          case 1: weft_sleep(10'000); break;
          case 2:
            weft_mutex_lock(&mutex);
            weft_yield();
            weft_mutex_unlock(&mutex);
            break;
          default: in_ult([] { weft_yield(); });
        }
      }
      ++ended;
    }));
    const weft_unit_attr_t attr = on_worker(i % kAll, i % 8 == 7);
    units.push_back(calls.back()->ult(&attr));
  }
  unsigned n = 1;
  while (ended < 64) {
    ASSERT_TRUE(ok(weft_workers_set_active(1 + n++ % kAll)));
    weft_sleep(200'000);
  }
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
}

// ---- with ticks

class PackingTicks : public PreemptingTest, public testing::WithParamInterface<Slicing> {
 protected:
  PackingTicks() : PreemptingTest(kAll, GetParam().mode, GetParam().kind) {}
};
INSTANTIATE_TEST_SUITE_P(
    All, PackingTicks,
    testing::Values(Slicing{WEFT_PREEMPTION_ON, WEFT_PREEMPTION_SIGNAL_YIELD, kAll},
                    Slicing{WEFT_PREEMPTION_ON, WEFT_PREEMPTION_KLT_SWITCHING, kAll},
                    Slicing{WEFT_PREEMPTION_AUTO, WEFT_PREEMPTION_SIGNAL_YIELD, kAll},
                    Slicing{WEFT_PREEMPTION_AUTO, WEFT_PREEMPTION_KLT_SWITCHING, kAll}),
    name_of);

// They never call Weft.
TEST_P(PackingTicks, WhoeverComputesIsTakenOver) {
  std::atomic<bool> stop{false};
  std::atomic<unsigned> turns[2 * kAll] = {};
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  for (unsigned i = 0; i < 2 * kAll; ++i) {
    calls.push_back(std::make_unique<Call>([&, i] {
      while (!stop.load(std::memory_order_relaxed)) {
        turns[i].fetch_add(1, std::memory_order_relaxed);
        spin_once();
      }
    }));
    units.push_back(calls.back()->ult());
  }
  for (unsigned n : {1u, 3u, 2u, kAll, 1u}) {
    ASSERT_TRUE(ok(weft_workers_set_active(n)));
    settle(n);
    for (unsigned i = 0; i < 2 * kAll; ++i) {
      const unsigned before = turns[i];
      ASSERT_TRUE(wait_until([&] { return turns[i] != before; })) << "unit " << i << " with " << n;
    }
  }
  stop = true;
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
}

TEST_P(PackingTicks, APinnedOneComputesWhereItBelongs) {
  std::atomic<bool> stop{false};
  std::atomic<unsigned> turns{0};
  Call call([&] {
    while (!stop.load(std::memory_order_relaxed)) {
      turns.fetch_add(1, std::memory_order_relaxed);
      spin_once();
    }
    EXPECT_EQ(here(), kAll - 1);
  });
  const weft_unit_attr_t attr = on_worker(kAll - 1, true);
  weft_unit_t unit = call.ult(&attr);
  ASSERT_TRUE(ok(weft_workers_set_active(1)));
  const unsigned before = turns;
  EXPECT_TRUE(wait_until([&] { return turns > before + 1000; }));
  stop = true;
  EXPECT_TRUE(ok(weft_free(&unit)));
}

// ---- a group of workers with the packing scheduler

class PackingGroup : public PreemptingTest, public testing::WithParamInterface<Slicing> {
 protected:
  PackingGroup() : PreemptingTest(1, GetParam().mode, GetParam().kind) {}
  void SetUp() override {
    PreemptingTest::SetUp();
    before_ = weft_worker_sched(weft_worker_get(0));
    for (weft_pool_t& pool : pools_) ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &pool)));
    for (unsigned i = 0; i < kAll; ++i) {
      weft_pool_t own_first[kAll];
      for (unsigned j = 0; j < kAll; ++j) own_first[j] = pools_[(i + j) % kAll];
      ASSERT_TRUE(ok(weft_sched_create(WEFT_SCHED_PACKING, kAll, own_first, &scheds_[i])));
      if (i != 0) {
        ASSERT_TRUE(ok(weft_worker_create(scheds_[i], &workers_[i])));
      }
    }
    ASSERT_TRUE(ok(weft_worker_set_sched(weft_worker_get(0), scheds_[0])));
  }
  void TearDown() override {
    EXPECT_TRUE(ok(weft_workers_set_active(1)));
    EXPECT_TRUE(wait_until([] { return here() == 0; }));  // main's pool is the group's as well
    EXPECT_TRUE(ok(weft_worker_set_sched(weft_worker_get(0), before_)));
    weft_yield();
    for (unsigned i = 1; i < kAll; ++i) EXPECT_TRUE(ok(weft_worker_free(&workers_[i])));
    for (weft_sched_t& sched : scheds_) EXPECT_TRUE(ok(weft_sched_free(&sched)));
    for (weft_pool_t& pool : pools_) EXPECT_TRUE(ok(weft_pool_free(&pool)));
    PreemptingTest::TearDown();
  }
  weft_pool_t pool(unsigned i) const { return pools_[i]; }

 private:
  weft_sched_t before_ = nullptr;
  weft_sched_t scheds_[kAll] = {};
  weft_pool_t pools_[kAll] = {};
  weft_worker_t workers_[kAll] = {};
};
INSTANTIATE_TEST_SUITE_P(
    All, PackingGroup,
    testing::Values(Slicing{WEFT_PREEMPTION_ON, WEFT_PREEMPTION_SIGNAL_YIELD, kAll},
                    Slicing{WEFT_PREEMPTION_ON, WEFT_PREEMPTION_KLT_SWITCHING, kAll},
                    Slicing{WEFT_PREEMPTION_AUTO, WEFT_PREEMPTION_SIGNAL_YIELD, kAll},
                    Slicing{WEFT_PREEMPTION_AUTO, WEFT_PREEMPTION_KLT_SWITCHING, kAll}),
    name_of);

// How many slices each pool has had since the number of workers last changed. Read by main on the only worker, so that nothing
// moves meanwhile but by its own preemption.
std::array<uint32_t, kAll> slices_of(const std::array<const weft::rt::Pool*, kAll>& pools) {
  const auto look = [&] {
    std::array<uint32_t, kAll> slices{};
    for (unsigned i = 0; i < kAll; ++i) {
      const uint64_t word = pools[i]->slices.load(std::memory_order_relaxed);
      if (static_cast<uint32_t>(word >> 32) == weft::rt::runtime.packing.load()) slices[i] = static_cast<uint32_t>(word);
    }
    return slices;
  };
  for (;;) {
    const auto once = look();
    if (once == look()) return once;
  }
}

// As wait_until(), and main is in nobody's way meanwhile.
template <class P>
bool sleep_until_it_holds(P condition) {
  const uint64_t end = weft_after(60'000'000'000);
  while (!condition()) {
    if (weft_now() > end) return false;
    weft_sleep(5'000'000);
  }
  return true;
}

// All get on, however few workers there are. On one each pool has had as many slices as any other, to within the bound on
// either side; how much of the time in a slice the kernel gives to other programs is the machine's affair.
TEST_P(PackingGroup, EqualUnitsMakeEqualProgressDownToOneWorker) {
  std::atomic<bool> stop{false};
  struct alignas(64) Progress {
    std::atomic<uint64_t> turns{0};
  } progress[kAll];
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  std::array<const weft::rt::Pool*, kAll> pools{};
  for (unsigned i = 0; i < kAll; ++i) {
    calls.push_back(std::make_unique<Call>([&, i] {
      while (!stop.load(std::memory_order_relaxed)) {
        progress[i].turns.fetch_add(1, std::memory_order_relaxed);
        spin_once();
      }
    }));
    pools[i] = reinterpret_cast<const weft::rt::Pool*>(pool(i));
    weft_unit_attr_t attr = default_attr();
    attr.pool = pool(i);
    units.push_back(calls.back()->ult(&attr));
  }
  for (unsigned n : {3u, 2u, 1u}) {
    ASSERT_TRUE(ok(weft_workers_set_active(n)));
    for (unsigned i = 0; i < kAll; ++i) {
      const uint64_t before = progress[i].turns;
      EXPECT_TRUE(sleep_until_it_holds([&] { return progress[i].turns > before; })) << "unit " << i << " on " << n;
    }
  }
  std::array<uint32_t, kAll> slices{};
  EXPECT_TRUE(sleep_until_it_holds([&] {
    slices = slices_of(pools);
    return *std::min_element(slices.begin(), slices.end()) >= 20;
  }));
  const auto [least, most] = std::minmax_element(slices.begin(), slices.end());
  EXPECT_LE(*most - *least, 2 * weft::rt::kPackingBound);
  stop = true;
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
}

// One pool is full, and its worker computes: no active worker idles meanwhile.
TEST_P(PackingGroup, WhoeverFindsNothingTakesFromOthers) {
  ASSERT_TRUE(ok(weft_workers_set_active(2)));
  std::atomic<bool> stop{false};
  std::atomic<unsigned> seen{0};
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  weft_unit_attr_t attr = default_attr();
  attr.pool = pool(1);
  for (unsigned i = 0; i < 4; ++i) {
    calls.push_back(std::make_unique<Call>([&] {
      while (!stop.load(std::memory_order_relaxed)) {
        seen.fetch_or(1u << here(), std::memory_order_relaxed);
        weft_yield();
      }
    }));
    units.push_back(calls.back()->ult(&attr));
  }
  EXPECT_TRUE(wait_until([&] { return (seen & 3) == 3; }));
  stop = true;
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
}

TEST(PackingSched, PoolsOfOneConsumerAreRefused) {
  weft_options_t options{};
  options.workers = 2;
  ASSERT_TRUE(ok(weft_initialize(&options)));
  weft_sched_t sched;
  weft_pool_t pools[2] = {weft_worker_pool(weft_worker_get(0)), nullptr};
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_sched_create(WEFT_SCHED_PACKING, 1, pools, &sched)));
  ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPSC, &pools[1])));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_sched_create(WEFT_SCHED_PACKING, 1, &pools[1], &sched)));
  EXPECT_TRUE(ok(weft_pool_free(&pools[1])));
  EXPECT_TRUE(ok(weft_finalize()));
}

}  // namespace
