// Condition variables, as programs for <condition_variable> use them.
#include <chrono>
#include <deque>
#include <memory>
#include <vector>

#include "par.hpp"

namespace {

using namespace std::chrono_literals;

class StdCondition : public ParTest {};
INSTANTIATE_TEST_SUITE_P(Workers, StdCondition, kParWorkers);

// A queue that holds at most `room` elements.
template <class Mutex, class Condition>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t room) : room_(room) {}

  void push(int value) {
    {
      par::unique_lock<Mutex> lock(mutex_);
      not_full_.wait(lock, [this] { return queue_.size() < room_; });
      queue_.push_back(value);
    }
    not_empty_.notify_one();
  }
  int pop() {
    par::unique_lock<Mutex> lock(mutex_);
    while (queue_.empty()) {
      not_empty_.wait(lock);
    }
    const int value = queue_.front();
    queue_.pop_front();
    EXPECT_LT(queue_.size(), room_);
    lock.unlock();
    not_full_.notify_one();
    return value;
  }

 private:
  std::size_t room_;
  Mutex mutex_;
  Condition not_full_;
  Condition not_empty_;
  std::deque<int> queue_;
};

template <class Mutex, class Condition>
void produce_and_consume() {
  constexpr int kEach = 300;
  BoundedQueue<Mutex, Condition> queue(3);
  par::mutex total_mutex;
  long total = 0;
  std::vector<par::thread> threads;
  for (int p = 0; p < 3; ++p) {
    threads.emplace_back([&queue, p] {
      for (int i = 0; i < kEach; ++i) {
        queue.push(p * kEach + i);
      }
    });
    threads.emplace_back([&] {
      long sum = 0;
      for (int i = 0; i < kEach; ++i) {
        sum += queue.pop();
      }
      const par::lock_guard<par::mutex> lock(total_mutex);
      total += sum;
    });
  }
  for (auto& t : threads) {
    t.join();
  }
  EXPECT_EQ(total, 900L * 899 / 2);
}

TEST_P(StdCondition, BoundedProducersAndConsumers) {
  produce_and_consume<par::mutex, par::condition_variable>();
  produce_and_consume<par::mutex, par::condition_variable_any>();
  produce_and_consume<par::timed_mutex, par::condition_variable_any>();
}

template <class Condition>
void time_out() {
  par::mutex mutex;
  Condition condition;
  par::unique_lock<par::mutex> lock(mutex);
  const auto before = std::chrono::steady_clock::now();
  // Without a notification only the time ends it; std may also wake without a reason.
  while (condition.wait_for(lock, 20ms) == par::cv_status::no_timeout) {
  }
  EXPECT_GE(std::chrono::steady_clock::now() - before, 20ms);
  while (condition.wait_until(lock, before) == par::cv_status::no_timeout) {
  }
  const auto wall = std::chrono::system_clock::now() + 20ms;
  while (condition.wait_until(lock, wall) == par::cv_status::no_timeout) {
  }
  EXPECT_GE(std::chrono::system_clock::now(), wall);
  EXPECT_FALSE(condition.wait_for(lock, 5ms, [] { return false; }));
  EXPECT_TRUE(condition.wait_for(lock, -5ms, [] { return true; }));
  EXPECT_FALSE(condition.wait_until(lock, wall, [] { return false; }));
  EXPECT_TRUE(lock.owns_lock());

  bool ready = false;
  par::thread notifier([&] {
    {
      const par::lock_guard<par::mutex> guard(mutex);
      ready = true;
    }
    condition.notify_all();
  });
  EXPECT_TRUE(condition.wait_for(lock, 1h, [&] { return ready; }));
  ready = false;
  par::thread again([&] {
    const par::lock_guard<par::mutex> guard(mutex);
    ready = true;
    condition.notify_one();
  });
  EXPECT_TRUE(
      condition.wait_until(lock, std::chrono::system_clock::now() + 1h, [&] { return ready; }));
  lock.unlock();
  notifier.join();
  again.join();
}

TEST_P(StdCondition, TimesOut) {
  time_out<par::condition_variable>();
  time_out<par::condition_variable_any>();
}

TEST_P(StdCondition, NotifyAllWakesAll) {
  par::mutex mutex;
  par::condition_variable started;
  int waiting = 0;
  bool go = false;
  std::vector<par::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      par::unique_lock<par::mutex> lock(mutex);
      ++waiting;
      started.wait(lock, [&] { return go; });
      --waiting;
    });
  }
  for (;;) {
    const par::lock_guard<par::mutex> lock(mutex);
    if (waiting == 6) {
      go = true;
      break;
    }
    par::this_thread::yield();
  }
  started.notify_all();
  for (auto& t : threads) {
    t.join();
  }
  EXPECT_EQ(waiting, 0);
}

TEST_P(StdCondition, AnyWithASharedLock) {
  par::shared_mutex mutex;
  par::condition_variable_any changed;
  int value = 0;
  std::vector<par::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      par::shared_lock<par::shared_mutex> lock(mutex);
      changed.wait(lock, [&] { return value == 10; });
    });
  }
  for (int i = 0; i < 10; ++i) {
    {
      const par::lock_guard<par::shared_mutex> lock(mutex);
      ++value;
    }
    changed.notify_all();
    par::this_thread::yield();
  }
  for (auto& t : readers) {
    t.join();
  }
}

TEST_P(StdCondition, AnyWithTheMutexItself) {
  par::mutex mutex;
  par::condition_variable_any changed;
  bool ready = false;
  par::thread setter([&] {
    mutex.lock();
    ready = true;
    mutex.unlock();
    changed.notify_one();
  });
  mutex.lock();
  changed.wait(mutex, [&] { return ready; });
  mutex.unlock();
  setter.join();
}

// A waiter that has seen the condition may destroy what it waited on.
TEST_P(StdCondition, DestroyedByTheOneThatWasWoken) {
  struct Shared {
    par::mutex mutex;
    par::condition_variable_any changed;
    bool ready = false;
  };
  for (int i = 0; i < 50; ++i) {
    auto owned = std::make_unique<Shared>();
    Shared& shared = *owned;
    par::thread setter([&shared] {
      const par::lock_guard<par::mutex> lock(shared.mutex);
      shared.ready = true;
      shared.changed.notify_all();
    });
    {
      par::unique_lock<par::mutex> lock(shared.mutex);
      shared.changed.wait(lock, [&] { return shared.ready; });
    }
    setter.join();
  }
}

TEST_P(StdCondition, NotifyAllAtThreadExit) {
  par::mutex mutex;
  par::condition_variable ended;
  bool done = false;
  par::thread worker([&] {
    par::unique_lock<par::mutex> lock(mutex);
    par::notify_all_at_thread_exit(ended, std::move(lock));
    done = true;  // the mutex is held until the thread ends
  });
  {
    par::unique_lock<par::mutex> lock(mutex);
    ended.wait(lock, [&] { return done; });
  }
  worker.join();
}

}  // namespace
