// device.hpp: which numbers of devices are the host's.
#pragma once

#include "api/caller.hpp"

namespace weft::omp {

inline bool is_host(int number) {
  if (number == kDefaultDevice) number = callers_icvs().default_device;
  return number == kHostDevice || number == kInitialDevice || number == kOldHostDevice;
}

}  // namespace weft::omp
