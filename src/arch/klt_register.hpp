// klt_register.hpp: how this ISA finds the calling KLT's record.
#pragma once

#if defined(__x86_64__)
#include "arch/x86_64/klt_register.hpp"
#else
#error "weft: no KLT register for this ISA yet: add src/arch/<isa>/klt_register.hpp"
#endif
