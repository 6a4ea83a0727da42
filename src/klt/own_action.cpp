#include "klt/own_action.hpp"

#include <sys/syscall.h>

#include "arch/system_call.hpp"
#include "klt/own_signal.hpp"
#include "os/overflow.hpp"
#include "os/realtime_signal.hpp"
#include "os/signal_mask.hpp"

namespace weft::rt {

constinit std::atomic<uint64_t> own_action_held{0};

namespace {

constinit std::atomic<uint64_t> ignored{0};  // anybody: by the program; others have their defaults
constinit std::atomic<long> process{0};      // whoever holds one: whose they are

long this_process() noexcept { return system_call(SYS_getpid, 0, 0, 0, 0); }

bool is_ignored(int signal) noexcept { return (ignored.load(std::memory_order_relaxed) & signal_bit(signal)) != 0; }

// The stand-in is none of ours while it is ignored: nothing has to be there for it, and it goes on across exec().
bool comes_true(int signal, const struct sigaction& wanted) noexcept {
  return is_handler(wanted) || (signal == kStandIn && wanted.sa_handler == SIG_IGN);
}

void note(int signal, bool ignores) noexcept {
  if (ignores) {
    ignored.fetch_or(signal_bit(signal), std::memory_order_relaxed);
  } else {
    ignored.fetch_and(~signal_bit(signal), std::memory_order_relaxed);
  }
}

struct sigaction noted(int signal) noexcept {
  struct sigaction action{};
  action.sa_handler = is_ignored(signal) ? SIG_IGN : SIG_DFL;
  return action;
}

}  // namespace

void own_action_begin(int signal) noexcept {
  process.store(this_process(), std::memory_order_relaxed);
  if (own_action_is_held(signal)) return;
  struct sigaction before{};
  signal_action(signal, nullptr, &before);
  note(signal, before.sa_handler == SIG_IGN && !comes_true(signal, before));
  own_action_held.fetch_or(signal_bit(signal), std::memory_order_relaxed);
}

void own_action_end(int signal) noexcept {
  own_signal_remove_handler(signal, is_ignored(signal));
  own_action_held.fetch_and(~signal_bit(signal), std::memory_order_relaxed);
  // Whoever has set it in between has put our handler back.
  own_signal_remove_handler(signal, is_ignored(signal));
}

void own_action_hold(int signal) noexcept {
  process.store(this_process(), std::memory_order_relaxed);
  own_action_held.fetch_or(signal_bit(signal), std::memory_order_relaxed);
}

void own_action_let_go(int signal) noexcept { own_action_held.fetch_and(~signal_bit(signal), std::memory_order_relaxed); }

void own_action_become_child() noexcept {
  process.store(this_process(), std::memory_order_relaxed);
  overflow_become_child();
}

int own_action_set(SignalAction* next, int signal, const struct sigaction* wanted, struct sigaction* was) noexcept {
  // To a child of vfork() nothing of ours comes, and the notes are the parent's.
  const bool is_childs = process.load(std::memory_order_relaxed) != this_process();
  if ((signal_bit(signal) & kOverflowSignals) != 0) return overflow_set_programs(next, signal, wanted, was, is_childs);
  const bool passes = wanted != nullptr && (comes_true(signal, *wanted) || is_childs);
  struct sigaction before;
  if (const int result = next(signal, passes ? wanted : nullptr, &before); result != 0) return result;
  const bool ours = own_signal_is_handler(before);
  if (ours) before = noted(signal);
  if (wanted != nullptr && !passes) {
    note(signal, wanted->sa_handler == SIG_IGN);
    if (!ours) own_signal_put_handler(signal);
  }
  if (was != nullptr) *was = before;
  return 0;
}

}  // namespace weft::rt
