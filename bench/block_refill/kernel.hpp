// block_refill: from a ULT's blocking read() to another ULT running on that core; ns, the median.
//
// One reads from an empty pipe; the other one, which is ready, runs then, takes the time, and writes. The reader passes
// through the library before it reads again, so that it has its place back.
#ifndef WEFT_BENCH_BLOCK_REFILL_KERNEL_HPP
#define WEFT_BENCH_BLOCK_REFILL_KERNEL_HPP

#include <algorithm>
#include <atomic>

#include "harness.hpp"

namespace bench {

inline constexpr int kBlocks = 2000;
inline constexpr int kFirstBlocks = 100;  // while the library makes the threads that it needs

template <class Lib>
struct Refill {
  int pipe[2];
  std::atomic<int> reads{0};
  double began = 0;
  std::vector<double> took;

  static void read_all(void* arg) {
    auto& self = *static_cast<Refill*>(arg);
    for (int i = 1; i <= kBlocks; ++i) {
      Lib::yield();
      char byte;
      self.began = wall_s();
      self.reads.store(i, std::memory_order_release);
      check(read(self.pipe[0], &byte, 1) == 1, "read");
    }
  }

  static void run_then(void* arg) {
    auto& self = *static_cast<Refill*>(arg);
    for (int i = 1; i <= kBlocks; ++i) {
      while (self.reads.load(std::memory_order_acquire) < i) {
        sched_yield();  // the kernel's thread that has just been woken may need the core
        Lib::yield();
      }
      self.took.push_back(1e9 * (wall_s() - self.began));
      check(write(self.pipe[1], "", 1) == 1, "write");
    }
  }
};

// `init()` starts the library; returns what is to be noted of it.
template <class Lib, class Init>
int block_refill(const Setup& setup, Lib& lib, Init&& init) {
  check(setup.workers() == 1, "block_refill is for one worker");
  const std::string note = init();
  Refill<Lib> refill;
  check(pipe(refill.pipe) == 0, "pipe");
  const double cpu = cpu_s();
  typename Lib::Handle reader{};
  typename Lib::Handle other{};
  lib.template create<Refill<Lib>::run_then>(other, &refill);
  lib.template create<Refill<Lib>::read_all>(reader, &refill);
  lib.join(reader);
  lib.join(other);
  auto& took = refill.took;
  took.erase(took.begin(), took.begin() + kFirstBlocks);
  std::sort(took.begin(), took.end());
  setup.report("ns", {took[took.size() / 2], cpu_s() - cpu}, {}, note);
  lib.finalize();
  return 0;
}

}  // namespace bench

#endif  // WEFT_BENCH_BLOCK_REFILL_KERNEL_HPP
