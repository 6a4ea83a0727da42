// event.cpp: a gate that can be closed again, and carries a value.
#include <cstring>

#include "sync/gate.hpp"

namespace weft::rt {
namespace {

struct Event : Gate {
  void* value;  // under kQueue; whoever has passed
};
static_assert(sizeof(Event) == sizeof(weft_event_t));
static_assert(offsetof(weft_event_t, value) == sizeof(Gate));
WEFT_IS_GATE(weft_event_t);

Event& event_of(weft_event_t* event) noexcept { return *reinterpret_cast<Event*>(event); }

// S1. True: open, and nobody waited. A compare-exchange also where it is open already: what the caller did
// before must be seen by whoever passes later.
bool set_unwaited(Event& event) noexcept {
  uint32_t seen = event.state.load(std::memory_order_relaxed);
  while ((seen & (sync_bit::kWaiters | sync_bit::kQueue)) == 0) {
    if (event.state.compare_exchange_weak(seen, sync_bit::kOpen, std::memory_order_acq_rel,
                                          std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

}  // namespace
}  // namespace weft::rt

using namespace weft::rt;

int weft_event_wait(weft_event_t* event) { return weft_event_wait_until(event, WEFT_NEVER); }

int weft_event_wait_until(weft_event_t* event, uint64_t deadline) {
  if (event == nullptr) return WEFT_ERR_INVALID;
  return gate_wait(event_of(event), WaitKind::kEvent, deadline);
}

int weft_event_set(weft_event_t* event) {
  if (event == nullptr) return WEFT_ERR_INVALID;
  Event& e = event_of(event);
  if (set_unwaited(e)) return WEFT_OK;
  GuardedSection section;
  gate_lock(e);
  gate_open(section, e);
  return WEFT_OK;
}

int weft_event_set_value(weft_event_t* event, void* value) {
  return weft_event_set_copy(event, value, nullptr, 0);
}

int weft_event_set_copy(weft_event_t* event, void* value, const void* from, size_t n) {
  if (event == nullptr || (n > 0 && (value == nullptr || from == nullptr))) return WEFT_ERR_INVALID;
  Event& e = event_of(event);
  GuardedSection section;
  if ((gate_lock(e) & sync_bit::kOpen) != 0) {
    gate_unlock(e, true);
    return WEFT_ERR_STATE;
  }
  if (n > 0) std::memcpy(value, from, n);
  e.value = value;
  gate_open(section, e);
  return WEFT_OK;
}

int weft_event_reset(weft_event_t* event) {
  if (event == nullptr) return WEFT_ERR_INVALID;
  Event& e = event_of(event);
  GuardedSection section;
  gate_lock(e);
  e.value = nullptr;
  gate_unlock(e, false);
  return WEFT_OK;
}

bool weft_event_is_set(const weft_event_t* event) {
  return event != nullptr && event_of(const_cast<weft_event_t*>(event)).is_open();
}

void* weft_event_value(const weft_event_t* event) {
  return weft_event_is_set(event) ? event->value : nullptr;
}
