// identity_memory: what a control block costs that is ready for a ULT, or in use by one that has not begun, beside a kernel
// thread with a stack of 16 KiB that sleeps. what=user: KiB resident in the process; what=kernel: KiB of the kernel's stacks, of
// the whole machine, so that others should start no threads meanwhile; what=all: both.
#ifndef WEFT_BENCH_IDENTITY_MEMORY_KERNEL_HPP
#define WEFT_BENCH_IDENTITY_MEMORY_KERNEL_HPP

#include <cstdio>

#include "harness.hpp"

namespace bench {

struct Kib {
  double user, kernel;

  static Kib now() { return {find("/proc/self/smaps_rollup", "Rss: %lf"), find("/proc/meminfo", "KernelStack: %lf")}; }

 private:
  static double find(const char* path, const char* line_format) {
    std::FILE* const file = std::fopen(path, "r");
    check(file != nullptr, path);
    double found = 0;
    char line[256];
    while (std::fgets(line, sizeof line, file) != nullptr && std::sscanf(line, line_format, &found) != 1) {}
    std::fclose(file);
    return found;
  }
};

// Make makes n of them, and its destructor ends them.
template <class Make>
int identity_memory(int argc, char** argv) {
  const Setup setup(argc, argv, {{"n", "1000"}});
  const long n = setup.number("n");
  const double cpu = cpu_s();
  Make make;
  make(n / 10);  // what all of them share
  const Kib before = Kib::now();
  make(n);
  const Kib after = Kib::now();
  const double spent = cpu_s() - cpu;
  const auto count = static_cast<double>(n);
  const double user = (after.user - before.user) / count;
  const double kernel = (after.kernel - before.kernel) / count;
  setup.report("KiB", {user, spent}, {{"what", "user"}});
  setup.report("KiB", {kernel, spent}, {{"what", "kernel"}});
  setup.report("KiB", {user + kernel, spent}, {{"what", "all"}});
  return 0;
}

}  // namespace bench

#endif  // WEFT_BENCH_IDENTITY_MEMORY_KERNEL_HPP
