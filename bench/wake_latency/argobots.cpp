// Argobots' default scheduler polls; this is the one that sleeps (ABT_SCHED_BASIC_WAIT with
// ABT_POOL_FIFO_WAIT), on the second execution stream.
#include <abt.h>

#include "wake_latency/kernel.hpp"

namespace {

struct Waiter {
  ABT_eventual eventual;
  bench::Meeting meeting;

  static void run(void* arg) {
    auto& self = *static_cast<Waiter*>(arg);
    for (int i = 0; i < bench::kWakes; ++i) {
      ABT_eventual_wait(self.eventual, nullptr);
      ABT_eventual_reset(self.eventual);
      self.meeting.arrive();
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  const bench::Setup setup(argc, argv, {});
  bench::check(setup.workers() == 2, "wake_latency needs two workers");
  const bench::Sample floor = bench::futex_wakes();
  ABT_init(0, nullptr);
  ABT_pool pool;
  ABT_pool_create_basic(ABT_POOL_FIFO_WAIT, ABT_POOL_ACCESS_MPMC, ABT_TRUE, &pool);
  ABT_xstream xstream;
  ABT_xstream_create_basic(ABT_SCHED_BASIC_WAIT, 1, &pool, ABT_SCHED_CONFIG_NULL, &xstream);
  Waiter waiter{};
  ABT_eventual_create(0, &waiter.eventual);
  ABT_thread thread;
  ABT_thread_create(pool, Waiter::run, &waiter, ABT_THREAD_ATTR_NULL, &thread);
  const auto sample =
      bench::time_wakes(waiter.meeting, [&] { ABT_eventual_set(waiter.eventual, nullptr, 0); });
  setup.report("us", sample, {{"what", "wake"}}, "scheduler BASIC_WAIT");
  setup.report("us", floor, {{"what", "futex"}});
  ABT_thread_free(&thread);
  ABT_xstream_join(xstream);
  ABT_xstream_free(&xstream);
  ABT_eventual_free(&waiter.eventual);
  ABT_finalize();
}
