// wake_latency: from setting an event to the waiting ULT running on a worker that was idle; the
// median in microseconds, on two CPUs.
//
// The ULT that sets it keeps its own worker busy, so that it must be the other, idle one that runs
// the waiter. what=wake: the library. what=futex: a kernel thread that sleeps in a futex on the
// second CPU, woken in the same way in the same process: the floor. Both are a round trip less the
// way back, which goes through shared memory (some 0.1 us).
#ifndef WEFT_BENCH_WAKE_LATENCY_KERNEL_HPP
#define WEFT_BENCH_WAKE_LATENCY_KERNEL_HPP

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "harness.hpp"

namespace bench {

inline constexpr int kWakes = 400;
inline constexpr double kPause = 500e-6;  // long enough for an idle worker to fall asleep

inline void spin_for(double seconds) {
  const double end = wall_s() + seconds;
  while (wall_s() < end) {
  }
}

// The two sides meet here: the waiter says when it ran.
struct Meeting {
  std::atomic<int> ran{0};
  double when = 0;

  void arrive() {
    when = wall_s();
    ran.fetch_add(1, std::memory_order_release);
  }
};

// `set()` wakes the waiter, who calls arrive().
template <class Set>
Sample time_wakes(Meeting& meeting, Set&& set) {
  std::vector<double> took;
  const double cpu = cpu_s();
  for (int i = 0; i < kWakes; ++i) {
    spin_for(kPause);
    const int before = meeting.ran.load(std::memory_order_relaxed);
    const double start = wall_s();
    set();
    while (meeting.ran.load(std::memory_order_acquire) == before) {
      check(wall_s() - start < 5, "a wake-up was lost");
    }
    took.push_back(1e6 * (meeting.when - start));
  }
  std::sort(took.begin(), took.end());
  return {took[took.size() / 2], cpu_s() - cpu};
}

class FutexSleeper {
 public:
  Meeting meeting;

  FutexSleeper() {
    check(sched_getaffinity(0, sizeof all_, &all_) == 0, "sched_getaffinity");
    check(pthread_create(&thread_, nullptr, run, this) == 0, "pthread_create");
    pin(thread_, 1);
    pin(pthread_self(), 0);
  }
  ~FutexSleeper() {
    stop_ = true;
    wake();
    pthread_join(thread_, nullptr);
    pthread_setaffinity_np(pthread_self(), sizeof all_, &all_);
  }
  void wake() {
    word_.fetch_add(1);
    syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }

 private:
  // To the index-th CPU of those that the process may use.
  void pin(pthread_t thread, int index) const {
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &all_) && index-- == 0) {
        CPU_SET(cpu, &one);
      }
    }
    check(pthread_setaffinity_np(thread, sizeof one, &one) == 0, "pthread_setaffinity_np");
  }
  static void* run(void* arg) {
    auto& self = *static_cast<FutexSleeper*>(arg);
    for (int seen = 0; !self.stop_; ++seen) {
      while (self.word_.load() == seen) {
        syscall(SYS_futex, &self.word_, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
      }
      self.meeting.arrive();
    }
    return nullptr;
  }

  pthread_t thread_{};
  cpu_set_t all_{};
  std::atomic<int> word_{0};
  std::atomic<bool> stop_{false};
};

inline Sample futex_wakes() {
  FutexSleeper sleeper;
  return time_wakes(sleeper.meeting, [&] { sleeper.wake(); });
}

// Lib::Event has wait(), set() and reset().
template <class Lib>
struct EventWaiter {
  typename Lib::Event event;
  Meeting meeting;

  static void run(void* arg) {
    auto& self = *static_cast<EventWaiter*>(arg);
    for (int i = 0; i < kWakes; ++i) {
      self.event.wait();
      self.event.reset();
      self.meeting.arrive();
    }
  }
};

template <class Lib>
int wake_latency(int argc, char** argv) {
  const Setup setup(argc, argv, {});
  check(setup.workers() == 2, "wake_latency needs two workers");
  const Sample floor = futex_wakes();
  Lib lib;
  lib.init(2, Mode::kForkJoin, 0);
  EventWaiter<Lib> waiter;
  typename Lib::Handle handle{};
  lib.template create<EventWaiter<Lib>::run>(handle, &waiter);
  setup.report("us", time_wakes(waiter.meeting, [&] { waiter.event.set(); }), {{"what", "wake"}});
  setup.report("us", floor, {{"what", "futex"}});
  lib.join(handle);
  lib.finalize();
  return 0;
}

}  // namespace bench

#endif  // WEFT_BENCH_WAKE_LATENCY_KERNEL_HPP
