// Mutexes of all kinds, their locks, and call_once, as programs for <mutex> and <shared_mutex> use them.
#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "par.hpp"

namespace {

using namespace std::chrono_literals;

class StdMutex : public ParTest {};
INSTANTIATE_TEST_SUITE_P(Workers, StdMutex, kParWorkers);

// Runs f(0) … f(n - 1) at the same time.
template <class F>
void together(int n, F f) {
  std::vector<par::thread> threads;
  for (int i = 0; i < n; ++i) {
    threads.emplace_back(f, i);
  }
  for (auto& t : threads) {
    t.join();
  }
}

template <class Mutex>
void count_under() {
  Mutex mutex;
  long plain = 0;
  together(8, [&](int) {
    for (int k = 0; k < 200; ++k) {
      const par::lock_guard<Mutex> lock(mutex);
      const long seen = plain;
      if (k % 20 == 0) {
        par::this_thread::yield();
      }
      plain = seen + 1;
    }
  });
  EXPECT_EQ(plain, 1600);
}

TEST_P(StdMutex, OneAtATime) {
  count_under<par::mutex>();
  count_under<par::timed_mutex>();
  count_under<par::recursive_mutex>();
  count_under<par::recursive_timed_mutex>();
  count_under<par::shared_mutex>();
  count_under<par::shared_timed_mutex>();
}

TEST_P(StdMutex, UniqueLock) {
  par::mutex mutex;
  par::unique_lock<par::mutex> lock(mutex, par::defer_lock);
  EXPECT_FALSE(lock.owns_lock());
  lock.lock();
  EXPECT_THROW(lock.lock(), std::system_error);
  par::thread([&] {
    const par::unique_lock<par::mutex> other(mutex, par::try_to_lock);
    EXPECT_FALSE(other);
  }).join();
  par::unique_lock<par::mutex> taken(std::move(lock));
  EXPECT_TRUE(taken.owns_lock());
  taken.unlock();
  EXPECT_THROW(taken.unlock(), std::system_error);
  EXPECT_TRUE(mutex.try_lock());
  const par::lock_guard<par::mutex> adopted(mutex, par::adopt_lock);
}

TEST_P(StdMutex, DiningPhilosophers) {
  constexpr int kSeats = 5;
  std::array<par::mutex, kSeats> forks;
  std::array<int, kSeats> holder{};
  std::array<int, kSeats> meals{};
  together(kSeats, [&](int me) {
    const auto left = static_cast<std::size_t>(me);
    const auto right = (left + 1) % kSeats;
    for (int i = 0; i < 100; ++i) {
      const par::scoped_lock both(forks[left], forks[right]);
      holder[left] = holder[right] = me;
      if (i % 10 == 0) {
        par::this_thread::yield();
      }
      EXPECT_EQ(holder[left], me);
      EXPECT_EQ(holder[right], me);
      ++meals[left];
    }
  });
  for (const int m : meals) {
    EXPECT_EQ(m, 100);
  }
}

TEST_P(StdMutex, LockOfSeveralAndTryLockOfSeveral) {
  par::mutex a;
  par::mutex b;
  par::recursive_mutex c;
  par::lock(a, b, c);
  par::thread([&] {
    EXPECT_EQ(par::try_lock(c, a), 0);
    par::mutex free;
    EXPECT_EQ(par::try_lock(free, b), 1);
    EXPECT_TRUE(free.try_lock());
    free.unlock();
  }).join();
  c.unlock();
  b.unlock();
  a.unlock();
  EXPECT_EQ(par::try_lock(a, b), -1);
  a.unlock();
  b.unlock();
}

template <class Mutex>
void recurse() {
  Mutex mutex;
  auto depth = [&](auto& self, int n) -> int {
    const par::lock_guard<Mutex> lock(mutex);
    return n == 0 ? 0 : 1 + self(self, n - 1);
  };
  EXPECT_EQ(depth(depth, 20), 20);
  mutex.lock();
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
  par::thread([&] { EXPECT_FALSE(mutex.try_lock()); }).join();
  mutex.unlock();
  par::thread([&] {
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
  }).join();
}

TEST_P(StdMutex, RecursiveMutexes) {
  recurse<par::recursive_mutex>();
  recurse<par::recursive_timed_mutex>();
}

template <class Mutex>
void time_out() {
  Mutex mutex;
  mutex.lock();
  par::thread([&] {
    EXPECT_FALSE(mutex.try_lock());
    auto before = std::chrono::steady_clock::now();
    EXPECT_FALSE(mutex.try_lock_for(20ms));
    EXPECT_GE(std::chrono::steady_clock::now() - before, 20ms);
    EXPECT_FALSE(mutex.try_lock_for(-1s));
    EXPECT_FALSE(mutex.try_lock_for(0.002s));
    EXPECT_FALSE(mutex.try_lock_until(std::chrono::steady_clock::now() + 5ms));
    const auto wall = std::chrono::system_clock::now() + 20ms;
    EXPECT_FALSE(mutex.try_lock_until(wall));
    EXPECT_GE(std::chrono::system_clock::now(), wall);
    EXPECT_FALSE(mutex.try_lock_until(std::chrono::system_clock::time_point()));
    par::unique_lock<Mutex> lock(mutex, 1ms);
    EXPECT_FALSE(lock.owns_lock());
  }).join();
  par::thread waiter([&] {
    ASSERT_TRUE(mutex.try_lock_for(1h));
    mutex.unlock();
    ASSERT_TRUE(mutex.try_lock_until(std::chrono::system_clock::now() + 1h));
    mutex.unlock();
  });
  par::this_thread::sleep_for(5ms);
  mutex.unlock();
  waiter.join();
  EXPECT_TRUE(mutex.try_lock_for(0s));
  mutex.unlock();
}

TEST_P(StdMutex, TimedMutexes) {
  time_out<par::timed_mutex>();
  time_out<par::recursive_timed_mutex>();
  time_out<par::shared_timed_mutex>();
}

TEST_P(StdMutex, ReadersEnterTogether) {
  par::shared_mutex mutex;
  par::latch inside(3);
  together(3, [&](int) {
    const par::shared_lock<par::shared_mutex> lock(mutex);
    inside.arrive_and_wait();  // passes only if all three hold it
    EXPECT_FALSE(mutex.try_lock());
  });
  EXPECT_TRUE(mutex.try_lock());
  par::thread([&] { EXPECT_FALSE(mutex.try_lock_shared()); }).join();
  mutex.unlock();
}

TEST_P(StdMutex, SharedTimedMutex) {
  par::shared_timed_mutex mutex;
  mutex.lock_shared();
  par::thread([&] {
    EXPECT_FALSE(mutex.try_lock_for(5ms));
    EXPECT_TRUE(mutex.try_lock_shared_for(1h));
    mutex.unlock_shared();
  }).join();
  mutex.unlock_shared();
  mutex.lock();
  par::thread([&] {
    EXPECT_FALSE(mutex.try_lock_shared_for(5ms));
    EXPECT_FALSE(mutex.try_lock_shared_until(std::chrono::system_clock::now() + 5ms));
    const par::shared_lock<par::shared_timed_mutex> lock(mutex, par::try_to_lock);
    EXPECT_FALSE(lock);
  }).join();
  mutex.unlock();
}

// A cache that many read and some fill.
class Cache {
 public:
  std::string get(int key) {
    if (auto found = find(key)) {
      return *found;
    }
    const par::unique_lock<par::shared_mutex> lock(mutex_);
    return map_.try_emplace(key, std::to_string(key)).first->second;
  }

