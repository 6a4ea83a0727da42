// Random programs that compute, lock, allocate, block in the kernel in every way, spawn, join, cancel and migrate, with ticks of
// all kinds or none, on each rung, with few and many kernel threads. What they compute has to be right, all of it has to end,
// and what it has used (units, threads, descriptors) has to be back afterwards.
#include <cstdio>
#include <filesystem>
#include <optional>

#include "support/blocking_steps.hpp"

namespace {

using namespace weft_test;

struct Mix {
  Awareness awareness;
  weft_preemption_mode_t preemption;
};

std::vector<Mix> mixes() {
  std::vector<Mix> all;
  for (const char* rung : {"bpf", "perf", "proc"}) {
    for (const weft_blocking_mode_t mode : {WEFT_BLOCKING_ON, WEFT_BLOCKING_AUTO}) {
      for (const weft_preemption_mode_t preemption : {WEFT_PREEMPTION_OFF, WEFT_PREEMPTION_ON, WEFT_PREEMPTION_AUTO}) {
        for (const unsigned workers : {1u, 2u, 8u}) all.push_back({{mode, rung, workers}, preemption});
      }
    }
  }
  return all;
}

std::string name_of_mix(const testing::TestParamInfo<Mix>& info) {
  const weft_preemption_mode_t preemption = info.param.preemption;
  return name_of(testing::TestParamInfo<Awareness>(info.param.awareness, info.index)) +
         (preemption == WEFT_PREEMPTION_OFF ? "" : preemption == WEFT_PREEMPTION_ON ? "Preempted" : "PreemptedAuto");
}

size_t entries(const char* folder) {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

// What a runtime leaves behind in the process.
struct Rest {
  size_t threads = entries("/proc/self/task"), files = entries("/proc/self/fd");
  bool operator==(const Rest&) const = default;
};

class BlockStress : public testing::TestWithParam<Mix> {
 protected:
  // False: the system does not grant the rung.
  bool start(uint64_t seed) {
    const Awareness& awareness = GetParam().awareness;
    weft_options_t options{};
    options.workers = awareness.workers;
    setenv("WEFT_BLOCKING_RUNG", awareness.rung, 1);
    setenv("WEFT_PREEMPTION_TIMER", seed % 6 == 2 ? "one-to-all" : seed % 6 == 3 ? "chain" : "worker", 1);
    EXPECT_TRUE(ok(weft_initialize(&options)));
    EXPECT_TRUE(ok(weft_blocking_set_klts(seed % 2 == 0 ? 4 : 512)));
    EXPECT_TRUE(ok(weft_blocking_set_mode(awareness.mode)));
    EXPECT_TRUE(ok(weft_preemption_set_interval(100'000 + seed % 5 * 25'000)));
    EXPECT_TRUE(ok(weft_preemption_set_mode(GetParam().preemption)));
    return blocking_info().rung == std::string(awareness.rung);
  }

  void run_one(uint64_t seed) {
    BlockingProgram program(GetParam().preemption != WEFT_PREEMPTION_OFF);
    take_all_steps(program);
    std::optional<Packer> packer;
    if (seed % 5 == 0) packer.emplace(seed);
    run_program(program, seed, 3);
  }

  // All units have ended but main, which may have slept and be without its worker until it calls Weft. Whoever took a worker may be
  // about to count that.
  static void check_counts() {
    weft_blocking_info_t info{};
    EXPECT_TRUE(wait_until([&info] {
      weft_yield();
      info = blocking_info();
      return info.in_kernel == 0 && info.hand_overs == info.returns;
    })) << info.in_kernel << ' ' << info.hand_overs << ' ' << info.returns;
    EXPECT_LE(info.hand_overs, info.blocks);
    EXPECT_LE(info.stopped, info.returns);
    EXPECT_LE(info.beyond, info.hand_overs);
  }
};
INSTANTIATE_TEST_SUITE_P(All, BlockStress, testing::ValuesIn(mixes()), name_of_mix);

TEST_P(BlockStress, RandomPrograms) {
  using std::chrono::steady_clock;
  const auto end = steady_clock::now() + stress_time(std::chrono::milliseconds(150));
  std::optional<Rest> before;
  const uint64_t first = first_seed(1);
  // With and without a bound.
  for (uint64_t seed = first; seed < first + 2 || steady_clock::now() < end; ++seed) {
    SCOPED_TRACE("WEFT_STRESS_SEED=" + std::to_string(seed));
    std::printf("WEFT_STRESS_SEED=%llu\n", static_cast<unsigned long long>(seed));  // it may hang
    std::fflush(stdout);
    const bool granted = start(seed);
    if (granted) run_one(seed);
    check_counts();
    ASSERT_TRUE(ok(weft_finalize()));
    if (!granted) GTEST_SKIP() << "the system does not grant " << GetParam().awareness.rung;
    // The first one may have loaded a library. A thread that has been joined is in /proc for a moment still.
    if (!before.has_value()) before.emplace();
    const auto patience = steady_clock::now() + std::chrono::seconds(10);
    while (Rest{}.threads != before->threads && steady_clock::now() < patience) sched_yield();
    ASSERT_TRUE(Rest{} == *before) << Rest{}.threads << " threads, " << Rest{}.files << " files";
    if (HasFailure()) break;
  }
}

}  // namespace
