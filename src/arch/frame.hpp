// frame.hpp: what a thread was at that a signal has interrupted, on this ISA.
#pragma once

#if defined(__x86_64__)
#include "arch/x86_64/frame.hpp"
#else
#error "weft: no frames for this ISA yet: add src/arch/<isa>/frame.hpp"
#endif
