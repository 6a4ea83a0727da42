// As many workers as units, a pool for each, the packing scheduler. preemption=none: units leave only when they end.
#include <weft/preempt.h>

#include "library/weft.hpp"
#include "packing/kernel.hpp"

namespace {

void must(int error) { bench::check(error == WEFT_OK, weft_strerror(error)); }

// main() runs on worker 0, and is part of the group.
class Group {
 public:
  explicit Group(size_t n) : pools_(n), scheds_(n), workers_(n), before_(weft_worker_sched(weft_worker_self())) {
    for (weft_pool_t& pool : pools_) must(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &pool));
    for (size_t i = 0; i < n; ++i) {
      std::vector<weft_pool_t> own_first;
      for (size_t j = 0; j < n; ++j) own_first.push_back(pools_[(i + j) % n]);
      must(weft_sched_create(WEFT_SCHED_PACKING, n, own_first.data(), &scheds_[i]));
    }
    for (size_t i = 1; i < n; ++i) {
      must(weft_worker_create(scheds_[i], &workers_[i]));
      must(weft_worker_bind(workers_[i], bench::cpus[i % bench::cpus.size()]));
    }
    must(weft_worker_set_sched(weft_worker_self(), scheds_[0]));
  }
  ~Group() {
    must(weft_workers_set_active(1));
    while (weft_worker_index(weft_worker_self()) != 0) weft_yield();
    must(weft_worker_set_sched(weft_worker_self(), before_));
    weft_yield();
    for (size_t i = 1; i < workers_.size(); ++i) must(weft_worker_free(&workers_[i]));
    for (weft_sched_t& sched : scheds_) must(weft_sched_free(&sched));
    for (weft_pool_t& pool : pools_) must(weft_pool_free(&pool));
  }
  void step(size_t units, uint64_t turns) {
    std::vector<weft_unit_t> all(units);
    for (size_t i = 0; i < units; ++i) {
      weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
      attr.pool = pools_[i];
      must(weft_ult_create([](void* n) { bench::compute(*static_cast<uint64_t*>(n)); }, &turns, &attr, &all[i]));
    }
    must(weft_free_many(units, all.data()));
  }

 private:
  std::vector<weft_pool_t> pools_;
  std::vector<weft_sched_t> scheds_;
  std::vector<weft_worker_t> workers_;
  weft_sched_t before_;
};

void set_ticks(const bench::Setup& setup) {
  const std::string& kind = setup.text("preemption");
  if (kind == "none") return;
  const bool by_signal = kind == "signal_yield";
  must(weft_preemption_set_default(by_signal ? WEFT_PREEMPTION_SIGNAL_YIELD : WEFT_PREEMPTION_KLT_SWITCHING));
  must(weft_preemption_set_interval(static_cast<uint64_t>(setup.number("interval_us")) * 1000));
  must(weft_preemption_set_mode(WEFT_PREEMPTION_ON));
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Setup setup = bench::packing_setup(argc, argv);
  bench::Weft lib;
  lib.init(1, bench::Mode::kPlain, 0);
  set_ticks(setup);
  {
    Group group(static_cast<size_t>(setup.number("threads")));
    bench::measure_packing(
        setup, [&](long units, uint64_t turns) { group.step(static_cast<size_t>(units), turns); },
        [](long n) { must(weft_workers_set_active(static_cast<unsigned>(n))); });
  }
  lib.finalize();
  return 0;
}
