// Preemption (src/preempt): that whoever spins lets others run, with each kind, mode and number of workers, and that the
// preempted ULT does not notice.
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cfenv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>
#include <vector>

#include "klt/guard.hpp"
#include "klt/time_slice.hpp"
#include "os/futex.hpp"
#include "os/signal_mask.hpp"
#include "preempt/preempt.hpp"
#include "support/elsewhere.hpp"
#include "support/no_more.hpp"
#include "support/preempting.hpp"
#include "worker/runtime.hpp"
#include "worker/signal_stack.hpp"
#include "worker/worker.hpp"

namespace {

using namespace weft_test;
using std::chrono::milliseconds;

// ---- whoever spins lets others run

// Several for each worker, and one that they wait for.
void spin_until_the_last_comes(unsigned workers) {
  std::atomic<bool> flag{false};
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  for (unsigned i = 0; i < 3 * workers; ++i) {
    calls.push_back(std::make_unique<Call>([&] { spin_until(flag); }));
    units.push_back(calls.back()->ult());
  }
  Call set([&] { flag = true; });
  weft_unit_t setter = set.ult();
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  EXPECT_TRUE(ok(weft_free(&setter)));
}

class Preempt : public SlicingTest {};
INSTANTIATE_TEST_SUITE_P(All, Preempt, kSlicings, name_of);

TEST_P(Preempt, AFlagThatAnotherUltOfTheWorkerSets) { spin_until_the_last_comes(workers()); }

class PreemptWithoutTimers : public SlicingTest {
 protected:
  const NoMore full_{RLIMIT_SIGPENDING};
};
INSTANTIATE_TEST_SUITE_P(All, PreemptWithoutTimers, kSlicings, name_of);

TEST_P(PreemptWithoutTimers, AFlagThatAnotherUltOfTheWorkerSets) {
  for (int round = 0; round < 10; ++round) spin_until_the_last_comes(workers());
}

TEST_P(Preempt, NoMoreTimersAfterAWhile) {
  spin_until_the_last_comes(workers());
  const NoMore full(RLIMIT_SIGPENDING);
  for (int round = 0; round < 10; ++round) spin_until_the_last_comes(workers());
}

TEST_P(Preempt, ABarrierOfHandWithMoreUltsThanWorkers) {
  constexpr unsigned kUlts = 6, kRounds = 3;
  std::atomic<unsigned> arrived{0};
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  for (unsigned i = 0; i < kUlts; ++i) {
    calls.push_back(std::make_unique<Call>([&] {
      for (unsigned round = 1; round <= kRounds; ++round) {
        arrived.fetch_add(1);
        while (arrived.load(std::memory_order_relaxed) < round * kUlts) spin_once();
      }
    }));
    units.push_back(calls.back()->ult());
  }
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  EXPECT_EQ(arrived, kUlts * kRounds);
}

// ---- where the signal's frame lies

// spin(flag) in ULTs, three for each worker, the i-th with the attributes attr_of(i); another one sets the flag.
template <class F, class A>
void set_beside(unsigned workers, F&& spin, A&& attr_of) {
  std::atomic<bool> flag{false};
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  for (unsigned i = 0; i < 3 * workers; ++i) {
    const weft_unit_attr_t attr = attr_of(i);
    calls.push_back(std::make_unique<Call>([&] { spin(flag); }));
    units.push_back(calls.back()->ult(&attr));
  }
  Call set([&] {
    spin_for(milliseconds(10));
    flag = true;
  });
  units.push_back(set.ult());
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
}

TEST_P(Preempt, WithTheStackPointerElsewhere) {
  if (weft::rt::san::kSignalsComeLate) GTEST_SKIP() << "nothing that calls nothing is preempted under ThreadSanitizer";
  set_beside(workers(), [](const std::atomic<bool>& flag) { Elsewhere().spin_until(flag); },
             [](unsigned) { return weft_unit_attr_t(WEFT_UNIT_ATTR_INIT); });
  const weft_preemption_info_t info = preemption_info();
  EXPECT_GE(info.klt_switches, 1u);  // whatever the kind
}

TEST_P(Preempt, WithHardlyAnyStackLeft) {
  if (weft::rt::san::kSignalsComeLate) GTEST_SKIP() << "nothing that calls nothing is preempted under ThreadSanitizer";
  set_beside(workers(), [](const std::atomic<bool>& flag) {
    weft::rt::Worker* worker = weft::rt::guard_enter();
    const weft::rt::Stack* stack = weft::rt::stack_of(weft::rt::klt_current(), worker);
    weft::rt::guard_leave(worker);
    spin_until_with_stack_pointer(stack->low + sysconf(_SC_PAGESIZE) + 1024, flag);
  }, [](unsigned) { return weft_unit_attr_t(WEFT_UNIT_ATTR_INIT); });
}

// As little as there may be, where no frame has room, and more.
TEST_P(Preempt, OnMemoryOfTheProgram) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (const size_t size : {size_t{WEFT_STACK_MIN}, size_t{64} << 10}) {
    std::vector<char*> memory;
    set_beside(workers(), [](const std::atomic<bool>& flag) { spin_until(flag); }, [&](unsigned) {
      void* mapped = mmap(nullptr, page + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      EXPECT_NE(mapped, MAP_FAILED);
      memory.push_back(static_cast<char*>(mapped));
      EXPECT_EQ(mprotect(mapped, page, PROT_NONE), 0);
      weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
      attr.stack_memory = memory.back() + page;
      attr.stack_size = size;
      return attr;
    });
    for (char* mapped : memory) munmap(mapped, page + size);
  }
}

// Each thread that a dump asks waits until it is written: it may be the one whose turn would come first.
TEST_P(Preempt, ADumpOfUnitsThatSpin) {
  if (weft::rt::san::kSignalsComeLate) GTEST_SKIP() << "threads answer late under ThreadSanitizer";
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  std::atomic<bool> flag{false};
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  for (unsigned i = 0; i < 3 * workers(); ++i) {
    calls.push_back(std::make_unique<Call>([&flag, i] { i % 2 == 0 ? spin_until(flag) : Elsewhere().spin_until(flag); }));
    units.push_back(calls.back()->ult());
  }
  const weft_unit_t first = units[0];
  static int to;
  to = fileno(file);
  struct sigaction action{}, before;
  action.sa_handler = [](int) { EXPECT_TRUE(ok(weft_dump(to))); };
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &action, &before);
  Call dumps([&] {
    for (int i = 0; i < 3; ++i) {
      spin_for(milliseconds(3));
      EXPECT_TRUE(ok(weft_dump(to)));
      EXPECT_EQ(raise(SIGUSR1), 0);
      EXPECT_TRUE(ok(weft_dump_unit(to, first)));
    }
    flag = true;
  });
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.preemption = WEFT_PREEMPTION_KLT_SWITCHING;  // raise() asks which thread it is on, and then signals that
  units.push_back(dumps.ult(&attr));
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  sigaction(SIGUSR1, &before, nullptr);
  std::fclose(file);
}

