// fork() of the process from a ULT, wherever it runs: what the child has, and what stayed behind.
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "klt/klt.hpp"
#include "os/cpu_set.hpp"
#include "sanitizer_switch.hpp"
#include "support/forked_child.hpp"
#include "weft/block.h"
#include "weft/weft.hpp"

namespace {

using namespace weft_test;
namespace san = weft::rt::san;

// Weft works here as after weft_initialize(): units of both kinds run, wait for each other, and are freed.
void use_weft() {
  std::atomic<int> ran{0};
  weft_event_t event = WEFT_EVENT_INIT;
  Call waits([&] {
    CHILD_OK(weft_event_wait(&event));
    ++ran;
  });
  Call yields([&] {
    for (int i = 0; i < 100; ++i) weft_yield();
    ++ran;
  });
  Call sets([&] {
    CHILD_OK(weft_event_set(&event));
    ++ran;
  });
  std::vector<weft_unit_t> units{waits.ult(), yields.ult(), sets.tasklet(), yields.ult()};
  CHILD_OK(weft_free_many(units.size(), units.data()));
  CHILD_CHECK(ran == 4);
  long sum = 0;
  weft::task_group group;
  std::atomic<long> total{0};
  for (int i = 0; i < 50; ++i) group.run([&total, i] { total += i; });
  group.wait();
  sum = total;
  CHILD_CHECK(sum == 49 * 50 / 2);
}

// As use_weft(), to the end, and from the beginning again.
void use_and_restart() {
  use_weft();
  CHILD_CHECK(weft_worker_count() == 1);
  CHILD_OK(weft_finalize());
  CHILD_CHECK(!weft_initialized());
  weft_options_t options{};
  options.workers = kChildWorkers;
  CHILD_OK(weft_initialize(&options));
  CHILD_CHECK(weft_worker_count() == kChildWorkers);
  use_weft();
  CHILD_OK(weft_finalize());
}

class ProcessFork : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, ProcessFork, kWorkerCounts);

// Ends when the thread does that has forked it.
pid_t fork_one_that_stays() {
  int ready[2];
  EXPECT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    static_cast<void>(write(ready[1], "x", 1));
    for (;;) pause();
  }
  char got = 0;
  EXPECT_EQ(read(ready[0], &got, 1), 1);
  close(ready[0]);
  close(ready[1]);
  return child;
}

