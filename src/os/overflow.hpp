// overflow.hpp: a stack overflow ends in a message that names the ULT, its stack size and how to
// raise it, not in a bare "Segmentation fault".
//
// Every KLT handles SIGSEGV and SIGBUS on an alternate stack, since the one it runs on is full. A
// fault in the guard of that stack is reported, and the program aborts. Any other fault goes to
// the handler that the program has set, before or since, so that those of programs and sanitizers work as without Weft: on the alternate stack that a
// ULT with an identity of its own has set, or where it has not asked for one on the stack that the fault was on. Not on the KLT's: a handler that goes
// on elsewhere, with signals open, and comes back (.NET's does) would find the frames of ticks in the place of its own.
//
// A stack in huge pages has a canary instead of a guard: who finds it gone says so here.
#pragma once

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "klt/own_action.hpp"
#include "os/signal_mask.hpp"

namespace weft::rt {

struct Klt;
struct Stack;
struct Unit;

// For the process.
void overflow_install() noexcept;
void overflow_remove() noexcept;
// In a forked child: another thread may have been about to set one.
void overflow_become_child() noexcept;

inline constexpr uint64_t kOverflowSignals = signal_bit(SIGSEGV) | signal_bit(SIGBUS);

// sigaction() by the program for one of these while it is held (klt/own_action.hpp): noted and told, and ours stays. `next`: what it would have
// called. That it is ignored takes the place of ours, and ours that of that. `childs`: by a child of vfork(), whose alone it is. Async-signal-safe.
int overflow_set_programs(SignalAction* next, int signal, const struct sigaction* wanted, struct sigaction* was, bool childs) noexcept;

// Whether the program handles one of these, as far as can be told without its lock. Async-signal-safe.
bool overflow_programs_handles(int signal) noexcept;

// The kernel's sigaltstack(), not that of src/intercept/. Async-signal-safe.
inline int alternate_stack(const stack_t* wanted, stack_t* was) noexcept {
  return static_cast<int>(syscall(SYS_sigaltstack, wanted, was));
}

// What the calling thread, or ULT, has set last (src/intercept/signal_stack.cpp).
extern __attribute__((tls_model("initial-exec"))) constinit thread_local stack_t program_alternate_stack;

// Where the frame of the fault is that a handler of the program's is at, called by ours; null: none is. (What the kernel says of a signal is
// in its frame only for handlers that ask for it.) Whoever leaves the handler by a jump sets it to null.
extern __attribute__((tls_model("initial-exec"))) constinit thread_local const void* program_handles_fault;

// For the calling thread, whose record is klt. A thread that has an alternate stack keeps it. Out
// of memory: this thread's overflows end in a bare SIGSEGV.
void overflow_install_thread(Klt* klt) noexcept;
void overflow_remove_thread(Klt* klt) noexcept;
// The caller runs on the one that was installed so.
bool overflow_is_on_stack_of(const Klt* klt) noexcept;
// In a forked child, of a thread that is not there.
void overflow_forget_thread(Klt* klt) noexcept;

// The canary of the stack is gone; it was last used by the unit, null: by a scheduler. Says so and aborts.
[[noreturn]] void overflow_noticed(const Unit* unit, const Stack& stack) noexcept;

}  // namespace weft::rt
