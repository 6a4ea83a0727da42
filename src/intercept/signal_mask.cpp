// signal_mask.cpp: pthread_sigmask() and sigprocmask() by a ULT. Programs block all signals where one thread of theirs waits for
// them, or round what is not to be interrupted; a ULT that blocked Weft's own would keep its worker from everybody else for as long as it
// computes, or spins for a ULT that waits there. So they stay open, as the C library leaves its own.
#include <signal.h>

#include "intercept/next.hpp"
#include "klt/klt.hpp"
#include "klt/own_signal.hpp"

using namespace weft::rt;

namespace {

using Function = int(int, const sigset_t*, sigset_t*) noexcept;
constinit Next<Function> next_pthread_sigmask{"pthread_sigmask"}, next_sigprocmask{"sigprocmask"};

[[gnu::constructor]] void find_next() noexcept {
  next_pthread_sigmask.get();
  next_sigprocmask.get();
}

int leave_ours_open(Function* next, int how, const sigset_t* set, sigset_t* was) noexcept {
  if (set == nullptr || how == SIG_UNBLOCK || !klt_register_valid()) return next(how, set, was);
  sigset_t wanted = *set;
  own_signals_leave_out(wanted);
  return next(how, &wanted, was);
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
