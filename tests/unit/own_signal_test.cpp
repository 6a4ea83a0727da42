// The signals of ticks and of returns: KLTs leave them open, and where a program has one left they share it.
#include <signal.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <vector>

#include "sanitizer_switch.hpp"
#include "support/blocking.hpp"
#include "support/runtime_fixture.hpp"
#include "weft/preempt.h"

namespace {

using namespace weft_test;

weft_preemption_info_t preemption_info() {
  weft_preemption_info_t info{};
  EXPECT_TRUE(ok(weft_preemption_info(&info)));
  return info;
}

// A program that handles all real-time signals but one, as Go's runtime does. What it had in their places before comes back.
class AllButOne {
 public:
  explicit AllButOne(int left) : left_(left) {
    struct sigaction action{};
    action.sa_handler = [](int) {};
    for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) {
      EXPECT_EQ(sigaction(signal, signal == left_ ? nullptr : &action, &before_.at(static_cast<size_t>(signal))), 0);
    }
  }
  ~AllButOne() {
    for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) {
      EXPECT_EQ(sigaction(signal, &before_.at(static_cast<size_t>(signal)), nullptr), 0);
    }
  }
  AllButOne(const AllButOne&) = delete;
  AllButOne& operator=(const AllButOne&) = delete;
  bool is_unhandled() const {
    struct sigaction now{};
    EXPECT_EQ(sigaction(left_, nullptr, &now), 0);
    return now.sa_handler == SIG_DFL;
  }

 private:
  int left_;
  std::array<struct sigaction, 65> before_{};
};

void start(unsigned workers, const char* blocking, const char* preemption) {
  setenv("WEFT_BLOCKING", blocking, 1);
  setenv("WEFT_PREEMPTION", preemption, 1);
  weft_options_t options{};
  options.workers = workers;
  EXPECT_TRUE(ok(weft_initialize(&options)));
  unsetenv("WEFT_BLOCKING");
  unsetenv("WEFT_PREEMPTION");
}

// Under ThreadSanitizer ULTs are preempted where they call Weft.
void spin_until(const std::atomic<bool>& done) {
  while (!done) {
    if (weft::rt::san::kSignalsComeLate) weft_yield();
  }
}

// One worker: the first comes back from the kernel and spins until the third has run, behind the second, which spins, too.
void block_and_spin() {
  Pipe pipe;
  std::atomic<bool> done{false}, reading{false};
  Call back([&] {
    reading = true;
    pipe.get();
    spin_until(done);
  });
  std::vector<weft_unit_t> units{back.ult()};
  while (!reading) weft_yield();
  Call other([&] {
    pipe.put();
    spin_until(done);
  });
  units.push_back(other.ult());
  Call last([&] { done = true; });
  units.push_back(last.ult());
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
}

class OneSignal : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Left, OneSignal, testing::Values(0, 3), [](const auto& info) { return std::to_string(info.param); });

TEST_P(OneSignal, IsForBothReasons) {
  const int left = SIGRTMIN + GetParam();
  const AllButOne program(left);
  for (int i = 0; i < 3; ++i) {
    start(1, "on", "on");
    EXPECT_EQ(preemption_info().signal, left);
    // The first may be preempted before it blocks, or back before anybody has looked.
    for (int k = 0; k < 1000 && blocking_info().hand_overs == 0; ++k) block_and_spin();
    EXPECT_GE(blocking_info().hand_overs, 1u);
    // Each change of the KLT begins a slice anew, so those may all be shorter: one that computes for longer than any.
    in_ult([] {
      EXPECT_TRUE(wait_until([] { return preemption_info().ticks != 0; }));
    });
    EXPECT_TRUE(ok(weft_finalize()));
    EXPECT_TRUE(program.is_unhandled());
  }
}

TEST_P(OneSignal, InEitherOrder) {
  const int left = SIGRTMIN + GetParam();
  const AllButOne program(left);
  start(1, "off", "off");
  for (int i = 0; i < 4; ++i) {
    const auto set = [&](bool ticks, bool on) {
      EXPECT_TRUE(ok(ticks ? weft_preemption_set_mode(on ? WEFT_PREEMPTION_ON : WEFT_PREEMPTION_OFF)
                           : weft_blocking_set_mode(on ? WEFT_BLOCKING_ON : WEFT_BLOCKING_OFF)));
    };
    const bool ticks_first = i % 2 == 0;
    set(ticks_first, true);
    set(!ticks_first, true);
    block_and_spin();
    set(ticks_first, false);
    set(!ticks_first, false);
  }
  EXPECT_TRUE(ok(weft_finalize()));
  EXPECT_TRUE(program.is_unhandled());
}

// A worker that stands beside: who has come back is stopped by the signal that ticks have as well.
TEST_P(OneSignal, StopsWhoHasComeBack) {
  if (weft::rt::san::kSignalsComeLate) GTEST_SKIP() << "nobody is stopped under ThreadSanitizer";
  const AllButOne program(SIGRTMIN + GetParam());
  start(1, "on", "auto");
  for (int i = 0; i < 1000 && blocking_info().stopped == 0; ++i) block_and_spin();
  EXPECT_GE(blocking_info().stopped, 1u);
  EXPECT_TRUE(ok(weft_finalize()));
}

