// A worker whose ULT blocks in the kernel goes on with other units: whatever it blocks in, on each rung, in each mode.
#include <poll.h>
#include <semaphore.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "block/bpf_rung.hpp"
#include "klt/kernel_sleep.hpp"
#include "klt/klt.hpp"
#include "klt/no_preemption.hpp"
#include "sanitizer_switch.hpp"
#include "support/blocking.hpp"
#include "support/elsewhere.hpp"
#include "support/filter.hpp"
#include "support/foreign_sched.hpp"
#include "support/no_more.hpp"
#include "support/user_pool.hpp"
#include "weft/blocking.hpp"

namespace {

using namespace weft_test;
using std::chrono::milliseconds;

class Blocking : public AwareTest {};
INSTANTIATE_TEST_SUITE_P(All, Blocking, kAwarenesses, name_of);

// As many ULTs as there are workers block, and what they wait for is done by a ULT that comes later.
template <class Block, class Release>
void others_run_while_ults_block(unsigned workers, Block block, Release release) {
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  std::atomic<unsigned> about_to{0};
  for (unsigned i = 0; i < workers; ++i) {
    calls.push_back(std::make_unique<Call>([&, i] {
      ++about_to;
      block(i);
    }));
    units.push_back(calls.back()->ult());
  }
  Call releases([&] {
    while (about_to < workers) weft_yield();
    for (unsigned i = 0; i < workers; ++i) release(i);
  });
  weft_unit_t releaser = releases.ult();
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  EXPECT_TRUE(ok(weft_free(&releaser)));
}

// Those that have been there since the runtime was started, and such as have been made since.
template <class F>
void klt_for_each_alive(F f) {
  using namespace weft::rt;
  klts_lock();
  klt_for_each([](Klt* klt, void* arg) {
    if (klt->lives()) (*static_cast<F*>(arg))(klt);
  }, &f);
  klts_unlock();
}

TEST_P(Blocking, InARead) {
  std::vector<Pipe> pipes(workers());
  for (int round = 0; round < 20; ++round) {
    others_run_while_ults_block(
        workers(), [&](unsigned i) { EXPECT_EQ(pipes[i].get(), 'x'); }, [&](unsigned i) { pipes[i].put(); });
  }
  EXPECT_EQ(blocking_info().in_kernel, 0u);
}

// By bare system calls: to ThreadSanitizer they are a race with whoever opens a file, or looks. How many.
int close_our_files() {
  int closed = 0;
  klt_for_each_alive([&](const weft::rt::Klt* klt) {
    const int fd = klt->watch.stat.fd.load();
    struct stat now{};  // it may be gone already, and the number another one's
    closed += syscall(SYS_fstat, fd, &now) == 0 && now.st_ino == klt->watch.stat.inode.load() && syscall(SYS_close, fd) == 0;
  });
  return closed;
}

// As daemons do, that close what they do not know. The kernel threads that begin to carry a worker later have files of their own.
TEST_P(Blocking, AfterTheProgramHasClosedOurFiles) {
  if (std::string(GetParam().rung) != "proc") GTEST_SKIP() << "no files are kept";
  std::vector<Pipe> pipes(workers());
  for (int round = 0; round < 5; ++round) {
    EXPECT_GT(close_our_files(), 0);
    others_run_while_ults_block(
        workers(), [&](unsigned i) { EXPECT_EQ(pipes[i].get(), 'x'); }, [&](unsigned i) { pipes[i].put(); });
  }
}

// While it lives as many files are open as may be.
class AllFilesOpen {
 public:
  AllFilesOpen() {
    constexpr rlim_t kMany = 256;
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit few{std::min(kMany, before_.rlim_cur), before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    for (int fd; (fd = dup(STDIN_FILENO)) >= 0;) files_.push_back(fd);
  }
  ~AllFilesOpen() {
    for (const int fd : files_) close(fd);
    rlimit now{};
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &now), 0);
    EXPECT_LE(now.rlim_cur, before_.rlim_cur);
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before_), 0);
  }
  AllFilesOpen(const AllFilesOpen&) = delete;
  AllFilesOpen& operator=(const AllFilesOpen&) = delete;

 private:
  rlimit before_{};
  std::vector<int> files_;
};

TEST_P(Blocking, WithAllFilesOpen) {
  if (std::string(GetParam().rung) != "proc") GTEST_SKIP() << "no files are kept";
  std::vector<Pipe> pipes(workers());
  const weft_blocking_mode_t mode = blocking_info().mode;
  const AllFilesOpen full;
  for (int round = 0; round < 5; ++round) {
    EXPECT_GT(close_our_files(), 0);
    EXPECT_TRUE(ok(weft_blocking_set_mode(WEFT_BLOCKING_OFF)));
    EXPECT_TRUE(ok(weft_blocking_set_mode(mode)));
    others_run_while_ults_block(
        workers(), [&](unsigned i) { EXPECT_EQ(pipes[i].get(), 'x'); }, [&](unsigned i) { pipes[i].put(); });
  }
}

