// realtime_signal.hpp: a real-time signal of our own, beside those that the program uses.
#pragma once

#include <signal.h>

namespace weft::rt {

bool realtime_signal_is_free(int signal) noexcept;  // nobody handles it
// The last one, from `last` downwards, that nobody handles. 0: none.
int realtime_signal_find(int last) noexcept;

// The default again, where the handler is still this one; one that is on its way to a thread is dropped.
void realtime_signal_release(int signal, void (*handler)(int, siginfo_t*, void*)) noexcept;

}  // namespace weft::rt
