// What a program sets for a signal that is Weft's at present. Here nothing stands before the C library's functions: it is told straight.
#include "klt/own_action.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "klt/own_signal.hpp"
#include "os/realtime_signal.hpp"
#include "sanitizer_switch.hpp"
#include "support/runtime_fixture.hpp"
#include "weft/preempt.h"

namespace {

using namespace weft_test;
using namespace weft::rt;

void handler_of_program(int) {}

class OwnAction : public testing::Test {
 protected:
  OwnAction() { start(nullptr); }
  ~OwnAction() override {
    end();
    signal(signal_, SIG_DFL);
  }
  void start(const char* number) {
    setenv("WEFT_BLOCKING", "off", 1);
    setenv("WEFT_PREEMPTION", "on", 1);
    if (number != nullptr) setenv("WEFT_PREEMPTION_SIGNAL", number, 1);
    weft_options_t options{};
    options.workers = 1;
    EXPECT_TRUE(ok(weft_initialize(&options)));
    unsetenv("WEFT_BLOCKING");
    unsetenv("WEFT_PREEMPTION");
    unsetenv("WEFT_PREEMPTION_SIGNAL");
    weft_preemption_info_t info{};
    EXPECT_TRUE(ok(weft_preemption_info(&info)));
    signal_ = info.signal;
  }
  void end() {
    if (weft_initialized()) {
      EXPECT_TRUE(ok(weft_finalize()));
    }
  }
  // By the program. Returns what it is told of before.
  void (*set(void (*handler)(int)) const)(int) {
    struct sigaction wanted{}, was{};
    wanted.sa_handler = handler;
    EXPECT_EQ(own_action_set(sigaction, signal_, &wanted, &was), 0);
    EXPECT_EQ(was.sa_flags & SA_SIGINFO, 0);
    return was.sa_handler;
  }
  void (*told() const)(int) {
    struct sigaction was{};
    EXPECT_EQ(own_action_set(sigaction, signal_, nullptr, &was), 0);
    return was.sa_handler;
  }
  // By the kernel.
  struct sigaction there() const {
    struct sigaction now{};
    EXPECT_EQ(signal_action(signal_, nullptr, &now), 0);
    return now;
  }
  bool ours_is_there() const { return own_signal_is_handler(there()); }
  static void expect_ticks() {
    const auto ticks = [] {
      weft_preemption_info_t info{};
      EXPECT_TRUE(ok(weft_preemption_info(&info)));
      return info.ticks;
    };
    in_ult([&] {
      const auto before = ticks();
      EXPECT_TRUE(wait_until([&] { return ticks() > before; }));
    });
  }

  int signal_ = 0;
};

TEST_F(OwnAction, OursStaysAndTheProgramIsToldItsOwn) {
  EXPECT_TRUE(own_action_is_held(signal_));
  EXPECT_EQ(told(), SIG_DFL);
  EXPECT_EQ(set(SIG_DFL), SIG_DFL);
  EXPECT_TRUE(ours_is_there());
  EXPECT_EQ(set(SIG_IGN), SIG_DFL);
  EXPECT_EQ(told(), SIG_IGN);
  EXPECT_TRUE(ours_is_there());
  expect_ticks();
  EXPECT_EQ(set(SIG_DFL), SIG_IGN);
  end();
  EXPECT_FALSE(own_action_is_held(signal_));
  EXPECT_EQ(there().sa_handler, SIG_DFL);
}

TEST_F(OwnAction, WhatIsIgnoredIsSoAfterwards) {
  set(SIG_IGN);
  end();
  EXPECT_EQ(there().sa_handler, SIG_IGN);
  // Again, with the same number: it is noted already.
  start(std::to_string(signal_).c_str());
  EXPECT_TRUE(ours_is_there());
  EXPECT_EQ(told(), SIG_IGN);
  end();
  EXPECT_EQ(there().sa_handler, SIG_IGN);
}

TEST_F(OwnAction, AHandlerOfTheProgramsTakesItsPlace) {
  EXPECT_EQ(set(handler_of_program), SIG_DFL);
  EXPECT_EQ(there().sa_handler, handler_of_program);
  EXPECT_EQ(told(), handler_of_program);
  EXPECT_EQ(set(SIG_DFL), handler_of_program);
  EXPECT_TRUE(ours_is_there());
  expect_ticks();
  set(SIG_IGN);
  EXPECT_EQ(set(handler_of_program), SIG_IGN);
  end();
  EXPECT_EQ(there().sa_handler, handler_of_program);
}

// It has handlers of its own, and our memory.
TEST_F(OwnAction, AChildOfVforkSetsItsOwn) {
  if (san::kSignalsComeLate) GTEST_SKIP() << "ThreadSanitizer's vfork() is a fork()";
  const pid_t child = vfork();
  if (child == 0) {
    const bool told_default = set(SIG_IGN) == SIG_DFL;
    _exit(told_default && there().sa_handler == SIG_IGN ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(told(), SIG_DFL);
  EXPECT_TRUE(ours_is_there());
}

TEST_F(OwnAction, AForkedChildHasTheParents) {
  set(SIG_IGN);
  const pid_t child = fork();
  if (child == 0) {
    bool right = told() == SIG_IGN && ours_is_there();
    right = set(SIG_DFL) == SIG_IGN && told() == SIG_DFL && ours_is_there() && right;
    _exit(right ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(told(), SIG_IGN);
}

}  // namespace
