// process_gate.cpp: see process_gate.hpp; steps as in README.md, "The gate".
#include "klt/process_gate.hpp"

#include <sched.h>

#include "klt/time_slice.hpp"
#include "os/membarrier.hpp"

namespace weft::rt {

constinit ProcessGate process_gate;
constinit uintptr_t process_generation = 0;

namespace {

// Sections of such a thread nest where a pool is the user's. It never becomes another thread inside one, so
// the address may be kept.
constinit thread_local unsigned depth = 0;

void wait_until_open() noexcept {
  // Acquire, pairs with the release in gate_open().
  while (process_gate.closed.load(std::memory_order_acquire) != 0) futex_wait(process_gate.closed, 1);
}

struct Pass {
  Klt* self;
  bool all_out;
};

// Step 3. Publishes the worker as gone, as a taker does.
void hold_back(Klt* klt, void* pass) noexcept {
  if (klt == static_cast<Pass*>(pass)->self || klt->held_back != nullptr) return;
  if (klt->guard.load(std::memory_order_relaxed) == kGuardResting) return;
  Worker* worker = klt->worker.load(std::memory_order_relaxed);
  Take none = Take::kNone;
  if (worker == nullptr) return;
  if (!klt->take.compare_exchange_strong(none, Take::kPending, std::memory_order_acquire)) return;
  if (klt->worker.compare_exchange_strong(worker, nullptr, std::memory_order_acq_rel)) {
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
    pass->all_out = false;
    return;
  }
  // Acquire, pairs with the release in rest_begin().
  const uint32_t guard = klt->guard.load(std::memory_order_acquire);
  if (guard == kGuardResting) return;
  const Take take = klt->take.load(std::memory_order_acquire);
  // Without a worker, and nobody is about to bring one back: it comes in by guard_enter_slow() only.
  const bool barred = klt->held_back != nullptr || (klt->worker.load(std::memory_order_relaxed) == nullptr &&
                                                    take != Take::kPending && take != Take::kGiving);
  if (guard != kGuardDown || !barred) pass->all_out = false;
}

void let_go(Klt* klt, void*) noexcept {
  if (klt->held_back == nullptr) return;
  klt->worker.store(klt->held_back, std::memory_order_release);
  klt->held_back = nullptr;
  // Release, pairs with the acquire in guard_enter_slow() and give_begin().
  klt->take.store(Take::kNone, std::memory_order_release);
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

void gate_enter() noexcept {
  if (depth++ != 0) return;
  for (;;) {
    // Sequentially consistent, as is the other side: either that sees us inside, or we see it closed.
    process_gate.inside.fetch_add(1, std::memory_order_seq_cst);
    if (process_gate.closed.load(std::memory_order_seq_cst) == 0) return;
    process_gate.inside.fetch_sub(1, std::memory_order_release);
    wait_until_open();
  }
}

void gate_leave() noexcept {
  // Release, pairs with the acquire in gate_close().
  if (--depth == 0) process_gate.inside.fetch_sub(1, std::memory_order_release);
}

bool gate_entered() noexcept { return depth != 0; }

// What is waited for comes by itself: a section is short, and where it is not its KLT rests. The list's lock
// is given back between two looks, because somebody inside may be waiting for it.
void gate_close(Klt* self, bool klts) noexcept {
  process_gate.closed.store(1, std::memory_order_seq_cst);
  while (process_gate.inside.load(std::memory_order_seq_cst) != 0) sched_yield();
  for (;;) {
    klts_lock();
    Pass pass{self, true};
    if (klts) {
      klt_for_each(hold_back, &pass);
      membarrier_all();
      klt_for_each(see_whether_out, &pass);
    }
    if (pass.all_out) return;
    klts_unlock();
    sched_yield();
  }
}

void gate_open(bool klts) noexcept {
  if (klts) klt_for_each(let_go, nullptr);
  klts_unlock();
  process_gate.closed.store(0, std::memory_order_release);
  futex_wake_all(process_gate.closed);
}

void gate_reset() noexcept {
  klts_unlock();
  process_gate.inside.store(0, std::memory_order_relaxed);
  process_gate.closed.store(0, std::memory_order_relaxed);
}

}  // namespace weft::rt
