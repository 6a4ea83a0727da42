// What weft::future and its like add to those of std: contexts, early ends, and where a callable runs. The
// rest is tested by std/future_test.cpp.
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>

#include "support/runtime_fixture.hpp"
#include "weft/weft.hpp"

namespace {

using namespace weft_test;
using namespace std::chrono_literals;

class HppFuture : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, HppFuture, kWorkerCounts);

template <class F>
void throws_error(int code, F f) {
  try {
    f();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const weft::error& e) {
    EXPECT_EQ(e.code().value(), code);
  }
}

template <class F>
void throws_future_error(std::future_errc code, F f) {
  try {
    f();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::future_error& e) {
    EXPECT_EQ(e.code(), code);
  }
}

TEST_P(HppFuture, InATasklet) {
  weft::promise<int> promise;
  auto future = promise.get_future();
  in_tasklet([&] {
    throws_error(WEFT_ERR_CONTEXT, [&] { future.wait(); });
    throws_error(WEFT_ERR_CONTEXT, [&] { future.get(); });
    EXPECT_TRUE(future.valid());
    EXPECT_EQ(future.wait_for(0s), weft::future_status::timeout);
    promise.set_value(1);
    EXPECT_EQ(future.get(), 1);
  });
}

TEST_P(HppFuture, AnAsyncThatEndsEarlyBreaksItsPromise) {
  auto thrown = weft::async([]() -> int { weft::this_thread::exit(); });
  throws_future_error(std::future_errc::broken_promise, [&] { thrown.get(); });
  auto left = weft::async(weft::launch::async, [] { weft_exit(); });
  throws_future_error(std::future_errc::broken_promise, [&] { left.get(); });
}

// weft_exit() leaves a call for good: what is never given does not keep whoever asks for it waiting.
TEST_P(HppFuture, ATaskThatEndsItsUltBreaksItsPromise) {
  for (const bool at_exit : {false, true}) {
    weft::packaged_task<int()> task([]() -> int {
      weft_exit();
      return 1;
    });
    auto future = task.get_future();
    weft::thread([&] {
      if (at_exit) {
        task.make_ready_at_thread_exit();
      } else {
        task();
      }
    }).join();
    EXPECT_EQ(future.wait_for(0s), weft::future_status::timeout);
    throws_future_error(std::future_errc::promise_already_satisfied, [&] { task(); });
    task = weft::packaged_task<int()>();
    throws_future_error(std::future_errc::broken_promise, [&] { future.get(); });
  }
}

TEST_P(HppFuture, ATimedWaitSeesTheEndOfAnAsync) {
  auto exited = weft::async([] { weft::this_thread::exit(); });
  EXPECT_EQ(exited.wait_for(1h), weft::future_status::ready);
  throws_future_error(std::future_errc::broken_promise, [&] { exited.get(); });
}

// this_thread::exit() ends whoever calls, and is no outcome.
TEST_P(HppFuture, ExitPassesThroughATaskAndADeferredCall) {
  weft::packaged_task<void()> task([] { weft::this_thread::exit(); });
  auto future = task.get_future();
  bool came_back = false;
  weft::thread([&] {
    task();
    came_back = true;
  }).join();
  EXPECT_EQ(future.wait_for(0s), weft::future_status::timeout);
  task = weft::packaged_task<void()>();
  throws_future_error(std::future_errc::broken_promise, [&] { future.get(); });
  weft::thread([&] {
    auto deferred = weft::async(weft::launch::deferred, [] { weft::this_thread::exit(); });
    deferred.get();
    came_back = true;
  }).join();
  EXPECT_FALSE(came_back);
}

TEST_P(HppFuture, NoPolicyAndNoRuntime) {
  throws_error(WEFT_ERR_INVALID,
               [] { static_cast<void>(weft::async(static_cast<weft::launch>(0), [] {})); });
}

TEST(HppFutureStatic, WithoutARuntime) {
  ASSERT_FALSE(weft_initialized());
  throws_error(WEFT_ERR_UNINITIALIZED, [] { static_cast<void>(weft::async([] {})); });
  EXPECT_EQ(weft::async(weft::launch::deferred, [](int n) { return n; }, 3).get(), 3);
  weft::promise<int> promise;
  auto future = promise.get_future();
  std::thread setter([&] { promise.set_value_at_thread_exit(2); });
  EXPECT_EQ(future.get(), 2);
  setter.join();
}

TEST_P(HppFuture, FromAKernelThread) {
  on_klt([] {
    auto future = weft::async([] {
      weft::this_thread::yield();
      return weft_self() != nullptr;
    });
    EXPECT_TRUE(future.get());
    { auto dropped = weft::async([] { weft::this_thread::yield(); }); }
  });
}

// A fresh ULT is run by whoever waits for it, so a deep recursion needs no more units than it has levels.
int fib(int n) {
  if (n < 2) {
    return n;
  }
  auto first = weft::async(fib, n - 1);
  const int second = fib(n - 2);
  return first.get() + second;
}

TEST_P(HppFuture, Fibonacci) {
  in_ult([] { EXPECT_EQ(fib(14), 377); });
}

// What is left for the end of a thread, in the order in which it was left, in each kind of unit.
TEST_P(HppFuture, AtTheExitOfEachKindOfUnit) {
  weft::promise<int> promises[6];
  weft::future<int> futures[6];
  for (int i = 0; i < 6; ++i) {
    futures[i] = promises[i].get_future();
  }
  const auto promise_at_exit = [&](int i) {
    promises[i].set_value_at_thread_exit(i);
    EXPECT_EQ(futures[i].wait_for(0s), weft::future_status::timeout);
  };
  weft::thread(promise_at_exit, 0).join();
  weft::jthread(promise_at_exit, 1).join();
  weft::async(promise_at_exit, 2).get();
  weft::invoke(promise_at_exit, 3);
  weft::task_group group;
  group.run([&] { promise_at_exit(4); });
  group.wait();
  in_ult([&] { promise_at_exit(5); });
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(futures[i].wait_for(0s), weft::future_status::ready);
    EXPECT_EQ(futures[i].get(), i);
  }
}

}  // namespace
