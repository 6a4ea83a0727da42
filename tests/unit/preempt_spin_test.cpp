// The slice of a unit that only spins (src/preempt/spin.cpp): what a tick takes for spinning. What comes of it: preempt_spin_timing_test.cpp.
#include <gtest/gtest.h>

#include <chrono>
#include <iterator>
#include <thread>

#include "os/clock.hpp"
#include "preempt/preempt.hpp"
#include "unit/unit.hpp"

namespace {

using namespace weft::rt;

constexpr uint64_t kInterval = 1'000'000, kShortest = 50'000;

// What ticks find, made by hand.
class SpinJudgement : public testing::Test {
 protected:
  SpinJudgement() {
    preempt_settings.interval = kInterval;
    preempt_settings.spin_slice = kShortest;
    frame_.uc_mcontext.fpregs = &vectors_;
    at(kCode);
    for (int i = REG_R8; i <= REG_RSP; ++i) set(i, 1000 * i);
  }
  void at(const unsigned char* code) { frame_.uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(code); }
  void set(int number, greg_t value) { frame_.uc_mcontext.gregs[number] = value; }
  greg_t get(int number) const { return frame_.uc_mcontext.gregs[number]; }
  uint64_t tick() {
    again_ = preempt_look_for_spinning(&unit_, &frame_, time_) == SpinLook::kAgain;
    return preempt_slice(&unit_);
  }
  // So that it has the shortest one.
  void spin() {
    for (int i = 0; i < 5; ++i) tick();
    ASSERT_EQ(preempt_slice(&unit_), kShortest);
  }

  // Each in a cache line of its own.
  alignas(64) static constexpr unsigned char kCode[] = {0xf3, 0x90};
  alignas(64) static constexpr unsigned char kElsewhere[] = {0xf3, 0x90};
  alignas(64) static constexpr unsigned char kWhereNobodySpins[] = {0xf3, 0x90};
  alignas(64) static constexpr unsigned char kNew[] = {0xf3, 0x90};
  alignas(64) static constexpr unsigned char kBusy[] = {0xf3, 0x90};
  alignas(64) static constexpr unsigned char kForgotten[] = {0xf3, 0x90};
  alignas(64) static constexpr unsigned char kUnlooked[] = {0xf3, 0x90};
  alignas(64) static constexpr unsigned char kSystemCall[] = {0x0f, 0x05};
  // It has done something.
  void step(int i) {
    set(REG_RAX, 5000 * i);
    set(REG_RCX, -5000 * i);
  }

