// thread_locals.hpp: how much room thread-local variables take.
#pragma once

#include <cstddef>

namespace weft::rt {

// Those of the program, and of libraries that are loaded with it: the C library puts them on the stack that a thread is
// given.
size_t thread_locals() noexcept;

}  // namespace weft::rt
