// barrier: `ults` ULTs in all, dealt to the workers in turn, pass a barrier again and again; ns per
// phase.
#ifndef WEFT_BENCH_BARRIER_KERNEL_HPP
#define WEFT_BENCH_BARRIER_KERNEL_HPP

#include "team.hpp"

namespace bench {

template <class Lib>
void pass_phases(Lib& lib, Mode mode, const Setup& setup, uint64_t phases) {
  typename Lib::Barrier barrier;
  const int ults = static_cast<int>(setup.number("ults"));
  Lib::create_barrier(barrier, ults);
  // Nobody is ever more than a phase ahead of anybody.
  std::vector<uint64_t> at(static_cast<size_t>(ults) * 8);  // one cache line each
  run_team(lib, mode, setup, ults, [&](int self) {
    const size_t next = static_cast<size_t>((self + 1) % ults) * 8;
    for (uint64_t i = 0; i < phases; ++i) {
      __atomic_store_n(&at[static_cast<size_t>(self) * 8], i + 1, __ATOMIC_RELAXED);
      Lib::pass(barrier);
      check(__atomic_load_n(&at[next], __ATOMIC_RELAXED) - (i + 1) <= 1, "everybody had arrived");
    }
  });
}

template <class Lib>
int barrier(int argc, char** argv) {
  const Setup setup(argc, argv, {{"ults", "2"}});
  const Mode mode = mode_of(setup);
  report_best<Lib>(setup, "ns", mode, [&](Lib& lib) {
    return time_per_op(setup, 1, [&](uint64_t n) { pass_phases(lib, mode, setup, n); });
  });
  return 0;
}

}  // namespace bench

#endif  // WEFT_BENCH_BARRIER_KERNEL_HPP