// An idle worker is offered units, and takes few of them. The others are not to wait for 64 slices.
TEST_P(Preempt, WhatIdleWorkersHaveNotTakenComesNext) {
  if (GetParam().workers != 1) GTEST_SKIP() << "others would take them";
  constexpr int kUlts = 3;
  const auto preemptions = [] {
    const weft_preemption_info_t info = preemption_info();
    return info.signal_yields + info.klt_switches;
  };
  // Once more if a tick comes while they are made: then one may run before the others are there.
  for (bool undisturbed = false; !undisturbed;) {
    std::atomic<int> ran{0};
    std::atomic<uint64_t> before{0}, after{0};
    const uint64_t start = preemptions();
    Call spins([&] {
      weft::rt::Worker* worker = weft::rt::guard_enter();
      const unsigned offered = worker->lane.publish(worker, 8);
      weft::rt::guard_leave(worker);
      before = preemptions();
      undisturbed = before == start;
      if (undisturbed) {
        EXPECT_EQ(offered, static_cast<unsigned>(kUlts));
      }
      while (ran < kUlts) spin_once();
    });
    Call others([&] {
      if (++ran == kUlts) after = preemptions();
    });
    std::vector<weft_unit_t> units{spins.ult()};
    for (int i = 0; i < kUlts; ++i) units.push_back(others.ult());
    EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
    if (undisturbed) {
      EXPECT_LE(after - before, 2u * kUlts);
    }
  }
}

TEST_P(Preempt, MainSpinsToo) {
  std::atomic<bool> flag{false};
  Call set([&] { flag = true; });
  weft_unit_t unit = set.ult();
  spin_until(flag);
  EXPECT_TRUE(ok(weft_free(&unit)));
}

TEST_P(Preempt, AUltThatWaitsForMain) {
  std::atomic<bool> started{false}, flag{false};
  Call call([&] {
    started = true;
    spin_until(flag);
  });
  weft_unit_t unit = call.ult();
  while (!started) weft_yield();
  flag = true;
  EXPECT_TRUE(ok(weft_free(&unit)));
}

