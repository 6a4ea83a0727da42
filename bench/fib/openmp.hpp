// openmp.hpp: fib with OpenMP tasks, for libgomp and libomp.
#ifndef WEFT_BENCH_FIB_OPENMP_HPP
#define WEFT_BENCH_FIB_OPENMP_HPP

#include "fib/kernel.hpp"
#include "library/openmp.hpp"

namespace bench {

inline long fib_omp(int n) {
  if (n < 2) {
    return n;
  }
  long forked = 0;
#pragma omp task shared(forked) firstprivate(n)
  forked = fib_omp(n - 1);
  const long called = fib_omp(n - 2);
#pragma omp taskwait
  return forked + called;
}

inline int fib_openmp(int argc, char** argv) {
  return fib_tasks<OpenMp>(argc, argv,
                           [](auto& lib, int n) { return lib.run([n] { return fib_omp(n); }); });
}

}  // namespace bench

#endif  // WEFT_BENCH_FIB_OPENMP_HPP
