#include "home.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "front/front.hpp"
#include "os/clock.hpp"
#include "os/cpu_set.hpp"
#include "os/proc_file.hpp"
#include "weft/weft.h"

namespace weft::omp {

namespace {

struct Home {
  // the first worker
  std::atomic<unsigned> cpu{0};
  // its worker
  std::atomic<unsigned> seen{0};  // the CPU where it was when it woke last
  std::atomic<uint64_t> not_before{0};  // ns; it stays where it is until then
  std::atomic<uint64_t> waited{0};      // ns; when it last waited at another one's home
  std::atomic<unsigned> in_a_row{0};    // so often it has done so soon after the time before
};

// By worker; and by CPU whose home it is, of those that share one the first's, -1: nobody's: the first worker. Never freed: threads look
// at them until the process is gone, while it ends too.
struct Homes {
  std::vector<Home> of_workers;
  std::vector<std::atomic<int>> worker_at;
  std::atomic<unsigned long> cpus{0};  // of the machine; 0: nobody has asked yet
};
std::atomic<Homes*> given{nullptr};

// So long a machine with more threads to run than CPUs is taken to stay so.
constexpr uint64_t kFullForNs = 10'000'000;

// Only the first worker does it, one ULT at a time: it may be preempted in between, and another one then finds it half done.
std::atomic_flag changing = ATOMIC_FLAG_INIT;
void change_homes(Homes& homes, unsigned other) {
  if (changing.test_and_set(std::memory_order_acquire)) return;
  Home& mine = homes.of_workers[0];
  Home& others = homes.of_workers[other];
  const unsigned from = mine.cpu.load(std::memory_order_relaxed), to = others.cpu.load(std::memory_order_relaxed);
  mine.cpu.store(to, std::memory_order_relaxed);
  others.cpu.store(from, std::memory_order_relaxed);
  homes.worker_at[to].store(0, std::memory_order_relaxed);
  homes.worker_at[from].store(static_cast<int>(other), std::memory_order_relaxed);
  changing.clear(std::memory_order_release);
}

// Each CPU of the machine has somebody to run. In one go: who was preempted here would close the file as its ULT goes on, in another region.
bool machine_is_full(Homes& homes) {
  const front::NoPreemption in_one_go;
  unsigned long cpus = homes.cpus.load(std::memory_order_relaxed);
  if (cpus == 0) {
    cpus = std::max(1ul, rt::online_cpus());
    homes.cpus.store(cpus, std::memory_order_relaxed);
  }
  return rt::runnable_threads() > cpus;
}

// It does little else: its regions are shorter than what it takes to sleep and to wake.
bool waits_often(Home& mine, uint64_t time) {
  constexpr uint64_t kSoon = 150'000;
  constexpr unsigned kOften = 16;
  const uint64_t before = mine.waited.exchange(time, std::memory_order_relaxed);
  const unsigned now = time - before < kSoon ? mine.in_a_row.load(std::memory_order_relaxed) + 1 : 0;
  mine.in_a_row.store(now < kOften ? now : 0, std::memory_order_relaxed);
  return now == kOften;
}

}  // namespace

void homes_give(int first) {
  cpu_set_t all;
  if (sched_getaffinity(0, sizeof all, &all) != 0) return;  // more CPUs than it holds: then there is room enough
  std::vector<unsigned> cpus;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &all)) cpus.push_back(cpu);
  }
  const auto start = std::find(cpus.begin(), cpus.end(), static_cast<unsigned>(first));
  if (start != cpus.end()) std::rotate(cpus.begin(), start, cpus.end());
  Homes* homes = given.load(std::memory_order_acquire);
  if (homes == nullptr) homes = new Homes{std::vector<Home>(weft_worker_count()), std::vector<std::atomic<int>>(CPU_SETSIZE)};
  for (std::atomic<int>& each : homes->worker_at) each.store(-1, std::memory_order_relaxed);
  for (unsigned i = 0; i < homes->of_workers.size(); ++i) {
    Home& home = homes->of_workers[i];
    const unsigned cpu = cpus[i % cpus.size()];
    home.cpu.store(cpu, std::memory_order_relaxed);
    home.seen.store(cpu, std::memory_order_relaxed);
    if (i < cpus.size()) homes->worker_at[cpu].store(static_cast<int>(i), std::memory_order_relaxed);
  }
  given.store(homes, std::memory_order_release);
}

int home_of(unsigned worker) {
  const Homes* homes = given.load(std::memory_order_acquire);
  if (homes == nullptr || worker >= homes->of_workers.size()) return -1;
  return static_cast<int>(homes->of_workers[worker].cpu.load(std::memory_order_relaxed));
}

void go_home(bool waits) {
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
  const unsigned home = mine.cpu.load(std::memory_order_relaxed);
  if (cpu == home || cpu >= homes->worker_at.size()) return;
  const int other = homes->worker_at[cpu].load(std::memory_order_relaxed);
  if (other < 0 || homes->of_workers[static_cast<size_t>(other)].seen.load(std::memory_order_relaxed) != cpu) return;
  if (worker == 0) return change_homes(*homes, static_cast<unsigned>(other));
  // Where others compute at its home it waits for its turn there, for milliseconds; who has woken it here lets it run sooner.
  const uint64_t time = rt::now_ns();
  if (!waits || !waits_often(mine, time)) {
    if (time < mine.not_before.load(std::memory_order_relaxed)) return;
    if (machine_is_full(*homes)) return mine.not_before.store(time + kFullForNs, std::memory_order_relaxed);
  }
  front::carrier_to(home);
  mine.seen.store(home, std::memory_order_relaxed);
}

}  // namespace weft::omp
