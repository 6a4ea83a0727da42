// omp_insufficient: an outer loop of `outer` iterations, fewer than there are threads, each a
// parallel loop of equal pieces of work (the dissertation's Figure 4.9a: L, and N / 2 of 20 000
// cycles each); ns for all of it.
#include <cmath>

#include "omp_work.hpp"

namespace {

constexpr double kCycles = 20000;

void loops(int outer, int inner) {
#pragma omp parallel for num_threads(outer)
  for (int i = 0; i < outer; ++i) {
#pragma omp parallel for num_threads(inner)
    for (int j = 0; j < inner; ++j) {
      bench::work(kCycles);
    }
  }
}

bench::Sample measure(const bench::Setup& setup) {
  const int outer = static_cast<int>(setup.number("outer"));
  const int inner = setup.workers() / 2;
  const double pieces = std::ceil(outer * inner / static_cast<double>(bench::cpus.size()));
  return bench::time_work(setup, pieces * kCycles, [=] { loops(outer, inner); });
}

}  // namespace

int main(int argc, char** argv) {
  return bench::omp_main(argc, argv, {{{"outer", "3"}, {"cpus", "2"}}, 2, measure});
}
