// waiter.cpp: suspending until somebody wakes us. The states are told at Waiter.
#include "os/futex.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

// On the scheduler's side: the unit's context is complete now.
void park_action(Worker* worker, Unit* unit, void* arg) {
  auto* waiter = static_cast<Waiter*>(arg);
  unit_transition(unit, UnitState::kBlocked);
  uint32_t expected = Waiter::kWaiting;
  // Release, pairs with the acquire in waiter_wake(): the waker sees the whole context. Acquire on
  // failure: we see what the waker did.
  if (waiter->state.compare_exchange_strong(expected, Waiter::kParked, std::memory_order_acq_rel)) {
    return;  // from here on the unit is the waker's
  }
  unit_transition(unit, UnitState::kReady);
  push_ready_private(worker, unit);
}

}  // namespace

bool may_wait(Worker* worker) noexcept {
  if (worker == nullptr) return true;
  Unit* unit = klt_current();
  return unit == nullptr || !unit_is(unit, flag::kTasklet);
}

void waiter_init(Worker* worker, Waiter& waiter) noexcept {
  waiter.state.store(Waiter::kWaiting, std::memory_order_relaxed);
  Unit* unit = worker != nullptr ? klt_current() : nullptr;
  waiter.unit = unit != nullptr && !unit_is(unit, flag::kTasklet) ? unit : nullptr;
  waiter.next = nullptr;
}

Worker* waiter_wait(Worker* worker, Waiter& waiter) noexcept {
  if (waiter.unit == nullptr) {
    // Acquire, pairs with the exchange in waiter_wake().
    while (waiter.state.load(std::memory_order_acquire) != Waiter::kWoken) {
      futex_wait(waiter.state, Waiter::kWaiting);
    }
    return worker;
  }
  if (waiter.state.load(std::memory_order_acquire) == Waiter::kWoken) return worker;
  return leave_unit(worker, waiter.unit, park_action, &waiter);
}

void waiter_wake(Worker* worker, Waiter* waiter) noexcept {
  Unit* unit = waiter->unit;
  const uint32_t old = waiter->state.exchange(Waiter::kWoken, std::memory_order_acq_rel);
  // The waiter may be gone now; waking an address that is nobody's any more does no harm.
  if (unit == nullptr) {
    futex_wake(waiter->state, 1);
  } else if (old == Waiter::kParked) {
    unit_transition(unit, UnitState::kReady);
    make_ready(worker, unit);
  }
}

}  // namespace weft::rt
