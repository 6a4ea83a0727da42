// lender.hpp: the thread whose control block an identity is.
#pragma once

#include "identity/identity.hpp"

namespace weft::rt {

// Starts one, whose stack has room for a ULT that wants so many bytes. It calls lender_ready() with the identity, and then lender_serve().
// Returns 0, ENOMEM where there is no room for the stack, or why there is no thread. Precondition: c_library_find(). Not on a ULT.
int lender_start(size_t stack_size) noexcept;

// Defined by the pool.
void lender_ready(Identity* identity) noexcept;

// Defined by worker/: sleeps until it is called, for signals or (then it returns) to end. It touches nothing of the thread's.
void lender_serve(Identity& identity) noexcept;

// The calling thread's, but the one with which setuid() and its kin reach every thread. The same. Returns what was blocked before.
uint64_t lender_block_signals() noexcept;

// The kernel's per-CPU area of the calling thread, which lies in the C library's record at this thread pointer. False:
// the kernel does not do it.
bool rseq_unregister(uintptr_t thread_pointer) noexcept;
bool rseq_register(uintptr_t thread_pointer) noexcept;

}  // namespace weft::rt