// A ULT of that kind blocks until another one of the same worker has run, for so long at most (-1: as long as it takes): whether it has.
bool others_run_while_it_blocks(weft_blocking_t kind, int most_ms) {
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.worker = weft_worker_get(0);
  attr.pinned = true;
  Pipe pipe;
  std::atomic<bool> begun{false};
  bool meanwhile = false;
  Call blocks([&] {
    begun = true;
    pollfd wanted{pipe.out(), POLLIN, 0};
    int n;
    while ((n = poll(&wanted, 1, most_ms)) < 0) EXPECT_EQ(errno, EINTR);
    meanwhile = n == 1;
  });
  Call runs([&] { pipe.put(); });
  attr.blocking = kind;
  weft_unit_t first = blocks.ult(&attr);
  EXPECT_TRUE(wait_until([&] { return begun.load(); }));
  attr.blocking = WEFT_BLOCKING_DEFAULT;
  weft_unit_t second = runs.ult(&attr);
  EXPECT_TRUE(ok(weft_free(&first)));
  EXPECT_TRUE(ok(weft_free(&second)));
  return meanwhile;
}

TEST_P(Blocking, NotWhereTheUltWantsItsWorkerToWait) {
  EXPECT_TRUE(others_run_while_it_blocks(WEFT_BLOCKING_DEFAULT, -1));
  const uint64_t before = blocking_info().hand_overs;
  EXPECT_FALSE(others_run_while_it_blocks(WEFT_BLOCKING_UNAWARE, 100));
  EXPECT_EQ(blocking_info().hand_overs, before);
  EXPECT_TRUE(others_run_while_it_blocks(WEFT_BLOCKING_AWARE, -1));
}

// One that has no worker has a lock of Weft's, and goes on when it has one; another one, on the only worker, waits for that lock.
TEST_P(Blocking, ButNotForALockOfWefts) {
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.worker = weft_worker_get(0);
  attr.pinned = true;
  attr.preemption = WEFT_PREEMPTION_NONE;
  weft_unit_t first = nullptr;
  Call outside([&] {
    EXPECT_TRUE(ok(weft_blocking_begin()));
    EXPECT_TRUE(ok(weft_workers_set_active(workers())));
    weft_blocking_end();
  });
  Call waits([&] {
    while (weft_unit_state(first) != WEFT_UNIT_READY && weft_unit_state(first) != WEFT_UNIT_TERMINATED) {
    }
    EXPECT_TRUE(ok(weft_workers_set_active(workers())));
  });
  first = outside.ult(&attr);
  attr.blocking = WEFT_BLOCKING_UNAWARE;
  weft_unit_t second = waits.ult(&attr);
  EXPECT_TRUE(ok(weft_free(&second)));  // it looks at the other one
  EXPECT_TRUE(ok(weft_free(&first)));
}

TEST_P(Blocking, AKindThatThereIsNot) {
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.blocking = static_cast<weft_blocking_t>(WEFT_BLOCKING_AWARE + 1);
  weft_unit_t unit = nullptr;
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_ult_create([](void*) {}, nullptr, &attr, &unit)));
}

TEST_P(Blocking, InASemaphoreOfTheCLibrary) {
  std::vector<sem_t> semaphores(workers());
  for (sem_t& semaphore : semaphores) sem_init(&semaphore, 0, 0);
  others_run_while_ults_block(
      workers(), [&](unsigned i) { while (sem_wait(&semaphores[i]) != 0) EXPECT_EQ(errno, EINTR); },
      [&](unsigned i) { sem_post(&semaphores[i]); });
  for (sem_t& semaphore : semaphores) sem_destroy(&semaphore);
}

TEST_P(Blocking, InACondition) {
  std::mutex mutex;
  std::condition_variable condition;
  unsigned released = 0;
  others_run_while_ults_block(
      workers(),
      [&](unsigned) {
        std::unique_lock hold(mutex);
        condition.wait(hold, [&] { return released == workers(); });
      },
      [&](unsigned) {
        const std::lock_guard hold(mutex);
        ++released;
        condition.notify_all();
      });
}

TEST_P(Blocking, InPoll) {
  std::vector<Pipe> pipes(workers());
  others_run_while_ults_block(
      workers(),
      [&](unsigned i) {
        pollfd wanted{pipes[i].out(), POLLIN, 0};
        int n;
        while ((n = poll(&wanted, 1, -1)) < 0) EXPECT_EQ(errno, EINTR);
        EXPECT_EQ(n, 1);
      },
      [&](unsigned i) { pipes[i].put(); });
}

TEST_P(Blocking, InALockOfAFile) {
  std::string path = testing::TempDir() + "weft-block-test-XXXXXX";
  const int held = mkstemp(path.data());
  ASSERT_GE(held, 0);
  ASSERT_EQ(flock(held, LOCK_EX), 0);
  std::vector<int> files;
  for (unsigned i = 0; i < workers(); ++i) files.push_back(open(path.c_str(), O_RDWR | O_CLOEXEC));
  others_run_while_ults_block(
      workers(),
      [&](unsigned i) {
        while (flock(files[i], LOCK_SH) != 0) EXPECT_EQ(errno, EINTR);
      },
      [&](unsigned i) {
        if (i == 0) flock(held, LOCK_UN);
      });
  for (const int file : files) close(file);
  close(held);
  unlink(path.c_str());
}

TEST_P(Blocking, InAnOpenOfAFifo) {
  std::string path = testing::TempDir() + "weft-block-fifo-XXXXXX";
  ASSERT_NE(mkdtemp(path.data()), nullptr);
  const std::string fifo = path + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  int reads = -1, writes = -1;
  others_run_while_ults_block(
      1, [&](unsigned) { while ((reads = open(fifo.c_str(), O_RDONLY | O_CLOEXEC)) < 0) EXPECT_EQ(errno, EINTR); },
      [&](unsigned) { while ((writes = open(fifo.c_str(), O_WRONLY | O_CLOEXEC)) < 0) EXPECT_EQ(errno, EINTR); });
  close(reads);
  close(writes);
  unlink(fifo.c_str());
  rmdir(path.c_str());
}

