// omp_work.hpp: work of a given number of cycles, for loops whose ideal time can be told.
#ifndef WEFT_BENCH_OMP_WORK_HPP
#define WEFT_BENCH_OMP_WORK_HPP

#include <algorithm>

#include "omp.hpp"

namespace bench {

// A chain of multiplications and additions, of which one takes 4 cycles, whatever else the core
// does. It is work, not time: who is taken from the core meanwhile still has it to do.
inline void work(double cycles) {
  uint64_t x = 1;
  for (auto left = static_cast<uint64_t>(cycles / 4); left > 0; --left) {
    x = x * 6364136223846793005U + 1442695040888963407U;
    asm volatile("" : "+r"(x));
  }
}

// What one thread takes for that, in ns, when nothing is in its way.
inline double work_ns(double cycles) {
  constexpr double kSome = 1e6;
  double least = 1e9;
  for (int i = 0; i < 20; ++i) {
    least = std::min(least, time_once([] { work(kSome); }).value);
  }
  return least * 1e9 * cycles / kSome;
}

// The time of `body`, beside that of its work: the longest share of a CPU, in cycles, if all are
// used as well as can be.
template <class Body>
Sample time_work(const Setup& setup, double ideal_cycles, Body&& body) {
  const double ideal = work_ns(ideal_cycles);
  Sample sample = time_per_op(setup, 1, [&](uint64_t n) {
    for (uint64_t i = 0; i < n; ++i) {
      body();
    }
  });
  sample.ideal = ideal;
  return sample;
}

}  // namespace bench

#endif  // WEFT_BENCH_OMP_WORK_HPP
