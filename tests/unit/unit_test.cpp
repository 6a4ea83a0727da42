// Descriptors: transitions, caches, slabs, ids. Against the internals, without a runtime.
#include "unit/unit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace weft::rt {
namespace {

class UnitTest : public testing::Test {
 protected:
  void TearDown() override { unit_slabs_release(); }
};

TEST(UnitState, TheTableIsThePicture) {
  using enum UnitState;
  const std::set<std::pair<UnitState, UnitState>> allowed = {
      {kFree, kFresh},         {kFresh, kRunning},   {kFresh, kTerminated}, {kFresh, kFree},
      {kReady, kRunning},      {kRunning, kReady},   {kRunning, kBlocked},  {kRunning, kInKernel},
      {kRunning, kTerminated}, {kBlocked, kReady},   {kBlocked, kRunning},  {kInKernel, kReady},
      {kInKernel, kRunning},   {kTerminated, kFree}, {kTerminated, kFresh}};
  for (const UnitState from : {kFree, kFresh, kReady, kRunning, kBlocked, kInKernel, kTerminated}) {
    for (const UnitState to : {kFree, kFresh, kReady, kRunning, kBlocked, kInKernel, kTerminated}) {
      EXPECT_EQ(unit_transition_allowed(from, to), allowed.contains({from, to}))
          << static_cast<int>(from) << " -> " << static_cast<int>(to);
    }
  }
}

TEST(UnitState, DebugBuildsStopAtAWrongTransition) {
  if (!kDebugBuild) GTEST_SKIP() << "a debug build's check";
  Unit unit;
  EXPECT_DEATH(unit_transition(&unit, UnitState::kRunning), "check failed");
}

TEST(UnitLayout, FourLines) {
  EXPECT_LE(sizeof(Unit), 256u);
  EXPECT_EQ(alignof(Unit), 64u);
}

void expect_first_state(const Unit* unit) {
  ASSERT_NE(unit, nullptr);
  EXPECT_EQ(unit_state(unit), UnitState::kFree);
  EXPECT_FALSE(unit_needs_clear(unit));
  EXPECT_EQ(unit->priority, WEFT_PRIORITY_DEFAULT);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(unit) % 64, 0u);
}

TEST_F(UnitTest, AStockGivesEachDescriptorOnce) {
  UnitCache mine;
  std::set<Unit*> seen;
  for (int i = 0; i < 5000; ++i) {
    Unit* unit = mine.pop();
    expect_first_state(unit);
    ASSERT_TRUE(seen.insert(unit).second);
  }
  for (Unit* unit : seen) mine.push(unit);
  EXPECT_LE(mine.count, UnitCache::kMost);
  unsigned walked = 0;
  for (Unit* unit = mine.head; unit != nullptr; unit = unit->next) ++walked;
  EXPECT_EQ(walked, mine.count);
  mine.drain();
  EXPECT_EQ(mine.head, nullptr);
  EXPECT_EQ(mine.count, 0u);
}

TEST_F(UnitTest, WhatOneStockSpillsAnotherGets) {
  if (kDebugBuild) GTEST_SKIP() << "freed descriptors are in quarantine";
  UnitCache a;
  std::set<Unit*> seen;
  for (int i = 0; i < 4000; ++i) seen.insert(a.pop());
  for (Unit* unit : seen) a.push(unit);
  a.drain();
  UnitCache b;
  for (int i = 0; i < 4000; ++i) ASSERT_TRUE(seen.contains(b.pop()));
  b.drain();
}

TEST_F(UnitTest, TheNewestComesBackFirst) {
  if (kDebugBuild) GTEST_SKIP() << "freed descriptors are in quarantine";
  UnitCache mine;
  Unit* unit = mine.pop();
  mine.push(unit);
  EXPECT_EQ(mine.pop(), unit);
}

TEST_F(UnitTest, ThreadsWithoutAWorker) {
  std::set<Unit*> seen;
  for (int i = 0; i < 1000; ++i) {
    Unit* unit = unit_acquire_global();
    expect_first_state(unit);
    ASSERT_TRUE(seen.insert(unit).second);
  }
  for (Unit* unit : seen) unit_release_global(unit);
  std::set<Unit*> again;
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE(again.insert(unit_acquire_global()).second);
  if (!kDebugBuild) {
    EXPECT_TRUE(std::includes(again.begin(), again.end(), seen.begin(), seen.end()));
  }
}

