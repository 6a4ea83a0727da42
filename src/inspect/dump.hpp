// dump.hpp: every worker and every unit of this process, as text.
#pragma once

#include "arch/registers.hpp"
#include "config/options.hpp"
#include "inspect/unwind.hpp"

namespace weft::rt {

struct Unit;
struct Worker;

// `here`: the registers of the calling thread, whose stack must stay as it is meanwhile. Async-signal-safe.
int dump(int fd, const Registers& here) noexcept;

// A sentence, and the units that wait. False: another report is being written. For callers that know that
// finalise cannot come meanwhile. Interrupts nobody: what sleeps in the kernel is shown as far as that can be seen from outside.
bool dump_waiting(int fd, const char* sentence) noexcept;

// A worker has long run a unit that waits in the kernel for `lock`. `holds`: who holds it, preempted; null: one of those that
// are ready on the worker, all of which are shown. False: nothing was written. Any thread but those.
bool dump_stuck(int fd, const Worker* worker, const Unit* waits, const Unit* holds, const void* lock) noexcept;

// The next deadlock is reported, even if one has been.
void deadlock_forget() noexcept;

// For initialise and finalise: gets the unwinder ready, unless it has been left to the first report before, which asks for it;
// handles the signal that asks for a dump, and gives it back.
void inspect_leaves_unwinder(AskForUnwinder ask) noexcept;
void inspect_start(const Options& options) noexcept;
void inspect_stop() noexcept;

// In a forked child: whoever wrote a report, or was asked for its registers, has stayed behind.
void inspect_forget() noexcept;

}  // namespace weft::rt