TEST_P(Preempt, ASleeperIsWokenInTime) {
  std::atomic<bool> flag{false};
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  for (unsigned i = 0; i < workers(); ++i) {
    calls.push_back(std::make_unique<Call>([&] { spin_until(flag); }));
    units.push_back(calls.back()->ult());
  }
  EXPECT_TRUE(ok(weft_sleep(3'000'000)));
  flag = true;
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
}

TEST_P(Preempt, ATickDuringASectionComesAfterIt) {
  if (GetParam().workers != 1) return;  // another worker would run the other one
  std::atomic<bool> ran{false};
  bool in_section = true, after = false;
  in_ult([&] {
    Call other([&] { ran = true; });
    weft_unit_t unit = other.ult();
    weft::rt::Worker* worker = weft::rt::guard_enter();
    spin_for(milliseconds(20));
    in_section = ran;
    weft::rt::guard_leave(worker);
    while (!ran) weft_cancel_point();
    after = true;
    EXPECT_TRUE(ok(weft_free(&unit)));
  });
  EXPECT_TRUE(after);
  EXPECT_FALSE(in_section && !weft::rt::san::kSignalsComeLate);
}

// ---- what the preempted one finds

void spend(int steps) {
  for (int k = 0; k < steps; ++k) asm volatile("");
}

// Spins beside others of its kind for as long as that takes, and looks all the time.
template <class Setup, class Check>
void beside_spinners(Setup setup, Check check) {
  constexpr unsigned kUlts = 4;
  std::atomic<unsigned> running{kUlts}, wrong{0};
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.fp_environment = WEFT_FP_OWN;
  for (unsigned i = 0; i < kUlts; ++i) {
    calls.push_back(std::make_unique<Call>([&, i] {
      auto state = setup(i);
      const uint64_t end = weft_after(30'000'000);
      unsigned mistakes = 0;
      while (weft_now() < end) {
        if (!check(i, state)) ++mistakes;
        spin_once();
      }
      wrong.fetch_add(mistakes);
      running.fetch_sub(1);
      // As soon as one has ended main goes on, and the others on another kernel thread than before: not in the midst of a check.
      while (running != 0) weft_yield();
    }));
    units.push_back(calls.back()->ult(&attr));
  }
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  EXPECT_EQ(wrong, 0u);
}

// As where the machine is slower than the ticks: they wait, and one handler must not run on top of the other.
TEST_P(Preempt, ManyTicksAtOnceNeedNoMoreStackThanOne) {
  constexpr unsigned kTicks = 200, kUlts = 3;
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.stack_size = 64 << 10;  // room for some frames, and not for all
  const int signal = preemption_info().signal;
  for (unsigned i = 0; i < kUlts; ++i) {
    calls.push_back(std::make_unique<Call>([&] {
      sigset_t ticks, before;
      sigemptyset(&ticks);
      sigaddset(&ticks, signal);
      weft::rt::set_signal_mask(SIG_BLOCK, &ticks, &before);
      for (unsigned k = 0; k < kTicks; ++k) syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), signal);
      weft::rt::set_signal_mask(SIG_SETMASK, &before, nullptr);
      spin_for(milliseconds(2));
    }));
    units.push_back(calls.back()->ult(&attr));
  }
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
}

// Not to be kept in a register across a switch: the address of errno is the KLT's.
[[gnu::noinline]] void set_errno(int value) { errno = value; }
[[gnu::noinline]] int get_errno() { return errno; }

// It may hold a lock there.
TEST_P(Preempt, InTheCLibraryItKeepsItsKlt) {
  if (weft::rt::san::kSignalsComeLate) return;
  std::atomic<bool> over{false};
  const std::vector<char> from(1 << 20, 'x');
  std::vector<char> to(from.size());
  Call copies([&] {
    while (!over.load(std::memory_order_relaxed)) std::memcpy(to.data(), from.data(), from.size());
  });
  Call ends([&] {
    for (int slice = 0; slice < 10; ++slice) weft_yield();
    over = true;
  });
  const weft_preemption_info_t before = preemption_info();
  std::vector<weft_unit_t> units;
  weft_unit_attr_t attr = default_attr();
  attr.technique = WEFT_TECHNIQUE_SS;  // not on main's stack
  attr.worker = weft_worker_get(0);
  attr.pinned = true;
  for (Call* call : {&copies, &ends}) units.push_back(call->ult(&attr));
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  const weft_preemption_info_t after = preemption_info();
  // Few ticks find it between two copies.
  EXPECT_GT(after.klt_switches - before.klt_switches, after.signal_yields - before.signal_yields);
}

