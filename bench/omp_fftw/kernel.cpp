// omp_fftw: a parallel loop of `outer` two-dimensional transforms, n × n complex numbers each, for
// each of which FFTW opens parallel loops of its own (the dissertation's Figure 5.5); ns for all of
// it. Everybody executes the same plan: that of FFTW_ESTIMATE, for as many threads as the program
// asks for.
#include <fftw3.h>

#include <algorithm>
#include <complex>

#include "omp.hpp"

namespace {

using Numbers = std::vector<std::complex<double>>;

fftw_complex* data_of(Numbers& numbers) {
  return reinterpret_cast<fftw_complex*>(numbers.data());  // as FFTW's manual has it
}

bench::Sample measure(const bench::Setup& setup) {
  const int n = static_cast<int>(setup.number("n"));
  const int outer = static_cast<int>(setup.number("outer"));
  const auto size = static_cast<size_t>(n) * static_cast<size_t>(n);
  std::vector<Numbers> from(static_cast<size_t>(outer), Numbers(size));
  std::vector<Numbers> to = from;
  bench::check(fftw_init_threads() != 0, "fftw_init_threads");
  fftw_plan_with_nthreads(setup.workers());
  // Vectors are aligned to 16 bytes only, which may not be the same to FFTW everywhere.
  const fftw_plan plan = fftw_plan_dft_2d(n, n, data_of(from[0]), data_of(to[0]), FFTW_FORWARD,
                                          FFTW_ESTIMATE | FFTW_UNALIGNED);
  bench::check(plan != nullptr, "fftw_plan_dft_2d");
  for (Numbers& numbers : from) {
    std::fill(numbers.begin(), numbers.end(), 0.0);
    numbers[0] = 1.0;  // all frequencies alike
  }
  const bench::Sample sample = bench::time_per_op(setup, 1, [&](uint64_t times) {
    for (uint64_t time = 0; time < times; ++time) {
#pragma omp parallel for num_threads(outer)
      for (int i = 0; i < outer; ++i) {
        const auto which = static_cast<size_t>(i);
        fftw_execute_dft(plan, data_of(from[which]), data_of(to[which]));
      }
    }
  });
  for (const Numbers& numbers : to) {
    bench::check(std::all_of(numbers.begin(), numbers.end(),
                             [](auto number) { return std::abs(number - 1.0) < 1e-9; }),
                 "the transform");
  }
  fftw_destroy_plan(plan);
  return sample;
}

}  // namespace

int main(int argc, char** argv) {
  return bench::omp_main(argc, argv, {{{"outer", "3"}, {"n", "128"}, {"cpus", "2"}}, 2, measure});
}
