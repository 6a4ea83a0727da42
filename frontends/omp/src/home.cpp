#include "home.hpp"

#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "os/cpu_set.hpp"
#include "weft/weft.h"

namespace weft::omp {

namespace {

struct Home {
  // constant
  unsigned cpu = 0;
  // its worker
  std::atomic<unsigned> seen{0};  // the CPU where it was when it woke last
};

// Constant once given. By worker; and by CPU whose home it is, -1: nobody's. Never freed: threads look at them until the process is
// gone, while it ends too.
struct Homes {
  std::vector<Home> of_workers;
  std::vector<int> worker_at;
};
std::atomic<Homes*> given{nullptr};

// Whoever carries the caller's worker is on that CPU then, and free to be moved. By its number: the caller may be preempted in
// between, and go on on another kernel thread.
void move_to(unsigned cpu) {
  const pid_t klt = ::gettid();
  cpu_set_t all, one;
  if (sched_getaffinity(klt, sizeof all, &all) != 0 || !CPU_ISSET(cpu, &all)) return;  // it may not go there any more
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  if (sched_setaffinity(klt, sizeof one, &one) == 0) sched_setaffinity(klt, sizeof all, &all);
}

void move_in(void* cpu) { move_to(static_cast<unsigned>(reinterpret_cast<uintptr_t>(cpu))); }

}  // namespace

void homes_give() {
  cpu_set_t all;
  if (sched_getaffinity(0, sizeof all, &all) != 0) return;  // more CPUs than it holds: then there is room enough
  std::vector<unsigned> cpus;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &all)) cpus.push_back(cpu);
  }
  auto* homes = new Homes{std::vector<Home>(weft_worker_count()), std::vector<int>(CPU_SETSIZE, -1)};
  for (unsigned i = 0; i < homes->of_workers.size(); ++i) {
    Home& home = homes->of_workers[i];
    home.cpu = cpus[i % cpus.size()];
    home.seen.store(home.cpu, std::memory_order_relaxed);
    if (homes->worker_at[home.cpu] < 0) homes->worker_at[home.cpu] = static_cast<int>(i);
  }
  given.store(homes, std::memory_order_release);
  for (unsigned i = 0; i < homes->of_workers.size(); ++i) {
    weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
    attr.worker = weft_worker_get(i);
    attr.pinned = true;
    weft_ult_create(move_in, reinterpret_cast<void*>(uintptr_t{homes->of_workers[i].cpu}), &attr, nullptr);
  }
}

int home_of(unsigned worker) {
  const Homes* homes = given.load(std::memory_order_acquire);
  return homes != nullptr && worker < homes->of_workers.size() ? static_cast<int>(homes->of_workers[worker].cpu) : -1;
}

void go_home() {
  Homes* homes = given.load(std::memory_order_acquire);
  if (homes == nullptr) return;
  const auto worker = static_cast<unsigned>(weft_worker_index(weft_worker_self()));
  if (worker >= homes->of_workers.size()) return;
  Home& mine = homes->of_workers[worker];
  // Not sched_getcpu(): that asks what the kernel keeps up to date of one kernel thread, beside a thread pointer that is a ULT's.
  const int now = rt::cpu_now();
  if (now < 0) return;
  const auto cpu = static_cast<unsigned>(now);
  // Others' are a moment's: whoever is wrongly thought to be there has a worker moved to where it may be anyway.
  mine.seen.store(cpu, std::memory_order_relaxed);
  if (cpu == mine.cpu || cpu >= homes->worker_at.size()) return;
  const int other = homes->worker_at[cpu];
  if (other < 0 || homes->of_workers[static_cast<size_t>(other)].seen.load(std::memory_order_relaxed) != cpu) return;
  move_to(mine.cpu);
  mine.seen.store(mine.cpu, std::memory_order_relaxed);
}

}  // namespace weft::omp
