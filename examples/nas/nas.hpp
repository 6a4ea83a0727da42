// nas.hpp: what the NAS kernels share: random numbers, classes, and what a run has come to.
//
// The kernels are those of "The NAS Parallel Benchmarks" (technical report RNR-94-007), written from that text, in plain OpenMP:
// they know nothing of Weft. Each is one header with one function, so that benchmarks can call it too.
#ifndef NAS_HPP
#define NAS_HPP

#include <omp.h>
#include <time.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>

namespace nas {

enum class Class { kS, kW, kA };

// Of the part of a run that the report measures.
struct Spent {
  double seconds = 0;
  double cpu_seconds = 0;  // of all threads together
};

class Watch {
 public:
  Spent spent() const { return {omp_get_wtime() - x_start, cpu_seconds() - x_cpu_start}; }

 private:
  static double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }
  double x_start = omp_get_wtime();
  double x_cpu_start = cpu_seconds();
};

// What a run has come to.
struct Outcome {
  Spent spent;
  const char* what = "";  // what is compared with the published value
  double is = 0;
  double should_be = 0;
  double error = 0;    // relative; where several values are compared: the largest
  double allowed = 0;  // error
  // Also false for a value that is none.
  bool verified() const { return error <= allowed; }
};

inline double error_of(double is, double should_be) { return std::fabs((is - should_be) / should_be); }

// The report's generator: x := 5^13 x mod 2^46; what is drawn is x / 2^46.
class Random {
 public:
  static constexpr uint64_t kSeed = 271828183;       // EP's
  static constexpr uint64_t kOtherSeed = 314159265;  // CG's, FT's, MG's

  explicit Random(uint64_t seed) : x_state(seed) {}

  double next() {
    // What is carried beyond 2^64 would be beyond 2^46, too.
    x_state = x_state * kFactor & kMask;
    return static_cast<double>(x_state) * 0x1p-46;
  }

  // As if so many had been drawn.
  void skip(uint64_t count) {
    for (uint64_t factor = kFactor; count != 0; count >>= 1, factor = factor * factor & kMask) {
      if ((count & 1) != 0) x_state = x_state * factor & kMask;
    }
  }

 private:
  static constexpr uint64_t kFactor = 1220703125;  // 5^13
  static constexpr uint64_t kMask = (uint64_t{1} << 46) - 1;
  uint64_t x_state;
};

// An array of numbers, set to nothing: whoever writes to it first has its pages near.
template <class T>
class Array {
 public:
  explicit Array(size_t size) : x_size(size), x_data(new T[size]) {}
  size_t size() const { return x_size; }
  T* data() { return x_data.get(); }
  const T* data() const { return x_data.get(); }
  T& operator[](size_t i) { return x_data[i]; }
  const T& operator[](size_t i) const { return x_data[i]; }

 private:
  size_t x_size;
  std::unique_ptr<T[]> x_data;
};

}  // namespace nas

#endif  // NAS_HPP
