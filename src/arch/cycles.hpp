// cycles.hpp: a clock for what is soon over. It has no unit that is known: only to be compared with some thousands.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#else
#error "Weft runs on x86-64 only"
#endif

namespace weft::rt {

// Not ordered with what is around it. On another processor it may be a little behind.
inline uint64_t cycle_count() noexcept { return __rdtsc(); }

}  // namespace weft::rt
