// Workers: created, joined, revived, bound, counted.
#include <dlfcn.h>
#include <sched.h>
#include <time.h>

#include <functional>
#include <set>
#include <thread>
#include <vector>

#include "sanitizer_switch.hpp"
#include "support/runtime_fixture.hpp"
#include "weft/preempt.h"

namespace {

using namespace weft_test;

class ApiWorker : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, ApiWorker, kWorkerCounts);

TEST_P(ApiWorker, IndexAndHandleBelongTogether) {
  std::set<weft_worker_t> seen;
  for (unsigned i = 0; i < workers(); ++i) {
    const weft_worker_t w = weft_worker_get(i);
    ASSERT_NE(w, nullptr);
    EXPECT_EQ(weft_worker_index(w), i);
    EXPECT_TRUE(seen.insert(w).second);
    EXPECT_NE(weft_worker_pool(w), nullptr);
    EXPECT_NE(weft_worker_sched(w), nullptr);
  }
  EXPECT_EQ(weft_worker_get(workers()), nullptr);
  EXPECT_EQ(weft_worker_get(1u << 30), nullptr);
}

TEST_P(ApiWorker, SelfInEachContext) {
  for (unsigned i = 0; i < workers(); ++i) {
    const weft_worker_t w = weft_worker_get(i);
    weft_unit_attr_t attr = default_attr();
    attr.worker = w;
    attr.pinned = true;
    in_ult([&] { EXPECT_EQ(weft_worker_self(), w); }, &attr);
  }
  in_tasklet([] { EXPECT_NE(weft_worker_self(), nullptr); });
  on_klt([] { EXPECT_EQ(weft_worker_self(), nullptr); });
}

TEST_P(ApiWorker, CreateJoinFree) {
  weft_worker_t worker = nullptr;
  ASSERT_TRUE(ok(weft_worker_create(nullptr, &worker)));
  EXPECT_EQ(weft_worker_count(), workers() + 1);
  EXPECT_EQ(weft_worker_get(weft_worker_index(worker)), worker);
  weft_unit_attr_t attr = default_attr();
  attr.worker = worker;
  attr.pinned = true;
  in_ult([&] { EXPECT_EQ(weft_worker_self(), worker); }, &attr);
  EXPECT_TRUE(ok(weft_worker_join(worker)));
  EXPECT_TRUE(ok(weft_worker_free(&worker)));
  EXPECT_EQ(worker, nullptr);
  EXPECT_EQ(weft_worker_count(), workers());
}

TEST_P(ApiWorker, JoinWaitsUntilItsPoolsAreEmpty) {
  SideWorker side;
  const weft_unit_attr_t attr = side.attr();
  std::atomic<int> count = 0;
  Call call([&] {
    weft_yield();
    ++count;
  });
  std::vector<weft_unit_t> units;
  for (int i = 0; i < 500; ++i) {
    units.push_back(call.ult(&attr));
  }
  EXPECT_TRUE(ok(weft_worker_join(side.worker)));
  EXPECT_EQ(count, 500);
  EXPECT_EQ(weft_pool_size(side.pool), 0u);
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
}

uint64_t switches_of_all() {
  uint64_t sum = 0;
  for (unsigned i = 0; i < weft_worker_count(); ++i) {
    weft_worker_stats_t stats{};
    EXPECT_TRUE(ok(weft_worker_stats(weft_worker_get(i), &stats)));
    sum += stats.switches;
  }
  return sum;
}

