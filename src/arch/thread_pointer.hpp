// thread_pointer.hpp: where this ISA's thread control block is known.
#pragma once

#if defined(__x86_64__)
#include "arch/x86_64/thread_pointer.hpp"
#else
#error "weft: no thread pointer for this ISA yet: add src/arch/<isa>/thread_pointer.hpp"
#endif
