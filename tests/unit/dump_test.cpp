// weft_dump(): what is said of units in every state, with the backtraces that they really have; from other
// threads, from signal handlers, of workers that spin, and while everything changes.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "inspect/unwind.hpp"
#include "sanitizer_switch.hpp"
#include "support/filter.hpp"
#include "support/runtime_fixture.hpp"

namespace {

using namespace weft_test;

// A file in memory that can be given to weft_dump().
class File {
 public:
  File() : fd_(memfd_create("dump", MFD_CLOEXEC)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { close(fd_); }
  int fd() const { return fd_; }
  std::string text() const {
    std::string all(static_cast<size_t>(lseek(fd_, 0, SEEK_END)), '\0');
    EXPECT_EQ(pread(fd_, all.data(), all.size(), 0), static_cast<ssize_t>(all.size()));
    return all;
  }

 private:
  int fd_;
};

std::string dump_text() {
  const File file;
  EXPECT_TRUE(ok(weft_dump(file.fd())));
  return file.text();
}

// The paragraph of the unit with that name, up to the next empty line.
std::string about(const std::string& dump, const std::string& name) {
  const size_t at = dump.find("\"" + name + "\"");
  if (at == dump.npos) return "";
  const size_t line = dump.rfind('\n', at) + 1;
  return dump.substr(line, dump.find("\n\n", at) - line);
}

bool has(const std::string& text, const std::string& pattern) {
  return std::regex_search(text, std::regex(pattern));
}

weft_unit_attr_t named(const char* name) {
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.name = name;
  return attr;
}

// ---- functions whose names are looked for in backtraces

weft_event_t gate = WEFT_EVENT_INIT;
std::atomic<int> arrived{0};
std::atomic<bool> spin{false};

}  // namespace

extern "C" {
[[gnu::noinline]] void dumped_waits_innermost() {
  ++arrived;
  weft_event_wait(&gate);
  asm volatile("" ::: "memory");  // no tail call
}
[[gnu::noinline]] void dumped_waits(void*) {
  dumped_waits_innermost();
  asm volatile("" ::: "memory");
}
[[gnu::noinline]] void dumped_spins_innermost() {
  ++arrived;
  while (spin.load()) {
    // Where handlers come late they come at a call.
    if (weft::rt::san::kSignalsComeLate) usleep(100);
  }
}
[[gnu::noinline]] void dumped_spins(void*) {
  dumped_spins_innermost();
  asm volatile("" ::: "memory");
}
[[gnu::noinline]] void dumped_suspends(void*) {
  ++arrived;
  weft_suspend();
  asm volatile("" ::: "memory");
}
[[gnu::noinline]] void dumped_yields(void*) {
  ++arrived;
  while (spin.load()) weft_yield();
}
[[gnu::noinline]] void dumped_joins(void* child) {
  weft_join(static_cast<weft_unit_t>(child));
  asm volatile("" ::: "memory");
}
void dumped_never_runs(void*) {}
}

namespace {

class Dump : public RuntimeTest {
 protected:
  explicit Dump(unsigned workers = 2) : RuntimeTest(workers) {}
  void SetUp() override {
    weft_event_reset(&gate);
    arrived = 0;
    spin = true;
    RuntimeTest::SetUp();
  }
  // Lets everything end that a test has started.
  static void release(std::vector<weft_unit_t> units) {
    spin = false;
    weft_event_set(&gate);
    for (weft_unit_t& unit : units) EXPECT_TRUE(ok(weft_free(&unit)));
  }
  static weft_unit_t start(weft_fn fn, const char* name, void* arg = nullptr) {
    const weft_unit_attr_t attr = named(name);
    weft_unit_t unit = nullptr;
    EXPECT_TRUE(ok(weft_ult_create(fn, arg, &attr, &unit)));
    return unit;
  }
};

TEST_F(Dump, TheUnwinderIsThere) { EXPECT_EQ(weft::rt::unwind_lacks(), nullptr) << weft::rt::unwind_lacks(); }

TEST_F(Dump, ABlockedUlt) {
  weft_unit_t unit = start(dumped_waits, "waiter");
  ASSERT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
  const std::string said = about(dump_text(), "waiter");
  EXPECT_TRUE(has(said, "^ULT 0x[0-9a-f]+ \"waiter\": blocked, waits for an event, 0x[0-9a-f]+, for 0\\.[0-9] s, home worker")) << said;
  EXPECT_TRUE(has(said, "leave_unit[^]*dumped_waits_innermost[^]*dumped_waits\\+")) << said;
  release({unit});
}

// What the whole dump says of it, and no more; of the caller and of one that runs elsewhere too.
TEST_F(Dump, OneUnit) {
  weft_unit_t waiter = start(dumped_waits, "waiter");
  ASSERT_TRUE(wait_until([&] { return weft_unit_state(waiter) == WEFT_UNIT_BLOCKED; }));
  weft_unit_t spinner = start(dumped_spins, "spinner");
  while (arrived < 2) usleep(100);
  const auto said_of = [](weft_unit_t unit) {
    const File file;
    EXPECT_TRUE(ok(weft_dump_unit(file.fd(), unit)));
    return file.text();
  };
  EXPECT_TRUE(has(said_of(waiter), "^\nULT 0x[0-9a-f]+ \"waiter\": blocked, waits for an event[^]*dumped_waits\\+"));
  EXPECT_EQ(said_of(waiter).find("spinner"), std::string::npos);
  EXPECT_TRUE(has(said_of(spinner), "\"spinner\": running, on KLT [0-9]+\n[^]*dumped_spins_innermost"));
  EXPECT_TRUE(has(said_of(weft_self()), "\\(main\\)[^]*: running, on KLT [0-9]+\n  #0 .*weft_dump_unit")) << said_of(weft_self());
  on_klt([&] { EXPECT_TRUE(has(said_of(waiter), "dumped_waits_innermost")); });
  release({spinner, waiter});
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_dump_unit(STDERR_FILENO, nullptr)));
}

