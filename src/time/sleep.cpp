// sleep.cpp: what programs see of time.
#include "klt/guard.hpp"
#include "os/clock.hpp"
#include "weft/weft.h"
#include "worker/timers.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

void sleep_on_klt(uint64_t deadline) noexcept {
  const timespec until{static_cast<time_t>(deadline / 1'000'000'000),
                       static_cast<long>(deadline % 1'000'000'000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

// Nobody wakes it but the deadline.
Worker* sleep_on_worker(Worker* worker, uint64_t deadline) noexcept {
  Waiter waiter;
  waiter_init(worker, waiter, WaitKind::kSleep, nullptr);
  waiter.contended = true;
  Timer timer;
  timer_arm(worker, timer, waiter, deadline);
  return waiter_wait(worker, waiter);
}

}  // namespace
}  // namespace weft::rt

using namespace weft::rt;

extern "C" {

uint64_t weft_now(void) { return now_ns(); }

uint64_t weft_after(uint64_t ns) {
  const uint64_t now = now_ns();
  return ns < WEFT_NEVER - now ? now + ns : WEFT_NEVER;
}

int weft_sleep(uint64_t ns) { return weft_sleep_until(weft_after(ns)); }

int weft_sleep_until(uint64_t deadline) {
  Worker* worker = guard_enter();
  if (!may_wait(worker)) {
    guard_leave(worker);
    return WEFT_ERR_CONTEXT;
  }
  const Unit* unit = worker != nullptr ? klt_current() : nullptr;
  if (unit == nullptr || unit_is(unit, flag::kInPlace)) {  // a KLT; a scheduler's own code; in place
    if (worker != nullptr) guard_leave(worker);
    sleep_on_klt(deadline);
    return WEFT_OK;
  }
  if (now_ns() < deadline) worker = sleep_on_worker(worker, deadline);
  guard_leave(worker);
  return WEFT_OK;
}

}  // extern "C"
