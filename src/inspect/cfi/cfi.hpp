// cfi.hpp: unwinding by the tables that compilers write (.eh_frame). Which file stands behind it is chosen by the
// build: libunwind/ where its header is there, else none/.
#pragma once

#include "inspect/unwind.hpp"

namespace weft::rt {

// Null: ready. Otherwise a reason, and what to do. Not async-signal-safe.
const char* cfi_open() noexcept;

// Both: precondition: cfi_open() has said null.
void cfi_forget() noexcept;
void cfi_unwind(const Registers& from, Frames& to) noexcept;

}  // namespace weft::rt