// Of the KLT that runs this, in one instruction: between asking where it is and going there a tick might come, and another KLT.
class ErrnoAtOnce {
 public:
  ErrnoAtOnce() {
    char* thread = nullptr;
    asm volatile("movq %%fs:0, %0" : "=r"(thread));
    offset_ = reinterpret_cast<char*>(&errno) - thread;
  }
  void set(int value) const { asm volatile("movl %0, %%fs:(%1)" : : "r"(value), "r"(offset_) : "memory"); }
  int get() const {
    int value = 0;
    asm volatile("movl %%fs:(%1), %0" : "=r"(value) : "r"(offset_) : "memory");
    return value;
  }

 private:
  ptrdiff_t offset_;
};

TEST_P(Preempt, KeepsErrno) {
  // What another ULT sets between two ticks is a KLT's; only what a tick interrupts is put back.
  if (GetParam().kind == WEFT_PREEMPTION_SIGNAL_YIELD) {
    const ErrnoAtOnce its;
    beside_spinners([](unsigned) { return 0; }, [&its](unsigned i, int&) {
      const auto mine = static_cast<int>(100 + i);
      its.set(mine);
      spend(1000);
      return its.get() == mine;
    });
  } else {
    beside_spinners([](unsigned i) { set_errno(static_cast<int>(100 + i)); return 0; },
                    [](unsigned i, int&) {
                      return weft::rt::san::kSignalsComeLate || get_errno() == static_cast<int>(100 + i);
                    });
  }
}

TEST_P(Preempt, KeepsVectorRegisters) {
  beside_spinners([](unsigned i) { return 1.0 + i; }, [](unsigned i, double& x) {
    typedef double Vector __attribute__((vector_size(32)));
    Vector sum = {};
    const Vector step = {x, 2 * x, 3 * x, 4 * x};
    for (int k = 0; k < 1000; ++k) {
      sum += step;
      asm volatile("" : "+x"(sum[0]));
    }
    return sum[3] == 4000.0 * (1.0 + i) && sum[0] == 1000.0 * (1.0 + i);
  });
}

TEST_P(Preempt, KeepsRounding) {
  beside_spinners(
      [](unsigned i) {
        std::fesetround(i % 2 == 0 ? FE_UPWARD : FE_DOWNWARD);
        return 0;
      },
      [](unsigned i, int&) { return std::fegetround() == (i % 2 == 0 ? FE_UPWARD : FE_DOWNWARD); });
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
}

TEST_P(Preempt, KeepsTheSignalMask) {
  // It is the ULT's while it is preempted; where a ULT leaves by itself it is the KLT's, as ever.
  sigset_t none;
  sigemptyset(&none);
  beside_spinners(
      [](unsigned) { return 0; },
      [&](unsigned i, int&) {
        sigset_t mine, now;
        sigemptyset(&mine);
        sigaddset(&mine, i % 2 == 0 ? SIGUSR1 : SIGUSR2);
        pthread_sigmask(SIG_SETMASK, &mine, nullptr);
        spend(1000);
        pthread_sigmask(SIG_SETMASK, nullptr, &now);
        const bool right = sigismember(&now, SIGUSR1) == (i % 2 == 0) && sigismember(&now, SIGUSR2) == (i % 2 != 0);
        pthread_sigmask(SIG_SETMASK, &none, nullptr);
        return right;
      });
}

TEST_P(Preempt, InsideACatchBlock) {
  if (GetParam().kind == WEFT_PREEMPTION_SIGNAL_YIELD) return;  // throwing allocates
  beside_spinners([](unsigned) { return 0; }, [](unsigned i, int&) {
    try {
      throw i;
    } catch (unsigned mine) {
      spend(100);
      return mine == i && std::uncaught_exceptions() == 0;
    }
  });
}

// ---- what KLT-switching is for

