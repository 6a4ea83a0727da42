// put_off_jump.hpp: a handler of the program's leaves by siglongjmp(), and has interrupted Weft.
//
// Weft is not left half-way: the ULT's worker, its place in a pool, or its lender would stay behind. So the handler ends as if it had returned,
// what it has blocked stays blocked, and the ULT jumps when it next lowers its guard.
//
//   the handler, on the ULT's KLT with the guard up, or on its lender        the ULT
//   notes the jump; `attention` (a lender: put_on_identity() sees it)
//   the mask is the ULT's from here on
//   returns to what it has interrupted                                       goes on, and lowers its guard: jumps
//
// Not in a scope that is not to be left (NoPreemption): at its end, or, after a fork, as it next lowers its guard. A tick's handler looks at its own
// end.
//
// A second one takes the place of the first. One that is made at once, out of all handlers, drops it.
#pragma once

#include <setjmp.h>

#include <cstdint>

#include "identity/identity.hpp"

namespace weft::rt {

// The calling ULT, of which this is the identity; or, where its lender handles signals in its place, that.
inline void put_off_jump(Identity& identity, const PutOffJump& jump) noexcept {
  identity.jump = jump;
  identity.jumps.store(true, std::memory_order_release);
}
inline void drop_jump(Identity& identity) noexcept { identity.jumps.store(false, std::memory_order_relaxed); }

}  // namespace weft::rt