// Several at once, ULTs and a kernel thread: they sleep, and are woken.
TEST_P(ApiWorker, JoinersAreSuspended) {
  SideWorker side;
  const weft_unit_attr_t attr = side.attr();
  std::atomic<bool> go = false;
  Call keep([&] {
    while (!go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  weft_unit_t kept = keep.ult(&attr);
  Call join([&] { EXPECT_TRUE(ok(weft_worker_join(side.worker))); });
  std::vector<weft_unit_t> joiners;
  for (int i = 0; i < 4; ++i) joiners.push_back(join.ult());
  std::thread klt([&] { EXPECT_TRUE(ok(weft_worker_join(side.worker))); });
  std::atomic<bool> done = false;
  std::atomic<long> turns = 0;
  std::thread watches([&] {  // this thread may be what carries worker 0
    for (weft_unit_t joiner : joiners) {
      while (weft_unit_state(joiner) != WEFT_UNIT_BLOCKED) std::this_thread::yield();
    }
    // Main may be about to leave for one that it has seen ready, and that another worker has run since.
    for (const long seen = turns; turns < seen + 2;) std::this_thread::yield();
    const uint64_t before = switches_of_all();
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    EXPECT_EQ(switches_of_all(), before);
    for (weft_unit_t joiner : joiners) EXPECT_EQ(weft_unit_state(joiner), WEFT_UNIT_BLOCKED);
    go = true;
    done = true;
  });
  for (; !done; ++turns) weft_yield();
  watches.join();
  EXPECT_TRUE(ok(weft_free_many(joiners.size(), joiners.data())));
  klt.join();
  EXPECT_TRUE(ok(weft_free(&kept)));
}

// The last one to go wakes a joiner that may run elsewhere only, time and again.
TEST_P(ApiWorker, JoinedAndRevivedByAUltOfAnotherWorker) {
  SideWorker side, other;
  const weft_unit_attr_t attr = side.attr();
  const weft_unit_attr_t there = other.attr();
  in_ult(
      [&] {
        for (int i = 0; i < 300; ++i) {
          Call call([] { weft_yield(); });
          weft_unit_t unit = call.ult(&attr);
          EXPECT_TRUE(ok(weft_worker_join(side.worker)));
          EXPECT_EQ(weft_worker_self(), other.worker);
          EXPECT_TRUE(ok(weft_worker_revive(side.worker)));
          EXPECT_TRUE(ok(weft_free(&unit)));
        }
      },
      &there);
}

TEST_P(ApiWorker, AJoinedWorkerIsRevived) {
  SideWorker side;
  const weft_unit_attr_t attr = side.attr();
  for (int i = 0; i < 10; ++i) {
    in_ult([&] { EXPECT_EQ(weft_worker_self(), side.worker); }, &attr);
    EXPECT_TRUE(ok(weft_worker_join(side.worker)));
    Call call([&] { EXPECT_EQ(weft_worker_self(), side.worker); });
    weft_unit_t unit = call.ult(&attr);  // waits for the worker
    EXPECT_TRUE(ok(weft_worker_revive(side.worker)));
    EXPECT_TRUE(ok(weft_free(&unit)));
  }
  EXPECT_TRUE(fails(WEFT_ERR_STATE, weft_worker_revive(side.worker)));
}

TEST_P(ApiWorker, CreatedFromAUltAndJoinedFromAKernelThread) {
  weft_unit_attr_t here = default_attr();  // the new worker must not steal what ends it
  here.worker = weft_worker_get(0);
  here.pinned = true;
  weft_worker_t worker = nullptr;
  in_ult([&] { EXPECT_TRUE(ok(weft_worker_create(nullptr, &worker))); }, &here);
  on_klt([&] { EXPECT_TRUE(ok(weft_worker_free(&worker))); });
  on_klt([&] { EXPECT_TRUE(ok(weft_worker_create(nullptr, &worker))); });
  in_ult([&] { EXPECT_TRUE(ok(weft_worker_free(&worker))); }, &here);
}

TEST_P(ApiWorker, ManyCreatedAndFreed) {
  std::atomic<int> count = 0;
  Call call([&] { ++count; });
  for (int round = 0; round < 5; ++round) {
    std::vector<weft_worker_t> extra(8);
    for (auto& w : extra) {
      ASSERT_TRUE(ok(weft_worker_create(nullptr, &w)));
    }
    std::vector<weft_unit_t> units;
    for (auto w : extra) {
      weft_unit_attr_t attr = default_attr();
      attr.worker = w;
      for (int i = 0; i < 20; ++i) {
        units.push_back(call.ult(&attr));
      }
    }
    EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
    for (auto& w : extra) {
      EXPECT_TRUE(ok(weft_worker_free(&w)));
    }
    EXPECT_EQ(weft_worker_count(), workers());
  }
  EXPECT_EQ(count, 5 * 8 * 20);
}

TEST_P(ApiWorker, JoinWhereItIsNotAllowed) {
  SideWorker side;
  const weft_unit_attr_t attr = side.attr();
  in_ult([&] { EXPECT_TRUE(fails(WEFT_ERR_SELF, weft_worker_join(side.worker))); }, &attr);
  EXPECT_NE(weft_worker_join(weft_worker_get(0)), WEFT_OK);  // SELF: we are on it
  in_ult([&] { EXPECT_TRUE(fails(WEFT_ERR_STATE, weft_worker_join(weft_worker_get(0)))); }, &attr);
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_worker_join(nullptr)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_worker_free(nullptr)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_worker_create(nullptr, nullptr)));
}

TEST_P(ApiWorker, BindToACpu) {
  SideWorker side;
  const weft_unit_attr_t attr = side.attr();
  cpu_set_t allowed;  // of the process: a new worker is not bound
  in_ult([&] { EXPECT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0); }, &attr);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) {
      continue;
    }
    EXPECT_TRUE(ok(weft_worker_bind(side.worker, cpu)));
    EXPECT_EQ(weft_worker_cpu(side.worker), cpu);
    in_ult([&] { EXPECT_EQ(sched_getcpu(), cpu); }, &attr);
  }
  EXPECT_TRUE(ok(weft_worker_bind(side.worker, -1)));
  EXPECT_EQ(weft_worker_cpu(side.worker), -1);
  in_ult(
      [&] {
        cpu_set_t now;
        EXPECT_EQ(sched_getaffinity(0, sizeof now, &now), 0);
        EXPECT_TRUE(CPU_EQUAL(&now, &allowed));
      },
      &attr);
  EXPECT_NE(weft_worker_bind(side.worker, 1 << 20), WEFT_OK);
  EXPECT_NE(weft_worker_bind(side.worker, -2), WEFT_OK);
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_worker_bind(nullptr, 0)));
  EXPECT_EQ(weft_worker_cpu(side.worker), -1);
}

