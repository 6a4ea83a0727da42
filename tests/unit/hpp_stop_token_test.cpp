// weft::stop_token where std's would not do: callbacks that suspend, on workers that others need. The rest is
// tested by std/thread_test.cpp.
#include <atomic>
#include <memory>

#include "support/runtime_fixture.hpp"
#include "weft/weft.hpp"

namespace {

using namespace weft_test;

class HppStopToken : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, HppStopToken, kWorkerCounts);

// With one worker requester and destroyer are on the same kernel thread, and the destructor must wait
// all the same, without holding that thread.
TEST_P(HppStopToken, TheDestructorWaitsForACallbackThatSuspends) {
  for (int i = 0; i < 50; ++i) {
    weft::stop_source source;
    weft::event entered;
    std::atomic<bool> left = false;
    auto slow = [&] {
      entered.set();
      for (int k = 0; k < 20; ++k) {
        weft::this_thread::yield();
      }
      left = true;
    };
    auto callback =
        std::make_unique<weft::stop_callback<decltype(slow)&>>(source.get_token(), slow);
    weft::thread requester([&] { source.request_stop(); });
    entered.wait();
    callback.reset();
    EXPECT_TRUE(left);
    requester.join();
  }
}

// The callback wants a mutex that is held by whoever destroys another callback of the same source.
TEST_P(HppStopToken, ACallbackThatLocks) {
  for (int i = 0; i < 50; ++i) {
    weft::stop_source source;
    weft::mutex mutex;
    int calls = 0;
    auto locks = [&] {
      const weft::lock_guard lock(mutex);
      ++calls;
    };
    auto other = std::make_unique<weft::stop_callback<decltype(locks)&>>(source.get_token(), locks);
    const weft::stop_callback kept(source.get_token(), locks);
    weft::unique_lock lock(mutex);
    weft::thread requester([&] { source.request_stop(); });
    for (int k = 0; k < i % 5; ++k) {
      weft::this_thread::yield();
    }
    lock.unlock();
    other.reset();
    requester.join();
    EXPECT_GE(calls, 1);
    EXPECT_LE(calls, 2);
  }
}

TEST_P(HppStopToken, BetweenUltsAndKernelThreads) {
  std::atomic<bool> stopped = false;
  weft::jthread ult([&](weft::stop_token token) {
    weft::mutex mutex;
    weft::condition_variable_any never;
    weft::unique_lock lock(mutex);
    EXPECT_FALSE(never.wait(lock, token, [] { return false; }));
    stopped = true;
  });
  on_klt([&] { EXPECT_TRUE(ult.request_stop()); });
  ult.join();
  EXPECT_TRUE(stopped);
}

// Many waiters, each with a callback that comes and goes, while stop is requested.
TEST_P(HppStopToken, CallbacksComeAndGoWhileStopIsRequested) {
  for (int round = 0; round < 20; ++round) {
    weft::stop_source source;
    std::atomic<int> calls = 0;
    std::atomic<int> made = 0;
    weft::task_group group;
    for (int i = 0; i < 6; ++i) {
      group.run([&] {
        const weft::stop_token token = source.get_token();
        while (!token.stop_requested()) {
          const weft::stop_callback callback(token, [&] { ++calls; });
          ++made;
          weft::this_thread::yield();
        }
        const weft::stop_callback late(token, [&] { ++calls; });
      });
    }
    while (made < 20) {
      weft::this_thread::yield();
    }
    EXPECT_TRUE(source.request_stop());
    group.wait();
    EXPECT_GE(calls, 6);
    EXPECT_LE(calls, made + 6);
  }
}

TEST_P(HppStopToken, JthreadWithAttributes) {
  std::string name;
  weft::jthread named(weft::attributes{.name = "stoppable"}, [&](weft::stop_token) {
    name = weft_unit_name(weft_self());
  });
  named.join();
  EXPECT_EQ(name, "stoppable");
}

TEST_P(HppStopToken, JthreadJoinRethrows) {
  weft::jthread thrower([] { throw 5; });
  EXPECT_THROW(thrower.join(), int);
  EXPECT_FALSE(thrower.joinable());
}

}  // namespace
