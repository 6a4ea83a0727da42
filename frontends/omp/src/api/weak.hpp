// weak.hpp: callers that would have found no OpenMP runtime if this one had not been put in front.
#pragma once

namespace weft::omp {

// Whether omp_in_parallel() returns to one. Async-signal-safe; takes none of the loader's locks.
bool called_without_runtime(const void* return_address);

}  // namespace weft::omp
