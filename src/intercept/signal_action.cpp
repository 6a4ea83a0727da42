// signal_action.cpp: sigaction() and the other functions by which programs say what becomes of a signal.
// For a signal that is Weft's at present see klt/own_action.hpp.
//
// They are called in handlers, in children of vfork() and before our constructors have run: nothing here takes a lock, or touches
// thread-local storage but errno. Not siginterrupt(): it changes no handler; nor __sigaction(), by which Weft itself goes past these.
#include <signal.h>

#include <initializer_list>

#include "intercept/handler.hpp"
#include "intercept/next.hpp"
#include "klt/own_action.hpp"
#include "klt/own_signal.hpp"
#include "klt/program_signals.hpp"
#include "os/overflow.hpp"
#include "worker/lender_signal.hpp"

using namespace weft::rt;

namespace {

constinit Next<SignalAction> next_sigaction{"sigaction"};
constinit Next<SetHandler> next_signal{"signal"}, next_bsd_signal{"bsd_signal"}, next_ssignal{"ssignal"};
constinit Next<SetHandler> next_sysv_signal{"sysv_signal"}, next_sysv_signal_too{"__sysv_signal"}, next_sigset{"sigset"};
constinit Next<int(int) noexcept> next_sigignore{"sigignore"};

[[gnu::constructor]] void find_next() noexcept {
  next_sigaction.find();
  for (Next<SetHandler>* next : {&next_signal, &next_bsd_signal, &next_ssignal, &next_sysv_signal, &next_sysv_signal_too, &next_sigset}) {
    next->find();
  }
  next_sigignore.find();
  // Behind the C library, after a dlopen(), these are not called: then there may be handlers of which nobody knows.
  if (dlsym(RTLD_DEFAULT, "sigaction") != reinterpret_cast<void*>(next_sigaction.get())) program_handlers_are_noted();
}

bool is_set(int signal, Handler handler) noexcept {
  const bool is_handler = handler != SIG_DFL && handler != SIG_IGN && handler != SIG_HOLD && handler != SIG_ERR;
  return is_handler && signal > 0 && signal <= kMostSignals;
}

void note(int signal, Handler handler) noexcept {
  if (is_set(signal, handler)) program_sets_handler(signal);
}

// What its lender has taken for the main thread by now came while there was a handler: with the default it might end the program, and what is
// ignored is not to come to the next handler.
void settle(Handler wanted) noexcept {
  if (wanted == SIG_DFL || wanted == SIG_IGN) lender_catch_up_here();
}

int set_action(int signal, const struct sigaction* wanted, struct sigaction* was) noexcept {
  const bool held = own_action_is_held(signal);
  return held ? own_action_set(next_sigaction.get(), signal, wanted, was) : handler_set_action(next_sigaction.get(), signal, wanted, was);
}

Handler set_ours(int signal, Handler handler, int flags) noexcept {
  struct sigaction wanted{}, was{};
  wanted.sa_handler = handler;
  wanted.sa_flags = flags;
  return set_action(signal, &wanted, &was) == 0 ? was.sa_handler : SIG_ERR;
}

// What the program may block: none of ours, but a stand-in's (klt/own_signal.hpp), or a fault's. As the C library has it.
Handler set_and_open(int signal, Handler handler) noexcept {
  sigset_t one, before;
  sigemptyset(&one);
  sigaddset(&one, signal);
  struct sigaction now{};
  const bool holds = handler == SIG_HOLD;
  if (holds && own_action_set(next_sigaction.get(), signal, nullptr, &now) != 0) return SIG_ERR;
  const Handler was = holds ? now.sa_handler : set_ours(signal, handler, 0);
  if (was == SIG_ERR || sigprocmask(holds ? SIG_BLOCK : SIG_UNBLOCK, &one, &before) != 0) return SIG_ERR;
  return sigismember(&before, signal) != 0 ? SIG_HOLD : was;
}

// As the C library's own have them.
constexpr int kLasts = SA_RESTART, kOnce = static_cast<int>(SA_RESETHAND | SA_NODEFER);

Handler set(SetHandler* next, int signal, Handler handler, int flags) noexcept {
  note(signal, handler);
  settle(handler);
  if (own_action_is_held(signal) && handler != SIG_ERR) return set_ours(signal, handler, flags);
  if (flags != kOnce) return handler_set(next, next_sigaction.get(), signal, handler);
  if (is_set(signal, handler)) program_handler_is_counted(signal, false);
  return handler_told(next(signal, handler));
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int sigaction(int signal, const struct sigaction* wanted, struct sigaction* was) noexcept {
  if (wanted != nullptr) {
    note(signal, wanted->sa_handler);
    settle(wanted->sa_handler);
  }
  return set_action(signal, wanted, was);
}

Handler signal(int signal, Handler handler) noexcept { return set(next_signal.get(), signal, handler, kLasts); }
Handler bsd_signal(int signal, Handler handler) noexcept { return set(next_bsd_signal.get(), signal, handler, kLasts); }
Handler ssignal(int signal, Handler handler) noexcept { return set(next_ssignal.get(), signal, handler, kLasts); }
Handler sysv_signal(int signal, Handler handler) noexcept { return set(next_sysv_signal.get(), signal, handler, kOnce); }
Handler __sysv_signal(int signal, Handler handler) noexcept { return set(next_sysv_signal_too.get(), signal, handler, kOnce); }

// SIG_HOLD blocks it, which is no action; and is told where it was blocked. Ours is never blocked, but for the stand-in and those of faults.
Handler sigset(int signal, Handler handler) noexcept {
  note(signal, handler);
  if (own_action_is_held(signal) && ((signal_bit(signal) & kOverflowSignals) != 0 || signal == kStandIn)) return set_and_open(signal, handler);
  if (!own_action_is_held(signal) && handler != SIG_HOLD && handler != SIG_ERR) {
    settle(handler);
    return set_and_open(signal, handler);
  }
  if (handler != SIG_HOLD) return set(next_sigset.get(), signal, handler, 0);
  if (!own_action_is_held(signal)) return handler_told(next_sigset.get()(signal, handler));
  struct sigaction now;
  return own_action_set(next_sigaction.get(), signal, nullptr, &now) == 0 ? now.sa_handler : SIG_ERR;
}

int sigignore(int signal) noexcept {
  settle(SIG_IGN);
  if (own_action_is_held(signal)) return set_ours(signal, SIG_IGN, 0) != SIG_ERR ? 0 : -1;
  return next_sigignore.get()(signal);
}

}  // extern "C"
#pragma GCC visibility pop
