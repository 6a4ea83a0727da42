// signal_frame.hpp: what a signal takes of the stack that it comes on.
#pragma once

#include <sys/auxv.h>

#include <cstddef>

namespace weft::rt {

inline size_t signal_frame_bytes() noexcept {
  constexpr unsigned long kMinimalSignalStack = 51;  // AT_MINSIGSTKSZ: of Linux 5.14, and glibc 2.34
  constexpr size_t kBefore = 4096;                   // with the state of AVX-512, the largest that an older kernel knows
  const unsigned long told = getauxval(kMinimalSignalStack);
  return told != 0 ? told : kBefore;
}

}  // namespace weft::rt
