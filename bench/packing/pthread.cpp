// The kernel's scheduler: a thread per unit, on fewer CPUs, as `taskset -p` makes them. `active` beyond the CPUs is as many
// as there are.
#include <thread>

#include "packing/kernel.hpp"

int main(int argc, char** argv) {
  const bench::Setup setup = bench::packing_setup(argc, argv);
  bench::measure_packing(
      setup,
      [](long units, uint64_t turns) {
        std::vector<std::thread> all;
        for (long i = 0; i < units; ++i) all.emplace_back([turns] { bench::compute(turns); });
        for (std::thread& thread : all) thread.join();
      },
      [&](long n) {
        cpu_set_t some;
        CPU_ZERO(&some);
        for (long i = 0; i < std::min<long>(n, setup.workers()); ++i) {
          CPU_SET(bench::cpus[static_cast<size_t>(i)], &some);
        }
        bench::check(sched_setaffinity(0, sizeof some, &some) == 0, "sched_setaffinity");
      });
  return 0;
}
