// signal_mask.cpp: pthread_sigmask() and sigprocmask() by a ULT. Programs block all signals where one thread of theirs waits for
// them, or round what is not to be interrupted; a ULT that blocked Weft's own would keep its worker from everybody else for as long as it
// computes, or spins for a ULT that waits there. So they stay open, as the C library leaves its own.
#include <pthread.h>
#include <signal.h>

#include <cstring>

#include "identity/identity.hpp"
#include "intercept/next.hpp"
#include "klt/klt.hpp"
#include "klt/own_signal.hpp"
#include "worker/lender_signal.hpp"

using namespace weft::rt;

namespace {

using Function = int(int, const sigset_t*, sigset_t*) noexcept;
constinit Next<Function> next_pthread_sigmask{"pthread_sigmask"}, next_sigprocmask{"sigprocmask"};

[[gnu::constructor]] void find_next() noexcept {
  next_pthread_sigmask.get();
  next_sigprocmask.get();
}

uint64_t kernels(const sigset_t& set) noexcept {
  uint64_t mask;
  std::memcpy(&mask, &set, sizeof mask);
  return mask;
}

uint64_t changed(uint64_t before, int how, uint64_t set) noexcept {
  return how == SIG_BLOCK ? before | set : how == SIG_UNBLOCK ? before & ~set : set;
}

// The KLT is not in a handler for that. And signals by the ULT's pthread_t do not come meanwhile, wherever it is.
void note_mask(int how, uint64_t set) noexcept {
  std::atomic<uint64_t>& mask = klt_self()->program_mask;
  mask.store(changed(mask.load(std::memory_order_relaxed), how, set), std::memory_order_relaxed);
  Identity* identity = identity_of(pthread_self());
  if (identity == nullptr) return;
  lender_set_mask(*identity, changed(identity->mask.load(std::memory_order_relaxed), how, set));
}

int leave_ours_open(Function* next, int how, const sigset_t* set, sigset_t* was) noexcept {
  if (set == nullptr || !klt_register_valid()) return next(how, set, was);
  sigset_t wanted = *set;
  if (how != SIG_UNBLOCK) own_signals_leave_out(wanted);
  const int error = next(how, &wanted, was);
  if (error == 0) note_mask(how, kernels(wanted));
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