 private:
  std::optional<std::string> find(int key) const {
    const par::shared_lock<par::shared_mutex> lock(mutex_);
    const auto at = map_.find(key);
    return at == map_.end() ? std::nullopt : std::optional(at->second);
  }

  mutable par::shared_mutex mutex_;
  std::map<int, std::string> map_;
};

TEST_P(StdMutex, ReadersAndWritersOfACache) {
  Cache cache;
  together(8, [&](int me) {
    for (int i = 0; i < 300; ++i) {
      const int key = (i * 7 + me) % 50;
      EXPECT_EQ(cache.get(key), std::to_string(key));
    }
  });
}

TEST_P(StdMutex, CallOnceCallsOnce) {
  par::once_flag flag;
  int calls = 0;
  together(8, [&](int me) {
    par::call_once(
        flag,
        [&calls](int, int&& moved) {
          par::this_thread::yield();
          calls += moved;
        },
        me, 1);
    EXPECT_EQ(calls, 1);
  });
  struct Object {
    void add(int n) { total += n; }
    int total = 0;
  } object;
  par::once_flag member;
  par::call_once(member, &Object::add, &object, 3);
  par::call_once(member, &Object::add, &object, 3);
  EXPECT_EQ(object.total, 3);
}

TEST_P(StdMutex, CallOnceThatThrowsLetsAnotherTry) {
  par::once_flag flag;
  std::atomic<int> tries = 0;
  std::atomic<int> thrown = 0;
  together(6, [&](int) {
    try {
      par::call_once(flag, [&] {
        if (++tries < 4) {
          par::this_thread::yield();
          throw std::runtime_error("not yet");
        }
      });
    } catch (const std::runtime_error&) {
      ++thrown;
    }
  });
  EXPECT_EQ(tries, 4);
  EXPECT_EQ(thrown, 3);
}

}  // namespace
