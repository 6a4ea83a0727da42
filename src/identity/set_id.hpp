// set_id.hpp: setuid() and its kin, among threads that run with the control blocks of others.
//
// To the kernel an identity of a user is a thread's. The C library's setuid(), setgid() and so on make it the process's: they go through the
// library's list of control blocks, send each thread whose block is marked a signal, and do so again until no block is marked any more. Its
// handler makes the system call, and takes the mark from the block that the thread pointer tells.
//
// With an identity's block on a KLT that mark is another one: the KLT's own would stay marked, and the caller would send for ever. So
// the handler runs with the thread pointer of whose thread it is. And the caller leaves out its own block: if that is an identity's it would
// be the lender that is left out. So it calls with the KLT's.
#pragma once

#include "arch/thread_pointer.hpp"

namespace weft::rt {

// The C library's own signal for that.
inline constexpr int kSetIdSignal = 33;

// Puts ours before the C library's handler, if that is there, which it is as soon as a thread has been made. In a child of fork() the C library puts
// its own there again, at its first thread: whoever begins to make identities calls this.
void set_id_take() noexcept;
// When there are no identities any more: the code of ours may be unloaded (libweft.a in a library that is closed).
void set_id_give_back() noexcept;

// The KLT's thread pointer, if the caller has an identity's; else 0. Async-signal-safe.
uintptr_t set_id_other_pointer() noexcept;

}  // namespace weft::rt
