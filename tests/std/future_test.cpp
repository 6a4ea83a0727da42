// Futures of every origin, as programs for <future> use them.
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "par.hpp"

namespace {

using namespace std::chrono_literals;

class StdFuture : public ParTest {};
INSTANTIATE_TEST_SUITE_P(Workers, StdFuture, kParWorkers);

static_assert(!std::is_copy_constructible_v<par::future<int>>);
static_assert(!std::is_copy_constructible_v<par::promise<int>>);
static_assert(std::is_copy_constructible_v<par::shared_future<int>>);
static_assert(std::is_same_v<decltype(std::declval<par::future<int&>>().get()), int&>);
static_assert(std::is_same_v<decltype(std::declval<par::shared_future<int>>().get()), const int&>);
static_assert(std::is_same_v<decltype(std::declval<par::shared_future<int&>>().get()), int&>);
static_assert(std::is_void_v<decltype(std::declval<par::shared_future<void>>().get())>);
static_assert(std::uses_allocator_v<par::promise<int>, std::allocator<int>>);

template <class F>
void throws(par::future_errc code, F f) {
  try {
    f();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const par::future_error& e) {
    EXPECT_EQ(e.code(), par::make_error_code(code));
  }
}

TEST_P(StdFuture, APromiseIsKept) {
  par::promise<std::string> promise;
  par::future<std::string> future = promise.get_future();
  EXPECT_TRUE(future.valid());
  EXPECT_EQ(future.wait_for(5ms), par::future_status::timeout);
  EXPECT_EQ(future.wait_until(std::chrono::system_clock::now() + 5ms),
            par::future_status::timeout);
  par::thread giver([p = std::move(promise)]() mutable { p.set_value("kept"); });
  EXPECT_EQ(future.wait_for(1h), par::future_status::ready);
  EXPECT_EQ(future.wait_until(std::chrono::steady_clock::now()), par::future_status::ready);
  EXPECT_EQ(future.get(), "kept");
  EXPECT_FALSE(future.valid());
  giver.join();
}

TEST_P(StdFuture, OfReferencesAndVoidAndWhatOnlyMoves) {
  int target = 1;
  par::promise<int&> reference;
  auto to_target = reference.get_future();
  reference.set_value(target);
  int& got = to_target.get();
  EXPECT_EQ(&got, &target);

  par::promise<void> done;
  auto ended = done.get_future();
  par::thread ender([&] { done.set_value(); });
  ended.get();
  ender.join();

  par::promise<std::unique_ptr<int>> moved(std::allocator_arg, std::allocator<int>());
  auto owner = moved.get_future();
  moved.set_value(std::make_unique<int>(7));
  EXPECT_EQ(*owner.get(), 7);
}

TEST_P(StdFuture, AnExceptionArrives) {
  par::promise<int> promise;
  auto future = promise.get_future();
  par::thread thrower([&] {
    try {
      throw std::out_of_range("far");
    } catch (...) {
      promise.set_exception(std::current_exception());
    }
  });
  EXPECT_THROW(future.get(), std::out_of_range);
  thrower.join();
}

TEST_P(StdFuture, ErrorsOfUse) {
  par::promise<int> promise;
  auto future = promise.get_future();
  throws(par::future_errc::future_already_retrieved, [&] { promise.get_future(); });
  promise.set_value(1);
  throws(par::future_errc::promise_already_satisfied, [&] { promise.set_value(2); });
  throws(par::future_errc::promise_already_satisfied,
         [&] { promise.set_exception(std::make_exception_ptr(1)); });
  EXPECT_EQ(future.get(), 1);
  par::promise<int> other(std::move(promise));
  throws(par::future_errc::no_state, [&] { promise.set_value(3); });
  throws(par::future_errc::no_state, [&] { promise.get_future(); });
  par::promise<int>().swap(promise);
  promise.set_value(4);

  par::future<int> unkept;
  {
    par::promise<int> breaker;
    unkept = breaker.get_future();
  }
  throws(par::future_errc::broken_promise, [&] { unkept.get(); });
  par::promise<void> replaced;
  auto orphan = replaced.get_future();
  replaced = par::promise<void>();
  throws(par::future_errc::broken_promise, [&] { orphan.get(); });
}

// A value whose copy throws leaves the promise as it was.
TEST_P(StdFuture, ACopyThatThrowsDoesNotSatisfy) {
  struct Heavy {
    Heavy() = default;
    Heavy(const Heavy& other) : light(other.light) {
      if (!light) {
        throw std::runtime_error("too heavy");
      }
    }
    Heavy& operator=(const Heavy&) = default;
    bool light = false;
  };
  par::promise<Heavy> promise;
  auto future = promise.get_future();
  Heavy value;
  EXPECT_THROW(promise.set_value(value), std::runtime_error);
  EXPECT_EQ(future.wait_for(0s), par::future_status::timeout);
  value.light = true;
  promise.set_value(value);
  EXPECT_TRUE(future.get().light);
}

TEST_P(StdFuture, ASharedFutureIsForAll) {
  par::promise<std::vector<int>> promise;
  par::shared_future<std::vector<int>> shared = promise.get_future().share();
  std::atomic<int> sum = 0;
  std::vector<par::thread> readers;
  for (int i = 0; i < 6; ++i) {
    readers.emplace_back([shared, &sum] {
      const std::vector<int>& seen = shared.get();
      sum += std::accumulate(seen.begin(), seen.end(), 0);
    });
  }
  par::this_thread::yield();
  promise.set_value({1, 2, 3});
  for (auto& t : readers) {
    t.join();
  }
  EXPECT_EQ(sum, 36);
  EXPECT_EQ(&shared.get(), &par::shared_future<std::vector<int>>(shared).get());
  par::shared_future<std::vector<int>> none;
  EXPECT_FALSE(none.valid());
  none = shared;
  EXPECT_TRUE(none.valid() && shared.valid());
  none = std::move(shared);
  EXPECT_FALSE(shared.valid());

  par::promise<void> failing;
  const par::shared_future<void> failed = failing.get_future();
  failing.set_exception(std::make_exception_ptr(std::logic_error("no")));
  EXPECT_THROW(failed.get(), std::logic_error);
  EXPECT_THROW(failed.get(), std::logic_error);
}

TEST_P(StdFuture, PackagedTasks) {
  par::packaged_task<int(int, int)> add([](int a, int b) { return a + b; });
  auto sum = add.get_future();
  par::thread runner(std::move(add), 2, 3);
  EXPECT_EQ(sum.get(), 5);
  runner.join();
  EXPECT_FALSE(add.valid());
  throws(par::future_errc::no_state, [&] { add(1, 1); });

  par::packaged_task counted([n = 0]() mutable { return ++n; });
  static_assert(std::is_same_v<decltype(counted), par::packaged_task<int()>>);
  auto first = counted.get_future();
  counted();
  throws(par::future_errc::promise_already_satisfied, [&] { counted(); });
  counted.reset();
  auto second = counted.get_future();
  counted();
  EXPECT_EQ(first.get(), 1);
  EXPECT_EQ(second.get(), 2);

  par::packaged_task<void()> thrower([] { throw std::domain_error("outside"); });
  auto thrown = thrower.get_future();
  thrower();
  EXPECT_THROW(thrown.get(), std::domain_error);

  par::future<int> never;
  { never = par::packaged_task<int()>([] { return 1; }).get_future(); }
  throws(par::future_errc::broken_promise, [&] { never.get(); });

  par::packaged_task<void(std::unique_ptr<int>, int&)> takes(
      [](std::unique_ptr<int> from, int& to) { to = *from; });
  int to = 0;
  takes(std::make_unique<int>(9), to);
  EXPECT_EQ(to, 9);
  par::packaged_task<long(int)> member(std::bind_front(std::multiplies<>(), 3L));
  auto product = member.get_future();
  member(4);
  EXPECT_EQ(product.get(), 12);
}

// Threads that run whatever tasks they are given.
TEST_P(StdFuture, APoolOfPackagedTasks) {
  par::mutex mutex;
  par::condition_variable filled;
  std::deque<par::packaged_task<int()>> tasks;
  bool closed = false;
  std::vector<par::thread> pool;
  for (int i = 0; i < 3; ++i) {
    pool.emplace_back([&] {
      for (;;) {
        par::unique_lock<par::mutex> lock(mutex);
        filled.wait(lock, [&] { return closed || !tasks.empty(); });
        if (tasks.empty()) {
          return;
        }
        auto task = std::move(tasks.front());
        tasks.pop_front();
        lock.unlock();
        task();
      }
    });
  }
  std::vector<par::future<int>> results;
  for (int i = 0; i < 100; ++i) {
    par::packaged_task<int()> task([i] { return i * i; });
    results.push_back(task.get_future());
    {
      const par::lock_guard<par::mutex> lock(mutex);
      tasks.push_back(std::move(task));
    }
    filled.notify_one();
  }
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(results[static_cast<std::size_t>(i)].get(), i * i);
  }
  {
    const par::lock_guard<par::mutex> lock(mutex);
    closed = true;
  }
  filled.notify_all();
  for (auto& t : pool) {
    t.join();
  }
}

