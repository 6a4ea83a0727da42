// idle_cpu: what a runtime that has nothing to do takes of the machine: CPU time of the process in
// per cent of wall time, over 10 s (parameter `for`), with its workers started.
#ifndef WEFT_BENCH_IDLE_CPU_KERNEL_HPP
#define WEFT_BENCH_IDLE_CPU_KERNEL_HPP

#include "harness.hpp"

namespace bench {

template <class Lib>
int idle_cpu(int argc, char** argv) {
  const Setup setup(argc, argv, {{"for", "10"}});
  Lib lib;
  lib.init(setup.workers(), Mode::kForkJoin, 0);
  lib.idle(0.5);  // the start itself, and what spins before it sleeps
  Sample sample = time_once([&] { lib.idle(static_cast<double>(setup.number("for"))); });
  sample.value = 100 * sample.cpu_s / sample.value;
  setup.report("%", sample);
  lib.finalize();
  return 0;
}

}  // namespace bench

#endif  // WEFT_BENCH_IDLE_CPU_KERNEL_HPP
