// memory_per_ult: n ULTs (default a million) that are all suspended in the middle.
//
// what=resident: KiB resident for each, page tables of the kernel not counted; what=huge: how much of that is in
// huge pages. what=create: ns to create each and run it up to its suspension; what=faults: page faults
// meanwhile, for each. what=end: ns to resume each, run it to its end and join it. what=bare_loop: ns to
// install a guard page and touch one fresh page per stack in a bare loop, in the same process: the floor of
// `create`.
#ifndef WEFT_BENCH_MEMORY_PER_ULT_KERNEL_HPP
#define WEFT_BENCH_MEMORY_PER_ULT_KERNEL_HPP

#include <sys/mman.h>
#include <sys/resource.h>

#include <memory>

#include "harness.hpp"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

namespace bench {

struct Memory {
  double resident_kib = 0;  // reserved huge pages included, which the kernel's own "resident" leaves out
  double huge_kib = 0;
  double faults = 0;

  static Memory now() {
    std::FILE* const file = std::fopen("/proc/self/smaps_rollup", "r");
    check(file != nullptr, "/proc/self/smaps_rollup");
    Memory memory;
    char line[256];
    while (std::fgets(line, sizeof line, file) != nullptr) {
      double kib = 0;
      if (std::sscanf(line, "Rss: %lf", &kib) == 1) memory.resident_kib += kib;
      if (std::sscanf(line, "AnonHugePages: %lf", &kib) == 1) memory.huge_kib += kib;
      if (std::sscanf(line, "Private_Hugetlb: %lf", &kib) == 1) {
        memory.resident_kib += kib;
        memory.huge_kib += kib;
      }
    }
    std::fclose(file);
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    memory.faults = static_cast<double>(usage.ru_minflt);
    return memory;
  }
};

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
  const Memory before = Memory::now();
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
  const Memory after = Memory::now();
  const auto count = static_cast<double>(n);
  const Sample resident{(after.resident_kib - before.resident_kib) / count, create.cpu_s};
  const Sample huge{(after.huge_kib - before.huge_kib) / count, create.cpu_s};
  const Sample faults{(after.faults - before.faults) / count, create.cpu_s};
  create.value *= 1e9 / count;

  Sample end = time_once([&] {
    for (size_t i = 0; i < n; ++i) {
      Lib::resume(handles[i]);
    }
    for (size_t i = 0; i < n; ++i) {
      lib.join(handles[i]);
    }
  });
  end.value *= 1e9 / count;
  check(Sleeper<Lib>::started == n && Sleeper<Lib>::ended == n, "not every ULT has ended");
  setup.report("KiB", resident, {{"what", "resident"}});
  setup.report("KiB", huge, {{"what", "huge"}});
  setup.report("ns", create, {{"what", "create"}});
  setup.report("faults", faults, {{"what", "faults"}});
  setup.report("ns", end, {{"what", "end"}});
  setup.report("ns", bare, {{"what", "bare_loop"}});
  lib.finalize();
  return 0;
}

}  // namespace bench

#endif  // WEFT_BENCH_MEMORY_PER_ULT_KERNEL_HPP
