// weft::parallel_for and weft::parallel_reduce.
#include <array>
#include <atomic>
#include <climits>
#include <deque>
#include <forward_list>
#include <list>
#include <numeric>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/runtime_fixture.hpp"
#include "weft/weft.hpp"

namespace {

using namespace weft_test;

class HppParallel : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, HppParallel, kWorkerCounts);

TEST_P(HppParallel, EachIndexOnce) {
  for (const int n : {0, 1, 2, 3, 7, 100, 1000}) {
    std::vector<std::atomic<int>> hits(static_cast<size_t>(n));
    weft::parallel_for(0, n, [&](int i) { ++hits[static_cast<size_t>(i)]; });
    for (const std::size_t grain : {0, 1, 3, 1000000}) {
      weft::parallel_for(0, n, grain, [&](int i) {
        ++hits[static_cast<size_t>(i)];
        if (i % 10 == 0) {
          weft::this_thread::yield();
        }
      });
    }
    for (auto& h : hits) {
      ASSERT_EQ(h, 5);
    }
  }
}

TEST_P(HppParallel, AnEmptyOrReversedRangeIsNothing) {
  weft::parallel_for(5, 5, [](int) { ADD_FAILURE(); });
  weft::parallel_for(5, 4, [](int) { ADD_FAILURE(); });
  EXPECT_EQ(weft::parallel_reduce(5, 4, 17, [](int i) { return i; }, std::plus<>()), 17);
}

TEST_P(HppParallel, TheWidestRangeOfAnIndexType) {
  std::atomic<int> pieces = 0;
  const long indices = weft::parallel_reduce(
      INT_MIN, INT_MAX, std::size_t{1} << 28, 0L,
      [&](int first, int last, long value) {
        ++pieces;
        return value + static_cast<long>(last) - first;
      },
      std::plus<>());
  EXPECT_EQ(indices, static_cast<long>(UINT_MAX));
  EXPECT_EQ(pieces, 16);
}

TEST_P(HppParallel, SmallAndUnsignedIndexTypes) {
  std::atomic<long> sum = 0;
  weft::parallel_for<signed char>(-100, 100, 7, [&](signed char i) { sum += i; });
  EXPECT_EQ(sum, -100);
  sum = 0;
  weft::parallel_for(ULONG_MAX - 10, ULONG_MAX, 2,
                     [&](unsigned long i) { sum += ULONG_MAX - i == 3; });
  EXPECT_EQ(sum, 1);
  sum = 0;
  const std::vector<int> v(100);
  weft::parallel_for(std::size_t{0}, v.size(), [&](std::size_t) { ++sum; });
  EXPECT_EQ(sum, 100);
}

TEST_P(HppParallel, IteratorsAndRanges) {
  std::vector<int> v(5000);
  std::iota(v.begin(), v.end(), 0);
  weft::parallel_for(v.begin(), v.end(), [](int& x) { x *= 2; });
  weft::parallel_for(v, [](int& x) { x += 1; });
  weft::parallel_for(v, 10, [](int& x) { x += 1; });
  for (size_t i = 0; i < v.size(); ++i) {
    ASSERT_EQ(v[i], static_cast<int>(2 * i + 2));
  }
  std::atomic<long> sum = 0;
  const auto& constant = v;
  weft::parallel_for(constant, [&](const int& x) { sum += x; });
  EXPECT_EQ(sum, 5000L * 4999 + 2 * 5000);
  std::deque<std::string> words(100, "a");
  weft::parallel_for(words, [](std::string& s) { s += 'b'; });
  EXPECT_EQ(words.back(), "ab");
  std::array<int, 10> array{};
  weft::parallel_for(std::span(array), [](int& x) { x = 3; });
  int* raw = array.data();
  weft::parallel_for(raw, raw + 10, [](int& x) { ++x; });
  EXPECT_EQ(array[9], 4);
  weft::parallel_for(std::vector<int>{}, [](int) { ADD_FAILURE(); });
}

TEST_P(HppParallel, Views) {
  std::atomic<long> sum = 0;
  weft::parallel_for(std::views::iota(0, 100), [&](int i) { sum += i; });
  EXPECT_EQ(sum, 4950);
  weft::parallel_for(std::views::iota(0L, 100L), 3, [&](long i) { sum -= i; });
  EXPECT_EQ(sum, 0);
  const std::vector<int> v(100, 2);
  const auto squares = v | std::views::transform([](int x) { return x * x; });
  weft::parallel_for(squares, 7, [&](int x) { sum += x; });
  EXPECT_EQ(sum, 400);
  weft::parallel_for(v | std::views::drop(90) | std::views::reverse, 1, [&](int x) { sum += x; });
  EXPECT_EQ(sum, 420);
  for (const std::size_t grain : {1, 3, 1000}) {
    EXPECT_EQ(weft::parallel_reduce(squares, grain, 0, std::identity(), std::plus<>()), 400);
  }
  EXPECT_EQ(weft::parallel_reduce(std::views::iota(1, 6), 1L, [](int i) { return long{i}; },
                                  std::multiplies<>()),
            120);
}

