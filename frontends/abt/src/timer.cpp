// timer.cpp: ABT_timer, and the clock.
#include <ctime>

#include "handle.hpp"

namespace weft::abt {
namespace {

// Seconds of ABT_get_wtime().
struct Timer {
  double start;
  double stop;
};

Timer& timer_of(ABT_timer handle) noexcept { return *reinterpret_cast<Timer*>(handle); }

double elapsed(const Timer& timer) noexcept { return timer.stop - timer.start; }

}  // namespace
}  // namespace weft::abt

using namespace weft::abt;

// Of CLOCK_REALTIME, because ABT_cond_timedwait() and ABT_pool_pop_timedwait() take times of that clock.
double ABT_get_wtime(void) {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

int ABT_timer_create(ABT_timer* newtimer) { return make(newtimer, ABT_TIMER_NULL, Timer{}); }

int ABT_timer_dup(ABT_timer timer, ABT_timer* newtimer) {
  if (is_null(timer)) return fail(newtimer, ABT_TIMER_NULL, ABT_ERR_INV_TIMER);
  return make(newtimer, ABT_TIMER_NULL, timer_of(timer));
}

int ABT_timer_free(ABT_timer* timer) {
  if (holds_null(timer)) return ABT_ERR_INV_TIMER;
  delete &timer_of(*timer);
  *timer = ABT_TIMER_NULL;
  return ABT_SUCCESS;
}

int ABT_timer_start(ABT_timer timer) {
  if (is_null(timer)) return ABT_ERR_INV_TIMER;
  timer_of(timer).start = ABT_get_wtime();
  return ABT_SUCCESS;
}

int ABT_timer_stop(ABT_timer timer) {
  if (is_null(timer)) return ABT_ERR_INV_TIMER;
  timer_of(timer).stop = ABT_get_wtime();
  return ABT_SUCCESS;
}

int ABT_timer_read(ABT_timer timer, double* secs) {
  if (is_null(timer)) return ABT_ERR_INV_TIMER;
  *secs = elapsed(timer_of(timer));
  return ABT_SUCCESS;
}

int ABT_timer_stop_and_read(ABT_timer timer, double* secs) {
  if (const int error = ABT_timer_stop(timer); error != ABT_SUCCESS) return error;
  *secs = elapsed(timer_of(timer));
  return ABT_SUCCESS;
}

int ABT_timer_stop_and_add(ABT_timer timer, double* secs) {
  if (const int error = ABT_timer_stop(timer); error != ABT_SUCCESS) return error;
  *secs += elapsed(timer_of(timer));
  return ABT_SUCCESS;
}

// What a start and a stop add to what is measured.
int ABT_timer_get_overhead(double* overhead) {
  constexpr int kTimes = 5000;
  Timer timer{};
  const auto handle = reinterpret_cast<ABT_timer>(&timer);
  double sum = 0;
  for (int i = 0; i < kTimes; ++i) {
    ABT_timer_start(handle);
    ABT_timer_stop_and_add(handle, &sum);
  }
  *overhead = sum / kTimes;
  return ABT_SUCCESS;
}
