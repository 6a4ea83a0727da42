// Huge pages: what is given, what is said where there are none, and what stacks and descriptors in them do.
// Nothing of the machine is changed: where it gives none, the way without them is what is tested.
#include "os/huge_pages.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "support/memory_map.hpp"
#include "support/runtime_fixture.hpp"
#include "unit/stack.hpp"
#include "unit/stack_batch.hpp"
#include "unit/stack_map.hpp"
#include "unit/unit.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

using namespace weft_test;

#if defined(__SANITIZE_THREAD__)
constexpr size_t kMany = 400;  // TSan has room for a few thousand fibers, and so for as many stacks
#else
constexpr size_t kMany = 2000;
#endif

PageKind setup_quietly(PageKind wish, std::string* said = nullptr) {
  testing::internal::CaptureStderr();
  const PageKind got = huge_pages_setup(wish);
  const std::string text = testing::internal::GetCapturedStderr();
  if (said != nullptr) *said = text;
  return got;
}

bool machine_gives(PageKind kind) { return setup_quietly(kind) == kind; }

// ---- what the machine gives, and what is said

TEST(HugePages, OrdinaryOnesNeedNoWords) {
  std::string said;
  EXPECT_EQ(setup_quietly(PageKind::kOrdinary, &said), PageKind::kOrdinary);
  EXPECT_EQ(said, "");
}

TEST(HugePages, TransparentOrTheReasonWhyNot) {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string enabled;
  std::getline(file, enabled);
  std::string said;
  const PageKind got = setup_quietly(PageKind::kTransparent, &said);
  if (got == PageKind::kTransparent) {
    EXPECT_EQ(said, "");
    EXPECT_NE(enabled, "");
  } else {
    EXPECT_EQ(got, PageKind::kOrdinary);
    EXPECT_NE(said.find("transparent_hugepage/enabled"), said.npos) << said;
    EXPECT_NE(said.find("ordinary pages"), said.npos) << said;
  }
}

TEST(HugePages, NoneWhereTheProcessMayNotHaveThem) {
  ASSERT_EQ(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), 0);
  std::string said;
  EXPECT_EQ(setup_quietly(PageKind::kTransparent, &said), PageKind::kOrdinary);
  EXPECT_NE(said.find("ordinary pages"), said.npos) << said;
  ASSERT_EQ(prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0), 0);
}

TEST(HugePages, ExplicitOrTheReasonWhyNot) {
  const bool pool = free_in_pool() > 0;
  std::string said;
  const PageKind got = setup_quietly(PageKind::kExplicit, &said);
  if (pool) {
    EXPECT_EQ(got, PageKind::kExplicit) << said;
    EXPECT_EQ(said, "");
  } else {
    EXPECT_NE(got, PageKind::kExplicit);
    EXPECT_NE(said.find("WEFT_HUGE_PAGES=explicit"), said.npos) << said;
    EXPECT_NE(said.find("sysctl vm.nr_hugepages"), said.npos) << said;
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  }
}

TEST(HugePages, APoolThatRunsOutIsToldOnce) {
  setup_quietly(PageKind::kExplicit);
  const bool told_already = free_in_pool() == 0;
  const size_t too_much = (free_in_pool() + 64) * kHugePage;
  testing::internal::CaptureStderr();
  char* first = huge_pages_map(too_much, PageKind::kExplicit, PROT_READ | PROT_WRITE);
  char* second = huge_pages_map(too_much, PageKind::kExplicit, PROT_READ | PROT_WRITE);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), told_already ? 0 : 1) << said;
  for (char* memory : {first, second}) {
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % kHugePage, 0u);
    memory[0] = 1;
    EXPECT_EQ(munmap(memory, too_much), 0);
  }
}