TEST_P(Blocking, WhileItWaitsForAChild) {
  Pipe pipe;
  pid_t child = fork();
  if (child == 0) {
    char c;
    _exit(read(pipe.out(), &c, 1) == 1 ? 7 : 1);
  }
  int status = 0;
  others_run_while_ults_block(
      1, [&](unsigned) { while (waitpid(child, &status, 0) < 0) EXPECT_EQ(errno, EINTR); }, [&](unsigned) { pipe.put(); });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

TEST_P(Blocking, Main) {
  Pipe pipe;
  Call puts([&] { pipe.put(); });
  weft_unit_t unit = puts.ult();
  EXPECT_EQ(pipe.get(), 'x');
  EXPECT_TRUE(ok(weft_free(&unit)));
}

TEST_P(Blocking, WhatWaitsForMainDoesNotKeepIt) {
  // A ULT that blocks where only main could run would wait for main, and main for it.
  std::vector<Pipe> pipes(2 * workers());
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  std::atomic<unsigned> about_to{0};
  for (Pipe& pipe : pipes) {
    calls.push_back(std::make_unique<Call>([&] {
      ++about_to;
      pipe.get();
    }));
    units.push_back(calls.back()->ult());
  }
  while (about_to < pipes.size()) weft_yield();
  for (Pipe& pipe : pipes) pipe.put();
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
}

TEST_P(Blocking, ADeadlineOfAnother) {
  Pipe pipe;
  std::atomic<unsigned> asleep{0};
  Call sleeps([&] {
    ++asleep;
    EXPECT_TRUE(ok(weft_sleep(5'000'000)));
    for (unsigned i = 0; i < workers(); ++i) pipe.put();
  });
  weft_unit_t sleeper = sleeps.ult();
  while (asleep == 0) weft_yield();
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  for (unsigned i = 0; i < workers(); ++i) {
    calls.push_back(std::make_unique<Call>([&] { pipe.get(); }));
    units.push_back(calls.back()->ult());
  }
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  EXPECT_TRUE(ok(weft_free(&sleeper)));
}

TEST_P(Blocking, KeepsWhatTheCallHasSaid) {
  std::vector<Pipe> pipes(workers());
  others_run_while_ults_block(
      workers(),
      [&](unsigned i) {
        errno = 0;
        char c[2] = {};
        EXPECT_EQ(read(pipes[i].out(), c, 2), 1);
        EXPECT_EQ(errno, 0);
        EXPECT_EQ(read(-1, c, 1), -1);
        const int before = errno;
        weft_yield();
        EXPECT_EQ(before, EBADF);
      },
      [&](unsigned i) { pipes[i].put(); });
}

TEST_P(Blocking, ALargeWriteIsNotCutShort) {
  // A signal in the midst of it would have it return what it has written so far.
  constexpr size_t kBytes = 1 << 20;
  Pipe pipe;
  std::vector<char> out(kBytes, 'y');
  Call writes([&] { EXPECT_EQ(write(pipe.in(), out.data(), out.size()), static_cast<ssize_t>(kBytes)); });
  Call reads([&] {
    std::vector<char> in(4096);
    for (size_t seen = 0; seen < kBytes;) {
      const ssize_t n = read(pipe.out(), in.data(), in.size());
      ASSERT_GT(n, 0);
      seen += static_cast<size_t>(n);
      weft_yield();
    }
  });
  weft_unit_t units[] = {writes.ult(), reads.ult()};
  EXPECT_TRUE(ok(weft_free_many(2, units)));
}

// How soon: block_timing_test.cpp.
template <class F>
void come_back_and_spin(F&& spin_until_set, int moments = 0) {
  const weft_blocking_info_t info = who_comes_back_and_spins(spin_until_set, moments);
  EXPECT_GE(info.hand_overs, 1u);
  EXPECT_GE(info.stopped, 1u);
}

TEST_P(Blocking, WhoComesBackIsStopped) {
  if (weft::rt::san::kSignalsComeLate || workers() != 1) return;
  come_back_and_spin([](const std::atomic<bool>& done) {
    while (!done.load(std::memory_order_relaxed)) asm volatile("");
  });
}

TEST_P(Blocking, WhoComesBackIsStoppedWithTheStackPointerElsewhere) {
  if (weft::rt::san::kSignalsComeLate || workers() != 1) return;
  come_back_and_spin([](const std::atomic<bool>& done) { Elsewhere().spin_until(done); });
}

TEST_P(Blocking, WhoHasComeBackForMomentsIsStoppedOnceItComputes) {
  if (weft::rt::san::kSignalsComeLate || workers() != 1) return;
  come_back_and_spin(
      [](const std::atomic<bool>& done) {
        while (!done.load(std::memory_order_relaxed)) asm volatile("");
      },
      200);
}

TEST_P(Blocking, WhoComesBackGetsOnThoughNoTimerCanBeMade) {
  const NoMore full(RLIMIT_SIGPENDING);
  Pipe pipe;
  std::atomic<bool> done{false};
  Call back([&] {
    pipe.get();
    while (!done.load(std::memory_order_relaxed)) asm volatile("");
  });
  Call other([&] {
    pipe.put();
    const uint64_t end = weft_after(20'000'000);
    while (weft_now() < end) asm volatile("");
    done = true;
  });
  weft_unit_t units[] = {back.ult(), other.ult()};
  EXPECT_TRUE(ok(weft_free_many(2, units)));
}

TEST_P(Blocking, WithNobodyWaiting) {
  const uint64_t before = blocking_info().hand_overs;
  const auto block = [] { in_ult([] { usleep(5000); }); };
  if (GetParam().mode == WEFT_BLOCKING_AUTO) {
    for (int i = 0; i < 3; ++i) block();
    EXPECT_EQ(blocking_info().hand_overs, before);
  } else {
    // Other programs on that core are served before the scout.
    EXPECT_TRUE(wait_until([&] {
      block();
      return blocking_info().hand_overs != before;
    }));
  }
}

TEST_P(Blocking, TheScoutsRestWhileAllSleep) {
  usleep(20'000);
  const uint64_t before = blocking_info().looks;
  EXPECT_TRUE(ok(weft_sleep(300'000'000)));
  EXPECT_LE(blocking_info().looks - before, 200u);
}

TEST_P(Blocking, NoMoreThanTheBoundInTheKernel) {
  constexpr unsigned kBound = 4, kUlts = 16;
  ASSERT_TRUE(ok(weft_blocking_set_klts(kBound)));
  std::vector<Pipe> pipes(kUlts);
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  testing::internal::CaptureStderr();  // here: the kernel may have main sleep as well, and the others run, at any time
  for (unsigned i = 0; i < kUlts; ++i) {
    calls.push_back(std::make_unique<Call>([&, i] { pipes[i].get(); }));
    units.push_back(calls.back()->ult());
  }
  // All block, and this one comes after them: progress comes before the bound, and that is told.
  Call releases([&] {
    for (Pipe& pipe : pipes) pipe.put();
  });
  weft_unit_t releaser = releases.ult();
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  EXPECT_TRUE(ok(weft_free(&releaser)));
  EXPECT_EQ(blocking_info().klts, kBound);
  const uint64_t beyond = blocking_info().beyond;
  EXPECT_TRUE(ok(weft_blocking_set_mode(WEFT_BLOCKING_OFF)));  // nobody is writing any more
  const std::string said = testing::internal::GetCapturedStderr();
  if (workers() == 1) {
    EXPECT_GE(beyond, 1u);
  }
  static bool told = false;  // once in a process
  if (beyond != 0 && !told) {
    EXPECT_NE(said.find("weft: 4 ULTs have blocked in the kernel, as many as WEFT_BLOCKING_KLTS lets"), std::string::npos) << said;
  } else if (told) {
    EXPECT_EQ(said, "");
  }
  told = told || beyond != 0;
}

bool sleeps(int tid) {
  std::ifstream stat("/proc/self/task/" + std::to_string(tid) + "/stat");
  std::string text;
  std::getline(stat, text);
  const size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text[name_end + 2] == 'S';
}

// The one that blocks has nothing else to run; the other one computes, and keeps units from the time before or after the block.
void units_of_the_other_worker_run(bool from_before) {
  weft_unit_attr_t there = default_attr();
  there.worker = weft_worker_get(1);
  there.pinned = true;
  Pipe pipe;
  std::atomic<int> thread{0};
  std::atomic<bool> may_block{!from_before};
  Call blocks([&] {
    thread = static_cast<int>(syscall(SYS_gettid));
    while (!may_block.load(std::memory_order_relaxed)) asm volatile("");
    pipe.get();
  });
  std::atomic<unsigned> helped{0};
  Call helps([&] { ++helped; });
  std::vector<weft_unit_t> units{blocks.ult(&there)};
  EXPECT_TRUE(wait_until([&] { return thread != 0; }));
  EXPECT_TRUE(from_before || wait_until([&] { return sleeps(thread); }));
  while (units.size() < 4) units.push_back(helps.ult());
  may_block = true;
  while (helped.load(std::memory_order_relaxed) == 0) asm volatile("");
  pipe.put();
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
}

TEST_P(Blocking, UnitsThatWaitForAnotherWorkerAreTaken) {
  if (workers() != 2) return;
  for (int round = 0; round < 5; ++round) {
    units_of_the_other_worker_run(true);
    units_of_the_other_worker_run(false);
  }
}

TEST_P(Blocking, WhoSpinsDoesNotGetOn) {
  // At the bound a ULT keeps its worker, since the other worker runs: but that waits for a ULT which waits for this one.
  if (workers() != 2) return;
  ASSERT_TRUE(ok(weft_blocking_set_klts(1)));
  weft_unit_attr_t here = default_attr(), there = default_attr();
  here.worker = weft_worker_get(0);
  there.worker = weft_worker_get(1);
  here.pinned = there.pinned = true;
  Pipe pipe;
  std::atomic<unsigned> about_to{0};
  std::atomic<bool> released{false};
  Call blocks([&] {
    ++about_to;
    pipe.get();
  });
  Call releases([&] { released = true; });
  Call spins([&] {
    while (!released.load(std::memory_order_relaxed)) asm volatile("");
  });
  weft_unit_t units[] = {blocks.ult(&there), blocks.ult(&there)};
  while (about_to < 1) weft_yield();
  weft_unit_t releaser = releases.ult(&there), spinner = spins.ult(&here);
  EXPECT_TRUE(ok(weft_free(&spinner)));
  pipe.put();
  pipe.put();
  EXPECT_TRUE(ok(weft_free(&releaser)));
  EXPECT_TRUE(ok(weft_free_many(2, units)));
}

TEST_P(Blocking, ModesChangeWhileUltsBlock) {
  Pipe pipe;
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  std::atomic<unsigned> about_to{0};
  for (unsigned i = 0; i < 8; ++i) {
    calls.push_back(std::make_unique<Call>([&] {
      ++about_to;
      pipe.get();
    }));
    units.push_back(calls.back()->ult());
  }
  while (about_to < 8) weft_yield();
  for (const weft_blocking_mode_t mode : {WEFT_BLOCKING_OFF, WEFT_BLOCKING_ON, WEFT_BLOCKING_AUTO, WEFT_BLOCKING_OFF,
                                          WEFT_BLOCKING_AUTO}) {
    EXPECT_TRUE(ok(weft_blocking_set_mode(mode)));
    EXPECT_EQ(blocking_info().mode, mode);
    weft_yield();
  }
  for (unsigned i = 0; i < 8; ++i) pipe.put();
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
}

TEST_P(Blocking, WorkersThatComeAndGo) {
  for (int round = 0; round < 200; ++round) {
    SideWorker side;
    const weft_unit_attr_t there = side.attr();
    Pipe pipe;
    Call gets([&] { pipe.get(); }), puts([&] { pipe.put(); });
    weft_unit_t units[] = {gets.ult(&there), puts.ult(&there)};
    EXPECT_TRUE(ok(weft_free_many(2, units)));
  }
}

TEST_P(Blocking, UnderAStackedScheduler) {
  weft_pool_t pool = nullptr;
  weft_sched_t sched = nullptr;
  ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &pool)));
  ASSERT_TRUE(ok(weft_sched_create(WEFT_SCHED_BASIC, 1, &pool, &sched)));
  Pipe pipe;
  weft_unit_attr_t there = default_attr();
  there.pool = pool;
  Call gets([&] { pipe.get(); }), puts([&] { pipe.put(); });
  weft_unit_t units[] = {gets.ult(&there), puts.ult(&there)};
  weft_unit_t stacked = nullptr;
  ASSERT_TRUE(ok(weft_sched_push(sched, weft_worker_pool(weft_worker_self()), &stacked)));
  EXPECT_TRUE(ok(weft_free_many(2, units)));
  EXPECT_TRUE(ok(weft_sched_finish(sched)));
  EXPECT_TRUE(ok(weft_free(&stacked)));
  EXPECT_TRUE(ok(weft_sched_free(&sched)));
  EXPECT_TRUE(ok(weft_pool_free(&pool)));
}

