// Random hand-overs at every lowering of the guard, and workers taken from KLTs that block, with work
// in flight. What the program can see of its thread must not change.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "klt/hand_over.hpp"
#include "weft/weft.h"
#include "weft/weft.hpp"
#include "worker/runtime.hpp"
#include "worker/worker.hpp"

namespace {

using weft::rt::runtime;

// How many hand-overs a test makes; sanitizers are an order of magnitude slower.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kHandOvers = 20'000;
#else
constexpr uint64_t kHandOvers = WEFT_DEBUG ? 250'000 : 1'000'000;
#endif

thread_local int tls_mark = 0;
std::atomic<uint32_t> seed{1};
std::atomic<uint32_t> one_in{8};

bool random_hook() {
  uint32_t x = seed.fetch_add(0x9e3779b9u, std::memory_order_relaxed);
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  x ^= x >> 16;
  return x % one_in.load(std::memory_order_relaxed) == 0;
}

uint64_t total_handovers() {
  uint64_t sum = 0;
  for (unsigned i = 0; i < weft_worker_count(); ++i) {
    weft_worker_stats_t stats;
    if (weft_worker_stats(weft_worker_get(i), &stats) == WEFT_OK) sum += stats.handovers;
  }
  return sum;
}

struct Identity {
  long tid = syscall(SYS_gettid);
  pthread_t self = pthread_self();
  int* tls = &tls_mark;
  bool operator==(const Identity&) const = default;
};

class HandOver : public ::testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override {
    weft_options_t options = {};
    options.workers = GetParam();
    ASSERT_EQ(weft_initialize(&options), WEFT_OK);
    weft::rt::klt_set_spare_limit(64);
  }
  void TearDown() override {
    weft::rt::set_hand_over_hook(nullptr);
    ASSERT_EQ(weft_finalize(), WEFT_OK);
  }
};

std::atomic<uint64_t> ran{0};
void bump(void*) { ran.fetch_add(1); }
void yielding(void*) {
  weft_yield();
  ran.fetch_add(1);
  weft_yield();
}

long fib(long n) {
  if (n < 2) return n;
  auto [a, b] = weft::fork_join([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
  return a + b;
}

// One round of everything: returns the number of units whose functions must have run.
uint64_t one_round() {
  constexpr size_t kUnits = 24;
  weft_unit_t units[kUnits];
  for (size_t i = 0; i < kUnits; ++i) {
    EXPECT_EQ(i % 3 == 0 ? weft_tasklet_create(bump, nullptr, nullptr, &units[i])
                         : weft_ult_create(i % 3 == 1 ? bump : yielding, nullptr, nullptr, &units[i]),
              WEFT_OK);
  }
  weft_yield();
  EXPECT_EQ(fib(8), 21);
  for (auto& unit : units) EXPECT_EQ(weft_free(&unit), WEFT_OK);
  return kUnits;
}

TEST_P(HandOver, AtEveryGuardExit) {
  tls_mark = 42;
  const Identity before;
  ran = 0;
  uint64_t expected = 0;
  weft::rt::set_hand_over_hook(random_hook);
  while (total_handovers() < kHandOvers) {
    expected += one_round();
    ASSERT_EQ(Identity(), before);
    ASSERT_EQ(tls_mark, 42);
    ASSERT_EQ(ran.load(), expected);
  }
  weft::rt::set_hand_over_hook(nullptr);
  EXPECT_EQ(Identity(), before);
}

void block_a_little(void*) {
  const timespec t{0, 200'000};
  nanosleep(&t, nullptr);
  ran.fetch_add(1);
}

// A thread that plays the part of a reason: takes the worker of whoever blocks.
void take_from_blocked(const std::atomic<bool>* stop, std::atomic<uint64_t>* taken) {
  while (!stop->load()) {
    for (unsigned i = 0; i < runtime.worker_slots.load(); ++i) {
      weft::rt::Worker* worker = runtime.workers[i].load();
      if (worker != nullptr && weft::rt::take_worker(worker)) taken->fetch_add(1);
    }
    const timespec t{0, 50'000};
    nanosleep(&t, nullptr);
  }
}

TEST_P(HandOver, TakenWhileBlockedInTheKernel) {
  tls_mark = 43;
  const Identity before;
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> taken{0};
  std::thread taker(take_from_blocked, &stop, &taken);
  ran = 0;
  uint64_t expected = 0;
  for (int round = 0; round < 300; ++round) {
    weft_unit_t units[16];
    for (size_t i = 0; i < 16; ++i) {
      ASSERT_EQ(weft_ult_create(i % 2 == 0 ? block_a_little : yielding, nullptr, nullptr, &units[i]),
                WEFT_OK);
    }
    expected += 16;
    if (round % 8 == 0) block_a_little(nullptr), ++expected;
    for (auto& unit : units) ASSERT_EQ(weft_free(&unit), WEFT_OK);
    ASSERT_EQ(Identity(), before);
    ASSERT_EQ(ran.load(), expected);
  }
  stop = true;
  taker.join();
  EXPECT_GT(taken.load(), 100u);
  EXPECT_EQ(Identity(), before);
}

TEST_P(HandOver, BothAtOnce) {
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> taken{0};
  std::thread taker(take_from_blocked, &stop, &taken);
  one_in = 16;
  weft::rt::set_hand_over_hook(random_hook);
  ran = 0;
  uint64_t expected = 0;
  for (int round = 0; round < 300; ++round) {
    expected += one_round();
    ASSERT_EQ(ran.load(), expected);
  }
  weft::rt::set_hand_over_hook(nullptr);
  stop = true;
  taker.join();
  one_in = 8;
}

INSTANTIATE_TEST_SUITE_P(Workers, HandOver, ::testing::Values(1u, 2u, 4u));

}  // namespace
