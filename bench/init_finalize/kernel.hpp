// init_finalize: starts the runtime with its workers and stops it again; microseconds.
//
// what=first: the first time in the process. what=again: the median of the following times.
#ifndef WEFT_BENCH_INIT_FINALIZE_KERNEL_HPP
#define WEFT_BENCH_INIT_FINALIZE_KERNEL_HPP

#include <algorithm>
#include <vector>

#include "harness.hpp"

namespace bench {

template <class Lib>
Sample time_init_finalize(const Setup& setup) {
  Sample sample = time_once([&] {
    Lib lib;
    lib.init(setup.workers(), setup.workers() == 1 ? Mode::kPlain : Mode::kForkJoin, 0);
    lib.finalize();
  });
  sample.value *= 1e6;
  return sample;
}

template <class Lib>
concept StartsOnce = Lib::kStartsOnce;

template <class Lib>
int init_finalize(int argc, char** argv) {
  const Setup setup(argc, argv, {});
  setup.report("us", time_init_finalize<Lib>(setup), {{"what", "first"}});
  if constexpr (!StartsOnce<Lib>) {
    std::vector<Sample> again(25);
    for (Sample& sample : again) {
      sample = time_init_finalize<Lib>(setup);
    }
    std::sort(again.begin(), again.end(),
              [](const Sample& a, const Sample& b) { return a.value < b.value; });
    setup.report("us", again[again.size() / 2], {{"what", "again"}});
  }
  return 0;
}

}  // namespace bench

#endif  // WEFT_BENCH_INIT_FINALIZE_KERNEL_HPP
