// gate.cpp: the numbers are the steps of README.md, "Gate".
#include "sync/gate.hpp"

namespace weft::rt {

using namespace sync_bit;

void gate_open(const GuardedSection& section, Gate& gate) noexcept {
  WakeList wakes;
  gate.waiters.take_all(wakes);  // S2
  gate.state.store(kOpen, std::memory_order_release);  // S3
  wakes.wake(section.worker);  // S4
}

void gate_shake(const GuardedSection& section, Gate& gate) noexcept {
  WakeList wakes;
  gate.waiters.take_all(wakes);
  gate.state.store(0, std::memory_order_release);
  wakes.wake(section.worker);
}

bool gate_take_out(Gate& gate, Waiter& waiter) noexcept {
  const uint32_t seen = gate_lock(gate);
  const bool queued = gate.waiters.remove_if_queued(&waiter);
  gate_unlock(gate, (seen & kOpen) != 0);
  return queued;
}

int gate_wait_in(GuardedSection& section, Gate& gate, WaitKind kind, uint64_t deadline) noexcept {
  const int error = has_passed(deadline) ? WEFT_ERR_TIMEOUT : !section.can_wait() ? WEFT_ERR_CONTEXT : WEFT_OK;
  if (error != WEFT_OK) {
    gate_unlock(gate, false);
    return error;
  }
  Waiter self;
  section.init(self, kind, &gate, deadline);
  gate.waiters.push_back(&self);  // W2
  const QueueRelease release{&gate.state, kWaiters, true};
  const bool woken =
      section.wait_until(self, release, deadline, [&] { return gate_take_out(gate, self); });
  return woken ? WEFT_OK : WEFT_ERR_TIMEOUT;
}

// Precondition of all three: gate_lock(), and it is closed.
[[gnu::noinline]] static int gate_wait_near(Worker* worker, Gate& gate, WaitKind kind, uint64_t deadline) noexcept {
  GuardedSection section(worker);
  return gate_wait_in(section, gate, kind, deadline);
}

[[gnu::noinline]] static int gate_wait_directly(Worker* worker, Gate& gate, WaitKind kind, Unit* next) noexcept {
  Waiter self;
  waiter_init(worker, klt_current(), self, kind, &gate);
  gate.waiters.push_back(&self);
  return wait_directly(worker, next, self, {&gate.state, kWaiters, true});
}

[[gnu::noinline]] WEFT_RETURNS_BY_JUMP static int gate_wait_far(Worker* worker, Gate& gate, WaitKind kind) noexcept {
  GuardedSection section(worker);
  Waiter self;
  section.init(self, kind, &gate);
  gate.waiters.push_back(&self);
  section.wait_far(self, {&gate.state, kWaiters, true});
  return WEFT_OK;
}

int gate_wait(Gate& gate, WaitKind kind, uint64_t deadline) noexcept {
  if (gate.is_open()) return WEFT_OK;
  Worker* worker = section_enter();
  if (worker != nullptr && !has_passed(deadline) && look_before_waiting(worker, [&] { return gate.is_open(); })) {
    section_leave(worker);
    return WEFT_OK;
  }
  if ((gate_lock(gate) & kOpen) != 0) {
    gate_unlock(gate, true);
    section_leave(worker);
    return WEFT_OK;
  }
  Unit* next;
  switch (how_it_leaves(worker, deadline, next)) {
    case Leaves::kDirectly: return gate_wait_directly(worker, gate, kind, next);
    case Leaves::kFar: return gate_wait_far(worker, gate, kind);
    default: return gate_wait_near(worker, gate, kind, deadline);
  }
}

}  // namespace weft::rt
