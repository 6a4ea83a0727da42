// Random programs with ticks of 100 µs to 200 µs, from each worker's timer or one for all: computing, locking, allocating,
// spawning, cancelling, sleeping, preempted in every way, mixed in one program. What they compute has to be right, and all of it
// has to end.
#include <cstdlib>
#include <optional>

#include "support/random_program.hpp"

namespace {

using namespace weft_test;

class PreemptStress : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Workers, PreemptStress, testing::Values(1u, 2u, 4u, 8u));

TEST_P(PreemptStress, RandomPrograms) {
  const auto end = std::chrono::steady_clock::now() + stress_time(std::chrono::seconds(4));
  uint64_t preempted = 0;
  for (uint64_t seed = first_seed(1); std::chrono::steady_clock::now() < end; ++seed) {
    SCOPED_TRACE("WEFT_STRESS_SEED=" + std::to_string(seed));
    weft_options_t options{};
    options.workers = GetParam();
    setenv("WEFT_PREEMPTION_TIMER", seed % 4 == 2 ? "one-to-all" : seed % 4 == 3 ? "chain" : "worker", 1);
    ASSERT_TRUE(ok(weft_initialize(&options)));
    ASSERT_TRUE(ok(weft_preemption_set_mode(seed % 3 == 0 ? WEFT_PREEMPTION_AUTO : WEFT_PREEMPTION_ON)));
    ASSERT_TRUE(ok(weft_preemption_set_interval(100'000 + seed % 5 * 25'000)));
    Program program;
    program.everywhere = {step_compute, step_compute, step_lock, step_yield, step_spawn, step_cancel};
    program.any_code = {step_allocate, step_lock_foreign, step_sleep, step_forks};
    std::optional<Packer> packer;
    if (seed % 2 == 0) packer.emplace(seed);
    run_program(program, seed, 20);
    packer.reset();
    const weft_preemption_info_t info = preemption_info();
    preempted += info.signal_yields + info.klt_switches;
    ASSERT_TRUE(ok(weft_finalize()));
  }
  EXPECT_TRUE(preempted > 0 || weft::rt::san::kSignalsComeLate);
}

}  // namespace
