// floors.hpp: what the kernel's own timers do where one kernel thread meets as many random deadlines
// per second: clock_nanosleep() with the default timer slack (what=nanosleep_...), the same with the
// least slack (tight_...), and a timerfd under epoll (timerfd_...).
#ifndef WEFT_BENCH_TIMER_LATENESS_FLOORS_HPP
#define WEFT_BENCH_TIMER_LATENESS_FLOORS_HPP

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>

#include "timer_lateness/kernel.hpp"

namespace bench {

class Timerfd {
 public:
  Timerfd()
      : timer_(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK)), epoll_(epoll_create1(0)) {
    epoll_event event{};
    event.events = EPOLLIN;
    check(timer_ >= 0 && epoll_ >= 0, "timerfd and epoll");
    check(epoll_ctl(epoll_, EPOLL_CTL_ADD, timer_, &event) == 0, "epoll_ctl");
  }
  ~Timerfd() {
    close(timer_);
    close(epoll_);
  }
  void sleep_until(uint64_t deadline) {
    const itimerspec at{{0, 0},
                        {static_cast<time_t>(deadline / kSecond),
                         static_cast<long>(deadline % kSecond)}};
    check(timerfd_settime(timer_, TFD_TIMER_ABSTIME, &at, nullptr) == 0, "timerfd_settime");
    epoll_event event{};
    while (epoll_wait(epoll_, &event, 1, -1) != 1) {
    }
    uint64_t fired = 0;
    check(read(timer_, &fired, sizeof fired) == sizeof fired, "the timer has fired");
  }

 private:
  int timer_;
  int epoll_;
};

// In a kernel thread of its own, on the first CPU; `slack` in ns, 0: the default. Returns the CPU time, per cent.
template <class SleepUntil>
double report_floor(const Setup& setup, const char* name, unsigned long slack, SleepUntil&& sleep) {
  const uint64_t start = now_ns() + kSecond / 5;
  const auto seconds = static_cast<uint64_t>(setup.number("for"));
  const Plan plan{1, static_cast<double>(setup.number("rate")), start, start + seconds * kSecond};
  std::vector<uint64_t> deadlines(plan.expected());
  std::minstd_rand random(1);
  std::uniform_int_distribution<uint64_t> somewhere(plan.start, plan.end);
  for (uint64_t& deadline : deadlines) {
    deadline = somewhere(random);
  }
  std::sort(deadlines.begin(), deadlines.end());
  Lateness late(plan.room());
  double cpu = 0;
  std::thread([&] {
    bind_to_cpu_of(0);
    prctl(PR_SET_TIMERSLACK, slack);
    const double before = cpu_s();
    for (const uint64_t deadline : deadlines) {
      if (now_ns() < deadline) {
        sleep(deadline);
      }
      late.add(deadline, now_ns());
    }
    cpu = cpu_s() - before;
  }).join();
  late.report(setup, std::string(name) + "_", cpu);
  const double percent = 100 * cpu / static_cast<double>(seconds);
  setup.report("%", {percent, cpu}, {{"what", std::string(name) + "_cpu"}});
  return percent;
}

// Before a runtime is started. Returns the CPU time, per cent, of the first, which has the same slack as the runtime.
inline double report_floors(const Setup& setup) {
  const double cpu = report_floor(setup, "nanosleep", 0, klt_sleep_until);
  report_floor(setup, "tight", 1, klt_sleep_until);
  Timerfd timer;
  report_floor(setup, "timerfd", 0, [&](uint64_t deadline) { timer.sleep_until(deadline); });
  return cpu;
}

}  // namespace bench

#endif  // WEFT_BENCH_TIMER_LATENESS_FLOORS_HPP
