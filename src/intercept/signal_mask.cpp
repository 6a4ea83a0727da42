// signal_mask.cpp: pthread_sigmask() and sigprocmask() by a ULT. Programs block all signals where one thread of theirs waits for
// them, or round what is not to be interrupted; a ULT that blocked Weft's own would keep its worker from everybody else for as long as it
// computes, or spins for a ULT that waits there. So they stay open, as the C library leaves its own.
#include <pthread.h>
#include <signal.h>

#include "identity/identity.hpp"
#include "intercept/next.hpp"
#include "intercept/program_mask.hpp"
#include "klt/guard.hpp"
#include "klt/klt.hpp"
#include "klt/no_preemption.hpp"
#include "klt/own_signal.hpp"
#include "klt/program_signals.hpp"
#include "os/signal_mask.hpp"
#include "worker/lender_signal.hpp"

using namespace weft::rt;

namespace {

using Function = int(int, const sigset_t*, sigset_t*) noexcept;
constinit Next<Function> next_pthread_sigmask{"pthread_sigmask"}, next_sigprocmask{"sigprocmask"};

[[gnu::constructor]] void find_next() noexcept {
  next_pthread_sigmask.find();
  next_sigprocmask.find();
}

uint64_t changed(uint64_t before, int how, uint64_t set) noexcept {
  return how == SIG_BLOCK ? before | set : how == SIG_UNBLOCK ? before & ~set : set;
}

// In a handler nothing is noted: its return gives the mask of before it back.
void note_mask(uint64_t before, int how, uint64_t set) noexcept {
  if (!own_signals_handler_runs(before)) program_mask_is(changed(before, how, set));
}

}  // namespace

void weft::rt::program_mask_note(Klt& klt, Identity* identity, uint64_t mask) noexcept {
  klt.program_mask.store(mask, std::memory_order_relaxed);
  if (identity != nullptr) {
    if (identity->adopted) others_block(mask);
    lender_set_mask(*identity, mask);
  } else {
    klt.native_mask = mask;
  }
}

void weft::rt::program_mask_is(uint64_t mask) noexcept {
  const bool inside = klt_is_inside_here();
  if (!inside) guard_enter();  // on one KLT
  program_mask_note(*klt_self(), identity_of(pthread_self()), mask);
  if (!inside) guard_leave(guard_worker());
}

namespace {

int change(Function* next, int how, const sigset_t& wanted, sigset_t& before) noexcept {
  const int error = next(how, &wanted, &before);
  if (error == 0) note_mask(kernel_set(before), how, kernel_set(wanted));
  return error;
}

// With the stand-in: none of ours is pending then. Not in a handler.
int block_with_stand_in(Function* next, const sigset_t& wanted, sigset_t& before) noexcept {
  const bool inside = klt_is_inside_here();
  if (!inside) guard_enter();  // on one KLT
  Klt* self = klt_self();
  self->blocks_stand_in.store(true, std::memory_order_seq_cst);
  own_signal_stand_ins_come(self);
  const int error = change(next, SIG_BLOCK, wanted, before);
  self->blocks_stand_in.store(false, std::memory_order_release);
  if (!inside) guard_leave(guard_worker());
  return error;
}

bool blocks_stand_in(int how, uint64_t wanted) noexcept {
  const uint64_t known = klt_self()->program_mask.load(std::memory_order_relaxed);
  return (how == SIG_BLOCK || how == SIG_SETMASK) && (wanted & ~known & signal_bit(kStandIn)) != 0 &&
         !own_signals_handler_runs(signal_mask_here());
}

// What a ULT opens is to come before the call returns, also what waits at its lender.
void have_pending_here(int how, uint64_t set) noexcept {
  if (how == SIG_BLOCK || klt_is_inside_here()) return;
  Identity* identity = identity_of(pthread_self());
  const uint64_t opened = how == SIG_UNBLOCK ? set : ~set;
  const uint64_t sent = identity != nullptr ? identity->sent.load(std::memory_order_acquire) & opened : 0;
  if (__builtin_expect(sent != 0, 0)) lender_give_back(*identity, sent);
}

int leave_ours_open(Function* next, int how, const sigset_t* set, sigset_t* was) noexcept {
  if (set == nullptr || !klt_register_valid()) return next(how, set, was);
  sigset_t wanted = *set, before;
  if (how != SIG_UNBLOCK) own_signals_leave_out(wanted);
  // What reads stacks for it, in pairs. It may have lost its worker just before, to one that waits for the report.
  if (__builtin_expect(stays_with_worker(klt_self()), 0)) return next(how, &wanted, was);
  have_pending_here(how, kernel_set(*set));
  int error = 0;
  if (blocks_stand_in(how, kernel_set(wanted))) {
    error = block_with_stand_in(next, wanted, before);
    sigset_t blocked;
    if (error == 0 && how == SIG_SETMASK) error = change(next, how, wanted, blocked);
  } else {
    error = change(next, how, wanted, before);
  }
  if (error == 0 && was != nullptr) *was = before;
  return error;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int pthread_sigmask(int how, const sigset_t* set, sigset_t* was) noexcept {
  return leave_ours_open(next_pthread_sigmask.get(), how, set, was);
}

int sigprocmask(int how, const sigset_t* set, sigset_t* was) noexcept {
  return leave_ours_open(next_sigprocmask.get(), how, set, was);
}

}  // extern "C"
#pragma GCC visibility pop
