// debug_field.hpp: what a debugger has to know of this very build to find its way, also where there is no debug
// information, and in a core file. Each module lists its own; inspect/layout.cpp brings them together.
#pragma once

#include <cstdint>

namespace weft::rt {

struct DebugField {
  char name[32];
  const void* address;  // of a variable; null: `number` counts
  uint64_t number;      // an offset, a size, or a flag
};

struct DebugPart {
  const DebugField* fields;
  uint64_t count;
};

}  // namespace weft::rt