// Stopped in a signal handler, it goes back into a pool whose scheduler sleeps, and is to go into a pool of the user's.
TEST_P(Blocking, WhoIsStoppedCallsNoPoolOfTheUsers) {
  if (weft::rt::san::kSignalsComeLate || workers() != 1) return;
  UserPool users;
  std::atomic<int> computes{0};  // the thread of the ULT that does not call Weft now
  std::atomic<int> by_it{0};
  std::atomic<bool> reading{false}, released{false}, done{false};
  users.on_push = [&] {
    by_it += gettid() == computes ? 1 : 0;
    if (released) done = true;
  };
  const weft_pool_ops_t ops = UserPool::ops();
  weft_pool_t outer = nullptr, inner = nullptr;
  ASSERT_TRUE(ok(weft_pool_create_user(&ops, &users, &outer)));
  ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &inner)));
  weft_sched_t of_outer = nullptr, of_inner = nullptr;
  ASSERT_TRUE(ok(weft_sched_create(WEFT_SCHED_BASIC, 1, &outer, &of_outer)));
  ASSERT_TRUE(ok(weft_sched_create(WEFT_SCHED_BASIC, 1, &inner, &of_inner)));
  weft_unit_t outer_unit = nullptr, inner_unit = nullptr;
  ASSERT_TRUE(ok(weft_sched_push(of_outer, weft_worker_pool(weft_worker_self()), &outer_unit)));
  ASSERT_TRUE(ok(weft_sched_push(of_inner, outer, &inner_unit)));
  Pipe pipe;
  Call back([&] {
    computes = gettid();
    reading = true;
    pipe.get();
    while (!done.load(std::memory_order_relaxed)) asm volatile("");
    computes = 0;
  });
  weft_unit_attr_t there = default_attr();
  there.pool = inner;
  weft_unit_t unit = back.ult(&there);
  while (!reading || weft_unit_state(inner_unit) != WEFT_UNIT_BLOCKED) weft_yield();
  released = true;
  pipe.put();
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_EQ(by_it, 0);
  for (weft_sched_t* sched : {&of_inner, &of_outer}) EXPECT_TRUE(ok(weft_sched_finish(*sched)));
  for (weft_unit_t* scheduling : {&inner_unit, &outer_unit}) EXPECT_TRUE(ok(weft_free(scheduling)));
  for (weft_sched_t* sched : {&of_inner, &of_outer}) EXPECT_TRUE(ok(weft_sched_free(sched)));
  for (weft_pool_t* pool : {&inner, &outer}) EXPECT_TRUE(ok(weft_pool_free(pool)));
}