long sum_of(const long* first, const long* last) {
  if (last - first < 50) {
    return std::accumulate(first, last, 0L);
  }
  const long* middle = first + (last - first) / 2;
  auto right = par::async(par::launch::async, sum_of, middle, last);
  const long left = sum_of(first, middle);
  return left + right.get();
}

TEST_P(StdFuture, AsyncDividesAndConquers) {
  std::vector<long> numbers(1000);
  std::iota(numbers.begin(), numbers.end(), 0);
  EXPECT_EQ(sum_of(numbers.data(), numbers.data() + numbers.size()), 499500);
}

TEST_P(StdFuture, AsyncRunsElsewhere) {
  auto id = par::async(par::launch::async, [] { return par::this_thread::get_id(); });
  EXPECT_NE(id.get(), par::this_thread::get_id());
  struct Object {
    int twice(int n) const { return 2 * n + base; }
    int base;
  };
  const Object object{1};
  EXPECT_EQ(par::async(&Object::twice, &object, 4).get(), 9);
  int target = 0;
  par::future<int&> reference =
      par::async(par::launch::async, [](int& t) -> int& { return ++t; }, std::ref(target));
  EXPECT_EQ(&reference.get(), &target);
  EXPECT_EQ(target, 1);
  auto thrown = par::async([]() -> int { throw std::range_error("out"); });
  EXPECT_THROW(thrown.get(), std::range_error);
}

