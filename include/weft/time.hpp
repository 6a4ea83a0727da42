// time.hpp: times of <chrono> as the deadlines of weft.h.
//
// A deadline is a time of CLOCK_MONOTONIC, which is what std::chrono::steady_clock reads on Linux. The time
// of another clock is turned into one through what is left until then; since such a clock can be set,
// whoever has waited looks at it again.
#pragma once

#include <chrono>
#include <cstdint>
#include <type_traits>

#include "weft/weft.h"

namespace weft::detail {

// Rounded up; 0 for what is not positive; WEFT_NEVER for more than 292 years.
template <class Rep, class Period>
std::uint64_t nanoseconds_of(const std::chrono::duration<Rep, Period>& d) {
  using std::chrono::duration;
  using std::chrono::nanoseconds;
  if (!(d > d.zero())) {
    return 0;
  }
  if (duration<double>(d) >= duration<double>(nanoseconds::max())) {
    return WEFT_NEVER;
  }
  return static_cast<std::uint64_t>(std::chrono::ceil<nanoseconds>(d).count());
}

template <class Rep, class Period>
std::uint64_t deadline_after(const std::chrono::duration<Rep, Period>& d) {
  const std::uint64_t ns = nanoseconds_of(d);
  return ns == 0 ? 0 : weft_after(ns);
}

template <class Clock, class Duration>
std::uint64_t deadline_at(const std::chrono::time_point<Clock, Duration>& t) {
  if constexpr (std::is_same_v<Clock, std::chrono::steady_clock>) {
    return nanoseconds_of(t.time_since_epoch());
  } else {
    const auto now = Clock::now();
    return now < t ? deadline_after(t - now) : 0;
  }
}

// Whether a wait until deadline_at(t) that timed out has waited until t.
template <class Clock, class Duration>
bool is_past([[maybe_unused]] const std::chrono::time_point<Clock, Duration>& t) {
  if constexpr (std::is_same_v<Clock, std::chrono::steady_clock>) {
    return true;
  } else {
    return !(Clock::now() < t);
  }
}

// wait(deadline), again and again as long as it returns TIMEOUT and it is not t yet. For waits that
// miss nothing between two calls.
template <class Clock, class Duration, class W>
int wait_until(const std::chrono::time_point<Clock, Duration>& t, W wait) {
  for (;;) {
    const int error = wait(deadline_at(t));
    if (error != WEFT_ERR_TIMEOUT || is_past(t)) {
      return error;
    }
  }
}

}  // namespace weft::detail
