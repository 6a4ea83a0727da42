// All units lie in one pool of kind PRIORITY, which a worker on each CPU serves.
#include <weft/preempt.h>
#include <weft/sync.h>

#include "library/weft.hpp"
#include "preempt_latency/kernel.hpp"

namespace {

void must(int error) { bench::check(error == WEFT_OK, weft_strerror(error)); }

struct Units {
  bench::Latency latency;
  weft_event_t event = WEFT_EVENT_INIT;
};

void low(void* arg) {
  auto& units = *static_cast<Units*>(arg);
  for (volatile unsigned turns = 0; !units.latency.ends();) turns = turns + 1;
}

void high(void* arg) {
  auto& units = *static_cast<Units*>(arg);
  for (;;) {
    weft_event_wait(&units.event);
    weft_event_reset(&units.event);
    if (units.latency.ends()) return;
    units.latency.woke();
    units.latency.ran();
  }
}

void set_ticks(const bench::Setup& setup) {
  const bool by_signal = setup.text("kind") == "signal_yield";
  const bool automatic = setup.text("mode") == "auto";
  must(weft_preemption_set_default(by_signal ? WEFT_PREEMPTION_SIGNAL_YIELD : WEFT_PREEMPTION_KLT_SWITCHING));
  must(weft_preemption_set_interval(static_cast<uint64_t>(setup.number("interval_us")) * 1000));
  must(weft_preemption_set_mode(automatic ? WEFT_PREEMPTION_AUTO : WEFT_PREEMPTION_ON));
}

weft_unit_t create(void (*f)(void*), Units& units, weft_pool_t pool, int priority) {
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.pool = pool;
  attr.priority = priority;
  weft_unit_t unit;
  must(weft_ult_create(f, &units, &attr, &unit));
  return unit;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Setup setup = bench::latency_setup(argc, argv);
  bench::Weft lib;
  lib.init(1, bench::Mode::kPlain, 0);
  set_ticks(setup);
  weft_pool_t pool;
  must(weft_pool_create(WEFT_POOL_PRIORITY, WEFT_ACCESS_MPMC, &pool));
  std::vector<weft_sched_t> scheds(static_cast<size_t>(setup.workers()));
  std::vector<weft_worker_t> workers(scheds.size());
  for (size_t i = 0; i < scheds.size(); ++i) {
    must(weft_sched_create(WEFT_SCHED_BASIC, 1, &pool, &scheds[i]));
    must(weft_worker_create(scheds[i], &workers[i]));
    must(weft_worker_bind(workers[i], bench::cpus[i]));
  }
  Units units{bench::Latency(setup)};
  std::vector<weft_unit_t> all{create(high, units, pool, 7)};
  for (int i = 0; i < bench::kLowPerCpu * setup.workers(); ++i) all.push_back(create(low, units, pool, 1));
  const double cpu = bench::cpu_s();
  std::thread driver([&] { units.latency.drive([&] { weft_event_set(&units.event); }); });
  for (weft_unit_t& unit : all) must(weft_free(&unit));
  driver.join();
  units.latency.report(setup, bench::cpu_s() - cpu);
  for (size_t i = 0; i < scheds.size(); ++i) {
    must(weft_worker_free(&workers[i]));
    must(weft_sched_free(&scheds[i]));
  }
  must(weft_pool_free(&pool));
  lib.finalize();
  return 0;
}
