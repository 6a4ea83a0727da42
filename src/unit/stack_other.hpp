// stack_other.hpp: stacks of other sizes than the default one, between one use and the next.
#pragma once

#include <cstddef>

#include "unit/stack.hpp"

namespace weft::rt {

// All: guard up, or not a KLT.

// One of this size (whole pages), near the CPU that the caller runs on. Null: none waits.
Stack* stack_other_take(size_t size) noexcept;
// False: there are enough; it is to be unmapped.
bool stack_other_keep(Stack* stack) noexcept;
// Unmaps some of what is more than a few. True: there is more.
bool stack_other_trim() noexcept;
void stack_other_release_all() noexcept;

}  // namespace weft::rt