TEST(HugePages, WhatIsMappedIsHuge) {
  for (const PageKind kind : {PageKind::kTransparent, PageKind::kExplicit}) {
    if (!machine_gives(kind)) continue;  // TransparentOr..., ExplicitOr... look at that
    char* memory = huge_pages_map(2 * kHugePage, kind, PROT_READ | PROT_WRITE);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % kHugePage, 0u);
    EXPECT_EQ(huge_bytes_at(memory), 0u);
    memory[kHugePage + 7] = 1;
    EXPECT_EQ(huge_bytes_at(memory), kHugePage);
    EXPECT_EQ(munmap(memory, 2 * kHugePage), 0);
  }
}

// ---- stacks

class HugeStackTest : public testing::TestWithParam<PageKind> {
 protected:
  void SetUp() override {
    if (!machine_gives(GetParam())) GTEST_SKIP() << "this machine gives none";
    stack_setup({.pages = GetParam()});
  }
  void TearDown() override {
    stack_release_all();
    stack_setup({});
  }
  static std::vector<Stack*> acquire(size_t n) {
    std::vector<Stack*> stacks(n);
    for (Stack*& stack : stacks) stack = stack_acquire();
    return stacks;
  }
  static void release(const std::vector<Stack*>& stacks) {
    for (Stack* stack : stacks) stack_release(stack);
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, HugeStackTest, testing::Values(PageKind::kTransparent, PageKind::kExplicit));

TEST_P(HugeStackTest, LieInHugePagesAndDoNotOverlap) {
  for (const size_t size : {size_t{16} << 10, size_t{128} << 10, size_t{1} << 20}) {
    stack_setup({.default_size = size, .pages = GetParam()});
    auto stacks = acquire(70);
    std::sort(stacks.begin(), stacks.end());
    const Stack* below = nullptr;
    for (Stack* stack : stacks) {
      ASSERT_NE(stack, nullptr);
      EXPECT_EQ(stack->size, size);
      EXPECT_GE(stack->usable(), size + kPage - 2048 - sizeof(Stack) - 16);
      EXPECT_TRUE(stack->canary);
      EXPECT_TRUE(stack_intact(*stack));
      EXPECT_FALSE(stack_in_guard(*stack, stack->low));
      EXPECT_EQ(stack->batch->bytes % kHugePage, 0u);
      const auto* free_from = reinterpret_cast<const char*>(below == nullptr ? nullptr : below + 1);
      EXPECT_GE(stack->low, free_from);
      std::memset(stack->low + kPage, 1, static_cast<size_t>(stack->top - stack->low) - kPage);
      below = stack;
    }
    for (Stack* stack : stacks) EXPECT_TRUE(stack_intact(*stack));
    EXPECT_GE(huge_bytes_at(stacks.front()->top), kHugePage);
    release(stacks);
  }
}

TEST_P(HugeStackTest, ACanaryNoticesWhatRanOverTheLowEnd) {
  Stack* stack = stack_acquire();
  std::memset(stack->low + kPage / 2, 0, kPage / 2);
  EXPECT_FALSE(stack_intact(*stack));
  stack_release(stack);
}

TEST_P(HugeStackTest, ACanaryIsThereAgainAtTheNextUse) {
  const auto first = acquire(100);
  release(first);
  for (Stack* stack : acquire(100)) EXPECT_TRUE(stack_intact(*stack));
}

TEST_P(HugeStackTest, NoCanaryWhereNoGuardIsWanted) {
  stack_setup({.guard = GuardKind::kNone, .pages = GetParam()});
  Stack* stack = stack_acquire();
  EXPECT_FALSE(stack->canary);
  EXPECT_TRUE(stack->cached);
  std::memset(stack->low, 0, kPage);
  EXPECT_TRUE(stack_intact(*stack));
  stack_dispose(stack);
}

TEST_P(HugeStackTest, LargeOnesKeepTheirGuardIfThePagesAllowIt) {
  stack_setup({.default_size = size_t{4} << 20, .pages = GetParam()});
  Stack* stack = stack_acquire();
  ASSERT_NE(stack, nullptr);
  EXPECT_EQ(stack->canary, GetParam() == PageKind::kExplicit);
  stack->top[-8] = 1;
  EXPECT_GE(huge_bytes_at(stack->top), kHugePage);
  if (!stack->canary) {
    EXPECT_TRUE(stack_in_guard(*stack, stack->low));
    EXPECT_DEATH(stack->low[100] = 1, "");
  }
  stack_dispose(stack);
}

TEST_P(HugeStackTest, OtherSizesHaveOrdinaryPagesAndAGuard) {
  Stack* stack = stack_map(size_t{4} << 20);
  ASSERT_NE(stack, nullptr);
  EXPECT_FALSE(stack->canary);
  stack->top[-8] = 1;
  EXPECT_EQ(huge_bytes_at(stack->top), 0u);
  EXPECT_DEATH(stack->low[100] = 1, "");
  stack_dispose(stack);
}

TEST_P(HugeStackTest, AWorkersStockTakesThem) {
  StackCache mine;
  Stack* stack = mine.pop();
  EXPECT_FALSE(stack->cached);  // a push alone would not look at the canary
  mine.retire(stack);
  EXPECT_EQ(mine.count, 1u);
  EXPECT_EQ(mine.pop(), stack);
  mine.retire(stack);
  mine.drain();
}

TEST_P(HugeStackTest, TrimmingGivesBackWholeBatchesOnly) {
  auto stacks = acquire(kMany);
  for (Stack* stack : stacks) stack->top[-64] = 1;
  std::set<StackBatch*> seen;
  std::vector<Stack*> stay;
  std::vector<Stack*> go;
  for (Stack* stack : stacks) (seen.insert(stack->batch).second ? stay : go).push_back(stack);
  release(go);
  const size_t huge_before = huge_bytes_at(stay.front()->top);
  EXPECT_FALSE(stack_trim());  // one of each batch is out; an idle worker must not come back for them
  EXPECT_EQ(huge_bytes_at(stay.front()->top), huge_before);
  for (const StackBatch* batch : seen) EXPECT_EQ(batch->cold, 0u);
  release(stay);
  unsigned unmapped = 1;
  while (stack_trim()) ++unmapped;
  EXPECT_GE(unmapped + 3, seen.size());  // what is kept warm: 64 stacks
  for (Stack* stack : acquire(100)) EXPECT_TRUE(stack_intact(*stack));
}

TEST_P(HugeStackTest, WatermarkSplitsNoPage) {
  stack_setup({.watermark = true, .pages = GetParam()});
  Stack* stack = stack_acquire();
  EXPECT_EQ(stack_used(*stack), 0u);
  stack->top[-20000] = 1;
  EXPECT_NEAR(static_cast<double>(stack_used(*stack)), 20000, 8);
  const size_t huge = huge_bytes_at(stack->top);
  StackCache mine;
  mine.retire(stack);
  EXPECT_EQ(mine.count, 0u);
  Stack* again = stack_acquire();
  EXPECT_EQ(again, stack);
  EXPECT_EQ(stack_used(*again), 0u);
  EXPECT_EQ(huge_bytes_at(again->top), huge);
  stack_dispose(again);
}

// ---- descriptors

TEST(HugeUnits, SlabsAreHugePages) {
  for (const PageKind kind : {PageKind::kTransparent, PageKind::kExplicit}) {
    if (!machine_gives(kind)) continue;
    unit_slabs_release();
    unit_setup(kind);
    UnitCache mine;
    std::set<Unit*> units;
    for (int i = 0; i < 15000; ++i) {  // more than one slab
      Unit* unit = mine.pop();
      ASSERT_NE(unit, nullptr);
      units.insert(unit);
    }
    EXPECT_EQ(units.size(), 15000u);
    EXPECT_GE(huge_bytes_at(*units.begin()), kHugePage);
    unit_slabs_release();
    unit_setup(PageKind::kOrdinary);
  }
}

// ---- the whole

class HugeRuntimeTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    ASSERT_EQ(setenv("WEFT_HUGE_PAGES", GetParam(), 1), 0);
  }
  void TearDown() override { unsetenv("WEFT_HUGE_PAGES"); }
};
INSTANTIATE_TEST_SUITE_P(Kinds, HugeRuntimeTest, testing::Values("off", "transparent", "explicit"));

