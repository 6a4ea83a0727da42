// timer_lateness: `n` ULTs sleep until random deadlines, again and again, for `for` seconds, so that
// `rate` deadlines per second come due in all: every ULT has one at a random point of each period of
// n/rate seconds. Those that have no deadline in the measured time sleep all through it.
//
// what=p50, p99, max: how late they ran, us. what=cpu: CPU time of the process meanwhile, per cent of
// one core. what=cpu_beyond: less the CPU time of as many wake-ups without sleeping: the same ULTs
// yield. floors.hpp adds what the kernel's own timers do at the same rate; what=cpu_beyond_nanosleep:
// less that of nanosleep, the cheapest way to wake so often.
#ifndef WEFT_BENCH_TIMER_LATENESS_KERNEL_HPP
#define WEFT_BENCH_TIMER_LATENESS_KERNEL_HPP

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "harness.hpp"

namespace bench {

inline constexpr uint64_t kSecond = 1'000'000'000;

inline uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * kSecond + static_cast<uint64_t>(now.tv_nsec);
}

inline void klt_sleep_until(uint64_t deadline) {
  const timespec at{static_cast<time_t>(deadline / kSecond), static_cast<long>(deadline % kSecond)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) != 0) {
  }
}

// How late each deadline was met, in the order in which they were.
class Lateness {
 public:
  explicit Lateness(size_t room) : samples_(room) {}
  void add(uint64_t deadline, uint64_t now) {
    const size_t at = used_.fetch_add(1, std::memory_order_relaxed);
    check(at < samples_.size(), "more deadlines than planned");
    samples_[at] = static_cast<double>(now - deadline) * 1e-3;
  }
  size_t size() const { return used_.load(); }
  // When nobody adds any more.
  void report(const Setup& setup, const std::string& prefix, double cpu_s) {
    const size_t n = size();
    check(n > 100, "deadlines met");
    std::sort(samples_.begin(), samples_.begin() + static_cast<std::ptrdiff_t>(n));
    const auto row = [&](const char* what, double value) {
      setup.report("us", {value, cpu_s}, {{"what", prefix + what}});
    };
    row("p50", samples_[n / 2]);
    row("p99", samples_[n * 99 / 100]);
    row("max", samples_[n - 1]);
  }

 private:
  std::vector<double> samples_;
  std::atomic<size_t> used_{0};
};

struct Plan {
  size_t ults;
  double rate;
  uint64_t start, end;  // of the measured time
  size_t expected() const {
    return static_cast<size_t>(rate * static_cast<double>(end - start) / kSecond);
  }
  size_t room() const { return expected() * 3 / 2 + 1000; }
};

// CPU time of the process from `start` to `end`, seen from a kernel thread that sleeps otherwise.
class CpuMeter {
 public:
  template <class Check>
  CpuMeter(uint64_t start, uint64_t end, Check check_start) {
    thread_ = std::thread([this, start, end, check_start] {
      klt_sleep_until(start);
      check_start();
      const double before = cpu_s();
      klt_sleep_until(end);
      used_ = cpu_s() - before;
    });
  }
  double used() {
    thread_.join();
    return used_;
  }

 private:
  std::thread thread_;
  double used_ = 0;
};

template <class Lib>
struct Sleepers {
  const Plan plan;
  Lateness late{plan.room()};
  std::atomic<size_t> asleep{0};

  struct Member {
    Sleepers* all;
    uint64_t seed;
    typename Lib::Handle handle{};
  };

  static void run(void* arg) {
    const auto& me = *static_cast<Member*>(arg);
    Sleepers& all = *me.all;
    const double period = kSecond * static_cast<double>(all.plan.ults) / all.plan.rate;
    std::minstd_rand random(static_cast<unsigned>(me.seed * 7919 + 1));
    random.discard(3);
    std::uniform_real_distribution<double> somewhere(0, 1);
    all.asleep.fetch_add(1, std::memory_order_relaxed);
    for (uint64_t turn = 0;; ++turn) {
      const double at = (static_cast<double>(turn) + somewhere(random)) * period;
      const uint64_t deadline = all.plan.start + static_cast<uint64_t>(at);
      if (deadline >= all.plan.end) {
        Lib::sleep_until(all.plan.end + kSecond / 5);  // not before all has been measured
        return;
      }
      Lib::sleep_until(deadline);
      const uint64_t now = now_ns();
      check(now >= deadline, "woken before the deadline");
      all.late.add(deadline, now);
    }
  }
};

