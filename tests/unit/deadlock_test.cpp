// A deadlock is reported once, with what waits; a program that something can still wake is not.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ostream>
#include <string>
#include <thread>

#include "api/handles.hpp"
#include "klt/hand_over.hpp"
#include "sanitizer_switch.hpp"
#include "support/runtime_fixture.hpp"
#include "worker/runtime.hpp"

namespace {

using namespace weft_test;

weft_mutex_t first = WEFT_MUTEX_INIT;
weft_mutex_t second = WEFT_MUTEX_INIT;
weft_event_t never = WEFT_EVENT_INIT;

// ---- how a process that hangs is watched: no thread may do it, so it interrupts itself ten times a second

constexpr int kTicksPerSecond = 10;
// How it ends. By signals: at an exit TSan complains about the threads that are still there.
constexpr int kHeard = SIGUSR1;   // it has said what was waited for
constexpr int kSilent = SIGUSR2;  // it has not

int said = -1;               // what it writes to standard error
int standard_error = -1;
bool wanted = false;         // a report is
// Any thread may be interrupted, and several at once.
std::atomic<int> ticks_left = 0;
std::atomic<int> ticks_after = 0;  // how long it is watched when it has reported

[[noreturn]] void tell(int signal) {
  char piece[4096];
  ssize_t n;
  for (off_t at = 0; (n = pread(said, piece, sizeof piece, at)) > 0; at += n) {
    if (write(standard_error, piece, static_cast<size_t>(n)) != n) _exit(9);
  }
  // With one thread nobody else could get it, and ThreadSanitizer calls handlers with all signals blocked.
  sigset_t it;
  sigemptyset(&it);
  sigaddset(&it, signal);
  pthread_sigmask(SIG_UNBLOCK, &it, nullptr);
  kill(getpid(), signal);
  for (;;) pause();
}

bool has_reported() {
  constexpr char kEnd[] = "weft: end of dump\n";
  char end[sizeof kEnd] = "";
  const off_t size = lseek(said, 0, SEEK_END);
  return pread(said, end, sizeof kEnd - 1, size - static_cast<off_t>(sizeof kEnd - 1)) > 0 && strcmp(end, kEnd) == 0;
}

void tick(int) {
  const int error = errno;
  if (wanted && has_reported() && ticks_after-- <= 0) tell(kHeard);
  if (--ticks_left <= 0) tell(!wanted && has_reported() ? kHeard : kSilent);
  errno = error;
}

unsigned worker_count = 2;

void start_runtime() {
  weft_options_t options{};
  options.workers = worker_count;
  if (weft_initialize(&options) != WEFT_OK) _exit(3);
}

void start_and_watch_for(int seconds) {
  standard_error = dup(STDERR_FILENO);
  said = memfd_create("said", MFD_CLOEXEC);
  if (said < 0 || dup2(said, STDERR_FILENO) < 0) _exit(9);
  start_runtime();
  ticks_left = seconds * kTicksPerSecond;
  signal(SIGALRM, tick);
  constexpr timeval kTick{0, 1'000'000 / kTicksPerSecond};
  const itimerval timer{kTick, kTick};
  setitimer(ITIMER_REAL, &timer, nullptr);
}

// Until it reports a deadlock, and for so long after that; no longer than a minute.
void start_and_expect_report(int seconds_more = 0) {
  wanted = true;
  ticks_after = seconds_more * kTicksPerSecond;
  start_and_watch_for(60);
}

// Long enough for two looks.
void start_and_expect_silence() { start_and_watch_for(4); }

weft_unit_t start(weft_fn fn, const char* name) {
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.name = name;
  attr.technique = WEFT_TECHNIQUE_SC;  // not on its joiner's stack
  weft_unit_t unit = nullptr;
  if (weft_ult_create(fn, nullptr, &attr, &unit) != WEFT_OK) _exit(4);
  return unit;
}

std::atomic<int> have_first{0};
void lock_both(weft_mutex_t* a, weft_mutex_t* b) {
  weft_mutex_lock(a);
  ++have_first;
  while (have_first < 2) weft_yield();
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
  void SetUp() override { testing::GTEST_FLAG(death_test_style) = "threadsafe"; }
};

void expect_silence(void (*hang)()) {
  EXPECT_EXIT(hang(), testing::KilledBySignal(kSilent), reports(0));
}

TEST_F(Deadlock, OfTwoMutexesNamesBothUltsAndTheOneThatJoinsThem) {
  const auto hang = [] {
    start_and_expect_report();
    weft_unit_t one = start(forwards, "forwards");
    weft_unit_t other = start(backwards, "backwards");
    weft_join(one);
    weft_join(other);
  };
  // In the order in which they were made.
  EXPECT_EXIT(hang(), testing::KilledBySignal(kHeard),
              "weft: deadlock: every unit waits(.|\\n)*"
              "\\(main\\): blocked, waits for the end of a unit, ULT 0x[0-9a-f]+ \"forwards\", for (.|\\n)*TestBody(.|\\n)*"
              "\"forwards\": blocked, waits for a mutex, 0x[0-9a-f]+, for (.|\\n)*lock_both(.|\\n)*"
              "\"backwards\": blocked, waits for a mutex, 0x[0-9a-f]+, for (.|\\n)*lock_both");
}

TEST_F(Deadlock, OfASuspendedUltIsOneToo) {
  const auto hang = [] {
    start_and_expect_report();
    weft_suspend();
  };
  EXPECT_EXIT(hang(), testing::KilledBySignal(kHeard), "deadlock(.|\\n)*main(.|\\n)*weft_suspend");
}

TEST_F(Deadlock, OfAUltOnItsJoinersStackShowsBoth) {
  const auto hang = [] {
    worker_count = 1;  // of this process: another worker might be faster than the join
    start_and_expect_report();
    weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
    attr.name = "child";
    weft_unit_t unit = nullptr;
    weft_ult_create(waits_for_ever, nullptr, &attr, &unit);
    weft_join(unit);
  };
  EXPECT_EXIT(hang(), testing::KilledBySignal(kHeard),
              "deadlock(.|\\n)*\"child\".*on the stack of ULT 0x[0-9a-f]+ \\(main\\)(.|\\n)*waits_for_ever(.|\\n)*TestBody");
}

TEST_F(Deadlock, IsNoneWhileADeadlineComes) {
  expect_silence([] {
    start_and_expect_silence();
    weft_event_wait_until(&never, weft_after(60'000'000'000));
  });
}

TEST_F(Deadlock, IsReportedOnce) {
  const auto hang = [] {
    start_and_expect_report(7);
    weft_event_wait(&never);
  };
  EXPECT_EXIT(hang(), testing::KilledBySignal(kHeard), reports(1));
}

TEST_F(Deadlock, IsNoneWhileAnotherThreadLives) {
  expect_silence([] {
    std::thread([] { pause(); }).detach();
    start_and_expect_silence();
    weft_event_wait(&never);
  });
}

TEST_F(Deadlock, IsNoneWhileMainIsInTheKernel) {
  expect_silence([] {
    start_and_expect_silence();
    start(waits_for_ever, "waits");
    for (;;) pause();
  });
}

// Its KLT sleeps in the kernel, and its worker was taken from it: all workers sleep.
TEST_F(Deadlock, IsNoneWhileAUltIsInTheKernel) {
  expect_silence([] {
    start_and_expect_silence();
    std::atomic<bool> arrived{false};
    Call call([&arrived] {
      arrived = true;
      for (;;) pause();
    });
    weft_unit_t unit = call.ult();
    while (!arrived) usleep(100);
    while (!weft::rt::take_worker(weft::rt::runtime.workers[1].load())) usleep(100);
    if (weft::rt::unit_state(weft::rt::from_handle(unit)) != weft::rt::UnitState::kInKernel) _exit(6);
    weft_event_wait(&never);
  });
}

TEST_F(Deadlock, IsNoneWhileAWorkerComputes) {
  expect_silence([] {
    start_and_expect_silence();
    start(waits_for_ever, "waits");
    for (;;) {
      asm volatile("");
      // Where handlers come late, also the one that ends this, they come at a call.
      if (weft::rt::san::kSignalsComeLate) usleep(100);
    }
  });
}

TEST_F(Deadlock, IsNoticedWhenTheLastOtherThreadHasEnded) {
  const auto hang = [] {
    std::thread([] { std::this_thread::sleep_for(std::chrono::milliseconds(1500)); }).detach();
    start_and_expect_report();
    weft_event_wait(&never);
  };
  EXPECT_EXIT(hang(), testing::KilledBySignal(kHeard), "deadlock");
}

}  // namespace