TEST_P(ProcessFork, AThreadThatHasForkedDoesNotEnd) {
  constexpr size_t kChildren = 5, kOthers = 20;
  std::vector<pid_t> children(kChildren);
  std::atomic<size_t> next{0}, others_began{0}, others_ended{0};
  // Each on a thread of its own. Those that have not forked are the first to be spares: as many as are kept.
  Call forks([&] {
    children[next++] = fork_one_that_stays();
    EXPECT_EQ(weft_blocking_begin(), WEFT_OK);
    while (next < kChildren || others_ended < kOthers) usleep(1000);
    weft_blocking_end();
  });
  Call blocks([&] {
    EXPECT_EQ(weft_blocking_begin(), WEFT_OK);
    ++others_began;
    while (next < kChildren || others_began < kOthers) usleep(1000);
    weft_blocking_end();
    ++others_ended;
  });
  std::vector<weft_unit_t> units;
  for (size_t i = 0; i < kChildren; ++i) units.push_back(forks.ult());
  for (size_t i = 0; i < kOthers; ++i) units.push_back(blocks.ult());
  ASSERT_EQ(weft_free_many(units.size(), units.data()), WEFT_OK);
  // As when none has been needed for a while.
  for (size_t i = 0; i < 10 * kChildren; ++i) weft::rt::klt_end_spare();
  usleep(10'000);
  for (const pid_t child : children) {
    EXPECT_EQ(waitpid(child, nullptr, WNOHANG), 0);
    EXPECT_EQ(kill(child, SIGKILL), 0);
    EXPECT_EQ(waitpid(child, nullptr, 0), child);
  }
}

TEST_P(ProcessFork, FromMain) {
  EXPECT_EQ(run_in_child(use_and_restart), 0);
  in_ult([] {});  // the parent goes on
}

// A coroutine of the program's, on memory of its own, in a ULT: the child goes back to the ULT's frames.
void in_coroutine(const std::function<void()>& f) {
  static const std::function<void()>* body;
  static ucontext_t ult, coroutine;
  body = &f;
  std::vector<char> memory(256 * 1024);
  getcontext(&coroutine);
  coroutine.uc_stack.ss_sp = memory.data();
  coroutine.uc_stack.ss_size = memory.size();
  coroutine.uc_link = &ult;
  makecontext(&coroutine, [] { (*body)(); }, 0);
  swapcontext(&ult, &coroutine);
}

TEST_P(ProcessFork, FromACoroutineInAUlt) {
  if (san::kSignalsComeLate) GTEST_SKIP() << "ThreadSanitizer takes a coroutine for the ULT";
  for (const weft_identity_t identity : {WEFT_IDENTITY_WORKER, WEFT_IDENTITY_OWN}) {
    weft_unit_attr_t attr = default_attr();
    attr.technique = WEFT_TECHNIQUE_SS;
    // Its stack is then one of those of which others are free.
    std::vector<weft_unit_t> units(1000);
    Call yields([] { weft_yield(); });
    for (auto& unit : units) unit = yields.ult(&attr);
    EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
    attr.identity = san::no_identities() == nullptr ? identity : WEFT_IDENTITY_WORKER;
    in_ult([] {
      pid_t child = 0;
      in_coroutine([&] { child = fork_child(); });
      if (child == 0) {
        use_weft();
        _exit(0);
      }
      EXPECT_EQ(status_of(child), 0);
    }, &attr);
  }
}

TEST_P(ProcessFork, FromAUltOnItsJoinersStack) {
  in_ult([] {
    EXPECT_EQ(weft_unit_stack_size(weft_self()), 0u);
    EXPECT_EQ(run_in_child(use_and_restart), 0);
  });
}

TEST_P(ProcessFork, FromAUltOnAUltsStackOnAJoinersStack) {
  weft_unit_attr_t attr = default_attr();
  attr.technique = WEFT_TECHNIQUE_SS;
  in_ult([] { in_ult([] { in_ult([] { EXPECT_EQ(run_in_child(use_and_restart), 0); }); }); }, &attr);
}

TEST_P(ProcessFork, FromAUltOnTheSchedulersStack) {
  weft_unit_attr_t attr = default_attr();
  attr.technique = WEFT_TECHNIQUE_SC;
  in_ult(
      [] {
        EXPECT_EQ(weft_unit_stack_size(weft_self()), 0u);
        EXPECT_EQ(run_in_child(use_and_restart), 0);
      },
      &attr);
}

TEST_P(ProcessFork, FromAUltThatWasPromoted) {
  weft_unit_attr_t attr = default_attr();
  attr.technique = WEFT_TECHNIQUE_SC;
  Call other([] {});
  in_ult(
      [&] {
        weft_unit_t unit = other.ult();
        for (int i = 0; i < 10; ++i) weft_yield();
        EXPECT_EQ(run_in_child(use_and_restart), 0);
        EXPECT_TRUE(ok(weft_free(&unit)));
      },
      &attr);
}

TEST_P(ProcessFork, FromAUltOnAStackOfItsOwn) {
  weft_unit_attr_t attr = default_attr();
  for (const weft_technique_t technique : {WEFT_TECHNIQUE_SS, WEFT_TECHNIQUE_SS_L}) {
    attr.technique = technique;
    for (const size_t size : {size_t{0}, size_t{300} << 10}) {
      attr.stack_size = size;
      in_ult([] { EXPECT_EQ(run_in_child(use_and_restart), 0); }, &attr);
    }
  }
}

TEST_P(ProcessFork, FromAUltOnMemoryOfTheProgram) {
  weft_unit_attr_t attr = default_attr();
  std::vector<char> memory(size_t{512} << 10);
  attr.stack_memory = memory.data();
  attr.stack_size = memory.size();
  in_ult([] { EXPECT_EQ(run_in_child(use_and_restart), 0); }, &attr);
}

TEST_P(ProcessFork, FromAnOwnFloatingPointEnvironmentAndUnderAnotherScheduler) {
  weft_unit_attr_t attr = default_attr();
  attr.fp_environment = WEFT_FP_OWN;
  in_ult([] { EXPECT_EQ(run_in_child(use_and_restart), 0); }, &attr);
  SideWorker side(WEFT_SCHED_BASIC_WAIT);
  attr = side.attr();
  in_ult([] { EXPECT_EQ(run_in_child(use_and_restart), 0); }, &attr);
}

TEST_P(ProcessFork, UnderAUserDefinedScheduler) {
  weft_pool_t pool = nullptr;
  weft_sched_t sched = nullptr;
  weft_worker_t worker = nullptr;
  ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &pool)));
  weft_sched_ops_t ops{};
  ops.run = [](weft_sched_t self, void*) {
    weft_pool_t from = nullptr;
    weft_sched_pools(self, 1, &from);
    while (!weft_sched_should_stop(self)) {
      if (weft_unit_t unit = weft_pool_pop(from)) {
        weft_sched_run(self, unit);
      } else {
        weft_sched_idle(self);
      }
    }
  };
  ASSERT_TRUE(ok(weft_sched_create_user(&ops, nullptr, 1, &pool, &sched)));
  ASSERT_TRUE(ok(weft_worker_create(sched, &worker)));
  weft_unit_attr_t attr = default_attr();
  attr.pool = pool;
  in_ult(
      [&] {
        EXPECT_EQ(run_in_child([&] {
          // The handle of the worker that fork() was called on is that of the child's one worker.
          CHILD_CHECK(weft_worker_self() == worker && weft_worker_index(worker) == 0);
          CHILD_CHECK(weft_worker_join(worker) == WEFT_ERR_STATE);
          CHILD_OK(weft_sched_free(&sched));
          CHILD_OK(weft_pool_free(&pool));
          use_and_restart();
        }), 0);
      },
      &attr);
  EXPECT_TRUE(ok(weft_worker_free(&worker)));
  EXPECT_TRUE(ok(weft_sched_free(&sched)));
  EXPECT_TRUE(ok(weft_pool_free(&pool)));
}

