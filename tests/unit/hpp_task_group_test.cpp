// weft::task_group.
#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>

#include "support/runtime_fixture.hpp"
#include "weft/weft.hpp"

namespace {

using namespace weft_test;

class HppTaskGroup : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, HppTaskGroup, kWorkerCounts);

TEST_P(HppTaskGroup, WaitsForAllTasks) {
  std::atomic<int> count = 0;
  weft::task_group group;
  group.wait();  // none
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 500; ++i) {
      group.run([&, i] {
        if (i % 3 == 0) {
          weft::this_thread::yield();
        }
        ++count;
      });
    }
    group.wait();
    EXPECT_EQ(count, 500 * (round + 1));
  }
}

TEST_P(HppTaskGroup, TheDestructorWaits) {
  std::atomic<int> count = 0;
  {
    weft::task_group group;
    for (int i = 0; i < 100; ++i) {
      group.run([&] {
        weft::this_thread::yield();
        ++count;
      });
    }
  }
  EXPECT_EQ(count, 100);
}

TEST_P(HppTaskGroup, TasksAddTasks) {
  std::atomic<int> count = 0;
  weft::task_group group;
  std::function<void(int)> grow = [&](int depth) {
    ++count;
    if (depth > 0) {
      group.run([&, depth] { grow(depth - 1); });
      group.run([&, depth] { grow(depth - 1); });
    }
  };
  group.run([&] { grow(9); });
  group.wait();
  EXPECT_EQ(count, (1 << 10) - 1);
}

long fib(int n) {
  if (n < 2) {
    return n;
  }
  long a = 0;
  weft::task_group group;
  group.run([&, n] { a = fib(n - 1); });
  const long b = fib(n - 2);
  group.wait();
  return a + b;
}

TEST_P(HppTaskGroup, Nested) {
  EXPECT_EQ(fib(16), 987);
  in_ult([] { EXPECT_EQ(fib(16), 987); });
}

TEST_P(HppTaskGroup, TheFirstExceptionArrivesAndAllTasksAreCompleted) {
  std::atomic<int> count = 0;
  weft::task_group group;
  for (int i = 0; i < 100; ++i) {
    group.run([&, i] {
      ++count;
      if (i % 10 == 3) {
        throw std::runtime_error("task");
      }
    });
  }
  EXPECT_THROW(group.wait(), std::runtime_error);
  EXPECT_EQ(count, 100);
  group.run([&] { ++count; });  // usable again
  group.wait();
  EXPECT_EQ(count, 101);
  group.run([] { throw 1; });
  EXPECT_THROW(group.wait(), int);
  group.wait();  // reported once
}

TEST_P(HppTaskGroup, AGroupThatDiesByAnotherExceptionDropsItsOwn) {
  try {
    weft::task_group group;
    group.run([] { throw 1; });
    throw std::logic_error("other");
  } catch (const std::logic_error&) {
  }
}

TEST_P(HppTaskGroup, ExitEndsTheTaskOnly) {
  std::atomic<int> count = 0;
  weft::task_group group;
  for (int i = 0; i < 10; ++i) {
    group.run([&] {
      ++count;
      weft::this_thread::exit();
    });
  }
  group.wait();
  EXPECT_EQ(count, 10);
}

TEST_P(HppTaskGroup, WaitInATaskOfTheGroupIsRefused) {
  weft::task_group group;
  std::atomic<int> errors = 0;
  weft::event go;
  group.run([&] {
    go.wait();
    try {
      group.wait();
    } catch (const weft::error& e) {
      errors += e.code().value() == WEFT_ERR_SELF;
    }
  });
  go.set();
  while (errors == 0) {
    weft::this_thread::yield();
  }
  group.wait();
  EXPECT_EQ(errors, 1);
}

TEST_P(HppTaskGroup, FromAKernelThread) {
  std::atomic<int> count = 0;
  on_klt([&] {
    weft::task_group group;
    for (int i = 0; i < 100; ++i) {
      group.run([&] { ++count; });
    }
    group.wait();
    EXPECT_EQ(count, 100);
  });
}

TEST_P(HppTaskGroup, RunFromSeveralThreadsAtOnce) {
  std::atomic<int> count = 0;
  weft::task_group group;
  {
    weft::task_group producers;
    for (int p = 0; p < 4; ++p) {
      producers.run([&] {
        for (int i = 0; i < 200; ++i) {
          group.run([&] { ++count; });
        }
      });
    }
    on_klt([&] {
      for (int i = 0; i < 200; ++i) {
        group.run([&] { ++count; });
      }
    });
  }
  group.wait();
  EXPECT_EQ(count, 1000);
}

TEST_P(HppTaskGroup, CallablesThatOnlyMove) {
  std::atomic<int> sum = 0;
  weft::task_group group;
  for (int i = 0; i < 10; ++i) {
    group.run([&, p = std::make_unique<int>(i)] { sum += *p; });
  }
  group.wait();
  EXPECT_EQ(sum, 45);
}

TEST(HppTaskGroupDeath, AnExceptionThatNobodyWaitsForTerminates) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(
      {
        const weft::runtime rt(weft::options{.workers = 1});
        weft::task_group group;
        group.run([] { throw 1; });
      },
      "terminate");
}

}  // namespace
