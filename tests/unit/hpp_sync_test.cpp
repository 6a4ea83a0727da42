// weft::mutex, condition_variable, barrier, event.
#include <deque>
#include <mutex>
#include <vector>

#include "support/runtime_fixture.hpp"
#include "weft/weft.hpp"

namespace {

using namespace weft_test;

class HppSync : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, HppSync, kWorkerCounts);

constinit weft::mutex static_mutex;
constinit weft::condition_variable static_condition;
constinit weft::event static_event;
constinit weft::barrier static_barrier(1);

TEST(HppSyncStatic, WithoutARuntime) {
  ASSERT_FALSE(weft_initialized());
  const std::lock_guard lock(static_mutex);
  static_condition.notify_all();
  static_event.set();
  static_event.wait();
  EXPECT_TRUE(static_barrier.wait());
}

TEST_P(HppSync, LockGuardAndUniqueLock) {
  weft::mutex mutex;
  long plain = 0;
  weft::task_group group;
  for (int i = 0; i < 20; ++i) {
    group.run([&] {
      for (int k = 0; k < 100; ++k) {
        const std::lock_guard lock(mutex);
        const long seen = plain;
        if (k % 10 == 0) {
          weft::this_thread::yield();
        }
        plain = seen + 1;
      }
    });
  }
  group.wait();
  EXPECT_EQ(plain, 2000);
  std::unique_lock lock(mutex, std::try_to_lock);
  EXPECT_TRUE(lock.owns_lock());
  EXPECT_FALSE(mutex.try_lock());
  lock.unlock();
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
  EXPECT_THROW(mutex.unlock(), weft::error);
}

TEST_P(HppSync, ScopedLockOfTwo) {
  weft::mutex a;
  weft::mutex b;
  int plain = 0;
  weft::task_group group;
  for (int i = 0; i < 10; ++i) {
    group.run([&, i] {
      for (int k = 0; k < 50; ++k) {
        if (i % 2) {
          const std::scoped_lock lock(a, b);
          ++plain;
        } else {
          const std::scoped_lock lock(b, a);
          ++plain;
        }
        weft::this_thread::yield();
      }
    });
  }
  group.wait();
  EXPECT_EQ(plain, 500);
}

TEST_P(HppSync, ConditionVariable) {
  weft::mutex mutex;
  weft::condition_variable changed;
  std::deque<int> queue;
  long sum = 0;
  weft::thread consumer([&] {
    for (int i = 0; i < 1000; ++i) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return !queue.empty(); });
      sum += queue.front();
      queue.pop_front();
    }
  });
  weft::thread producer([&] {
    for (int i = 0; i < 1000; ++i) {
      {
        const std::lock_guard lock(mutex);
        queue.push_back(i);
      }
      changed.notify_one();
    }
  });
  producer.join();
  consumer.join();
  EXPECT_EQ(sum, 499500);
  std::unique_lock lock(mutex, std::defer_lock);
  EXPECT_THROW(changed.wait(lock), weft::error);
}

TEST_P(HppSync, Barrier) {
  weft::barrier barrier(10);
  std::atomic<int> arrived = 0;
  std::atomic<int> lasts = 0;
  weft::task_group group;
  for (int i = 0; i < 10; ++i) {
    group.run([&] {
      for (int round = 1; round <= 20; ++round) {
        ++arrived;
        lasts += barrier.wait();
        EXPECT_GE(arrived, 10 * round);
        barrier.arrive_and_wait();
      }
    });
  }
  group.wait();
  EXPECT_EQ(lasts, 20);
}

TEST_P(HppSync, Event) {
  weft::event event;
  EXPECT_FALSE(event.is_set());
  std::atomic<int> passed = 0;
  weft::task_group group;
  for (int i = 0; i < 10; ++i) {
    group.run([&] {
      event.wait();
      ++passed;
    });
  }
  for (int i = 0; i < 20; ++i) {
    weft::this_thread::yield();
  }
  EXPECT_EQ(passed, 0);
  event.set();
  group.wait();
  EXPECT_EQ(passed, 10);
  event.reset();
  EXPECT_FALSE(event.is_set());
}

TEST_P(HppSync, BetweenUltsAndKernelThreads) {
  weft::mutex mutex;
  weft::condition_variable changed;
  int turn = 0;
  auto take_turns = [&](int me) {
    for (int i = 0; i < 200; ++i) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return turn % 2 == me; });
      ++turn;
      changed.notify_all();
    }
  };
  weft::thread ult(take_turns, 0);
  on_klt([&] { take_turns(1); });
  ult.join();
  EXPECT_EQ(turn, 400);
}

}  // namespace
