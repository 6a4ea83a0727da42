// openmp.hpp: tasks that run to completion, with OpenMP, for libgomp and libomp.
#ifndef WEFT_BENCH_CREATE_JOIN_TASKLET_OPENMP_HPP
#define WEFT_BENCH_CREATE_JOIN_TASKLET_OPENMP_HPP

#include "create_join_tasklet/kernel.hpp"
#include "library/openmp.hpp"

namespace bench {

inline int create_join_tasklet_openmp(int argc, char** argv) {
  const Setup setup(argc, argv, {});
  report_task_rounds<OpenMp>(setup, [](auto&, uint32_t* done) {
#pragma omp parallel
#pragma omp single
    {
      for (int i = 0; i < kInFlight; ++i) {
#pragma omp task firstprivate(done)
        count_one(done);
      }
#pragma omp taskwait
    }
  });
  return 0;
}

}  // namespace bench

#endif  // WEFT_BENCH_CREATE_JOIN_TASKLET_OPENMP_HPP
