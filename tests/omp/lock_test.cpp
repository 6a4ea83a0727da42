// OpenMP's locks: as the two compilers' headers lay them out, between ULTs and kernel threads, held for long and often.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "lock.hpp"
#include "team.hpp"
#include "weft/weft.h"

namespace {

using namespace weft::omp;

static_assert(sizeof(Lock) == 4 && alignof(Lock) == 4 && sizeof(NestLock) == 8);

constexpr int kThreads = 8;

// Runs fn(i) on kThreads ULTs, and on as many kernel threads at the same time.
template <typename Fn>
void on_ults_and_klts(Fn fn) {
  struct Call {
    Fn* fn;
    int i;
  };
  weft_options_t options{.workers = 2, .stack_size = 0, .bind = 0, .idle_spin_us = 20};
  ASSERT_EQ(weft_initialize(&options), WEFT_OK);
  Call calls[kThreads];
  weft_unit_t units[kThreads];
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    calls[i] = {&fn, i};
    const auto body = [](void* arg) {
      auto* call = static_cast<Call*>(arg);
      (*call->fn)(call->i);
    };
    ASSERT_EQ(weft_ult_create(body, &calls[i], nullptr, &units[i]), WEFT_OK);
    threads.emplace_back([&fn, i] { fn(kThreads + i); });
  }
  for (weft_unit_t unit : units) ASSERT_EQ(weft_join(unit), WEFT_OK);
  for (std::thread& thread : threads) thread.join();
  for (weft_unit_t& unit : units) weft_free(&unit);
  weft_finalize();
}

TEST(OmpLock, OneAtATime) {
  Lock lock{};
  int count = 0, inside = 0;
  on_ults_and_klts([&](int) {
    for (int i = 0; i < 2000; ++i) {
      lock_acquire(lock);
      EXPECT_EQ(++inside, 1);
      ++count;
      if (i % 100 == 0) weft_yield();
      --inside;
      lock_release(lock);
    }
  });
  EXPECT_EQ(count, 2 * kThreads * 2000);
  EXPECT_EQ(lock.word.load(), 0u);
}

// The holder waits for the worker on which somebody tries.
TEST(OmpLock, WhoTriesUntilItSucceedsLetsTheHolderRun) {
  weft_options_t options{.workers = 1, .stack_size = 0, .bind = 0, .idle_spin_us = 20};
  ASSERT_EQ(weft_initialize(&options), WEFT_OK);
  struct {
    Lock lock{};
    int count = 0;
  } shared;
  const auto body = [](void* arg) {
    auto& [lock, count] = *static_cast<decltype(shared)*>(arg);
    for (int i = 0; i < 200; ++i) {
      while (!lock_try(lock)) {
      }
      ++count;
      weft_yield();
      lock_release(lock);
    }
  };
  weft_unit_t units[kThreads];
  for (weft_unit_t& unit : units) ASSERT_EQ(weft_ult_create(body, &shared, nullptr, &unit), WEFT_OK);
  ASSERT_EQ(weft_free_many(kThreads, units), WEFT_OK);
  weft_finalize();
  EXPECT_EQ(shared.count, kThreads * 200);
}

TEST(OmpLock, TryTakesAFreeOneOnly) {
  Lock lock{};
  EXPECT_TRUE(lock_try(lock));
  EXPECT_FALSE(lock_try(lock));
  lock_release(lock);
  EXPECT_TRUE(lock_try(lock));
  lock_release(lock);
}

TEST(OmpLock, ManyLocksInFewBuckets) {
  std::vector<Lock> locks(500);
  std::vector<int> counts(500);
  on_ults_and_klts([&](int) {
    for (int i = 0; i < 5000; ++i) {
      const size_t which = static_cast<size_t>(i * 7 % 500);
      lock_acquire(locks[which]);
      if (i % 50 == 0) weft_yield();
      ++counts[which];
      lock_release(locks[which]);
    }
  });
  for (const int count : counts) EXPECT_EQ(count, 2 * kThreads * 10);
}

TEST(OmpLock, WhoWaitsIsNotPassedOverForEver) {
  // Both on one worker: the first one gives the lock back only to take it again at once.
  weft_options_t options{.workers = 1, .stack_size = 0, .bind = 0, .idle_spin_us = 20};
  ASSERT_EQ(weft_initialize(&options), WEFT_OK);
  struct Both {
    Lock lock{};
    std::atomic<bool> had{false};
    int rounds = 0;
  } both;
  const auto greedy = [](void* arg) {
    auto* b = static_cast<Both*>(arg);
    lock_acquire(b->lock);
    for (; !b->had && b->rounds < 100000; ++b->rounds) {
      weft_yield();
      lock_release(b->lock);
      lock_acquire(b->lock);
    }
    lock_release(b->lock);
  };
  const auto modest = [](void* arg) {
    auto* b = static_cast<Both*>(arg);
    lock_acquire(b->lock);
    b->had = true;
    lock_release(b->lock);
  };
  weft_unit_t units[2];
  ASSERT_EQ(weft_ult_create(greedy, &both, nullptr, &units[0]), WEFT_OK);
  ASSERT_EQ(weft_ult_create(modest, &both, nullptr, &units[1]), WEFT_OK);
  for (weft_unit_t& unit : units) weft_free(&unit);
  weft_finalize();
  EXPECT_LT(both.rounds, 20);
}

TEST(OmpLock, CriticalSectionsHaveTheLockInTheCompilersCell) {
  alignas(8) char cell[8] = {};
  Lock& lock = critical_lock(cell);
  EXPECT_EQ(static_cast<void*>(&lock), cell);
  lock_acquire(lock);
  EXPECT_NE(&critical_lock(nullptr), &lock);
  EXPECT_NE(&critical_lock(nullptr), &atomic_lock);
  lock_release(lock);
  EXPECT_EQ(std::count(std::begin(cell), std::end(cell), 0), 8);
}

TEST(OmpLock, NestLocksCountForTheirTask) {
  NestLock lock{};
  EXPECT_EQ(nest_acquire(lock), 1);
  EXPECT_EQ(nest_acquire(lock), 2);
  EXPECT_EQ(nest_try(lock), 3);
  std::thread other([&] { EXPECT_EQ(nest_try(lock), 0); });
  other.join();
  EXPECT_EQ(nest_release(lock), 2);
  EXPECT_EQ(nest_release(lock), 1);
  EXPECT_EQ(nest_release(lock), 0);
  EXPECT_EQ(lock.word.load(), 0u);
}

TEST(OmpLock, NestLocksBetweenManyThreads) {
  NestLock lock{};
  int inside = 0, count = 0;
  const auto body = [&] {
    for (int i = 0; i < 2000; ++i) {
      nest_acquire(lock);
      EXPECT_EQ(nest_acquire(lock), 2);
      EXPECT_EQ(++inside, 1);
      ++count;
      if (i % 100 == 0) std::this_thread::yield();
      --inside;
      EXPECT_EQ(nest_release(lock), 1);
      nest_release(lock);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(body);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, kThreads * 2000);
  EXPECT_EQ(lock.word.load(), 0u);
}

}  // namespace
