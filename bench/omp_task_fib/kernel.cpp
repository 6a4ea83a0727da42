// omp_task_fib: the n-th Fibonacci number, both calls as tasks, without a cut-off; ns per task,
// wall.
#include "fib/kernel.hpp"
#include "omp.hpp"

namespace {

long fib(int n) {
  if (n < 2) {
    return n;
  }
  long a = 0;
  long b = 0;
#pragma omp task shared(a) firstprivate(n)
  a = fib(n - 1);
#pragma omp task shared(b) firstprivate(n)
  b = fib(n - 2);
#pragma omp taskwait
  return a + b;
}

long fib_of_team(int n) {
  long result = 0;
#pragma omp parallel
#pragma omp single
  result = fib(n);
  return result;
}

bench::Sample measure(const bench::Setup& setup) {
  const int n = static_cast<int>(setup.number("n"));
  bench::check(fib_of_team(15) == bench::fib_number(15), "fib(15)");
  // fib(n) makes 2 fib(n + 1) - 1 calls, all but the first as tasks.
  const auto tasks = 2 * static_cast<double>(bench::fib_number(n + 1)) - 2;
  return bench::time_per_op(setup, tasks, [n](uint64_t times) {
    for (uint64_t i = 0; i < times; ++i) {
      bench::check(fib_of_team(n) == bench::fib_number(n), "fib(n)");
    }
  });
}

}  // namespace

int main(int argc, char** argv) { return bench::omp_main(argc, argv, {{{"n", "27"}}, 1, measure}); }