TEST_P(HugeRuntimeTest, UnitsRunSuspendAndEnd) {
  for (int round = 0; round < 2; ++round) {
    testing::internal::CaptureStderr();
    weft_options_t options{};
    options.workers = 2;
    ASSERT_TRUE(ok(weft_initialize(&options)));
    std::vector<weft_unit_t> units(300);
    const auto fn = [](void*) {
      for (int i = 0; i < 3; ++i) weft_yield();
    };
    for (int i = 0; i < 300; ++i) {
      weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
      constexpr weft_technique_t kAll[] = {WEFT_TECHNIQUE_AUTO, WEFT_TECHNIQUE_SC, WEFT_TECHNIQUE_SS_L,
                                           WEFT_TECHNIQUE_SS};
      attr.technique = kAll[i % 4];
      ASSERT_TRUE(ok(weft_ult_create(fn, nullptr, &attr, &units[static_cast<size_t>(i)])));
    }
    for (weft_unit_t& unit : units) ASSERT_TRUE(ok(weft_free(&unit)));
    ASSERT_TRUE(ok(weft_finalize()));
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_LE(std::count(said.begin(), said.end(), '\n'), 1) << said;
  }
}

// Goes down until it has crossed the half of the unused page where the canary lies, and no further.
[[gnu::noinline]] int dive(const char* until) {
  volatile char frame[200];
  std::memset(const_cast<char*>(frame), 1, sizeof frame);
  const int deeper = const_cast<char*>(frame) > until ? dive(until) : 0;
  return deeper + frame[0];
}

