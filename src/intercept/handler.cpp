#include "intercept/handler.hpp"

#include <sys/syscall.h>

#include <array>
#include <atomic>
#include <utility>

#include "arch/frame.hpp"
#include "arch/klt_register.hpp"
#include "arch/system_call.hpp"
#include "klt/own_signal.hpp"
#include "klt/program_signals.hpp"
#include "os/realtime_signal.hpp"
#include "os/signal_mask.hpp"
#include "worker/lender_signal.hpp"

namespace weft::rt {
namespace {

constexpr int kFirstNotRelayed = 32;
constexpr uint64_t kNever = signal_bit(SIGKILL) | signal_bit(SIGSTOP) | signal_bit(SIGPROF) | signal_bit(SIGVTALRM) | signal_bit(kStandIn);
bool is_relayed(int signal) noexcept { return signal > 0 && signal < kFirstNotRelayed && (kNever & signal_bit(signal)) == 0; }

using InfoHandler = void (*)(int, siginfo_t*, void*);
constexpr size_t kMost = 48;
constinit std::array<std::atomic<InfoHandler>, kMost> programs{};  // each is set once

// True: of no thread alone. What a thread is sent by its number has SI_TKILL, or may have SI_QUEUE; by its timer, SI_TIMER, as by the process's; for
// a fault or a file, SI_KERNEL or the code of what has happened; and the kernel gives a thread that has written too much two in the process's name. Of
// a child's end the kernel asks first who has forked it: a thread of a team, seldom.
bool is_for_process(const siginfo_t& info) noexcept {
  constexpr uint64_t kOfWriters = signal_bit(SIGPIPE) | signal_bit(SIGXFSZ), kOfFiles = signal_bit(SIGIO);
  const uint64_t one = signal_bit(info.si_signo);
  switch (info.si_code) {
    case SI_USER: return (one & kOfWriters) == 0 || info.si_pid != system_call(SYS_getpid, 0, 0, 0, 0);
    case SI_KERNEL: return (one & (kFaultSignals | kOfFiles)) == 0;
    default: return info.si_signo == SIGCHLD && info.si_code > 0 && klt_register_valid();
  }
}

// A call that waits, and that a signal of ours has interrupted just before this one, is about to be begun again: it would wait for what has come.
void end_call(int signal, ucontext_t& frame) noexcept {
  struct sigaction now;
  if (frame_begins_call(frame) && signal_action(signal, nullptr, &now) == 0) frame_end_call(frame, (now.sa_flags & SA_RESTART) != 0);
}

// `frame`: null: not known. (On its own: with an object on its stack relay() would leave a frame, where clang compiles it.)
[[gnu::noinline]] void begin_handler(int signal, ucontext_t* frame) noexcept {
  program_handler_begins();
  if (frame != nullptr && klt_register_valid() && (signal_bit(signal) & kFaultSignals) == 0) end_call(signal, *frame);
}

// Leaves no frame of its own to those who look at the stack, or throw. A handler that takes less may be given more: all of that is in registers.
[[gnu::noinline]] void relay(int signal, siginfo_t* info, void* context, InfoHandler programs_own) {
  const bool by_kernel = info != nullptr && context != nullptr;  // not by somebody who has read it past us, and chains to it
  if (by_kernel && is_for_process(*info) && lender_takes(*info)) return own_signal_interrupts(*static_cast<const ucontext_t*>(context));
  begin_handler(signal, by_kernel ? static_cast<ucontext_t*>(context) : nullptr);
  programs_own(signal, info, context);
}

// `TakesInfo`: the program's does.
template <size_t Index, bool TakesInfo>
void ours(int signal, siginfo_t* info, void* context) {
  relay(signal, info, context, programs[Index].load(std::memory_order_relaxed));
}
// For as long as the kernel has been told no more.
template <size_t Index>
void ours_without_info(int signal) {
  programs[Index].load(std::memory_order_relaxed)(signal, nullptr, nullptr);
}

struct Ours {
  InfoHandler takes_info, plain;
  Handler without_info;
};
template <size_t... Index>
constexpr std::array<Ours, kMost> all_of_ours(std::index_sequence<Index...>) noexcept {
  return {Ours{ours<Index, true>, ours<Index, false>, ours_without_info<Index>}...};
}
constexpr std::array<Ours, kMost> kOurs = all_of_ours(std::make_index_sequence<kMost>());

// The same pointer, whatever it takes: as struct sigaction has it.
struct sigaction action_with(Handler handler) noexcept {
  struct sigaction action{};
  action.sa_handler = handler;
  return action;
}

// As the program has set it.
void tell(struct sigaction& action) noexcept {
  for (size_t i = 0; i < kMost; ++i) {
    const bool is_plain = action.sa_sigaction == kOurs[i].plain;
    if (!is_plain && action.sa_sigaction != kOurs[i].takes_info && action.sa_handler != kOurs[i].without_info) continue;
    if (is_plain) action.sa_flags &= ~SA_SIGINFO;
    action.sa_sigaction = programs[i].load(std::memory_order_relaxed);
    return;
  }
}

// Null: there is none left.
const Ours* ours_for(InfoHandler handler) noexcept {
  for (size_t i = 0; i < kMost; ++i) {
    InfoHandler has = nullptr;
    if (programs[i].compare_exchange_strong(has, handler, std::memory_order_relaxed) || has == handler) return &kOurs[i];
  }
  return nullptr;
}

// Null: the kernel is told what the program wants.
const Ours* ours_for(int signal, const struct sigaction& wanted) noexcept {
  if (!is_handler(wanted) || signal <= 0 || signal > kMostSignals) return nullptr;
  struct sigaction told = wanted;
  tell(told);  // the program may have read ours past us
  const Ours* found = is_relayed(signal) && (wanted.sa_flags & SA_RESETHAND) == 0 ? ours_for(told.sa_sigaction) : nullptr;
  program_handler_is_counted(signal, found != nullptr);
  return found;
}

}  // namespace

int handler_set_action(SignalAction* next, int signal, const struct sigaction* wanted, struct sigaction* was) noexcept {
  struct sigaction changed;
  if (const Ours* relays = wanted != nullptr ? ours_for(signal, *wanted) : nullptr) {
    changed = *wanted;
    tell(changed);
    changed.sa_sigaction = (changed.sa_flags & SA_SIGINFO) != 0 ? relays->takes_info : relays->plain;
    changed.sa_flags |= SA_SIGINFO;
    wanted = &changed;
  }
  const int result = next(signal, wanted, was);
  if (result == 0 && was != nullptr) tell(*was);
  return result;
}

Handler handler_set(SetHandler* next, SignalAction* next_action, int signal, Handler handler) noexcept {
  const bool is_action = handler == SIG_ERR || handler == SIG_HOLD;
  const Ours* relays = is_action ? nullptr : ours_for(signal, action_with(handler));
  if (relays == nullptr) return handler_told(next(signal, handler));
  const SignalsBlocked all_at_once;  // the handler may set another one
  const Handler was = next(signal, relays->without_info);
  // With the flags and the mask that this has chosen.
  struct sigaction now;
  if (next_action(signal, nullptr, &now) == 0 && now.sa_handler == relays->without_info) {
    now.sa_flags |= SA_SIGINFO;
    now.sa_sigaction = relays->plain;
    next_action(signal, &now, nullptr);
  }
  return handler_told(was);
}

Handler handler_told(Handler was) noexcept {
  struct sigaction action = action_with(was);
  tell(action);
  return action.sa_handler;
}

}  // namespace weft::rt
