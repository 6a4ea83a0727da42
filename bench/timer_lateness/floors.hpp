// floors.hpp: what the kernel's own timers do where one kernel thread, in turns with the library,
// meets as many random deadlines per second: clock_nanosleep() with the default timer slack
// (what=nanosleep_...), the same with the least slack (tight_...), and a timerfd under epoll
// (timerfd_...).
#ifndef WEFT_BENCH_TIMER_LATENESS_FLOORS_HPP
#define WEFT_BENCH_TIMER_LATENESS_FLOORS_HPP

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>

#include <memory>
#include <random>

#include "timer_lateness/kernel.hpp"

namespace bench {

class Timerfd {
 public:
  Timerfd() : timer_(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK)), epoll_(epoll_create1(0)) {
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
    const itimerspec at{
        {0, 0}, {static_cast<time_t>(deadline / kSecond), static_cast<long>(deadline % kSecond)}};
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

// A kernel thread, on the first CPU, that meets as many deadlines in its turns.
class Floor {
 public:
  template <class SleepUntil>
  Floor(const Setup& setup, const Turns& turns, unsigned kind, unsigned long slack,
        SleepUntil sleep)
      : late_(room_for(static_cast<double>(setup.number("rate")), turns.seconds)) {
    std::vector<uint64_t> deadlines(static_cast<size_t>(setup.number("rate")) * turns.seconds);
    std::minstd_rand random(kind + 1);
    std::uniform_int_distribution<uint64_t> somewhere(0, turns.own_end() - 1);
    for (uint64_t& deadline : deadlines) {
      deadline = turns.when(kind, somewhere(random));
    }
    std::sort(deadlines.begin(), deadlines.end());
    thread_ = std::thread([this, slack, sleep, deadlines = std::move(deadlines)] {
      bind_to_cpu_of(0);
      prctl(PR_SET_TIMERSLACK, slack);  // 0: the default, which is that of the runtime's threads
      for (const uint64_t deadline : deadlines) {
        if (now_ns() < deadline) {
          sleep(deadline);
        }
        late_.add(deadline, now_ns());
      }
    });
  }
  void report(const Setup& setup, const char* name, double cpu) {
    thread_.join();
    late_.report(setup, std::string(name) + "_", cpu);
    setup.report("%", {100 * cpu / static_cast<double>(setup.number("for")), cpu},
                 {{"what", std::string(name) + "_cpu"}});
  }

 private:
  Lateness late_;
  std::thread thread_;
};

struct KernelFloors {
  static constexpr unsigned kKinds = 3;

  void start(const Setup& setup, const Turns& turns) {
    floors_.emplace_back(std::make_unique<Floor>(setup, turns, 0, 0, klt_sleep_until));
    floors_.emplace_back(std::make_unique<Floor>(setup, turns, 1, 1, klt_sleep_until));
    floors_.emplace_back(std::make_unique<Floor>(
        setup, turns, 2, 0, [this](uint64_t deadline) { timer_.sleep_until(deadline); }));
  }
  // cpu: of the library, per cent.
  void report(const Setup& setup, const CpuMeter& meter, double cpu) {
    constexpr const char* kNames[kKinds] = {"nanosleep", "tight", "timerfd"};
    for (unsigned kind = 0; kind < kKinds; ++kind) {
      floors_[kind]->report(setup, kNames[kind], meter.used(kind));
    }
    const double nanosleep = 100 * meter.used(0) / static_cast<double>(setup.number("for"));
    setup.report("%", {cpu - nanosleep, meter.used(kKinds)}, {{"what", "cpu_beyond_nanosleep"}});
  }

 private:
  Timerfd timer_;
  std::vector<std::unique_ptr<Floor>> floors_;
};

}  // namespace bench

#endif  // WEFT_BENCH_TIMER_LATENESS_FLOORS_HPP