TEST(NoSignal, NeitherReason) {
  const AllButOne program(0);
  testing::internal::CaptureStderr();
  start(1, "on", "on");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("no preemption: no real-time signal is free"), std::string::npos) << said;
  EXPECT_NE(said.find("blocking is not noticed"), std::string::npos) << said;
  EXPECT_TRUE(fails(WEFT_ERR_UNSUPPORTED, weft_preemption_set_mode(WEFT_PREEMPTION_AUTO)));
  EXPECT_TRUE(fails(WEFT_ERR_UNSUPPORTED, weft_blocking_set_mode(WEFT_BLOCKING_AUTO)));
  in_ult([] {});
  EXPECT_TRUE(ok(weft_finalize()));
}

// What had none at the start is asked for again.
TEST(NoSignal, UntilTheProgramLeavesSome) {
  auto program = std::make_unique<AllButOne>(0);
  start(1, "off", "off");
  EXPECT_TRUE(fails(WEFT_ERR_UNSUPPORTED, weft_preemption_set_mode(WEFT_PREEMPTION_ON)));
  EXPECT_TRUE(fails(WEFT_ERR_UNSUPPORTED, weft_blocking_set_mode(WEFT_BLOCKING_ON)));
  program.reset();
  EXPECT_TRUE(ok(weft_preemption_set_mode(WEFT_PREEMPTION_ON)));
  EXPECT_TRUE(ok(weft_blocking_set_mode(WEFT_BLOCKING_ON)));
  block_and_spin();
  EXPECT_TRUE(ok(weft_finalize()));
}

class SomeBlocked : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    sigemptyset(&some_);
    for (int i = 0; i < 4; ++i) sigaddset(&some_, SIGRTMAX - i);
    ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &some_, &before_), 0);
  }
  void TearDown() override { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  static int blocked() {
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, nullptr, &now);
    int count = 0;
    for (int i = 0; i < 4; ++i) count += sigismember(&now, SIGRTMAX - i);
    return count;
  }
  sigset_t some_{}, before_{};
};
INSTANTIATE_TEST_SUITE_P(Reasons, SomeBlocked, testing::Values("off", "on"), [](const auto& info) { return info.param; });

// The program waits for them, by sigwait() or a signalfd.
TEST_P(SomeBlocked, AreTheProgramsAndStayBlocked) {
  for (int i = 0; i < 2; ++i) {
    start(1, GetParam(), GetParam());
    EXPECT_TRUE(ok(weft_preemption_set_mode(WEFT_PREEMPTION_ON)));
    EXPECT_TRUE(ok(weft_blocking_set_mode(WEFT_BLOCKING_ON)));
    EXPECT_EQ(preemption_info().signal, SIGRTMAX - 4);
    EXPECT_EQ(blocked(), 4);
    block_and_spin();
    EXPECT_TRUE(ok(weft_finalize()));
    EXPECT_EQ(blocked(), 4);
  }
}

TEST_P(SomeBlocked, AreTakenWhereNoOtherIsLeft) {
  const AllButOne program(SIGRTMAX - 2);
  start(1, GetParam(), GetParam());
  EXPECT_TRUE(ok(weft_preemption_set_mode(WEFT_PREEMPTION_ON)));
  EXPECT_EQ(preemption_info().signal, SIGRTMAX - 2);
  EXPECT_EQ(blocked(), 3);
  EXPECT_TRUE(ok(weft_finalize()));
  EXPECT_EQ(blocked(), 4);
}

// A service blocks all signals in main, and has a thread that waits for them.
TEST(AllBlocked, UltsArePreemptedAllTheSame) {
  sigset_t all, before, now;
  sigfillset(&all);
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &all, &before), 0);
  start(2, "auto", "auto");
  const int signal = preemption_info().signal;
  pthread_sigmask(SIG_SETMASK, nullptr, &now);
  EXPECT_EQ(sigismember(&now, SIGUSR1), 1);
  EXPECT_EQ(sigismember(&now, signal), 0);
  constexpr unsigned kUlts = 6;
  std::atomic<unsigned> here{0}, blocked{0};
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  for (unsigned i = 0; i < kUlts; ++i) {
    calls.push_back(std::make_unique<Call>([&] {
      sigset_t mine;
      pthread_sigmask(SIG_SETMASK, nullptr, &mine);
      blocked += sigismember(&mine, SIGUSR1) == 1 && sigismember(&mine, signal) == 0;
      for (++here; here < kUlts;) {
        if (weft::rt::san::kSignalsComeLate) weft_yield();
      }
    }));
    units.push_back(calls.back()->ult());
  }
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  EXPECT_EQ(blocked, kUlts);
  EXPECT_TRUE(ok(weft_finalize()));
  pthread_sigmask(SIG_SETMASK, &before, &now);
  for (int one = 1; one <= SIGRTMAX; ++one) {
    if (one == SIGKILL || one == SIGSTOP) continue;
    EXPECT_EQ(sigismember(&now, one), sigismember(&all, one)) << one;
  }
}

}  // namespace
