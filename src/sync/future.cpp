// future.cpp: a gate that opens when n parts have been set.
#include "sync/gate.hpp"

namespace weft::rt {
namespace {

WEFT_IS_GATE(weft_future_t);
static_assert(offsetof(Gate, count) == offsetof(weft_future_t, parts));

Gate& gate_of(weft_future_t* future) noexcept { return *reinterpret_cast<Gate*>(future); }

bool is_ready(weft_future_t* future) noexcept { return future->parts == 0 || gate_of(future).is_open(); }

}  // namespace
}  // namespace weft::rt

using namespace weft::rt;

int weft_future_set(weft_future_t* future, void* value) {
  if (future == nullptr) return WEFT_ERR_INVALID;
  Gate& gate = gate_of(future);
  {
    GuardedSection section;
    const bool open = (gate_lock(gate) & sync_bit::kOpen) != 0;
    if (future->set >= future->parts) {
      gate_unlock(gate, open);
      return WEFT_ERR_STATE;
    }
    if (future->values != nullptr) future->values[future->set] = value;
    const bool last = ++future->set == future->parts;
    if (!last || future->ready == nullptr) {
      if (last) {
        gate_open(section, gate);
      } else {
        gate_unlock(gate, false);
      }
      return WEFT_OK;
    }
    gate_unlock(gate, false);
  }
  future->ready(future->values, future->arg);  // nobody sets or passes meanwhile
  GuardedSection section;
  gate_lock(gate);
  gate_open(section, gate);
  return WEFT_OK;
}

int weft_future_wait(weft_future_t* future) { return weft_future_wait_until(future, WEFT_NEVER); }

int weft_future_wait_until(weft_future_t* future, uint64_t deadline) {
  if (future == nullptr) return WEFT_ERR_INVALID;
  if (is_ready(future)) return WEFT_OK;
  return gate_wait(gate_of(future), WaitKind::kFuture, deadline);
}

bool weft_future_is_ready(const weft_future_t* future) {
  return future != nullptr && is_ready(const_cast<weft_future_t*>(future));
}

int weft_future_reset(weft_future_t* future) {
  if (future == nullptr) return WEFT_ERR_INVALID;
  GuardedSection section;
  const bool open = (gate_lock(gate_of(future)) & sync_bit::kOpen) != 0;
  // One whose callback runs just now has all its parts, and is not open.
  const bool busy = !open && future->set == future->parts && future->parts != 0;
  if (!busy) future->set = 0;
  gate_unlock(gate_of(future), false);
  return busy ? WEFT_ERR_STATE : WEFT_OK;
}
