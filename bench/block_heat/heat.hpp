// heat.hpp: Gauss-Seidel in waves, with check-points.
#ifndef WEFT_BENCH_BLOCK_HEAT_HEAT_HPP
#define WEFT_BENCH_BLOCK_HEAT_HEAT_HPP

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <vector>

#include "harness.hpp"

namespace bench {

// How far somebody has come; one other waits for it.
template <class Lib>
class Progress {
 public:
  Progress() {
    Lib::create_mutex(mutex_);
    Lib::create_cond(cond_);
  }
  void reset() { count_ = 0; }
  void advance() {
    Lib::lock(mutex_);
    ++count_;
    Lib::unlock(mutex_);
    Lib::signal(cond_);
  }
  void wait_for(int count) {
    Lib::lock(mutex_);
    while (count_ < count) {
      Lib::wait(cond_, mutex_);
    }
    Lib::unlock(mutex_);
  }

 private:
  typename Lib::Mutex mutex_{};
  typename Lib::Cond cond_{};
  int count_ = 0;
};

template <class Lib>
class Heat {
 public:
  static constexpr int kStrips = 16;
  static constexpr int kRows = 64;     // of a strip
  static constexpr int kColumns = 1024;
  static constexpr size_t kStripBytes = sizeof(double) * kRows * kColumns;

  Heat(int fd, int every) : fd_(fd), every_(every) {
    for (Strip& strip : strips_) {
      strip.heat = this;
      strip.index = static_cast<int>(&strip - strips_);
      strip.copy.reset(static_cast<char*>(std::aligned_alloc(4096, kStripBytes)));
      check(strip.copy != nullptr, "memory");
      std::fill_n(strip.copy.get(), kStripBytes, 0);
    }
  }

  void run(Lib& lib, int sweeps, bool computes, bool writes) {
    sweeps_ = sweeps;
    computes_ = computes;
    writes_ = writes;
    // Hot along the first row.
    std::fill(cells_.begin(), cells_.end(), 0.0);
    std::fill_n(cells_.begin(), kColumns, 1.0);
    for (Strip& strip : strips_) {
      for (Progress<Lib>* progress : {&strip.down, &strip.up, &strip.copied, &strip.written}) {
        progress->reset();
      }
    }
    for (Strip& strip : strips_) {
      lib.template create<write_all>(strip.writer, &strip);
      lib.template create<sweep_all>(strip.sweeper, &strip);
    }
    for (Strip& strip : strips_) {
      lib.join(strip.sweeper);
      lib.join(strip.writer);
    }
  }

  double sum() const { return std::accumulate(cells_.begin(), cells_.end(), 0.0); }

 private:
  struct Freer {
    void operator()(char* memory) const { std::free(memory); }
  };
  struct Strip {
    Heat* heat = nullptr;
    int index = 0;
    Progress<Lib> down, up;         // sweeps done: for the strip below, and for the one above
    Progress<Lib> copied, written;  // check-points
    std::unique_ptr<char, Freer> copy;
    typename Lib::Handle sweeper{}, writer{};

    double* row(int i) const { return &heat->cells_[static_cast<size_t>(kColumns) * (1 + index * kRows + i)]; }
  };

  static void sweep_all(void* arg) {
    auto& strip = *static_cast<Strip*>(arg);
    Heat& heat = *strip.heat;
    for (int sweep = 1; sweep <= heat.sweeps_; ++sweep) {
      if (heat.computes_) {
        heat.sweep_once(strip, sweep);
      }
      if (heat.writes_ && sweep % heat.every_ == 0) {
        strip.written.wait_for(sweep / heat.every_ - 1);
        std::copy_n(reinterpret_cast<const char*>(strip.row(0)), kStripBytes, strip.copy.get());
        strip.copied.advance();
      }
    }
  }

  void sweep_once(Strip& strip, int sweep) {
    if (strip.index > 0) {
      strips_[strip.index - 1].down.wait_for(sweep);
    }
    if (strip.index < kStrips - 1) {
      strips_[strip.index + 1].up.wait_for(sweep - 1);
    }
    for (int i = 0; i < kRows; ++i) {
      double* const row = strip.row(i);
      for (int j = 1; j < kColumns - 1; ++j) {
        row[j] = 0.25 * (row[j - 1] + row[j + 1] + row[j - kColumns] + row[j + kColumns]);
      }
    }
    strip.down.advance();
    strip.up.advance();
  }

  static void write_all(void* arg) {
    auto& strip = *static_cast<Strip*>(arg);
    const Heat& heat = *strip.heat;
    const int points = heat.writes_ ? heat.sweeps_ / heat.every_ : 0;
    const auto place = static_cast<off_t>(kStripBytes) * strip.index;
    for (int point = 1; point <= points; ++point) {
      strip.copied.wait_for(point);
      check(pwrite(heat.fd_, strip.copy.get(), kStripBytes, place) == static_cast<ssize_t>(kStripBytes), "pwrite");
      strip.written.advance();
    }
  }

  const int fd_;
  const int every_;
  int sweeps_ = 0;
  bool computes_ = false, writes_ = false;
  std::vector<double> cells_ = std::vector<double>(static_cast<size_t>(kColumns) * (kStrips * kRows + 2));
  Strip strips_[kStrips];
};

}  // namespace bench

#endif  // WEFT_BENCH_BLOCK_HEAT_HEAT_HPP
