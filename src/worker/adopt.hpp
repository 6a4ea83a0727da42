// adopt.hpp: a kernel thread of the program's becomes a ULT, for good: it keeps its stack and its identity, and what was its
// kernel thread sleeps from then on. So it waits, and is preempted, like any other ULT, and every worker can run it.
#pragma once

#include "pool/pool.hpp"

namespace weft::rt {

// Null: it can be done. Else why not, for people. Also without the runtime.
const char* adopt_unsupported() noexcept;

// The caller becomes a ULT with an identity of its own, which is the one it has, and goes on as that. It can neither end nor
// be cancelled: the end of the process is its end. Signals for it: see unit_signal.hpp. Home: it is
// pinned to that pool; null: any worker runs it.
// Errors: UNINITIALIZED, UNSUPPORTED, CONTEXT (it is a KLT of Weft's already), NO_MEMORY.
int adopt_caller(Pool* home) noexcept;

}  // namespace weft::rt