  bool again_ = false;
  TickTime time_{0, 0};
  static inline Unit units_[16];
  static inline unsigned used_ = 0;
  Unit& unit_ = units_[used_++ % std::size(units_)];  // another one each time: nothing is known of it
  ucontext_t frame_{};
  _libc_fpstate vectors_{};
};

TEST_F(SpinJudgement, ShrinksToTheShortest) {
  const uint64_t expected[] = {kInterval, kInterval / 4, kInterval / 16, kShortest, kShortest};
  for (const uint64_t slice : expected) EXPECT_EQ(tick(), slice);
}

TEST_F(SpinJudgement, WhereItIsNotKnownWhetherItHasRunOneLooksAgain) {
  at(kUnlooked);
  time_.away_ns.reset();
  tick();
  EXPECT_EQ(tick(), kInterval);
  EXPECT_TRUE(again_);
  time_.away_ns = 0;
  EXPECT_EQ(tick(), kShortest);
}

TEST_F(SpinJudgement, IsGivenBackStepByStep) {
  spin();
  at(kElsewhere);
  uint64_t last = kShortest;
  int ticks = 0;
  for (; last < kInterval; ++ticks) {
    set(REG_RAX, 5000 * ticks);
    set(REG_RCX, -5000 * ticks);
    const uint64_t slice = tick();
    EXPECT_GE(slice, last);
    last = slice;
  }
  EXPECT_LE(ticks, 6);
}

TEST_F(SpinJudgement, WaitingAgainWhereOneHasSpunIsNoSign) {
  spin();
  for (int i = 1; i <= 8; ++i) {
    step(i);
    EXPECT_EQ(tick(), kShortest);
    EXPECT_FALSE(again_);
  }
  step(9);
  EXPECT_EQ(tick(), kShortest);
  EXPECT_TRUE(again_) << "it may compute in the same line";
  EXPECT_EQ(tick(), kShortest) << "it has not";
  EXPECT_FALSE(again_);
}

TEST_F(SpinJudgement, WhoComputesWhereOneHasSpunHasHisSliceBack) {
  spin();
  int i = 1;
  while (i < 100 && preempt_slice(&unit_) < kInterval) {
    step(i++);
    tick();
  }
  EXPECT_LE(i, 24);
}

TEST_F(SpinJudgement, OneWholeSliceIsEnoughWhereOneHasSpun) {
  spin();
  at(kElsewhere);
  int i = 1;
  for (; preempt_slice(&unit_) < kInterval || again_; ++i) {
    step(i);
    tick();
  }
  EXPECT_LE(i, 9);
  at(kCode);
  step(i);
  EXPECT_EQ(tick(), kInterval);
  EXPECT_TRUE(again_);
  EXPECT_EQ(tick(), kShortest);
}

TEST_F(SpinJudgement, WhereNobodySpinsAnyMoreThatIsForgotten) {
  at(kForgotten);
  spin();
  int looks = 0;
  for (int i = 1; i < 1000; ++i) {
    step(i);
    tick();
    if (again_) ++looks;
  }
  EXPECT_GE(looks, 32);
  EXPECT_LE(looks, 64);
  EXPECT_FALSE(again_);
}

// Where each turn is of use no tick ever finds the values of the one before.
TEST_F(SpinJudgement, WhereTicksComeAgainOneLooksTwice) {
  at(kNew);
  step(1);
  EXPECT_EQ(tick(), kInterval);
  EXPECT_FALSE(again_);
  step(2);
  EXPECT_EQ(tick(), kInterval);
  EXPECT_TRUE(again_);
  EXPECT_EQ(tick(), kShortest);
}

TEST_F(SpinJudgement, ButNotForEver) {
  at(kBusy);
  int looks = 0;
  for (int i = 1; i < 100; ++i) {
    step(i);
    EXPECT_EQ(tick(), kInterval);
    looks += again_;
  }
  EXPECT_GE(looks, 1);
  EXPECT_LE(looks, 8);
}

TEST_F(SpinJudgement, TheWordMayChangeALittle) {
  for (int i = 0; i < 5; ++i) {
    set(REG_RAX, get(REG_RAX) + (i % 2 == 0 ? 9 : -5));
    tick();
  }
  EXPECT_EQ(preempt_slice(&unit_), kShortest);
}

TEST_F(SpinJudgement, WhatChangesMoreComputes) {
  at(kWhereNobodySpins);
  tick();
  for (int i = 1; i < 20; ++i) {
    set(REG_RDX, 100 * i);
    EXPECT_EQ(tick(), kInterval) << "one that counts";
  }
  for (int i = 1; i < 20; ++i) {
    set(REG_RDX, i);
    set(REG_RSI, i);
    EXPECT_EQ(tick(), kInterval) << "two";
  }
  for (int i = 1; i < 20; ++i) {
    vectors_._xmm[i % 16].element[i % 4] ^= 1;
    EXPECT_EQ(tick(), kInterval) << "a vector";
  }
  for (int i = 1; i < 20; ++i) {
    vectors_._st[i % 8].significand[0] ^= 1;
    EXPECT_EQ(tick(), kInterval) << "a sum of the old kind";
  }
}

TEST_F(SpinJudgement, ATickThatIsLateSaysNothing) {
  spin();
  time_.late_ns = 200'000;
  for (int i = 0; i < 6; ++i) tick();
  EXPECT_EQ(preempt_slice(&unit_), kInterval);
}

TEST_F(SpinJudgement, NorDoesOneThatComesWhereOthersHadTheCore) {
  spin();
  time_.away_ns = 30'000;
  for (int i = 0; i < 6; ++i) tick();
  EXPECT_EQ(preempt_slice(&unit_), kInterval);
}

// As in a slow virtual machine.
TEST_F(SpinJudgement, WhatTheTickItselfTakesIsNobodys) {
  time_.away_ns = 14'000;
  for (int i = 0; i < 40; ++i) tick();
  EXPECT_EQ(preempt_slice(&unit_), kShortest);
  time_.away_ns = 30'000;
  for (int i = 0; i < 6; ++i) tick();
  EXPECT_EQ(preempt_slice(&unit_), kInterval);
  time_.away_ns = 0;
  tick();
  time_.away_ns = 14'000;
  for (int i = 0; i < 6; ++i) tick();
  EXPECT_EQ(preempt_slice(&unit_), kInterval) << "it takes less, as one look has shown";
}

TEST_F(SpinJudgement, WhoSleepsInTheKernelDoesNotSpin) {
  at(kSystemCall);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(tick(), kInterval);
    EXPECT_FALSE(again_) << "another tick soon would cut the call short";
  }
  at(kCode);
  set(REG_RAX, -EINTR);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(tick(), kInterval);
}

TEST_F(SpinJudgement, NorWhoIsInsideWeft) {
  spin();
  for (int i = 0; i < 6; ++i) preempt_look_for_spinning(&unit_, nullptr, time_);
  EXPECT_EQ(preempt_slice(&unit_), kInterval);
}

TEST_F(SpinJudgement, TheIntervalItselfIsTheOffSwitch) {
  preempt_settings.spin_slice = kInterval;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(tick(), kInterval);
}

TEST(SpinTickTime, IsThatOfTheThread) {
  Klt klt;
  EXPECT_EQ(preempt_tick_time(&klt).late_ns, 0u) << "there is none";
  klt.tick_due = now_ns() - 200'000;
  TickTime time = preempt_tick_time(&klt);
  EXPECT_GE(time.late_ns, 200'000u);
  EXPECT_FALSE(time.away_ns);
  klt.tick_due = now_ns() + 3'600'000'000'000;
  klt.tick_away = now_ns() - thread_cpu_ns();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  time = preempt_tick_time(&klt);
  EXPECT_EQ(time.late_ns, 0u);
  ASSERT_TRUE(time.away_ns);
  EXPECT_GE(*time.away_ns, 19'000'000);
}

}  // namespace
