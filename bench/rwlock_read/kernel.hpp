// rwlock_read: `ults` ULTs per worker lock and unlock for reading; nobody writes. ns per pair of one
// worker: wall time divided by the pairs that its ULTs did.
#ifndef WEFT_BENCH_RWLOCK_READ_KERNEL_HPP
#define WEFT_BENCH_RWLOCK_READ_KERNEL_HPP

#include "team.hpp"

namespace bench {

template <class Lib>
void read_all(Lib& lib, Mode mode, const Setup& setup, uint64_t pairs) {
  struct {
    alignas(64) typename Lib::RwLock lock;
    alignas(64) uint64_t value = 1;  // guarded by it
  } shared;
  Lib::create_rwlock(shared.lock);
  const int ults = static_cast<int>(setup.number("ults")) * setup.workers();
  std::atomic<uint64_t> sum{0};
  run_team(lib, mode, setup, ults, [&](int) {
    uint64_t mine = 0;
    for (uint64_t i = 0; i < pairs; ++i) {
      Lib::read_lock(shared.lock);
      mine += *const_cast<volatile uint64_t*>(&shared.value);
      Lib::read_unlock(shared.lock);
    }
    sum.fetch_add(mine, std::memory_order_relaxed);
  });
  check(sum.load() == pairs * static_cast<uint64_t>(ults), "number of pairs");
}

template <class Lib>
int rwlock_read(int argc, char** argv) {
  const Setup setup(argc, argv, {{"ults", "1"}});
  const Mode mode = mode_of(setup);
  const auto ults = static_cast<double>(setup.number("ults"));
  report_best<Lib>(setup, "ns", mode, [&](Lib& lib) {
    return time_per_op(setup, ults, [&](uint64_t n) { read_all(lib, mode, setup, n); });
  });
  return 0;
}

}  // namespace bench

#endif  // WEFT_BENCH_RWLOCK_READ_KERNEL_HPP
