// crowd.hpp: whether regions that several of the program's own threads have open at about the same time have more threads than there
// are CPUs.
//
// Such a thread has a kernel thread of its own, beside those of the workers. Where all of them compute, who looks for something to do
// keeps from its CPU whoever was to bring it: there nobody looks on, nor looks at all if that did not pay the last time (wait.hpp), and
// idle workers sleep at once. Nor does anybody go home (home.hpp): that CPU may be another thread's just then.
// Regions of the main thread alone, which is a ULT, are never a crowd, nor are there any where OMP_WAIT_POLICY says how to wait. For how long
// to look (KMP_BLOCKTIME, GOMP_SPINCOUNT; llama.cpp sets it by itself) is a program's wish for one root: as soon as there are several it counts
// only if it is shorter than what we would do. libgomp and libomp shorten it as well, where there are more threads than CPUs.
//
// Where in a crowd all CPUs are busy, each root keeps to its part of the workers, as if it had a machine of that size. Else a root
// that spins for another one between its regions has a worker, and with it a CPU, while the others' threads share the rest, two kernel
// threads to a CPU: each CPU has something to run, so the kernel moves nobody. In parts whoever is spun for has a CPU to itself, and its
// threads wait for nobody's but its own.
// Where CPUs idle, since one root has more to do than another one, or they take turns, parts are given up, and tried again later, each
// time after twice as long. That is seen in the CPU time that the process has used, and, where all of the machine's CPUs are ours, in how long
// these have had nothing to run: other processes use them, too. (Where they are not, who shares them with others is taken to leave them idle.)
// Rejected: asking the kernel who shares a CPU with whom (each region would have to); idle workers that look under SCHED_IDLE, and so
// have a CPU only if nobody wants it (who is not privileged cannot leave that policy again).
#pragma once

#include <atomic>
#include <cstdint>

#include "part.hpp"
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
  // A ULT opens a region, such as the main thread.
  void ult_opens() noexcept {
    if (!ults_.load(std::memory_order_relaxed)) ults_.store(true, std::memory_order_relaxed);
  }
  // ULTs count as one.
  bool has_several_roots() const noexcept {
    return kernel_threads_.load(std::memory_order_relaxed) + ults_.load(std::memory_order_relaxed) > 1;
  }
  bool possible() const noexcept { return kernel_threads_.load(std::memory_order_relaxed) != 0; }

  // What the last window has had, told to the first one of the next.
  struct Ended {
    bool just_now = false;  // else nothing is told
    int threads = 0;        // 0: the last window is longer ago
    int roots = 0;
  };
  // An outermost region of n threads begins. `window`: its opener's. Returns whether there are more than `most`.
  bool begins(uint64_t& window, int n, int most, uint64_t now_ns, Ended& ended) noexcept;

 private:
  std::atomic<int> kernel_threads_{0};
  std::atomic<bool> ults_{false};
  std::atomic<uint64_t> window_{0};
  std::atomic<int> threads_{0};  // of the regions of this window; of each root those of the first
  std::atomic<int> before_{0};   // of the last one
  std::atomic<int> roots_{0};    // that have had regions in this window
};

// Whether the roots of a crowd keep to parts of the workers. As above: what two do at once may be lost.
class Parting {
 public:
  static constexpr unsigned kBusy = 800;  // of 1000: CPUs do not idle
  static constexpr unsigned kFirstPause = 4, kLongestPause = 64, kPays = 16;  // windows

  // A window has ended, in which there was a crowd or not.
  void window_ends(bool crowd, int roots, unsigned busy_of_1000) noexcept;
  // The same as long as whoever has a part keeps it.
  uint64_t now() const noexcept { return now_.load(std::memory_order_relaxed); }
  // In it, of so many workers. `worker`: where the root is; -1: it has a kernel thread of its own.
  Part part_of_root(uint64_t now, int worker, int workers) noexcept;
  void forget() noexcept { begin(0); }

 private:
  static constexpr unsigned kRootBits = 16;
  static int roots_of(uint64_t now) noexcept { return static_cast<int>(now & ((1u << kRootBits) - 1)); }
  void begin(int roots) noexcept;  // 0: there are no parts

  std::atomic<uint64_t> now_{0};      // how often it has changed, and for how many roots there are parts
  std::atomic<unsigned> taken_{0};    // parts, by kernel threads
  std::atomic<unsigned> pause_{0};    // windows that are to go by before the next try
  std::atomic<unsigned> next_pause_{kFirstPause};
  std::atomic<unsigned> kept_{0};     // windows since parts have been given
};

// The process's.
void crowd_comes();
void crowd_goes();
void crowd_forget(int left);
bool has_several_roots();
// An outermost region of n threads begins: sets Thread::part as well.
bool is_crowd(Thread& root, int n);

}  // namespace weft::omp
