// weft::fork_join: results, order, exceptions, and steals.
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

#include "support/runtime_fixture.hpp"
#include "weft/weft.hpp"

namespace {

using namespace weft_test;

class HppForkJoin : public WorkersTest {
 protected:
  // Runs f in a ULT, often enough that some forks are stolen where there are workers for it.
  static void often(const std::function<void()>& f) {
    for (int i = 0; i < 200; ++i) {
      in_ult(f);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, HppForkJoin, kWorkerCounts);

// Makes it likely that another worker takes what has been offered.
void dawdle() {
  for (int i = 0; i < 3; ++i) {
    weft::this_thread::yield();
  }
}

long fib(long n) {
  if (n < 2) {
    return n;
  }
  const auto [a, b] = weft::fork_join([=] { return fib(n - 1); }, [=] { return fib(n - 2); });
  return a + b;
}

long fib_that_yields(long n) {
  if (n < 2) {
    return n;
  }
  const auto [a, b] = weft::fork_join([=] { return fib_that_yields(n - 1); },
                                      [=] {
                                        weft::this_thread::yield();
                                        return fib_that_yields(n - 2);
                                      });
  return a + b;
}

TEST_P(HppForkJoin, Fib) {
  EXPECT_EQ(fib(25), 75025);  // in the primary ULT
  in_ult([] { EXPECT_EQ(fib(25), 75025); });
  in_ult([] { EXPECT_EQ(fib_that_yields(18), 2584); });
  std::vector<weft::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([] { EXPECT_EQ(fib(18), 2584); });
  }
  for (auto& t : threads) {
    t.join();
  }
}

TEST_P(HppForkJoin, OutsideAUltTheCallerDoesItAll) {
  on_klt([] { EXPECT_EQ(fib(15), 610); });
  in_tasklet([] { EXPECT_EQ(fib(15), 610); });
}

TEST(HppForkJoinStatic, WithoutARuntime) {
  ASSERT_FALSE(weft_initialized());
  EXPECT_EQ(fib(15), 610);
}

TEST_P(HppForkJoin, TypesOfTheResult) {
  int target = 0;
  auto nothing = [] {};
  auto number = [] { return 7; };
  auto reference = [&]() -> int& { return target; };
  static_assert(std::is_void_v<decltype(weft::fork_join(nothing))>);
  static_assert(std::is_void_v<decltype(weft::fork_join(nothing, nothing, nothing))>);
  static_assert(std::is_same_v<decltype(weft::fork_join(number)), std::tuple<int>>);
  static_assert(std::is_same_v<decltype(weft::fork_join(nothing, number, reference)),
                               std::tuple<std::monostate, int, int&>>);
  often([&] {
    auto [a, b, c] = weft::fork_join(dawdle, number, reference);
    EXPECT_EQ(b, 7);
    EXPECT_EQ(&c, &target);
    const auto [single] = weft::fork_join(number);
    EXPECT_EQ(single, 7);
  });
}

TEST_P(HppForkJoin, ResultsThatOnlyMoveAndThatAllocate) {
  often([] {
    auto [a, b, c, d] = weft::fork_join(
        [] {
          dawdle();
          return std::make_unique<int>(1);
        },
        [] { return std::make_unique<int>(2); }, [] { return std::string(100, 'x'); },
        [] { return std::vector<int>{1, 2, 3}; });
    EXPECT_EQ(*a, 1);
    EXPECT_EQ(*b, 2);
    EXPECT_EQ(c.size(), 100u);
    EXPECT_EQ(d.size(), 3u);
  });
}

TEST_P(HppForkJoin, OnOneWorkerTheCallsAreInOrder) {
  if (workers() != 1) {
    GTEST_SKIP();
  }
  in_ult([] {
    std::string log;
    weft::fork_join([&] { log += 'a'; }, [&] { log += 'b'; }, [&] { log += 'c'; },
                    [&] { log += 'd'; });
    EXPECT_EQ(log, "abcd");
  });
}

void function_1() {}
int function_2() { return 2; }

TEST_P(HppForkJoin, AnyKindOfCallable) {
  struct Stateful {
    void operator()() { ++calls; }
    int calls = 0;
  };
  struct Heavy {
    std::unique_ptr<int> value;
    int operator()() const { return *value; }
  };
  often([] {
    Stateful kept;  // an lvalue is called itself, not a copy
    Stateful other;
    std::function<int()> erased = [] { return 5; };
    const auto [a, b, c, d, e] =
        weft::fork_join(function_1, kept, erased, function_2, Heavy{std::make_unique<int>(9)});
    EXPECT_EQ(kept.calls, 1);
    EXPECT_EQ(c, 5);
    EXPECT_EQ(d, 2);
    EXPECT_EQ(e, 9);
    weft::fork_join([] { dawdle(); }, other, [n = 0]() mutable { return ++n; },
                    [big = std::string(64, 'b')] {});
    EXPECT_EQ(other.calls, 1);
  });
}

TEST_P(HppForkJoin, EachIsCalledOnce) {
  often([] {
    std::atomic<int> calls[6] = {};
    weft::fork_join(
        [&] {
          ++calls[0];
          dawdle();
        },
        [&] { ++calls[1]; }, [&] { ++calls[2]; },
        [&] {
          ++calls[3];
          dawdle();
        },
        [&] { ++calls[4]; }, [&] { ++calls[5]; });
    for (auto& c : calls) {
      ASSERT_EQ(c, 1);
    }
  });
}

TEST_P(HppForkJoin, TheEarliestExceptionArrivesAndAllAreCompleted) {
  // Every subset of four callables throws.
  for (unsigned who = 1; who < 16; ++who) {
    for (int round = 0; round < 20; ++round) {
      in_ult([=] {
        std::atomic<int> calls = 0;
        auto callable = [&](unsigned i) {
          return [&calls, who, i] {
            ++calls;
            if (i % 2 == 0) {
              dawdle();
            }
            if (who & (1u << i)) {
              throw static_cast<int>(i);
            }
            return std::make_unique<unsigned>(i);
          };
        };
        int caught = -1;
        try {
          weft::fork_join(callable(0), callable(1), callable(2), callable(3));
        } catch (int i) {
          caught = i;
        }
        EXPECT_EQ(caught, __builtin_ctz(who));
        EXPECT_EQ(calls, 4);
        EXPECT_EQ(std::uncaught_exceptions(), 0);
        EXPECT_EQ(std::current_exception(), nullptr);
      });
    }
  }
}

TEST_P(HppForkJoin, AStolenCallablesExceptionArrives) {
  if (workers() == 1) {
    GTEST_SKIP() << "nobody to steal it";
  }
  in_ult([] {
    for (int i = 0; i < 50; ++i) {
      std::atomic<bool> stolen = false;
      auto wait = [&] {
        while (!stolen) {  // never suspends: the other must be on another worker
        }
        return 1;
      };
      auto thrown = [&]() -> int {
        stolen = true;
        weft::this_thread::yield();
        throw std::runtime_error("stolen");
      };
      EXPECT_THROW(weft::fork_join(wait, thrown), std::runtime_error);
      stolen = false;
      // The first throws as well: the stolen one's is dropped.
      EXPECT_THROW(weft::fork_join(
                       [&] {
                         wait();
                         throw 1;
                       },
                       thrown),
                   int);
      stolen = false;
      // The stolen one's result is dropped, and destroyed.
      auto shared = std::make_shared<int>(0);
      EXPECT_THROW(weft::fork_join(
                       [&] {
                         wait();
                         throw 1;
                       },
                       [&] {
                         stolen = true;
                         return shared;
                       }),
                   int);
      EXPECT_EQ(shared.use_count(), 1);
      stolen = false;
      auto [one, copy] = weft::fork_join(wait, [&] {
        stolen = true;
        return shared;
      });
      EXPECT_EQ(shared.use_count(), 2);
    }
  });
}

long throwing_tree(int depth) {
  if (depth == 0) {
    throw std::logic_error("leaf");
  }
  const auto [a, b] = weft::fork_join([=] { return throwing_tree(depth - 1); },
                                      [=] { return throwing_tree(depth - 1); });
  return a + b;
}

TEST_P(HppForkJoin, ExceptionsClimbATree) {
  in_ult([] { EXPECT_THROW(throwing_tree(8), std::logic_error); });
}

TEST_P(HppForkJoin, CallablesMayBlock) {
  often([] {
    weft::event one;
    weft::event two;
    weft::thread helper([&] {
      one.wait();
      two.set();
    });
    weft::fork_join(
        [&] {
          one.set();
          two.wait();
        },
        [] { weft::this_thread::yield(); });
    helper.join();
  });
}

TEST_P(HppForkJoin, ExitEndsTheForkingThread) {
  for (int i = 0; i < 50; ++i) {
    bool after = false;
    std::atomic<int> calls = 0;
    weft::thread t([&] {
      weft::fork_join(
          [&] {
            ++calls;
            dawdle();
          },
          [&] {
            ++calls;
            weft::this_thread::exit();
          },
          [&] { ++calls; });
      after = true;
    });
    t.join();
    EXPECT_FALSE(after);
    EXPECT_EQ(calls, 3);
  }
}

TEST_P(HppForkJoin, ManyCallables) {
  in_ult([] {
    const auto results = weft::fork_join(
        [] { return 0; }, [] { return 1; }, [] { return 2; }, [] { return 3; }, [] { return 4; },
        [] { return 5; }, [] { return 6; }, [] { return 7; }, [] { return 8; }, [] { return 9; });
    EXPECT_EQ(results, std::make_tuple(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  });
}

}  // namespace
