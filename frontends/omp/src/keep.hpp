// keep.hpp: where threads are bound, each runs on workers of its place only.
//
// A worker is bound to a CPU, and belongs to the places that the CPU is in. A place has a pool, from which its workers take besides
// their own; a thread of the place goes there whenever it becomes ready, so whichever of them has time runs it, and no other. Where a
// place has one worker the pool is the worker's own; and where no other place has a part of its workers, the first threads of an
// outermost team get one of them each, as they do without places (thread_start.hpp).
//
// A place of whose CPUs no worker has one (there are fewer workers than CPUs, or they have been put elsewhere) is told of at the
// first thread that is to be there; its threads go to the nearest one in the list.
//
// Rejected: binding what runs the thread (kernel threads are the workers', who would have to be bound anew at each switch); a
// worker for each place and not for each CPU (one CPU of a socket would do all the work).
#pragma once

#include <vector>

#include "team.hpp"
#include "weft/weft.h"

namespace weft::omp {

// Whether threads are to be kept at places at all.
bool places_bind();

// The CPUs for so many workers, in their order: first those of the places that a region of so many threads would have, then others of
// places, then those of none. Worker 0 gets one of that place.
std::vector<int> cpus_for_workers(int workers, int place_of_first);

// From now on threads are kept. Context: the workers are there, and bound; one thread.
void keep_begin();
// In a forked child: nobody is, until keep_begin().
void keep_forget();

// The thread goes to where the member is to run, if it is not there. `before`: as in Placement.
// Context: the member's thread, in no task of the member's but the implicit one.
void keep_at_place(Member& member, int before);

}  // namespace weft::omp
