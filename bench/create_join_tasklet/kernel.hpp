// create_join_tasklet: creates 256 units that run to completion, and joins them in the order of
// creation, on one worker; ns per unit.
#ifndef WEFT_BENCH_CREATE_JOIN_TASKLET_KERNEL_HPP
#define WEFT_BENCH_CREATE_JOIN_TASKLET_KERNEL_HPP

#include "harness.hpp"

namespace bench {

inline constexpr int kInFlight = 256;

inline void count_one(void* done) {
  auto& count = *static_cast<volatile uint32_t*>(done);
  count = count + 1;
}

template <class Lib>
void create_join_tasklets(Lib& lib, uint64_t rounds) {
  static typename Lib::Tasklet handles[kInFlight];
  for (uint64_t round = 0; round < rounds; ++round) {
    uint32_t done = 0;
    for (auto& handle : handles) {
      lib.template create_tasklet<count_one>(handle, &done);
    }
    for (auto& handle : handles) {
      lib.join_tasklet(handle);
    }
    check(done == kInFlight, "not every tasklet has run once");
  }
}

template <class Lib>
int create_join_tasklet(int argc, char** argv) {
  const Setup setup(argc, argv, {});
  report_best<Lib>(setup, "ns", Mode::kPlain, [&](Lib& lib) {
    return time_per_op(setup, kInFlight, [&](uint64_t n) { create_join_tasklets(lib, n); });
  });
  return 0;
}

// For libraries with tasks rather than handles: `round(done)` makes 256 tasks that count, and waits
// for all of them.
template <class Lib, class Round>
void report_task_rounds(const Setup& setup, Round&& round) {
  report_best<Lib>(setup, "ns", Mode::kPlain, [&](Lib& lib) {
    return time_per_op(setup, kInFlight, [&](uint64_t n) {
      for (uint64_t i = 0; i < n; ++i) {
        uint32_t done = 0;
        round(lib, &done);
        check(done == kInFlight, "not every task has run once");
      }
    });
  });
}

}  // namespace bench

#endif  // WEFT_BENCH_CREATE_JOIN_TASKLET_KERNEL_HPP