TEST_P(ProcessFork, OtherUnitsAreForkedThere) {
  weft_event_t event = WEFT_EVENT_INIT;
  std::atomic<bool> go{false};
  std::atomic<int> started{0};
  Call blocked([&] {
    ++started;
    EXPECT_TRUE(ok(weft_event_wait(&event)));
  });
  Call running([&] {
    ++started;
    while (!go) weft_yield();
  });
  Call ended([] {});
  Call never([] {});
  weft_unit_attr_t named = default_attr();
  named.name = "left-behind";
  weft_unit_t done = ended.ult();
  ASSERT_TRUE(ok(weft_join(done)));
  std::vector<weft_unit_t> units{blocked.ult(&named), running.ult()};
  ASSERT_TRUE(wait_until([&] { return started == 2 && weft_unit_state(units[0]) == WEFT_UNIT_BLOCKED; }));
  weft_pool_t nobodys = nullptr;  // so that they are fresh for certain
  ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &nobodys)));
  weft_unit_attr_t kept = default_attr();
  kept.pool = nobodys;
  units.push_back(never.ult(&kept));
  units.push_back(never.tasklet(&kept));
  EXPECT_EQ(run_in_child([&] {
    for (weft_unit_t& unit : units) {
      CHILD_CHECK(weft_join(unit) == WEFT_ERR_FORKED);
      CHILD_CHECK(weft_join(unit) == WEFT_ERR_FORKED);
      CHILD_CHECK(weft_unit_state(unit) == WEFT_UNIT_TERMINATED);
      CHILD_CHECK(weft_resume(unit) == WEFT_ERR_STATE);
      CHILD_CHECK(weft_revive(unit, [](void*) {}, nullptr) == WEFT_ERR_STATE);
      CHILD_CHECK(weft_yield_to(unit) == WEFT_ERR_STATE);
    }
    CHILD_CHECK(std::string(weft_unit_name(units[0])) == "left-behind");
    for (weft_unit_t& unit : units) {
      CHILD_CHECK(weft_free(&unit) == WEFT_ERR_FORKED);
      CHILD_CHECK(unit == nullptr);
    }
    CHILD_OK(weft_join(done));  // it had ended before
    int again = 0;
    CHILD_OK(weft_revive(done, [](void* n) { ++*static_cast<int*>(n); }, &again));
    CHILD_OK(weft_free(&done));
    CHILD_CHECK(again == 1);
    use_and_restart();
  }), 0);
  go = true;
  EXPECT_TRUE(ok(weft_event_set(&event)));
  weft_sched_t sched = nullptr;
  weft_worker_t worker = nullptr;
  ASSERT_TRUE(ok(weft_sched_create(WEFT_SCHED_BASIC, 1, &nobodys, &sched)));
  ASSERT_TRUE(ok(weft_worker_create(sched, &worker)));
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  EXPECT_TRUE(ok(weft_free(&done)));
  EXPECT_TRUE(ok(weft_worker_free(&worker)));
  EXPECT_TRUE(ok(weft_sched_free(&sched)));
  EXPECT_TRUE(ok(weft_pool_free(&nobodys)));
}