TEST_P(ApiWorker, CountersCount) {
  SideWorker side;
  const weft_unit_attr_t attr = side.attr();
  Call call([] {
    for (int i = 0; i < 3; ++i) {
      weft_yield();
    }
  });
  weft_worker_stats_t before{};
  weft_worker_stats_t after{};
  ASSERT_TRUE(ok(weft_worker_stats(side.worker, &before)));
  std::vector<weft_unit_t> units;
  for (int i = 0; i < 100; ++i) {
    units.push_back(call.ult(&attr));
  }
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  ASSERT_TRUE(ok(weft_worker_stats(side.worker, &after)));
  EXPECT_EQ(after.units_run - before.units_run, 100u);
  EXPECT_GE(after.switches - before.switches, 300u);
  EXPECT_GT(after.promotions - before.promotions, 0u);
  EXPECT_GT(after.sleeps, before.sleeps);
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_worker_stats(nullptr, &after)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_worker_stats(side.worker, nullptr)));
}

TEST_P(ApiWorker, FreshChildrenOfAUltAreRunOnItsStack) {
  weft_unit_attr_t pinned = default_attr();
  pinned.worker = weft_worker_get(0);
  pinned.pinned = true;
  weft_unit_attr_t named = default_attr();
  named.name = "child";
  Call call([] {});
  const auto claimed = [] {
    weft_worker_stats_t stats{};
    EXPECT_TRUE(ok(weft_worker_stats(weft_worker_get(0), &stats)));
    return stats.units_claimed;
  };
  const uint64_t before = claimed();
  const auto join_children = [&] {
    in_ult(
        [&] {
          for (int i = 0; i < 100; ++i) {
            weft_unit_t u = call.ult(i % 2 == 0 ? &named : nullptr);
            if (i % 3 == 0) {
              EXPECT_NE(weft_unit_id(u), 0u);
            }
            EXPECT_TRUE(ok(weft_free(&u)));
          }
        },
        &pinned);
  };
  join_children();
  if (workers() == 1) {
    EXPECT_EQ(claimed() - before, 100u);
    return;
  }
  // Thieves may have been faster each time.
  EXPECT_TRUE(wait_until([&] {
    if (claimed() != before) return true;
    join_children();
    return false;
  }));
}

TEST_P(ApiWorker, IdleWorkersSleep) {
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  timespec t0{};
  timespec t1{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t0);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t1);
  const double cpu = static_cast<double>(t1.tv_sec - t0.tv_sec) +
                     1e-9 * static_cast<double>(t1.tv_nsec - t0.tv_nsec);
  EXPECT_LT(cpu, 0.015);
}

TEST_P(ApiWorker, AllWorkersTakePart) {
  std::atomic<unsigned> arrived = 0;
  Call call([&] {
    ++arrived;
    while (arrived < workers()) {  // holds its worker: only passes when each one runs one
    }
  });
  std::vector<weft_unit_t> units;
  for (unsigned i = 0; i < workers(); ++i) {
    units.push_back(call.ult());
  }
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
}

// One worker, on which nearly each call is interrupted.
void initialize_preempted() {
  weft_options_t options{};
  options.workers = 1;
  ASSERT_TRUE(ok(weft_initialize(&options)));
  ASSERT_TRUE(ok(weft_preemption_set_interval(WEFT_PREEMPTION_INTERVAL_MIN)));
  ASSERT_TRUE(ok(weft_preemption_set_default(WEFT_PREEMPTION_KLT_SWITCHING)));
  ASSERT_TRUE(ok(weft_preemption_set_mode(WEFT_PREEMPTION_ON)));
}