class PreemptAnyCode : public PreemptingTest, public testing::WithParamInterface<unsigned> {
 protected:
  PreemptAnyCode() : PreemptingTest(GetParam(), WEFT_PREEMPTION_ON, WEFT_PREEMPTION_KLT_SWITCHING) {}
  void SetUp() override {
    PreemptingTest::SetUp();
    ASSERT_TRUE(ok(weft_preemption_set_interval(WEFT_PREEMPTION_INTERVAL_MIN)));
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, PreemptAnyCode, testing::Values(1u, 2u));

TEST_P(PreemptAnyCode, InMallocAndStdio) {
  FILE* nowhere = std::fopen("/dev/null", "w");
  ASSERT_NE(nowhere, nullptr);
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  for (unsigned i = 0; i < 12; ++i) {
    calls.push_back(std::make_unique<Call>([=] {
      unsigned random = i;
      for (int k = 0; k < 20'000; ++k) {
        random = random * 1103515245 + 12345;
        void* volatile memory = std::malloc(random >> 18 & 0x3fff);
        std::fprintf(nowhere, "%p\n", memory);
        std::free(memory);
      }
    }));
    units.push_back(calls.back()->ult());
  }
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  std::fclose(nowhere);
  EXPECT_TRUE(preemption_info().klt_switches > 0 || weft::rt::san::kSignalsComeLate);
}

TEST_P(PreemptAnyCode, OnTheAlternateStack) {
  if (weft::rt::san::kSignalsComeLate) GTEST_SKIP() << "ThreadSanitizer runs handlers with all signals blocked";
  static std::atomic<bool> flag;
  flag = false;
  struct sigaction action{}, before;
  action.sa_handler = [](int) { spin_until(flag); };
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &action, &before);
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.preemption = WEFT_PREEMPTION_SIGNAL_YIELD;
  Call in_handler([] { raise(SIGUSR1); });
  weft_unit_t first = in_handler.ult(&attr);
  Call set([] { flag = true; });
  weft_unit_t second = set.ult();
  EXPECT_TRUE(ok(weft_free(&first)));
  EXPECT_TRUE(ok(weft_free(&second)));
  sigaction(SIGUSR1, &before, nullptr);
}

// ---- one timer for all workers

class PreemptRelay : public PreemptingTest, public testing::WithParamInterface<const char*> {
 protected:
  explicit PreemptRelay(unsigned workers = 2) : PreemptingTest(workers, WEFT_PREEMPTION_ON, WEFT_PREEMPTION_KLT_SWITCHING) {}
  void SetUp() override {
    if (weft::rt::san::kSignalsComeLate) GTEST_SKIP() << "each worker has its own timer under ThreadSanitizer";
    setenv("WEFT_PREEMPTION_TIMER", GetParam(), 1);
    PreemptingTest::SetUp();
    unsetenv("WEFT_PREEMPTION_TIMER");
  }
  static weft_unit_attr_t on_worker(unsigned index, weft_preemption_t kind = WEFT_PREEMPTION_DEFAULT) {
    weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
    attr.worker = weft_worker_get(index);
    attr.pinned = true;
    attr.preemption = kind;
    return attr;
  }
  static uint64_t ticks_of(unsigned index) {
    return weft::rt::runtime.workers[index].load()->stats.ticks.load(std::memory_order_relaxed);
  }
};
INSTANTIATE_TEST_SUITE_P(Timers, PreemptRelay, testing::Values("one-to-all", "chain"));

TEST_P(PreemptRelay, WhoRunsNothingPreemptiveIsLeftAlone) {
  std::atomic<bool> end{false};
  uint64_t taken = 0;
  Call alone([&] {
    spin_for(milliseconds(5));  // it may have led until then
    const uint64_t before = ticks_of(1);
    spin_for(milliseconds(50));
    while (ticks_of(0) <= 3) spin_once();
    taken = ticks_of(1) - before;
    end = true;
  });
  const weft_unit_attr_t left_alone = on_worker(1, WEFT_PREEMPTION_NONE), preempted = on_worker(0);
  Call first([&] { spin_until(end); }), second([&] { spin_until(end); });
  weft_unit_t units[] = {alone.ult(&left_alone), first.ult(&preempted), second.ult(&preempted)};
  EXPECT_TRUE(ok(weft_free_many(3, units)));
  EXPECT_LE(taken, 3u);
}

TEST_P(PreemptRelay, TheOthersGoOnWhenOneSleepsOrStops) {
  for (const unsigned sleeper : {0u, 1u}) {
    std::atomic<bool> flag{false};
    const weft_unit_attr_t here = on_worker(sleeper), there = on_worker(1 - sleeper);
    Call ends([&] { spin_for(milliseconds(3)); });
    Call spins([&] { spin_until(flag); });
    Call sets([&] {
      weft_sleep(20'000'000);
      flag = true;
    });
    weft_unit_t units[] = {ends.ult(&here), spins.ult(&there), sets.ult(&there)};
    EXPECT_TRUE(ok(weft_free_many(3, units)));
  }
}

