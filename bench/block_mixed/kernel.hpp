// block_mixed: 64 ULTs (parameter `ults`), each of which computes for C = `compute_us`, reads from a pipe what comes
// after S = `wait_us`, and so on; microseconds per round of one ULT, of all.
//
// what=wall: of the clock; what=cpu: of the process's CPU time; what=compute: C shared by the workers:
// nobody can be faster. C and S are measured, C as the CPU time of the same ULTs without the reads, S by one thread that
// does nothing else.
#ifndef WEFT_BENCH_BLOCK_MIXED_KERNEL_HPP
#define WEFT_BENCH_BLOCK_MIXED_KERNEL_HPP

#include <cmath>

#include "block_mixed/answerer.hpp"
#include "team.hpp"

namespace bench {

inline double spin(long turns) {
  double x = 1;
  for (long i = 0; i < turns; ++i) {
    x = x * 0.999999 + 1e-6;
    asm volatile("" : "+x"(x));
  }
  return x;
}

// So many turns take that long when nobody else wants the core.
inline long turns_for(double seconds) {
  double least = 1;
  for (int i = 0; i < 20; ++i) {
    const Sample one = time_once([] { spin(1'000'000); });
    least = std::fmin(least, one.value);
  }
  return static_cast<long>(seconds / least * 1e6);
}

template <class Lib, class Body>
double time_rounds(Lib& lib, const Setup& setup, long rounds, Sample& sample, Body&& body) {
  const int ults = static_cast<int>(setup.number("ults"));
  const auto all = [&](int index) {
    for (long i = 0; i < rounds; ++i) {
      body(index);
    }
  };
  sample = time_once([&] { run_team(lib, Mode::kForkJoin, setup, ults, all); });
  return 1e6 * sample.value / static_cast<double>(rounds * ults);
}

template <class Lib>
int block_mixed(int argc, char** argv) {
  const Setup setup(argc, argv, {{"ults", "64"}, {"compute_us", "200"}, {"wait_us", "1000"}});
  const int ults = static_cast<int>(setup.number("ults"));
  Answerer answerer(ults, 1e-6 * static_cast<double>(setup.number("wait_us")));
  const long turns = turns_for(1e-6 * static_cast<double>(setup.number("compute_us")));
  const double wait = time_once([&] {
    for (int i = 0; i < 200; ++i) answerer.ask(0);
  }).value / 200 * 1e6;

  Lib lib;
  lib.init(setup.workers(), Mode::kForkJoin, 0);
  Sample sample;
  time_rounds(lib, setup, 100, sample, [&](int) { spin(turns); });
  const double compute = 1e6 * sample.cpu_s / (100.0 * ults);
  const auto round = [&](int index) {
    spin(turns);
    answerer.ask(index);
  };
  time_rounds(lib, setup, 10, sample, round);  // the library makes what threads it needs
  // Long enough for the ends, at which not all have something to do, to be short.
  const double wall = time_rounds(lib, setup, static_cast<long>(1 + 400 * setup.seconds()), sample, round);
  const double cpu = sample.cpu_s / sample.value * wall;
  const std::string note = "C = " + std::to_string(std::lround(compute)) +
                           " us, S = " + std::to_string(std::lround(wait)) + " us; " + note_of(lib);
  setup.report("us", {wall, sample.cpu_s}, {{"what", "wall"}}, note);
  setup.report("us", {cpu, sample.cpu_s}, {{"what", "cpu"}}, note);
  setup.report("us", {compute / setup.workers(), sample.cpu_s}, {{"what", "compute"}}, note);
  lib.finalize();
  return 0;
}

}  // namespace bench

#endif  // WEFT_BENCH_BLOCK_MIXED_KERNEL_HPP
