// preempt_overhead: by how much ULTs that compute are slowed down by being preempted: the method of Figure 6
// of "Lightweight Preemptive User-Level Threads". Each worker has ten ULTs of its own, which add to a
// volatile number; reported is time with ticks / time without - 1, a fraction.
//
// The two alternate in one process, and each is stood for by its lower quartile: the effect is smaller than
// what a virtual machine loses at times. kind=timer: ticks, but ULTs that do not leave. kind=auto: one ULT
// for each worker, so that nobody waits for it.
#ifndef WEFT_BENCH_PREEMPT_OVERHEAD_KERNEL_HPP
#define WEFT_BENCH_PREEMPT_OVERHEAD_KERNEL_HPP

#include <algorithm>
#include <atomic>
#include <vector>

#include "harness.hpp"

namespace bench {

inline constexpr size_t kComputing = 10;     // ULTs for each worker
inline constexpr double kRound = 0.1;        // seconds of computing in a sample, about
inline constexpr int kFewestPairs = 30;

inline void add_up(uint64_t iterations) {
  volatile float sum = 0;
  for (uint64_t i = 0; i < iterations; ++i) {
    sum = sum + 1e-6f;
  }
}

template <class Lib>
struct Computing {
  uint64_t iterations;
  static void run(void* arg) { add_up(static_cast<Computing*>(arg)->iterations); }
};

// A ULT on each worker that creates the worker's others and times them. They start together.
template <class Lib>
struct Foreman {
  Lib* lib;
  int worker, workers;
  size_t ults;
  uint64_t iterations;
  std::atomic<int>* ready;
  double seconds;

  static void run(void* arg) {
    auto& me = *static_cast<Foreman*>(arg);
    Computing<Lib> computing{me.iterations};
    std::vector<typename Lib::Handle> handles(me.ults);
    me.ready->fetch_add(1);
    while (me.ready->load() < me.workers) {
    }
    const double start = wall_s();
    for (auto& handle : handles) {
      me.lib->template create_on<Computing<Lib>::run>(me.worker, handle, &computing);
    }
    for (auto& handle : handles) {
      me.lib->join(handle);
    }
    me.seconds = wall_s() - start;
  }
};

// Mean of the workers' times.
template <class Lib>
double time_computing(Lib& lib, int workers, size_t ults, uint64_t iterations) {
  std::atomic<int> ready{0};
  std::vector<Foreman<Lib>> foremen;
  for (int worker = 0; worker < workers; ++worker) {
    foremen.push_back({&lib, worker, workers, ults, iterations, &ready, 0});
  }
  std::vector<typename Lib::Handle> handles(foremen.size());
  for (size_t i = 0; i < foremen.size(); ++i) {
    lib.template create_on<Foreman<Lib>::run>(static_cast<int>(i), handles[i], &foremen[i]);
  }
  double sum = 0;
  for (size_t i = 0; i < foremen.size(); ++i) {
    lib.join(handles[i]);
    sum += foremen[i].seconds;
  }
  return sum / workers;
}

inline double lower_quartile(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 4];
}

// Lib::ticks(kind, interval_us) starts them, Lib::no_ticks() ends them.
template <class Lib>
int preempt_overhead(int argc, char** argv) {
  const Setup setup(argc, argv, {{"kind", "klt_switching"}, {"interval_us", "1000"}});
  const size_t ults = setup.text("kind") == "auto" ? 1 : kComputing;
  Lib lib;
  lib.init(setup.workers(), Mode::kPinned, 0);
  const double million = time_once([] { add_up(1'000'000); }).value;
  const auto iterations = static_cast<uint64_t>(1e6 * kRound / million / static_cast<double>(ults));
  std::vector<double> with, without;
  const double begin = wall_s(), cpu = cpu_s();
  // The first pair warms up: kernel threads are made.
  for (int pair = 0; pair <= kFewestPairs || wall_s() - begin < setup.seconds(); ++pair) {
    lib.no_ticks();
    const double bare = time_computing(lib, setup.workers(), ults, iterations);
    lib.ticks(setup.text("kind"), setup.number("interval_us"));
    const double sliced = time_computing(lib, setup.workers(), ults, iterations);
    if (pair > 0) {
      without.push_back(bare);
      with.push_back(sliced);
    }
  }
  lib.no_ticks();
  setup.report("fraction", {lower_quartile(with) / lower_quartile(without) - 1, cpu_s() - cpu});
  lib.finalize();
  return 0;
}

}  // namespace bench

#endif  // WEFT_BENCH_PREEMPT_OVERHEAD_KERNEL_HPP
