// once.cpp: a gate that the first caller opens; `count` is 1 while somebody's function runs.
#include "sync/gate.hpp"

namespace weft::rt {
namespace {

WEFT_IS_GATE(weft_once_t);

Gate& gate_of(weft_once_t* once) noexcept { return *reinterpret_cast<Gate*>(once); }

// True: the caller is to call its function. False: *error is the answer.
bool begin(Gate& gate, int* error) noexcept {
  GuardedSection section;
  for (;;) {
    if ((gate_lock(gate) & sync_bit::kOpen) != 0) {
      gate_unlock(gate, true);
      *error = WEFT_OK;
      return false;
    }
    if (gate.count == 0) {
      gate.count = 1;
      gate_unlock(gate, false);
      return true;
    }
    *error = gate_wait_in(section, gate, WaitKind::kOnce, kNever);
    if (*error != WEFT_OK) return false;
  }
}

}  // namespace
}  // namespace weft::rt

using namespace weft::rt;

int weft_once(weft_once_t* once, bool (*fn)(void* arg), void* arg) {
  if (once == nullptr || fn == nullptr) return WEFT_ERR_INVALID;
  Gate& gate = gate_of(once);
  if (gate.is_open()) return WEFT_OK;
  int error;
  if (!begin(gate, &error)) return error;
  const bool done = fn(arg);
  GuardedSection section;
  gate_lock(gate);
  gate.count = 0;
  if (done) {
    gate_open(section, gate);
  } else {
    gate_shake(section, gate);
  }
  return done ? WEFT_OK : WEFT_ERR_STATE;
}
