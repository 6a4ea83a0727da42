// latch.cpp: a gate that opens when its count is at 0.
#include <atomic>

#include "sync/gate.hpp"

namespace weft::rt {
namespace {

WEFT_IS_GATE(weft_latch_t);
static_assert(offsetof(Gate, count) == offsetof(weft_latch_t, count));

Gate& gate_of(weft_latch_t* latch) noexcept { return *reinterpret_cast<Gate*>(latch); }

// One that was made with 0 is never opened, but down all the same. Acquire, pairs with the release of who
// counts down to 0: that one has taken the lock before, so the word is no longer 0.
bool is_down(weft_latch_t* latch) noexcept {
  Gate& gate = gate_of(latch);
  return gate.is_open() || (std::atomic_ref(gate.count).load(std::memory_order_acquire) == 0 &&
                            gate.state.load(std::memory_order_relaxed) == 0);
}

}  // namespace
}  // namespace weft::rt

using namespace weft::rt;

int weft_latch_count_down(weft_latch_t* latch, uint32_t n) {
  if (latch == nullptr) return WEFT_ERR_INVALID;
  Gate& gate = gate_of(latch);
  GuardedSection section;
  const bool open = (gate_lock(gate) & sync_bit::kOpen) != 0;
  if (n > gate.count) {
    gate_unlock(gate, open);
    return WEFT_ERR_INVALID;
  }
  std::atomic_ref(gate.count).store(gate.count - n, std::memory_order_release);
  if (gate.count == 0) {
    gate_open(section, gate);
  } else {
    gate_unlock(gate, open);
  }
  return WEFT_OK;
}

int weft_latch_wait(weft_latch_t* latch) { return weft_latch_wait_until(latch, WEFT_NEVER); }

int weft_latch_wait_until(weft_latch_t* latch, uint64_t deadline) {
  if (latch == nullptr) return WEFT_ERR_INVALID;
  if (is_down(latch)) return WEFT_OK;
  return gate_wait(gate_of(latch), WaitKind::kLatch, deadline);
}

bool weft_latch_is_down(const weft_latch_t* latch) {
  return latch != nullptr && is_down(const_cast<weft_latch_t*>(latch));
}
