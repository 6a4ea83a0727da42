// Threads, jthreads and stop tokens, as programs for <thread> and <stop_token> use them.
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <unordered_set>
#include <vector>

#include "par.hpp"

namespace {

using namespace std::chrono_literals;

class StdThread : public ParTest {};
INSTANTIATE_TEST_SUITE_P(Workers, StdThread, kParWorkers);

static_assert(!std::is_copy_constructible_v<par::jthread>);
static_assert(std::is_nothrow_move_assignable_v<par::jthread>);
static_assert(std::is_nothrow_copy_constructible_v<par::stop_token>);

TEST_P(StdThread, ArgumentsAreCopiedOrMoved) {
  std::string text = "before";
  bool was_before = false;
  int target = 0;
  par::thread copied([&was_before](const std::string& s) { was_before = s == "before"; }, text);
  par::thread moved([](int& out, std::unique_ptr<int> n) { out = *n; }, std::ref(target),
                    std::make_unique<int>(7));
  text = "after";
  moved.join();
  copied.join();
  EXPECT_TRUE(was_before);
  EXPECT_EQ(target, 7);
}

TEST_P(StdThread, IdsAndMoves) {
  par::thread none;
  EXPECT_FALSE(none.joinable());
  EXPECT_EQ(none.get_id(), par::thread::id());
  std::unordered_set<par::thread::id> ids{par::this_thread::get_id()};
  par::thread::id inside;
  par::thread a([&inside] { inside = par::this_thread::get_id(); });
  const auto id = a.get_id();
  par::thread b(std::move(a));
  EXPECT_FALSE(a.joinable());
  EXPECT_TRUE(ids.insert(b.get_id()).second);
  a.swap(b);
  swap(a, b);
  b.join();
  EXPECT_EQ(inside, id);
  EXPECT_NE(id, par::this_thread::get_id());
  std::ostringstream printed;
  printed << id;
  EXPECT_FALSE(printed.str().empty());
  EXPECT_GE(par::thread::hardware_concurrency(), 1u);
}

TEST_P(StdThread, ErrorsOfJoinAndDetach) {
  par::thread none;
  try {
    none.join();
    ADD_FAILURE();
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), std::errc::invalid_argument);
  }
  EXPECT_THROW(none.detach(), std::system_error);
}

TEST_P(StdThread, Sleeps) {
  const auto before = std::chrono::steady_clock::now();
  par::this_thread::sleep_for(10ms);
  EXPECT_GE(std::chrono::steady_clock::now() - before, 10ms);
  par::this_thread::sleep_until(before + 20ms);
  EXPECT_GE(std::chrono::steady_clock::now() - before, 20ms);
  const auto wall = std::chrono::system_clock::now() + 10ms;
  par::this_thread::sleep_until(wall);
  EXPECT_GE(std::chrono::system_clock::now(), wall);
  par::this_thread::sleep_for(-1h);
  par::this_thread::sleep_until(before);
  par::this_thread::sleep_for(std::chrono::duration<double, std::milli>(0.5));
}

TEST_P(StdThread, JthreadJoinsAtTheEndOfItsScope) {
  std::atomic<int> ended = 0;
  {
    par::jthread plain([&](int n) { ended += n; }, 1);
    std::vector<par::jthread> more;
    for (int i = 0; i < 4; ++i) {
      more.emplace_back([&] {
        par::this_thread::yield();
        ++ended;
      });
    }
  }
  EXPECT_EQ(ended, 5);
  par::jthread none;
  EXPECT_FALSE(none.joinable());
  EXPECT_FALSE(none.request_stop());
  EXPECT_FALSE(none.get_stop_token().stop_possible());
}

TEST_P(StdThread, JthreadIsAskedToStop) {
  std::atomic<bool> stopped = false;
  {
    par::jthread looper([&](par::stop_token token, int) {
      while (!token.stop_requested()) {
        par::this_thread::yield();
      }
      stopped = true;
    }, 1);
    EXPECT_TRUE(looper.get_stop_token().stop_possible());
    EXPECT_FALSE(looper.get_stop_source().stop_requested());
  }
  EXPECT_TRUE(stopped);
}

TEST_P(StdThread, JthreadAssignmentStopsTheOldOne) {
  std::atomic<int> stopped = 0;
  const auto run = [&](par::stop_token token) {
    while (!token.stop_requested()) {
      par::this_thread::yield();
    }
    ++stopped;
  };
  par::jthread thread(run);
  thread = par::jthread(run);
  EXPECT_EQ(stopped, 1);
  EXPECT_TRUE(thread.request_stop());
  EXPECT_FALSE(thread.request_stop());
  thread.join();
  EXPECT_EQ(stopped, 2);
  EXPECT_FALSE(thread.joinable());
}

