// realtime_signal.hpp: a real-time signal of our own, beside those that the program uses.
#pragma once

#include <signal.h>

#include <cstdint>

namespace weft::rt {

// Not sigaction(): that of libweft.so (intercept/) tells of our own signals what the program has set.
int signal_action(int signal, const struct sigaction* wanted, struct sigaction* was) noexcept;

bool realtime_signal_is_free(int signal) noexcept;  // nobody handles it
// The last one, from `last` downwards, that nobody handles and that is none of `others` (as in os/signal_mask.hpp). One of `awaited` only where no
// other is left. 0: none.
int realtime_signal_find(int last, uint64_t others, uint64_t awaited) noexcept;

// The default again, or ignored, where the handler is still this one; one that is on its way to a thread is dropped.
void realtime_signal_release(int signal, void (*handler)(int, siginfo_t*, void*), bool ignored) noexcept;

}  // namespace weft::rt
