// omp_nas.hpp: the NAS kernels of examples/nas as benchmarks; ns for the part of a run that their
// report measures, `class` being S or W.
#ifndef WEFT_BENCH_OMP_NAS_HPP
#define WEFT_BENCH_OMP_NAS_HPP

#include "nas/nas.hpp"
#include "omp.hpp"

namespace bench {

template <nas::Outcome (*kKernel)(nas::Class)>
Sample time_nas(const Setup& setup) {
  const std::string& letter = setup.text("class");
  check(letter == "S" || letter == "W", "class=S|W");
  const nas::Class size = letter == "S" ? nas::Class::kS : nas::Class::kW;
  Sample total;
  int runs = 0;
  do {
    const nas::Outcome outcome = kKernel(size);  // with a warm-up of its own
    check(outcome.verified(), "the published result");
    total.value += outcome.spent.seconds;
    total.cpu_s += outcome.spent.cpu_seconds;
    ++runs;
  } while (total.value < setup.seconds());
  total.value *= 1e9 / runs;
  total.cpu_s /= runs;
  return total;
}

template <nas::Outcome (*kKernel)(nas::Class)>
int nas_main(int argc, char** argv) {
  return omp_main(argc, argv, {{{"class", "W"}, {"cpus", "2"}}, 1, time_nas<kKernel>});
}

}  // namespace bench

#endif  // WEFT_BENCH_OMP_NAS_HPP
