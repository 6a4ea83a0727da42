// keeper.hpp: the thread that starts and ends lenders.
//
// Not whoever makes spare KLTs: starting a thread, and waiting for the end of one, takes locks of the C library's that a preempted
// ULT may hold, and it may be a spare KLT that is missing for that ULT to go on.
#pragma once

namespace weft::rt {

// False: the kernel refuses the thread. Of several callers at once one starts it.
bool keeper_start() noexcept;
bool keeper_runs() noexcept;
bool keeper_is_starting() noexcept;
// There is something to do. Async-signal-safe.
void keeper_call() noexcept;
// What else may have to wait for the loader, as starting a thread does: it calls that, too, soon. False: it does not run.
// Async-signal-safe; one at a time.
bool keeper_ask(void (*what)()) noexcept;
// Precondition: nobody starts it meanwhile.
void keeper_stop() noexcept;
// In a forked child, where it is no more.
void keeper_forget() noexcept;

}  // namespace weft::rt
