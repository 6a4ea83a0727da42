// random_program.hpp: programs for the stress tests, each made from a seed: a tree of ULTs, each of which takes random steps
// out of the test's tables, and the steps that need nothing but Weft. What the steps count has to be right at the end.
#pragma once

#include <array>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "support/preempting.hpp"
#include "weft/fork_join.hpp"
#include "weft/sync.hpp"

namespace weft_test {

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

struct Part;
using Step = void (*)(const Part& part, Random& random);

// What all units of a program share.
struct Program {
  std::vector<Step> everywhere;  // steps that depend on nothing of their kernel thread's
  std::vector<Step> any_code;    // those that do: not for signal-yield
  bool none_may_block = false;   // who is not preempted may wait for a foreign lock: its worker goes on all the same

  struct Guarded {
    weft::mutex mutex;
    long counted = 0;  // under mutex
  };
  // One after the other: each may be a worker's own at first.
  std::array<Guarded, 512> guarded;
  std::mutex foreign;
  long counted_foreign = 0;  // under foreign
  std::atomic<long> expected{0}, expected_foreign{0};
  std::atomic<long> created{0}, ended{0};  // parts
};

// What one ULT of a program does.
struct Part {
  Program* program;
  uint64_t seed;
  unsigned depth;
  weft_preemption_t kind;  // not DEFAULT, which is KLT-switching

  bool any_code() const {
    return kind == WEFT_PREEMPTION_KLT_SWITCHING || (kind == WEFT_PREEMPTION_NONE && program->none_may_block);
  }
};

inline void compute(Random& random) {
  const unsigned steps = random.below(20'000);
  for (unsigned i = 0; i < steps; ++i) asm volatile("");
  spin_once();
}

inline void step_compute(const Part&, Random& random) { compute(random); }

inline void step_lock(const Part& part, Random& random) {
  Program& program = *part.program;
  constexpr unsigned kUses = 100;
  auto& [mutex, counted] = program.guarded[static_cast<size_t>(program.expected) / kUses % program.guarded.size()];
  mutex.lock();
  const long before = counted;
  if (random.below(4) == 0) compute(random);
  counted = before + 1;
  mutex.unlock();
  program.expected.fetch_add(1, std::memory_order_relaxed);
}

inline void step_lock_foreign(const Part& part, Random& random) {
  Program& program = *part.program;
  // Who waits there is not preempted, and could wait for a captured one.
  if (weft::rt::san::kSignalsComeLate && !program.none_may_block) return;
  const std::lock_guard hold(program.foreign);
  const long before = program.counted_foreign;
  if (random.below(4) == 0) compute(random);
  program.counted_foreign = before + 1;
  program.expected_foreign.fetch_add(1, std::memory_order_relaxed);
}

inline void step_allocate(const Part&, Random& random) {
  void* volatile blocks[8];
  for (auto& block : blocks) block = std::malloc(1 + random.below(20'000));
  for (auto& block : blocks) std::free(block);
}

inline void step_yield(const Part&, Random&) { weft_yield(); }
inline void step_sleep(const Part&, Random& random) { weft_sleep(random.below(300) * 1000); }

// Computes until it is cancelled.
inline void endless(void*) {
  for (;;) {
    for (int i = 0; i < 1000; ++i) asm volatile("");
    weft_cancel_point();
  }
}

inline void cancel_one(weft_fn fn, Random& random, weft_preemption_t kind) {
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.preemption = kind;
  weft_unit_t unit;
  weft_ult_create(fn, nullptr, &attr, &unit);
  compute(random);
  if (random.below(2) == 0) weft_yield();
  weft_cancel(unit);
  weft_free(&unit);
}

inline void step_cancel(const Part& part, Random& random) {
  if (part.kind == WEFT_PREEMPTION_NONE) return;  // it would keep the worker from whoever cancels it
  cancel_one(endless, random, part.kind);
}

inline long fib(unsigned n) {
  if (n < 2) return n;
  long a = 0, b = 0;
  weft::fork_join([&] { a = fib(n - 1); }, [&] { b = fib(n - 2); });
  return a + b;
}

inline void step_forks(const Part&, Random&) {
  if (fib(10) != 55) std::abort();
}

inline void run(void* part_arg);

inline weft_unit_attr_t random_attr(const Part& part, Random& random) {
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
  return attr;
}

// Some children, and waits for them.
inline void spawn(const Part& part, Random& random) {
  constexpr unsigned kMost = 4;
  Part parts[kMost];
  weft_unit_t units[kMost];
  const unsigned count = 1 + random.below(kMost);
  part.program->created.fetch_add(count, std::memory_order_relaxed);
  for (unsigned i = 0; i < count; ++i) {
    const weft_unit_attr_t attr = random_attr(part, random);
    parts[i] = {part.program, part.seed * 31 + i + 1, part.depth + 1,
                attr.preemption == WEFT_PREEMPTION_DEFAULT ? WEFT_PREEMPTION_KLT_SWITCHING : attr.preemption};
    weft_ult_create(run, &parts[i], &attr, &units[i]);
  }
  for (unsigned i = 0; i < count; ++i) weft_free(&units[i]);
}

inline void step_spawn(const Part& part, Random& random) {
  if (part.depth < 4) spawn(part, random);
}

inline void run(void* part_arg) {
  const Part& part = *static_cast<Part*>(part_arg);
  const Program& program = *part.program;
  Random random(part.seed);
  const auto everywhere = static_cast<unsigned>(program.everywhere.size());
  const auto any_code = part.any_code() ? static_cast<unsigned>(program.any_code.size()) : 0;
  const unsigned steps = 4 + random.below(12);
  for (unsigned i = 0; i < steps; ++i) {
    const unsigned which = random.below(everywhere + any_code);
    (which < everywhere ? program.everywhere[which] : program.any_code[which - everywhere])(part, random);
  }
  part.program->ended.fetch_add(1, std::memory_order_relaxed);
}

// By main: rounds of it, and what they have counted.
inline void run_program(Program& program, uint64_t seed, unsigned rounds) {
  for (unsigned round = 0; round < rounds; ++round) {
    const Part part{&program, seed * 1000 + round, 0, WEFT_PREEMPTION_KLT_SWITCHING};
    Random random(part.seed);
    spawn(part, random);
  }
  long counted = 0;
  for (const Program::Guarded& guarded : program.guarded) counted += guarded.counted;
  EXPECT_EQ(counted, program.expected);
  EXPECT_EQ(program.counted_foreign, program.expected_foreign);
  EXPECT_EQ(program.ended, program.created);
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

// From WEFT_STRESS_SEED; otherwise what is given.
inline uint64_t first_seed(uint64_t otherwise) {
  const char* given = std::getenv("WEFT_STRESS_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 0) : otherwise;
}

// How long a test goes on with further programs: WEFT_STRESS_SECONDS; otherwise what is given.
inline std::chrono::milliseconds stress_time(std::chrono::milliseconds otherwise) {
  const char* given = std::getenv("WEFT_STRESS_SECONDS");
  return given != nullptr ? std::chrono::milliseconds(1000 * std::atoi(given)) : otherwise;
}

}  // namespace weft_test
