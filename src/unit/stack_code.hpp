// stack_code.hpp: stacks that code may run on.
//
// gcc calls a nested function by way of a few instructions on the stack of whoever passes it on, and Fortran compilers an internal
// procedure that is an argument. A program or a library with such code asks for it in its file (PT_GNU_STACK), and the C library gives it
// to all threads, those that run already too. So do we: at initialise by what is loaded then, and for a library that is loaded later when
// somebody first comes to code on a stack (worker/stack_fault.hpp). Rejected: a dlopen() of ours, for what hardly any library asks for.
#pragma once

#include "unit/stack.hpp"

namespace weft::rt {

// Looks what is loaded; not async-signal-safe. True: code may run on the stacks that are mapped from now on, and might not before.
bool stack_code_setup() noexcept;

// Whether the C library has been asked, as far as it shows on the program's first stack. Async-signal-safe.
bool stack_code_is_asked_for() noexcept;

// The same for this stack, or [low, high), which is mapped already; and for all that are mapped from now on. False: the system refuses,
// or it is not ours. Async-signal-safe.
bool stack_code_allow(const Stack& stack) noexcept;
bool stack_code_allow(char* low, char* high) noexcept;

// For mmap().
int stack_protection() noexcept;

}  // namespace weft::rt
