// Regions, barriers, and what belongs to a thread.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "barrier.hpp"
#include "klt/guard.hpp"
#include "omp/in_parallel.hpp"
#include "omp/spawn.hpp"
#include "region.hpp"
#include "thread.hpp"
#include "weft/preempt.h"
#include "workshare.hpp"

namespace {

using namespace weft::omp;

class OmpRegion : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    own_icvs(this_member()).max_active_levels = 8;
    weft_preemption_set_interval(100'000);
    if (GetParam() && weft_preemption_set_mode(WEFT_PREEMPTION_ON) != WEFT_OK) GTEST_SKIP() << "no timers here";
  }
  void TearDown() override { weft_preemption_set_mode(WEFT_PREEMPTION_AUTO); }
};
INSTANTIATE_TEST_SUITE_P(Ticks, OmpRegion, testing::Bool(),
                         [](const auto& info) { return info.param ? "EachInterval" : "WhereSomebodyWaits"; });

TEST_P(OmpRegion, EachMemberRunsOnce) {
  for (const int n : {1, 2, 3, 8, 2, 20, 5}) {
    std::vector<std::atomic<int>> seen(static_cast<size_t>(n));
    EXPECT_EQ(in_parallel(n, [&](Member& member) {
                EXPECT_EQ(&this_member(), &member);
                EXPECT_EQ(member.team->n, n);
                seen[static_cast<size_t>(member.num)]++;
              }), n);
    for (const auto& s : seen) EXPECT_EQ(s, 1);
  }
}

TEST_P(OmpRegion, BarriersKeepEverybodyTogether) {
  for (const int n : {2, 7}) {
    std::atomic<int> sum{0};
    in_parallel(n, [&](Member& member) {
      for (int i = 1; i <= 300; ++i) {
        sum += 1;
        EXPECT_TRUE(barrier(member));
        EXPECT_EQ(sum, i * n);
        EXPECT_TRUE(barrier(member));
      }
    });
  }
}

TEST_P(OmpRegion, NestedTeamsAreKeptAndRight) {
  for (int round = 0; round < 60; ++round) {
    std::atomic<int> runs{0};
    in_parallel(3, [&](Member& outer) {
      const int n = 1 + (outer.num + round) % 4;
      in_parallel(n, [&](Member& inner) {
        EXPECT_EQ(inner.team->level, 2);
        EXPECT_EQ(inner.team->opener, &outer);
        barrier(inner);
        runs++;
      });
    });
    int expected = 0;
    for (int i = 0; i < 3; ++i) expected += 1 + (i + round) % 4;
    EXPECT_EQ(runs, expected);
  }
}

// Often enough that threads look who is at the same worker, and come back to that of who opens their regions, several times.
TEST_P(OmpRegion, InnerTeamsOfManyThreadsAreRightRegionAfterRegion) {
  for (const int n : {5, 9, 3, 6}) {
    std::atomic<int> runs{0};
    in_parallel(4, [&](Member&) {
      for (int round = 1; round <= 150; ++round) {
        std::atomic<int> sum{0};
        in_parallel(n, [&](Member& inner) {
          sum += inner.num;
          barrier(inner);
          EXPECT_EQ(sum, n * (n - 1) / 2);
          runs++;
        });
      }
    });
    EXPECT_EQ(runs, 4 * 150 * n);
  }
}

// Threads of a team let each other go first, and somebody else all the same.
TEST_P(OmpRegion, UnitsThatAreNotOfTheTeamGetTheirTurns) {
  constexpr int kTurns = 200;
  struct Other {
    std::atomic<int> turns{0};
    weft_unit_t unit = nullptr;
  };
  this_thread();
  std::vector<Other> others(weft_worker_count());
  for (unsigned i = 0; i < others.size(); ++i) {
    weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
    attr.worker = weft_worker_get(i);
    attr.pinned = true;
    const auto count = [](void* arg) {
      for (std::atomic<int>& turns = static_cast<Other*>(arg)->turns; turns < kTurns; weft_yield()) ++turns;
    };
    ASSERT_EQ(weft_ult_create(count, &others[i], &attr, &others[i].unit), WEFT_OK);
  }
  const auto all_done = [&] {
    return std::all_of(others.begin(), others.end(), [](const Other& other) { return other.turns >= kTurns; });
  };
  while (!all_done()) {
    in_parallel(8, [&](Member&) {
      in_parallel(4, [&](Member& inner) { barrier(inner); });
    });
  }
  for (Other& other : others) EXPECT_EQ(weft_free(&other.unit), WEFT_OK);
}

