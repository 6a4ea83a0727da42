// unit_signal.hpp: signals that pthread_kill() sends to a ULT with an identity of its own, a thread that has become one (adopt.hpp) among
// them. The kernel thread that its pthread_t names is its lender, which has all signals blocked; runtimes with a garbage collector stop
// their threads like that, and wait until each has answered.
//
//   sender                                        the ULT
//   notes it with the identity, membarrier        gets onto a KLT: `on`, then a look at the notes
//   looks on which KLT it is                      takes them: the KLT sends them to itself
//     none, and it waits: its lender handles
//       it in its place (lender_signal.hpp)
//     none otherwise: it looks when it goes on
//     sends that KLT the courier, a signal of
//       our own (klt/own_signal.hpp)              its handler: looks; inside Weft whoever lowers the guard does
//     or the signal itself, where the ULT waits
//       for signals, or has blocked it for long;
//       it is kept from leaving meanwhile (Take,  gets it as any thread
//       or `sending`: below)
//
// So the program's handler runs where the ULT is, never on another one's stack or identity: who sends to itself handles it before it is in
// user mode again. And not on top of a handler of ours, whose registers it would take for the ULT's: there the courier is blocked.
// (A handler that has stopped the ULT, and waits for the signal to go on, has blocked the courier, too.) A ULT that lets go of its
// identity, and has notes, leaves them to its lender.
//
// With its guard up it is in Weft, and it may be about to leave the KLT, whose scheduler would handle the signal then: by a wrong
// identity, and for ever if the handler waits for another signal.
//
//   sender, all signals blocked                   the ULT leaves the KLT
//   sending += 1, membarrier                      on = null
//   on == the KLT? sends it the signal            waits until sending == 0
//   membarrier: it has come. sending -= 1         off it
//
// A handler that has come between the ULT's two steps, and waits for a signal there, is sent it nevertheless: the ULT will look once
// more. tests/model/unit_signal.pml is this.
//
// Rejected: to send it to that KLT straight away. By then the ULT may have left; and if that is prevented, the KLT may be in a handler
// of ours that has not raised the guard yet, or has lowered it (SBCL: "no SP known for thread").
#pragma once

#include <signal.h>
#include <ucontext.h>

#include "identity/identity.hpp"
#include "klt/klt.hpp"

namespace weft::rt {

// To the ULT that has it, and is not the caller. Async-signal-safe. Returns 0, EINVAL or, of those that are queued, EAGAIN.
int unit_signal_send(Identity& to, int signal) noexcept;
// The same with a value, in the order in which they are sent.
int unit_signal_queue(Identity& to, siginfo_t& info) noexcept;
// With nothing, each for itself, whatever its number.
int unit_signal_queue_plain(Identity& to, int signal) noexcept;

// ---- the ULT's side: the current one's, if it has any

// Guard down, in no handler of ours: they come at once. May not return, where a handler has put a jump off (put_off_jump.hpp), but in a scope that
// is not to be left.
void unit_signals_take() noexcept;
// The same where the guard has gone down without a look at what is wanted.
inline void unit_signals_look() noexcept {
  if ((klt_register_load<kKltAttention, uint32_t>() & attention::kSignals) != 0) unit_signals_take();
}
// At the end of a handler of ours, guard down: a jump that a handler of the program's has put off, which had interrupted ours.
void unit_signals_leave_handler() noexcept;
// In a handler of ours that will return to what it has interrupted: they come then.
void unit_signals_take_in_handler(ucontext_t& frame) noexcept;
// It has let go of its identity: its lender gets them. Guard up; touches nothing of the thread's.
void unit_signals_leave(Identity& identity) noexcept;

}  // namespace weft::rt
