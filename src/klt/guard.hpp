// guard.hpp: the runtime's critical sections.
//
//   enter()   guard = 1; read `worker`           the owner pays two plain moves
//   leave()   guard = 0; read `attention`
//
// While the guard is up this KLT's worker is not taken and a preemption handler only leaves a note.
// A taker publishes (worker = null, take = Pending), calls membarrier(), and reads the guard: either
// it sees the guard up and retracts, or the owner sees that its worker is gone. See README.md.
#pragma once

#include "klt/klt.hpp"
#include "klt/process_gate.hpp"

namespace weft::rt {

// The owner found no worker: waits for a retraction, or queues itself for a worker and sleeps.
// Returns with the guard up and a worker.
Worker* guard_enter_slow() noexcept;
// Somebody wants something; lowers the guard in the end.
void guard_leave_slow() noexcept;
int guard_leave_slow_ok() noexcept;  // the same; returns WEFT_OK
// Does what others want of this KLT, but for what would take its worker or its unit. Guard up.
void answer_attention(Worker* worker) noexcept;

// Raises the guard. Null: the calling thread is not a KLT of Weft (and nothing was raised).
[[gnu::always_inline]] inline Worker* guard_enter() noexcept {
  if (__builtin_expect(!klt_register_valid(), 0)) return nullptr;
  klt_register_store32<kKltGuard>(1);
  auto* worker = klt_register_load<kKltWorker, Worker*>();
  if (__builtin_expect(worker == nullptr, 0)) worker = guard_enter_slow();
  san::acquire(worker);
  return worker;
}

// The guard's value in a section of a few instructions that is told of others: "in that object", which lies at a multiple of 8. Others
// far away have the same. See klt_wait_until_none_in(). 0: to come into that one is not to raise the guard; nobody must.
inline uint32_t guard_in(const void* object) noexcept { return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(object)); }

// Raises the guard and reads the worker, for fast paths whose slow path is a call that begins with
// guard_enter(): null: go there. Precondition: klt_register_valid().
[[gnu::always_inline]] inline Worker* guard_try_enter() noexcept {
  klt_register_store32<kKltGuard>(1);
  auto* worker = klt_register_load<kKltWorker, Worker*>();
  san::acquire(worker);
  return worker;
}

// The same, into an object.
[[gnu::always_inline]] inline Worker* guard_try_enter_in(const void* object) noexcept {
  klt_register_store32<kKltGuard>(guard_in(object));
  auto* worker = klt_register_load<kKltWorker, Worker*>();
  san::acquire(worker);
  return worker;
}

// Into an object, and out of it, with the guard up already.
[[gnu::always_inline]] inline void guard_come_in(const void* object) noexcept {
  klt_register_store32<kKltGuard>(guard_in(object));
}
[[gnu::always_inline]] inline void guard_go_out() noexcept { klt_register_store32<kKltGuard>(kGuardUp); }

// This KLT's worker, with the guard up already. Even then the word may be null for a moment: a taker
// publishes before it looks at the guard.
[[gnu::always_inline]] inline Worker* guard_worker() noexcept {
  auto* worker = klt_register_load<kKltWorker, Worker*>();
  if (__builtin_expect(worker == nullptr, 0)) worker = guard_enter_slow();
  return worker;
}

// A section of whatever thread: null: it is no KLT of Weft, and is counted at the gate.
inline Worker* section_enter() noexcept {
  Worker* worker = guard_enter();
  if (worker == nullptr) gate_enter();
  return worker;
}

// For code that has proved to run on a KLT.
[[gnu::always_inline]] inline Worker* guard_enter_on_klt() noexcept {
  klt_register_store32<kKltGuard>(1);
  Worker* worker = guard_worker();
  san::acquire(worker);
  return worker;
}

// Lowers the guard. Afterwards the caller may be on another KLT, with another worker; or it does not come back: a handler of the program's that has
// interrupted the section has left by a jump (worker/put_off_jump.hpp).
[[gnu::always_inline]] inline void guard_leave(Worker* worker) noexcept {
  san::release(worker);
  static_cast<void>(worker);
  klt_register_store32<kKltGuard>(0);
  if (__builtin_expect(klt_register_load<kKltAttention, uint32_t>() != 0, 0)) guard_leave_slow();
}

// The end of a section_enter(); the worker is the one of now.
inline void section_leave(Worker* worker) noexcept {
  if (worker != nullptr) {
    guard_leave(worker);
  } else {
    gate_leave();
  }
}

// guard_leave() as the last thing that a function of the C interface does: a tail call where it is a call at
// all, so that the function need not save registers for it.
[[gnu::always_inline]] inline int guard_leave_ok(Worker* worker) noexcept {
  san::release(worker);
  static_cast<void>(worker);
  klt_register_store32<kKltGuard>(0);
  if (__builtin_expect(klt_register_load<kKltAttention, uint32_t>() != 0, 0)) return guard_leave_slow_ok();
  return 0;
}

// The same where nothing was pushed since the guard went up: hunger, which may stand there all the time, is left to who pushes, as by an owner that
// computes (worker/README.md). Not behind a switch: the unit that has left may lie in the ring since then. A mutex of one worker takes 5 ns so
// beside a worker that sleeps, and else 13.
[[gnu::always_inline]] inline int guard_leave_unfed_ok(Worker* worker) noexcept {
  san::release(worker);
  static_cast<void>(worker);
  klt_register_store32<kKltGuard>(0);
  if (__builtin_expect((klt_register_load<kKltAttention, uint32_t>() & ~attention::kHungry) != 0, 0)) return guard_leave_slow_ok();
  return 0;
}

}  // namespace weft::rt
