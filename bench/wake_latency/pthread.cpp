#include "wake_latency/kernel.hpp"

int main(int argc, char** argv) {
  const bench::Setup setup(argc, argv, {});
  bench::check(setup.workers() == 2, "wake_latency needs two workers");
  setup.report("us", bench::futex_wakes(), {{"what", "futex"}});
}
