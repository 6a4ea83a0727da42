// omp_flat: what a construct of a region costs that does nothing else; EPCC's, with empty bodies.
#include "omp.hpp"

namespace {

using bench::check;
using bench::nothing;
using bench::Sample;
using bench::Setup;

Sample regions(const Setup& setup) {
  return bench::time_per_op(setup, 1, [](uint64_t n) {
    for (uint64_t i = 0; i < n; ++i) {
#pragma omp parallel
      nothing();
    }
  });
}

Sample barriers(const Setup& setup) {
  return bench::time_per_op(setup, 1, [](uint64_t n) {
#pragma omp parallel
    for (uint64_t i = 0; i < n; ++i) {
#pragma omp barrier
    }
  });
}

Sample reductions(const Setup& setup) {
  const auto threads = static_cast<uint64_t>(setup.workers());
  return bench::time_per_op(setup, 1, [threads](uint64_t n) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; ++i) {
#pragma omp parallel reduction(+ : sum)
      sum += 1;
    }
    check(sum == n * threads, "sum");
  });
}

// Each thread makes one task, and all wait for all of them.
Sample task_barriers(const Setup& setup) {
  struct alignas(64) Count {
    uint64_t value = 0;
  };
  std::vector<Count> counts(static_cast<size_t>(setup.workers()));
  uint64_t expected = 0;
  const Sample sample = bench::time_per_op(setup, 1, [&](uint64_t n) {
    Count* const count = counts.data();
#pragma omp parallel
    for (uint64_t i = 0; i < n; ++i) {
#pragma omp task firstprivate(count)
      ++count[omp_get_thread_num()].value;
#pragma omp barrier
    }
    expected += n * counts.size();
  });
  for (const Count& count : counts) {
    expected -= count.value;
  }
  check(expected == 0, "number of tasks");
  return sample;
}

Sample measure(const Setup& setup) {
  int threads = 0;
#pragma omp parallel reduction(+ : threads)
  threads += 1;
  check(threads == setup.workers(), "number of threads");

  const std::string& what = setup.text("what");
  check(what == "parallel" || what == "barrier" || what == "reduction" || what == "task_barrier",
        "what=parallel|barrier|reduction|task_barrier");
  return what == "parallel"    ? regions(setup)
         : what == "barrier"   ? barriers(setup)
         : what == "reduction" ? reductions(setup)
                               : task_barriers(setup);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::omp_main(
      argc, argv,
      {{{"what", "parallel"}, {"wait", "hybrid"}, {"identity", "own"}, {"cpus", "2"}}, 1, measure});
}
