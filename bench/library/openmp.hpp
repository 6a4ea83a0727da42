// openmp.hpp: OpenMP tasks as the benchmarks see them; libgomp's programs are compiled by gcc,
// libomp's by clang.
#ifndef WEFT_BENCH_LIBRARY_OPENMP_HPP
#define WEFT_BENCH_LIBRARY_OPENMP_HPP

#include <omp.h>

#include "harness.hpp"

namespace bench {

struct OpenMp {
  static constexpr const char* kVariants[] = {"tasks"};

  void init(int workers, Mode, int) {
    omp_set_dynamic(0);
    omp_set_num_threads(workers);
    int threads = 0;
#pragma omp parallel reduction(+ : threads)
    threads += 1;
    check(threads == workers, "number of threads");
  }
  void finalize() {}
  void idle(double seconds) { usleep(static_cast<useconds_t>(seconds * 1e6)); }

  // Runs `function` once, with the other threads there to take its tasks.
  template <class Function>
  auto run(Function&& function) {
    decltype(function()) result{};
#pragma omp parallel
#pragma omp single
    result = function();
    return result;
  }
};

}  // namespace bench

#endif  // WEFT_BENCH_LIBRARY_OPENMP_HPP
