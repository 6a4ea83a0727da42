// cpu_set.hpp: a set of CPUs, and the affinity of a thread.
#pragma once

#include <array>
#include <cstddef>

namespace weft::rt {

// As many as the kernel can be built for on x86-64; glibc's cpu_set_t holds 1024 only, and
// sched_getaffinity() fails on a larger machine.
inline constexpr int kMaxCpus = 8192;

// Numbered as the kernel numbers them.
class CpuSet {
 public:
  bool contains(int cpu) const {
    return cpu >= 0 && cpu < kMaxCpus && ((words_[word(cpu)] >> bit(cpu)) & 1) != 0;
  }
  void add(int cpu) { words_[word(cpu)] |= 1ul << bit(cpu); }
  int count() const;
  bool operator==(const CpuSet&) const = default;

  unsigned long* data() { return words_.data(); }
  const unsigned long* data() const { return words_.data(); }
  static constexpr std::size_t bytes() { return kMaxCpus / 8; }

 private:
  static constexpr int kBits = 8 * sizeof(unsigned long);
  static constexpr std::size_t word(int cpu) { return static_cast<std::size_t>(cpu / kBits); }
  static constexpr int bit(int cpu) { return cpu % kBits; }

  std::array<unsigned long, kMaxCpus / kBits> words_{};
};

// The CPUs on which a thread of the process, 0: the calling one, may run: its affinity mask, which the kernel has already
// cut to the cpuset. Returns 0 or an errno. Async-signal-safe.
int get_affinity(CpuSet& cpus, int tid = 0);

// Confines a thread of the process, 0: the calling one, to these CPUs. Returns 0 or an errno (EINVAL: none of them is in the
// cpuset). Whoever confines a thread that is not Weft's own gives it back as it was: get first.
// Async-signal-safe.
int set_affinity(const CpuSet& cpus, int tid = 0);

// Where the calling thread runs; -1: the kernel does not say. Asks no thread pointer, which may be a ULT's. Async-signal-safe.
int cpu_now();

}  // namespace weft::rt
