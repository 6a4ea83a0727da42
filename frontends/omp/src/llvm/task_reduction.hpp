// task_reduction.hpp: reductions of tasks: each member that runs one of a group's tasks has a copy of the variables.
#pragma once

#include <cstdint>

#include "task.hpp"
#include "team.hpp"

namespace weft::omp::llvm {

// At the end of a group that has some, all its tasks having ended: combines the copies, and frees what there is.
void combine_reductions(Member& member, TaskGroup& group);

}  // namespace weft::omp::llvm
