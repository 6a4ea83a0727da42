// overflow.cpp: see overflow.hpp. Everything below handle() runs in a signal handler: it takes no
// lock, and writes with write().
#include "os/overflow.hpp"

#include <execinfo.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "arch/frame.hpp"
#include "base/spin_lock.hpp"
#include "klt/klt.hpp"
#include "os/realtime_signal.hpp"
#include "os/signal_mask.hpp"
#include "sanitizer_switch.hpp"
#include "unit/stack.hpp"
#include "unit/unit.hpp"
#include "worker/lender_signal.hpp"
#include "worker/stack_fault.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

// Saved vector registers take 3 KiB of it, the unwinder some 10 KiB, and the handlers of others
// that we call have to fit as well.
constexpr size_t kAltStackBytes = size_t{64} << 10;

constexpr int kSignals[] = {SIGSEGV, SIGBUS};

constinit std::atomic<bool> installed{false};

// What the program has set. All signals are blocked round the lock: our handler takes it, too. Two copies of each, so that a child that is forked
// while another thread sets one has the one or the other.
struct Programs {
  struct sigaction copies[2];
  std::atomic<unsigned> now{0};
  const struct sigaction& get() const noexcept { return copies[now.load(std::memory_order_relaxed)]; }
  void set(const struct sigaction& action) noexcept {
    const unsigned next = 1 - now.load(std::memory_order_relaxed);
    copies[next] = action;
    now.store(next, std::memory_order_release);
  }
};
constinit Programs programs[2]{};
constinit SpinLock programs_lock;

Programs& programs_of(int signal) noexcept { return programs[signal == SIGSEGV ? 0 : 1]; }

struct sigaction programs_action(int signal) noexcept {
  const std::scoped_lock hold(programs_lock);
  return programs_of(signal).get();
}

