// sections.hpp: sections as a loop; see sections.cpp.
#pragma once

#include "workshare.hpp"

namespace weft::omp::gnu {

LoopSpec sections_spec(unsigned count);

}  // namespace weft::omp::gnu