TEST_P(StdFuture, TheFutureOfAsyncWaitsInItsDestructor) {
  std::atomic<bool> ended = false;
  {
    const auto future = par::async(par::launch::async, [&] {
      par::this_thread::sleep_for(10ms);
      ended = true;
    });
    EXPECT_EQ(future.wait_for(0s) == par::future_status::ready, ended);
  }
  EXPECT_TRUE(ended);
}

TEST_P(StdFuture, DeferredIsCalledByWhoAsks) {
  int calls = 0;
  auto deferred = par::async(par::launch::deferred, [&] {
    ++calls;
    return par::this_thread::get_id();
  });
  EXPECT_EQ(deferred.wait_for(1h), par::future_status::deferred);
  EXPECT_EQ(deferred.wait_until(std::chrono::system_clock::now() + 1h),
            par::future_status::deferred);
  EXPECT_EQ(calls, 0);
  deferred.wait();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(deferred.get(), par::this_thread::get_id());
  EXPECT_EQ(calls, 1);
  { auto dropped = par::async(par::launch::deferred, [&] { ++calls; }); }
  EXPECT_EQ(calls, 1);

  std::atomic<int> shared_calls = 0;
  par::shared_future<int> shared = par::async(par::launch::deferred, [&] {
    par::this_thread::yield();
    return ++shared_calls;
  });
  std::vector<par::thread> askers;
  for (int i = 0; i < 4; ++i) {
    askers.emplace_back([shared] { EXPECT_EQ(shared.get(), 1); });
  }
  for (auto& t : askers) {
    t.join();
  }
}

TEST_P(StdFuture, ManyWaitForOneAsync) {
  par::latch go(1);
  par::shared_future<int> shared = par::async(par::launch::async, [&] {
    go.wait();
    return 3;
  });
  std::vector<par::thread> askers;
  for (int i = 0; i < 4; ++i) {
    askers.emplace_back([shared] { EXPECT_EQ(shared.get(), 3); });
  }
  EXPECT_EQ(shared.wait_for(5ms), par::future_status::timeout);
  go.count_down();
  for (auto& t : askers) {
    t.join();
  }
}

TEST_P(StdFuture, APipelineOfFutures) {
  par::future<int> stage = par::async([] { return 1; });
  for (int i = 0; i < 20; ++i) {
    stage = par::async(
        par::launch::async, [](par::future<int> before) { return before.get() + 1; },
        std::move(stage));
  }
  EXPECT_EQ(stage.get(), 21);
}

TEST_P(StdFuture, ReadyAtThreadExit) {
  par::promise<int> promise;
  auto future = promise.get_future();
  par::packaged_task<int()> task([] { return 2; });
  auto result = task.get_future();
  par::thread setter([&] {
    promise.set_value_at_thread_exit(1);
    task.make_ready_at_thread_exit();
    EXPECT_EQ(future.wait_for(0s), par::future_status::timeout);
    EXPECT_EQ(result.wait_for(0s), par::future_status::timeout);
    throws(par::future_errc::promise_already_satisfied, [&] { promise.set_value(3); });
    throws(par::future_errc::promise_already_satisfied,
           [&] { promise.set_value_at_thread_exit(3); });
  });
  EXPECT_EQ(future.get(), 1);
  EXPECT_EQ(result.get(), 2);
  setter.join();

  par::promise<void> failing;
  auto failed = failing.get_future();
  par::thread([p = std::move(failing)]() mutable {
    p.set_exception_at_thread_exit(std::make_exception_ptr(std::runtime_error("late")));
  }).join();
  EXPECT_THROW(failed.get(), std::runtime_error);
}

}  // namespace
