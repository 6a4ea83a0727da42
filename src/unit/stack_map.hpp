// stack_map.hpp: memory for stacks: mapping, the guard page, and where the record goes.
#pragma once

#include <cstddef>

#include "unit/stack.hpp"

namespace weft::rt {

inline constexpr size_t kPage = 4096;  // and the size of a guard

inline constexpr size_t round_to_page(size_t bytes) noexcept {
  return (bytes + kPage - 1) & ~(kPage - 1);
}

// Memory that costs nothing until it is touched, and is never made of huge pages (one touched page
// of such a stack must stay one page). Null: refused.
char* stack_memory_map(size_t bytes) noexcept;
void stack_memory_unmap(char* low, size_t bytes) noexcept;
// Gives the pages of [low, high) back; they read as zeros afterwards. Guards stay.
void stack_memory_drop(char* low, char* high) noexcept;

// Makes the page at `low` a guard. False: the kernel has no room for another.
bool stack_guard_install(char* low) noexcept;

// Writes the canary of a stack that starts at `low`, in place of a guard.
void stack_canary_install(char* low) noexcept;

// Writes a record at the top of [low, high) and returns it.
Stack* stack_place(char* low, char* high, size_t size) noexcept;

// Makes a stack look as if it had never been written to. Precondition: nothing runs on it.
void stack_rezero(Stack* stack) noexcept;

// A stack of Weft's own that is of no batch. Precondition: nothing runs on it.
void stack_unmap(Stack* stack) noexcept;

}  // namespace weft::rt
