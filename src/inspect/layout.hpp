// layout.hpp: where debuggers find what, in this very build.
#pragma once

#include "base/debug_field.hpp"
#include "unit/unit.hpp"

namespace weft::rt {

struct DebugLayout {
  static constexpr uint64_t kParts = 4;
  static constexpr uint64_t kStates = static_cast<uint64_t>(UnitState::kForked) + 1;
  static constexpr uint64_t kWaits = static_cast<uint64_t>(WaitKind::kWorker) + 1;

  char magic[8] = {'w', 'e', 'f', 't', '-', 'd', 'b', 'g'};
  uint64_t version = 1;  // changes when a name gets another meaning; new ones do not count
  uint64_t parts = kParts;
  const DebugPart* part[kParts];
  // Texts by number, as the dump has them.
  uint64_t states = kStates;
  uint64_t waits = kWaits;
  const char* state[kStates];
  const char* wait[kWaits];

  DebugLayout() noexcept;
};

}  // namespace weft::rt

// Exported, so that it is there in a stripped library too.
extern "C" __attribute__((visibility("default"))) const weft::rt::DebugLayout weft_debug_layout;