// One that is to be called once has its default from now on.
struct sigaction take_programs_action(int signal) noexcept {
  const SignalsBlocked alone;
  const std::scoped_lock hold(programs_lock);
  const struct sigaction action = programs_of(signal).get();
  if (is_handler(action) && (action.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) {
    struct sigaction standard = action;
    standard.sa_handler = SIG_DFL;
    programs_of(signal).set(standard);
  }
  return action;
}

template <class... Args>
void say(const char* format, Args... args) noexcept {
  char text[512];
  const int n = std::snprintf(text, sizeof text, format, args...);
  if (n <= 0) return;
  const auto length =
      static_cast<size_t>(n) < sizeof text ? static_cast<size_t>(n) : sizeof text - 1;
  if (write(STDERR_FILENO, text, length) < 0) return;  // nobody reads it; abort all the same
}

struct Frames {
  static constexpr int kMost = 48;
  void* at[kMost];
  int count = 0;
};

_Unwind_Reason_Code note_frame(_Unwind_Context* context, void* to) noexcept {
  auto* frames = static_cast<Frames*>(to);
  if (frames->count == Frames::kMost) return _URC_END_OF_STACK;
  frames->at[frames->count++] = reinterpret_cast<void*>(_Unwind_GetIP(context));
  return _URC_NO_REASON;
}

// Not backtrace(): at its first call it loads a library.
void say_backtrace() noexcept {
  Frames frames;
  _Unwind_Backtrace(note_frame, &frames);
  say("weft: innermost %d frames, this report's first:\n", frames.count);
  backtrace_symbols_fd(frames.at, frames.count, STDERR_FILENO);
}

// What the calling KLT runs on; both may be null.
struct Running {
  Unit* unit = nullptr;
  Unit* host = nullptr;
  const Stack* stack = nullptr;
};

Running what_runs(const Klt* self) noexcept {
  Running running;
  running.unit = self->current.load(std::memory_order_relaxed);
  if (running.unit != nullptr) running.host = running.unit->host;
  if (running.host != nullptr) running.stack = running.host->stack;
  if (running.stack == nullptr) {
    const Worker* worker = self->worker.load(std::memory_order_relaxed);
    if (worker != nullptr) running.stack = worker->sched_stack;
  }
  return running;
}

void say_who(const Running& running) noexcept {
  if (running.unit == nullptr) {
    say("weft: stack overflow in %s", "a scheduler");
    return;
  }
  const char* name = unit_name(running.unit);
  say("weft: stack overflow in %s %llu%s%s%s",
      unit_is(running.unit, flag::kTasklet) ? "tasklet" : "ULT",
      static_cast<unsigned long long>(unit_id(running.unit)), *name != '\0' ? " \"" : "", name,
      *name != '\0' ? "\"" : "");
  if (running.host != nullptr && running.host != running.unit) {
    say(", which runs on the stack of ULT %llu",
        static_cast<unsigned long long>(unit_id(running.host)));
  }
}

void say_remedy(size_t size) noexcept {
  const size_t twice = 2 * size / 1024;
  say("weft: give it more by weft_unit_attr_t::stack_size, or all ULTs by WEFT_STACK_SIZE=%zuK; threads of OpenMP's by "
      "OMP_STACKSIZE=%zuK\n", twice, twice);
}

void tell(const Running& running, const void* address) noexcept {
  const size_t size = running.stack->size;
  say_who(running);
  say(": its stack of %zu bytes is used up (fault at %p)\n", size, address);
  say_remedy(size);
}

[[noreturn]] void report(const Running& running, const void* address) noexcept {
  tell(running, address);
  say_backtrace();
  std::abort();
}

// It may mean to recover, time and again.
void tell_once(const Running& running, const void* address) noexcept {
  static constinit std::atomic<bool> told{false};
  if (!told.exchange(true, std::memory_order_relaxed)) tell(running, address);
}

// The previous handler was the kernel's default: the fault comes again as soon as we return, and
// then it ends the program in the way that its parent expects.
void fall_back(int signal, const siginfo_t* info) noexcept {
  struct sigaction standard{};
  standard.sa_handler = SIG_DFL;
  signal_action(signal, &standard, nullptr);
  if (info->si_code <= 0) raise(signal);  // sent by somebody: it would not come again
}

void call_programs(int signal, siginfo_t* info, void* context) noexcept {
  const struct sigaction before = take_programs_action(signal);
  const bool sent = info->si_code <= 0;
  const bool simple = (before.sa_flags & SA_SIGINFO) == 0;
  if (before.sa_handler == SIG_IGN && sent) return;
  if (!is_handler(before)) {
    fall_back(signal, info);
    return;
  }
  // As the kernel has it. Our return gives the mask of then back.
  sigset_t blocked;
  sigorset(&blocked, &static_cast<const ucontext_t*>(context)->uc_sigmask, &before.sa_mask);
  if ((before.sa_flags & SA_NODEFER) == 0) sigaddset(&blocked, signal);
  set_signal_mask(SIG_SETMASK, &blocked, nullptr);
  const void* outer = std::exchange(program_handles_fault, sent ? nullptr : context);
  if (simple) {
    before.sa_handler(signal);
  } else {
    before.sa_sigaction(signal, info, context);
  }
  program_handles_fault = outer;
}

// On which stack the program has its own handler run, if it has one.
enum class Place { kNone, kWhereTheFaultWas, kAlternate };

Place place_of_programs(int signal) noexcept {
  const struct sigaction before = programs_action(signal);
  if (!is_handler(before)) return Place::kNone;
  return (before.sa_flags & SA_ONSTACK) == 0 ? Place::kWhereTheFaultWas : Place::kAlternate;
}

bool is_on_alternate_stack(const ucontext_t& frame, uintptr_t address) noexcept {
  return address - reinterpret_cast<uintptr_t>(frame.uc_stack.ss_sp) < frame.uc_stack.ss_size;
}

void go_on_there(ucontext_t* frame) noexcept {
  const Klt* before = klt_register_valid() ? klt_self() : nullptr;
  siginfo_t* info = frame_info(*frame);
  call_programs(info->si_signo, info, frame);
  // A runtime's handler opens the signals again, and goes on as any code of the ULT's: maybe on another KLT. The kernel takes from the frame
  // which alternate stack the thread has.
  if (before != nullptr && klt_self() != before) alternate_stack(nullptr, &frame->uc_stack);
}

// Where the kernel would have put the frame without us: where the fault was; or `alternate`, on the alternate stack that the program has set.
// On the KLT's it stays where the ULT has set none, since the handler may be for overflows, and where the fault was there.
__attribute__((no_sanitize("address"))) void move_to_programs_stack(const siginfo_t* info, ucontext_t& frame, bool alternate) noexcept {
  const FramePlace place = frame_place(info, frame);
  const uintptr_t sp = frame_general(frame, REG_RSP);
  if (place.low == 0 || !is_on_alternate_stack(frame, place.low) || is_on_alternate_stack(frame, sp)) return;
  FramePlace there = frame_place_there(place, frame);
  if (alternate) {
    if (!klt_register_valid() || klt_self()->alt_stack != frame.uc_stack.ss_sp) return;  // it is on the program's
    // Without an identity of its own a ULT has what any other one has set on this KLT, and may have freed on another.
    const Unit* host = what_runs(klt_self()).host;
    if (host == nullptr || !unit_owns(host, own::kIdentity)) return;
    const stack_t& stack = program_alternate_stack;
    const auto low = reinterpret_cast<uintptr_t>(stack.ss_sp);
    if ((stack.ss_flags & SS_DISABLE) != 0) return;
    if (sp - low >= stack.ss_size) there = frame_place_below(place, frame, low + stack.ss_size);
    if (there.low - low >= stack.ss_size) return;
  }
  frame_go_on_there(place, there, frame, go_on_there);
}

// A handler for the alternate stack is one for overflows, of runtimes of languages: it has its turn. Another one has no stack to run on,
// and one that is to run where the fault was sees the stack pointer there: collectors take it for the thread's.
void handle(int signal, siginfo_t* info, void* context) noexcept {
  if (info->si_code == SI_USER && lender_takes(*info)) return;  // sent to the process: the kernel asks the main thread first
  if (signal == SIGSEGV && stack_fault_is_code(*info, *static_cast<const ucontext_t*>(context))) return;
  const Place place = place_of_programs(signal);
  if (klt_register_valid() && info->si_code > 0) {
    const Running running = what_runs(klt_self());
    if (running.stack != nullptr && stack_in_guard(*running.stack, info->si_addr)) {
      if (place != Place::kAlternate || san::kHandlesFaults) report(running, info->si_addr);
      tell_once(running, info->si_addr);
    }
  }
  if (place != Place::kNone) move_to_programs_stack(info, *static_cast<ucontext_t*>(context), place == Place::kAlternate);
  call_programs(signal, info, context);
}

bool is_ours(const struct sigaction& action) noexcept { return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == handle; }

// `restarts`: system calls that are cut short by one which is sent: as the program wants it.
void put_ours(int signal, bool restarts) noexcept {
  struct sigaction ours{};
  ours.sa_sigaction = handle;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | (restarts ? SA_RESTART : 0);
  sigfillset(&ours.sa_mask);  // no other handler here, on the alternate stack, before we know where this one is to run
  signal_action(signal, &ours, nullptr);
}

}  // namespace