// The error of a C++ thread has the code; afterwards it is not joinable.
TEST_P(ProcessFork, JoinInCppThrowsForked) {
  weft_event_t event = WEFT_EVENT_INIT;
  weft::thread thread([&] { weft_event_wait(&event); });
  weft::task_group group;
  group.run([&] { weft_event_wait(&event); });
  EXPECT_EQ(run_in_child([&] {
    int caught = 0;
    try {
      thread.join();
    } catch (const weft::error& e) {
      caught += e.code().value() == WEFT_ERR_FORKED;
    }
    try {
      group.wait();
    } catch (const weft::error& e) {
      caught += e.code().value() == WEFT_ERR_FORKED;
    }
    CHILD_CHECK(caught == 2);
    CHILD_CHECK(!thread.joinable());
    group.wait();
    use_and_restart();
  }), 0);
  EXPECT_TRUE(ok(weft_event_set(&event)));
  thread.join();
  group.wait();
}

TEST_P(ProcessFork, NoDestructorRunsForWhatIsDropped) {
  static std::atomic<int> destroyed;
  destroyed = 0;
  weft_key_t key = nullptr;
  ASSERT_TRUE(ok(weft_key_create([](void*) { ++destroyed; }, &key)));
  weft_event_t event = WEFT_EVENT_INIT;
  std::atomic<int> ready{0};
  Call call([&] {
    EXPECT_TRUE(ok(weft_key_set(key, &ready)));
    ++ready;
    EXPECT_TRUE(ok(weft_event_wait(&event)));
  });
  weft_unit_t unit = call.ult();
  ASSERT_TRUE(wait_until([&] { return ready == 1; }));
  int mine = 0;
  ASSERT_TRUE(ok(weft_key_set(key, &mine)));
  EXPECT_EQ(run_in_child([&] {
    CHILD_CHECK(weft_key_get(key) == &mine);  // the survivor's values are its own still
    CHILD_CHECK(weft_free(&unit) == WEFT_ERR_FORKED);
    CHILD_CHECK(destroyed == 0);
    CHILD_OK(weft_finalize());
    CHILD_CHECK(destroyed == 1);
  }), 0);
  EXPECT_TRUE(ok(weft_event_set(&event)));
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_EQ(destroyed, 1);
  EXPECT_TRUE(ok(weft_key_set(key, nullptr)));
  EXPECT_TRUE(ok(weft_key_free(&key)));
}

// ---- the end of the surviving ULT ------------------------------------------------------------------

// What the child does from here on is seen by its exit status alone: 0 by exit(), and `after` never.
void fork_and_return(pid_t& child) { child = fork_child(); }

int end_of_child(const weft_unit_attr_t* attr, void (*leave)()) {
  pid_t child = -1;
  in_ult(
      [&] {
        fork_and_return(child);
        if (child == 0) leave();
      },
      attr);
  if (child == 0) _exit(7);  // in the child: a frame of main's
  return status_of(child);
}

TEST_P(ProcessFork, ItsReturnEndsTheChildWithStatusZero) {
  EXPECT_EQ(end_of_child(nullptr, [] {}), 0);
  weft_unit_attr_t attr = default_attr();
  attr.technique = WEFT_TECHNIQUE_SC;
  EXPECT_EQ(end_of_child(&attr, [] {}), 0);
  attr.technique = WEFT_TECHNIQUE_SS;
  EXPECT_EQ(end_of_child(&attr, [] {}), 0);
}

TEST_P(ProcessFork, ItsReturnEndsTheChildWhateverItDidBefore) {
  EXPECT_EQ(end_of_child(nullptr, [] { use_weft(); }), 0);
  EXPECT_EQ(end_of_child(nullptr, [] { use_and_restart(); }), 0);
  EXPECT_EQ(end_of_child(nullptr, [] { CHILD_OK(weft_finalize()); }), 0);
  EXPECT_EQ(end_of_child(nullptr, [] {
    CHILD_CHECK(weft_exit() == WEFT_ERR_CONTEXT);  // it is the primary ULT
    std::atexit([] { _exit(5); });
  }), 5);
}

