// weft::thread and weft::this_thread.
#include <atomic>
#include <functional>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <vector>

#include "support/runtime_fixture.hpp"
#include "weft/weft.hpp"

namespace {

using namespace weft_test;

class HppThread : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, HppThread, kWorkerCounts);

static_assert(!std::is_copy_constructible_v<weft::thread>);
static_assert(std::is_nothrow_move_constructible_v<weft::thread>);
static_assert(!std::is_constructible_v<weft::thread, int>);
static_assert(!std::is_constructible_v<weft::thread, void (*)(int), std::string>);

TEST_P(HppThread, CallsAnyCallableWithItsArguments) {
  int sum = 0;
  weft::thread a([&](int x, long y) { sum += static_cast<int>(x + y); }, 1, 2L);
  a.join();
  weft::thread b([](int& target, std::unique_ptr<int> p) { target += *p; }, std::ref(sum),
                 std::make_unique<int>(10));
  b.join();
  struct Object {
    void add(int n) { total += n; }
    int total = 0;
  } object;
  weft::thread c(&Object::add, &object, 7);
  c.join();
  EXPECT_EQ(sum, 13);
  EXPECT_EQ(object.total, 7);
}

TEST_P(HppThread, ArgumentsAreCopiedByDefault) {
  std::string text = "before";
  std::string seen;
  weft::thread t([&seen](const std::string& s) { seen = s; }, text);
  text = "after";
  t.join();
  EXPECT_EQ(seen, "before");
}

TEST_P(HppThread, JoinableJoinAndTwice) {
  weft::thread none;
  EXPECT_FALSE(none.joinable());
  EXPECT_EQ(none.get_id(), weft::thread::id());
  EXPECT_EQ(none.native_handle(), nullptr);
  EXPECT_THROW(none.join(), weft::error);
  EXPECT_THROW(none.detach(), weft::error);
  weft::thread t([] { weft::this_thread::yield(); });
  EXPECT_TRUE(t.joinable());
  EXPECT_NE(t.native_handle(), nullptr);
  t.join();
  EXPECT_FALSE(t.joinable());
  try {
    t.join();
    ADD_FAILURE();
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), std::errc::invalid_argument);
    EXPECT_EQ(e.code().value(), WEFT_ERR_INVALID);
    EXPECT_STREQ(e.code().category().name(), "weft");
  }
}

TEST_P(HppThread, MoveAndSwap) {
  std::atomic<int> count = 0;
  weft::thread a([&] { ++count; });
  const auto id = a.get_id();
  weft::thread b(std::move(a));
  EXPECT_FALSE(a.joinable());
  EXPECT_EQ(b.get_id(), id);
  a = std::move(b);
  EXPECT_TRUE(a.joinable());
  weft::thread c;
  swap(a, c);
  EXPECT_FALSE(a.joinable());
  c.swap(a);
  a.join();
  EXPECT_EQ(count, 1);
}

TEST_P(HppThread, InAVector) {
  std::atomic<int> count = 0;
  std::vector<weft::thread> threads;
  for (int i = 0; i < 1000; ++i) {
    threads.emplace_back([&] {
      weft::this_thread::yield();
      ++count;
    });
  }
  for (auto& t : threads) {
    t.join();
  }
  EXPECT_EQ(count, 1000);
}

TEST_P(HppThread, IdsAreThoseOfThisThread) {
  weft::thread::id inside;
  weft::thread t([&] { inside = weft::this_thread::get_id(); });
  const weft::thread::id outside = t.get_id();
  t.join();
  EXPECT_EQ(inside, outside);
  EXPECT_NE(inside, weft::this_thread::get_id());
  EXPECT_NE(inside, weft::thread::id());
  weft::thread::id klt;
  on_klt([&] { klt = weft::this_thread::get_id(); });
  EXPECT_NE(klt, weft::thread::id());
  EXPECT_NE(klt, inside);
  std::unordered_set<weft::thread::id> set{inside, klt};
  EXPECT_TRUE(set.contains(outside));
  EXPECT_TRUE((inside < klt) != (klt < inside));
  std::ostringstream text;
  text << inside;
  EXPECT_FALSE(text.str().empty());
}