TEST_P(PreemptRelay, ALeaderThatIsNoMore) {
  for (int i = 0; i < 5; ++i) {
    weft_worker_t worker = nullptr;
    ASSERT_TRUE(ok(weft_worker_create(nullptr, &worker)));
    std::atomic<bool> flag{false};
    weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
    attr.worker = worker;
    attr.pinned = true;
    Call ends([&] { spin_for(milliseconds(3)); });
    weft_unit_t first = ends.ult(&attr);
    EXPECT_TRUE(ok(weft_free(&first)));
    EXPECT_TRUE(ok(weft_worker_free(&worker)));
    const weft_unit_attr_t there = on_worker(1);
    Call spins([&] { spin_until(flag); }), sets([&] { flag = true; });
    weft_unit_t units[] = {spins.ult(&there), sets.ult(&there)};
    EXPECT_TRUE(ok(weft_free_many(2, units)));
  }
}

// The note that it has is for whoever lowers the guard, which it does no more before it sleeps.
TEST_P(PreemptRelay, ALeaderThatSleepsWithATickNoted) {
  std::atomic<bool> flag{false};
  const weft_unit_attr_t here = on_worker(1), there = on_worker(0);
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  Call leads([&] {
    spin_for(milliseconds(5));
    // One round of ticks is under way when the last one comes: it takes more of them to get to it.
    for (int i = 0; i < 6; ++i) calls.push_back(std::make_unique<Call>([&] { spin_until(flag); }));
    calls.push_back(std::make_unique<Call>([&] { flag = true; }));
    for (const auto& call : calls) units.push_back(call->ult(&there));
    static_cast<void>(weft::rt::guard_enter());
    spin_for(milliseconds(3));
    EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  });
  weft_unit_t unit = leads.ult(&here);
  EXPECT_TRUE(ok(weft_free(&unit)));
}

uint64_t process_cpu_ns() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// Those that somebody has begun to wake, as wake_if_asleep() does, and not done with it.
std::vector<weft::rt::Worker*> begin_to_wake_all() {
  using namespace weft::rt;
  std::vector<Worker*> found;
  for (unsigned i = 0; i < runtime.worker_slots.load(); ++i) {
    Worker* worker = runtime.workers[i].load();
    const Sleep was = worker->asleep.exchange(Sleep::kAwake);
    if (was == Sleep::kAwake) continue;
    runtime.sleepers.fetch_sub(1);
    if (was == Sleep::kAsleepThief) runtime.searchers.fetch_add(1);
    found.push_back(worker);
  }
  return found;
}

class PreemptRelayOfSix : public PreemptRelay {
 protected:
  PreemptRelayOfSix() : PreemptRelay(6) {}
};
INSTANTIATE_TEST_SUITE_P(Timers, PreemptRelayOfSix, testing::Values("one-to-all", "chain"));

// Where each of them would pass the lead on to all others, each tick would make five more, until no signal can be queued.
TEST_P(PreemptRelayOfSix, NoTicksGoRoundAmongThoseThatAreAboutToWake) {
  using namespace weft::rt;
  while (runtime.sleepers.load() != 5) std::this_thread::sleep_for(milliseconds(1));
  Worker* self = guard_enter();  // the ticks of this one are only noted
  const std::vector<Worker*> woken = begin_to_wake_all();
  EXPECT_EQ(woken.size(), 5u);
  preempt_forget_leader();
  const uint64_t before = process_cpu_ns();
  EXPECT_TRUE(preempt_call_in(woken[0]->carrier.load()));
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_LT(process_cpu_ns() - before, 10'000'000u);
  for (Worker* worker : woken) {
    worker->park.store(1);
    futex_wake(worker->park, 1);
  }
  guard_leave(self);
}

// ---- when there are ticks

class PreemptMode : public OneWorkerTest {};

TEST_F(PreemptMode, NoneIsLeftAlone) {
  ASSERT_TRUE(ok(weft_preemption_set_mode(WEFT_PREEMPTION_ON)));
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.preemption = WEFT_PREEMPTION_NONE;
  std::atomic<bool> ran{false};
  bool meanwhile = true;
  Call other([&] { ran = true; });
  in_ult([&] {
    weft_unit_t unit = other.ult();
    const uint64_t end = weft_after(20'000'000);
    while (weft_now() < end) {
    }
    meanwhile = ran;
    EXPECT_TRUE(ok(weft_free(&unit)));
  }, &attr);
  EXPECT_FALSE(meanwhile);
}

