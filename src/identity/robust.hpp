// robust.hpp: robust mutexes that a ULT with an identity of its own holds at its end.
#pragma once

#include <linux/futex.h>

#include <cstdint>

namespace weft::rt {

// The kernel walks the list when a thread ends; a ULT's end it does not see. Whoever locks such a mutex next is told that
// its owner has died.
void robust_release(robust_list_head* head, uintptr_t thread_pointer) noexcept;

}  // namespace weft::rt