// Nobody tells its scout of a push there.
TEST_P(Blocking, BelowASchedulerThatTakesFromAPoolOfOthers) {
  for (int round = 0; round < 60; ++round) {
    const ForeignWorker worker;
    weft_unit_attr_t there = default_attr();
    there.pool = worker.pool();
    Pipe pipe;
    Call gets([&] { pipe.get(); }), puts([&] { pipe.put(); });
    weft_unit_t units[] = {gets.ult(&there), puts.ult(&there)};
    ASSERT_TRUE(ok(weft_free_many(2, units)));
  }
}

// Nobody waited as that one slept itself: its scout rests.
TEST_P(Blocking, BelowAStackedSchedulerThatHasSlept) {
  weft_sched_ops_t ops{};
  ops.run = [](weft_sched_t sched, void*) {
    std::this_thread::sleep_for(milliseconds(50));
    weft_pool_t pool = nullptr;
    weft_sched_pools(sched, 1, &pool);
    while (!weft_sched_should_stop(sched)) {
      if (weft_unit_t unit = weft_pool_pop(pool)) {
        EXPECT_TRUE(ok(weft_sched_run(sched, unit)));
      } else {
        weft_yield();
      }
    }
  };
  weft_pool_t pool = nullptr;
  weft_sched_t sched = nullptr;
  ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &pool)));
  ASSERT_TRUE(ok(weft_sched_create_user(&ops, nullptr, 1, &pool, &sched)));
  Pipe pipe;
  weft_unit_attr_t there = default_attr();
  there.pool = pool;
  Call gets([&] { pipe.get(); }), puts([&] { pipe.put(); });
  weft_unit_t units[] = {gets.ult(&there), puts.ult(&there)};
  weft_unit_t stacked = nullptr;
  ASSERT_TRUE(ok(weft_sched_push(sched, weft_worker_pool(weft_worker_self()), &stacked)));
  EXPECT_TRUE(ok(weft_free_many(2, units)));
  EXPECT_TRUE(ok(weft_sched_finish(sched)));
  EXPECT_TRUE(ok(weft_free(&stacked)));
  EXPECT_TRUE(ok(weft_sched_free(&sched)));
  EXPECT_TRUE(ok(weft_pool_free(&pool)));
}

