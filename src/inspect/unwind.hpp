// unwind.hpp: the frames of a stack that somebody else runs on, or nobody.
#pragma once

#include <cstdint>

#include "arch/registers.hpp"

namespace weft::rt {

struct Frames {
  static constexpr unsigned kMost = 128;
  uintptr_t at[kMost];  // innermost first; all but the first are return addresses
  unsigned count = 0;
  bool cut = false;  // there are more
};

// Gets ready what cannot be got ready in a signal handler: takes half a millisecond, once per process. Not async-signal-safe.
void unwind_prepare() noexcept;

// Asks somebody who may wait for the loader to call a function, soon. False: there is nobody. Async-signal-safe.
using AskForUnwinder = bool (*)(void (*prepare)()) noexcept;
// For a report, if it has been left to them: waits until it is ready, a second at most. Async-signal-safe.
void unwind_await(AskForUnwinder ask) noexcept;

// Null: by the tables of the code (.eh_frame). Otherwise why not: then by frame pointers, which only code that
// was compiled with them has.
const char* unwind_lacks() noexcept;

// Forgets what it has read of the loaded code, which may have changed since the last report.
void unwind_forget() noexcept;

// Reads memory through peek() only: the stack may vanish, or be written to, meanwhile. Async-signal-safe. One
// caller at a time.
void unwind(const Registers& from, Frames& to) noexcept;

}  // namespace weft::rt
