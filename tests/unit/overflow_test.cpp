// A stack overflow names the ULT and its stack; other faults go where they went before.
#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "support/runtime_fixture.hpp"

namespace {

using namespace weft_test;

int hold_open = 0;

// Frames smaller than a page, so that none steps over the guard.
[[gnu::noinline]] int dive(int depth) {
  volatile char frame[1024];
  std::memset(const_cast<char*>(frame), depth & 1, sizeof frame);
  if (depth > 1 << 24) return 0;
  const int deeper = dive(depth + 1);
  return deeper + frame[static_cast<unsigned>(depth) % sizeof frame] + hold_open;
}

void overflow(void*) { hold_open = dive(0); }

void run_and_overflow(const weft_unit_attr_t* attr, weft_fn fn = overflow) {
  weft_options_t options{};
  options.workers = 1;
  if (weft_initialize(&options) != WEFT_OK) std::exit(3);
  weft_unit_t unit = nullptr;
  if (weft_ult_create(fn, nullptr, attr, &unit) != WEFT_OK) std::exit(4);
  weft_join(unit);
  std::exit(0);
}

class Overflow : public testing::Test {
 protected:
  void SetUp() override { testing::GTEST_FLAG(death_test_style) = "threadsafe"; }
};

TEST_F(Overflow, NamesTheUltItsStackAndTheRemedy) {
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.name = "diver";
  attr.stack_size = 64 << 10;
  EXPECT_DEATH(run_and_overflow(&attr),
               "stack overflow in ULT [0-9]+ \"diver\".* 65536 bytes(.|\n)*"
               "weft_unit_attr_t::stack_size(.|\n)*WEFT_STACK_SIZE=128K(.|\n)*frames");
}

TEST_F(Overflow, AbortsAfterwards) {
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.stack_size = 64 << 10;
  EXPECT_EXIT(run_and_overflow(&attr), testing::KilledBySignal(SIGABRT), "stack overflow in ULT");
}

TEST_F(Overflow, OnAStackOfTheDefaultSize) {
  for (const weft_technique_t technique :
       {WEFT_TECHNIQUE_SC, WEFT_TECHNIQUE_SS_L, WEFT_TECHNIQUE_SS}) {
    weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
    attr.technique = technique;
    EXPECT_DEATH(run_and_overflow(&attr), "stack overflow in ULT [0-9]+.* 131072 bytes");
  }
}

TEST_F(Overflow, AfterASuspension) {
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.technique = WEFT_TECHNIQUE_SC;
  const auto fn = [](void*) {
    weft_yield();
    overflow(nullptr);
  };
  EXPECT_DEATH(run_and_overflow(&attr, fn), "stack overflow in ULT");
}

TEST_F(Overflow, WithAGuardByMprotect) {
  ASSERT_EQ(setenv("WEFT_STACK_GUARD", "mprotect", 1), 0);
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.stack_size = 64 << 10;
  EXPECT_DEATH(run_and_overflow(&attr), "stack overflow in ULT");
  unsetenv("WEFT_STACK_GUARD");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
sigjmp_buf before_it;

void overflow_and_go_on(void*) {
  static int times;  // not on the stack that is left
  for (times = 0; times < 3; ++times) {
    if (sigsetjmp(before_it, 1) == 0) hold_open = dive(0);
  }
  std::fprintf(stderr, "went on\n");
}

// As runtimes of languages do.
TEST_F(Overflow, WhoseHandlerIsForTheAlternateStackRecovers) {
  const auto with_handler = [] {
    struct sigaction own{};
    own.sa_sigaction = [](int, siginfo_t*, void*) { siglongjmp(before_it, 1); };
    own.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &own, nullptr);
    weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
    attr.stack_size = 64 << 10;  // its own stack, not its joiner's
    run_and_overflow(&attr, overflow_and_go_on);
  };
  EXPECT_EXIT(with_handler(), testing::ExitedWithCode(0), "stack overflow in ULT(.|\n)*went on");
}
#endif

// ---- what is no overflow

volatile int* nowhere = nullptr;

// Meant to fault by itself, not in a sanitizer's check.
__attribute__((no_sanitize("undefined"))) void touch_nowhere(void*) { *nowhere = 1; }

void own_handler(int, siginfo_t* info, void*) {
  std::fprintf(stderr, "the program's handler, at %p\n", info->si_addr);
  std::_Exit(7);
}

TEST_F(Overflow, OtherFaultsGoToTheHandlerThatWasThere) {
  const auto with_handler = [] {
    struct sigaction own{};
    own.sa_sigaction = own_handler;
    own.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &own, nullptr);
    run_and_overflow(nullptr, touch_nowhere);
  };
  EXPECT_EXIT(with_handler(), testing::ExitedWithCode(7), "the program's handler");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(Overflow, WithoutAHandlerOtherFaultsKillAsUsual) {
  EXPECT_EXIT(run_and_overflow(nullptr, touch_nowhere), testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(Overflow, ASignalThatWasSentKillsAsUsual) {
  EXPECT_EXIT(run_and_overflow(nullptr, [](void*) { raise(SIGSEGV); }),
              testing::KilledBySignal(SIGSEGV), "");
}
#endif

TEST_F(Overflow, FinaliseRestoresTheHandler) {
  struct sigaction before;
  sigaction(SIGSEGV, nullptr, &before);
  ASSERT_TRUE(ok(weft_initialize(nullptr)));
  ASSERT_TRUE(ok(weft_finalize()));
  struct sigaction after;
  sigaction(SIGSEGV, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

}  // namespace
