// process_gate.cpp: see process_gate.hpp; steps as in README.md, "The gate".
#include "klt/process_gate.hpp"

#include <sched.h>

#include "klt/kernel_sleep.hpp"
#include "klt/time_slice.hpp"
#include "os/membarrier.hpp"
#include "worker/worker.hpp"

namespace weft::rt {

constinit ProcessGate process_gate;
constinit uintptr_t process_generation = 0;

namespace {

// Sections of such a thread nest where a pool is the user's. It never becomes another thread inside one, so
// the address may be kept.
constinit thread_local unsigned depth = 0;

void wait_until_zero(FutexWord& word) noexcept {
  // Acquire, pairs with the release in gate_open().
  while (const uint32_t seen = word.load(std::memory_order_acquire)) futex_wait(word, seen);
}

void wait_until_open() noexcept { wait_until_zero(process_gate.closed); }

struct Pass {
  Klt* self;
  bool inside = false;    // somebody is
  bool starting = false;  // somebody's thread has yet to begin
  bool let_out = false;   // somebody has been
};

void let_go(Klt* klt, void*) noexcept {
  if (klt->held_back == nullptr) return;
  klt->worker.store(klt->held_back, std::memory_order_release);
  klt->held_back = nullptr;
  // Release, pairs with the acquire in guard_enter_slow() and give_begin().
  klt->take.store(Take::kNone, std::memory_order_release);
}

// Step 3. Publishes the worker as gone, as a taker does.
void hold_back(Klt* klt, void* pass) noexcept {
  if (klt == static_cast<Pass*>(pass)->self) return;
  // It does not rest at the gate, and gets on to where it sleeps, or leaves the handler.
  if (klt->passes_gate.load(std::memory_order_acquire)) return let_go(klt, nullptr);
  if (klt->held_back != nullptr) return;
  if (klt->guard.load(std::memory_order_relaxed) == kGuardResting) return;
  Worker* worker = klt->worker.load(std::memory_order_relaxed);
  Take none = Take::kNone;
  if (worker == nullptr) return;
  if (!klt->take.compare_exchange_strong(none, Take::kPending, std::memory_order_acquire)) return;
  if (klt->worker.compare_exchange_strong(worker, nullptr, std::memory_order_acq_rel)) {
    forget_tag(klt);
    klt->held_back = worker;
  } else {
    klt->take.store(Take::kNone, std::memory_order_release);
  }
}

// Step 5.
void see_whether_out(Klt* klt, void* arg) noexcept {
  auto* pass = static_cast<Pass*>(arg);
  if (klt == pass->self || klt_has_left(klt)) return;
  // Only starting: it is outside of Weft, but may hold a lock of an allocator that does not know of fork(), which nobody
  // would give back in the child.
  if (klt->tid.load(std::memory_order_acquire) == 0) {
    pass->starting = true;
    return;
  }
  // Acquire, pairs with the release in rest_begin().
  const uint32_t guard = klt->guard.load(std::memory_order_acquire);
  if (guard == kGuardResting) return;
  const bool inside = klt_is_inside(klt);
  const Take take = klt->take.load(std::memory_order_acquire);
  // Without a worker, and nobody is about to bring one back: it comes in by guard_enter_slow() only.
  const bool barred = klt->held_back != nullptr || (klt->worker.load(std::memory_order_relaxed) == nullptr &&
                                                    take != Take::kPending && take != Take::kGiving);
  if (inside || !barred) pass->inside = true;
}

// Step 6. Nobody is inside: so nobody gives it a worker, and where its guard rests it sleeps as a captive.
void let_out(Klt* klt, void* arg) noexcept {
  auto* pass = static_cast<Pass*>(arg);
  if (klt->state.load(std::memory_order_acquire) != KltState::kCaptive) return;
  if (!klt->passes_gate.load(std::memory_order_relaxed)) return;
  // Acquire, pairs with the release in rest_begin().
  if (klt->guard.load(std::memory_order_acquire) != kGuardResting) {
    pass->inside = true;  // it has just woken, and will rest again
    return;
  }
  Worker* worker = klt->worker.exchange(nullptr, std::memory_order_relaxed);
  if (worker == nullptr && klt->held.load(std::memory_order_relaxed) == nullptr) return;  // it is to be given one
  forget_tag(klt);
  klt->given = worker;  // that waits until it comes in
  klt->state.store(KltState::kOut, std::memory_order_relaxed);
  klt_wake(klt, kGoOut);
  pass->let_out = true;
}

void let_captives_out(Pass& pass) noexcept {
  klt_for_each(let_out, &pass);
  if (!pass.let_out) return;
  // Of those that have been given a worker some wait for this word already.
  process_gate.closed.fetch_add(1, std::memory_order_release);
  futex_wake_all(process_gate.closed);
}

void call_in(Klt* klt, void*) noexcept {
  const bool out = klt->state.load(std::memory_order_acquire) == KltState::kOut;
  // Sequentially consistent, pairs with stays_out(): either that sees the gate open, or we see that it is outside.
  if (!klt->call_in.exchange(false, std::memory_order_seq_cst) && !out) return;
  if (!preempt_call_in(klt)) block_call_in(klt);
}

}  // namespace

void rest_at_gate(Klt* self) noexcept {
  rest_begin(self);
  wait_until_open();
  rest_end(self);
  // A tick that came here was not followed by another one.
  if (Worker* worker = self->worker.load(std::memory_order_relaxed); worker != nullptr && !preempt_off()) {
    preempt_goes_on(self, worker);
  }
}

bool rest_ends(Klt* self) noexcept {
  self->guard.store(kGuardUp, std::memory_order_relaxed);
  // As in rest_end().
  std::atomic_signal_fence(std::memory_order_seq_cst);
  const uint32_t closed = process_gate.closed.load(std::memory_order_acquire);
  if (__builtin_expect(closed == 0, 1)) return true;
  rest_begin(self);
  // Whoever lets us out says so first, and then changes this word.
  if (self->wake.load(std::memory_order_acquire) != kGoOut) futex_wait(process_gate.closed, closed);
  return false;
}

bool stays_out(Klt* self) noexcept {
  // Sequentially consistent, both: see call_in().
  self->call_in.store(true, std::memory_order_seq_cst);
  if (process_gate.closed.load(std::memory_order_seq_cst) != 0) return true;
  self->call_in.store(false, std::memory_order_relaxed);
  return false;
}

void gate_enter() noexcept {
  if (depth++ != 0) return;
  for (;;) {
    // Sequentially consistent, as is the other side: either that sees us inside, or we see it closed.
    process_gate.inside.fetch_add(1, std::memory_order_seq_cst);
    if (process_gate.closed.load(std::memory_order_seq_cst) == 0 && process_gate.clearing.load(std::memory_order_seq_cst) == 0) return;
    process_gate.inside.fetch_sub(1, std::memory_order_release);
    wait_until_open();
    wait_until_zero(process_gate.clearing);
  }
}

void gate_leave() noexcept {
  // Release, pairs with the acquire in gate_close().
  if (--depth == 0) process_gate.inside.fetch_sub(1, std::memory_order_release);
}

bool gate_entered() noexcept { return depth != 0; }

void gate_wait_for_threads() noexcept {
  process_gate.clearing.store(1, std::memory_order_seq_cst);
  while (process_gate.inside.load(std::memory_order_seq_cst) != 0) sched_yield();
  process_gate.clearing.store(0, std::memory_order_seq_cst);
  futex_wake_all(process_gate.clearing);
}

// What is waited for comes by itself: a section is short, and where it is not its KLT rests. The list's lock
// is given back between two looks, because somebody inside may be waiting for it.
void gate_close(Klt* self, bool klts) noexcept {
  process_gate.closed.store(1, std::memory_order_seq_cst);
  while (process_gate.inside.load(std::memory_order_seq_cst) != 0) sched_yield();
  for (;;) {
    klts_lock();
    Pass pass{self};
    if (klts) {
      klt_for_each(hold_back, &pass);
      membarrier_all();
      klt_for_each(see_whether_out, &pass);
      if (!pass.inside) let_captives_out(pass);
    }
    if (!pass.inside && !pass.starting) return;
    klts_unlock();
    sched_yield();
  }
}

void gate_open(bool klts) noexcept {
  if (klts) klt_for_each(let_go, nullptr);
  klts_unlock();
  process_gate.closed.store(0, std::memory_order_seq_cst);
  futex_wake_all(process_gate.closed);
  if (!klts) return;
  klts_lock();
  klt_for_each(call_in, nullptr);
  klts_unlock();
}

void gate_reset() noexcept {
  klts_unlock();
  process_gate.inside.store(0, std::memory_order_relaxed);
  process_gate.closed.store(0, std::memory_order_relaxed);
  process_gate.clearing.store(0, std::memory_order_relaxed);
}

}  // namespace weft::rt
