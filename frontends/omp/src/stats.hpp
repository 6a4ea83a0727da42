// stats.hpp: what threads have done, told on stderr when the process ends, where WEFT_OMP_STATS wants it.
//
// Each thread counts what it does in its own Thread, of which none is ever freed; whoever tells adds up. Counting is an addition
// to memory that only its thread writes, so it is always done. The clock is read only where statistics are wanted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace weft::omp {

enum class Work : uint8_t;
struct Member;

enum class Stat : uint8_t {
  kRegions,         // opened, of more than one thread
  kHotRegions,      // of these, those whose threads were all there
  kSerialRegions,   // of one thread
  kThreads,         // started
  kBarriers,        // come to
  kTasks,           // made, and not thrown away; but for the last kind
  kTasksAtOnce,     // of these, those that nobody could have run: too many waited, or it was alone
  kTasksCalled,     // that were nothing but a call
  kSteals,          // tasks taken from another thread
  kSleeps,          // in a wait
  kRegionTime,      // ns, of all threads of the regions that it has opened
  kWaitTime,        // ns in which it had nothing to run; by Work, behind this
  kEnd = kWaitTime + 4
};

class Stats {
 public:
  // Its thread.
  void add(Stat stat, uint64_t n = 1) {
    std::atomic<uint64_t>& sum = x_sums[static_cast<size_t>(stat)];
    sum.store(sum.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  void take_back(Stat stat) { add(stat, ~uint64_t{0}); }
  // Any thread.
  uint64_t of(Stat stat) const { return x_sums[static_cast<size_t>(stat)].load(std::memory_order_relaxed); }
  void clear() {
    for (auto& sum : x_sums) sum.store(0, std::memory_order_relaxed);
  }

 private:
  std::atomic<uint64_t> x_sums[static_cast<size_t>(Stat::kEnd)] = {};
};

// Constant once the runtime has started.
extern bool stats_wanted;

// The runtime starts: reads what is wanted, and sees to it that it is told.
void stats_start();
// In a child of fork(): its own count begins.
void stats_forget();
// All threads together, as they are told; empty: they have done nothing.
std::string stats_text();

// The time of one wait in which nothing was run.
class IdleTime {
 public:
  // The waiting thread has found nothing. Until then, since it did so last, it has run nothing.
  void looked() {
    if (__builtin_expect(stats_wanted, 0)) look();
  }
  // It runs something, or waits no more.
  void ended(const Member& member, Work work) {
    if (__builtin_expect(x_since != 0, 0)) end(member, work);
  }

 private:
  void look();
  void end(const Member& member, Work work);
  uint64_t x_since = 0;  // 0: it does not wait
  uint64_t x_last = 0;
};

}  // namespace weft::omp
