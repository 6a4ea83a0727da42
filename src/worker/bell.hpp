// bell.hpp: something that every worker does once, when its scheduler gets to it.
//
// Ringing is a number that goes up; each worker has the number that it has answered. So ringing takes no lock, a signal
// handler can do it, and a worker that has not come twice in a row answers once.
// Rejected: a unit for each worker (needs memory, which a signal handler cannot get); the attention of KLTs (is
// looked at in the middle of units).
#pragma once

#include "worker/runtime.hpp"
#include "worker/worker.hpp"

namespace weft::rt {

using BellFunction = void (*)();

struct Bell {
  std::atomic<uint32_t> rung{0};                    // any thread
  std::atomic<BellFunction> function{nullptr};      // what is done; its setter's
  std::atomic<BellFunction> lasting{nullptr};       // what is done besides; set once
  std::atomic<int> ringers{0};                      // any thread: who is ringing just now
};
extern Bell bell;

// Sequentially consistent, pairs with bell_ring(): a worker about to sleep, which has said so, sees that it was rung, or
// is woken.
inline bool bell_calls(const Worker* worker) noexcept {
  return bell.rung.load(std::memory_order_seq_cst) != worker->bell_answered;
}
// Calls the functions, with the guard down and no current unit. Guard up before and after; the worker stays.
void bell_answer(Worker* worker) noexcept;

// What was rung before does not call this worker.
inline void bell_ignore(Worker* worker) noexcept {
  worker->bell_answered = bell.rung.load(std::memory_order_relaxed);
}

// Async-signal-safe. Nothing, while the runtime does not run. With ticks, a ULT that never comes to Weft leaves for it.
void bell_ring() noexcept;

// For finalise: whoever rings is done with the workers. And in a forked child, where they have stayed behind.
void bell_stop() noexcept;
void bell_forget() noexcept;

}  // namespace weft::rt
