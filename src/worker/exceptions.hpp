// exceptions.hpp: the C++ runtime's per-thread exception state belongs to the ULT, which may suspend
// inside a catch block.
#pragma once

#include "klt/klt.hpp"
#include "unit/unit.hpp"

namespace weft::rt {

// Whether what runs on this KLT has any. Almost never.
[[gnu::always_inline]] inline bool has_exceptions() noexcept {
  const ExceptionGlobals* globals = klt_exceptions();
  return __builtin_expect((reinterpret_cast<uintptr_t>(globals->caught) | globals->uncaught) != 0, 0);
}

// Takes the state away from the KLT.
[[gnu::always_inline]] inline bool save_exceptions(Unit* unit) noexcept {
  if (!has_exceptions()) return false;
  ExceptionGlobals* globals = klt_exceptions();
  unit->exceptions[0] = globals->caught;
  unit->exceptions[1] = reinterpret_cast<void*>(globals->uncaught);
  *globals = {};
  unit->flags.set(flag::kExceptions);
  return true;
}

[[gnu::always_inline]] inline void restore_exceptions(Unit* unit) noexcept {
  if (__builtin_expect(!unit_is(unit, flag::kExceptions), 1)) return;
  *klt_exceptions() = {unit->exceptions[0], reinterpret_cast<uintptr_t>(unit->exceptions[1])};
  unit->flags.clear(flag::kExceptions);
}

}  // namespace weft::rt