TEST_F(PreemptMode, AutoSendsNoSignalWhileNobodyWaits) {
  ASSERT_TRUE(ok(weft_preemption_set_mode(WEFT_PREEMPTION_AUTO)));
  spin_for(milliseconds(30));
  EXPECT_EQ(preemption_info().ticks, 0u);
  // It waits until main joins it, for as long as the kernel likes. Then one tick may find that it does no more.
  in_ult([] {
    const uint64_t before = preemption_info().ticks;
    spin_for(milliseconds(30));
    EXPECT_LE(preemption_info().ticks, before + 1);
  });
}

// The slice that was set is the worker's, which goes on elsewhere.
TEST_F(PreemptMode, NoTickCutsShortWhoHasGivenItsWorkerAway) {
  ASSERT_TRUE(ok(weft_preemption_set_mode(WEFT_PREEMPTION_ON)));
  std::atomic<bool> end{false};
  int cut_short = 0;
  Call waits([&] {
    for (int round = 0; round < 20; ++round) {
      EXPECT_TRUE(ok(weft_blocking_begin()));
      if (poll(nullptr, 0, 5) != 0) ++cut_short;
      weft_blocking_end();
    }
    end = true;
  });
  Call spins([&] { spin_until(end); });
  weft_unit_t units[] = {waits.ult(), spins.ult()};
  EXPECT_TRUE(ok(weft_free_many(2, units)));
  EXPECT_EQ(cut_short, 0);
}

TEST_F(PreemptMode, OffEndsThem) {
  ASSERT_TRUE(ok(weft_preemption_set_mode(WEFT_PREEMPTION_ON)));
  std::atomic<bool> end{false};
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  for (unsigned i = 0; i < 3; ++i) {
    calls.push_back(std::make_unique<Call>([&] {
      while (!end.load(std::memory_order_relaxed)) {
        spin_once();
        if (preemption_info().mode == WEFT_PREEMPTION_OFF) weft_yield();
      }
    }));
    units.push_back(calls.back()->ult());
  }
  while (preemption_info().klt_switches < 5) weft_yield();
  ASSERT_TRUE(ok(weft_preemption_set_mode(WEFT_PREEMPTION_OFF)));
  const uint64_t before = preemption_info().klt_switches;
  for (int i = 0; i < 100; ++i) {
    spin_for(milliseconds(1));
    weft_yield();
  }
  EXPECT_EQ(preemption_info().klt_switches, before);
  end = true;
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
}

TEST_F(PreemptMode, OnAndOffManyTimes) {
  std::atomic<bool> end{false};
  Call call([&] {
    while (!end.load(std::memory_order_relaxed)) {
      spin_once();
      weft_cancel_point();
    }
  });
  weft_unit_t unit = call.ult();
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(ok(weft_preemption_set_mode(static_cast<weft_preemption_mode_t>(1 + i % 2))));
    ASSERT_TRUE(ok(weft_preemption_set_interval(100'000 + i * 1000)));
    weft_yield();
    ASSERT_TRUE(ok(weft_preemption_set_mode(WEFT_PREEMPTION_OFF)));
    if (i == 100) end = true;
  }
  EXPECT_TRUE(ok(weft_free(&unit)));
}

TEST_F(PreemptMode, RefusesWhatMakesNoSense) {
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_preemption_set_mode(static_cast<weft_preemption_mode_t>(7))));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_preemption_set_default(WEFT_PREEMPTION_DEFAULT)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_preemption_set_interval(WEFT_PREEMPTION_INTERVAL_MIN - 1)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_preemption_set_interval(WEFT_PREEMPTION_INTERVAL_MAX + 1)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_preemption_info(nullptr)));
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.preemption = static_cast<weft_preemption_t>(9);
  weft_unit_t unit;
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_ult_create([](void*) {}, nullptr, &attr, &unit)));
}

// ---- the paper's deadlock

pthread_mutex_t foreign = PTHREAD_MUTEX_INITIALIZER;
std::atomic<bool> other_runs{false};

// The one worker gets to the other ULT only by preempting this one, with the lock held, however long that takes.
[[gnu::noinline]] void hold_the_foreign_lock() {
  pthread_mutex_lock(&foreign);
  spin_until(other_runs);
  pthread_mutex_unlock(&foreign);
}

[[gnu::noinline]] void wait_for_the_foreign_lock() {
  other_runs = true;
  pthread_mutex_lock(&foreign);
  pthread_mutex_unlock(&foreign);
}