TEST_F(Dump, ASuspendedUlt) {
  weft_unit_t unit = start(dumped_suspends, "sleeper");
  ASSERT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
  const std::string said = about(dump_text(), "sleeper");
  EXPECT_TRUE(has(said, ": blocked, waits for a resume, for ")) << said;
  EXPECT_TRUE(has(said, "weft_suspend[^]*dumped_suspends\\+")) << said;
  weft_resume(unit);
  release({unit});
}

TEST_F(Dump, AUltThatRunsElsewhere) {
  weft_unit_t unit = start(dumped_spins, "spinner");
  while (arrived == 0) usleep(100);
  const std::string said = about(dump_text(), "spinner");
  EXPECT_TRUE(has(said, "^worker 1.* on KLT [0-9]+: runs ULT .*\"spinner\"")) << said;
  EXPECT_TRUE(has(said, "dumped_spins_innermost[^]*dumped_spins\\+")) << said;
  release({unit});
}

TEST_F(Dump, TheCallerItself) {
  const std::string said = dump_text();
  EXPECT_TRUE(has(said, "worker 0.*: runs ULT 0x[0-9a-f]+ \\(main\\)\n  #0 .*weft_dump")) << said;
  EXPECT_TRUE(has(said, "TheCallerItself")) << said;
}

TEST_F(Dump, ReadyFreshTerminatedAndTasklets) {
  SideWorker side;  // asleep once it has run what it has; its pool is looked at by nobody else
  weft_unit_attr_t attr = side.attr();
  attr.name = "fresh";
  std::atomic<bool> begun{false}, held{true};
  Call hold([&] {
    begun = true;
    while (held) usleep(100);
  });
  weft_unit_attr_t holder_attr = side.attr();
  weft_unit_t holder = hold.tasklet(&holder_attr);
  weft_unit_t fresh = nullptr;
  ASSERT_TRUE(ok(weft_tasklet_create(dumped_never_runs, nullptr, &attr, &fresh)));
  weft_unit_t yielding = start(dumped_yields, "yielding");
  weft_unit_t ended = start(dumped_never_runs, "ended");
  EXPECT_TRUE(ok(weft_join(ended)));
  while (arrived == 0 || !begun) weft_yield();
  const std::string said = dump_text();
  EXPECT_TRUE(has(about(said, "fresh"), "^tasklet .*: fresh in pool 0x.*, would run dumped_never_runs\\+0x0 "))
      << about(said, "fresh");
  EXPECT_TRUE(has(about(said, "ended"), ": terminated$")) << about(said, "ended");
  // It moves all the time: at some dumps it is caught.
  EXPECT_TRUE(wait_until([] {
    return has(about(dump_text(), "yielding"), "(: ready, home worker [01]'s pool|: runs ULT)[^]*dumped_yields");
  }));
  EXPECT_TRUE(has(said, "worker 2.*: runs tasklet")) << said;
  held = false;
  release({holder, fresh, yielding, ended});
}

