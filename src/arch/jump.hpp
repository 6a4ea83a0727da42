// jump.hpp: where a longjmp() leads to, on this ISA.
#pragma once

#if defined(__x86_64__)
#include "arch/x86_64/jump.hpp"
#else
#error "weft: no jumps for this ISA yet: add src/arch/<isa>/jump.hpp"
#endif
