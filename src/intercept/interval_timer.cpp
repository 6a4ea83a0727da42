// interval_timer.cpp: alarm() and setitimer(), by which programs stop timers: what one has sent before, and the lender has in hand, has been handled
// when they return. The program may take away then what its handler uses. (timer_settime(): number.cpp.)
#include <sys/time.h>
#include <unistd.h>

#include "intercept/next.hpp"
#include "worker/lender_signal.hpp"

using namespace weft::rt;

namespace {

constinit Next<unsigned(unsigned) noexcept> next_alarm{"alarm"};
constinit Next<int(__itimer_which_t, const itimerval*, itimerval*) noexcept> next_setitimer{"setitimer"};

[[gnu::constructor]] void find_next() noexcept {
  next_alarm.find();
  next_setitimer.find();
}

bool stops(const itimerval& time) noexcept { return time.it_value.tv_sec == 0 && time.it_value.tv_usec == 0; }

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

unsigned alarm(unsigned seconds) noexcept {
  const unsigned left = next_alarm.get()(seconds);
  if (seconds == 0) lender_catch_up_here();
  return left;
}

// The kernel takes none for one that stops it.
int setitimer(__itimer_which_t which, const itimerval* time, itimerval* was) noexcept {
  const int error = next_setitimer.get()(which, time, was);
  if (error == 0 && (time == nullptr || stops(*time))) lender_catch_up_here();
  return error;
}

}  // extern "C"
#pragma GCC visibility pop
