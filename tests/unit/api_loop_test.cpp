// weft_parallel_for and weft_parallel_reduce.
#include <atomic>
#include <cstdint>
#include <vector>

#include "support/runtime_fixture.hpp"

namespace {

using namespace weft_test;

class ApiLoop : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, ApiLoop, kWorkerCounts);

struct Hits {
  std::vector<std::atomic<int>> of;
  std::atomic<size_t> longest = 0;
};

void hit(size_t first, size_t last, void* arg) {
  auto& hits = *static_cast<Hits*>(arg);
  for (size_t i = first; i < last; ++i) ++hits.of[i];
  size_t seen = hits.longest;
  while (seen < last - first && !hits.longest.compare_exchange_weak(seen, last - first)) {
  }
  if (first % 3 == 0) weft_yield();
}

TEST_P(ApiLoop, EachIndexOnceInPiecesOfAtMostTheGrain) {
  in_ult([] {
    for (const size_t n : {0, 1, 2, 7, 1000}) {
      for (const size_t grain : {0, 1, 3, 5000}) {
        Hits hits{std::vector<std::atomic<int>>(n)};
        ASSERT_TRUE(ok(weft_parallel_for(0, n, grain, hit, &hits)));
        for (const auto& h : hits.of) ASSERT_EQ(h, 1);
        EXPECT_LE(hits.longest, grain != 0 ? grain : std::max<size_t>(1, n / 8));
      }
    }
  });
}

// Appending is associative and not commutative: the order shows. A value is one decimal fraction's digits.
struct Number {
  uint64_t digits;
  uint64_t base;
};
void append(Number& left, uint64_t digits, uint64_t base) {
  left.digits = (left.digits * base + digits) % 1000000007;
  left.base = left.base * base % 1000000007;
}
const Number kNoDigits = {0, 1};
const weft_reduction_t kAppend = {
    sizeof(Number), &kNoDigits,
    [](size_t first, size_t last, void* value, void* calls) {
      for (size_t i = first; i < last; ++i) append(*static_cast<Number*>(value), i % 10, 10);
      ++*static_cast<std::atomic<int>*>(calls);
      weft_yield();
    },
    [](void* left, const void* right, void*) {
      const auto& r = *static_cast<const Number*>(right);
      append(*static_cast<Number*>(left), r.digits, r.base);
    }};

TEST_P(ApiLoop, AReductionCombinesInOrder) {
  Number expected = kNoDigits;
  for (uint64_t i = 0; i < 1000; ++i) append(expected, i % 10, 10);
  for (const size_t grain : {0, 1, 7, 1000}) {
    std::atomic<int> calls = 0;
    Number result;
    ASSERT_TRUE(ok(weft_parallel_reduce(0, 1000, grain, &kAppend, &calls, &result)));
    EXPECT_EQ(result.digits, expected.digits);
    EXPECT_GE(calls, grain == 1 ? 1000 : 1);
  }
}

TEST_P(ApiLoop, InATaskletAndOnAKernelThread) {
  const auto sum = [] {
    std::atomic<int> calls = 0;
    Number result;
    EXPECT_TRUE(ok(weft_parallel_reduce(0, 100, 3, &kAppend, &calls, &result)));
    return result.digits;
  };
  const uint64_t here = sum();
  in_tasklet([&] { EXPECT_EQ(sum(), here); });
  on_klt([&] { EXPECT_EQ(sum(), here); });
}

TEST(ApiLoopStatic, EmptyRangesAndErrors) {
  ASSERT_FALSE(weft_initialized());
  std::atomic<int> calls = 0;
  Number result = {7, 7};
  EXPECT_TRUE(ok(weft_parallel_reduce(5, 5, 1, &kAppend, &calls, &result)));
  EXPECT_TRUE(ok(weft_parallel_reduce(5, 4, 1, &kAppend, &calls, &result)));
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(result.base, 1u);
  EXPECT_TRUE(ok(weft_parallel_reduce(0, 3, 1, &kAppend, &calls, &result)));
  EXPECT_EQ(result.digits, 12u);
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_parallel_for(0, 1, 0, nullptr, nullptr)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_parallel_reduce(0, 1, 0, nullptr, nullptr, &result)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_parallel_reduce(0, 1, 0, &kAppend, &calls, nullptr)));
  weft_reduction_t large = kAppend;
  large.size = WEFT_REDUCTION_MAX + 1;
  EXPECT_TRUE(fails(WEFT_ERR_LIMIT, weft_parallel_reduce(0, 1, 0, &large, &calls, &result)));
}

}  // namespace