TEST_P(Blocking, TheProcessForksMeanwhile) {
  if (weft::rt::san::kSignalsComeLate) return;  // children of its start no threads
  std::vector<Pipe> pipes(workers());
  others_run_while_ults_block(
      workers(), [&](unsigned i) { pipes[i].get(); },
      [&](unsigned i) {
        if (i == 0) {
          const pid_t child = fork();
          if (child == 0) {
            // Here, too, a worker goes on when its ULT blocks.
            Pipe pipe;
            Call puts([&] { pipe.put(); });
            weft_unit_t unit = puts.ult();
            const bool right = pipe.get() == 'x';
            weft_free(&unit);
            _exit(right ? 0 : 1);
          }
          int status = 1;
          while (waitpid(child, &status, 0) < 0) EXPECT_EQ(errno, EINTR);
          EXPECT_EQ(status, 0);
        }
        pipes[i].put();
      });
}

// ---- whoever says it himself

class SaidBlocking : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, SaidBlocking, testing::Values(1u, 2u));

TEST_P(SaidBlocking, OthersRunMeanwhile) {
  std::vector<Pipe> pipes(workers());
  for (int round = 0; round < 20; ++round) {
    others_run_while_ults_block(
        workers(),
        [&](unsigned i) {
          EXPECT_TRUE(ok(weft_blocking_begin()));
          EXPECT_EQ(pipes[i].get(), 'x');
          weft_blocking_end();
          EXPECT_NE(weft_worker_self(), nullptr);
        },
        [&](unsigned i) { pipes[i].put(); });
  }
}

TEST_P(SaidBlocking, ByMain) {
  for (int round = 0; round < 20; ++round) {
    Pipe pipe;
    Call puts([&] { pipe.put(); });
    weft_unit_t unit = puts.ult();
    EXPECT_TRUE(ok(weft_blocking_begin()));
    EXPECT_EQ(pipe.get(), 'x');
    weft_blocking_end();
    EXPECT_TRUE(ok(weft_free(&unit)));
  }
}

// Whoever runs on main's KLT, and would be captive there, goes on elsewhere: main can do what it waits for.
template <class Unit>
void waits_for_main(Unit&& make) {
  for (int round = 0; round < 20; ++round) {
    Pipe pipe;
    std::atomic<bool> waits{false};
    Call call([&] {
      weft_yield();
      waits = true;
      EXPECT_TRUE(ok(weft_blocking_begin()));
      EXPECT_EQ(pipe.get(), 'x');
      weft_blocking_end();
      weft_yield();
    });
    weft_unit_t unit = make(call);
    while (!waits) weft_yield();
    weft_yield();
    pipe.put();
    EXPECT_TRUE(ok(weft_free(&unit)));
  }
}

TEST_P(SaidBlocking, UntilMainDoesSomething) {
  waits_for_main([](Call& call) { return call.ult(); });
  for (const weft_technique_t technique : {WEFT_TECHNIQUE_SC, WEFT_TECHNIQUE_SS, WEFT_TECHNIQUE_JOINER}) {
    weft_unit_attr_t attr = default_attr();
    attr.technique = technique;
    waits_for_main([&](Call& call) { return call.ult(&attr); });
  }
}

