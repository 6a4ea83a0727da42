// gate.hpp: what event, latch, future and once have in common: closed, it keeps waiters; open, they pass.
// Protocol and proof: README.md, "Gate".
#pragma once

#include <cstddef>

#include "sync/wait_queue.hpp"
#include "weft/weft.h"

namespace weft::rt {

// The beginning of weft_event_t, weft_latch_t, weft_future_t and weft_once_t.
struct Gate {
  std::atomic<uint32_t> state;  // any thread: kOpen, kWaiters, kQueue; never kOpen with kWaiters
  uint32_t count;               // the object's; under kQueue, or constant
  WaitQueue waiters;            // under kQueue

  // W1. Acquire, pairs with the release of whoever opened it.
  bool is_open() const noexcept {
    return (state.load(std::memory_order_acquire) & sync_bit::kOpen) != 0;
  }
};
static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

#define WEFT_IS_GATE(type)                                        \
  static_assert(sizeof(Gate) <= sizeof(type) && alignof(Gate) <= alignof(type)); \
  static_assert(offsetof(Gate, state) == offsetof(type, state));  \
  static_assert(offsetof(Gate, waiters) == offsetof(type, waiters))

// The gate's lock, for what belongs to it. Not while user code is called. Returns the word.
inline uint32_t gate_lock(Gate& gate) noexcept { return queue_lock(gate.state, gate.waiters); }
// Nobody else changes the word meanwhile.
inline void gate_unlock(Gate& gate, bool open) noexcept {
  const uint32_t rest = open ? sync_bit::kOpen : gate.waiters.empty() ? 0 : sync_bit::kWaiters;
  gate.state.store(rest, std::memory_order_release);
}

// S2 to S4. Precondition: gate_lock(). The last access to the gate: whoever passes may destroy it.
void gate_open(const GuardedSection& section, Gate& gate) noexcept;
// Wakes all waiters, to look again. Precondition: gate_lock(), which is given back.
void gate_shake(const GuardedSection& section, Gate& gate) noexcept;

// WEFT_OK, CONTEXT, TIMEOUT.
int gate_wait(Gate& gate, WaitKind kind, uint64_t deadline) noexcept;
// The same where the caller has the gate's lock, which is given back, and has found it closed.
int gate_wait_in(GuardedSection& section, Gate& gate, WaitKind kind, uint64_t deadline) noexcept;

// Takes a waiter out that has not been woken. False: somebody has.
bool gate_take_out(Gate& gate, Waiter& waiter) noexcept;

}  // namespace weft::rt
