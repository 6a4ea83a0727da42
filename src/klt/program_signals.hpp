// program_signals.hpp: which signals of the program's a KLT's thread takes.
//
// While an identity is on it: those that this one has not blocked. Else what was open in the thread that made it, as in any thread, as long
// as it runs something. Where threads of the program's are there to take what the process is sent (worker/lender_signal.hpp), one that has
// nothing to run takes none, and between two identities it takes none that those threads have blocked: what they all have blocked stays pending until
// one of them waits for it.
#pragma once

#include <atomic>
#include <cstdint>

#include "klt/klt.hpp"
#include "klt/own_signal.hpp"
#include "os/signal_mask.hpp"

namespace weft::rt {

// What comes of a thread's own doing; cancellation and setuid(); and what is left for everybody to take.
inline constexpr uint64_t kFaultSignals =
    signal_bit(SIGSEGV) | signal_bit(SIGBUS) | signal_bit(SIGFPE) | signal_bit(SIGILL) | signal_bit(SIGTRAP) | signal_bit(SIGSYS);
inline constexpr uint64_t kCLibrarySignals = signal_bit(32) | signal_bit(33);
inline constexpr uint64_t kProcessSignals = ~(kFaultSignals | kCLibrarySignals);

// The calling KLT's thread blocks these from here on.
[[gnu::noinline]] void change_signal_mask(Klt* self, uint64_t mask) noexcept;
[[gnu::always_inline]] inline void have_signal_mask(Klt* self, uint64_t mask) noexcept {
  if (__builtin_expect(self->program_mask.load(std::memory_order_relaxed) != mask, 0)) change_signal_mask(self, mask);
}

// Others take them: from before there is a KLT that sleeps. Without a courier nobody could bring a ULT what it handles: then they do not.
void others_take_signals(bool do_so) noexcept;
[[gnu::noinline]] uint64_t signals_of_others() noexcept;  // as the kernel has a set

// That is what one of those threads has blocked now. Of several the last one counts: what it has open it takes itself.
void others_block(uint64_t mask) noexcept;
extern std::atomic<uint64_t> blocked_by_others;

// Whether a handler of the program's may run in the calling thread, as far as can be told: once it has set any, it may. Not for what comes of a
// thread's own doing.
bool program_may_handle() noexcept;
// Of these, as the kernel has it now, if the calling thread has them open.
bool program_handles_here(uint64_t set) noexcept;
// It has set some by now, of faults too, as far as can be told without asking the kernel.
bool program_has_handlers() noexcept;
// Of the functions by which programs set them (intercept/): they are there; one has been set, maybe by a child that shares our memory.
void program_handlers_are_noted() noexcept;
void program_sets_handler(int signal) noexcept;
// The same, as it is set: `counted`: it begins with program_handler_begins().
void program_handler_is_counted(int signal, bool counted) noexcept;
void program_handler_begins() noexcept;  // async-signal-safe
// Nothing of the program's runs in the calling thread in a signal handler that is not counted, as far as can be told; nor in a call there that lets
// these in besides, as the kernel has a set.
bool program_handlers_are_counted(uint64_t let_in = 0) noexcept;

// With no identity on it, as long as it runs something.
[[gnu::always_inline]] inline uint64_t mask_between(const Klt* self) noexcept {
  return self->native_mask | blocked_by_others.load(std::memory_order_relaxed);
}

// While it has nothing to run. By itself, with no identity on it.
inline void take_no_signals(Klt* self) noexcept { have_signal_mask(self, self->native_mask | signals_of_others()); }
inline void take_signals(Klt* self) noexcept { have_signal_mask(self, mask_between(self)); }

}  // namespace weft::rt
