// cond_pingpong: two ULTs, one mutex, a condition variable for each of them; ns per round trip, that
// is, two signals and two waits. Each signals with the mutex held, and its wait unlocks it.
#ifndef WEFT_BENCH_COND_PINGPONG_KERNEL_HPP
#define WEFT_BENCH_COND_PINGPONG_KERNEL_HPP

#include "team.hpp"

namespace bench {

template <class Lib>
void play(Lib& lib, Mode mode, const Setup& setup, uint64_t rounds) {
  struct {
    typename Lib::Mutex mutex;
    typename Lib::Cond cond[2];
    int turn = 0;        // guarded by mutex
    uint64_t turns = 0;  // guarded by mutex
  } table;
  Lib::create_mutex(table.mutex);
  Lib::create_cond(table.cond[0]);
  Lib::create_cond(table.cond[1]);
  run_team(lib, mode, setup, 2, [&](int self) {
    Lib::lock(table.mutex);
    for (uint64_t i = 0; i < rounds; ++i) {
      while (table.turn != self) {
        Lib::wait(table.cond[self], table.mutex);
      }
      table.turn = 1 - self;
      ++table.turns;
      Lib::signal(table.cond[1 - self]);
    }
    Lib::unlock(table.mutex);
  });
  check(table.turns == 2 * rounds, "number of turns");
}

template <class Lib>
int cond_pingpong(int argc, char** argv) {
  const Setup setup(argc, argv, {{"sides", "together"}});
  const Mode mode = mode_of(setup, setup.text("sides"));
  report_best<Lib>(setup, "ns", mode, [&](Lib& lib) {
    return time_per_op(setup, 1, [&](uint64_t n) { play(lib, mode, setup, n); });
  });
  return 0;
}

}  // namespace bench

#endif  // WEFT_BENCH_COND_PINGPONG_KERNEL_HPP