// The same with main as the one that waits, which has a KLT of its own.
void share_a_foreign_lock_with_main() {
  weft_options_t options{};
  options.workers = 1;
  if (weft_initialize(&options) != WEFT_OK || weft_preemption_set_mode(WEFT_PREEMPTION_ON) != WEFT_OK) _exit(1);
  weft_unit_attr_t preempted = WEFT_UNIT_ATTR_INIT;
  preempted.preemption = WEFT_PREEMPTION_SIGNAL_YIELD;
  if (weft_preemption_set_default(WEFT_PREEMPTION_NONE) != WEFT_OK) _exit(1);
  Call holds(hold_the_foreign_lock);
  weft_unit_t unit = holds.ult(&preempted);
  while (pthread_mutex_trylock(&foreign) == 0) {
    pthread_mutex_unlock(&foreign);
    weft_yield();
  }
  wait_for_the_foreign_lock();
  weft_free(&unit);
  _exit(0);
}

void share_a_foreign_lock(weft_preemption_t kind) {
  weft_options_t options{};
  options.workers = 1;
  if (weft_initialize(&options) != WEFT_OK || weft_preemption_set_mode(WEFT_PREEMPTION_ON) != WEFT_OK) _exit(1);
  weft_unit_attr_t preempted = WEFT_UNIT_ATTR_INIT, left_alone = WEFT_UNIT_ATTR_INIT;
  preempted.preemption = kind;
  left_alone.preemption = WEFT_PREEMPTION_NONE;
  Call holds(hold_the_foreign_lock), waits(wait_for_the_foreign_lock);
  weft_unit_t units[] = {holds.ult(&preempted), waits.ult(&left_alone)};
  weft_free_many(2, units);
  _exit(0);
}

TEST(PreemptStuckDeathTest, ALockThatIsSharedWithOneThatIsLeftAloneIsReportedAndGivenBack) {
  if (weft::rt::san::kSignalsComeLate) GTEST_SKIP() << "under ThreadSanitizer who waits in the kernel gets no tick";
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(share_a_foreign_lock(WEFT_PREEMPTION_KLT_SWITCHING), testing::ExitedWithCode(0),
              "stuck: worker 0 has not moved.*wait_for_the_foreign_lock.*hold_the_foreign_lock.*end of dump");
  EXPECT_EXIT(share_a_foreign_lock(WEFT_PREEMPTION_SIGNAL_YIELD), testing::ExitedWithCode(0),
              "stuck: worker 0 has not moved.*wait_for_the_foreign_lock.*hold_the_foreign_lock.*end of dump");
}

TEST(PreemptStuckDeathTest, AlsoWhereWhoWaitsHasAnotherKlt) {
  if (weft::rt::san::kSignalsComeLate) GTEST_SKIP() << "under ThreadSanitizer who waits in the kernel gets no tick";
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(share_a_foreign_lock_with_main(), testing::ExitedWithCode(0),
              "stuck: worker 0 has not moved.*wait_for_the_foreign_lock.*hold_the_foreign_lock.*end of dump");
}

TEST(PreemptUninitialized, IsRefused) {
  weft_preemption_info_t info;
  EXPECT_TRUE(fails(WEFT_ERR_UNINITIALIZED, weft_preemption_set_mode(WEFT_PREEMPTION_ON)));
  EXPECT_TRUE(fails(WEFT_ERR_UNINITIALIZED, weft_preemption_set_default(WEFT_PREEMPTION_NONE)));
  EXPECT_TRUE(fails(WEFT_ERR_UNINITIALIZED, weft_preemption_set_interval(1'000'000)));
  EXPECT_TRUE(fails(WEFT_ERR_UNINITIALIZED, weft_preemption_info(&info)));
}

// Nothing is said where the kernel does not tell.
std::string timers_of_the_process() {
  std::ifstream file("/proc/self/timers");
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(PreemptAgain, InitialiseAndFinaliseWithTicks) {
  setenv("WEFT_PREEMPTION", "on", 1);
  for (int i = 0; i < 30; ++i) {
    weft_options_t options{};
    options.workers = 2;
    ASSERT_TRUE(ok(weft_initialize(&options)));
    EXPECT_EQ(preemption_info().mode, WEFT_PREEMPTION_ON);
    in_ult([] { spin_for(milliseconds(2)); });
    ASSERT_TRUE(ok(weft_finalize()));
    EXPECT_EQ(timers_of_the_process(), "");
  }
  unsetenv("WEFT_PREEMPTION");
}

}  // namespace
