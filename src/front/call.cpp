// call.cpp: what has ended a system call with EINTR.
//
// The handlers of our signals count the calls that they have cut short (klt/own_signal.cpp): with the ULT, or with the KLT where that has no
// identity. So does, with the KLT, who sets a timer anew that was just about to end one.
//
// Besides, the kernel fails some calls (epoll_wait()) for a signal that this thread then does not get: whenever the lender of the main thread
// has waited for one of the process and got it, all other threads look for it. A program that handles none takes that for an error. Nor would
// one that handles some hear of it on a thread that has none open but what comes to main; and main only once its handler has run: who looks for
// what that has done, and calls again, would wait for a signal that has come.
//
// A call that lets signals in which are blocked otherwise (ppoll(), sigsuspend()) needs more. If one of the program's and one of ours come at
// once, its handler may have run, with all signals blocked, before ours comes: to where the call has failed, which ours would count, and the
// call would be made again, and wait for a signal that has come. So ours are blocked round such a call, and open in it as the program's are.
// The first signal that the kernel delivers puts the mask of before back:
//
//   first               then
//   ours                the program's stays pending: counted, made again, and the next call ends by that one
//   the program's       ours stays pending, or interrupts that handler, and no call: not counted
//
// The stand-in is not blocked for that, which is the program's signal, too: where none of ours can be queued this does not hold.
//
// A call that writes to what has no room is not ended with EINTR, but with what it has written so far: part_goes_on(). Who can have cut it short? A
// handler of the program's that has run in it, which counts itself (klt/program_signals.hpp); otherwise nothing that the program hears of.
#include <pthread.h>

#include <cerrno>

#include "front/front.hpp"
#include "identity/identity.hpp"
#include "klt/klt.hpp"
#include "klt/own_signal.hpp"
#include "klt/program_signals.hpp"
#include "os/cpu_yield.hpp"
#include "os/signal_mask.hpp"
#include "worker/lender_signal.hpp"

namespace weft::front {

using namespace rt;

bool handler_runs() { return klt_register_valid() && own_signals_handler_runs(signal_mask_here()); }

namespace {

Identity* identity_of_caller() noexcept {
  return klt_register_valid() && !klt_is_inside_here() ? identity_of(pthread_self()) : nullptr;
}

// As far as can be told. Main may have been woken for what its lender has by now: its handler runs before we look.
bool none_has_begun(const HandlersMark& since) {
  if (!program_handlers_are_counted()) return false;
  if (Identity* identity = identity_of_caller()) lender_catch_up(*identity);
  const HandlersMark now = handlers_mark();
  return now.counter == since.counter && now.begun == since.begun;
}

}  // namespace

// Without the guard, which may take the caller to another KLT: who has come back from the kernel may have lost its worker there.
CallMark call_mark() {
  if (!klt_register_valid()) return {};
  if (klt_is_inside_here()) return {};
  CallMark mark;
  mark.klt = klt_self();
  mark.handlers = handlers_mark();
  mark.thread = mark.klt->interruptions.load(std::memory_order_relaxed);
  if (const Identity* identity = identity_of(pthread_self())) {
    mark.ult = identity->interruptions.load(std::memory_order_relaxed);
    mark.brought = identity->brought.load(std::memory_order_relaxed);
  }
  return mark;
}

bool part_goes_on(const HandlersMark& since) {
  if (!klt_register_valid() || klt_is_inside_here()) return false;
  return !program_may_handle() || none_has_begun(since);
}

// On another KLT nobody knows where it was interrupted.
bool call_cut_short(CallMark& since) {
  const CallMark before = since;
  while (before.klt->timer_changes.load(std::memory_order_acquire) != 0) cpu_yield();
  const bool on_thread = before.klt->interruptions.load(std::memory_order_relaxed) != before.thread;
  since = call_mark();
  const bool brought = since.brought != before.brought, elsewhere = since.klt != before.klt;
  if (!brought && (on_thread || elsewhere || since.ult != before.ult || !program_may_handle())) return true;
  if (none_has_begun(before.handlers)) return true;
  Identity* identity = identity_of(pthread_self());
  if (identity == nullptr) return false;
  if (const uint64_t mains = brought ? 0 : lender_takes_for_main(*identity)) return !program_handles_here(~mains);
  lender_catch_up(*identity);  // also where one was pending here: it may have come to the lender first
  return false;
}

void signals_catch_up() {
  if (!klt_register_valid() || !program_may_handle()) return;
  if (Identity* identity = identity_of_caller()) lender_catch_up(*identity);
}

bool masked_call_begins(MaskedCall& call, sigset_t& mask) {
  Identity* identity = handler_runs() ? nullptr : identity_of_caller();
  if (identity == nullptr) return false;
  own_signals_leave_out(mask);
  lender_bring(*identity, ~kernel_set(mask));
  const uint64_t ours = own_signals_mask();
  call.closed = ours & ~change_mask_here(SIG_BLOCK, ours);
  call.cut_short = identity->interruptions.load(std::memory_order_relaxed);
  call.handlers = handlers_mark();
  return true;
}

bool masked_call_cut_short(MaskedCall& call, const sigset_t& mask) {
  Identity& identity = *identity_of(pthread_self());
  const uint32_t before = call.cut_short;
  call.cut_short = identity.interruptions.load(std::memory_order_relaxed);
  // Main may have been woken for what another thread has taken then, and passes on.
  const bool none = call.handlers.begun == handlers_mark().begun && program_handlers_are_counted(~kernel_set(mask));
  if (call.cut_short == before && !none) return false;
  // What it lets in is for the caller also between two of them, and for no other thread that would take it.
  if (!call.again) lender_wait_mask(identity, kernel_set(mask));
  call.again = true;
  return true;
}

void masked_call_ends(const MaskedCall& call) {
  const int error = errno;
  Identity& identity = *identity_of(pthread_self());
  if (call.again) lender_wait_mask(identity, ~uint64_t{0});
  lender_bring(identity, 0);
  change_mask_here(SIG_UNBLOCK, call.closed);
  errno = error;
}

uint64_t waiting_begins(const sigset_t& set) {
  Identity* identity = identity_of_caller();
  if (identity == nullptr) return 0;
  const uint64_t before = identity->wanted.load(std::memory_order_relaxed);
  lender_bring(*identity, before | kernel_set(set));
  return before;
}

void waiting_ends(uint64_t before) {
  const int error = errno;
  if (Identity* identity = identity_of_caller()) lender_bring(*identity, before);
  errno = error;
}

}  // namespace weft::front
