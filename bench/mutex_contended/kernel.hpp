// mutex_contended: `ults` ULTs per worker lock and unlock one mutex. The kernel of Argobots' own
// benchmark (sync_ops): the result is wall time divided by the pairs of one ULT, that is, ns for a
// round in which every ULT locks and unlocks once. (sync_ops itself starts its clock when one of ten
// ULTs is done already, and prints nine tenths of this on one worker.)
//
// hold=nothing: the section is empty, as there: on one worker nobody ever finds it locked, on two
// the workers fight for it. hold=yield: who holds it yields, so all others come and queue.
#ifndef WEFT_BENCH_MUTEX_CONTENDED_KERNEL_HPP
#define WEFT_BENCH_MUTEX_CONTENDED_KERNEL_HPP

#include "team.hpp"

namespace bench {

template <class Lib>
void contend(Lib& lib, Mode mode, const Setup& setup, bool yields, uint64_t pairs) {
  struct {
    alignas(64) typename Lib::Mutex mutex;
    alignas(64) uint64_t count = 0;  // guarded by it
  } shared;
  Lib::create_mutex(shared.mutex);
  const int ults = static_cast<int>(setup.number("ults")) * setup.workers();
  run_team(lib, mode, setup, ults, [&](int) {
    for (uint64_t i = 0; i < pairs; ++i) {
      Lib::lock(shared.mutex);
      *const_cast<volatile uint64_t*>(&shared.count) = shared.count + 1;
      if (yields) {
        Lib::yield();
      }
      Lib::unlock(shared.mutex);
    }
  });
  check(shared.count == pairs * static_cast<uint64_t>(ults), "number of pairs");
}

template <class Lib>
int mutex_contended(int argc, char** argv) {
  const Setup setup(argc, argv, {{"ults", "10"}, {"hold", "nothing"}});
  const std::string& hold = setup.text("hold");
  check(hold == "nothing" || hold == "yield", "hold: nothing, yield");
  const Mode mode = mode_of(setup);
  report_best<Lib>(setup, "ns", mode, [&](Lib& lib) {
    return time_per_op(setup, 1, [&](uint64_t n) {
      contend(lib, mode, setup, hold == "yield", n);
    });
  });
  return 0;
}

}  // namespace bench

#endif  // WEFT_BENCH_MUTEX_CONTENDED_KERNEL_HPP
