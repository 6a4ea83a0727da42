// handler.hpp: the program's handlers of what the process may be sent, and which thread runs them.
//
// The kernel asks the main thread first. Where that is a ULT it asks its lender, a thread that may be waiting for a CPU, or be busy with the signal
// before: then the kernel asks any other one. A handler that was written for a process in which the main thread has it open, and gets it, is not
// made for that: Perl's ends the program, R's would jump off another thread's stack. So where the kernel is told a handler of the program's it
// is told one of ours, which passes on what is for the main thread (lender_takes()), and goes on to the program's by a jump otherwise.
//
// Each handler of the program's has one of ours to itself, for good, whatever signals it is for: ours stands for it, wherever somebody has read it
// past us, puts it back, or calls it. There are some dozens; who sets more handlers than that has the others called by the kernel. Each
// counts as it begins: who asks whether one has ended a call is told so (front/call.cpp).
//
// Of the numbers that do not queue. Not SIGPROF and SIGVTALRM, which the kernel sends to whoever has used up the time; nor a handler that is to be
// called once, which would be gone when the main thread is sent it.
//
// Rejected: one of ours for all, and a table of the handlers that were set last. Who chains to what it has read past us calls itself without end.
#pragma once

#include <signal.h>

#include "klt/own_action.hpp"

namespace weft::rt {

inline constexpr int kMostSignals = 64;  // of the kernel's
using Handler = void (*)(int);
using SetHandler = Handler(int, Handler) noexcept;

// sigaction() by the program, for a signal that is not held; `next` is the one that it would have called. Async-signal-safe, in any thread and any
// child.
int handler_set_action(SignalAction* next, int signal, const struct sigaction* wanted, struct sigaction* was) noexcept;
// The same of signal(), by its other names too: sets a handler that stays, until another one is set, and changes no mask.
Handler handler_set(SetHandler* next, SignalAction* next_action, int signal, Handler handler) noexcept;
// What another such function returns, as the program has it.
Handler handler_told(Handler was) noexcept;

}  // namespace weft::rt
