#include "klt/own_signal.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "arch/frame.hpp"
#include "arch/system_call.hpp"
#include "identity/identity.hpp"
#include "klt/kernel_sleep.hpp"
#include "klt/klt.hpp"
#include "klt/own_action.hpp"
#include "klt/program_signals.hpp"
#include "klt/time_slice.hpp"
#include "os/clock.hpp"
#include "os/kernel_timer.hpp"
#include "os/realtime_signal.hpp"
#include "os/signal_mask.hpp"
#include "sanitizer_switch.hpp"
#include "unit/unit.hpp"
#include "worker/lender_signal.hpp"
#include "worker/unit_signal.hpp"

namespace weft::rt {
namespace {

struct Own {
  std::atomic<int> number{0};  // any thread reads it; 0: none is left
  bool wished = false;
  bool taken = false;
};
constinit Own all[2];

constinit uint64_t awaited = 0;  // written as they are chosen

// Inside Weft whoever lowers the guard takes them.
void courier_comes(ucontext_t& frame) noexcept {
  if (!klt_is_inside(klt_self())) return unit_signals_take_in_handler(frame);
  klt_register_or32<kKltAttention>(attention::kSignals);
}

Own& own_of(OwnSignal which) noexcept { return all[static_cast<int>(which)]; }
bool has_taken(const Own& own, int number) noexcept {
  return own.taken && own.number.load(std::memory_order_relaxed) == number;
}
Own& other_of(OwnSignal which) noexcept { return all[1 - static_cast<int>(which)]; }

constinit std::atomic<int> courier{0};  // any thread reads it; 0: none is wanted yet
bool is_courier(int number) noexcept { return number != 0 && courier.load(std::memory_order_relaxed) == number; }

struct KernelAction {
  void* handler;
  unsigned long flags;
  void* restorer;
  unsigned long mask;
};

KernelAction action_of(int signal) noexcept {
  KernelAction now{};
  system_call(SYS_rt_sigaction, signal, 0, reinterpret_cast<long>(&now), sizeof now.mask);
  return now;
}

// Also what the process has been sent.
[[gnu::section("weft_tick"), gnu::always_inline]] inline uint64_t pending_here() noexcept {
  uint64_t pending = 0;
  system_call(SYS_rt_sigpending, reinterpret_cast<long>(&pending), sizeof pending, 0, 0);
  return pending;
}

// Whether one of them does more than nothing. One that some thread has blocked is pending though it is ignored.
[[gnu::section("weft_tick")]] __attribute__((no_sanitize("thread", "address"))) bool ends_a_call(uint64_t pending) noexcept {
  constexpr uint64_t kIgnored = signal_bit(SIGCHLD) | signal_bit(SIGCONT) | signal_bit(SIGURG) | signal_bit(SIGWINCH);
  for (; pending != 0; pending &= pending - 1) {
    const int signal = __builtin_ctzll(pending) + 1;
    const void* handler = action_of(signal).handler;
    const bool by_default = handler == reinterpret_cast<void*>(SIG_DFL);
    const bool ignored = handler == reinterpret_cast<void*>(SIG_IGN) || (by_default && (signal_bit(signal) & kIgnored) != 0);
    if (!ignored && !own_signal_is_stand_ins(handler)) return true;
  }
  return false;
}

// A call that waits goes on where nothing but ours has interrupted it (the front-ends' poll() and their like). What the program handles is
// not to be missed then: if it came first, we have interrupted its handler, and no call; if it comes after us, it is pending, and is
// handled as we return, or by the next call that lets it in.
[[gnu::section("weft_tick"), gnu::always_inline]] inline void note_interruption(const ucontext_t& frame) noexcept {
  if constexpr (san::kSignalsComeLate) {
    // Nothing that it instruments may run here.
    klt_self()->interruptions.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (__builtin_expect(!frame_call_failed(frame), 1)) return;
  const uint64_t pending = pending_here() & ~kernel_set(frame.uc_sigmask) & ~own_signals_mask();
  if (pending != 0 && ends_a_call(pending)) return;
  // It may leave in this handler, and have come from where it goes on.
  const Unit* unit = klt_current();
  const bool known = unit != nullptr && unit_owns(unit->host, own::kIdentity);
  (known ? unit->host->identity->interruptions : klt_self()->interruptions).fetch_add(1, std::memory_order_relaxed);
}

// Timers, and threads that pass a tick on, have the code of timers; those that are set on who has been in the kernel tell it besides. A
// courier has a code of its own.
[[gnu::section("weft_tick"), gnu::noinline]] __attribute__((no_sanitize("thread", "address"))) void on_signal(int, siginfo_t* info,
                                                                                                             void* context) noexcept {
  if (__builtin_expect(!klt_register_valid(), 0)) return;
  auto* frame = static_cast<ucontext_t*>(context);
  own_signal_returns_to(*frame);  // first: what it passes on ends no call here
  const bool brings = info->si_code == SI_QUEUE;
  if (brings) courier_comes(*frame);
  note_interruption(*frame);  // by what it has brought, if that is open
  if (brings) return;
  if (info->si_code == SI_TIMER && info->si_value.sival_int == kBackFromKernel) return block_on_return(info, frame);
  preempt_on_tick(info, frame);
}

// One too many does nothing.
[[gnu::section("weft_tick"), gnu::noinline]] __attribute__((no_sanitize("thread", "address"))) void on_stand_in(int, siginfo_t* info,
                                                                                                               void* context) noexcept {
  if (!klt_register_valid()) return;
  auto* frame = static_cast<ucontext_t*>(context);
  own_signal_returns_to(*frame);
  note_interruption(*frame);
  preempt_on_tick(info, frame);
}

using SignalHandler = void (*)(int, siginfo_t*, void*);
SignalHandler handler_of(int signal) noexcept { return signal == kStandIn ? on_stand_in : on_signal; }

// What is blocked in a handler of ours: on a machine that is slower than the ticks one frame would come to lie on the other, and so it would
// where several KLTs send one the stand-in. And what the program handles: see note_interruption(). Where the ULT leaves, the KLT goes on, and
// unblocks them. Open is what comes of the handler's own doing, what the C library has its threads wait for, and those of the last few real-time
// signals that nobody handles, of which one asks a ULT that was preempted for its registers (inspect/). Never the very last one: the kernel
// would deliver it after ours, and call its handler before that.
void block_in_handler(int handled, sigset_t& set) noexcept {
  constexpr int kLastFew = 8;
  sigfillset(&set);
  for (uint64_t faults = kFaultSignals; faults != 0; faults &= faults - 1) sigdelset(&set, __builtin_ctzll(faults) + 1);
  for (int signal = SIGRTMAX - kLastFew; signal < SIGRTMAX; ++signal) {
    if (realtime_signal_is_free(signal)) sigdelset(&set, signal);
  }
  for (const Own& own : all) {
    if (const int number = own.number.load(std::memory_order_relaxed); number != 0) sigaddset(&set, number);
  }
  // It may be the program's, whose garbage collector waits for each thread to handle it.
  if (handled != kStandIn) sigdelset(&set, kStandIn);
}

}  // namespace

bool own_signal_put_handler(int signal) noexcept {
  struct sigaction ours{};
  ours.sa_sigaction = handler_of(signal);
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  block_in_handler(signal, ours.sa_mask);
  if (signal_action(signal, &ours, nullptr) != 0) return false;
  KernelAction seen{};
  if (syscall(SYS_rt_sigaction, signal, nullptr, &seen, sizeof seen.mask) != 0) return true;
  preempt_way_back(reinterpret_cast<uintptr_t>(seen.restorer));
  // ThreadSanitizer has put its own function in the place of ours, and would call that when and where it likes.
  if (san::kSignalsComeLate) {
    seen.handler = reinterpret_cast<void*>(handler_of(signal));
    syscall(SYS_rt_sigaction, signal, &seen, nullptr, sizeof seen.mask);
  }
  return true;
}

bool own_signal_is_handler(const struct sigaction& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) != 0 && (action.sa_sigaction == on_signal || action.sa_sigaction == on_stand_in);
}

bool own_signal_is_stand_ins(const void* handler) noexcept { return handler == reinterpret_cast<const void*>(on_stand_in); }

void own_signal_remove_handler(int signal, bool ignored) noexcept {
  if (signal != kStandIn) return realtime_signal_release(signal, on_signal, ignored);
  struct sigaction action{};
  if (signal_action(signal, nullptr, &action) != 0 || !own_signal_is_handler(action)) return;
  // What is pending stays: it may be the program's, who waits for it by sigwait().
  action = {};
  signal_action(signal, &action, nullptr);
}

namespace {

// Before its handler is there: a program that sets it then would find no note.
bool install(int signal) noexcept {
  own_action_begin(signal);
  if (own_signal_put_handler(signal)) return true;
  own_action_end(signal);
  return false;
}

// With the first of the others; it ends with the last.
void stand_in_begins() noexcept {
  if (own_action_is_held(kStandIn)) return;
  own_action_begin(kStandIn);
  if (realtime_signal_is_free(kStandIn)) own_signal_put_handler(kStandIn);
}

void stand_in_ends_with_last() noexcept {
  if (all[0].taken || all[1].taken || own_signal_has_courier()) return;
  if (own_action_is_held(kStandIn)) own_action_end(kStandIn);
}

// The last one that is free, and not the other's; that one, if there is none.
int find(OwnSignal which) noexcept {
  const int others = other_of(which).number.load(std::memory_order_relaxed);
  const int found = realtime_signal_find(SIGRTMAX - 1, others != 0 ? signal_bit(others) : 0, awaited);
  return found != 0 ? found : others;
}

}  // namespace

void own_signals_choose(int tick) noexcept {
  Own &ticks = own_of(OwnSignal::kTick), &returns = own_of(OwnSignal::kReturn);
  returns.number.store(0, std::memory_order_relaxed);
  awaited = signal_mask_here();
  ticks.wished = tick != 0;
  // From the last time, or the parent's: its handler is there still, which makes it look taken.
  const int kept = courier.load(std::memory_order_relaxed);
  ticks.number.store(ticks.wished ? tick : kept != 0 ? kept : find(OwnSignal::kTick), std::memory_order_relaxed);
  returns.number.store(find(OwnSignal::kReturn), std::memory_order_relaxed);
}

void own_signals_leave_out(sigset_t& set) noexcept {
  for (uint64_t ours = own_signals_mask(); ours != 0; ours &= ours - 1) sigdelset(&set, __builtin_ctzll(ours) + 1);
}

uint64_t own_signals_mask() noexcept {
  uint64_t mask = 0;
  for (const Own& own : all) {
    if (const int number = own.number.load(std::memory_order_relaxed); number != 0) mask |= signal_bit(number);
  }
  if (const int number = courier.load(std::memory_order_relaxed); number != 0) mask |= signal_bit(number);
  return mask;
}

uint64_t own_signals_awaited() noexcept { return awaited; }

bool own_signals_handler_runs(uint64_t blocked) noexcept {
  const Klt* self = klt_self();
  const uint64_t known = own_signals_mask() | self->signal_mask | self->program_mask.load(std::memory_order_relaxed);
  return (blocked & ~known) != 0;
}

__attribute__((no_sanitize("thread", "address"))) void own_signal_returns_to(const ucontext_t& frame) noexcept {
  if (san::kSignalsComeLate) return;  // nothing need be blocked here, nor open there
  const uint64_t opens = ~kernel_set(frame.uc_sigmask) & ~own_signals_mask();
  // What is left comes here: the call that we have interrupted is ended by it, though we have been noted already. Not what comes only now.
  uint64_t left = lender_pass_on(opens);
  if (left == 0 || __builtin_expect(!frame_call_failed(frame), 1)) return;
  const Unit* unit = klt_current();
  if (unit == nullptr || !unit_owns(unit->host, own::kIdentity)) return;
  left &= pending_here();
  if (left != 0 && ends_a_call(left)) unit->host->identity->brought.fetch_add(1, std::memory_order_relaxed);
}

__attribute__((no_sanitize("thread", "address"))) void own_signal_interrupts(const ucontext_t& frame) noexcept {
  if (klt_register_valid()) note_interruption(frame);
}

bool own_signal_comes_in_handler(const ucontext_t& frame) noexcept {
  constexpr uint64_t kLongest = 20'000'000, kOthers = 50'000'000;  // ns
  Klt* self = klt_self();
  if (!own_signals_handler_runs(kernel_set(frame.uc_sigmask))) {
    self->put_off_last = 0;
    return false;
  }
  const uint64_t now = now_ns();
  if (now - self->put_off_last > kOthers) self->put_off_since = now;
  self->put_off_last = now;
  return now - self->put_off_since < kLongest;
}

int own_signal_take(OwnSignal which) noexcept {
  Own& own = own_of(which);
  int number = own.number.load(std::memory_order_relaxed);
  const bool shared = has_taken(other_of(which), number) || is_courier(number);
  // The program may have taken it since.
  if (!own.wished && !shared && !realtime_signal_is_free(number)) own.number.store(number = find(which), std::memory_order_relaxed);
  if (number == 0 || !install(number)) return 0;
  stand_in_begins();
  own.taken = true;
  return number;
}

void own_signal_give_back(OwnSignal which) noexcept {
  Own& own = own_of(which);
  const int number = own.number.load(std::memory_order_relaxed);
  if (std::exchange(own.taken, false) && !has_taken(other_of(which), number) && !is_courier(number)) {
    own_action_end(number);
  }
  stand_in_ends_with_last();
}

namespace {

constinit std::atomic<bool> stand_ins_are_sent{false};  // for good, from before the first one

// Whether it would come to our handler in that thread. Where it is blocked it is the program's, which may wait for it.
bool stand_in_comes(const Klt* klt) noexcept {
  // Sequentially consistent: see send_stand_in().
  const bool blocks = klt->blocks_stand_in.load(std::memory_order_seq_cst);
  const uint64_t blocked = klt->signal_mask | klt->program_mask.load(std::memory_order_seq_cst);
  return !blocks && own_signal_is_stand_ins(action_of(kStandIn).handler) && (blocked & signal_bit(kStandIn)) == 0;
}

// That thread may wait for the end of this (own_signal_stand_ins_come()), so no handler of the program's comes between.
Sent send_stand_in(Klt* klt, long process, int tid) noexcept {
  const SignalsBlocked in_one_go;
  stand_ins_are_sent.store(true, std::memory_order_seq_cst);
  // Sequentially consistent, pairs with who says that it blocks it, and then looks for us: it sees us, or we see that.
  klt->stand_ins_coming.fetch_add(1, std::memory_order_seq_cst);
  const bool comes = stand_in_comes(klt);
  if (comes) system_call(SYS_tgkill, process, tid, kStandIn, 0);
  klt->stand_ins_coming.fetch_sub(1, std::memory_order_release);
  return comes ? Sent::kStandIn : Sent::kNothing;
}

}  // namespace

void own_signal_stand_ins_come(Klt* self) noexcept {
  if (!stand_ins_are_sent.load(std::memory_order_seq_cst)) return;
  while (self->stand_ins_coming.load(std::memory_order_seq_cst) != 0) system_call(SYS_sched_yield, 0, 0, 0, 0);
  system_call(SYS_getpid, 0, 0, 0, 0);  // one that has been sent is handled, at the latest, as this returns
}

Sent own_signal_send(Klt* klt, int number, int code) noexcept {
  const int tid = klt->tid.load(std::memory_order_acquire);
  const long process = system_call(SYS_getpid, 0, 0, 0, 0);
  if (tid == 0 || number == 0) return Sent::kItself;  // nobody is there, or wants it
  siginfo_t info{};
  info.si_code = code;
  const long result = code == SI_TKILL ? system_call(SYS_tgkill, process, tid, number, 0)
                                       : system_call(SYS_rt_tgsigqueueinfo, process, tid, number, reinterpret_cast<long>(&info));
  return result != -EAGAIN ? Sent::kItself : send_stand_in(klt, process, tid);
}

bool own_signal_keep_courier() noexcept {
  if (courier.load(std::memory_order_relaxed) != 0) return true;
  const Own& own = all[0].taken || !all[1].taken ? all[0] : all[1];
  const int number = own.number.load(std::memory_order_relaxed);
  if (number == 0 || (!own.taken && !install(number))) return false;
  courier.store(number, std::memory_order_release);
  return true;
}

bool own_signal_has_courier() noexcept { return courier.load(std::memory_order_relaxed) != 0; }

int own_signal_courier_timer(int tid) noexcept {
  const int number = courier.load(std::memory_order_relaxed);
  return number != 0 ? kernel_timer_create(tid, number) : kNoTimer;
}

bool own_signal_send_courier(int tid) noexcept {
  static constinit siginfo_t info = [] {
    siginfo_t queued{};
    queued.si_code = SI_QUEUE;
    return queued;
  }();
  const int number = courier.load(std::memory_order_acquire);
  if (number == 0) return true;
  const long process = system_call(SYS_getpid, 0, 0, 0, 0);
  return system_call(SYS_rt_tgsigqueueinfo, process, tid, number, reinterpret_cast<long>(&info)) != -EAGAIN;
}

}  // namespace weft::rt
