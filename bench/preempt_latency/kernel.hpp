// preempt_latency: on each CPU two units compute without end. One of higher priority waits, and is woken at random times
// by a thread of no library: how long until it runs.
//
// what=p50, p99, max: us.
#ifndef WEFT_BENCH_PREEMPT_LATENCY_KERNEL_HPP
#define WEFT_BENCH_PREEMPT_LATENCY_KERNEL_HPP

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "harness.hpp"

namespace bench {

inline constexpr int kLowPerCpu = 2;

inline Setup latency_setup(int argc, char** argv) {
  return Setup(argc, argv, {{"kind", "klt_switching"}, {"mode", "on"}, {"interval_us", "1000"}});
}

// What the library's units share. The one of high priority calls woke() each time that it runs.
class Latency {
 public:
  explicit Latency(const Setup& setup)
      : interval_s_(1e-6 * static_cast<double>(setup.number("interval_us"))),
        wakes_(static_cast<size_t>(std::max(100.0, 4 * setup.seconds() / interval_s_))) {
    samples_.reserve(wakes_);
  }

  bool ends() const { return end_.load(std::memory_order_relaxed); }
  void woke() { samples_.push_back((wall_s() - woken_at_) * 1e6); }

  // On the calling thread: wake() has the unit run, which then calls woke() and ran().
  template <class Wake>
  void drive(Wake wake) {
    std::minstd_rand random(42);
    std::uniform_real_distribution<double> pause(1, 3);  // intervals
    for (size_t i = 0; i < wakes_; ++i) {
      sleep(pause(random) * interval_s_);
      ran_.store(false, std::memory_order_relaxed);
      woken_at_ = wall_s();
      wake();
      while (!ran_.load(std::memory_order_acquire)) sleep(interval_s_ / 4);
    }
    end_.store(true, std::memory_order_relaxed);
    wake();
  }
  void ran() { ran_.store(true, std::memory_order_release); }

  void report(const Setup& setup, double cpu) {
    check(samples_.size() == wakes_, "each wake-up has been seen");
    std::sort(samples_.begin(), samples_.end());
    const auto row = [&](const char* what, double value) { setup.report("us", {value, cpu}, {{"what", what}}); };
    row("p50", samples_[wakes_ / 2]);
    row("p99", samples_[wakes_ * 99 / 100]);
    row("max", samples_.back());
  }

 private:
  static void sleep(double seconds) {
    const timespec time{0, static_cast<long>(std::min(seconds, 0.999) * 1e9)};
    nanosleep(&time, nullptr);
  }

  const double interval_s_;
  const size_t wakes_;
  std::vector<double> samples_;
  double woken_at_ = 0;
  std::atomic<bool> ran_{false}, end_{false};
};

}  // namespace bench

#endif  // WEFT_BENCH_PREEMPT_LATENCY_KERNEL_HPP