TEST_F(UnitTest, ThreadsShareTheGlobalList) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      UnitCache mine;
      std::vector<Unit*> held;
      for (int round = 0; round < 20; ++round) {
        for (int i = 0; i < 1500; ++i) {
          Unit* unit = t % 2 == 0 ? mine.pop() : unit_acquire_global();
          ASSERT_NE(unit, nullptr);
          ASSERT_EQ(unit->arg, nullptr);
          unit->arg = unit;  // nobody else has it
          held.push_back(unit);
        }
        for (Unit* unit : held) {
          unit->arg = nullptr;
          t % 2 == 0 ? mine.push(unit) : unit_release_global(unit);
        }
        held.clear();
      }
      mine.drain();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(UnitTest, DebugBuildsKeepFreedOnesBack) {
  if (!kDebugBuild) GTEST_SKIP() << "a debug build's check";
  UnitCache mine;
  Unit* freed = mine.pop();
  mine.push(freed);
  for (int i = 0; i < 4000; ++i) {
    Unit* unit = mine.pop();
    ASSERT_NE(unit, freed);
    mine.push(unit);
  }
  EXPECT_EQ(unit_state(freed), UnitState::kFree);
  freed->state = UnitState::kReady;  // a use after free
  EXPECT_DEATH(for (int i = 0; i < 200; ++i) { mine.push(mine.pop()); }, "check failed");
  freed->state = UnitState::kFree;
}

TEST_F(UnitTest, ForEachSeesWhatIsNotFree) {
  UnitCache mine;
  std::set<Unit*> live;
  for (int i = 0; i < 3000; ++i) {
    Unit* unit = mine.pop();
    if (i % 3 != 0) continue;
    unit_transition(unit, UnitState::kFresh);
    live.insert(unit);
  }
  std::set<Unit*> seen;
  unit_for_each([](Unit* u, void* set) { static_cast<std::set<Unit*>*>(set)->insert(u); }, &seen);
  EXPECT_EQ(seen, live);
}

TEST_F(UnitTest, SlabsStartAnew) {
  UnitCache mine;
  for (int i = 0; i < 3000; ++i) unit_transition(mine.pop(), UnitState::kFresh);
  mine.drain();
  unit_slabs_release();
  int seen = 0;
  unit_for_each([](Unit*, void* n) { ++*static_cast<int*>(n); }, &seen);
  EXPECT_EQ(seen, 0);
  expect_first_state(mine.pop());
}

// ---- the cold part

TEST_F(UnitTest, IdsAreGivenOnceAndAreUnique) {
  Unit* unit = unit_acquire_global();
  EXPECT_FALSE(unit_needs_clear(unit));
  const uint64_t id = unit_id(unit);
  EXPECT_NE(id, 0u);
  EXPECT_EQ(unit_id(unit), id);
  EXPECT_TRUE(unit_needs_clear(unit));
  unit_clear_cold(unit);
  EXPECT_FALSE(unit_needs_clear(unit));
  EXPECT_GT(unit_id(unit), id);  // another life, another number
  EXPECT_NE(unit_id(unit_acquire_global()), unit_id(unit));
}

TEST_F(UnitTest, AskedByManyItHasOneId) {
  for (int round = 0; round < 50; ++round) {
    Unit* unit = unit_acquire_global();
    uint64_t ids[3] = {};
    std::vector<std::thread> threads;
    for (uint64_t& id : ids) threads.emplace_back([&id, unit] { id = unit_id(unit); });
    unit->flags.set(flag::kOwnState);  // whoever runs it may write this at the same time
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(ids[0], ids[1]);
    EXPECT_EQ(ids[0], ids[2]);
  }
}

TEST_F(UnitTest, ClearBringsBackTheFirstState) {
  Unit* unit = unit_acquire_global();
  std::strcpy(unit->cold.core.name, "solver");
  EXPECT_STREQ(unit_name(unit), "");
  unit->flags.set(flag::kCold | flag::kNamed | flag::kDetached);
  EXPECT_STREQ(unit_name(unit), "solver");
  unit_mark(unit);
  unit->requests = kCancelRequest;
  unit->cold.stack_size = 5;
  unit_clear_cold(unit);
  EXPECT_FALSE(unit_needs_clear(unit));
  EXPECT_STREQ(unit_name(unit), "");
  EXPECT_FALSE(unit_cancelled(unit));
  EXPECT_EQ(unit->cold.stack_size, 0u);
  EXPECT_TRUE(unit_is(unit, flag::kDetached));
}

}  // namespace
}  // namespace weft::rt
