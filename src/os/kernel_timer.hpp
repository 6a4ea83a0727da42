// kernel_timer.hpp: one-shot timers that send a signal to one thread. System calls as they are: the C library's functions are not all
// async-signal-safe, and theirs hide the kernel's number.
#pragma once

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

namespace weft::rt {

inline constexpr int kNoTimer = -1;

// The signal has that value. kNoTimer: the kernel refused (each timer takes one of the signals that `ulimit -i` allows).
inline int kernel_timer_create(clockid_t clock, int tid, int signal, int value) noexcept {
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = signal;
  event.sigev_value.sival_int = value;
#ifdef sigev_notify_thread_id
  event.sigev_notify_thread_id = tid;
#else
  event._sigev_un._tid = tid;
#endif
  int timer = kNoTimer;
  return syscall(SYS_timer_create, clock, &event, &timer) == 0 ? timer : kNoTimer;
}

// One of CLOCK_MONOTONIC.
inline int kernel_timer_create(int tid, int signal) noexcept { return kernel_timer_create(CLOCK_MONOTONIC, tid, signal, 0); }

// Fires once, at that time of its clock, or so much later. 0: not at all. Returns in how many nanoseconds it was to fire until now; 0: it was not.
// In a few, or some microseconds more: it may just have. Async-signal-safe but for errno.
inline uint64_t kernel_timer_set(int timer, uint64_t deadline, int flags = TIMER_ABSTIME) noexcept {
  itimerspec when{}, before{};
  when.it_value = {static_cast<time_t>(deadline / 1'000'000'000), static_cast<long>(deadline % 1'000'000'000)};
  if (syscall(SYS_timer_settime, timer, flags, &when, &before) != 0) return 0;
  return static_cast<uint64_t>(before.it_value.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(before.it_value.tv_nsec);
}

inline void kernel_timer_delete(int timer) noexcept { syscall(SYS_timer_delete, timer); }

}  // namespace weft::rt
