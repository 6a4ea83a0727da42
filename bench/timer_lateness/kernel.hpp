// timer_lateness: `n` ULTs sleep until random deadlines, again and again, for `for` seconds, so
// that `rate` deadlines per second come due in all: every ULT has one at a random point of each
// period of n/rate seconds. Those that have no deadline in the measured time sleep all through it.
//
// what=p50, p99, max: how late they ran, us. what=cpu: CPU time of the process meanwhile, per cent
// of one core. what=cpu_beyond: less the CPU time of as many wake-ups without sleeping: the same
// ULTs yield. floors.hpp adds what the kernel's own timers do at the same rate;
// what=cpu_beyond_nanosleep: less that of nanosleep, the cheapest way to wake so often. All of
// these take turns of a quarter of a second, because what a wake-up costs drifts within seconds by
// more than they differ.
#ifndef WEFT_BENCH_TIMER_LATENESS_KERNEL_HPP
#define WEFT_BENCH_TIMER_LATENESS_KERNEL_HPP

#include <algorithm>
#include <atomic>
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

// Who is measured when: `of` kinds take turns, each `seconds` in all. Time without the turns of the
// others counts from 0.
struct Turns {
  static constexpr uint64_t kLength = kSecond / 4;

  uint64_t start;
  uint64_t seconds;
  unsigned of;

  uint64_t when(unsigned kind, uint64_t time) const {
    return start + (time / kLength * of + kind) * kLength + time % kLength;
  }
  uint64_t own_end() const { return seconds * kSecond; }
  uint64_t end() const { return start + own_end() * of; }
};

// CPU time of the process in the turns of each kind, seen from a kernel thread that sleeps
// otherwise.
class CpuMeter {
 public:
  template <class Check>
  CpuMeter(const Turns& turns, Check check_start) : used_(turns.of) {
    thread_ = std::thread([this, turns, check_start] {
      klt_sleep_until(turns.start);
      check_start();
      double before = cpu_s();
      for (uint64_t turn = 0; turn < turns.own_end() / Turns::kLength * turns.of; ++turn) {
        klt_sleep_until(turns.start + (turn + 1) * Turns::kLength);
        const double now = cpu_s();
        used_[turn % turns.of] += now - before;
        before = now;
      }
    });
  }
  void finish() { thread_.join(); }
  double used(unsigned kind) const { return used_.at(kind); }

 private:
  std::thread thread_;
  std::vector<double> used_;
};

// No others: a library is measured alone. See floors.hpp for those that are.
struct NoFloors {
  static constexpr unsigned kKinds = 0;
  void start(const Setup&, const Turns&) {}
  void report(const Setup&, const CpuMeter&, double) {}
};

// Room for as many deadlines as there may be at that rate.
inline size_t room_for(double rate, uint64_t seconds) {
  return static_cast<size_t>(rate * static_cast<double>(seconds)) * 3 / 2 + 1000;
}

// In [0, 1), independent for each pair (the output function of SplitMix64). Generators with
// neighbouring seeds would spread the deadlines evenly, so that no two of them came due in one
// wake-up.
inline double uniform(uint64_t seed, uint64_t turn) {
  uint64_t x = (seed + (turn << 32) + 1) * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return static_cast<double>((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

template <class Lib>
struct Sleepers {
  const Turns turns;
  const unsigned kind;  // whose turn is theirs
  const double period;
  Lateness late;
  std::atomic<size_t> asleep{0};

  struct Member {
    Sleepers* all;
    uint64_t seed;
    typename Lib::Handle handle{};
  };

  static void run(void* arg) {
    const auto& me = *static_cast<Member*>(arg);
    Sleepers& all = *me.all;
    all.asleep.fetch_add(1, std::memory_order_relaxed);
    for (uint64_t turn = 0;; ++turn) {
      const auto at =
          static_cast<uint64_t>((static_cast<double>(turn) + uniform(me.seed, turn)) * all.period);
      if (at >= all.turns.own_end()) {
        Lib::sleep_until(all.turns.end() + kSecond / 5);  // not before all has been measured
        return;
      }
      const uint64_t deadline = all.turns.when(all.kind, at);
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

template <class Lib, class Floors>
void measure_sleepers(Lib& lib, const Setup& setup) {
  const auto ults = static_cast<size_t>(setup.number("n"));
  const auto seconds = static_cast<uint64_t>(setup.number("for"));
  const auto rate = static_cast<double>(setup.number("rate"));
  // Time to create them all before the first deadline: 20 us each.
  const Turns turns{now_ns() + kSecond / 2 + ults * 20'000, seconds, Floors::kKinds + 1};
  Sleepers<Lib> all{.turns = turns,
                    .kind = Floors::kKinds,
                    .period = kSecond * static_cast<double>(ults) / rate,
                    .late = Lateness(room_for(rate, seconds))};
  std::vector<typename Sleepers<Lib>::Member> members(ults);
  for (size_t i = 0; i < ults; ++i) {
    members[i].all = &all;
    members[i].seed = i;
  }
  CpuMeter meter(turns, [&] {
    check(all.asleep.load() == ults, "all have started before the first deadline");
  });
  Floors floors;
  floors.start(setup, turns);
  start<Lib, Sleepers<Lib>::run>(lib, setup, members);
  for (auto& member : members) {
    lib.join(member.handle);
  }
  meter.finish();
  const double cpu = meter.used(Floors::kKinds);
  const double yields =
      static_cast<double>(all.late.size()) * cost_of_yield(lib, setup, ults, all.late.size());
  const double percent = 100 / static_cast<double>(seconds);
  all.late.report(setup, "", cpu);
  setup.report("%", {cpu * percent, cpu}, {{"what", "cpu"}});
  setup.report("%", {(cpu - yields) * percent, cpu}, {{"what", "cpu_beyond"}});
  floors.report(setup, meter, cpu * percent);
}

inline Setup timer_setup(int argc, char** argv) {
  return Setup(argc, argv, {{"n", "100000"}, {"rate", "1000"}, {"for", "5"}});
}

template <class Lib, class Floors = NoFloors>
int timer_lateness(const Setup& setup) {
  Lib lib;
  lib.init(setup.workers(), setup.workers() == 1 ? Mode::kPlain : Mode::kPinned, 0);
  measure_sleepers<Lib, Floors>(lib, setup);
  lib.finalize();
  return 0;
}

}  // namespace bench

#endif  // WEFT_BENCH_TIMER_LATENESS_KERNEL_HPP
