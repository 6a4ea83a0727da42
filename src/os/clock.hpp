// clock.hpp: the two clocks, in nanoseconds of CLOCK_MONOTONIC. Async-signal-safe.
#pragma once

#include <time.h>

#include <cstdint>

namespace weft::rt {

inline constexpr uint64_t kNever = UINT64_MAX;

inline uint64_t clock_read(clockid_t clock) noexcept {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

inline uint64_t now_ns() noexcept { return clock_read(CLOCK_MONOTONIC); }  // some 20 ns

inline uint64_t thread_cpu_ns() noexcept { return clock_read(CLOCK_THREAD_CPUTIME_ID); }  // that of the caller; a system call

// Of any thread of the process, by its number; 0: there is none of that number.
constexpr clockid_t cpu_clock_of(int tid) noexcept {
  constexpr int kThread = 4, kScheduled = 2;  // as the kernel makes a clock of a thread's number
  return ~tid << 3 | kThread | kScheduled;
}
inline uint64_t cpu_ns_of(int tid) noexcept {
  timespec t;
  if (clock_gettime(cpu_clock_of(tid), &t) != 0) return 0;
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

// As of the kernel's last tick, some milliseconds ago: a quarter of the price.
inline uint64_t coarse_now_ns() noexcept { return clock_read(CLOCK_MONOTONIC_COARSE); }

}  // namespace weft::rt
