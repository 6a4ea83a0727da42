#include "os/realtime_signal.hpp"

#include "os/signal_mask.hpp"
#include "sanitizer_switch.hpp"

extern "C" int __sigaction(int, const struct sigaction*, struct sigaction*) noexcept;  // the C library's, by its other name

namespace weft::rt {

int signal_action(int signal, const struct sigaction* wanted, struct sigaction* was) noexcept {
  if (san::kSignalsComeLate) return sigaction(signal, wanted, was);  // ThreadSanitizer's calls the handlers
  return __sigaction(signal, wanted, was);
}

bool realtime_signal_is_free(int signal) noexcept {
  struct sigaction now;
  return signal_action(signal, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL;
}

int realtime_signal_find(int last, uint64_t others, uint64_t awaited) noexcept {
  // Not the first ones, which programs that use such signals take.
  int of_awaited = 0;
  for (int signal = last; signal >= SIGRTMIN; --signal) {
    if ((others & signal_bit(signal)) != 0 || !realtime_signal_is_free(signal)) continue;
    if ((awaited & signal_bit(signal)) == 0) return signal;
    if (of_awaited == 0) of_awaited = signal;
  }
  return of_awaited;
}

void realtime_signal_release(int signal, void (*handler)(int, siginfo_t*, void*), bool ignored) noexcept {
  struct sigaction action{};
  if (signal_action(signal, nullptr, &action) != 0 || (action.sa_flags & SA_SIGINFO) == 0 || action.sa_sigaction != handler) {
    return;  // the program has taken it
  }
  // Ignoring it drops one that is still on its way to a thread which blocks it.
  action = {};
  action.sa_handler = SIG_IGN;
  signal_action(signal, &action, nullptr);
  if (ignored) return;
  action.sa_handler = SIG_DFL;
  signal_action(signal, &action, nullptr);
}

}  // namespace weft::rt
