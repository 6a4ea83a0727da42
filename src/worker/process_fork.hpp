// process_fork.hpp: the process forks. docs/process.md says what a program may rely on.
#pragma once

#include "worker/worker.hpp"

namespace weft::rt {

// In the child, whose only thread calls it: what was the parent's is forgotten; if a ULT has called fork(),
// the runtime goes on with that one. self: the thread's KLT, or null. inside: it was inside Weft (a signal
// handler has called fork()).
void process_become_child(Klt* self, bool inside) noexcept;

// The child starts no threads before there is a second unit, or worker: until then nobody waits for what the only unit does, and a program that
// forks may want to be one thread (unshare(), setns()), or is over soon. These are started now, if there are any to start. Guard down.
void process_start_threads() noexcept;
// The runtime ends.
void process_forget_threads() noexcept;

// Whether a tasklet, a scheduler or a signal handler has called fork(), and this is the child: Weft can not
// run here, because what is on the stack belongs to the parent's workers.
bool process_is_stranded() noexcept;

// Whether this process is a child in which the parent's runtime does not go on, and no other was started.
bool process_left_runtime_behind() noexcept;

}  // namespace weft::rt