// One worker: a second one could take the child before its joiner comes to it.
class DumpOfOneWorker : public Dump {
 protected:
  DumpOfOneWorker() : Dump(1) {}
};

TEST_F(DumpOfOneWorker, AUltOnItsJoinersStack) {
  weft_unit_t joiner = nullptr;
  Call call([&] {
    weft_unit_t child = start(dumped_waits, "child");
    dumped_joins(child);
    EXPECT_TRUE(ok(weft_free(&child)));
  });
  weft_unit_attr_t attr = named("joiner");
  attr.technique = WEFT_TECHNIQUE_SS;
  ASSERT_TRUE(ok(weft_ult_create(&Call::run, &call, &attr, &joiner)));
  while (arrived == 0) weft_yield();
  std::string said;
  ASSERT_TRUE(wait_until([&] {
    said = dump_text();
    return has(about(said, "child"), ": blocked");
  }));
  EXPECT_TRUE(has(about(said, "child"), "on the stack of ULT 0x[0-9a-f]+ \"joiner\"")) << said;
  EXPECT_TRUE(has(about(said, "child"), "dumped_waits_innermost[^]*dumped_joins")) << said;
  release({joiner});
}

TEST_F(Dump, FromAThreadThatIsNotWefts) {
  weft_unit_t unit = start(dumped_waits, "waiter");
  ASSERT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
  std::string said;
  on_klt([&] { said = dump_text(); });
  EXPECT_TRUE(has(about(said, "waiter"), "dumped_waits_innermost")) << said;
  EXPECT_TRUE(has(said, "worker 0.*: (runs ULT .* \\(main\\)|in its scheduler)")) << said;
  release({unit});
}

TEST_F(Dump, AKltThatBlocksTheSignalIsNotWaitedForLong) {
  Call call([&] {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    dumped_spins_innermost();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  });
  const weft_unit_attr_t attr = named("deaf");
  weft_unit_t unit = call.ult(&attr);
  while (arrived == 0) usleep(100);
  const auto begin = std::chrono::steady_clock::now();
  const std::string said = about(dump_text(), "deaf");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_TRUE(has(said, "runs ULT .*\"deaf\"\n  \\(its KLT did not answer")) << said;
  // What comes late does no harm, and the next question is answered.
  release({unit});
  arrived = 0;
  spin = true;
  weft_unit_t next = start(dumped_spins, "next");
  while (arrived == 0) usleep(100);
  EXPECT_TRUE(has(about(dump_text(), "next"), "dumped_spins_innermost"));
  release({next});
}

TEST_F(Dump, UnprintableNamesDoNotReachTheTerminal) {
  weft_unit_t unit = start(dumped_waits, "a\033[2Jb\n");
  ASSERT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
  EXPECT_TRUE(has(dump_text(), "\"a\\?\\[2Jb\\?\""));
  release({unit});
}

void dump_a_waiter_under_the_filter() {
  if (weft_initialize(nullptr) != WEFT_OK) _exit(3);
  forbid_system_call(SYS_process_vm_readv);  // this thread
  const weft_unit_attr_t attr = named("waiter");
  weft_unit_t unit = nullptr;
  if (weft_ult_create(dumped_waits, nullptr, &attr, &unit) != WEFT_OK) _exit(4);
  while (weft_unit_state(unit) != WEFT_UNIT_BLOCKED) weft_yield();
  _exit(weft_dump(STDERR_FILENO));
}

