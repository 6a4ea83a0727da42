// packing: the method of Figure 8 of Shiina et al. (PPoPP 2021). A program is written for `threads` equal units per step,
// each of which computes `work_us`, on as many workers; then only `active` of them may run. The time of a step, by that of
// the same work in as many equal units as CPUs can run it.
#ifndef WEFT_BENCH_PACKING_KERNEL_HPP
#define WEFT_BENCH_PACKING_KERNEL_HPP

#include <algorithm>
#include <vector>

#include "harness.hpp"

namespace bench {

inline Setup packing_setup(int argc, char** argv) {
  return Setup(argc, argv, {{"threads", "8"}, {"active", "2"}, {"preemption", "klt_switching"},
                            {"interval_us", "1000"}, {"work_us", "20000"}});
}

// As in the paper's Figure 6: bound by latency, so a neighbour on the other core or its sibling costs little.
inline void compute(uint64_t turns) {
  volatile float x = 0;
  for (uint64_t i = 0; i < turns; ++i) x = x + 1e-6f;
}

// Turns of compute() in so many us.
inline uint64_t calibrate(double us) {
  constexpr uint64_t kTurns = 3'000'000;
  double best = 1e9;
  for (int i = 0; i < 5; ++i) best = std::min(best, time_once([] { compute(kTurns); }).value);
  return static_cast<uint64_t>(us * 1e-6 / best * kTurns);
}

// step(units, turns): so many units compute so many turns each; returns when all have. The two kinds alternate.
template <class Step, class Active>
void measure_packing(const Setup& setup, Step step, Active set_active) {
  const long threads = setup.number("threads");
  const long active = setup.number("active");
  const long ideal_units = std::min<long>(active, setup.workers());
  check(active >= 1 && active <= threads, "active: 1 to threads");
  const uint64_t turns = calibrate(static_cast<double>(setup.number("work_us")));
  const uint64_t all = turns * static_cast<uint64_t>(threads);
  set_active(active);
  std::vector<double> packed, ideal;
  const double cpu = cpu_s();
  const double end = wall_s() + 8 * setup.seconds();
  do {
    set_active(ideal_units);
    ideal.push_back(time_once([&] { step(ideal_units, all / static_cast<uint64_t>(ideal_units)); }).value);
    set_active(active);
    packed.push_back(time_once([&] { step(threads, turns); }).value);
  } while (wall_s() < end || packed.size() < 5);
  // The fastest of each: what other processes take away is not what is measured.
  const double best = *std::min_element(packed.begin(), packed.end());
  setup.report("x ideal", {best / *std::min_element(ideal.begin(), ideal.end()), cpu_s() - cpu});
}

}  // namespace bench

#endif  // WEFT_BENCH_PACKING_KERNEL_HPP
