// openmp.hpp: the tree search with OpenMP tasks, for libgomp and libomp.
#ifndef WEFT_BENCH_UTS_OPENMP_HPP
#define WEFT_BENCH_UTS_OPENMP_HPP

#include "library/openmp.hpp"
#include "uts/kernel.hpp"

namespace bench {

inline void walk_omp(UtsChild* self) {
  const int n = uts::child_count(*uts_tree, self->node);
  self->count = uts_self(self->node, n);
  if (n == 0) {
    return;
  }
  WEFT_BENCH_UTS_CHILDREN(UtsChild, children, n);
  for (int i = 0; i < n; ++i) {
    UtsChild* const child = new (&children[i]) UtsChild{uts::child_of(self->node, i), {}};
    if (i < n - 1) {
#pragma omp task firstprivate(child)
      walk_omp(child);
    } else {
      walk_omp(child);
    }
  }
#pragma omp taskwait
  for (int i = 0; i < n; ++i) {
    self->count += children[i].count;
  }
}

inline int uts_openmp(int argc, char** argv) {
  return uts_tasks<OpenMp>(argc, argv, [](auto& lib, const uts::Node& root) {
    return lib.run([&] {
      UtsChild task{root, {}};
      walk_omp(&task);
      return task.count;
    });
  });
}

}  // namespace bench

#endif  // WEFT_BENCH_UTS_OPENMP_HPP
