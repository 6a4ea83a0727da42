// lender_signal.hpp: signals for a ULT that is on no KLT, and those that its lender's own kernel thread is sent.
//
// A ULT that waits in Weft may be waited for by whoever sends it a signal: garbage collectors stop every thread, those that wait for the
// end of a region too. A thread that waits would run its handler, and wait on. So the lender does it in the ULT's place: it has the
// same thread pointer, and goes onto the ULT's stack for that, below its frames. There it is a thread that is no KLT; a handler that
// sleeps keeps no worker.
//
//   lender                                          others
//   requests |= Away                                whoever wakes the ULT makes it Ready
//   it is Blocked: nobody gets onto its stack now   whoever picks it sees Away, and puts it back
//   handles what it has been sent
//   requests &= ~Away                               the ULT goes on
//
// Blocked is said when the context is complete, by the scheduler's side: of one that has an identity always. Who makes it Ready later
// than we have read Blocked, and then looks at its requests, sees what we wrote before.
//
// Where it is not Blocked the ULT takes the signal itself, with all that is known of it: the lender keeps it in hand, where the ULT looks
// as it gets onto a KLT and as it lets go, and calls it by the courier if it is on one. Where the ULT has let go without having taken
// it, the lender handles it after all, before those that have come meanwhile (Identity::queueing keeps further ones out while it puts them
// behind it). So a signal is handled once, in the order of the kernel, and none is lost.
//
// What the ULT has blocked stays pending at the lender, or where the ULT is, if it was sent there. In a call that waits for it, or lets it in
// (Identity::wanted), it is brought; the courier ends that call, which is made again then.
//
//   in_hand: 0 ──lender──► signal ──the ULT──► taking ──the ULT, which has sent it to its KLT──► 0
//                           └──the lender, when the ULT is kept away or gone──► 0
//
// A thread of the program's that has become a ULT can be reached by the kernel's number of its thread (tgkill()), by which Go's runtime
// preempts, and profilers' timers; and the main thread is the first one that the kernel asks to take what is sent to the process. So
// its lender, which is that thread, accepts all that the ULT has not blocked, and looks again when that changes. What the program handles
// it brings to the ULT; for what it does not handle it sends it to itself again, and lets it come.
// Rejected: to leave open what has no handler. When one is installed it may be called here, beside the ULT and with its thread-local storage.
//
// The kernel asks the main thread first, but while its lender is on its way to a CPU any other thread takes the signal that opens it, or comes back
// from a handler of ours, as after each tick. So a KLT looks before it does, and passes on what is for the main thread (lender_pass_on()). A lender
// that waits until its ULT has taken one goes on accepting others (Passed). What comes to another thread nevertheless its handler passes on, which is
// ours where the program has set one by the C library (intercept/handler.hpp). What the main thread has blocked and waits for counts as open there; if it
// has left the call when its lender gets to that, the process is sent it once more. The kernel may have woken it, for one that another thread was given
// then: the call is made again where no handler has begun in it (front/call.cpp).
// Left to the kernel are the numbers that stop and continue, of which sending one takes away the other: no other thread passes them on by itself, and the
// lender drops one that stops, in hand, when one that continues is pending, which has come later.
// Rejected: to block there what the main thread has open. What such a thread sends itself by its kernel's number would stay pending.
//
// tests/model/lender_signal.pml is this, and passed_signal.pml what is passed on.
#pragma once

#include "identity/identity.hpp"

namespace weft::rt {

// The signal is the lender's from here on. With all signals blocked, while Identity::sending counts the caller; touches nothing of the
// thread's, so that a ULT which has just let go of its identity may call it. Async-signal-safe.
void lender_send(Identity& to, int signal) noexcept;
// To a thread of ours: with what is said there; or, where that says SI_TKILL, with nothing. Returns 0 or minus the kernel's error.
long signal_to_thread(int tid, siginfo_t& info) noexcept;
// As signal_to_thread(), behind those that it has been sent before. Returns 0 or the kernel's error.
int lender_queue(Identity& to, siginfo_t& info) noexcept;
// The caller's: it blocks others from here on, as the kernel has a set.
void lender_set_mask(Identity& identity, uint64_t mask) noexcept;
// The caller waits in a call, again and again, that blocks these alone: what it lets in is brought to where the caller is, and is pending there
// between two of them. All ones: it does so no longer.
void lender_wait_mask(Identity& identity, uint64_t mask) noexcept;
// The caller enters a call that waits for these, or lets them in, though it has blocked them: those that are sent to it are brought, and are
// pending where the caller is then. 0: it has left it.
void lender_bring(Identity& identity, uint64_t wanted) noexcept;
// The caller's, which has been woken for nothing that can be seen. If its lender has taken one meanwhile that is for the caller, the
// handler has run when this returns; unless a handler calls. Guard down.
void lender_catch_up(Identity& identity) noexcept;
// The same of the calling thread, whatever it is. Async-signal-safe.
void lender_catch_up_here() noexcept;
// Of another thread than main: what comes to main where the process is sent it. 0: nothing is known of main.
uint64_t lender_takes_for_main(const Identity& caller) noexcept;
// The caller's: what its lender has of these, since it has blocked them, becomes pending where the caller is. Guard down.
void lender_give_back(Identity& identity, uint64_t set) noexcept;
// The ULT lets go of its identity, or has taken what was in hand: the lender looks again. The same.
void lender_call(Identity& identity) noexcept;
// The ULT has let go of it for good: until nobody has to do with it. What was sent to it is dropped.
void lender_settle(Identity& identity) noexcept;

// As lender_serve(), of a thread of the program's.
[[noreturn]] void lender_serve_adopted(Identity& identity) noexcept;

// A KLT is about to open these, as the kernel has a set, which are blocked there just now: what the process has been sent of them is passed on to
// the main thread, if that has it open and is not here. Returns which are pending as before, or may be.
uint64_t lender_pass_on(uint64_t opens) noexcept;
// One that the process has been sent, and that this thread has been given to handle: true: the main thread has it open, and gets it. Of the
// numbers that do not queue.
bool lender_takes(const siginfo_t& info) noexcept;
// In a forked child.
void lender_pass_on_forget() noexcept;

// Identity::in_hand, from there on while the ULT sends it to its KLT.
inline constexpr uint32_t kTaking = 1u << 16;

}  // namespace weft::rt