volatile int hold_open = 0;

void dive_over(const Stack& stack) { hold_open = dive(stack.low + kPage / 2 - 64); }

void overflow_on_own_stack(void*) {
  guard_enter_on_klt();
  const Stack& stack = *klt_current()->host->stack;
  guard_leave(guard_worker());
  dive_over(stack);
}

void overflow_on_schedulers_stack(void*) {
  const Stack& stack = *guard_enter_on_klt()->sched_stack;
  guard_leave(guard_worker());
  dive_over(stack);
}

void run_with(weft_technique_t technique, weft_fn fn) {
  weft_options_t options{};
  options.workers = 1;
  if (weft_initialize(&options) != WEFT_OK) std::exit(3);
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.name = "diver";
  attr.technique = technique;
  weft_unit_t unit = nullptr;
  if (weft_ult_create(fn, nullptr, &attr, &unit) != WEFT_OK) std::exit(4);
  weft_free(&unit);
  weft_finalize();
  std::exit(0);
}

bool has_canaries(const std::string& mode) {
  return mode == "transparent" ? machine_gives(PageKind::kTransparent)
                               : machine_gives(PageKind::kExplicit) || machine_gives(PageKind::kTransparent);
}

class HugeOverflowTest : public HugeRuntimeTest {
 protected:
  void SetUp() override {
    if (!has_canaries(GetParam())) GTEST_SKIP() << "this machine gives none: guards, as in overflow_test.cpp";
    HugeRuntimeTest::SetUp();
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, HugeOverflowTest, testing::Values("transparent", "explicit"));

TEST_P(HugeOverflowTest, AnOverflowIsNoticedWhenTheStackIsGivenBack) {
  for (const weft_technique_t technique : {WEFT_TECHNIQUE_SS_L, WEFT_TECHNIQUE_SS}) {
    EXPECT_DEATH(run_with(technique, overflow_on_own_stack),
                 "stack overflow in ULT [0-9]+ \"diver\".*131072 bytes.*WEFT_HUGE_PAGES(.|\n)*WEFT_STACK_SIZE=256K");
  }
}

TEST_P(HugeOverflowTest, AnOverflowOfTheSchedulersStackIsNoticedAfterTheUnit) {
  EXPECT_DEATH(run_with(WEFT_TECHNIQUE_SC, overflow_on_schedulers_stack),
               "stack overflow in a scheduler or a ULT that ran on its stack.*131072 bytes");
}

}  // namespace
}  // namespace weft::rt