// The C library wants the loader's lock for a thread; who has it was preempted, and has no other worker.
void while_a_library_is_loaded_on_the_same_worker(const std::function<void()>& step, weft_preemption_t kind = WEFT_PREEMPTION_DEFAULT) {
  ASSERT_NO_FATAL_FAILURE(initialize_preempted());
  std::atomic<bool> over = false;
  Call loads([&] {
    while (!over) {
      void* const library = dlopen("libBrokenLocale.so.1", RTLD_NOW);  // a small one of the C library's
      EXPECT_NE(library, nullptr) << dlerror();
      if (library != nullptr) dlclose(library);
      weft_yield();
    }
  });
  Call steps([&] {
    for (int i = 0; i < 100; ++i) step();
    over = true;
  });
  weft_unit_attr_t attr = default_attr();
  attr.worker = weft_worker_get(0);
  attr.pinned = true;
  std::vector<weft_unit_t> units{loads.ult(&attr)};
  attr.preemption = kind;
  units.push_back(steps.ult(&attr));
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  EXPECT_TRUE(ok(weft_preemption_set_mode(WEFT_PREEMPTION_OFF)));
  EXPECT_TRUE(ok(weft_finalize()));
}

void make_and_free_a_worker() {
  weft_worker_t worker = nullptr;
  EXPECT_TRUE(ok(weft_worker_create(nullptr, &worker)));
  EXPECT_TRUE(ok(weft_worker_free(&worker)));
}

TEST(ApiWorkerPreempted, IsMadeWhileALibraryIsLoadedOnTheSameWorker) {
  while_a_library_is_loaded_on_the_same_worker(make_and_free_a_worker);
}

// Who was preempted before that has the lock still.
TEST(ApiWorkerPreempted, IsMadeAndRevivedWithoutTicksWhileALibraryIsLoadedOnTheSameWorker) {
  while_a_library_is_loaded_on_the_same_worker([] {
    EXPECT_TRUE(ok(weft_preemption_set_mode(WEFT_PREEMPTION_OFF)));
    weft_worker_t workers[5] = {};  // more than there are spares
    for (weft_worker_t& worker : workers) EXPECT_TRUE(ok(weft_worker_create(nullptr, &worker)));
    for (weft_worker_t worker : workers) EXPECT_TRUE(ok(weft_worker_join(worker)));
    for (weft_worker_t worker : workers) EXPECT_TRUE(ok(weft_worker_revive(worker)));
    for (weft_worker_t& worker : workers) EXPECT_TRUE(ok(weft_worker_free(&worker)));
    EXPECT_TRUE(ok(weft_preemption_set_mode(WEFT_PREEMPTION_ON)));
    weft_yield();
  });
}

// Scouts are threads, too. A worker is made and freed in a section, where nobody may wait for malloc's lock.
TEST(ApiWorkerPreempted, ModeChangesWhileALibraryIsLoadedOnTheSameWorker) {
  while_a_library_is_loaded_on_the_same_worker([] {
    EXPECT_TRUE(ok(weft_blocking_set_mode(WEFT_BLOCKING_ON)));
    make_and_free_a_worker();
    EXPECT_TRUE(ok(weft_blocking_set_mode(WEFT_BLOCKING_OFF)));
    weft_yield();
  });
}

// One that is not preempted waits for the lock, in the kernel, and who makes spares as well.
TEST(ApiWorkerPreempted, BlocksWhereOthersWerePreemptedAsTheyMadeThreads) {
  for (const weft_blocking_mode_t mode : {WEFT_BLOCKING_AUTO, WEFT_BLOCKING_ON}) {
    ASSERT_NO_FATAL_FAILURE(initialize_preempted());
    ASSERT_TRUE(ok(weft_blocking_set_mode(mode)));
    Call makes_threads([] {
      for (int i = 0; i < 600; ++i) {
        std::thread([] {}).join();
        weft_yield();
      }
    });
    weft_unit_attr_t attr = default_attr();
    std::vector<weft_unit_t> units;
    for (int i = 0; i < 8; ++i) {
      attr.preemption = i % 4 == 0 ? WEFT_PREEMPTION_NONE : WEFT_PREEMPTION_KLT_SWITCHING;
      units.push_back(makes_threads.ult(&attr));
    }
    EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
    EXPECT_TRUE(ok(weft_finalize()));
  }
}

// The same, for a thread that Weft needs.
TEST(ApiWorkerPreempted, WaitsForAnIdentityWhileALibraryIsLoadedOnTheSameWorker) {
  if (const char* why = weft::rt::san::no_identities()) GTEST_SKIP() << why;
  std::vector<weft_unit_t> units;
  Call nothing([] {});
  while_a_library_is_loaded_on_the_same_worker(
      [&] {
        weft_unit_attr_t attr = default_attr();
        attr.identity = WEFT_IDENTITY_OWN;
        units.push_back(nothing.ult(&attr));
        weft_yield();
        if (units.size() == 100) {
          EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
        }
      },
      WEFT_PREEMPTION_NONE);
}

}  // namespace
