// preempt_cost: one preemption, in ns, by the method of Table 1 of "Lightweight Preemptive User-Level
// Threads": two ULTs on one worker note the time again and again; what lies between the last note of one
// and the first of the other is what the change has taken, the interrupt included. The median.
//
// pthreads are preempted when the kernel thinks it right, whatever interval_us says.
#ifndef WEFT_BENCH_PREEMPT_COST_KERNEL_HPP
#define WEFT_BENCH_PREEMPT_COST_KERNEL_HPP

#include <algorithm>
#include <atomic>
#include <vector>

#include "harness.hpp"

namespace bench {

inline constexpr double kAway = 100e-6;   // who has not noted the time for so long was away
inline constexpr size_t kFewestChanges = 200;

struct Notes {
  std::atomic<double> last[2] = {0, 0};
  std::atomic<bool> done{false};
};

template <class Lib>
struct Noting {
  Notes* notes;
  int self;
  size_t wanted;
  std::vector<double> gaps{};  // before it goes on

  static void run(void* arg) {
    auto& me = *static_cast<Noting*>(arg);
    Notes& notes = *me.notes;
    std::atomic<double>& mine = notes.last[me.self];
    const std::atomic<double>& others = notes.last[1 - me.self];
    mine.store(wall_s(), std::memory_order_relaxed);
    while (!notes.done.load(std::memory_order_relaxed)) {
      const double now = wall_s();
      const double other = others.load(std::memory_order_relaxed);
      if (now - mine.load(std::memory_order_relaxed) > kAway && other != 0) {
        me.gaps.push_back(now - other);
        if (me.gaps.size() == me.wanted) {
          notes.done = true;
        }
      }
      mine.store(now, std::memory_order_relaxed);
    }
  }
};

template <class Lib>
int preempt_cost(int argc, char** argv) {
  const Setup setup(argc, argv, {{"kind", "klt_switching"}, {"interval_us", "10000"}});
  check(setup.workers() == 1, "preempt_cost is about one worker");
  Notes notes;
  const double changes = setup.seconds() * 1e6 / static_cast<double>(setup.number("interval_us"));
  const size_t each = std::max(static_cast<size_t>(changes), kFewestChanges) / 2;
  Lib lib;
  lib.init(1, Mode::kPinned, 0);
  lib.ticks(setup.text("kind"), setup.number("interval_us"));
  Noting<Lib> pair[2] = {{&notes, 0, each}, {&notes, 1, each}};
  for (auto& ult : pair) {
    ult.gaps.reserve(each + 1);  // preempted in malloc, a ULT by signal-yield could not go on
  }
  typename Lib::Handle handles[2];
  const double cpu = cpu_s();
  for (int i = 0; i < 2; ++i) {
    lib.template create_on<Noting<Lib>::run>(0, handles[i], &pair[i]);
  }
  for (auto& handle : handles) {
    lib.join(handle);
  }
  const double spent = cpu_s() - cpu;
  lib.no_ticks();
  std::vector<double> gaps = pair[0].gaps;
  gaps.insert(gaps.end(), pair[1].gaps.begin(), pair[1].gaps.end());
  std::sort(gaps.begin(), gaps.end());
  setup.report("ns", {1e9 * gaps[gaps.size() / 2], spent});
  lib.finalize();
  return 0;
}

}  // namespace bench

#endif  // WEFT_BENCH_PREEMPT_COST_KERNEL_HPP
