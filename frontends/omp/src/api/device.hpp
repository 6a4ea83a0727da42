// device.hpp: which numbers of devices are the host's.
#pragma once

#include "api/caller.hpp"

namespace weft::omp {

// -1: omp_initial_device; -2: libgomp's number of the host in old programs; -5: omp_default_device.
inline bool is_host(int number) {
  return number == 0 || number == -1 || number == -2 || (number == -5 && callers_icvs().default_device == 0);
}

}  // namespace weft::omp