// ---- the rest of the process -----------------------------------------------------------------------

TEST_P(ProcessFork, Nested) {
  in_ult([] {
    EXPECT_EQ(run_in_child([] {
      use_weft();
      const auto grandchild = [] {
        use_weft();
        in_ult([] {
          const int status = run_in_child(use_and_restart);
          CHILD_CHECK(status == 0);
        });
        use_and_restart();
      };
      CHILD_CHECK(run_in_child(grandchild) == 0);
      std::atomic<int> status{-1};
      Call call([&] { status = run_in_child(use_and_restart); });
      weft_unit_attr_t attr = default_attr();
      attr.technique = WEFT_TECHNIQUE_SC;
      weft_unit_t unit = call.ult(&attr);
      CHILD_OK(weft_free(&unit));
      CHILD_CHECK(status == 0);
      use_and_restart();
    }), 0);
  });
}

TEST_P(ProcessFork, MoreWorkersCanBeMadeInTheChild) {
  if (!kChildMayStartThreads) GTEST_SKIP() << "ThreadSanitizer: the child may start no threads";
  EXPECT_EQ(run_in_child([] {
    weft_worker_t worker = nullptr;
    CHILD_OK(weft_worker_create(nullptr, &worker));
    CHILD_CHECK(weft_worker_count() == 2);
    std::atomic<bool> elsewhere{false};
    Call call([&] { elsewhere = weft_worker_self() == worker; });
    weft_unit_attr_t attr = default_attr();
    attr.worker = worker;
    attr.pinned = true;
    weft_unit_t unit = call.ult(&attr);
    CHILD_OK(weft_free(&unit));
    CHILD_CHECK(elsewhere);
    CHILD_OK(weft_worker_free(&worker));
    use_and_restart();
  }), 0);
}

// ---- threads of the child's

unsigned threads() {
  unsigned count = 0;
  DIR* tasks = opendir("/proc/self/task");
  while (const dirent* each = readdir(tasks)) count += each->d_name[0] != '.';
  closedir(tasks);
  return count;
}