TEST_P(SaidBlocking, InAScopeWithoutPreemption) {
  using namespace weft::rt;
  weft_unit_attr_t attr = default_attr();
  attr.technique = WEFT_TECHNIQUE_SS;  // not on main's stack
  attr.worker = weft_worker_get(0);
  attr.pinned = true;
  in_ult([] {
    {
      const NoPreemption scope;
      EXPECT_TRUE(ok(weft_blocking_begin()));
      EXPECT_FALSE(preemption_allowed(klt_self()));
      weft_blocking_end();
      EXPECT_FALSE(preemption_allowed(klt_self()));
    }
    EXPECT_TRUE(preemption_allowed(klt_self()));
  }, &attr);
  EXPECT_TRUE(preemption_allowed(klt_self()));
}

TEST_P(SaidBlocking, UntilMainDoesSomethingUnderAStackedScheduler) {
  weft_pool_t pool = nullptr;
  weft_sched_t sched = nullptr;
  ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &pool)));
  ASSERT_TRUE(ok(weft_sched_create(WEFT_SCHED_BASIC, 1, &pool, &sched)));
  weft_unit_t stacked = nullptr;
  ASSERT_TRUE(ok(weft_sched_push(sched, weft_worker_pool(weft_worker_self()), &stacked)));
  weft_unit_attr_t there = default_attr();
  there.pool = pool;
  waits_for_main([&](Call& call) { return call.ult(&there); });
  EXPECT_TRUE(ok(weft_sched_finish(sched)));
  EXPECT_TRUE(ok(weft_free(&stacked)));
  EXPECT_TRUE(ok(weft_sched_free(&sched)));
  EXPECT_TRUE(ok(weft_pool_free(&pool)));
}

TEST_P(SaidBlocking, AnyFunctionEndsIt) {
  EXPECT_TRUE(ok(weft_blocking_begin()));
  weft_yield();
  EXPECT_TRUE(ok(weft_blocking_begin()));
  EXPECT_TRUE(ok(weft_blocking_begin()));
  weft_blocking_end();
  weft_blocking_end();
}

TEST_P(SaidBlocking, InCpp) {
  Pipe pipe;
  Call puts([&] { pipe.put(); });
  weft_unit_t unit = puts.ult();
  {
    const weft::blocking_scope scope;
    EXPECT_EQ(pipe.get(), 'x');
  }
  EXPECT_TRUE(ok(weft_free(&unit)));
  in_tasklet([] { EXPECT_THROW(weft::blocking_scope(), weft::error); });
}

TEST_P(SaidBlocking, NotByATasklet) {
  in_tasklet([] { EXPECT_TRUE(fails(WEFT_ERR_CONTEXT, weft_blocking_begin())); });
}

TEST_P(SaidBlocking, AThreadOfTheProgramsMay) {
  on_klt([] {
    EXPECT_TRUE(ok(weft_blocking_begin()));
    weft_blocking_end();
  });
}

TEST_P(SaidBlocking, ItHasEndedBeforeItsPoolAsksAnybody) {
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  std::atomic<unsigned> sum{0};
  for (unsigned i = 0; i < 64; ++i) {
    calls.push_back(std::make_unique<Call>([&] {
      for (int k = 0; k < 10; ++k) {
        EXPECT_TRUE(ok(weft_blocking_begin()));
        if (k % 3 == 0) usleep(50);
        weft_blocking_end();
        ++sum;
      }
    }));
    units.push_back(calls.back()->ult());
  }
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  EXPECT_EQ(sum, 640u);
}

// ---- turned on late

class BlockingLate : public RungTest {};
INSTANTIATE_TEST_SUITE_P(All, BlockingLate, kAwarenesses, name_of);

// What the kernel records begins when that is asked for.
TEST_P(BlockingLate, WhoSleepsAlreadyIsSeen) {
  std::vector<Pipe> pipes(workers());
  std::vector<std::atomic<int>> threads(workers());
  std::thread turns_on([&] {
    for (auto& thread : threads) {
      while (thread == 0 || !sleeps(thread)) std::this_thread::yield();
    }
    EXPECT_TRUE(ok(weft_blocking_set_mode(GetParam().mode)));
  });
  others_run_while_ults_block(
      workers(),
      [&](unsigned i) {
        threads[i] = static_cast<int>(syscall(SYS_gettid));
        EXPECT_EQ(pipes[i].get(), 'x');
      },
      [&](unsigned i) { pipes[i].put(); });
  turns_on.join();
}

// ---- what may not be

TEST(BlockingSettings, BeforeWeftIsInitialised) {
  weft_blocking_info_t info;
  EXPECT_TRUE(fails(WEFT_ERR_UNINITIALIZED, weft_blocking_set_mode(WEFT_BLOCKING_AUTO)));
  EXPECT_TRUE(fails(WEFT_ERR_UNINITIALIZED, weft_blocking_set_klts(4)));
  EXPECT_TRUE(fails(WEFT_ERR_UNINITIALIZED, weft_blocking_info(&info)));
  EXPECT_TRUE(ok(weft_blocking_begin()));  // an ordinary thread
  weft_blocking_end();
}

TEST(BlockingSettings, Invalid) {
  ASSERT_TRUE(ok(weft_initialize(nullptr)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_blocking_set_mode(static_cast<weft_blocking_mode_t>(3))));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_blocking_set_klts(0)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_blocking_info(nullptr)));
  EXPECT_EQ(blocking_info().rung, std::string("none"));
  EXPECT_TRUE(ok(weft_finalize()));
}

