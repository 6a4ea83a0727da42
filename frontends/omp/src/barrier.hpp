// barrier.hpp: barriers of a team.
#pragma once

#include "team.hpp"

namespace weft::omp {

// Tasks of the team are run meanwhile, and are all done afterwards. Returns false for `cancellable` ones whose region has
// been cancelled: then the caller goes to the region's end. Context: a thread of the team, in its implicit task. `kind`: what a
// tool is told that it is.
bool barrier(Member& member, bool cancellable = false, ompt_sync_region_t kind = ompt_sync_region_barrier_implementation);

}  // namespace weft::omp
