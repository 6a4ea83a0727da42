// blocking.hpp: a scope in which a ULT is about to block in the kernel, and says so.
#pragma once

#include "weft/runtime.hpp"

namespace weft {

// While one lives, the caller's worker goes on with other units. Any function of Weft ends that, too. See
// weft_blocking_begin(). Throws weft::error: WEFT_ERR_CONTEXT (a tasklet, a scheduler), WEFT_ERR_NO_KLT.
class blocking_scope {
 public:
  blocking_scope() { detail::check(weft_blocking_begin()); }
  blocking_scope(const blocking_scope&) = delete;
  blocking_scope& operator=(const blocking_scope&) = delete;
  ~blocking_scope() { weft_blocking_end(); }
};

}  // namespace weft
