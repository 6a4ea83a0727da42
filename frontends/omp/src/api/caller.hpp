// caller.hpp: who has called omp_...: questions are answered without making anybody a root, or starting the runtime.
#pragma once

#include "team.hpp"

namespace weft::omp {

// Null: a thread that has not met us yet, which is as good as an initial task of its own.
inline const Member* caller() {
  const Thread* thread = this_thread_if_any();
  // A tool expects to be there from the first call on.
  if (thread == nullptr && tool::there() && tool::may_be()) thread = &this_thread();
  return thread != nullptr ? thread->member : nullptr;
}

inline const Icvs& callers_icvs() {
  const Member* member = caller();
  return member != nullptr ? icvs_of(*member) : device().initial;
}

inline Icvs& callers_own_icvs() { return own_icvs(this_member()); }

}  // namespace weft::omp
