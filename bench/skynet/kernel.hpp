// skynet: a tree of tasks, 10 children per node, a million leaves; each leaf gives its number, each
// node the sum of its children. Milliseconds, wall.
#ifndef WEFT_BENCH_SKYNET_KERNEL_HPP
#define WEFT_BENCH_SKYNET_KERNEL_HPP

#include "harness.hpp"

namespace bench {

inline constexpr int kFan = 10;
inline constexpr long kLeaves = 1000000;
inline constexpr long kSum = kLeaves * (kLeaves - 1) / 2;

// `skynet()` walks the tree once.
template <class Skynet>
Sample time_skynet(const Setup& setup, Skynet&& skynet) {
  check(skynet() == kSum, "sum of the leaves");  // warm-up
  Sample total;
  int runs = 0;
  do {
    const Sample one = time_once([&] { check(skynet() == kSum, "sum of the leaves"); });
    total.value += one.value;
    total.cpu_s += one.cpu_s;
    ++runs;
  } while (total.value < setup.seconds());
  total.value *= 1e3 / runs;
  total.cpu_s /= runs;
  return total;
}

// For libraries whose ULTs are created and joined by handle.
template <class Lib>
struct SkynetUlt {
  static inline Lib* lib;
  long first;
  long size;
  long result;

  static void run(void* arg) {
    auto& self = *static_cast<SkynetUlt*>(arg);
    if (self.size == 1) {
      self.result = self.first;
      return;
    }
    SkynetUlt children[kFan];
    typename Lib::Handle handles[kFan];
    const long size = self.size / kFan;
    for (int i = 0; i < kFan; ++i) {
      children[i] = {self.first + i * size, size, 0};
      lib->template create<run>(handles[i], &children[i]);
    }
    self.result = 0;
    for (int i = kFan - 1; i >= 0; --i) {
      lib->join(handles[i]);
      self.result += children[i].result;
    }
  }
};

template <class Lib>
int skynet_ult(int argc, char** argv) {
  const Setup setup(argc, argv, {});
  Lib lib;
  lib.init(setup.workers(), Mode::kForkJoin, 0);
  SkynetUlt<Lib>::lib = &lib;
  const Sample sample = time_skynet(setup, [] {
    SkynetUlt<Lib> root{0, kLeaves, 0};
    SkynetUlt<Lib>::run(&root);
    return root.result;
  });
  setup.report("ms", sample);
  lib.finalize();
  return 0;
}

// For libraries with tasks: `skynet(lib, first, size)`.
template <class Lib, class Skynet>
int skynet_tasks(int argc, char** argv, Skynet&& skynet) {
  const Setup setup(argc, argv, {});
  report_best<Lib>(setup, "ms", Mode::kForkJoin, [&](Lib& lib) {
    return time_skynet(setup, [&]() -> long { return skynet(lib, 0, kLeaves); });
  });
  return 0;
}

}  // namespace bench

#endif  // WEFT_BENCH_SKYNET_KERNEL_HPP
