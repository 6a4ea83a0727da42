// A deadlock is reported once, with what waits; a program that something can still wake is not.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <ostream>
#include <string>
#include <thread>

#include "support/runtime_fixture.hpp"

namespace {

using namespace weft_test;

weft_mutex_t first = WEFT_MUTEX_INIT;
weft_mutex_t second = WEFT_MUTEX_INIT;
weft_event_t never = WEFT_EVENT_INIT;

void start_runtime() {
  weft_options_t options{};
  options.workers = 2;
  if (weft_initialize(&options) != WEFT_OK) _exit(3);
}

// The end of all that hangs: SIGALRM.
void start_and_hang_for(unsigned seconds) {
  start_runtime();
  alarm(seconds);
}

weft_unit_t start(weft_fn fn, const char* name) {
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.name = name;
  attr.technique = WEFT_TECHNIQUE_SC;  // not on its joiner's stack
  weft_unit_t unit = nullptr;
  if (weft_ult_create(fn, nullptr, &attr, &unit) != WEFT_OK) _exit(4);
  return unit;
}

void lock_both(weft_mutex_t* a, weft_mutex_t* b) {
  weft_mutex_lock(a);
  for (int i = 0; i < 100; ++i) weft_yield();
  weft_mutex_lock(b);
  _exit(5);
}
void forwards(void*) { lock_both(&first, &second); }
void backwards(void*) { lock_both(&second, &first); }
void waits_for_ever(void*) { weft_event_wait(&never); }

// How often the word is in what the process has written.
class Reports : public testing::MatcherInterface<const std::string&> {
 public:
  explicit Reports(int wanted) : wanted_(wanted) {}
  bool MatchAndExplain(const std::string& text, testing::MatchResultListener*) const override {
    int count = 0;
    constexpr char kWord[] = "weft: deadlock";
    for (size_t at = text.find(kWord); at != text.npos; at = text.find(kWord, at + 1)) ++count;
    return count == wanted_;
  }
  void DescribeTo(std::ostream* out) const override { *out << "reports a deadlock " << wanted_ << " times"; }

 private:
  int wanted_;
};
testing::Matcher<const std::string&> reports(int wanted) { return testing::MakeMatcher(new Reports(wanted)); }

class Deadlock : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

void expect_silence(void (*hang)()) {
  EXPECT_EXIT(hang(), testing::KilledBySignal(SIGALRM), reports(0));
}

TEST_F(Deadlock, OfTwoMutexesNamesBothUltsAndTheOneThatJoinsThem) {
  const auto hang = [] {
    start_and_hang_for(3);
    weft_unit_t one = start(forwards, "forwards");
    weft_unit_t other = start(backwards, "backwards");
    weft_join(one);
    weft_join(other);
  };
  EXPECT_EXIT(hang(), testing::KilledBySignal(SIGALRM), "weft: deadlock: every unit waits");
  EXPECT_EXIT(hang(), testing::KilledBySignal(SIGALRM), "\"forwards\".*: blocked, waits for a mutex, 0x[0-9a-f]+, for (.|\\n)*lock_both");
  EXPECT_EXIT(hang(), testing::KilledBySignal(SIGALRM), "\"backwards\".*: blocked(.|\\n)*lock_both");
  EXPECT_EXIT(hang(), testing::KilledBySignal(SIGALRM), "\\(main\\).*: blocked, waits for the end of a unit, ULT 0x[0-9a-f]+ \"forwards\"(.|\\n)*TestBody");
}

TEST_F(Deadlock, OfASuspendedUltIsOneToo) {
  const auto hang = [] {
    start_and_hang_for(3);
    weft_suspend();
  };
  EXPECT_EXIT(hang(), testing::KilledBySignal(SIGALRM), "deadlock(.|\\n)*main(.|\\n)*weft_suspend");
}

TEST_F(Deadlock, OfAUltOnItsJoinersStackShowsBoth) {
  const auto hang = [] {
    start_and_hang_for(3);
    weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
    attr.name = "child";
    weft_unit_t unit = nullptr;
    weft_ult_create(waits_for_ever, nullptr, &attr, &unit);
    weft_join(unit);
  };
  EXPECT_EXIT(hang(), testing::KilledBySignal(SIGALRM),
              "deadlock(.|\\n)*\"child\".*on the stack of ULT 0x[0-9a-f]+ \\(main\\)(.|\\n)*waits_for_ever(.|\\n)*TestBody");
}

TEST_F(Deadlock, IsNoneWhileADeadlineComes) {
  expect_silence([] {
    start_and_hang_for(3);
    weft_event_wait_until(&never, weft_after(60'000'000'000));
  });
}

TEST_F(Deadlock, IsReportedOnce) {
  const auto hang = [] {
    start_and_hang_for(8);
    weft_event_wait(&never);
  };
  EXPECT_EXIT(hang(), testing::KilledBySignal(SIGALRM), reports(1));
}

TEST_F(Deadlock, IsNoneWhileAnotherThreadLives) {
  expect_silence([] {
    std::thread([] { pause(); }).detach();
    start_and_hang_for(3);
    weft_event_wait(&never);
  });
}

TEST_F(Deadlock, IsNoneWhileMainIsInTheKernel) {
  expect_silence([] {
    start_and_hang_for(3);
    start(waits_for_ever, "waits");
    for (;;) pause();
  });
}

TEST_F(Deadlock, IsNoneWhileAWorkerComputes) {
  expect_silence([] {
    start_and_hang_for(3);
    start(waits_for_ever, "waits");
    for (;;) asm volatile("");
  });
}

TEST_F(Deadlock, IsNoticedWhenTheLastOtherThreadHasEnded) {
  const auto hang = [] {
    std::thread([] { std::this_thread::sleep_for(std::chrono::milliseconds(1500)); }).detach();
    start_and_hang_for(6);
    weft_event_wait(&never);
  };
  EXPECT_EXIT(hang(), testing::KilledBySignal(SIGALRM), "deadlock");
}

}  // namespace
