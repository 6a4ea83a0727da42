// reading.hpp: sums over a mapped file.
#ifndef WEFT_BENCH_BLOCK_HEAT_READING_HPP
#define WEFT_BENCH_BLOCK_HEAT_READING_HPP

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "harness.hpp"

namespace bench {

template <class Lib>
class Reading {
 public:
  static constexpr int kUlts = 16;
  static constexpr size_t kBytes = size_t{128} << 20;
  static constexpr size_t kChunk = size_t{256} << 10;  // what one ULT takes at a time
  static constexpr size_t kPage = 4096;

  explicit Reading(int fd) : fd_(fd) {
    const std::vector<double> ones(kChunk / sizeof(double), 1.0);
    for (size_t at = 0; at < kBytes; at += kChunk) {
      check(write(fd, ones.data(), kChunk) == static_cast<ssize_t>(kChunk), "write");
    }
    check(fsync(fd) == 0, "fsync");
  }

  void run(Lib& lib, int passes, bool cold) {
    passes_ = passes;
    next_ = 0;
    sum_ = 0;
    if (cold) {  // nothing of it may be mapped
      check(posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED) == 0, "posix_fadvise");
    }
    map_ = static_cast<const double*>(mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, fd_, 0));
    check(map_ != MAP_FAILED, "mmap");
    typename Lib::Handle handles[kUlts]{};
    for (auto& handle : handles) {
      lib.template create<read_some>(handle, this);
    }
    for (auto& handle : handles) {
      lib.join(handle);
    }
    munmap(const_cast<double*>(map_), kBytes);
    check(sum_ == static_cast<uint64_t>(passes > 1 ? kBytes / sizeof(double) * static_cast<size_t>(passes)
                                                   : kBytes / kPage), "the sum");
  }

 private:
  static void read_some(void* arg) {
    auto& self = *static_cast<Reading*>(arg);
    double sum = 0;
    for (size_t at; (at = self.next_.fetch_add(kChunk)) < kBytes;) {
      for (size_t page = at; page < at + kChunk; page += kPage) {
        sum += self.page_sum(self.map_ + page / sizeof(double));
      }
    }
    self.sum_ += static_cast<uint64_t>(sum);
  }

  // One pass: it is touched, and no more.
  double page_sum(const double* page) const {
    if (passes_ == 1) {
      return *static_cast<const volatile double*>(page);
    }
    double sum = 0;
    for (int pass = 0; pass < passes_; ++pass) {
      for (size_t i = 0; i < kPage / sizeof(double); ++i) {
        sum += page[i];
      }
      asm volatile("" : "+x"(sum));
    }
    return sum;
  }

  const int fd_;
  const double* map_ = nullptr;
  int passes_ = 1;
  std::atomic<size_t> next_{0};
  std::atomic<uint64_t> sum_{0};
};

}  // namespace bench

#endif  // WEFT_BENCH_BLOCK_HEAT_READING_HPP