TEST_P(HppThread, HardwareConcurrencyIsTheNumberOfWorkers) {
  EXPECT_EQ(weft::thread::hardware_concurrency(), workers());
}

TEST_P(HppThread, AnExceptionArrivesAtTheJoin) {
  weft::thread t([] {
    weft::this_thread::yield();
    throw std::runtime_error("from inside");
  });
  try {
    t.join();
    ADD_FAILURE();
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "from inside");
  }
  EXPECT_FALSE(t.joinable());
  weft::thread u([] { throw 42; });
  EXPECT_THROW(u.join(), int);
}

TEST_P(HppThread, AnExceptionTravelsThroughSeveralJoins) {
  weft::thread t([] {
    weft::thread inner([] {
      weft::thread innermost([] { throw std::out_of_range("deep"); });
      innermost.join();
    });
    inner.join();
  });
  EXPECT_THROW(t.join(), std::out_of_range);
}

TEST_P(HppThread, JoinOfOneselfThrows) {
  weft::event ready;
  weft::thread t;
  t = weft::thread([&] {
    ready.wait();
    try {
      t.join();
      ADD_FAILURE();
    } catch (const std::system_error& e) {
      EXPECT_EQ(e.code(), std::errc::resource_deadlock_would_occur);
    }
  });
  ready.set();
  t.join();
}

TEST_P(HppThread, JoinFromAKernelThread) {
  std::atomic<int> count = 0;
  on_klt([&] {
    weft::thread t([&] { ++count; });
    t.join();
    weft::thread u([] { throw 1; });
    EXPECT_THROW(u.join(), int);
  });
  EXPECT_EQ(count, 1);
}

