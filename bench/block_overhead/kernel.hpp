// block_overhead: what awareness of blocking costs where nothing ever blocks: by how much fork-join takes longer with it;
// a fraction. kernel=fib|uts, mode=on|auto.
//
// One process: runs with and without take turns, so that a drift falls on both; the median of the ratios.
#ifndef WEFT_BENCH_BLOCK_OVERHEAD_KERNEL_HPP
#define WEFT_BENCH_BLOCK_OVERHEAD_KERNEL_HPP

#include <algorithm>
#include <utility>
#include <vector>

#include "harness.hpp"

namespace bench {

inline constexpr int kPairs = 21;

// `set(aware)` between runs, `run()` once.
template <class Set, class Run>
Sample time_overhead(Set&& set, Run&& run) {
  const double cpu = cpu_s();
  std::vector<double> ratios;
  const auto timed = [&](bool aware) {
    set(aware);
    run();
    return time_once(run).value;
  };
  timed(true);
  for (int i = 0; i < kPairs; ++i) {
    // Each comes first every other time.
    const bool first = i % 2 == 0;
    double took[2];
    took[first] = timed(first);
    took[!first] = timed(!first);
    ratios.push_back(took[1] / took[0] - 1);
  }
  std::sort(ratios.begin(), ratios.end());
  return {ratios[kPairs / 2], cpu_s() - cpu};
}

}  // namespace bench

#endif  // WEFT_BENCH_BLOCK_OVERHEAD_KERNEL_HPP