// A front-end turns it on by a thread of its own: what the program has said meanwhile stays.
TEST(BlockingSettings, BegunLateItOverrulesNobody) {
  using weft::rt::block_begin_auto, weft::rt::block_settings_made;
  ASSERT_TRUE(ok(weft_initialize(nullptr)));
  const uint32_t before = block_settings_made();
  EXPECT_TRUE(ok(weft_blocking_set_mode(WEFT_BLOCKING_OFF)));
  block_begin_auto(before);
  EXPECT_EQ(blocking_info().mode, WEFT_BLOCKING_OFF);
  block_begin_auto(block_settings_made());
  EXPECT_EQ(blocking_info().mode, WEFT_BLOCKING_AUTO);
  EXPECT_TRUE(ok(weft_blocking_set_mode(WEFT_BLOCKING_ON)));
  block_begin_auto(block_settings_made());
  EXPECT_EQ(blocking_info().mode, WEFT_BLOCKING_ON);
  EXPECT_TRUE(ok(weft_finalize()));
  block_begin_auto(block_settings_made());  // too late: the runtime has ended
  EXPECT_FALSE(weft_initialized());
}

// In a child, under the filter of a container that keeps perf events to itself. Ends with how often something was told.
void ask_for_what_is_refused(const char* rung) {
  forbid_system_call(SYS_perf_event_open);
  const int told = memfd_create("told", MFD_CLOEXEC);
  const int err = dup(STDERR_FILENO);
  dup2(told, STDERR_FILENO);
  setenv("WEFT_BLOCKING_RUNG", rung, 1);
  setenv("WEFT_BLOCKING", "auto", 1);
  if (weft_initialize(nullptr) != WEFT_OK || blocking_info().rung != std::string("proc")) _exit(97);
  for (const weft_blocking_mode_t mode : {WEFT_BLOCKING_OFF, WEFT_BLOCKING_ON}) {
    if (weft_blocking_set_mode(mode) != WEFT_OK) _exit(98);
  }
  if (weft_finalize() != WEFT_OK) _exit(99);
  char text[4096];
  const ssize_t bytes = pread(told, text, sizeof text, 0);
  if (bytes > 0 && write(err, text, static_cast<size_t>(bytes)) != bytes) _exit(96);
  _exit(static_cast<int>(std::count(text, text + std::max<ssize_t>(bytes, 0), '\n')));
}

TEST(BlockingRefused, ARungThatWasAskedForIsTold) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(ask_for_what_is_refused("perf"), testing::ExitedWithCode(1),
              "WEFT_BLOCKING_RUNG=perf is not granted, and `proc` .*kernel.perf_event_paranoid");
  EXPECT_EXIT(ask_for_what_is_refused("bpf"), testing::ExitedWithCode(1),
              "WEFT_BLOCKING_RUNG=bpf is not granted, and `proc` .*CAP_BPF");
  EXPECT_EXIT(ask_for_what_is_refused("proc"), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(ask_for_what_is_refused("auto"), testing::ExitedWithCode(0), "");
}

// The kernel gives the number of a thread that has ended to another one. The record of the first one may lie idle meanwhile.
TEST(BlockingWatch, ANumberThatAnotherThreadHadBefore) {
  setenv("WEFT_BLOCKING_RUNG", "bpf", 1);
  ASSERT_TRUE(ok(weft_initialize(nullptr)));
  unsetenv("WEFT_BLOCKING_RUNG");
  ASSERT_TRUE(ok(weft_blocking_set_mode(WEFT_BLOCKING_ON)));
  if (blocking_info().rung != std::string("bpf")) {
    EXPECT_TRUE(ok(weft_finalize()));
    GTEST_SKIP() << "the system does not grant bpf";
  }
  constexpr int kAnother = 1;  // no thread of ours
  Pipe pipe;
  std::atomic<int> number{0}, gets{0};
  std::thread thread([&] {
    number = static_cast<int>(syscall(SYS_gettid));
    for (int i = 0; i < 2; ++i, ++gets) pipe.get();
  });
  while (number == 0) std::this_thread::yield();
  weft::rt::KltWatch first, second;
  EXPECT_TRUE(weft::rt::bpf_watch(first, number));
  weft::rt::bpf_thread_ends(first);
  EXPECT_TRUE(weft::rt::bpf_watch(second, number));
  EXPECT_TRUE(weft::rt::bpf_watch(first, kAnother));
  pipe.put();
  EXPECT_TRUE(wait_until([&] { return gets == 1 && weft::rt::bpf_look(*second.state).asleep; }));
  pipe.put();
  thread.join();
  weft::rt::bpf_forget(first);
  weft::rt::bpf_forget(second);
  EXPECT_TRUE(ok(weft_finalize()));
}

TEST(BlockingSettings, AgainAndAgain) {
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(ok(weft_initialize(nullptr)));
    EXPECT_TRUE(ok(weft_blocking_set_mode(i % 2 == 0 ? WEFT_BLOCKING_AUTO : WEFT_BLOCKING_ON)));
    Pipe pipe;
    Call puts([&] { pipe.put(); });
    weft_unit_t unit = puts.ult();
    pipe.get();
    EXPECT_TRUE(ok(weft_free(&unit)));
    EXPECT_TRUE(ok(weft_finalize()));
  }
}

}  // namespace
