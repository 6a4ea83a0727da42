// weft::mutex, condition_variable, barrier, event, and what weft.hpp's primitives add to those of std; the rest
// is tested by std/.
#include <chrono>
#include <deque>
#include <mutex>
#include <vector>

#include "support/runtime_fixture.hpp"
#include "weft/weft.hpp"

namespace {

using namespace weft_test;
using namespace std::chrono_literals;

class HppSync : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, HppSync, kWorkerCounts);

constinit weft::mutex static_mutex;
constinit weft::condition_variable static_condition;
constinit weft::event static_event;
constinit weft::barrier static_barrier(1);
constinit weft::latch static_latch(1);
constinit weft::binary_semaphore static_semaphore(1);
constinit weft::shared_timed_mutex static_shared;
constinit weft::recursive_timed_mutex static_recursive;
constinit weft::once_flag static_once;

TEST(HppSyncStatic, WithoutARuntime) {
  ASSERT_FALSE(weft_initialized());
  const std::lock_guard lock(static_mutex);
  static_condition.notify_all();
  static_event.set();
  static_event.wait();
  EXPECT_TRUE(static_barrier.wait());
  static_latch.arrive_and_wait();
  static_semaphore.acquire();
  EXPECT_FALSE(static_semaphore.try_acquire());
  const std::scoped_lock both(static_shared, static_recursive);
  EXPECT_TRUE(static_recursive.try_lock_for(1h));
  static_recursive.unlock();
  int calls = 0;
  for (int i = 0; i < 2; ++i) {
    weft::call_once(static_once, [&] { ++calls; });
  }
  EXPECT_EQ(calls, 1);
}

// What is not std's: the misuse that is noticed.
TEST(HppSyncStatic, Misuse) {
  EXPECT_THROW(weft::timed_mutex().unlock(), weft::error);
  EXPECT_THROW(weft::recursive_mutex().unlock(), weft::error);
  EXPECT_THROW(weft::shared_mutex().unlock(), weft::error);
  EXPECT_THROW(weft::shared_mutex().unlock_shared(), weft::error);
  EXPECT_THROW(weft::latch(1).count_down(2), weft::error);
  EXPECT_THROW(weft::latch(-1), weft::error);
  EXPECT_THROW(weft::barrier<>(-1), weft::error);
  EXPECT_THROW(static_cast<void>(weft::barrier<>(2).arrive(3)), weft::error);
  EXPECT_THROW(weft::counting_semaphore<>(-1), weft::error);
  EXPECT_THROW(weft::binary_semaphore(2), weft::error);
  EXPECT_THROW(weft::counting_semaphore<>(1).release(-1), weft::error);
  weft::counting_semaphore<> full(weft::counting_semaphore<>::max());
  EXPECT_THROW(full.release(), weft::error);
}

// A tasklet does what needs no waiting, and is told where it would have to wait.
TEST_P(HppSync, InATasklet) {
  weft::timed_mutex held;
  weft::shared_mutex shared;
  weft::counting_semaphore<> semaphore(0);
  weft::latch latch(1);
  weft::event event;
  weft::mutex mutex;
  weft::condition_variable condition;
  weft::condition_variable_any any;
  held.lock();
  shared.lock_shared();
  in_tasklet([&] {
    const auto refused = [](auto f) {
      try {
        f();
        ADD_FAILURE() << "it was not refused";
      } catch (const weft::error& e) {
        EXPECT_EQ(e.code(), std::errc::operation_not_permitted);
        EXPECT_EQ(e.code().value(), WEFT_ERR_CONTEXT);
      }
    };
    refused([&] { held.lock(); });
    refused([&] { static_cast<void>(held.try_lock_for(1h)); });
    refused([&] { shared.lock(); });
    refused([&] { semaphore.acquire(); });
    refused([&] { latch.wait(); });
    refused([&] { event.wait(); });
    refused([&] { static_cast<void>(event.wait_for(1h)); });
    refused([&] { weft::this_thread::sleep_for(1h); });
    std::unique_lock lock(mutex);
    refused([&] { condition.wait(lock); });
    EXPECT_TRUE(lock.owns_lock());
    refused([&] { any.wait(lock); });
    EXPECT_TRUE(lock.owns_lock());
    condition.notify_all();
    any.notify_all();
    shared.lock_shared();
    shared.unlock_shared();
    semaphore.release();
    semaphore.acquire();
    latch.arrive_and_wait();
    event.set();
    event.wait();
  });
  shared.unlock_shared();
  held.unlock();
}

TEST_P(HppSync, EventWithATime) {
  weft::event event;
  EXPECT_FALSE(event.wait_for(5ms));
  EXPECT_FALSE(event.wait_until(std::chrono::system_clock::now() + 5ms));
  weft::thread setter([&] { event.set(); });
  EXPECT_TRUE(event.wait_for(1h));
  EXPECT_TRUE(event.wait_until(std::chrono::steady_clock::now()));
  setter.join();
}

// Times that no 64-bit count of nanoseconds holds are for ever, or past.
TEST_P(HppSync, ExtremeTimes) {
  weft::timed_mutex mutex;
  EXPECT_TRUE(mutex.try_lock_for(std::chrono::hours::max()));
  EXPECT_FALSE(mutex.try_lock_for(std::chrono::hours::min()));
  EXPECT_FALSE(mutex.try_lock_until(std::chrono::steady_clock::time_point::min()));
  EXPECT_FALSE(mutex.try_lock_until(std::chrono::system_clock::time_point::min()));
  EXPECT_FALSE(mutex.try_lock_for(std::chrono::duration<double>(1e-12)));
  weft::thread waiter([&] {
    EXPECT_TRUE(mutex.try_lock_until(std::chrono::system_clock::time_point::max()));
    mutex.unlock();
    EXPECT_TRUE(mutex.try_lock_for(std::chrono::duration<double>(1e300)));
    mutex.unlock();
  });
  weft::this_thread::yield();
  mutex.unlock();
  waiter.join();
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