TEST_P(OmpRegion, AListOfThreadsIsForTheLevelsInside) {
  const std::vector<int> inner = {3, 2};
  std::atomic<int> seen[3] = {};
  for (int round = 0; round < 2; ++round) {
    for (auto& s : seen) s = 0;
    in_parallel(RegionWish{.threads = 4, .inner_threads = &inner}, [&](Member& outer) {
      seen[0] += outer.team->n;
      in_parallel(RegionWish{}, [&](Member& member) {
        seen[1] += member.team->n;
        // The last number is for all levels below.
        if (member.num == 0) seen[2] += in_parallel(RegionWish{}, [](Member&) {}) + threads_for(member, 0);
      });
    });
    EXPECT_EQ(seen[0], 4 * 4);
    EXPECT_EQ(seen[1], 4 * 3 * 3);
    EXPECT_EQ(seen[2], 4 * (2 + 2));
  }
  // A region beside it, on the same team, has nothing of it.
  const int usual = threads_for(this_member(), 0);
  EXPECT_EQ(in_parallel(RegionWish{}, [](Member&) {}), usual);
  in_parallel(4, [&](Member& member) { EXPECT_EQ(threads_for(member, 0), usual); });
}

thread_local int mine = 0;

TEST_P(OmpRegion, ThreadLocalVariablesStayWithTheThread) {
  if (device().identity != IdentityWish::kOwn) GTEST_SKIP();
  weft_identity_t identity = WEFT_IDENTITY_OWN;
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.identity = identity;
  weft_unit_t unit = nullptr;
  this_thread();
  if (weft_ult_create([](void*) {}, nullptr, &attr, &unit) != WEFT_OK) GTEST_SKIP() << "no identities here";
  weft_free(&unit);
  in_parallel(6, [](Member& member) { mine = member.num + 1; });
  for (int round = 0; round < 50; ++round) {
    in_parallel(6, [](Member& member) {
      EXPECT_EQ(mine, member.num + 1);
      barrier(member);
      EXPECT_EQ(mine, member.num + 1);
    });
  }
}

TEST_P(OmpRegion, ALargerRegionKeepsTheThreadsOfTheTeamAndTheirTeams) {
  constexpr int kMost = 70;
  std::vector<Thread*> threads(kMost, nullptr), inner(kMost, nullptr);
  std::vector<int> numbers(kMost, -1);
  int before = 0;
  for (const int n : {2, 3, 4, 9, 5, 17, 2, kMost}) {
    in_parallel(n, [&](Member& member) {
      const auto i = static_cast<size_t>(member.num);
      EXPECT_EQ(&member.team->members[member.num], &member);
      if (member.num < before) {
        EXPECT_EQ(threads[i], member.thread);
        EXPECT_EQ(numbers[i], member.thread->gtid);
      }
      threads[i] = member.thread;
      numbers[i] = member.thread->gtid;
      barrier(member);
      in_parallel(2, [&](Member& inside) {
        if (inside.num == 0) return;
        if (member.num < before) {
          EXPECT_EQ(inner[i], inside.thread);
        }
        inner[i] = inside.thread;
      });
    });
    before = std::max(before, n);
  }
  EXPECT_EQ(std::set<int>(numbers.begin(), numbers.end()).size(), numbers.size());
}

TEST_P(OmpRegion, ThreadsThatWaitFindTheTasksOfLargerRegions) {
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> opened{0};
    std::thread([&] {  // whose team begins small each time
      for (const int n : {2, 3, 5, 9, 17, 33, 64}) {
        std::atomic<int> done{0};
        in_parallel(n, [&](Member&) {
          for (int i = 0; i < 20; ++i) spawn([&] { done++; });
        });
        EXPECT_EQ(done, n * 20);
        ++opened;
      }
    }).join();
    EXPECT_EQ(opened, 7);
  }
}

TEST(OmpNumbers, OfThoseThatWereGivenBackTheLowestComesFirst) {
  const auto lower = [](const Thread* a, const Thread* b) { return a->gtid < b->gtid; };
  std::vector<Thread*> threads(5);
  for (Thread*& thread : threads) thread = thread_create();
  std::sort(threads.begin(), threads.end(), lower);
  for (const size_t i : {3, 1, 0, 4, 2}) thread_release(threads[i]);
  // Threads of tests before may still be ending, and give back theirs meanwhile.
  std::vector<Thread*> again, others;
  while (again.size() < threads.size()) {
    Thread* thread = thread_create();
    const bool known = std::find(threads.begin(), threads.end(), thread) != threads.end();
    (known ? again : others).push_back(thread);
  }
  EXPECT_EQ(again, threads);
  for (Thread* thread : again) thread_release(thread);
  for (Thread* thread : others) thread_release(thread);
}