__attribute__((tls_model("initial-exec"))) constinit thread_local stack_t program_alternate_stack{nullptr, SS_DISABLE, 0};
__attribute__((tls_model("initial-exec"))) constinit thread_local const void* program_handles_fault = nullptr;

void overflow_noticed(const Unit* unit, const Stack& stack) noexcept {
  say_who({const_cast<Unit*>(unit), nullptr, &stack});
  say("%s: its stack of %zu bytes was used up. Noticed only now: with WEFT_HUGE_PAGES stacks have no guard page, and "
      "other memory may have been overwritten since. Without it, the fault itself is reported.\n",
      unit == nullptr ? " or a ULT that ran on its stack" : ", or in one that it has joined", stack.size);
  say_remedy(stack.size);
  std::abort();
}

__attribute__((no_sanitize("address", "thread", "undefined"))) bool overflow_programs_handles(int signal) noexcept {
  return is_handler(programs_of(signal).get());
}

void overflow_install() noexcept {
  if (installed.exchange(true)) return;
  const SignalsBlocked alone;
  const std::scoped_lock hold(programs_lock);
  for (const int signal : kSignals) {
    struct sigaction before;
    signal_action(signal, nullptr, &before);
    programs_of(signal).set(before);
    own_action_hold(signal);
    put_ours(signal, true);
  }
}

