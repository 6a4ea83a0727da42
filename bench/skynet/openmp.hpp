// openmp.hpp: skynet with OpenMP tasks, for libgomp and libomp.
#ifndef WEFT_BENCH_SKYNET_OPENMP_HPP
#define WEFT_BENCH_SKYNET_OPENMP_HPP

#include "library/openmp.hpp"
#include "skynet/kernel.hpp"

namespace bench {

inline long skynet_omp(long first, long size) {
  if (size == 1) {
    return first;
  }
  long results[kFan];
  const long part = size / kFan;
  for (int i = 0; i < kFan; ++i) {
#pragma omp task shared(results) firstprivate(first, part, i)
    results[i] = skynet_omp(first + i * part, part);
  }
#pragma omp taskwait
  long sum = 0;
  for (const long result : results) {
    sum += result;
  }
  return sum;
}

inline int skynet_openmp(int argc, char** argv) {
  return skynet_tasks<OpenMp>(argc, argv, [](auto& lib, long first, long size) {
    return lib.run([=] { return skynet_omp(first, size); });
  });
}

}  // namespace bench

#endif  // WEFT_BENCH_SKYNET_OPENMP_HPP
