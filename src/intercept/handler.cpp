#include "intercept/handler.hpp"

#include <pthread.h>
#include <sys/syscall.h>

#include <atomic>

#include "arch/system_call.hpp"
#include "klt/own_signal.hpp"
#include "klt/program_signals.hpp"
#include "os/signal_mask.hpp"
#include "worker/lender_signal.hpp"

namespace weft::rt {
namespace {

constexpr int kNumbers = 32;
constexpr uint64_t kNever = signal_bit(SIGKILL) | signal_bit(SIGSTOP) | signal_bit(SIGPROF) | signal_bit(SIGVTALRM) | signal_bit(kStandIn);
constexpr uint64_t kRelayed = 0x7fffffff & ~kNever;

using InfoHandler = void (*)(int, siginfo_t*, void*);

// What the program has set last of each, if the kernel has ours.
constinit std::atomic<InfoHandler> programs[kNumbers]{};
// Whose they are: in a child of vfork() nothing is noted.
constinit std::atomic<long> process{0};

long this_process() noexcept { return system_call(SYS_getpid, 0, 0, 0, 0); }

[[gnu::constructor]] void begin() noexcept {
  process.store(this_process(), std::memory_order_relaxed);
  pthread_atfork(nullptr, nullptr, [] { process.store(this_process(), std::memory_order_relaxed); });
}

bool is_relayed(int signal) noexcept { return signal > 0 && signal < kNumbers && (kRelayed & signal_bit(signal)) != 0; }
bool is_own() noexcept { return process.load(std::memory_order_relaxed) == this_process(); }

// What is sent to a thread by its number has SI_TKILL, or may have SI_QUEUE; by a file's owner, the code of what has happened there; for a fault, its
// code, or SI_KERNEL.
bool is_for_process(const siginfo_t& info) noexcept {
  switch (info.si_code) {
    case SI_USER: return true;
    case SI_KERNEL: case SI_TIMER: return (signal_bit(info.si_signo) & kFaultSignals) == 0;
    default: return info.si_signo == SIGCHLD && info.si_code > 0;
  }
}

// Leaves no frame of its own to those who look at the stack, or throw. A handler that takes less may be given more: all of that is in registers.
void relay(int signal, siginfo_t* info, void* context) {
  if (is_for_process(*info) && lender_takes(*info)) return;
  programs[signal].load(std::memory_order_relaxed)(signal, info, context);
}
// The same; which of them it is tells what the program's takes.
void relay_plain(int signal, siginfo_t* info, void* context) { relay(signal, info, context); }

// For as long as the kernel has been told no more.
void relay_without_info(int signal) { programs[signal].load(std::memory_order_relaxed)(signal, nullptr, nullptr); }

// The same pointer, whatever it takes: as struct sigaction has it.
struct sigaction action_with(Handler handler) noexcept {
  struct sigaction action{};
  action.sa_handler = handler;
  return action;
}

bool is_relay(const struct sigaction& action) noexcept {
  return action.sa_handler == relay_without_info || action.sa_sigaction == relay || action.sa_sigaction == relay_plain;
}

bool is_for_relay(int signal, const struct sigaction& wanted) noexcept {
  // One of ours has been read past us, and is put back as it was.
  return is_relayed(signal) && is_handler(wanted) && (wanted.sa_flags & SA_RESETHAND) == 0 && !is_relay(wanted) && is_own();
}

InfoHandler noted(int signal) noexcept { return is_relayed(signal) ? programs[signal].load(std::memory_order_relaxed) : nullptr; }

// As the program has set it, which was noted `before`.
void tell(struct sigaction& action, InfoHandler before) noexcept {
  if (!is_relay(action)) return;
  if (action.sa_sigaction == relay_plain) action.sa_flags &= ~SA_SIGINFO;
  action.sa_sigaction = before;
}

Handler tell(Handler was, InfoHandler before) noexcept {
  struct sigaction action = action_with(was);
  tell(action, before);
  return action.sa_handler;
}

}  // namespace

int handler_set_action(SignalAction* next, int signal, const struct sigaction* wanted, struct sigaction* was) noexcept {
  InfoHandler before = noted(signal);
  int result = 0;
  if (wanted != nullptr && is_for_relay(signal, *wanted)) {
    struct sigaction ours = *wanted;
    ours.sa_flags |= SA_SIGINFO;
    ours.sa_sigaction = (wanted->sa_flags & SA_SIGINFO) != 0 ? relay : relay_plain;
    const SignalsBlocked both_at_once;
    before = programs[signal].exchange(wanted->sa_sigaction, std::memory_order_relaxed);
    result = next(signal, &ours, was);
  } else {
    result = next(signal, wanted, was);
  }
  if (result == 0 && was != nullptr) tell(*was, before);
  return result;
}

Handler handler_set(SetHandler* next, SignalAction* next_action, int signal, Handler handler) noexcept {
  struct sigaction now = action_with(handler);
  if (handler == SIG_ERR || handler == SIG_HOLD || !is_for_relay(signal, now)) return handler_told(signal, next(signal, handler));
  const SignalsBlocked all_at_once;
  const InfoHandler before = programs[signal].exchange(now.sa_sigaction, std::memory_order_relaxed);
  const Handler was = next(signal, relay_without_info);
  // With the flags and the mask that this has chosen.
  if (next_action(signal, nullptr, &now) == 0 && now.sa_handler == relay_without_info) {
    now.sa_flags |= SA_SIGINFO;
    now.sa_sigaction = relay_plain;
    next_action(signal, &now, nullptr);
  }
  return tell(was, before);
}

Handler handler_told(int signal, Handler was) noexcept { return tell(was, noted(signal)); }

}  // namespace weft::rt
