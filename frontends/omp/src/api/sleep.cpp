// sleep.cpp: sleep() and its kin, before the C library's. A tick of preemption ends such a call with EINTR, as any signal with a
// handler does, and the kernel does not restart it: a thread that sleeps would wake early, since somebody has waited for its
// worker. Of what a tick has cut short the rest is slept; what a signal of the program's has ends as ever.
//
// They have no versions: see yield.cpp. The sleep itself is the C library's, where threads are cancelled.
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "api/next.hpp"
#include "export.hpp"
#include "front/front.hpp"

namespace {

constexpr long kSecond = 1'000'000'000;
// Up to here a sleep is the ULT's alone where its worker has something else to do: threads that wait for each other sleep so, again and again,
// and a change of kernel threads for each costs as much as the shortest of them. What is longer is the kernel thread's, since a signal
// has to end it.
constexpr long kShort = 1'000'000;

constinit weft::omp::Next<int(clockid_t, int, const timespec*, timespec*)> next_sleep{"clock_nanosleep"};

[[gnu::constructor]] void find_next() { next_sleep.get(); }

timespec sum(const timespec& a, const timespec& b) {
  timespec result{a.tv_sec + b.tv_sec, a.tv_nsec + b.tv_nsec};
  if (result.tv_nsec >= kSecond) {
    ++result.tv_sec;
    result.tv_nsec -= kSecond;
  }
  return result;
}

// Until `end`; nothing where that is over.
timespec left_until(const timespec& end, clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  timespec left{end.tv_sec - now.tv_sec, end.tv_nsec - now.tv_nsec};
  if (left.tv_nsec < 0) {
    --left.tv_sec;
    left.tv_nsec += kSecond;
  }
  return left.tv_sec >= 0 ? left : timespec{};
}

bool sleep_as_ult(clockid_t clock, bool relative, const timespec& wish) {
  if (clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME) return false;
  const timespec left = relative ? wish : left_until(wish, clock);
  if (left.tv_sec != 0 || left.tv_nsec > kShort) return false;
  if (!relative && left.tv_nsec == 0) return false;  // it is over; while none at all takes some microseconds
  return weft::front::sleep_as_thread(static_cast<uint64_t>(left.tv_nsec));
}

int sleep_on(clockid_t clock, int flags, const timespec* wish, timespec* rest) {
  const bool relative = (flags & TIMER_ABSTIME) == 0;
  const bool strange = wish == nullptr || wish->tv_nsec < 0 || wish->tv_nsec >= kSecond || wish->tv_sec < 0 ||
                       wish->tv_sec > INT64_MAX / 4;
  weft::front::CallMark mark = weft::front::call_mark();
  if (strange || mark.klt == nullptr) return next_sleep.get()(clock, flags, wish, rest);
  if (sleep_as_ult(clock, relative, *wish)) return 0;
  // A while is a while, even if somebody sets the clock meanwhile.
  if (relative && clock == CLOCK_REALTIME) clock = CLOCK_MONOTONIC;
  timespec end = *wish;
  if (relative) {
    timespec now{};
    if (clock_gettime(clock, &now) != 0) return errno;
    end = sum(now, *wish);
  }
  while (true) {
    const int error = next_sleep.get()(clock, TIMER_ABSTIME, &end, nullptr);
    if (error != EINTR) return error;
    if (!weft::front::call_cut_short(mark)) {
      if (relative && rest != nullptr) *rest = left_until(end, clock);
      return EINTR;
    }
  }
}

}  // namespace

WEFT_OMP_API int clock_nanosleep(clockid_t clock, int flags, const timespec* wish, timespec* rest) {
  return sleep_on(clock, flags, wish, rest);
}

WEFT_OMP_API int nanosleep(const timespec* wish, timespec* rest) {
  const int error = sleep_on(CLOCK_REALTIME, 0, wish, rest);
  if (error == 0) return 0;
  errno = error;
  return -1;
}

WEFT_OMP_API int usleep(useconds_t microseconds) {
  const timespec wish{static_cast<time_t>(microseconds / 1'000'000), static_cast<long>(microseconds % 1'000'000) * 1000};
  return nanosleep(&wish, nullptr);
}

WEFT_OMP_API unsigned sleep(unsigned seconds) {
  const timespec wish{static_cast<time_t>(seconds), 0};
  timespec rest{};
  // As many whole seconds as were not slept, as the C library has it.
  return sleep_on(CLOCK_REALTIME, 0, &wish, &rest) == 0 ? 0 : static_cast<unsigned>(rest.tv_sec);
}
