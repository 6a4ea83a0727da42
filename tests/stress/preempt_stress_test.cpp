// Random programs with ticks of 100 µs to 200 µs, from each worker's timer or one for all: computing, locking, allocating,
// spawning, cancelling, sleeping, preempted in every way, mixed in one program. What they compute has to be right, and all of it
// has to end.
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "support/preempting.hpp"
#include "weft/fork_join.hpp"

namespace {

using namespace weft_test;

struct Shared {
  weft_mutex_t mutex = WEFT_MUTEX_INIT;
  long counted = 0;  // under mutex
  std::mutex foreign;
  long counted_foreign = 0;  // under foreign
  std::atomic<long> expected{0}, expected_foreign{0};
};

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  unsigned below(unsigned limit) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<unsigned>(state_ >> 33) % limit;
  }

 private:
  uint64_t state_;
};

struct Part {
  Shared* shared;
  uint64_t seed;
  unsigned depth;
  weft_preemption_t kind;
};

void compute(Random& random) {
  const unsigned steps = random.below(20'000);
  for (unsigned i = 0; i < steps; ++i) asm volatile("");
  spin_once();
}

void lock_ours(Shared& shared, Random& random) {
  weft_mutex_lock(&shared.mutex);
  const long before = shared.counted;
  if (random.below(4) == 0) compute(random);
  shared.counted = before + 1;
  weft_mutex_unlock(&shared.mutex);
  shared.expected.fetch_add(1, std::memory_order_relaxed);
}

void lock_foreign(Shared& shared, Random& random) {
  if (weft::rt::san::kSignalsComeLate) return;  // who waits there is not preempted, and could wait for a captured one
  const std::lock_guard hold(shared.foreign);
  const long before = shared.counted_foreign;
  if (random.below(4) == 0) compute(random);
  shared.counted_foreign = before + 1;
  shared.expected_foreign.fetch_add(1, std::memory_order_relaxed);
}

void allocate(Random& random) {
  void* volatile blocks[8];
  for (auto& block : blocks) block = std::malloc(1 + random.below(20'000));
  for (auto& block : blocks) std::free(block);
}

// Computes until it is cancelled.
void endless(void*) {
  for (;;) {
    for (int i = 0; i < 1000; ++i) asm volatile("");
    weft_cancel_point();
  }
}

void cancel_one(Random& random, weft_preemption_t kind) {
  if (kind == WEFT_PREEMPTION_NONE) return;  // it would keep the worker from whoever cancels it
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.preemption = kind;
  weft_unit_t unit;
  weft_ult_create(endless, nullptr, &attr, &unit);
  compute(random);
  if (random.below(2) == 0) weft_yield();
  weft_cancel(unit);
  weft_free(&unit);
}

long fib(unsigned n) {
  if (n < 2) return n;
  long a = 0, b = 0;
  weft::fork_join([&] { a = fib(n - 1); }, [&] { b = fib(n - 2); });
  return a + b;
}

void run(void* part_arg);

void spawn(const Part& part, Random& random) {
  constexpr unsigned kMost = 4;
  Part parts[kMost];
  weft_unit_t units[kMost];
  const unsigned count = 1 + random.below(kMost);
  for (unsigned i = 0; i < count; ++i) {
    // Code for signal-yield only has children of its kind: the others' code may lock what theirs may not wait for.
    const bool any = part.kind == WEFT_PREEMPTION_KLT_SWITCHING;
    constexpr weft_preemption_t kKinds[] = {WEFT_PREEMPTION_SIGNAL_YIELD, WEFT_PREEMPTION_KLT_SWITCHING,
                                            WEFT_PREEMPTION_NONE, WEFT_PREEMPTION_DEFAULT};
    weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
    attr.preemption = any ? kKinds[random.below(4)] : part.kind;
    if (random.below(4) == 0) attr.stack_size = 128 << 10;
    if (random.below(8) == 0) {
      attr.worker = weft_worker_get(random.below(weft_worker_count()));
      attr.pinned = random.below(2) == 0;
    }
    parts[i] = {part.shared, part.seed * 31 + i + 1, part.depth + 1,
                attr.preemption == WEFT_PREEMPTION_DEFAULT ? WEFT_PREEMPTION_KLT_SWITCHING : attr.preemption};
    weft_ult_create(run, &parts[i], &attr, &units[i]);
  }
  for (unsigned i = 0; i < count; ++i) weft_free(&units[i]);
}

void run(void* part_arg) {
  const Part& part = *static_cast<Part*>(part_arg);
  Random random(part.seed);
  const bool any_code = part.kind == WEFT_PREEMPTION_KLT_SWITCHING;
  const unsigned steps = 4 + random.below(12);
  for (unsigned i = 0; i < steps; ++i) {
    switch (random.below(any_code ? 10 : 6)) {
      case 0:
      case 1: compute(random); break;
      case 2: lock_ours(*part.shared, random); break;
      case 3: weft_yield(); break;
      case 4: if (part.depth < 4) spawn(part, random); break;
      case 5: cancel_one(random, part.kind); break;
      case 6: allocate(random); break;
      case 7: lock_foreign(*part.shared, random); break;
      case 8: weft_sleep(random.below(300) * 1000); break;
      case 9: if (fib(10) != 55) std::abort(); break;
    }
  }
}

// Suspends workers and has them go on, from a thread of its own, for as long as it lives.
class Packer {
 public:
  explicit Packer(uint64_t seed) : thread_([this, seed] {
    Random random(seed);
    const unsigned workers = weft_worker_count();
    while (!end_) {
      EXPECT_TRUE(ok(weft_workers_set_active(1 + random.below(workers))));
      std::this_thread::sleep_for(std::chrono::microseconds(50 + random.below(1000)));
    }
  }) {}
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;
  ~Packer() {
    end_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> end_{false};
  std::thread thread_;
};

class PreemptStress : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Workers, PreemptStress, testing::Values(1u, 2u, 4u, 8u));

TEST_P(PreemptStress, RandomPrograms) {
  const char* given = std::getenv("WEFT_STRESS_SEED");
  const uint64_t first = given != nullptr ? std::strtoull(given, nullptr, 0) : 1;
  const auto seconds = std::getenv("WEFT_STRESS_SECONDS");
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::milliseconds(seconds != nullptr ? 1000 * std::atoi(seconds) : 4000);
  uint64_t preempted = 0;
  for (uint64_t seed = first; std::chrono::steady_clock::now() < end; ++seed) {
    SCOPED_TRACE("WEFT_STRESS_SEED=" + std::to_string(seed));
    weft_options_t options{};
    options.workers = GetParam();
    setenv("WEFT_PREEMPTION_TIMER", seed % 4 == 2 ? "one-to-all" : seed % 4 == 3 ? "chain" : "worker", 1);
    ASSERT_TRUE(ok(weft_initialize(&options)));
    ASSERT_TRUE(ok(weft_preemption_set_mode(seed % 3 == 0 ? WEFT_PREEMPTION_AUTO : WEFT_PREEMPTION_ON)));
    ASSERT_TRUE(ok(weft_preemption_set_interval(100'000 + seed % 5 * 25'000)));
    Shared shared;
    std::optional<Packer> packer;
    if (seed % 2 == 0) packer.emplace(seed);
    for (unsigned round = 0; round < 20; ++round) {
      Part part{&shared, seed * 1000 + round, 0, WEFT_PREEMPTION_KLT_SWITCHING};
      Random random(part.seed);
      spawn(part, random);
    }
    packer.reset();
    EXPECT_EQ(shared.counted, shared.expected);
    EXPECT_EQ(shared.counted_foreign, shared.expected_foreign);
    const weft_preemption_info_t info = preemption_info();
    preempted += info.signal_yields + info.klt_switches;
    ASSERT_TRUE(ok(weft_finalize()));
  }
  EXPECT_TRUE(preempted > 0 || weft::rt::san::kSignalsComeLate);
}

}  // namespace
