// Workers that are not bound, and the CPUs where they are at home.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include "home.hpp"
#include "os/proc_file.hpp"
#include "runtime.hpp"
#include "team.hpp"
#include "weft/weft.h"

namespace {

using namespace weft::omp;

int cpu_now() {
  unsigned cpu = 0;
  syscall(SYS_getcpu, &cpu, nullptr, nullptr);
  return static_cast<int>(cpu);
}

struct Trip {
  int other;  // CPU
  int waits = 0;  // so often before it goes on
  int after = -1;
  bool free = false;  // the affinity is what it was
};

// As the kernel does it to a worker that it wakes beside its waker.
void go_away_and_home(void* arg) {
  Trip& trip = *static_cast<Trip*>(arg);
  cpu_set_t all, one;
  sched_getaffinity(0, sizeof all, &all);
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(trip.other), &one);
  sched_setaffinity(0, sizeof one, &one);
  sched_setaffinity(0, sizeof all, &all);
  for (int i = 0; i < trip.waits; ++i) go_home(true);
  if (trip.waits == 0) go_home(false);
  trip.after = cpu_now();
  sched_getaffinity(0, sizeof one, &one);
  trip.free = CPU_EQUAL(&one, &all) != 0;
}

Trip send(unsigned worker, int other, int waits = 0) {
  Trip trip{other, waits};
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.worker = weft_worker_get(worker);
  attr.pinned = true;
  weft_unit_t unit = nullptr;
  EXPECT_EQ(weft_ult_create(go_away_and_home, &trip, &attr, &unit), WEFT_OK);
  weft_join(unit);
  weft_free(&unit);
  EXPECT_TRUE(trip.free);
  return trip;
}

TEST(OmpHome, AWorkerAtTheHomeOfAnotherGoesToItsOwn) {
  this_thread();
  std::set<int> cpus;
  for (int i = 0; i < worker_count(); ++i) cpus.insert(home_of(static_cast<unsigned>(i)));
  if (cpus.size() < 2) GTEST_SKIP() << "one CPU, or the workers are bound";
  EXPECT_EQ(cpus.size(), static_cast<size_t>(worker_count()));
  bool came = false;
  // The kernel may move it at any moment, and the machine have something else to run: once is enough. Where it has that all the time the worker stays,
  // and that for 10 ms after it has been seen.
  constexpr int kTries = 200, kFair = 20, kLooksWithRoom = 3;
  int fair = 0, room = 0;
  for (int i = 0; i < kTries && !came; ++i) {
    room = weft::rt::runnable_threads() < weft::rt::online_cpus() ? room + 1 : 0;  // one for us, one for the worker
    fair += room >= kLooksWithRoom;
    came = send(1, home_of(0)).after == home_of(1);
    if (!came) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (!came && fair < kFair) GTEST_SKIP() << "others keep all CPUs busy: " << fair << " times of " << kTries << " there was room";
  EXPECT_TRUE(came);
  EXPECT_EQ(home_of(100000), -1);
}

TEST(OmpHome, WhereEachCpuHasSomebodyToRunAWorkerStays) {
  this_thread();
  if (home_of(0) < 0 || home_of(1) < 0 || home_of(0) == home_of(1)) GTEST_SKIP() << "one CPU, or the workers are bound";
  std::atomic<bool> over{false};
  std::vector<std::thread> others;
  for (unsigned i = 0; i <= std::thread::hardware_concurrency(); ++i) {
    others.emplace_back([&] {
      while (!over) {
      }
    });
  }
  bool stayed = false;
  for (int i = 0; i < 20 && !stayed; ++i) {
    stayed = send(1, home_of(0)).after == home_of(0);
  }
  EXPECT_TRUE(stayed);
  // Who does little else than to wait goes home all the same.
  bool came = false;
  for (int i = 0; i < 200 && !came; ++i) came = send(1, home_of(0), 100).after == home_of(1);
  over = true;
  for (std::thread& other : others) other.join();
  EXPECT_TRUE(came);
}

// It is at home where the kernel has moved it, and the other one where it was.
TEST(OmpHome, TheFirstWorkerStaysAtTheHomeOfAnother) {
  this_thread();
  const int first = home_of(0), second = home_of(1);
  if (first < 0 || second < 0 || first == second) GTEST_SKIP() << "one CPU, or the workers are bound";
  bool changed = false;
  for (int i = 0; i < 20 && !changed; ++i) {
    homes_give(first);  // both are there, as far as anyone knows
    send(0, home_of(1));
    changed = home_of(0) == second;
    EXPECT_EQ(home_of(1), changed ? first : second);
  }
  EXPECT_TRUE(changed);
  homes_give(first);
}

TEST(OmpHome, TheFirstWorkersIsWhereTheProgramsFirstThreadIs) {
  this_thread();
  const int before = home_of(0);
  if (before < 0) GTEST_SKIP() << "the workers are bound";
  cpu_set_t all;
  sched_getaffinity(0, sizeof all, &all);
  const size_t count = std::min(static_cast<size_t>(CPU_COUNT(&all)), static_cast<size_t>(worker_count()));
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(static_cast<size_t>(cpu), &all)) continue;
    homes_give(cpu);
    EXPECT_EQ(home_of(0), cpu);
    std::set<int> cpus;
    for (int i = 0; i < worker_count(); ++i) cpus.insert(home_of(static_cast<unsigned>(i)));
    EXPECT_EQ(cpus.size(), count) << "each at another one, as far as they go";
  }
  homes_give(-1);
  EXPECT_TRUE(CPU_ISSET(static_cast<size_t>(home_of(0)), &all));
  homes_give(before);
}

}  // namespace
