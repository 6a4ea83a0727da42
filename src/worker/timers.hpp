// timers.hpp: who looks at the deadlines, and when. Protocol: README.md, "Deadlines".
#pragma once

#include <cstdint>

#include "time/timer_heap.hpp"
#include "worker/worker.hpp"

namespace weft::rt {

// The waiter, a ULT's, is contended; it is woken with the state TimedOut, unless somebody else wakes it
// before. Guard up.
void timer_arm(Worker* worker, Timer& timer, Waiter& waiter, uint64_t deadline) noexcept;
// Before the waiter's frame goes. Guard up.
// False: the deadline has come, and whoever waits is on its way, or has been woken as well.
bool timer_disarm(Timer& timer) noexcept;

bool timers_pending() noexcept;
// The earliest deadline of this worker; kNever: none. Async-signal-safe.
uint64_t timers_earliest_of(const Worker* worker) noexcept;
uint64_t timers_earliest_of(unsigned worker_index) noexcept;
// kNever: none.
uint64_t timers_earliest() noexcept;
// Wakes those whose deadline has come, of this worker and, in turn, of another one. Guard up.
void timers_poll(Worker* worker) noexcept;
// Now and then the same: at places that are passed all the time.
inline void timers_look(Worker* worker) noexcept {
  constexpr uint32_t kEvery = 16;
  if (++worker->timer_look % kEvery == 0) timers_poll(worker);
}
// The same of all workers.
void timers_poll_all(Worker* worker, uint64_t now) noexcept;
// The owner's answer to attention::kTimer.
void timers_news(Worker* worker) noexcept;

// In a forked child: of all workers.
void timers_forget() noexcept;
// The memory. All units have ended, and all workers but the caller's.
void timers_release() noexcept;

// The earliest deadline, if no sleeper will wake for it; else kNever.
uint64_t timers_unwatched() noexcept;
// A worker that has said that it sleeps: until when; kNever: until it is woken.
uint64_t timers_watch(Worker* worker) noexcept;
// It sleeps no longer.
void timers_unwatch(Worker* worker) noexcept;

}  // namespace weft::rt
