// registers.hpp: where an unwinder starts, on this ISA.
#pragma once

#if defined(__x86_64__)
#include "arch/x86_64/registers.hpp"
#else
#error "weft: no registers for this ISA yet: add src/arch/<isa>/registers.hpp"
#endif
