// crowd.hpp: whether regions that several of the program's own threads have open at about the same time have more threads than there
// are CPUs.
//
// Such a thread has a kernel thread of its own, beside those of the workers. Where all of them compute, who looks for something to do
// keeps from its CPU whoever was to bring it: there nobody looks on, nor looks at all if that did not pay the last time (wait.hpp), and
// idle workers sleep at once. Nor does anybody go home (home.hpp): that CPU may be another thread's just then.
// Regions of the main thread alone, which is a ULT, are never a crowd, nor are there any where the program says how to wait.
#pragma once

#include <atomic>
#include <cstdint>

#include "team.hpp"

namespace weft::omp {

// What is written by two at once may be lost: it is good for a window, and decides no more than how to wait.
class Crowd {
 public:
  // Regions that have begun in the same window, or the one before, count as open at the same time.
  static constexpr uint64_t kWindowNs = 50'000'000;

  // A kernel thread of the program's has begun to use OpenMP, or does no more.
  void comes() noexcept { kernel_threads_.fetch_add(1, std::memory_order_relaxed); }
  void goes() noexcept { kernel_threads_.fetch_sub(1, std::memory_order_relaxed); }
  // In a child of fork().
  void forget(int left) noexcept { kernel_threads_.store(left, std::memory_order_relaxed); }
  bool possible() const noexcept { return kernel_threads_.load(std::memory_order_relaxed) != 0; }

  // An outermost region of n threads begins. `window`: its opener's. Returns whether there are more than `most`.
  bool begins(uint64_t& window, int n, int most, uint64_t now_ns) noexcept;

 private:
  std::atomic<int> kernel_threads_{0};
  std::atomic<uint64_t> window_{0};
  std::atomic<int> threads_{0};  // of the regions of this window; of each root those of the first
  std::atomic<int> before_{0};   // of the last one
};

// The process's.
void crowd_comes();
void crowd_goes();
void crowd_forget(int left);
bool is_crowd(Thread& root, int n);

}  // namespace weft::omp
