// memory_per_ult: n ULTs (default a million) that are all suspended in the middle.
//
// what=resident: KiB resident for each, page tables of the kernel not counted. what=create: ns to
// create each and run it up to its suspension. what=bare_loop: ns to install a guard page and touch
// one fresh page per stack in a bare loop, in the same process: the floor of the line before.
#ifndef WEFT_BENCH_MEMORY_PER_ULT_KERNEL_HPP
#define WEFT_BENCH_MEMORY_PER_ULT_KERNEL_HPP

#include <sys/mman.h>

#include <memory>

#include "harness.hpp"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

namespace bench {

inline double resident_kib() {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  long pages = 0;
  check(file != nullptr && std::fscanf(file, "%*s %ld", &pages) == 1, "/proc/self/statm");
  std::fclose(file);
  return static_cast<double>(pages * sysconf(_SC_PAGESIZE)) / 1024;
}

// One guard at the bottom and one touched page at the top of each stack-sized piece.
inline Sample bare_loop(size_t count, size_t piece) {
  const size_t page = 4096;
  void* const memory = mmap(nullptr, count * piece, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  check(memory != MAP_FAILED, "mmap");
  madvise(memory, count * piece, MADV_NOHUGEPAGE);
  char* const base = static_cast<char*>(memory);
  Sample sample = time_once([&] {
    for (size_t i = 0; i < count; ++i) {
      madvise(base + i * piece, page, MADV_GUARD_INSTALL);  // older kernels: refused, and cheaper
      base[(i + 1) * piece - 64] = 1;
    }
  });
  munmap(memory, count * piece);
  sample.value *= 1e9 / static_cast<double>(count);
  return sample;
}

template <class Lib>
struct Sleeper {
  static inline uint64_t started, ended;
  static inline bool go;

  static void run(void*) {
    ++started;
    Lib::suspend();
    ++ended;
  }
};

template <class Lib>
int memory_per_ult(int argc, char** argv) {
  const Setup setup(argc, argv, {{"n", "1000000"}});
  const auto n = static_cast<size_t>(setup.number("n"));
  constexpr size_t kPiece = 131072;  // as far apart as the stacks of Weft
  // Right before each measurement: a virtual machine's host maps the memory now, and not while we measure.
  // It takes back what has been free for a few seconds.
  const auto warm_up = [=] { bare_loop(n + n / 4, kPiece); };
  warm_up();
  const Sample bare = bare_loop(n, kPiece);

  Lib lib;
  lib.init(1, Mode::kPlain, 0);
  const std::unique_ptr<typename Lib::Handle[]> handles(new typename Lib::Handle[n]());
  warm_up();
  const double before = resident_kib();
  Sample create = time_once([&] {
    for (size_t i = 0; i < n; ++i) {
      lib.template create<Sleeper<Lib>::run>(handles[i], nullptr);
      if (i % 256 == 255 || i == n - 1) {
        while (*const_cast<volatile uint64_t*>(&Sleeper<Lib>::started) <= i) {
          Lib::yield();
        }
      }
    }
  });
  const Sample resident{(resident_kib() - before) / static_cast<double>(n), create.cpu_s};
  create.value *= 1e9 / static_cast<double>(n);

  for (size_t i = 0; i < n; ++i) {
    Lib::resume(handles[i]);
  }
  for (size_t i = 0; i < n; ++i) {
    lib.join(handles[i]);
  }
  check(Sleeper<Lib>::started == n && Sleeper<Lib>::ended == n, "not every ULT has ended");
  setup.report("KiB", resident, {{"what", "resident"}});
  setup.report("ns", create, {{"what", "create"}});
  setup.report("ns", bare, {{"what", "bare_loop"}});
  lib.finalize();
  return 0;
}

}  // namespace bench

#endif  // WEFT_BENCH_MEMORY_PER_ULT_KERNEL_HPP