TEST_P(OmpRegion, ThreadsOfTheProgramOpenRegionsOfTheirOwn) {
  this_thread();
  std::atomic<int> runs{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 5; ++i) {
    threads.emplace_back([&] {
      own_icvs(this_member()).max_active_levels = 2;
      for (int round = 0; round < 20; ++round) {
        in_parallel(4, [&](Member& member) {
          barrier(member);
          runs++;
        });
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(runs, 5 * 20 * 4);
}

TEST_P(OmpRegion, OneThatSpinsDoesNotKeepTheOthers) {
  if (weft::rt::san::kSignalsComeLate) GTEST_SKIP() << "ThreadSanitizer delivers no signal to code that calls nothing";
  std::atomic<int> stage{0};
  in_parallel(5, [&](Member& member) {
    // Backwards, so that whoever comes first has to wait for all others.
    while (stage.load() != member.team->n - 1 - member.num) {
    }
    stage++;
  });
  EXPECT_EQ(stage, 5);
}

// In a forked child that is the only thread; its exit status is what `then` returns.
int forked(const std::function<int()>& then) {
  const pid_t child = fork();
  if (child == 0) _exit(then());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

TEST(OmpFork, TheChildOpensRegionsOfItsOwn) {
  if (weft::rt::san::kSignalsComeLate) GTEST_SKIP() << "ThreadSanitizer's forked children start no threads";
  own_icvs(this_member()).max_active_levels = 8;
  const auto regions = [] { return in_parallel(3, [](Member&) {}) + in_parallel(4, [](Member& member) { barrier(member); }); };
  EXPECT_EQ(regions(), 7);
  EXPECT_EQ(forked(regions), 7);
  EXPECT_EQ(forked([&] { return regions() + forked(regions); }), 14);
  int from_thread = 0;
  std::thread([&] {
    regions();
    from_thread = forked([&] { return regions() + forked(regions); });
  }).join();
  EXPECT_EQ(from_thread, 14);
  EXPECT_EQ(regions(), 7);
}

// One of the parent's threads looked for tasks just then: the child's of that number does not.
TEST(OmpFork, ItsThreadsAreNotInTheMidstOfAnything) {
  if (weft::rt::san::kSignalsComeLate) GTEST_SKIP() << "ThreadSanitizer's forked children start no threads";
  own_icvs(this_member()).max_active_levels = 8;
  std::vector<Thread*> threads(4);
  in_parallel(4, [&](Member& member) { threads[static_cast<size_t>(member.num)] = member.thread; });
  for (size_t i = 1; i < threads.size(); ++i) threads[i]->helping = true;
  const int in_child = forked([] {
    alarm(60);
    return in_parallel(4, [](Member&) {}) + in_parallel(2, [](Member&) {});
  });
  for (size_t i = 1; i < threads.size(); ++i) threads[i]->helping = false;
  EXPECT_EQ(in_child, 6);
}

TEST(OmpLimits, TheThreadLimitHoldsForAllRegionsOfAnInitialThread) {
  own_icvs(this_member()).max_active_levels = 4;
  own_icvs(this_member()).thread_limit = 5;
  EXPECT_EQ(in_parallel(9, [](Member&) {}), 5);
  in_parallel(3, [](Member& outer) {
    if (outer.num == 0) {
      EXPECT_EQ(in_parallel(9, [](Member&) {}), 3);
    }
    barrier(outer);
  });
  own_icvs(this_member()).thread_limit = kNoThreadLimit;
  EXPECT_EQ(in_parallel(9, [](Member&) {}), 9);
}

TEST(OmpLimits, TheThreadLimitHoldsForRegionsThatBeginAtOnce) {
  own_icvs(this_member()).max_active_levels = 4;
  own_icvs(this_member()).thread_limit = 3;
  std::atomic<int> live{0}, most{0};
  for (int round = 0; round < 5000; ++round) {
    in_parallel(2, [&](Member& outer) {
      barrier(outer);
      in_parallel(2, [&](Member& inner) {
        if (inner.num == 1) most = std::max(most.load(), ++live);
        barrier(inner);
        if (inner.num == 1) --live;
      });
    });
    ASSERT_LE(most, 1);
  }
  own_icvs(this_member()).thread_limit = kNoThreadLimit;
}

TEST(OmpLimits, LevelsBeyondTheMostHaveOneThread) {
  own_icvs(this_member()).max_active_levels = 1;
  in_parallel(2, [](Member&) { EXPECT_EQ(in_parallel(4, [](Member&) {}), 1); });
  own_icvs(this_member()).max_active_levels = 8;
}

TEST(OmpLimits, AThousandThreads) {
  std::atomic<int> runs{0};
  const int n = in_parallel(1000, [&](Member& member) {
    barrier(member);
    runs++;
  });
  EXPECT_EQ(runs, n);
  EXPECT_EQ(n, 1000);
  EXPECT_TRUE(release_teams(false));
}

TEST(OmpRoots, ASingleHasOneWinnerAndOthersGetWhatItGives) {
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> winners{0};
    in_parallel(4, [&](Member& member) {
      for (int i = 0; i < 3; ++i) {
        int value = 0;
        void* given = nullptr;
        if (single(member)) {
          winners++;
          value = 17 + i;
          given = copyprivate(member, &value);
        } else {
          given = copyprivate(member, nullptr);
        }
        EXPECT_EQ(*static_cast<int*>(given), 17 + i);
        copyprivate_done(member);
      }
    });
    EXPECT_EQ(winners, 3);
  }
}

}  // namespace
