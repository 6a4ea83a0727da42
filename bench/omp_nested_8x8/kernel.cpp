// omp_nested_8x8: a region whose threads open a region each, all empty; ns for the whole of it.
// Each has as many threads as the program asks for: 8.
#include "omp.hpp"

namespace {

bench::Sample measure(const bench::Setup& setup) {
  const int side = setup.workers();
  int threads = 0;
#pragma omp parallel reduction(+ : threads)
  {
    int inner = 0;
#pragma omp parallel reduction(+ : inner)
    inner += 1;
    threads += inner;
  }
  bench::check(threads == side * side, "number of threads");
  return bench::time_per_op(setup, 1, [](uint64_t n) {
    for (uint64_t i = 0; i < n; ++i) {
#pragma omp parallel
#pragma omp parallel
      bench::nothing();
    }
  });
}

}  // namespace

int main(int argc, char** argv) {
  return bench::omp_main(argc, argv,
                         {{{"wait", "hybrid"}, {"identity", "own"}, {"cpus", "2"}}, 2, measure});
}
