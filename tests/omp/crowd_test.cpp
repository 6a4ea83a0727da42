// When regions that several of the program's own threads have open count as too many threads, and where their threads run then.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "barrier.hpp"
#include "crowd.hpp"
#include "icv.hpp"
#include "omp/in_parallel.hpp"
#include "runtime.hpp"
#include "wait.hpp"

namespace {

using namespace weft::omp;

constexpr uint64_t kWindow = Crowd::kWindowNs;
constexpr uint64_t kStart = 100 * kWindow;

struct Root {
  uint64_t window = 0;
  Crowd::Ended ended;

  bool begins(Crowd& crowd, int n, uint64_t now) {
    ended = {};
    return crowd.begins(window, n, 3, now, ended);
  }
};

TEST(OmpCrowd, ThereIsNoneWithoutThreadsOfTheProgramsOwn) {
  Crowd crowd;
  EXPECT_FALSE(crowd.possible());
  crowd.comes();
  crowd.comes();
  EXPECT_TRUE(crowd.possible());
  crowd.goes();
  EXPECT_TRUE(crowd.possible());
  crowd.forget(0);
  EXPECT_FALSE(crowd.possible());
}

TEST(OmpCrowd, UltsCountAsOneRoot) {
  Crowd crowd;
  crowd.ult_opens();
  crowd.ult_opens();
  EXPECT_FALSE(crowd.has_several_roots());
  crowd.comes();
  EXPECT_TRUE(crowd.has_several_roots());
  crowd.goes();
  EXPECT_FALSE(crowd.has_several_roots());
}

TEST(OmpCrowd, HowLongToLookIsSaidForOneRoot) {
  const auto say = [](int64_t microseconds) { std::atomic_ref(device().spin_us).store(microseconds, std::memory_order_relaxed); };
  const int64_t before = device().spin_us;
  const unsigned by_itself = rounds_of_team(2, 2, 1);
  say(200'000);
  const unsigned longer = rounds_of_team(2, 2, 1);
  EXPECT_GT(longer, by_itself);
  EXPECT_FALSE(nobody_says_how_to_wait());
  crowd_comes();
  crowd_comes();
  EXPECT_EQ(rounds_of_team(2, 2, 1), by_itself);
  EXPECT_TRUE(nobody_says_how_to_wait());
  say(1);
  EXPECT_LT(rounds_of_team(2, 2, 1), by_itself);
  EXPECT_FALSE(nobody_says_how_to_wait());
  say(200'000);
  crowd_goes();
  crowd_goes();
  EXPECT_EQ(rounds_of_team(2, 2, 1), longer);
  say(before);
}

TEST(OmpCrowd, RegionsOfTheSameTimeCountTogether) {
  Crowd crowd;
  Root first, second;
  EXPECT_FALSE(first.begins(crowd, 2, kStart));
  EXPECT_TRUE(second.begins(crowd, 2, kStart + 1));
  EXPECT_TRUE(first.begins(crowd, 2, kStart + 2));
}

TEST(OmpCrowd, OneRootCountsOnceHoweverManyRegionsItOpens) {
  Crowd crowd;
  Root root;
  for (uint64_t i = 0; i < 10; ++i) EXPECT_FALSE(root.begins(crowd, 2, kStart + i * kWindow / 4));
}

TEST(OmpCrowd, RegionsOfTheWindowBeforeCountToo) {
  Crowd crowd;
  Root first, second;
  EXPECT_FALSE(first.begins(crowd, 2, kStart));
  EXPECT_TRUE(second.begins(crowd, 2, kStart));
  EXPECT_TRUE(first.begins(crowd, 2, kStart + kWindow));
}

TEST(OmpCrowd, WhatWasLongAgoIsForgotten) {
  Crowd crowd;
  Root first, second;
  EXPECT_FALSE(first.begins(crowd, 2, kStart));
  EXPECT_TRUE(second.begins(crowd, 2, kStart));
  EXPECT_FALSE(first.begins(crowd, 2, kStart + 2 * kWindow));
  EXPECT_FALSE(first.begins(crowd, 2, kStart + 3 * kWindow));
}

TEST(OmpCrowd, TheFirstOneOfAWindowIsToldOfTheLast) {
  Crowd crowd;
  Root first, second;
  first.begins(crowd, 2, kStart);
  EXPECT_TRUE(first.ended.just_now);
  EXPECT_EQ(first.ended.threads, 0) << "there was none before";
  second.begins(crowd, 4, kStart + 1);
  EXPECT_FALSE(second.ended.just_now);
  first.begins(crowd, 8, kStart + 2);
  second.begins(crowd, 4, kStart + kWindow);
  EXPECT_TRUE(second.ended.just_now);
  EXPECT_EQ(second.ended.threads, 6);
  EXPECT_EQ(second.ended.roots, 2);
  first.begins(crowd, 2, kStart + 3 * kWindow);
  EXPECT_TRUE(first.ended.just_now);
  EXPECT_EQ(first.ended.threads, 0) << "the last window is longer ago";
}

class OmpParting : public testing::Test {
 protected:
  // That many windows with a crowd of so many roots.
  void windows(unsigned n, unsigned busy, int roots = 2) {
    for (; n > 0; --n) parting.window_ends(true, roots, busy);
  }
  bool has_parts() { return parting.part_of_root(parting.now(), 0, 8).any(); }

  static constexpr unsigned kIdle = Parting::kBusy - 1;
  Parting parting;
};

TEST_F(OmpParting, ThereAreNoneAsLongAsCpusIdle) {
  EXPECT_FALSE(has_parts());
  windows(5, kIdle);
  EXPECT_FALSE(has_parts());
  windows(1, Parting::kBusy);
  EXPECT_TRUE(has_parts());
}

TEST_F(OmpParting, EachRootHasItsOwn) {
  windows(1, 1000);
  const uint64_t now = parting.now();
  const Part ult = parting.part_of_root(now, 1, 8), kernel_thread = parting.part_of_root(now, -1, 8);
  EXPECT_EQ(ult, (Part{0, 4, 1}));
  EXPECT_EQ(kernel_thread, (Part{4, 4, 3}));
  EXPECT_EQ(parting.part_of_root(now, 6, 8), (Part{4, 4, 2}));
}

TEST_F(OmpParting, MembersGoRoundTheirPart) {
  const Part kernel_thread{4, 4, 3}, ult{0, 4, 1};
  EXPECT_EQ(worker_in_part(kernel_thread, 1), 4u);
  EXPECT_EQ(worker_in_part(kernel_thread, 4), 7u);
  EXPECT_EQ(worker_in_part(kernel_thread, 5), 4u);
  EXPECT_EQ(worker_in_part(ult, 1), 2u);
  EXPECT_EQ(worker_in_part(ult, 3), 0u);
  EXPECT_EQ(worker_in_part(ult, 4), 1u) << "its root's";
}

TEST_F(OmpParting, PartsAreWithinTheWorkers) {
  for (int roots = 1; roots <= 9; ++roots) {
    for (int workers = 1; workers <= 9; ++workers) {
      Parting fresh;
      fresh.window_ends(true, roots, 1000);
      std::vector<Part> parts;
      for (int i = -roots; i < workers; ++i) parts.push_back(fresh.part_of_root(fresh.now(), std::max(i, -1), workers));
      for (const Part& part : parts) {
        EXPECT_EQ(part.any(), roots > 1 && workers > 1);
        EXPECT_LE(part.first + part.count, workers);
        EXPECT_TRUE(!part.any() || part.root < part.count);
      }
    }
  }
}

TEST_F(OmpParting, MoreRootsGetSmallerOnes) {
  windows(1, 1000, 2);
  const uint64_t two = parting.now();
  windows(1, 1000, 4);
  EXPECT_NE(parting.now(), two);
  EXPECT_EQ(parting.part_of_root(parting.now(), 0, 8).count, 2);
  const uint64_t four = parting.now();
  windows(1, 1000, 3);
  EXPECT_EQ(parting.now(), four) << "one that pauses gets its own back";
}

TEST_F(OmpParting, TheyAreGivenUpWhereTheyLeaveCpusIdle) {
  windows(1, 1000);
  windows(1, kIdle);
  EXPECT_FALSE(has_parts());
  for (unsigned pause = Parting::kFirstPause; pause < 2 * Parting::kLongestPause; pause *= 2) {
    const unsigned waits = std::min(pause, Parting::kLongestPause);
    windows(waits, 1000);
    EXPECT_FALSE(has_parts()) << pause;
    windows(1, 1000);
    EXPECT_TRUE(has_parts()) << pause;
    windows(1, kIdle);
    EXPECT_FALSE(has_parts()) << pause;
  }
}

TEST_F(OmpParting, WhereTheyPayTheNextPauseIsShort) {
  for (int i = 0; i < 8; ++i) {
    windows(2 * Parting::kLongestPause, 1000);
    EXPECT_TRUE(has_parts());
    windows(1, kIdle);
  }
  windows(Parting::kFirstPause + 1, 1000);
  EXPECT_TRUE(has_parts());
}

TEST_F(OmpParting, WithoutACrowdThereAreNone) {
  windows(1, 1000);
  parting.window_ends(false, 1, 1000);
  EXPECT_FALSE(has_parts());
  windows(1, 1000);
  EXPECT_TRUE(has_parts());
  parting.forget();
  EXPECT_FALSE(has_parts());
}

// Where the members ran; of who has a kernel thread of its own: -1.
std::vector<int> workers_of(int threads) {
  std::vector<int> seen(static_cast<size_t>(threads));
  in_parallel(threads, [&](Member& member) {
    barrier(member);
    const weft_worker_t worker = weft_worker_self();
    seen[static_cast<size_t>(member.num)] = worker != nullptr ? static_cast<int>(weft_worker_index(worker)) : -1;
    barrier(member);
  });
  return seen;
}

// As long as nothing says that parts change, a root keeps the one that it has.
std::vector<int> workers_of(int threads, const Part& part) {
  this_thread().part = part;
  return workers_of(threads);
}

class OmpPart : public testing::Test {
 protected:
  void SetUp() override {
    this_thread();
    last = worker_count() - 1;
    if (last == 0) GTEST_SKIP() << "one worker";
    threads = 4 * worker_count();  // a crowd, also by itself
    share = std::exchange(device().share, 1000);  // so busy the process is never: no parts but the test's
  }
  void TearDown() override {
    if (share != 0) device().share = share;
  }

  int share = 0;
  int last = 0;
  int threads = 0;
};

TEST_F(OmpPart, OfAKernelThreadMembersRunThereAndAreLetGo) {
  std::thread([this] {
    const auto where = static_cast<uint16_t>(last);
    for (int i = 0; i < 3; ++i) {
      std::vector<int> all(static_cast<size_t>(threads), last);
      all[0] = -1;
      EXPECT_EQ(workers_of(threads, {where, 1, 0}), all);
      all.assign(static_cast<size_t>(threads) / 2, 0);
      all[0] = -1;
      EXPECT_EQ(workers_of(threads / 2, {0, 1, 0}), all) << "others of the team are elsewhere";
      workers_of(threads / 2, {});
      EXPECT_NE(this_member().inner->in_parts, 0) << "who was not in that region keeps to its part yet";
      workers_of(threads);
      EXPECT_EQ(this_member().inner->in_parts, 0);
      for (int num = 1; num < threads; ++num) EXPECT_FALSE(this_member().inner->members[num].part.any()) << num;
    }
  }).join();
}

TEST_F(OmpPart, OfTheMainThreadMembersRunThereAndGoBack) {
  if (weft_worker_self() != weft_worker_get(0)) GTEST_SKIP() << "it is not at the first worker";
  std::vector<int> own(static_cast<size_t>(worker_count()));
  std::iota(own.begin(), own.end(), 0);
  bool goes = false, done = false;
  std::thread other([&] {
    this_thread();  // a crowd is possible
    std::atomic_ref(goes).store(true);
    std::atomic_ref(goes).notify_one();
    std::atomic_ref(done).wait(false);
  });
  std::atomic_ref(goes).wait(false);
  for (int i = 0; i < 3; ++i) {
    this_thread().part = {0, 1, 0};
    EXPECT_EQ(workers_of(threads), std::vector<int>(static_cast<size_t>(threads), 0));
    workers_of(threads, {});
    std::vector<int> after = workers_of(threads);
    after.resize(own.size());
    EXPECT_EQ(after, own);
  }
  std::atomic_ref(done).store(true);
  std::atomic_ref(done).notify_one();
  other.join();
}

// Each root's, from region to region, whatever the others do. As long as one is a kernel thread a crowd is possible.
TEST_F(OmpPart, MayChangeAtEachRegion) {
  const auto root = [this](unsigned seed) {
    std::minstd_rand random(seed);
    const auto below = [&random](int n) { return static_cast<uint16_t>(random() % static_cast<unsigned>(n)); };
    for (int i = 0; i < 100; ++i) {
      Part part;
      part.first = below(worker_count());
      part.count = below(worker_count() - part.first + 1);
      part.root = part.any() ? below(part.count) : uint16_t{0};
      const int n = threads + below(threads);
      const std::vector<int> seen = workers_of(n, part);
      for (int num = 1; part.any() && num < n; ++num) {
        ASSERT_EQ(seen[static_cast<size_t>(num)], static_cast<int>(worker_in_part(part, num))) << num;
      }
    }
  };
  std::vector<std::thread> roots;
  for (unsigned i = 0; i < 4; ++i) roots.emplace_back(root, i + 1);
  for (std::thread& each : roots) each.join();
}

}  // namespace
