// taskgroup.hpp: task groups that gcc's code begins and ends by calls, which leave no frame in between.
#pragma once

#include "task.hpp"

namespace weft::omp::gnu {

void taskgroup_begin(Member& member);
void taskgroup_end(Member& member);

}  // namespace weft::omp::gnu
