// runtime.hpp: when the core starts, and what fork() leaves of it.
#pragma once

namespace weft::omp {

// The core runs afterwards: started here, unless the program or another front-end has. A thread of ours is its primary ULT then,
// so that none of the program's is bound to the core's life, and the main thread, as soon as it comes, becomes a ULT like any
// other. Where ULTs cannot have identities of their own it becomes the primary one.
void runtime_start();
// The main thread, for the first time, after that.
void runtime_meets_main();

// A forked child gets as many workers as its parent had, now that it needs them.
void workers_complete();

// How many workers the core has.
int worker_count();
// Nobody ends them: where somebody else has begun the runtime, they may be Argobots' execution streams.
bool workers_stay();

}  // namespace weft::omp
