// fork() while everything is in motion: other ULTs and threads are inside Weft at every possible moment,
// workers change their KLTs, and each child uses all that its parent was using.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "klt/hand_over.hpp"
#include "klt/process_gate.hpp"
#include "sanitizer_switch.hpp"
#include "support/forked_child.hpp"

namespace {

using namespace weft_test;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kForks = 40;
#else
constexpr int kForks = 300;
#endif

struct Shared {
  weft_mutex_t mutex = WEFT_MUTEX_INIT;
  weft_cond_t cond = WEFT_COND_INIT;
  weft_event_t event = WEFT_EVENT_INIT;
  weft_barrier_t barrier = WEFT_BARRIER_INIT(2);
  weft_pool_t pools[2] = {};
  long under_mutex = 0;
  std::atomic<bool> stop{false};
};

// Some of everything; ends soon.
void motion(Shared& s, unsigned seed) {
  switch (seed % 6) {
    case 0: {
      weft_mutex_lock(&s.mutex);
      ++s.under_mutex;
      if (seed % 4 == 0) weft_yield();
      weft_mutex_unlock(&s.mutex);
      break;
    }
    case 1: {
      Call call([] { weft_yield(); });
      weft_unit_t unit = call.ult();
      weft_free(&unit);
      break;
    }
    case 2: {
      Call call([] {});
      weft_unit_attr_t attr = default_attr();
      attr.pool = s.pools[seed % 2];
      if (seed % 3 == 0) attr.technique = WEFT_TECHNIQUE_SS;
      weft_unit_t unit = call.ult(&attr);
      weft_free(&unit);
      break;
    }
    case 3: weft_event_set(&s.event); break;
    case 4: weft_event_reset(&s.event); break;
    default: weft_mutex_lock(&s.mutex); weft_cond_broadcast(&s.cond); weft_mutex_unlock(&s.mutex);
  }
}

void in_motion(Shared& s, unsigned seed) {
  std::mt19937 random(seed);
  while (!s.stop) motion(s, random());
}

// In the child: everything that nobody else holds can be used.
void use(Shared& s) {
  if (!kChildMayStartThreads) weft::rt::set_hand_over_hook(nullptr);
  for (unsigned i = 0; i < 12; ++i) {
    if (i % 6 != 2) {
      const bool mutex = i % 6 == 0 || i % 6 == 5;
      if (mutex && weft_mutex_trylock(&s.mutex) != WEFT_OK) continue;
      if (mutex) weft_mutex_unlock(&s.mutex);
      motion(s, i);
    }
  }
  for (weft_pool_t pool : s.pools) CHILD_CHECK(weft_pool_size(pool) == 0);
  s.barrier = WEFT_BARRIER_INIT(2);
  Call call([&] { CHILD_OK(weft_barrier_wait(&s.barrier, nullptr)); });
  weft_unit_t units[2] = {call.ult(), call.ult()};
  CHILD_OK(weft_free_many(2, units));
  weft_worker_t worker = nullptr;
  if (kChildMayStartThreads) CHILD_OK(weft_worker_create(nullptr, &worker));
  in_ult([] { weft_yield(); });
  if (kChildMayStartThreads) CHILD_OK(weft_worker_free(&worker));
  CHILD_OK(weft_finalize());
}

class ProcessStress : public WorkersTest {
 protected:
  void SetUp() override {
    WorkersTest::SetUp();
    for (weft_pool_t& pool : shared.pools) {
      ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &pool)));
    }
    ASSERT_TRUE(ok(weft_sched_create(WEFT_SCHED_BASIC, 2, shared.pools, &sched)));
    ASSERT_TRUE(ok(weft_worker_create(sched, &worker)));
    for (unsigned i = 0; i < 6; ++i) {
      calls.push_back(std::make_unique<Call>([this, i] { in_motion(shared, i); }));
      units.push_back(calls.back()->ult());
    }
    for (unsigned i = 0; i < 2; ++i) {
      threads.push_back(std::make_unique<SteadyThread>([this, i] { in_motion(shared, 100 + i); }));
    }
  }
  void TearDown() override {
    shared.stop = true;
    threads.clear();
    EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
    EXPECT_TRUE(ok(weft_worker_free(&worker)));
    EXPECT_TRUE(ok(weft_sched_free(&sched)));
    for (weft_pool_t& pool : shared.pools) EXPECT_TRUE(ok(weft_pool_free(&pool)));
    WorkersTest::TearDown();
  }
  void fork_once() {
    EXPECT_EQ(run_in_child([this] { use(shared); }), 0);
  }

  Shared shared;
  weft_sched_t sched = nullptr;
  weft_worker_t worker = nullptr;
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  std::vector<std::unique_ptr<SteadyThread>> threads;
};
INSTANTIATE_TEST_SUITE_P(Workers, ProcessStress, testing::Values(1u, 3u));

TEST_P(ProcessStress, FromUltsEverywhere) {
  weft_unit_attr_t attr = default_attr();
  for (int i = 0; i < kForks && !HasFailure(); ++i) {
    attr.technique = static_cast<weft_technique_t>(i % 5);
    in_ult([&] { fork_once(); }, &attr);
    fork_once();
  }
}

