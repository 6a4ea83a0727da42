// exceptions.hpp: the C++ runtime's per-thread exception state belongs to the ULT, which may suspend
// inside a catch block.
#pragma once

#include "klt/klt.hpp"
#include "unit/unit.hpp"

namespace weft::rt {

// Takes the state away from the KLT. Almost always there is none.
[[gnu::always_inline]] inline bool save_exceptions(Unit* unit) noexcept {
  ExceptionGlobals* globals = klt_exceptions();
  if (__builtin_expect((reinterpret_cast<uintptr_t>(globals->caught) | globals->uncaught) == 0, 1)) {
    return false;
  }
  unit->exceptions[0] = globals->caught;
  unit->exceptions[1] = reinterpret_cast<void*>(globals->uncaught);
  *globals = {};
  return true;
}

[[gnu::always_inline]] inline void restore_exceptions(Unit* unit) noexcept {
  if (__builtin_expect(unit->exceptions[0] == nullptr && unit->exceptions[1] == nullptr, 1)) return;
  *klt_exceptions() = {unit->exceptions[0], reinterpret_cast<uintptr_t>(unit->exceptions[1])};
  unit->exceptions[0] = unit->exceptions[1] = nullptr;
}

}  // namespace weft::rt