TEST(DumpUnderAFilter, OfSystemCallsReadsItsMemoryAnotherWay) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(dump_a_waiter_under_the_filter(), testing::ExitedWithCode(WEFT_OK),
              "\"waiter\": blocked, waits for an event(.|\n)*dumped_waits_innermost(.|\n)*end of dump");
}

TEST_F(Dump, WhileEverythingChanges) {
  std::atomic<bool> stop{false};
  std::thread dumper([&] {
    while (!stop) {
      const File file;
      EXPECT_TRUE(ok(weft_dump(file.fd())));
      EXPECT_TRUE(file.text().ends_with("weft: end of dump\n"));
    }
  });
  weft_mutex_t mutex = WEFT_MUTEX_INIT;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(700);
  while (std::chrono::steady_clock::now() < end) {
    std::vector<std::unique_ptr<Call>> calls;
    std::vector<weft_unit_t> units;
    for (int i = 0; i < 50; ++i) {
      calls.push_back(std::make_unique<Call>([&] {
        weft_mutex_lock(&mutex);
        weft_yield();
        weft_mutex_unlock(&mutex);
      }));
      units.push_back(calls.back()->ult());
    }
    for (weft_unit_t& unit : units) EXPECT_TRUE(ok(weft_free(&unit)));
  }
  stop = true;
  dumper.join();
}

TEST_F(Dump, Errors) {
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_dump(-1)));
  errno = 77;
  const File file;
  EXPECT_TRUE(ok(weft_dump(file.fd())));
  EXPECT_EQ(errno, 77);
}

// ---- the signal

class DumpSignal : public testing::Test {
 protected:
  void SetUp() override { testing::GTEST_FLAG(death_test_style) = "threadsafe"; }
};

// Every worker spins, main too; the signal comes from outside.
void hang_and_signal(const char* option, int signal) {
  setenv("WEFT_DUMP_SIGNAL", option, 1);
  weft_options_t options{};
  options.workers = 2;
  if (weft_initialize(&options) != WEFT_OK) _exit(3);
  spin = true;
  const weft_unit_attr_t attr = named("hung");
  weft_unit_t unit = nullptr;
  if (weft_ult_create(dumped_spins, nullptr, &attr, &unit) != WEFT_OK) _exit(4);
  while (arrived == 0) usleep(100);
  if (fork() == 0) {
    kill(getppid(), signal);
    usleep(500'000);
    kill(getppid(), SIGTERM);
    _exit(0);
  }
  arrived = 0;
  dumped_spins_innermost();
}

TEST_F(DumpSignal, OfAProcessInWhichEveryWorkerSpins) {
  EXPECT_EXIT(hang_and_signal("USR2", SIGUSR2), testing::KilledBySignal(SIGTERM),
              "worker 0.*: runs ULT .* .main.(.|\n)*hang_and_signal(.|\n)*"
              "worker 1.*: runs ULT .* \"hung\"(.|\n)*dumped_spins(.|\n)*end of dump");
}

TEST_F(DumpSignal, ByNumber) {
  EXPECT_EXIT(hang_and_signal("rtmin+2", SIGRTMIN + 2), testing::KilledBySignal(SIGTERM), "end of dump");
}

TEST_F(DumpSignal, IsLeftAloneByDefault) {
  EXPECT_EXIT(hang_and_signal("off", SIGUSR2), testing::KilledBySignal(SIGUSR2), "");
}

TEST_F(DumpSignal, IsGivenBack) {
  setenv("WEFT_DUMP_SIGNAL", "USR2", 1);
  ASSERT_TRUE(ok(weft_initialize(nullptr)));
  struct sigaction now;
  sigaction(SIGUSR2, nullptr, &now);
  EXPECT_NE(now.sa_handler, SIG_DFL);
  ASSERT_TRUE(ok(weft_finalize()));
  sigaction(SIGUSR2, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
  unsetenv("WEFT_DUMP_SIGNAL");
}

TEST(DumpWithoutRuntime, SaysSo) { EXPECT_TRUE(fails(WEFT_ERR_UNINITIALIZED, weft_dump(STDERR_FILENO))); }

}  // namespace
