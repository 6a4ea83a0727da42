// Waits until a time of a clock that the program has made, as programs for <chrono> have them.
#include <chrono>
#include <mutex>

#include "par.hpp"

namespace {

using namespace std::chrono_literals;

class StdClock : public ParTest {};
INSTANTIATE_TEST_SUITE_P(Workers, StdClock, kParWorkers);

// Half as fast as time: what is left until then is too short each time it is looked at.
struct SlowClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<SlowClock>;
  static constexpr bool is_steady = false;
  static time_point now() noexcept {
    return time_point(std::chrono::steady_clock::now().time_since_epoch() / 2);
  }
};
static_assert(std::chrono::is_clock_v<SlowClock>);

// wait(t) is to return when it is t, and not before.
template <class F>
void waits(F wait) {
  const auto t = SlowClock::now() + 10ms;
  wait(t);
  EXPECT_GE(SlowClock::now(), t);
}

TEST_P(StdClock, Sleep) {
  waits([](auto t) { par::this_thread::sleep_until(t); });
  par::this_thread::sleep_until(SlowClock::time_point());
}

template <class Mutex>
void try_lock() {
  Mutex mutex;
  mutex.lock();
  par::thread([&] { waits([&](auto t) { EXPECT_FALSE(mutex.try_lock_until(t)); }); }).join();
  mutex.unlock();
  EXPECT_TRUE(mutex.try_lock_until(SlowClock::now() + 1h));
  mutex.unlock();
}

TEST_P(StdClock, Mutexes) {
  try_lock<par::timed_mutex>();
  try_lock<par::recursive_timed_mutex>();
  try_lock<par::shared_timed_mutex>();
  par::shared_timed_mutex shared;
  shared.lock();
  waits([&](auto t) {
    par::thread([&] { EXPECT_FALSE(shared.try_lock_shared_until(t)); }).join();
  });
  shared.unlock();
}

template <class Condition>
void wait_for_a_condition() {
  par::mutex mutex;
  Condition condition;
  par::unique_lock<par::mutex> lock(mutex);
  waits([&](auto t) {
    while (condition.wait_until(lock, t) == par::cv_status::no_timeout) {
    }
  });
  waits([&](auto t) { EXPECT_FALSE(condition.wait_until(lock, t, [] { return false; })); });
}

TEST_P(StdClock, Conditions) {
  wait_for_a_condition<par::condition_variable>();
  wait_for_a_condition<par::condition_variable_any>();
}

TEST_P(StdClock, Futures) {
  par::promise<int> promise;
  auto future = promise.get_future();
  waits([&](auto t) { EXPECT_EQ(future.wait_until(t), par::future_status::timeout); });
  promise.set_value(1);
  EXPECT_EQ(future.wait_until(SlowClock::now() + 1h), par::future_status::ready);
}

TEST_P(StdClock, Semaphores) {
  par::binary_semaphore semaphore(0);
  waits([&](auto t) { EXPECT_FALSE(semaphore.try_acquire_until(t)); });
  semaphore.release();
  EXPECT_TRUE(semaphore.try_acquire_until(SlowClock::now() + 1h));
}

}  // namespace
