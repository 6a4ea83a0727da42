// kernel_timer.hpp: one-shot timers of CLOCK_MONOTONIC that send a signal to one thread. System calls as they are: the
// C library's functions are not all async-signal-safe, and theirs hide the kernel's number.
#pragma once

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

namespace weft::rt {

inline constexpr int kNoTimer = -1;

// kNoTimer: the kernel refused (each timer takes one of the signals that `ulimit -i` allows).
inline int kernel_timer_create(int tid, int signal) noexcept {
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = signal;
#ifdef sigev_notify_thread_id
  event.sigev_notify_thread_id = tid;
#else
  event._sigev_un._tid = tid;
#endif
  int timer = kNoTimer;
  return syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) == 0 ? timer : kNoTimer;
}

// Fires once, at that time. 0: not at all. Async-signal-safe but for errno.
inline bool kernel_timer_set(int timer, uint64_t deadline) noexcept {
  itimerspec when{};
  when.it_value = {static_cast<time_t>(deadline / 1'000'000'000), static_cast<long>(deadline % 1'000'000'000)};
  return syscall(SYS_timer_settime, timer, TIMER_ABSTIME, &when, nullptr) == 0;
}

inline void kernel_timer_delete(int timer) noexcept { syscall(SYS_timer_delete, timer); }

}  // namespace weft::rt