class ProcessForkThreads : public WorkersTest {
 protected:
  void SetUp() override {
    WorkersTest::SetUp();
    if (!kChildMayStartThreads) GTEST_SKIP() << "ThreadSanitizer: the child may start no threads";
    ASSERT_TRUE(ok(weft_preemption_set_mode(WEFT_PREEMPTION_AUTO)));
    ASSERT_TRUE(ok(weft_blocking_set_mode(WEFT_BLOCKING_AUTO)));
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, ProcessForkThreads, kWorkerCounts);

struct BlockingPipe {
  int ends[2];
  BlockingPipe() { CHILD_CHECK(pipe(ends) == 0); }
  void put() const { CHILD_CHECK(write(ends[1], "x", 1) == 1); }
  void get() const {
    char got = 0;
    while (read(ends[0], &got, 1) < 0) CHILD_CHECK(errno == EINTR);
  }
};

void does_alone() {
  CHILD_CHECK(threads() == 1);
  weft_yield();
  weft_mutex_t mutex = WEFT_MUTEX_INIT;
  CHILD_OK(weft_mutex_lock(&mutex));
  CHILD_OK(weft_mutex_unlock(&mutex));
  weft_blocking_info_t info;
  CHILD_OK(weft_blocking_info(&info));
  CHILD_CHECK(info.mode == WEFT_BLOCKING_AUTO);
  CHILD_CHECK(threads() == 1);
}

// By a thread that is none of Weft's: the only worker's is in the kernel meanwhile.
void does_by_a_thread(Call& call) {
  std::thread([&] {
    weft_unit_t unit = call.ult();
    CHILD_OK(weft_free(&unit));
  }).join();
}

TEST_P(ProcessForkThreads, StartWhenThereIsASecondUnit) {
  in_ult([] {
    EXPECT_EQ(run_in_child([] {
      does_alone();
      const BlockingPipe pipe;
      Call puts([&] { pipe.put(); });
      weft_unit_t unit = puts.ult();
      pipe.get();  // it is noticed that this one blocks
      CHILD_OK(weft_free(&unit));
      CHILD_CHECK(threads() > 1);
      std::atomic<bool> set{false};
      Call sets([&] { set = true; });
      unit = sets.ult();
      while (!set) continue;  // its time slice ends
      CHILD_OK(weft_free(&unit));
      use_weft();
    }), 0);
  });
}

TEST_P(ProcessForkThreads, StartWhenAThreadMakesAUnit) {
  EXPECT_EQ(run_in_child([] {
    does_alone();
    Call call([] {});
    does_by_a_thread(call);
    use_and_restart();
  }), 0);
}

TEST_P(ProcessForkThreads, StartWhenOneThatHasEndedIsRevived) {
  Call call([] {});
  weft_unit_t unit = call.ult();
  ASSERT_TRUE(ok(weft_join(unit)));
  EXPECT_EQ(run_in_child([&] {
    CHILD_CHECK(threads() == 1);
    const BlockingPipe pipe;
    Call puts([&] { pipe.put(); });
    CHILD_OK(weft_revive(unit, &Call::run, &puts));
    pipe.get();
    CHILD_OK(weft_join(unit));
  }), 0);
  EXPECT_TRUE(ok(weft_free(&unit)));
}

TEST_P(ProcessForkThreads, StartInAChildOfTheChild) {
  EXPECT_EQ(run_in_child([] {
    does_alone();
    CHILD_CHECK(run_in_child([] {
      does_alone();
      const BlockingPipe pipe;
      Call puts([&] { pipe.put(); });
      weft_unit_t unit = puts.ult();
      pipe.get();
      CHILD_OK(weft_free(&unit));
    }) == 0);
    CHILD_OK(weft_blocking_set_mode(WEFT_BLOCKING_OFF));
    CHILD_OK(weft_preemption_set_mode(WEFT_PREEMPTION_OFF));
    use_and_restart();
  }), 0);
}

TEST_P(ProcessFork, TheChildIsNotBound) {
  weft::rt::CpuSet before;
  ASSERT_TRUE(ok(weft_finalize()));
  ASSERT_EQ(weft::rt::get_affinity(before), 0);
  SetUp();
  for (int i = 0; i < 4; ++i) {
    in_ult([&] {
      EXPECT_EQ(run_in_child([&] {
        weft::rt::CpuSet now;
        CHILD_CHECK(weft::rt::get_affinity(now) == 0 && now == before);
        CHILD_CHECK(weft_worker_cpu(weft_worker_self()) == -1);
        use_and_restart();
      }), 0);
      weft_yield();
    });
  }
}

TEST_P(ProcessFork, PoolsAndSchedulersAreEmptyThere) {
  weft_pool_t pool = nullptr;
  weft_sched_t sched = nullptr;
  for (const weft_access_t access : {WEFT_ACCESS_PRIV, WEFT_ACCESS_MPMC}) {
    for (const weft_pool_kind_t kind : {WEFT_POOL_FIFO, WEFT_POOL_PRIORITY}) {
      ASSERT_TRUE(ok(weft_pool_create(kind, access, &pool)));
      ASSERT_TRUE(ok(weft_sched_create(WEFT_SCHED_BASIC, 1, &pool, &sched)));
      weft_unit_attr_t attr = default_attr();
      attr.pool = pool;
      int ran = 0;
      Call call([&] { ++ran; });
      std::vector<weft_unit_t> units{call.ult(&attr), call.ult(&attr), call.tasklet(&attr)};
      EXPECT_EQ(run_in_child([&] {
        CHILD_CHECK(weft_pool_size(pool) == 0);
        CHILD_CHECK(weft_pool_pop(pool) == nullptr);
        CHILD_CHECK(weft_free_many(units.size(), units.data()) == WEFT_ERR_FORKED);
        if (kChildMayStartThreads) {
          weft_worker_t worker = nullptr;
          CHILD_OK(weft_worker_create(sched, &worker));
          weft_unit_t unit = call.ult(&attr);
          CHILD_OK(weft_free(&unit));
          CHILD_CHECK(ran == 1);
          CHILD_OK(weft_worker_free(&worker));
        }
        CHILD_OK(weft_sched_free(&sched));
        CHILD_OK(weft_pool_free(&pool));
        use_and_restart();
      }), 0);
      weft_worker_t worker = nullptr;
      ASSERT_TRUE(ok(weft_worker_create(sched, &worker)));
      EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
      EXPECT_TRUE(ok(weft_worker_free(&worker)));
      EXPECT_TRUE(ok(weft_sched_free(&sched)));
      EXPECT_TRUE(ok(weft_pool_free(&pool)));
    }
  }
}

// One worker: another one might be running a callable just then.
class ProcessForkAlone : public OneWorkerTest {};

// fork_join() that nobody has taken from goes on in the child; its frames are the survivor's.
TEST_F(ProcessForkAlone, InTheMiddleOfForkJoin) {
  in_ult([] {
    pid_t child = -1;
    const auto sum = [&] {
      auto [a, b, c] = weft::fork_join(
          [&] {
            child = fork_child();
            return 1;
          },
          [] { return 2; }, [] { return 4; });
      return a + b + c;
    };
    const int result = sum();
    if (child == 0) {
      CHILD_CHECK(result == 7);
      use_and_restart();
      _exit(0);
    }
    EXPECT_EQ(result, 7);
    EXPECT_EQ(status_of(child), 0);
  });
}

// A callable that has become a unit, because its ULT was suspended, and has not started: the child runs it.
TEST_F(ProcessForkAlone, ForksThatHaveBecomeUnits) {
  in_ult([] {
    Call other([] {});
    weft_unit_t unit = other.ult();
    pid_t child = -1;
    int ran = 0;
    weft::fork_join(
        [&] {
          EXPECT_TRUE(ok(weft_yield_to(unit)));  // what was forked goes behind the caller
          child = fork_child();
        },
        [&] { ++ran; });
    EXPECT_EQ(ran, 1);
    if (child == 0) {
      CHILD_CHECK(ran == 1);
      _exit(0);
    }
    EXPECT_EQ(status_of(child), 0);
    EXPECT_TRUE(ok(weft_free(&unit)));
  });
}

// One that somebody else was in the middle of cannot be waited for: that is said, and nothing hangs.
TEST_P(ProcessFork, AForkThatHasStarted) {
  in_ult([] {
    std::atomic<bool> taken{false};
    std::atomic<bool> over{false};
    pid_t child = -1;
    weft::fork_join(
        [&] {
          if (!wait_until([&] { return taken.load(); })) return;
          child = fork_child();
          over = true;
        },
        [&] {
          taken = true;
          while (!over) weft_yield();
        });
    ASSERT_NE(child, -1);
    if (child == 0) _exit(7);
    EXPECT_EQ(status_of(child), -SIGABRT);
  });
}

// Those of the joiner below, which is dropped, are not run.
TEST_F(ProcessForkAlone, TheJoinersForksAreDropped) {
  std::atomic<int> joiners{0};
  weft::fork_join(
      [&] {
        in_ult([&] {
          auto [status, mine] = weft::fork_join(
              [&] {
                return run_in_child([&] {
                  for (int i = 0; i < 200; ++i) weft_yield();
                  use_weft();
                  CHILD_CHECK(joiners == 0);
                });
              },
              [] { return 1; });
          EXPECT_EQ(status, 0);
          EXPECT_EQ(mine, 1);
        });
      },
      [&] { ++joiners; });
  EXPECT_EQ(joiners, 1);
}

// ---- other callers ---------------------------------------------------------------------------------

TEST_P(ProcessFork, FromAPlainThread) {
  weft_event_t event = WEFT_EVENT_INIT;
  Call call([&] { EXPECT_TRUE(ok(weft_event_wait(&event))); });
  weft_unit_t unit = call.ult();
  on_klt([&] {
    EXPECT_EQ(run_in_child([&] {
      CHILD_CHECK(!weft_initialized());
      CHILD_CHECK(weft_worker_count() == 0);
      CHILD_CHECK(weft_self() == nullptr);
      CHILD_CHECK(weft_join(unit) == WEFT_ERR_FORKED);
      CHILD_CHECK(weft_finalize() == WEFT_ERR_UNINITIALIZED);
      CHILD_CHECK(weft_ult_create([](void*) {}, nullptr, nullptr, nullptr) == WEFT_ERR_UNINITIALIZED);
      for (int i = 0; i < 3; ++i) {
        weft_options_t options{};
        options.workers = kChildWorkers;
        CHILD_OK(weft_initialize(&options));
        if (i == 0) {
          CHILD_CHECK(weft_free(&unit) == WEFT_ERR_FORKED);
        }
        use_weft();
        CHILD_CHECK(run_in_child(use_and_restart) == 0);
        CHILD_OK(weft_finalize());
      }
    }), 0);
  });
  EXPECT_TRUE(ok(weft_event_set(&event)));
  EXPECT_TRUE(ok(weft_free(&unit)));
}

TEST_P(ProcessFork, FromATasklet) {
  pid_t child = -1;
  in_tasklet([&] { child = fork_child(); });
  if (child == 0) _exit(7);
  EXPECT_EQ(status_of(child), 0);  // its return ends the child
  in_tasklet([] {
    EXPECT_EQ(run_in_child([] {
      CHILD_CHECK(!weft_initialized());
      CHILD_CHECK(weft_self() == nullptr);
      CHILD_CHECK(weft_initialize(nullptr) == WEFT_ERR_CONTEXT);
      CHILD_CHECK(weft_ult_create([](void*) {}, nullptr, nullptr, nullptr) == WEFT_ERR_UNINITIALIZED);
      weft_mutex_t mutex = WEFT_MUTEX_INIT;
      CHILD_OK(weft_mutex_lock(&mutex));
      CHILD_OK(weft_mutex_unlock(&mutex));
    }), 0);
  });
  weft_unit_attr_t attr = default_attr();
  attr.technique = WEFT_TECHNIQUE_SC;
  in_ult([] { in_tasklet([] { EXPECT_EQ(run_in_child([] {}), 0); }); }, &attr);
}

TEST_P(ProcessFork, FromATaskletOnAUltsStackOfAnotherSize) {
  weft_unit_attr_t attr = default_attr();
  for (const size_t size : {64 * 1024, 512 * 1024}) {
    attr.stack_size = size;
    in_ult([] { in_tasklet([] { EXPECT_EQ(run_in_child([] {}), 0); }); }, &attr);
  }
}

// A user-defined pool whose functions fork: the caller is in the middle of Weft.
TEST_P(ProcessFork, FromAPoolsFunction) {
  struct Mine {
    std::vector<weft_unit_t> units;
    bool fork_now = false;
    int status = -1;
  } mine;
  weft_pool_ops_t ops{};
  ops.push = [](void* self, weft_unit_t unit) {
    auto* m = static_cast<Mine*>(self);
    m->units.push_back(unit);
    if (!m->fork_now) return;
    m->fork_now = false;
    const pid_t child = fork_child();
    if (child != 0) m->status = status_of(child);
  };
  ops.pop = [](void* self) -> weft_unit_t {
    auto* m = static_cast<Mine*>(self);
    if (m->units.empty()) return nullptr;
    weft_unit_t unit = m->units.back();
    m->units.pop_back();
    return unit;
  };
  ops.size = [](void* self) { return static_cast<Mine*>(self)->units.size(); };
  weft_pool_t pool = nullptr;
  ASSERT_TRUE(ok(weft_pool_create_user(&ops, &mine, &pool)));
  weft_unit_attr_t attr = default_attr();
  attr.pool = pool;
  Call call([] {});
  mine.fork_now = true;
  weft_unit_t unit = call.ult(&attr);
  EXPECT_EQ(mine.status, 0);  // its return into Weft ends the child
  // A ULT's child finds the pool as it was, and what was in it is not run.
  EXPECT_EQ(run_in_child([&] {
    CHILD_CHECK(weft_pool_pop(pool) == nullptr);
    CHILD_CHECK(weft_free(&unit) == WEFT_ERR_FORKED);
    use_and_restart();
  }), 0);
  weft_sched_t sched = nullptr;
  weft_worker_t worker = nullptr;
  ASSERT_TRUE(ok(weft_sched_create(WEFT_SCHED_BASIC, 1, &pool, &sched)));
  ASSERT_TRUE(ok(weft_worker_create(sched, &worker)));
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_TRUE(ok(weft_worker_free(&worker)));
  EXPECT_TRUE(ok(weft_sched_free(&sched)));
  EXPECT_TRUE(ok(weft_pool_free(&pool)));
}

TEST(ProcessForkWithout, ARuntimeAChildForksToo) {
  ASSERT_FALSE(weft_initialized());
  const auto fork_and = [](auto&& then) {
    const pid_t child = fork();
    if (child == 0) _exit(then());
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
  };
  EXPECT_EQ(fork_and([&] { return fork_and([&] { return fork_and([] { return 7; }); }); }), 7);
}

}  // namespace
