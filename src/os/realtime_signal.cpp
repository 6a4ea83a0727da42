#include "os/realtime_signal.hpp"

namespace weft::rt {

bool realtime_signal_is_free(int signal) noexcept {
  struct sigaction now;
  return sigaction(signal, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL;
}

int realtime_signal_find(int last) noexcept {
  // Not the first ones, which programs that use such signals take.
  for (int signal = last; signal >= SIGRTMIN; --signal) {
    if (realtime_signal_is_free(signal)) return signal;
  }
  return 0;
}

void realtime_signal_release(int signal, void (*handler)(int, siginfo_t*, void*)) noexcept {
  struct sigaction action{};
  if (sigaction(signal, nullptr, &action) != 0 || (action.sa_flags & SA_SIGINFO) == 0 || action.sa_sigaction != handler) {
    return;  // the program has taken it
  }
  // Ignoring it drops one that is still on its way to a thread which blocks it.
  action = {};
  action.sa_handler = SIG_IGN;
  sigaction(signal, &action, nullptr);
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
}

}  // namespace weft::rt
