// omp_blas: a parallel loop of `outer` products of n × n matrices by OpenBLAS, which opens regions
// of its own; ns for all of it.
#include <cblas.h>

#include <algorithm>

#include "omp.hpp"

namespace {

using Matrix = std::vector<double>;

bench::Sample measure(const bench::Setup& setup) {
  const int n = static_cast<int>(setup.number("n"));
  const int outer = static_cast<int>(setup.number("outer"));
  const auto size = static_cast<size_t>(n) * static_cast<size_t>(n);
  std::vector<Matrix> a(static_cast<size_t>(outer), Matrix(size, 2.0));
  std::vector<Matrix> b(static_cast<size_t>(outer), Matrix(size, 0.5));
  std::vector<Matrix> c(static_cast<size_t>(outer), Matrix(size));
  const bench::Sample sample = bench::time_per_op(setup, 1, [&](uint64_t times) {
    for (uint64_t time = 0; time < times; ++time) {
#pragma omp parallel for num_threads(outer)
      for (int i = 0; i < outer; ++i) {
        const auto which = static_cast<size_t>(i);
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0, a[which].data(), n,
                    b[which].data(), n, 0.0, c[which].data(), n);
      }
    }
  });
  for (const Matrix& matrix : c) {
    bench::check(std::all_of(matrix.begin(), matrix.end(), [n](double x) { return x == n; }),
                 "the product");
  }
  return sample;
}

}  // namespace

int main(int argc, char** argv) {
  return bench::omp_main(argc, argv, {{{"outer", "3"}, {"n", "256"}, {"cpus", "2"}}, 2, measure});
}
