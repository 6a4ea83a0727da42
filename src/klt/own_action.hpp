// own_action.hpp: what the program has set for a signal that is ours at present.
//
// Programs set all signals to their defaults: daemons when they begin, Ruby in a child that is about to call exec(). The next tick would
// end them. So the default, or that it is ignored, is noted for such a signal and told when the program asks, and our handler
// stays. A handler of the program's takes the place of ours, as it always has; ours comes back when the program gives that up. Not so one for faults
// (os/overflow.hpp), which ours calls.
#pragma once

#include <signal.h>

#include <atomic>
#include <cstdint>

namespace weft::rt {

// Ours from here on: before our handler is there, so that what is set meanwhile is noted. Under runtime.setup, or before anybody else knows
// the runtime, both.
void own_action_begin(int signal) noexcept;
// No longer: what has been noted comes into force.
void own_action_end(int signal) noexcept;
// The same for one of which overflow.hpp (os/) notes all that the program sets.
void own_action_hold(int signal) noexcept;
void own_action_let_go(int signal) noexcept;
// In a forked child: what is ours is the child's.
void own_action_become_child() noexcept;

extern std::atomic<uint64_t> own_action_held;  // as the kernel has a set; anybody reads it
inline bool own_action_is_held(int signal) noexcept {
  return signal > 0 && signal <= 64 && (own_action_held.load(std::memory_order_relaxed) >> (signal - 1) & 1) != 0;
}

// Whatever the flags say, the kernel takes these two for what they are.
inline bool is_handler(const struct sigaction& action) noexcept {
  return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
}

// sigaction() by the program, for one that is held. Next: the one that it would have called. Async-signal-safe, in any thread and any child.
using SignalAction = int(int, const struct sigaction*, struct sigaction*) noexcept;
int own_action_set(SignalAction* next, int signal, const struct sigaction* wanted, struct sigaction* was) noexcept;

}  // namespace weft::rt
