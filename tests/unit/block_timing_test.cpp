// What awareness of blocking costs beside a ULT that computes, on a core that nobody else wants.
#include <pthread.h>
#include <sched.h>
#include <sys/utsname.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "sanitizer_switch.hpp"
#include "support/blocking.hpp"

namespace {

using namespace weft_test;

class BlockingAlone : public AwareTest {};
INSTANTIATE_TEST_SUITE_P(All, BlockingAlone,
                         testing::Values(Awareness{WEFT_BLOCKING_AUTO, "bpf", 1}, Awareness{WEFT_BLOCKING_ON, "bpf", 1},
                                         Awareness{WEFT_BLOCKING_AUTO, "perf", 1}, Awareness{WEFT_BLOCKING_ON, "perf", 1},
                                         Awareness{WEFT_BLOCKING_AUTO, "proc", 1}, Awareness{WEFT_BLOCKING_ON, "proc", 1}),
                         name_of);

TEST_P(BlockingAlone, TheScoutLeavesAComputingCarrierAlone) {
  if (weft::rt::san::kSignalsComeLate) return;
  Call other([] {});
  weft_unit_t waits = nullptr;
  const uint64_t before = blocking_info().looks;
  waits = other.ult();
  const uint64_t end = weft_after(500'000'000);
  while (weft_now() < end) asm volatile("");
  EXPECT_LE(blocking_info().looks - before, 100u);  // 200 a second
  EXPECT_TRUE(ok(weft_free(&waits)));
}

// A thread of that policy, which an unprivileged process cannot take back, holds up the end of the process where others keep the
// cores busy.
int idle_threads() {
  int idle = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    idle += sched_getscheduler(std::stoi(task.path().filename())) == SCHED_IDLE;
  }
  return idle;
}

TEST_P(BlockingAlone, NoThreadIsIdleBeforeUnitsBlockOften) {
  if (sched_getscheduler(0) == SCHED_IDLE) GTEST_SKIP() << "all threads of this process have that policy";
  const auto blocks_while_another_waits = [] {
    Pipe pipe;
    Call blocks([&] { pipe.get(); }), runs([&] { pipe.put(); });
    weft_unit_t units[] = {blocks.ult(), runs.ult()};
    EXPECT_TRUE(ok(weft_free_many(2, units)));
  };
  if (GetParam().mode == WEFT_BLOCKING_AUTO) {
    Call other([] {});
    weft_unit_t waits = other.ult();
    const uint64_t end = weft_after(100'000'000);
    while (weft_now() < end) asm volatile("");
    EXPECT_TRUE(ok(weft_free(&waits)));
    blocks_while_another_waits();
    EXPECT_EQ(idle_threads(), 0);
  }
  EXPECT_TRUE(wait_until([&] {
    blocks_while_another_waits();
    return idle_threads() == 1;
  }));
}

// Two threads that always compute have the core of the only worker, too. The scout, under SCHED_IDLE, would look once in a second.
TEST_P(BlockingAlone, BesideOthersWhoKeepTheCoreBusy) {
  utsname kernel;
  int major = 0, minor = 0;
  if (uname(&kernel) != 0 || std::sscanf(kernel.release, "%d.%d", &major, &minor) != 2 || 100 * major + minor < 612) {
    GTEST_SKIP() << "before Linux 6.12 a thread cannot choose its slice";
  }
  constexpr size_t kRounds = 11;
  std::atomic<bool> done{false};
  cpu_set_t core;
  ASSERT_EQ(sched_getaffinity(0, sizeof core, &core), 0);  // the worker's: it is bound, and this is its primary ULT
  std::vector<std::thread> others;
  for (int i = 0; i < 2; ++i) {
    others.emplace_back([&] {
      EXPECT_EQ(pthread_setaffinity_np(pthread_self(), sizeof core, &core), 0);
      while (!done.load(std::memory_order_relaxed)) asm volatile("");
    });
  }
  std::vector<uint64_t> times;
  for (size_t round = 0; round < kRounds; ++round) {
    Pipe pipe;
    std::atomic<uint64_t> blocks_at{0};
    Call blocks([&] {
      blocks_at = weft_now();
      pipe.get();
    });
    Call runs([&] {
      times.push_back(weft_now() - blocks_at);
      pipe.put();
    });
    weft_unit_t units[] = {blocks.ult(), runs.ult()};
    EXPECT_TRUE(ok(weft_free_many(2, units)));
  }
  done.store(true, std::memory_order_relaxed);
  for (std::thread& other : others) other.join();
  ASSERT_EQ(times.size(), kRounds);
  std::sort(times.begin(), times.end());
  RecordProperty("median_us", std::to_string(times[kRounds / 2] / 1000));
  EXPECT_LT(times[kRounds / 2], 300'000'000u);
}

// What comes back without a worker, and computes, has the core of one that has.
uint64_t oversubscribed_each(int moments) {
  const weft_blocking_info_t info = who_comes_back_and_spins(
      [](const std::atomic<bool>& done) {
        while (!done.load(std::memory_order_relaxed)) asm volatile("");
      },
      moments);
  return info.oversubscribed_ns / (info.returns + 1);
}

TEST_P(BlockingAlone, WhoComesBackIsStoppedSoon) {
  if (weft::rt::san::kSignalsComeLate) return;
  EXPECT_LT(oversubscribed_each(0), 5'000'000u);
}

TEST_P(BlockingAlone, WhoHasComeBackForMomentsIsStoppedSoon) {
  if (weft::rt::san::kSignalsComeLate) return;
  EXPECT_LT(oversubscribed_each(200), 50'000'000u);
}

// Ten ULTs compute for longer than the shortest grace after each read, and never come to Weft by themselves. Where each
// stop finds that the worker's carrier sleeps as well, the graces grow.
TEST_P(BlockingAlone, WhoIsInNobodysWayIsSeldomStopped) {
  if (weft::rt::san::kSignalsComeLate) return;
  constexpr int kUlts = 10, kRounds = 100;
  const uint64_t before = blocking_info().stopped;
  std::vector<Pipe> questions(kUlts), answers(kUlts);
  std::thread answerer([&] {
    for (int round = 0; round < kRounds; ++round) {
      for (int i = 0; i < kUlts; ++i) {
        questions[static_cast<size_t>(i)].get();
        answers[static_cast<size_t>(i)].put();
      }
    }
  });
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  for (size_t i = 0; i < kUlts; ++i) {
    calls.push_back(std::make_unique<Call>([&, i] {
      for (int round = 0; round < kRounds; ++round) {
        questions[i].put();
        answers[i].get();
        const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(200);
        while (std::chrono::steady_clock::now() < end) asm volatile("");
      }
    }));
    units.push_back(calls.back()->ult());
  }
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  answerer.join();
  EXPECT_EQ(blocking_info().in_kernel, 0u);
  EXPECT_LE(blocking_info().stopped - before, static_cast<uint64_t>(kUlts * kRounds) * 3 / 4);
}

}  // namespace