TEST_P(HppThread, DetachedThreadsRunOn) {
  std::atomic<int> count = 0;
  auto alive = std::make_shared<int>(0);
  for (int i = 0; i < 200; ++i) {
    weft::thread t([&, alive] {
      weft::this_thread::yield();
      ++count;
    });
    t.detach();
    EXPECT_FALSE(t.joinable());
  }
  EXPECT_TRUE(wait_until([&] { return count == 200 && alive.use_count() == 1; }));
  for (int i = 0; i < 100; ++i) {
    weft_yield();
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

TEST_P(HppThread, DetachAfterTheEnd) {
  std::atomic<bool> ran = false;
  weft::thread t([&] { ran = true; });
  EXPECT_TRUE(wait_until([&] { return ran.load(); }));
  t.detach();
  for (int i = 0; i < 100; ++i) {
    weft_yield();
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

TEST_P(HppThread, Attributes) {
  std::string name;
  std::size_t stack = 0;
  weft::thread t(
      weft::attributes{.name = "painter", .stack_size = 512 * 1024, .priority = 6},
      [&](int n) {
        EXPECT_EQ(n, 5);
        name = weft_unit_name(weft_self());
        stack = weft_unit_stack_size(weft_self());
        EXPECT_EQ(weft_unit_priority(weft_self()), 6);
      },
      5);
  t.join();
  EXPECT_EQ(name, "painter");
  EXPECT_GE(stack, 500u * 1024);
  const weft::attributes pinned{.worker = weft_worker_get(workers() - 1), .pinned = true};
  weft::thread u(pinned, [&] { EXPECT_EQ(weft_worker_index(weft_worker_self()), workers() - 1); });
  u.join();
  const weft::attributes bad{.stack_size = 100};
  try {
    weft::thread v(bad, [] {});
    ADD_FAILURE();
    v.join();
  } catch (const weft::error& e) {
    EXPECT_EQ(e.code().value(), WEFT_ERR_STACK_TOO_SMALL);
  }
}

struct Counted {
  explicit Counted(int& n) : alive(n) { ++alive; }
  ~Counted() { --alive; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  int& alive;
};

[[noreturn]] void leave_deep(int depth, int& alive) {
  const Counted counted(alive);
  if (depth == 0) {
    weft::this_thread::yield();
    weft::this_thread::exit();
  }
  leave_deep(depth - 1, alive);
}

TEST_P(HppThread, ExitRunsDestructors) {
  int alive = 0;
  bool after = false;
  weft::thread t([&] {
    try {
      leave_deep(5, alive);
    } catch (const std::exception&) {
      ADD_FAILURE();  // exit is no std::exception
    }
    after = true;
  });
  t.join();  // and no exception arrives
  EXPECT_EQ(alive, 0);
  EXPECT_FALSE(after);
}

TEST_P(HppThread, CancelPoint) {
  int step = 0;
  weft::thread t([&] {
    weft::this_thread::cancel_point();
    step = 1;
    weft_cancel(weft_self());
    weft::this_thread::cancel_point();
    step = 2;
  });
  t.join();
  EXPECT_EQ(step, 1);
}

TEST_P(HppThread, TheCallableIsDestroyedByTheJoin) {
  auto shared = std::make_shared<int>(1);
  weft::thread t([shared] {});
  t.join();
  EXPECT_EQ(shared.use_count(), 1);
  weft::thread u([shared] { throw 1; });
  EXPECT_THROW(u.join(), int);
  EXPECT_EQ(shared.use_count(), 1);
}

TEST(HppThreadWithoutRuntime, CreatingThrows) {
  ASSERT_FALSE(weft_initialized());
  EXPECT_GE(weft::thread::hardware_concurrency(), 1u);
  try {
    weft::thread t([] {});
    ADD_FAILURE();
    t.join();
  } catch (const weft::error& e) {
    EXPECT_EQ(e.code().value(), WEFT_ERR_UNINITIALIZED);
    EXPECT_NE(std::string(e.what()).find(weft_strerror(WEFT_ERR_UNINITIALIZED)), std::string::npos);
  }
}

TEST(HppThreadDeath, AJoinableOneIsNotDestroyed) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(
      {
        const weft::runtime rt(weft::options{.workers = 1});
        weft::thread t([] {});
      },
      "");
}

TEST(HppThreadDeath, AJoinableOneIsNotAssignedTo) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(
      {
        const weft::runtime rt(weft::options{.workers = 1});
        weft::thread t([] {});
        t = weft::thread();
      },
      "");
}

TEST(HppThreadDeath, AnExceptionOfADetachedOneTerminates) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(
      {
        const weft::runtime rt(weft::options{.workers = 2});
        weft::thread t([] { throw 1; });
        t.detach();
        wait_until([] { return false; });
      },
      "terminate");
}

TEST(HppRuntime, StartsAndEndsWithTheScope) {
  {
    const weft::runtime rt(weft::options{.workers = 2});
    EXPECT_TRUE(weft_initialized());
    EXPECT_EQ(weft::runtime::workers(), 2u);
    {
      const weft::runtime nested;
      EXPECT_EQ(weft::runtime::workers(), 2u);
    }
    EXPECT_TRUE(weft_initialized());
  }
  EXPECT_FALSE(weft_initialized());
}

TEST(HppRuntime, FinalizeThrowsWhatTheDestructorKeepsQuiet) {
  weft::runtime rt(weft::options{.workers = 1});
  weft::event leave;
  weft::thread t([&] { leave.wait(); });
  testing::internal::CaptureStderr();
  EXPECT_THROW(rt.finalize(), weft::error);
  testing::internal::GetCapturedStderr();
  leave.set();
  t.join();
  rt.finalize();
  EXPECT_FALSE(weft_initialized());
  EXPECT_THROW(rt.finalize(), weft::error);
}

TEST(HppRuntime, BadOptionsThrow) {
  EXPECT_THROW(weft::runtime rt(weft::options{.stack_size = 100}), weft::error);
  EXPECT_FALSE(weft_initialized());
}

}  // namespace
