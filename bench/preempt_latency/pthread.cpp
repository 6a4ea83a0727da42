// The kernel's own: the low ones are nice 19, which needs no privilege; the high one is not.
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "preempt_latency/kernel.hpp"

namespace {

struct Units {
  bench::Latency latency;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  bool woken = false;
};

void low(Units& units) {
  bench::check(setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), 19) == 0, "nice 19");
  for (volatile unsigned turns = 0; !units.latency.ends();) turns = turns + 1;
}

void high(Units& units) {
  for (;;) {
    pthread_mutex_lock(&units.mutex);
    while (!units.woken) pthread_cond_wait(&units.cond, &units.mutex);
    units.woken = false;
    pthread_mutex_unlock(&units.mutex);
    if (units.latency.ends()) return;
    units.latency.woke();
    units.latency.ran();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Setup setup = bench::latency_setup(argc, argv);
  Units units{bench::Latency(setup)};
  std::vector<std::thread> all;
  for (int cpu = 0; cpu < setup.workers(); ++cpu) {
    for (int i = 0; i < bench::kLowPerCpu; ++i) {
      all.emplace_back([&, cpu] {
        bench::bind_to_cpu_of(cpu);
        low(units);
      });
    }
  }
  all.emplace_back([&] { high(units); });
  const double cpu = bench::cpu_s();
  units.latency.drive([&] {
    pthread_mutex_lock(&units.mutex);
    units.woken = true;
    pthread_cond_signal(&units.cond);
    pthread_mutex_unlock(&units.mutex);
  });
  for (std::thread& thread : all) thread.join();
  units.latency.report(setup, bench::cpu_s() - cpu);
  return 0;
}
