// thread_end.hpp: what of a thread's the LLVM layer has.
#pragma once

#include "team.hpp"

namespace weft::omp::llvm {

// Gives back a thread's copies of threadprivate variables, before its number is another thread's. By the thread itself, or
// when it no longer runs.
void forget_thread(Thread& thread);

}  // namespace weft::omp::llvm
