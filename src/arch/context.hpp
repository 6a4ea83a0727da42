// context.hpp: the context switch of this ISA.
#pragma once

#if defined(__x86_64__)
#include "arch/x86_64/context.hpp"
#include "arch/x86_64/fp_environment.hpp"
#else
#error "weft: no context switch for this ISA yet: add src/arch/<isa>/context.hpp"
#endif
