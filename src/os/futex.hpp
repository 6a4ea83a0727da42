// futex.hpp: sleep on a word and wake sleepers, process-private. errno stays what it is: a program's section begins and ends with such sleeps.
#pragma once

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include <atomic>
#include <climits>
#include <cstdint>

#include "arch/system_call.hpp"

namespace weft::rt {

using FutexWord = std::atomic<uint32_t>;

[[gnu::always_inline]] inline long futex_call(FutexWord& word, long what, uint32_t value, const timespec* timeout, uint32_t bits) noexcept {
  return system_call(SYS_futex, reinterpret_cast<long>(&word), what, value, reinterpret_cast<long>(timeout), 0, bits);
}

// Sleeps while word == expected. May return without reason: callers loop. Async-signal-safe.
inline void futex_wait(FutexWord& word, uint32_t expected) noexcept {
  futex_call(word, FUTEX_WAIT_PRIVATE, expected, nullptr, 0);
}

// The same for at most so long. False: the time was up.
inline bool futex_wait_for(FutexWord& word, uint32_t expected, uint64_t ns) noexcept {
  const timespec timeout{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  return futex_call(word, FUTEX_WAIT_PRIVATE, expected, &timeout, 0) != -ETIMEDOUT;
}

// The same until a time of CLOCK_MONOTONIC, in nanoseconds. Whether that came is for the caller to see.
inline void futex_wait_until(FutexWord& word, uint32_t expected, uint64_t deadline) noexcept {
  const timespec timeout{static_cast<time_t>(deadline / 1'000'000'000),
                         static_cast<long>(deadline % 1'000'000'000)};
  futex_call(word, FUTEX_WAIT_BITSET_PRIVATE, expected, &timeout, FUTEX_BITSET_MATCH_ANY);
}

inline void futex_wake(FutexWord& word, int count) noexcept {
  futex_call(word, FUTEX_WAKE_PRIVATE, static_cast<uint32_t>(count), nullptr, 0);
}

inline void futex_wake_all(FutexWord& word) noexcept { futex_wake(word, INT_MAX); }

}  // namespace weft::rt
