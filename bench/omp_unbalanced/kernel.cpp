// omp_unbalanced: N threads, each with a parallel loop of N equal pieces of work, which are larger
// the later the thread is (the dissertation's Figure 4.9b: by a power, `alpha`; 20 000 cycles on
// average); ns for all of it.
#include <cmath>
#include <numeric>

#include "omp_work.hpp"

namespace {

void loops(const std::vector<double>& cycles) {
  const int n = static_cast<int>(cycles.size());
#pragma omp parallel for num_threads(n)
  for (int i = 0; i < n; ++i) {
    const double piece = cycles[static_cast<size_t>(i)];
#pragma omp parallel for num_threads(n)
    for (int j = 0; j < n; ++j) {
      bench::work(piece);
    }
  }
}

bench::Sample measure(const bench::Setup& setup) {
  const int n = setup.workers();
  const double alpha = std::strtod(setup.text("alpha").c_str(), nullptr);
  std::vector<double> cycles;
  for (int i = 1; i <= n; ++i) {
    cycles.push_back(std::pow(i, alpha));
  }
  const double all = std::accumulate(cycles.begin(), cycles.end(), 0.0);
  for (double& piece : cycles) {
    piece *= 20000.0 * n / all;
  }
  return bench::time_work(setup, 20000.0 * n * n / static_cast<double>(bench::cpus.size()),
                          [&] { loops(cycles); });
}

}  // namespace

int main(int argc, char** argv) {
  return bench::omp_main(argc, argv, {{{"alpha", "1"}, {"cpus", "2"}}, 2, measure});
}
