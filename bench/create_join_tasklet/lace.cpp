#include "library/lace.hpp"

#include "create_join_tasklet/kernel.hpp"

VOID_TASK_1(one, uint32_t*, done) { bench::count_one(done); }

VOID_TASK_1(round_of_tasks, uint32_t*, done) {
  for (int i = 0; i < bench::kInFlight; ++i) {
    SPAWN(one, done);
  }
  for (int i = 0; i < bench::kInFlight; ++i) {
    SYNC(one);
  }
}

VOID_TASK_1(rounds_of_tasks, uint64_t, n) {
  for (uint64_t i = 0; i < n; ++i) {
    uint32_t done = 0;
    CALL(round_of_tasks, &done);
    bench::check(done == bench::kInFlight, "not every task has run once");
  }
}

int main(int argc, char** argv) {
  const bench::Setup setup(argc, argv, {});
  bench::report_best<bench::Lace>(setup, "ns", bench::Mode::kPlain, [&](bench::Lace&) {
    return bench::time_per_op(setup, bench::kInFlight, [](uint64_t n) { RUN(rounds_of_tasks, n); });
  });
}
