// eventual.hpp: what is behind an ABT_eventual.
#pragma once

#include "wait.hpp"

namespace weft::abt {

// One in the program's memory (ABT_eventual_memory) has no room for a value.
struct Eventual {
  weft_event_t event;
  size_t size;  // constant: of the value, which lies at eventual_room()
};

inline Eventual& eventual_of(ABT_eventual handle) noexcept { return within<Eventual>(handle); }
// Null if there is none.
inline void* eventual_room(ABT_eventual handle) noexcept {
  return eventual_of(handle).size > 0 ? reinterpret_cast<char*>(handle) + kMemory : nullptr;
}

}  // namespace weft::abt
