// omp_nested_4x4: a parallel loop of 64 iterations, each a parallel loop that adds 1000 numbers; ns
// for each of the inner loops. Both have as many threads as the program asks for: 4.
#include <array>
#include <numeric>

#include "omp.hpp"

namespace {

constexpr int kOuter = 64;
constexpr int kAdds = 1000;

std::array<long, kAdds> numbers;

bench::Sample measure(const bench::Setup& setup) {
  std::iota(numbers.begin(), numbers.end(), 1);
  return bench::time_per_op(setup, kOuter, [](uint64_t n) {
    for (uint64_t i = 0; i < n; ++i) {
      long total = 0;
#pragma omp parallel for reduction(+ : total)
      for (int outer = 0; outer < kOuter; ++outer) {
        long sum = 0;
#pragma omp parallel for reduction(+ : sum)
        for (int inner = 0; inner < kAdds; ++inner) {
          sum += numbers[static_cast<size_t>(inner)];
        }
        total += sum;
      }
      bench::check(total == kOuter * long{kAdds} * (kAdds + 1) / 2, "sum");
    }
  });
}

}  // namespace

int main(int argc, char** argv) {
  return bench::omp_main(argc, argv,
                         {{{"wait", "hybrid"}, {"identity", "own"}, {"cpus", "2"}}, 2, measure});
}