void overflow_remove() noexcept {
  if (!installed.exchange(false)) return;
  const SignalsBlocked alone;
  const std::scoped_lock hold(programs_lock);
  for (const int signal : kSignals) {
    struct sigaction now;
    signal_action(signal, nullptr, &now);
    if (is_ours(now)) signal_action(signal, &programs_of(signal).get(), nullptr);
    own_action_let_go(signal);
  }
}

void overflow_become_child() noexcept { programs_lock.unlock(); }

namespace {

int set_programs(SignalAction* next, int signal, const struct sigaction* wanted, struct sigaction& was, bool childs) noexcept {
  const SignalsBlocked alone;
  const std::scoped_lock hold(programs_lock);
  struct sigaction now;
  if (const int result = next(signal, nullptr, &now); result != 0) return result;
  const bool ignores = wanted != nullptr && wanted->sa_handler == SIG_IGN;
  const bool ours = is_ours(now), held = own_action_is_held(signal);
  const bool comes_back = wanted != nullptr && !childs && !ignores && held && now.sa_handler == SIG_IGN;
  was = ours ? programs_of(signal).get() : now;
  if (wanted != nullptr && ((ours && !childs && !ignores) || comes_back)) {
    programs_of(signal).set(*wanted);
    put_ours(signal, !is_handler(*wanted) || (wanted->sa_flags & SA_RESTART) != 0);
  } else if (wanted != nullptr) {
    next(signal, wanted, nullptr);
  }
  return 0;
}

}  // namespace

// The program's own memory is touched before and after: a fault there is one as any other, for which nothing may be blocked or locked.
int overflow_set_programs(SignalAction* next, int signal, const struct sigaction* wanted, struct sigaction* was, bool childs) noexcept {
  struct sigaction copy{}, before;
  if (wanted != nullptr) copy = *wanted;
  const int result = set_programs(next, signal, wanted != nullptr ? &copy : nullptr, before, childs);
  if (result == 0 && was != nullptr) *was = before;
  return result;
}

bool overflow_is_on_stack_of(const Klt* klt) noexcept {
  const auto sp = reinterpret_cast<uintptr_t>(stack_pointer());
  return klt->alt_stack != nullptr && sp - reinterpret_cast<uintptr_t>(klt->alt_stack) < kAltStackBytes;
}

void overflow_install_thread(Klt* klt) noexcept {
  stack_t now;
  if (alternate_stack(nullptr, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0) return;
  void* memory = mmap(nullptr, kAltStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  stack_t ours{};
  ours.ss_sp = memory;
  ours.ss_size = kAltStackBytes;
  if (alternate_stack(&ours, nullptr) != 0) {
    munmap(memory, kAltStackBytes);
    return;
  }
  klt->alt_stack = memory;
}

void overflow_forget_thread(Klt* klt) noexcept {
  if (klt->alt_stack != nullptr) munmap(klt->alt_stack, kAltStackBytes);
  klt->alt_stack = nullptr;
}

void overflow_remove_thread(Klt* klt) noexcept {
  if (klt->alt_stack == nullptr) return;
  stack_t now;
  // The program may have set another one since.
  if (alternate_stack(nullptr, &now) == 0 && now.ss_sp == klt->alt_stack) {
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    alternate_stack(&none, nullptr);
  }
  munmap(klt->alt_stack, kAltStackBytes);
  klt->alt_stack = nullptr;
}

}  // namespace weft::rt