// The same wake-ups without sleeping: CPU seconds of one.
template <class Lib>
struct Yielders {
  size_t turns;
  Lateness late;
  double cpu = 0;

  struct Member {
    Yielders* all;
    bool first;
    typename Lib::Handle handle{};
  };

  static void run(void* arg) {
    const auto& me = *static_cast<Member*>(arg);
    Lib::yield();  // from here on all have started
    const double before = me.first ? cpu_s() : 0;
    for (size_t i = 0; i < me.all->turns; ++i) {
      const uint64_t now = now_ns();
      me.all->late.add(now, now);
      Lib::yield();
    }
    if (me.first) {
      me.all->cpu = cpu_s() - before;
    }
  }
};

template <class Lib, void (*F)(void*), class Member>
void start(Lib& lib, const Setup& setup, std::vector<Member>& members) {
  for (size_t i = 0; i < members.size(); ++i) {
    if (setup.workers() == 1) {
      lib.template create<F>(members[i].handle, &members[i]);
    } else {
      const int worker = static_cast<int>(i) % setup.workers();
      lib.template create_on<F>(worker, members[i].handle, &members[i]);
    }
  }
}

// CPU seconds of a wake-up that comes by a yield.
template <class Lib>
double cost_of_yield(Lib& lib, const Setup& setup, size_t ults, size_t wakes) {
  const size_t turns = wakes / ults + 1;
  Yielders<Lib> all{turns, Lateness((turns + 1) * ults), 0};
  std::vector<typename Yielders<Lib>::Member> members(ults);
  for (size_t i = 0; i < ults; ++i) {
    members[i].all = &all;
    members[i].first = i == 0;
  }
  start<Lib, Yielders<Lib>::run>(lib, setup, members);
  for (auto& member : members) {
    lib.join(member.handle);
  }
  check(all.late.size() == turns * ults, "number of yields");
  return all.cpu / static_cast<double>(turns * ults);
}

template <class Lib>
void measure_sleepers(Lib& lib, const Setup& setup, double nanosleep_cpu) {
  const auto ults = static_cast<size_t>(setup.number("n"));
  const auto seconds = static_cast<uint64_t>(setup.number("for"));
  const auto rate = static_cast<double>(setup.number("rate"));
  // Time to create them all before the first deadline: 20 us each.
  const uint64_t begin = now_ns() + kSecond / 2 + ults * 20'000;
  Sleepers<Lib> all{.plan = {ults, rate, begin, begin + seconds * kSecond}};
  std::vector<typename Sleepers<Lib>::Member> members(ults);
  for (size_t i = 0; i < ults; ++i) {
    members[i].all = &all;
    members[i].seed = i;
  }
  CpuMeter meter(all.plan.start, all.plan.end, [&] {
    check(all.asleep.load() == ults, "all have started before the first deadline");
  });
  start<Lib, Sleepers<Lib>::run>(lib, setup, members);
  for (auto& member : members) {
    lib.join(member.handle);
  }
  const double cpu = meter.used();
  const double yields = static_cast<double>(all.late.size()) *
                        cost_of_yield(lib, setup, ults, all.late.size());
  const double percent = 100 / static_cast<double>(seconds);
  all.late.report(setup, "", cpu);
  setup.report("%", {cpu * percent, cpu}, {{"what", "cpu"}});
  setup.report("%", {(cpu - yields) * percent, cpu}, {{"what", "cpu_beyond"}});
  if (nanosleep_cpu > 0) {
    setup.report("%", {cpu * percent - nanosleep_cpu, cpu}, {{"what", "cpu_beyond_nanosleep"}});
  }
}

inline Setup timer_setup(int argc, char** argv) {
  return Setup(argc, argv, {{"n", "100000"}, {"rate", "1000"}, {"for", "5"}});
}

// nanosleep_cpu: per cent; 0: not measured in this process.
template <class Lib>
int timer_lateness(const Setup& setup, double nanosleep_cpu = 0) {
  Lib lib;
  lib.init(setup.workers(), setup.workers() == 1 ? Mode::kPlain : Mode::kPinned, 0);
  measure_sleepers(lib, setup, nanosleep_cpu);
  lib.finalize();
  return 0;
}

}  // namespace bench

#endif  // WEFT_BENCH_TIMER_LATENESS_KERNEL_HPP
