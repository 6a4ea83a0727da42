// create_join_ult: creates 256 ULTs and joins them, on one worker; ns per ULT.
//
// d: per cent of the ULTs that yield once. join: in the order of creation, in reverse, or only
// after the scheduler has run them all (the creator yields until their counter says so).
#ifndef WEFT_BENCH_CREATE_JOIN_ULT_KERNEL_HPP
#define WEFT_BENCH_CREATE_JOIN_ULT_KERNEL_HPP

#include <atomic>
#include <vector>

#include "harness.hpp"

namespace bench {

inline constexpr int kInFlight = 256;

// More than one of them may run at once only where the library is preemptive.
template <class Lib>
concept Preemptive = Lib::kPreemptive;

template <class Lib>
struct Unit {
  uint32_t* done;
  bool yields;

  static void run(void* arg) {
    const auto& self = *static_cast<const Unit*>(arg);
    if (self.yields) {
      Lib::yield();
    }
    if constexpr (Preemptive<Lib>) {
      std::atomic_ref(*self.done).fetch_add(1, std::memory_order_relaxed);
    } else {
      *const_cast<volatile uint32_t*>(self.done) = *self.done + 1;
    }
  }
};

template <class Lib>
class CreateJoin {
 public:
  CreateJoin(Lib& lib, const Setup& setup) : lib_(lib), join_(setup.text("join")) {
    const auto percent = static_cast<unsigned>(setup.number("d"));
    check(percent <= 100, "d is a percentage");
    for (unsigned i = 0; i < kInFlight; ++i) {
      // Spread evenly: the one whose share of the percentage is completed yields.
      units_.push_back({&done_, (i + 1) * percent / 100 > i * percent / 100});
    }
    check(join_ == "oldest_first" || join_ == "newest_first" || join_ == "by_scheduler", "join");
  }

  void batch(uint64_t rounds) {
    for (uint64_t round = 0; round < rounds; ++round) {
      done_ = 0;
      for (int i = 0; i < kInFlight; ++i) {
        lib_.template create<Unit<Lib>::run>(handles_[i], &units_[static_cast<size_t>(i)]);
      }
      join_all();
      check(done_ == kInFlight, "not every ULT has run once");
    }
  }

 private:
  void join_all() {
    if (join_[0] == 'n') {
      for (int i = kInFlight - 1; i >= 0; --i) {
        lib_.join(handles_[i]);
      }
      return;
    }
    if (join_[0] == 'b') {
      while (*const_cast<volatile uint32_t*>(&done_) < kInFlight) {
        Lib::yield();
      }
    }
    for (auto& handle : handles_) {
      lib_.join(handle);
    }
  }

  Lib& lib_;
  const std::string join_;
  uint32_t done_ = 0;
  std::vector<Unit<Lib>> units_;
  typename Lib::Handle handles_[kInFlight]{};
};

template <class Lib>
int create_join_ult(int argc, char** argv) {
  const Setup setup(argc, argv, {{"d", "0"}, {"join", "oldest_first"}});
  report_best<Lib>(setup, "ns", Mode::kPlain, [&](Lib& lib) {
    CreateJoin<Lib> kernel(lib, setup);
    return time_per_op(setup, kInFlight, [&](uint64_t n) { kernel.batch(n); });
  });
  return 0;
}

}  // namespace bench

#endif  // WEFT_BENCH_CREATE_JOIN_ULT_KERNEL_HPP