TEST_P(ProcessStress, FromThreads) {
  on_klt([&] {
    for (int i = 0; i < kForks && !HasFailure(); ++i) {
      EXPECT_EQ(run_in_child([this] {
        CHILD_CHECK(!weft_initialized());
        weft_options_t options{};
        options.workers = kChildWorkers;
        CHILD_OK(weft_initialize(&options));
        use(shared);
      }), 0);
    }
  });
}

// Several at once, when all are there: whoever makes them allocates.
TEST_P(ProcessStress, FromSeveralAtOnce) {
  std::vector<std::unique_ptr<Call>> forkers;
  std::vector<weft_unit_t> all;
  std::atomic<bool> go{false};
  for (int i = 0; i < 4; ++i) {
    forkers.push_back(std::make_unique<Call>([&] {
      while (!go) weft_yield();
      for (int j = 0; j < kForks / 4; ++j) {
        fork_once();
        weft_yield();
      }
    }));
    all.push_back(forkers.back()->ult());
  }
  SteadyThread thread([&] {
    while (!go) std::this_thread::yield();
    for (int j = 0; j < kForks / 4; ++j) EXPECT_EQ(run_in_child([] {}), 0);
  });
  go = true;
  EXPECT_TRUE(ok(weft_free_many(all.size(), all.data())));
  thread.join();
}

std::atomic<unsigned> asked{0};

// At every tenth lowering of a guard the worker gets another KLT.
TEST_P(ProcessStress, DuringHandOvers) {
  weft::rt::set_hand_over_hook([] { return asked.fetch_add(1, std::memory_order_relaxed) % 10 == 0; });
  weft_unit_attr_t attr = default_attr();
  for (int i = 0; i < kForks / 2 && !HasFailure(); ++i) {
    attr.technique = static_cast<weft_technique_t>(i % 5);
    in_ult([&] { fork_once(); }, &attr);
    fork_once();
  }
  weft::rt::set_hand_over_hook(nullptr);
}

// Each KLT that another thread makes ends at once: some are only starting, some on their way out.
TEST_P(ProcessStress, WhileKltsComeAndGo) {
  weft::rt::klt_set_spare_limit(0);
  std::atomic<bool> stop{false};
  SteadyThread maker([&] {
    while (!stop) {
      weft::rt::gate_enter();
      if (weft::rt::klt_spares_coming() < 8) weft::rt::klt_start_spare([] {});
      weft::rt::gate_leave();
    }
  });
  for (int i = 0; i < kForks / 2 && !HasFailure(); ++i) fork_once();
  stop = true;
  maker.join();
}

// A worker is taken from a KLT while that is in fork(), and just before.
TEST_P(ProcessStress, FromAUltWhoseWorkerIsTaken) {
  std::atomic<bool> stop{false};
  SteadyThread taker([&] {
    while (!stop) {
      for (unsigned i = 0; i < 4; ++i) {
        if (weft_worker_t victim = weft_worker_get(i)) {
          weft::rt::gate_enter();
          static_cast<void>(weft::rt::take_worker(reinterpret_cast<weft::rt::Worker*>(victim)));
          weft::rt::gate_leave();
        }
      }
      std::this_thread::yield();
    }
  });
  for (int i = 0; i < kForks / 4 && !HasFailure(); ++i) in_ult([&] { fork_once(); });
  stop = true;
  taker.join();
}

// Of sizes that malloc has to ask the kernel for: there, with the lock of its arena, a ULT is preempted most of the time.
void allocate(const std::atomic<bool>& stop, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::unique_ptr<char[]>> pieces(64);
  while (!stop) pieces[random() % pieces.size()] = std::make_unique<char[]>(2000 + random() % 60'000);
}

class AllocationStress : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, AllocationStress, testing::Values(1u, 2u, 4u));

// The C library takes all of malloc's locks before it forks, and ULTs that are preempted have some.
TEST_P(AllocationStress, AUltForks) {
  if (!weft::rt::san::kAllocatorKnowsFork) GTEST_SKIP() << "this allocator's locks stay taken in the child";
  ASSERT_TRUE(ok(weft_preemption_set_interval(100'000)));
  ASSERT_TRUE(ok(weft_preemption_set_mode(WEFT_PREEMPTION_ON)));
  std::atomic<bool> stop{false};
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  for (unsigned i = 0; i < 6; ++i) {
    calls.push_back(std::make_unique<Call>([&stop, i] { allocate(stop, i); }));
    units.push_back(calls.back()->ult());
  }
  for (int i = 0; i < kForks / 6 && !HasFailure(); ++i) {
    in_ult([] {
      const pid_t child = fork();
      if (child == 0) {
        const auto piece = std::make_unique<char[]>(50'000);
        _exit(piece == nullptr);
      }
      int status = -1;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      ASSERT_EQ(status, 0);
    });
  }
  stop = true;
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
}

}  // namespace
