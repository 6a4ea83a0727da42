// fib: the n-th Fibonacci number by fork-join; ns per task, wall.
//
// A call with n >= 2 forks fib(n-1), calls fib(n-2), and joins: one task. So there are
// fib(n+1) - 1 tasks, for every library.
#ifndef WEFT_BENCH_FIB_KERNEL_HPP
#define WEFT_BENCH_FIB_KERNEL_HPP

#include "harness.hpp"

namespace bench {

inline long fib_number(int n) {
  long a = 0;
  long b = 1;
  for (; n > 0; --n) {
    const long next = a + b;
    a = b;
    b = next;
  }
  return a;
}

// `fib(n)` computes it in the library's way.
template <class Fib>
Sample time_fib(const Setup& setup, Fib&& fib) {
  const int n = static_cast<int>(setup.number("n"));
  const int small = n > 20 ? 20 : n;
  check(fib(small) == fib_number(small), "fib(20)");  // warm-up
  Sample total;
  int runs = 0;
  do {
    const Sample one = time_once([&] { check(fib(n) == fib_number(n), "fib(n)"); });
    total.value += one.value;
    total.cpu_s += one.cpu_s;
    ++runs;
  } while (total.value < setup.seconds());
  total.value *= 1e9 / (runs * static_cast<double>(fib_number(n + 1) - 1));
  total.cpu_s /= runs;
  return total;
}

// For libraries whose ULTs are created and joined by handle.
template <class Lib>
struct FibUlt {
  static inline Lib* lib;
  int n;
  long result;

  static void run(void* arg) {
    auto& self = *static_cast<FibUlt*>(arg);
    if (self.n < 2) {
      self.result = self.n;
      return;
    }
    FibUlt forked{self.n - 1, 0};
    FibUlt called{self.n - 2, 0};
    typename Lib::Handle handle;
    lib->template create<run>(handle, &forked);
    run(&called);
    lib->join(handle);
    self.result = forked.result + called.result;
  }
};

template <class Lib>
int fib_ult(int argc, char** argv) {
  const Setup setup(argc, argv, {{"n", "35"}});
  Lib lib;
  lib.init(setup.workers(), Mode::kForkJoin, 0);
  FibUlt<Lib>::lib = &lib;
  const Sample sample = time_fib(setup, [](int n) {
    FibUlt<Lib> root{n, 0};
    typename Lib::Handle handle;
    FibUlt<Lib>::lib->template create<FibUlt<Lib>::run>(handle, &root);
    FibUlt<Lib>::lib->join(handle);
    return root.result;
  });
  setup.report("ns", sample);
  lib.finalize();
  return 0;
}

// For libraries with tasks: `fib(lib, n)`.
template <class Lib, class Fib>
int fib_tasks(int argc, char** argv, Fib&& fib) {
  const Setup setup(argc, argv, {{"n", "35"}});
  report_best<Lib>(setup, "ns", Mode::kForkJoin, [&](Lib& lib) {
    return time_fib(setup, [&](int n) -> long { return fib(lib, n); });
  });
  return 0;
}

}  // namespace bench

#endif  // WEFT_BENCH_FIB_KERNEL_HPP