// A queue whose consumers wait until there is something, or until they are asked to stop.
TEST_P(StdThread, ConditionVariableAnyWithAStopToken) {
  par::mutex mutex;
  par::condition_variable_any filled;
  std::deque<int> queue;
  std::atomic<long> sum = 0;
  std::atomic<int> ended = 0;
  {
    std::vector<par::jthread> consumers;
    for (int i = 0; i < 3; ++i) {
      consumers.emplace_back([&](par::stop_token token) {
        for (;;) {
          par::unique_lock<par::mutex> lock(mutex);
          if (!filled.wait(lock, token, [&] { return !queue.empty(); })) {
            EXPECT_TRUE(token.stop_requested());
            ++ended;
            return;
          }
          sum += queue.front();
          queue.pop_front();
        }
      });
    }
    for (int i = 0; i < 500; ++i) {
      {
        const par::lock_guard<par::mutex> lock(mutex);
        queue.push_back(i);
      }
      filled.notify_one();
    }
    while (sum != 500L * 499 / 2) {
      par::this_thread::yield();
    }
  }
  EXPECT_EQ(ended, 3);
}

TEST_P(StdThread, TimedWaitsWithAStopToken) {
  par::mutex mutex;
  par::condition_variable_any changed;
  par::stop_source source;
  par::unique_lock<par::mutex> lock(mutex);
  const auto never = [] { return false; };
  EXPECT_FALSE(changed.wait_for(lock, source.get_token(), 5ms, never));
  EXPECT_FALSE(changed.wait_until(lock, source.get_token(),
                                  std::chrono::system_clock::now() + 5ms, never));
  EXPECT_TRUE(changed.wait_for(lock, source.get_token(), 5ms, [] { return true; }));
  par::thread stopper([&] { source.request_stop(); });
  EXPECT_FALSE(changed.wait_for(lock, source.get_token(), 1h, never));
  EXPECT_FALSE(changed.wait_until(lock, source.get_token(),
                                  std::chrono::steady_clock::now() + 1h, never));
  EXPECT_FALSE(changed.wait(lock, source.get_token(), never));
  EXPECT_TRUE(changed.wait(lock, source.get_token(), [] { return true; }));
  EXPECT_TRUE(lock.owns_lock());
  lock.unlock();
  stopper.join();
}

TEST_P(StdThread, StopStateIsShared) {
  par::stop_source source;
  const par::stop_source copy = source;
  const par::stop_token token = source.get_token();
  EXPECT_EQ(source, copy);
  EXPECT_EQ(token, copy.get_token());
  EXPECT_NE(token, par::stop_source().get_token());
  EXPECT_TRUE(token.stop_possible());
  EXPECT_FALSE(token.stop_requested());
  EXPECT_TRUE(source.request_stop());
  EXPECT_FALSE(copy.request_stop());
  EXPECT_TRUE(token.stop_requested());

  const par::stop_token none;
  EXPECT_FALSE(none.stop_possible());
  const par::stop_source stateless(par::nostopstate);
  EXPECT_FALSE(stateless.stop_possible());
  EXPECT_FALSE(stateless.request_stop());
  EXPECT_EQ(stateless.get_token(), none);

  std::optional<par::stop_source> last(std::in_place);
  const par::stop_token orphan = last->get_token();
  EXPECT_TRUE(orphan.stop_possible());
  last.reset();
  EXPECT_FALSE(orphan.stop_possible());
}

TEST_P(StdThread, StopCallbacks) {
  par::stop_source source;
  int calls = 0;
  {
    const par::stop_callback gone(source.get_token(), [&] { calls += 100; });
  }
  const par::stop_callback one(source.get_token(), [&] { calls += 1; });
  auto add = [&] { calls += 10; };
  const par::stop_callback<decltype(add)&> two(source.get_token(), add);
  const par::stop_callback<std::function<void()>> three(source.get_token(), [&] { calls += 1000; });
  EXPECT_EQ(calls, 0);
  source.request_stop();
  EXPECT_EQ(calls, 1011);
  const par::stop_callback late(source.get_token(), [&] { calls = 5; });
  EXPECT_EQ(calls, 5);  // at once, since stop had been requested
  const par::stop_callback never(par::stop_token(), [&] { calls = 6; });
  EXPECT_EQ(calls, 5);
}

TEST_P(StdThread, AStopCallbackMayDestroyItself) {
  par::stop_source source;
  bool called = false;
  std::optional<par::stop_callback<std::function<void()>>> self;
  self.emplace(source.get_token(), [&] {
    called = true;
    self.reset();
  });
  source.request_stop();
  EXPECT_TRUE(called);
  EXPECT_FALSE(self.has_value());
}

// The destructor waits for a callback that another thread is in.
TEST_P(StdThread, TheDestructorOfAStopCallbackWaits) {
  par::stop_source source;
  std::atomic<bool> entered = false;
  std::atomic<bool> left = false;
  auto slow = [&] {
    entered = true;
    par::this_thread::sleep_for(20ms);
    left = true;
  };
  auto callback = std::make_unique<par::stop_callback<decltype(slow)&>>(source.get_token(), slow);
  par::thread stopper([&] { source.request_stop(); });
  while (!entered) {
    par::this_thread::yield();
  }
  callback.reset();
  EXPECT_TRUE(left);
  stopper.join();
}

}  // namespace
