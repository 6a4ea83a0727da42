// Stacks: kinds, guards, caches, giving memory back. Against the internals, without a runtime.
#include "unit/stack.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "unit/stack_batch.hpp"
#include "unit/stack_map.hpp"

namespace weft::rt {
namespace {

// Bytes of the process that are resident.
size_t resident() {
  std::ifstream statm("/proc/self/statm");
  size_t total = 0;
  size_t pages = 0;
  statm >> total >> pages;
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// Bytes of address space.
size_t mapped() {
  std::ifstream statm("/proc/self/statm");
  size_t total = 0;
  statm >> total;
  return total * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

class StackTest : public testing::Test {
 protected:
  void SetUp() override { stack_setup({}); }
  void TearDown() override {
    stack_release_all();
    stack_setup({});
  }
};

// TSan has room for a few thousand fibers, and so for as many stacks.
#if defined(__SANITIZE_THREAD__)
constexpr bool kTsan = true;
#else
constexpr bool kTsan = false;
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kShadow = true;
#else
constexpr bool kShadow = false;
#endif
constexpr size_t kMany = kTsan ? 500 : 20000;

std::vector<Stack*> acquire(size_t n) {
  std::vector<Stack*> stacks(n);
  for (Stack*& stack : stacks) stack = stack_acquire();
  return stacks;
}

void release(const std::vector<Stack*>& stacks) {
  for (Stack* stack : stacks) stack_release(stack);
}

void expect_sound(const Stack* stack, size_t size) {
  ASSERT_NE(stack, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(stack->top) % 16, 0u);
  EXPECT_EQ(stack->size, size);
  EXPECT_LE(stack->usable(), size + 2 * kPage);
  EXPECT_GE(stack->usable(), size - 128);
  std::memset(stack->top - 2048, 0x5a, 2048);
}

TEST_F(StackTest, DefaultSized) {
  Stack* stack = stack_acquire();
  expect_sound(stack, 128 << 10);
  EXPECT_TRUE(stack->cached);
  EXPECT_FALSE(stack->foreign);
  EXPECT_TRUE(stack_in_guard(*stack, stack->low));
  EXPECT_TRUE(stack_in_guard(*stack, stack->low + 4095));
  EXPECT_FALSE(stack_in_guard(*stack, stack->low + 4096));
  EXPECT_FALSE(stack_in_guard(*stack, stack->low - 1));
  stack_dispose(stack);
}

TEST_F(StackTest, TheRecordSharesTheTopPage) {
  Stack* stack = stack_acquire();
  const auto page = [](const void* p) { return reinterpret_cast<uintptr_t>(p) / kPage; };
  EXPECT_EQ(page(stack), page(stack->top - 1));
  stack_dispose(stack);
}

TEST_F(StackTest, StacksDoNotOverlap) {
  std::set<char*> lows;
  const auto stacks = acquire(300);
  for (Stack* stack : stacks) {
    lows.insert(stack->low);
    std::memset(stack->low + kPage, 1, 64);
  }
  ASSERT_EQ(lows.size(), stacks.size());
  char* before = nullptr;
  for (char* low : lows) {
    if (before != nullptr) {
      EXPECT_GE(low - before, (128 << 10) + 4096);
    }
    before = low;
  }
  release(stacks);
}

TEST_F(StackTest, OtherSizes) {
  for (const size_t size : {size_t{16384}, size_t{20000}, size_t{1} << 20, size_t{64} << 20}) {
    Stack* stack = stack_map(size);
    expect_sound(stack, round_to_page(size));
    EXPECT_FALSE(stack->cached);
    stack_dispose(stack);
  }
}

// One that is given back is there for the next who wants this size, and for nobody else.
TEST_F(StackTest, OtherSizesAreUsedAgain) {
  constexpr size_t kSize = 300 << 10;
  Stack* first = stack_map(kSize);
  Stack* second = stack_map(kSize);
  char* const low = first->low;
  stack_dispose(first);
  Stack* larger = stack_map(kSize + kPage);
  EXPECT_NE(larger->low, low);
  Stack* again = stack_map(kSize - 100);  // whole pages: the same size
  EXPECT_EQ(again->low, low);
  expect_sound(again, kSize);
  EXPECT_NE(second->low, low);
  for (Stack* stack : {second, larger, again}) stack_dispose(stack);
}

TEST_F(StackTest, OtherSizesAreGivenBackAfterABurst) {
  constexpr size_t kSize = 1 << 20;
  std::vector<Stack*> stacks(40);
  std::vector<char*> lows;
  for (Stack*& stack : stacks) {
    stack = stack_map(kSize);
    lows.push_back(stack->low);
  }
  const auto mapped = [&] {
    unsigned char there;
    return std::count_if(lows.begin(), lows.end(), [&](char* low) { return mincore(low, kPage, &there) == 0; });
  };
  for (Stack* stack : stacks) stack_dispose(stack);
  EXPECT_EQ(mapped(), 40);
  while (stack_trim()) {
  }
  EXPECT_EQ(mapped(), 8);  // MiB
  stack_release_all();
  EXPECT_EQ(mapped(), 0);
}

// More than there are places for: they are unmapped at once, and all are sound.
TEST_F(StackTest, ManyOtherSizes) {
  for (size_t i = 1; i <= 20; ++i) {
    Stack* stack = stack_map(i * 4 * kPage);
    expect_sound(stack, i * 4 * kPage);
    stack_dispose(stack);
  }
  std::vector<Stack*> many(300);
  for (Stack*& stack : many) stack = stack_map(1 << 16);
  for (Stack* stack : many) stack_dispose(stack);
  for (Stack*& stack : many) {
    stack = stack_map(1 << 16);
    expect_sound(stack, 1 << 16);
  }
  for (Stack* stack : many) stack_dispose(stack);
}

TEST_F(StackTest, ASizeThatNobodyHasIsRefused) {
  EXPECT_EQ(stack_map(~size_t{0}), nullptr);
  EXPECT_EQ(stack_map(~size_t{0} - 8000), nullptr);
  EXPECT_EQ(stack_map(size_t{1} << 60), nullptr);
}

TEST_F(StackTest, MemoryOfTheCaller) {
  for (const size_t off : {0u, 1u, 7u, 40u}) {
    std::vector<char> memory(32768, 'x');
    Stack* stack = stack_over(memory.data() + off, 20000);
    expect_sound(stack, 20000);
    EXPECT_TRUE(stack->foreign);
    EXPECT_GE(stack->low, memory.data() + off);
    EXPECT_LE(reinterpret_cast<char*>(stack + 1), memory.data() + off + 20000);
    EXPECT_FALSE(stack_in_guard(*stack, stack->low));
    stack_dispose(stack);
    EXPECT_EQ(memory[off + 20000], 'x');
  }
}

TEST_F(StackTest, AThreadsOwn) {
  Stack record;
  char* here = static_cast<char*>(__builtin_frame_address(0));
  stack_adopt(record, here - 8192, here);
  EXPECT_TRUE(record.foreign);
  EXPECT_EQ(record.usable(), 8192u);
  EXPECT_FALSE(stack_in_guard(record, record.low));
  EXPECT_EQ(stack_used(record), 0u);
  stack_dispose(&record);
}

// ---- guards

class StackGuardTest : public StackTest, public testing::WithParamInterface<GuardKind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, StackGuardTest,
                         testing::Values(GuardKind::kMadvise, GuardKind::kMprotect));

TEST_P(StackGuardTest, WritingTheGuardDies) {
  stack_setup({.guard = GetParam()});
  Stack* stack = stack_acquire();
  stack->low[kPage] = 1;
  EXPECT_DEATH(stack->low[kPage - 1] = 1, "");
  stack_dispose(stack);
  stack = stack_map(65536);
  stack->low[kPage] = 1;
  EXPECT_DEATH(stack->low[0] = 1, "");
  stack_dispose(stack);
}

TEST_P(StackGuardTest, OneThatGotColdIsGuardedStill) {
  stack_setup({.guard = GetParam()});
  const auto stacks = acquire(200);
  // One of each batch stays out, so that no batch is unmapped.
  for (size_t i = 1; i < stacks.size(); ++i) {
    if (i % 64 != 0) stack_release(stacks[i]);
  }
  while (stack_trim()) {
  }
  const auto again = acquire(180);
  for (Stack* stack : again) {
    expect_sound(stack, 128 << 10);
  }
  EXPECT_DEATH(again.back()->low[100] = 1, "");
  EXPECT_DEATH(again.front()->low[100] = 1, "");
}

TEST_F(StackTest, NoGuardIfNotWanted) {
  stack_setup({.guard = GuardKind::kNone});
  Stack* stack = stack_acquire();
  EXPECT_FALSE(stack_in_guard(*stack, stack->low));
  stack->low[0] = 1;
  stack_dispose(stack);
}

TEST_F(StackTest, MadviseGuardsCostNoMappings) {
  if (kTsan) GTEST_SKIP() << "TSan maps a state of its own for each stack";
  if (stack_options().guard != GuardKind::kMadvise) GTEST_SKIP() << "not on this kernel";
  const auto lines = [] {
    std::ifstream maps("/proc/self/maps");
    std::string line;
    int n = 0;
    while (std::getline(maps, line)) ++n;
    return n;
  };
  const int before = lines();
  const auto stacks = acquire(kTsan ? 300 : 5000);
  EXPECT_LT(lines() - before, kTsan ? 300 : 200);
  release(stacks);
}

// ---- caches

TEST_F(StackTest, AWorkersStockTakesAndGivesByTheBatch) {
  StackCache mine;
  std::vector<Stack*> stacks;
  for (unsigned i = 0; i < StackCache::kMost + 64; ++i) stacks.push_back(mine.pop());
  EXPECT_EQ(mine.count, 0u);
  for (Stack* stack : stacks) mine.push(stack);
  EXPECT_LE(mine.count, StackCache::kMost);
  const unsigned kept = mine.count;
  for (unsigned i = 0; i < kept; ++i) mine.pop();
  EXPECT_EQ(mine.count, 0u);
  Stack* stack = mine.pop();  // what it had spilt comes back
  ASSERT_NE(stack, nullptr);
  EXPECT_EQ(mine.count, StackCache::kBatch - 1);
  mine.push(stack);
  mine.drain();
  EXPECT_EQ(mine.count, 0u);
  EXPECT_EQ(mine.head, nullptr);
}

// It keeps those of the size that came first, as many as are worth it; what it does not keep is for all.
TEST_F(StackTest, AWorkersStockOfAnotherSize) {
  constexpr size_t kSize = 256 << 10, kSmall = 16 << 10, kHuge = 32 << 20;
  StackCache mine;
  Stack* first = mine.pop_other(kSize);
  Stack* second = mine.pop_other(kSize - 100);  // whole pages: the same
  Stack* small = mine.pop_other(kSmall);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(second->size, kSize);
  mine.retire(first);
  mine.retire(second);
  mine.retire(small);
  EXPECT_EQ(mine.other_count, 2u);
  EXPECT_EQ(mine.pop_other(kSmall), small);  // through the one for all
  EXPECT_EQ(mine.pop_other(kSize), second);
  EXPECT_EQ(mine.pop_other(kSize), first);
  EXPECT_EQ(mine.others, nullptr);
  mine.retire(small);  // now it is of this size
  EXPECT_EQ(mine.others, small);
  mine.retire(first);
  mine.retire(second);
  EXPECT_EQ(mine.other_count, 1u);
  mine.drain_others();
  EXPECT_EQ(mine.other_count, 0u);
  for (const size_t size : {kSize, kHuge}) {
    std::vector<Stack*> many(StackCache::kMostOthers + 8);
    for (Stack*& stack : many) stack = mine.pop_other(size);
    for (Stack* stack : many) mine.retire(stack);
    EXPECT_EQ(mine.other_count, size == kHuge ? StackCache::kFewestOthers : StackCache::kMostOthers);
    mine.drain();
    EXPECT_EQ(mine.others, nullptr);
  }
  EXPECT_EQ(mine.pop_other(~size_t{0}), nullptr);
}

TEST_F(StackTest, TheNewestComesBackFirst) {
  StackCache mine;
  Stack* a = mine.pop();
  Stack* b = mine.pop();
  mine.push(a);
  mine.push(b);
  EXPECT_EQ(mine.pop(), b);
  EXPECT_EQ(mine.pop(), a);
}

TEST_F(StackTest, ThreadsShareTheGlobalCache) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      std::mt19937 random(static_cast<unsigned>(t));
      StackCache mine;
      std::vector<Stack*> held;
      for (int i = 0; i < (kTsan ? 2000 : 20000); ++i) {
        if (held.size() < 100 && random() % 2 == 0) {
          Stack* stack = t % 2 == 0 ? mine.pop() : stack_acquire();
          ASSERT_NE(stack, nullptr);
          ASSERT_EQ(stack->top[-8], static_cast<char>(0));
          stack->top[-8] = 1;  // nobody else has it
          held.push_back(stack);
        } else if (!held.empty()) {
          Stack* stack = held.back();
          held.pop_back();
          stack->top[-8] = 0;
          t % 2 == 0 ? mine.push(stack) : stack_release(stack);
        }
        if (random() % 256 == 0) stack_trim();
      }
      for (Stack* stack : held) {
        stack->top[-8] = 0;
        stack_release(stack);
      }
      mine.drain();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// ---- memory

TEST_F(StackTest, OnePageEach) {
  if (kShadow) GTEST_SKIP() << "the sanitizer's shadow counts as well";
  const size_t before = resident();
  const auto stacks = acquire(kMany);
  const size_t each = (resident() - before) / kMany;
  EXPECT_LE(each, 4096u + 64);
  release(stacks);
}

TEST_F(StackTest, ABurstIsGivenBack) {
  if (kShadow) GTEST_SKIP() << "the sanitizer's shadow counts as well";
  const size_t resident_before = resident();
  const size_t mapped_before = mapped();
  release(acquire(kMany));
  EXPECT_GT(resident() - resident_before, kMany * 4000);
  int calls = 0;
  while (stack_trim()) ++calls;
  EXPECT_GT(calls, 10);  // in small portions
  EXPECT_LT(resident(), resident_before + (2u << 20));
  EXPECT_LT(mapped(), mapped_before + (40u << 20));
}

TEST_F(StackTest, ABurstIsGivenBackAroundThoseThatStay) {
  if (kShadow) GTEST_SKIP() << "the sanitizer's shadow counts as well";
  const size_t before = resident();
  auto stacks = acquire(kMany);
  std::vector<Stack*> stay;
  std::vector<Stack*> go;
  for (size_t i = 0; i < stacks.size(); ++i) {
    std::memset(stacks[i]->top - 3 * kPage, 1, 3 * kPage);
    (i % 50 == 0 ? stay : go).push_back(stacks[i]);
  }
  std::shuffle(go.begin(), go.end(), std::mt19937(1));
  release(go);
  while (stack_trim()) {
  }
  EXPECT_LT(resident(), before + stay.size() * 4 * kPage + (8u << 20));
  for (Stack* stack : stay) EXPECT_EQ(stack->top[-3 * static_cast<long>(kPage)], 1);
  const auto again = acquire(go.size());
  for (Stack* stack : again) expect_sound(stack, 128 << 10);
  release(again);
  release(stay);
}

TEST_F(StackTest, ASmallStockIsKept) {
  release(acquire(40));
  EXPECT_FALSE(stack_trim());
  Stack* stack = stack_acquire();
  ASSERT_NE(stack, nullptr);
  EXPECT_EQ(stack->batch->warm_count, 39u);
  stack_release(stack);
}

TEST_F(StackTest, ReleaseAllUnmaps) {
  const size_t before = mapped();
  release(acquire(1000));
  stack_release_all();
  EXPECT_LT(mapped(), before + (8u << 20));
  Stack* stack = stack_acquire();
  ASSERT_NE(stack, nullptr);
  stack_release(stack);
}

TEST_F(StackTest, AnotherDefaultSize) {
  stack_release(stack_acquire());
  stack_setup({.default_size = 30000});
  Stack* stack = stack_acquire();
  expect_sound(stack, 32768);
  stack_release(stack);
  stack_setup({.default_size = size_t{1} << 30});
  stack = stack_acquire();
  expect_sound(stack, size_t{1} << 30);
  stack_release(stack);
}

// ---- watermark

TEST_F(StackTest, WatermarkFindsTheDeepestByte) {
  stack_setup({.watermark = true});
  std::vector<char> memory(40000, 'x');
  for (Stack* stack : {stack_acquire(), stack_map(65536), stack_over(memory.data(), 40000)}) {
    EXPECT_FALSE(stack->cached);  // else a worker would keep it without making it zero again
    EXPECT_EQ(stack_used(*stack), 0u);
    stack->top[-100] = 1;
    EXPECT_NEAR(static_cast<double>(stack_used(*stack)), 100, 8);
    stack->top[-20000] = 1;
    EXPECT_NEAR(static_cast<double>(stack_used(*stack)), 20000, 8);
    stack_dispose(stack);
  }
  Stack* stack = stack_acquire();
  EXPECT_EQ(stack_used(*stack), 0u);
  stack_dispose(stack);
}

TEST_F(StackTest, WatermarkOfAPart) {
  stack_setup({.watermark = true});
  Stack* whole = stack_map(65536);
  Stack part;
  stack_part(part, *whole, whole->top - 20032);
  *part.top = 1;  // whoever is at work above it
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(stack_used(part), 0u);
    part.top[-20000] = 1;
    EXPECT_NEAR(static_cast<double>(stack_used(part)), 20000, 8);
    stack_dispose(&part);
    EXPECT_EQ(*part.top, 1);
  }
  EXPECT_TRUE(stack_in_guard(part, part.low));
  stack_dispose(whole);
}

TEST_F(StackTest, NoWatermarkUnlessAskedFor) {
  Stack* stack = stack_acquire();
  stack->top[-100] = 1;
  EXPECT_EQ(stack_used(*stack), 0u);
  stack_dispose(stack);
}

}  // namespace
}  // namespace weft::rt
