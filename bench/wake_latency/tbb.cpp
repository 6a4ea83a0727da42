// oneTBB has no event to wait for without holding its thread: here a task is given to an arena
// whose worker sleeps.
#include "library/tbb.hpp"

#include "wake_latency/kernel.hpp"

int main(int argc, char** argv) {
  const bench::Setup setup(argc, argv, {});
  bench::check(setup.workers() == 2, "wake_latency needs two workers");
  const bench::Sample floor = bench::futex_wakes();
  bench::Tbb lib;
  lib.init(2, bench::Mode::kForkJoin, 0);
  bench::Meeting meeting;
  const auto sample =
      bench::time_wakes(meeting, [&] { lib.arena().enqueue([&meeting] { meeting.arrive(); }); });
  setup.report("us", sample, {{"what", "wake"}}, "task_arena::enqueue");
  setup.report("us", floor, {{"what", "futex"}});
  lib.finalize();
}
