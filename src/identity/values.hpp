// values.hpp: the values that an identity has: thread-local variables, and those of keys.
#pragma once

#include <cstdint>

namespace weft::rt {

// Learns what thread-local variables begin as. On one thread, which may allocate and wait for the loader's lock.
void values_learn() noexcept;
// What has been learnt holds from here on. Under the pool's lock, as the next two.
void values_publish() noexcept;
// Whether that is still so: nothing with thread-local variables has been loaded, or unloaded, since.
bool values_known() noexcept;
// All values of an identity on which nobody runs become what they are in a new thread, but for the C library's own,
// among them malloc's cache. Precondition: values_known(); its destructors have been run.
// `keys`: there are values of keys.
void values_reset(uintptr_t thread_pointer, bool keys) noexcept;

// What a function that has ended has left there.
struct ValuesLeft {
  bool destructors, keys;
};
ValuesLeft values_left(uintptr_t thread_pointer) noexcept;
// Of the calling thread. The user's code.
void values_run_destructors() noexcept;

}  // namespace weft::rt
