// block_heat: computing while files are written and read; seconds. what=compute: without the file; io: without the
// computing; both; bound: the greater one of the first two, which nobody can beat.
//
// part=write: heat by Gauss-Seidel in strips of rows, in waves: strip i of sweep t after strip i-1 of t and i+1 of t-1
// (as the paper's Table IV does it, on one node). Every `every` sweeps each strip is copied, and the copy written with
// O_DIRECT by a ULT of its own, while the next sweeps go on. part=read: sums over a mapped file of which nothing is in
// memory: each page fault waits for the disk.
#ifndef WEFT_BENCH_BLOCK_HEAT_KERNEL_HPP
#define WEFT_BENCH_BLOCK_HEAT_KERNEL_HPP

#include <fcntl.h>

#include "block_heat/heat.hpp"
#include "block_heat/reading.hpp"

namespace bench {

// In the current directory, which is to be on the disk; it goes with the process.
inline int open_scratch(int flags) {
  const int fd = open(".", O_TMPFILE | O_RDWR | flags, 0600);
  check(fd >= 0, "a file without a name in the current directory (O_TMPFILE)");
  return fd;
}

// `run(compute, io)`; each once as a warm-up.
template <class Run>
void report_parts(const Setup& setup, const std::string& note, Run&& run) {
  const auto timed = [&](bool compute, bool io) {
    run(compute, io);
    return time_once([&] { run(compute, io); });
  };
  const Sample compute = timed(true, false);
  const Sample io = timed(false, true);
  setup.report("s", timed(true, true), {{"what", "both"}}, note);
  setup.report("s", compute, {{"what", "compute"}}, note);
  setup.report("s", io, {{"what", "io"}}, note);
  setup.report("s", compute.value > io.value ? compute : io, {{"what", "bound"}}, note);
}

template <class Lib>
int block_heat(int argc, char** argv) {
  const Setup setup(argc, argv, {{"part", "write"}, {"sweeps", "120"}, {"every", "1"}, {"passes", "12"}});
  const bool writes = setup.text("part") == "write";
  check(writes || setup.text("part") == "read", "part: write, read");
  const int fd = open_scratch(writes ? O_DIRECT : 0);
  Lib lib;
  lib.init(setup.workers(), Mode::kForkJoin, 0);
  if (writes) {
    Heat<Lib> heat(fd, static_cast<int>(setup.number("every")));
    double sum = 0;
    report_parts(setup, note_of(lib), [&](bool compute, bool io) {
      heat.run(lib, static_cast<int>(setup.number("sweeps")), compute, io);
      check(!compute || sum == 0 || sum == heat.sum(), "the heat");
      sum = compute ? heat.sum() : sum;
    });
  } else {
    Reading<Lib> reading(fd);
    report_parts(setup, note_of(lib), [&](bool compute, bool io) {
      reading.run(lib, compute ? static_cast<int>(setup.number("passes")) : 1, io);
    });
  }
  lib.finalize();
  return 0;
}

}  // namespace bench

#endif  // WEFT_BENCH_BLOCK_HEAT_KERNEL_HPP
