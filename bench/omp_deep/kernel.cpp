// omp_deep: regions in regions, `depth` levels of them, with the same work below them all in equal
// pieces (the dissertation's Figure 4.12: 4 threads each, 20 000 * 4^5 cycles in all); ns for all
// of it.
#include <cmath>

#include "omp_work.hpp"

namespace {

void regions(int depth, int threads, double cycles) {
  if (depth == 0) {
    bench::work(cycles);
    return;
  }
#pragma omp parallel for num_threads(threads)
  for (int i = 0; i < threads; ++i) {
    regions(depth - 1, threads, cycles);
  }
}

bench::Sample measure(const bench::Setup& setup) {
  const int depth = static_cast<int>(setup.number("depth"));
  const int threads = setup.workers();
  const double pieces = std::pow(threads, depth);
  const double cycles = 20000 * std::pow(4, 5) / pieces;
  const double share = std::ceil(pieces / static_cast<double>(bench::cpus.size())) * cycles;
  return bench::time_work(setup, share, [=] { regions(depth, threads, cycles); });
}

}  // namespace

int main(int argc, char** argv) {
  return bench::omp_main(argc, argv, {{{"depth", "3"}, {"cpus", "2"}}, 8, measure});
}