TEST_P(HppParallel, RangesWithoutRandomAccess) {
  std::list<int> list(1000);
  std::iota(list.begin(), list.end(), 0);
  weft::parallel_for(list, [](int& x) { ++x; });
  for (const std::size_t grain : {0, 1, 10, 999, 1000, 5000}) {
    weft::parallel_for(list, grain, [](int& x) {
      ++x;
      weft::this_thread::yield();
    });
  }
  EXPECT_EQ(std::accumulate(list.begin(), list.end(), 0), 499500 + 7000);
  const std::forward_list<std::string> letters{"a", "b", "c", "d", "e"};
  for (const std::size_t grain : {1, 2, 5}) {
    EXPECT_EQ(weft::parallel_reduce(letters, grain, std::string(), std::identity(), std::plus<>()),
              "abcde");
  }
  std::vector<int> numbers(100);
  std::iota(numbers.begin(), numbers.end(), 0);
  auto odd = numbers | std::views::filter([](int x) { return x % 2 == 1; });
  EXPECT_EQ(weft::parallel_reduce(odd, 0, std::identity(), std::plus<>()), 2500);
  const auto count = weft::parallel_reduce(
      odd, 7, 0L, [](auto first, auto last, long n) { return n + std::ranges::distance(first, last); },
      std::plus<>());
  EXPECT_EQ(count, 50);
  weft::parallel_for(std::list<int>(), [](int) { ADD_FAILURE(); });
  EXPECT_EQ(weft::parallel_reduce(std::list<int>(), 3, std::identity(), std::plus<>()), 3);
  EXPECT_THROW(weft::parallel_for(list, 10, [](int x) { throw x; }), int);
}

TEST_P(HppParallel, Nested) {
  std::atomic<int> count = 0;
  in_ult([&] {
    weft::parallel_for(0, 30, 1, [&](int) { weft::parallel_for(0, 30, 1, [&](int) { ++count; }); });
  });
  EXPECT_EQ(count, 900);
}

TEST_P(HppParallel, TheFirstExceptionInOrderArrives) {
  std::atomic<int> count = 0;
  try {
    weft::parallel_for(0, 64, 1, [&](int i) {
      ++count;
      if (i % 16 == 5) {
        throw i;
      }
    });
    ADD_FAILURE();
  } catch (int i) {
    EXPECT_EQ(i, 5);
  }
  EXPECT_EQ(count, 64);
}

TEST_P(HppParallel, OutsideAUlt) {
  on_klt([] {
    std::atomic<int> count = 0;
    weft::parallel_for(0, 100, [&](int) { ++count; });
    EXPECT_EQ(count, 100);
  });
}

TEST_P(HppParallel, ReduceByMap) {
  for (const long n : {0L, 1L, 2L, 10L, 10000L}) {
    EXPECT_EQ(
        weft::parallel_reduce(0L, n, 0L, [](long i) { return i; }, std::plus<>()), n * (n - 1) / 2);
    EXPECT_EQ(weft::parallel_reduce(
                  0L, n, 3, 0L, [](long i) { return i; }, std::plus<>()),
              n * (n - 1) / 2);
  }
}

TEST_P(HppParallel, ReduceByPiece) {
  const long sum = weft::parallel_reduce(
      0, 1000, 0L,
      [](int first, int last, long value) {
        for (; first < last; ++first) {
          value += first;
        }
        return value;
      },
      std::plus<>());
  EXPECT_EQ(sum, 499500);
}

TEST_P(HppParallel, ReduceOverARange) {
  std::vector<long> v(1000);
  std::iota(v.begin(), v.end(), 0);
  EXPECT_EQ(weft::parallel_reduce(v, 0L, std::identity(), std::plus<>()), 499500);
  const auto& constant = v;
  EXPECT_EQ(weft::parallel_reduce(constant, 10, 0L, [](long x) { return 2 * x; }, std::plus<>()),
            999000);
  const long by_piece = weft::parallel_reduce(
      v, 64, 0L, [](auto first, auto last, long n) { return std::accumulate(first, last, n); },
      std::plus<>());
  EXPECT_EQ(by_piece, 499500);
}

TEST_P(HppParallel, ReduceKeepsTheOrder) {
  std::vector<std::string> words;
  std::string expected;
  for (int i = 0; i < 200; ++i) {
    words.push_back(std::to_string(i) + ",");
    expected += words.back();
  }
  in_ult([&] {
    const std::string joined = weft::parallel_reduce(
        words.begin(), words.end(), 1, std::string(), [](const std::string& s) { return s; },
        [](std::string a, const std::string& b) {
          weft::this_thread::yield();
          return a + b;
        });
    EXPECT_EQ(joined, expected);
  });
}

TEST_P(HppParallel, AnExceptionInAReduction) {
  EXPECT_THROW(weft::parallel_reduce(
                   0, 100, 1, 0,
                   [](int i) {
                     if (i == 50) {
                       throw std::range_error("fifty");
                     }
                     return i;
                   },
                   std::plus<>()),
               std::range_error);
}

TEST(HppParallelStatic, WithoutARuntime) {
  ASSERT_FALSE(weft_initialized());
  int sum = 0;
  weft::parallel_for(0, 10, [&](int i) { sum += i; });
  EXPECT_EQ(sum, 45);
}

}  // namespace
