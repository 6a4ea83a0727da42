// futex.hpp: sleep on a word and wake sleepers, process-private.
#pragma once

#include <linux/futex.h>
#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

namespace weft::rt {

using FutexWord = std::atomic<uint32_t>;

// Sleeps while word == expected. May return without reason: callers loop. Async-signal-safe.
inline void futex_wait(FutexWord& word, uint32_t expected) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

// The same for at most so long. False: the time was up.
inline bool futex_wait_for(FutexWord& word, uint32_t expected, uint64_t ns) noexcept {
  const timespec timeout{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  const long result = syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, &timeout, nullptr, 0);
  return result == 0 || errno != ETIMEDOUT;
}

// The same until a time of CLOCK_MONOTONIC, in nanoseconds. Whether that came is for the caller to see.
inline void futex_wait_until(FutexWord& word, uint32_t expected, uint64_t deadline) noexcept {
  const timespec timeout{static_cast<time_t>(deadline / 1'000'000'000),
                         static_cast<long>(deadline % 1'000'000'000)};
  syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, expected, &timeout, nullptr, FUTEX_BITSET_MATCH_ANY);
}

inline void futex_wake(FutexWord& word, int count) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

inline void futex_wake_all(FutexWord& word) noexcept { futex_wake(word, INT_MAX); }

}  // namespace weft::rt
