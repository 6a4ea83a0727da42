#include "worker/lender_signal.hpp"

#include <fcntl.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "arch/context.hpp"
#include "arch/klt_register.hpp"
#include "arch/system_call.hpp"
#include "arch/thread_pointer.hpp"
#include "identity/lender.hpp"
#include "klt/klt.hpp"
#include "klt/own_signal.hpp"
#include "klt/program_signals.hpp"
#include "os/cpu_yield.hpp"
#include "os/kernel_tid.hpp"
#include "os/kernel_timer.hpp"
#include "os/overflow.hpp"
#include "os/signal_mask.hpp"
#include "unit/unit.hpp"
#include "worker/identity.hpp"
#include "worker/signal_stack.hpp"

// What a lender runs, while the ULT may run elsewhere with the same thread-local storage: not instrumented, and without any call of the
// C library's, whose binding alone would use it.
#define WEFT_ON_LENDER __attribute__((no_sanitize("address", "thread", "undefined")))

namespace weft::rt {
namespace {

constexpr size_t kMaskBytes = 8;  // of the kernel's signal sets

template <class T>
[[gnu::always_inline]] inline long word(T* pointer) noexcept {
  return reinterpret_cast<long>(pointer);
}

WEFT_ON_LENDER void fence_all() noexcept { system_call(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0, 0); }
// Until somebody has got on by some instructions; or, if that lasts, a scheduler that runs others has got to itself.
WEFT_ON_LENDER void give_way(bool lasts) noexcept {
  const timespec while_it_lasts{.tv_sec = 0, .tv_nsec = 1'000'000};
  if (!lasts) system_call(SYS_sched_yield, 0, 0, 0, 0);
  if (lasts) system_call(SYS_nanosleep, word(&while_it_lasts), 0, 0, 0);
}
WEFT_ON_LENDER int process() noexcept { return static_cast<int>(system_call(SYS_getpid, 0, 0, 0, 0)); }

// Against who sends it one, and who puts one back.
WEFT_ON_LENDER void lock_queue(Identity& identity) noexcept {
  constexpr unsigned kMoments = 1000;
  for (unsigned moments = 0; identity.queueing.exchange(true, std::memory_order_acquire);) give_way(++moments > kMoments);
}

// ---- in the ULT's place -----------------------------------------------------------------------------

// Null: it may get on, or is on, a KLT.
WEFT_ON_LENDER Unit* keep_away(Identity& identity) noexcept {
  Unit* unit = identity.unit.load(std::memory_order_seq_cst);
  if (unit == nullptr) return nullptr;
  unit->requests.fetch_or(kAwayRequest, std::memory_order_seq_cst);
  fence_all();  // whoever looked before has said by now that it is Ready
  if (unit->state.load(std::memory_order_seq_cst) == UnitState::kBlocked) return unit;
  unit->requests.fetch_and(static_cast<uint8_t>(~kAwayRequest), std::memory_order_release);
  return nullptr;
}

WEFT_ON_LENDER void let_on(Unit* unit) noexcept {
  unit->requests.fetch_and(static_cast<uint8_t>(~kAwayRequest), std::memory_order_release);
}

// Below its frames; null: no room for a handler there.
WEFT_ON_LENDER void* place_below(const Unit* unit) noexcept {
  constexpr uintptr_t kGap = 256, kAlignment = 64;
  constexpr uintptr_t kFrame = 12 * 1024;  // at most: where the processor has tiles
  constexpr uintptr_t room = kFrame + 2 * kHandlerRoom;
  const Stack* stack = unit->stack;
  const auto sp = reinterpret_cast<uintptr_t>(unit->context.sp);
  const auto low = reinterpret_cast<uintptr_t>(stack->low);
  if (sp < low || sp - low < kGap + kAlignment + room) return nullptr;
  const uintptr_t place = (sp - kGap) & ~(kAlignment - 1);
  return stack_in_guard(*stack, reinterpret_cast<const void*>(place - room)) ? nullptr : reinterpret_cast<void*>(place);
}

// Returns to `here` when all have been handled that are pending and not blocked by the program. Ours are for KLTs.
WEFT_ON_LENDER void handle_there(void* identity_arg, void* here, void*, void*) noexcept {
  const uint64_t mask = static_cast<const Identity*>(identity_arg)->mask.load(std::memory_order_relaxed) | own_signals_mask();
  system_call(SYS_rt_sigprocmask, SIG_SETMASK, word(&mask), 0, kMaskBytes);  // they come here
  lender_block_signals();
  context_resume(static_cast<const Context*>(here));
}

WEFT_ON_LENDER void handle_in_its_place(Identity& identity, void* place) noexcept {
  Context here;
  klt_register_hide();
  context_switch_to_entry(&here, place, handle_there, &identity, &here, nullptr, nullptr);
  klt_register_presume();
}

// What is in Identity::info has been taken from what is pending here.
WEFT_ON_LENDER void make_pending(Identity& identity, int signal) noexcept {
  system_call(SYS_rt_tgsigqueueinfo, process(), identity.tid, signal, word(&identity.info));
}

struct Later {
  siginfo_t* infos;
  size_t most;
  size_t count = 0;
  bool mapped = false;
};

// False: without memory for more they stay where they are, and overtake.
WEFT_ON_LENDER bool make_room(Later& later) noexcept {
  const size_t most = later.most * 8;
  const long memory = system_call(SYS_mmap, 0, static_cast<long>(most * sizeof(siginfo_t)), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory < 0) return false;
  auto* infos = reinterpret_cast<siginfo_t*>(memory);
  for (size_t i = 0; i < later.count; ++i) infos[i] = later.infos[i];
  if (later.mapped) system_call(SYS_munmap, word(later.infos), static_cast<long>(later.most * sizeof(siginfo_t)), 0, 0);
  later = {infos, most, later.count, true};
  return true;
}

WEFT_ON_LENDER bool take_later(Later& later, int signal) noexcept {
  const uint64_t one = signal_bit(signal);
  const timespec no_time{};
  if (later.count == later.most && !make_room(later)) return false;
  if (system_call(SYS_rt_sigtimedwait, word(&one), word(&later.infos[later.count]), word(&no_time), kMaskBytes) <= 0) return false;
  ++later.count;
  return true;
}

// The same, before those of its number that are pending here, which have come later. `queueing` keeps further ones out meanwhile.
WEFT_ON_LENDER void make_pending_first(Identity& identity, int signal) noexcept {
  constexpr int kMostHere = 32;
  if (signal < kFirstThatQueues) return make_pending(identity, signal);
  siginfo_t here[kMostHere];
  Later later{here, kMostHere};
  lock_queue(identity);
  while (take_later(later, signal)) {}
  make_pending(identity, signal);
  for (size_t i = 0; i < later.count; ++i) system_call(SYS_rt_tgsigqueueinfo, process(), identity.tid, signal, word(&later.infos[i]));
  identity.queueing.store(false, std::memory_order_release);
  if (later.mapped) system_call(SYS_munmap, word(later.infos), static_cast<long>(later.most * sizeof(siginfo_t)), 0, 0);
}

// ---- by the ULT itself --------------------------------------------------------------------------------

WEFT_ON_LENDER void offer(Identity& identity, int signal) noexcept {
  identity.in_hand.store(static_cast<uint32_t>(signal), std::memory_order_seq_cst);
  fence_all();  // it sees that as it gets onto a KLT, or lets go of it, or we see where it is
  Klt* klt = identity.on.load(std::memory_order_acquire);
  if (klt == nullptr) return;
  klt->attention.fetch_or(attention::kSignals, std::memory_order_relaxed);  // it may sleep there, until it is woken
  own_signal_send_courier(klt->tid.load(std::memory_order_relaxed));
}

enum class Whereabouts { kGone, kAway, kOnItsWay, kElsewhere };

WEFT_ON_LENDER Whereabouts find(const Identity& identity) noexcept {
  const Unit* unit = identity.unit.load(std::memory_order_acquire);
  if (unit == nullptr) return Whereabouts::kGone;
  const UnitState state = unit->state.load(std::memory_order_acquire);
  if (state == UnitState::kTerminated) return Whereabouts::kGone;
  if (state == UnitState::kBlocked) return Whereabouts::kAway;
  const bool between = state == UnitState::kRunning && identity.on.load(std::memory_order_acquire) == nullptr;
  return between ? Whereabouts::kOnItsWay : Whereabouts::kElsewhere;
}

// ---- what the lender of the main thread has yet to take ---------------------------------------------------

// Of each number one: more count as one, as in the kernel. Claimed by who has it, which it has taken from what is pending, until the lender takes
// it. (Never before: who finds it claimed drops its own.)
struct Passed {
  // Not those that queue: one would overtake another; nor those that the kernel sends to whoever has used up the time; nor those of which one takes
  // away the other, as long as the kernel has it.
  static constexpr uint64_t kStops = signal_bit(SIGTSTP) | signal_bit(SIGTTIN) | signal_bit(SIGTTOU);
  static constexpr uint64_t kNumbers = 0x7fffffff & ~(signal_bit(SIGPROF) | signal_bit(SIGVTALRM) | kStops | signal_bit(SIGCONT));
  std::atomic<Identity*> to{nullptr};               // the main thread's, from when its lender serves
  std::atomic<uint64_t> claimed{0}, there{0};
  std::atomic<uint32_t> begun{0}, ended{0};  // how often others have been about to take some, and had passed them on
  // The lender's: those of them that the ULT has been sent, and not the process; and, in deliver_sent(), those whose notes it has taken.
  uint64_t ults = 0, looked_for = 0;
  siginfo_t infos[31];
};
constinit Passed passed{};

// False: there is one already.
WEFT_ON_LENDER bool pass(const siginfo_t& info) noexcept {
  const uint64_t one = signal_bit(info.si_signo);
  if ((passed.claimed.fetch_or(one, std::memory_order_acquire) & one) != 0) return false;
  passed.infos[info.si_signo - 1] = info;
  passed.there.fetch_or(one, std::memory_order_release);
  return true;
}

// A call that it waits in may let some in.
WEFT_ON_LENDER uint64_t blocked(const Identity& identity) noexcept {
  return identity.mask.load(std::memory_order_acquire) & identity.wait_mask.load(std::memory_order_acquire);
}

// What the process is sent of these is for it, if another thread finds it, or is given it: also what it has blocked, and waits for in a call.
WEFT_ON_LENDER uint64_t has_open(const Identity& identity) noexcept {
  return ~blocked(identity) | identity.wanted.load(std::memory_order_acquire);
}

// Of one that was taken from what is pending here: to the ULT, and not to the process. Who sends notes that before it lets go of the lock. Where both
// have been sent one, this may be either: then it is the ULT's.
WEFT_ON_LENDER bool was_sent_to_ult(Identity& identity, const siginfo_t& info) noexcept {
  const uint64_t one = signal_bit(info.si_signo);
  if (info.si_code == SI_TKILL || (identity.directed.load(std::memory_order_relaxed) & one) != 0) return true;
  lock_queue(identity);
  const uint64_t sent = identity.sent.load(std::memory_order_acquire);
  identity.queueing.store(false, std::memory_order_release);
  return (sent & one) != 0;
}

// While one of them is not taken yet further ones are sent to the process: they are for this thread as long as it waits for them.
WEFT_ON_LENDER void sleep_until_called_or_sent(Identity& identity) noexcept {
  const uint64_t set = (Passed::kNumbers & kProcessSignals & ~blocked(identity)) | own_signals_mask();
  siginfo_t info;
  const long signal = system_call(SYS_rt_sigtimedwait, word(&set), word(&info), 0, kMaskBytes);
  if (signal <= 0 || (signal_bit(static_cast<int>(signal)) & Passed::kNumbers) == 0) return;
  // Asked now: deliver_sent() has dropped the note, or will, when there is nothing of it to be seen.
  const uint64_t one = signal_bit(static_cast<int>(signal));
  if ((passed.looked_for & one) != 0 || was_sent_to_ult(identity, info)) passed.ults |= one;
  pass(info);
}

WEFT_ON_LENDER void sleep_until_called(Identity& identity, uint32_t calls) noexcept {
  system_call(SYS_futex, word(&identity.calls), FUTEX_WAIT_PRIVATE, static_cast<long>(calls), 0);
}

// Until the ULT has taken it (true), or may be kept away or is gone (false). `stays`: even if it may be: not before it is called.
WEFT_ON_LENDER bool wait_until_taken(Identity& identity, bool stays) noexcept {
  constexpr unsigned kMomentsOnItsWay = 1000;
  for (unsigned moments = 0;;) {
    const uint32_t calls = identity.calls.load(std::memory_order_acquire);
    if (identity.in_hand.load(std::memory_order_acquire) == 0) return true;
    const Whereabouts where = find(identity);
    if (where == Whereabouts::kGone || (where == Whereabouts::kAway && !stays)) return false;
    if (where == Whereabouts::kOnItsWay) {
      give_way(++moments > kMomentsOnItsWay);
    } else {
      passed.to.load(std::memory_order_relaxed) == &identity ? sleep_until_called_or_sent(identity) : sleep_until_called(identity, calls);
      stays = false;
    }
  }
}

// True: handled, by the lender or the ULT, or put back.
WEFT_ON_LENDER bool handle_while_away(Identity& identity, Unit* unit, int signal, bool offered) noexcept {
  if (offered && identity.in_hand.load(std::memory_order_acquire) == 0) return true;
  // It has blocked it meanwhile, or left the call that waits for it: as if it had only been sent now.
  if ((signal_bit(signal) & identity.mask.load(std::memory_order_acquire)) != 0) {
    identity.in_hand.store(0, std::memory_order_relaxed);
    make_pending_first(identity, signal);
    identity.sent.fetch_or(signal_bit(signal), std::memory_order_release);
    return true;
  }
  void* place = place_below(unit);
  if (place == nullptr) return false;
  identity.in_hand.store(0, std::memory_order_relaxed);
  make_pending_first(identity, signal);
  handle_in_its_place(identity, place);
  return true;
}

// Those that are pending here, in the kernel's order.
WEFT_ON_LENDER void handle_all_while_away(Identity& identity, uint64_t set) noexcept {
  uint64_t pending = 0;
  system_call(SYS_rt_sigpending, word(&pending), kMaskBytes, 0, 0);
  Unit* unit = (pending & set) != 0 ? keep_away(identity) : nullptr;
  if (unit == nullptr) return;
  if (void* place = place_below(unit)) handle_in_its_place(identity, place);
  let_on(unit);
}

// One that has been taken from what is pending here, with Identity::info. To nobody: as to a thread that has ended.
WEFT_ON_LENDER void deliver(Identity& identity, int signal) noexcept {
  for (bool offered = false;; offered = true) {
    Unit* unit = keep_away(identity);
    if (unit != nullptr) {
      const bool handled = handle_while_away(identity, unit, signal, offered);
      let_on(unit);
      if (handled) return;
    } else if (find(identity) == Whereabouts::kGone) {
      identity.in_hand.store(0, std::memory_order_relaxed);
      return;
    }
    if (!offered) offer(identity, signal);
    if (wait_until_taken(identity, unit != nullptr)) return;
  }
}

// Those of lender_send() that the ULT has not blocked: those stay pending.
WEFT_ON_LENDER void deliver_sent(Identity& identity) noexcept {
  if (identity.sent.load(std::memory_order_acquire) == 0) return;
  identity.looking.store(true, std::memory_order_seq_cst);
  fence_all();
  const bool gone = identity.unit.load(std::memory_order_acquire) == nullptr;
  const uint64_t open = gone ? ~uint64_t{0} : ~blocked(identity) | identity.wanted.load(std::memory_order_acquire);
  uint64_t set = identity.sent.fetch_and(~open, std::memory_order_acq_rel) & open;
  const timespec no_time{};
  const bool passes = passed.to.load(std::memory_order_relaxed) == &identity;
  for (;;) {
    if (passes) passed.looked_for = set;
    handle_all_while_away(identity, set);
    // None: they have come with another one.
    const long signal = system_call(SYS_rt_sigtimedwait, word(&set), word(&identity.info), word(&no_time), kMaskBytes);
    if (signal <= 0) break;
    deliver(identity, static_cast<int>(signal));
    set &= ~(signal_bit(static_cast<int>(signal)) & identity.sent.load(std::memory_order_acquire));  // put back, or sent again: the next time
  }
  if (passes) passed.looked_for = 0;
  identity.looking.store(false, std::memory_order_release);
}

// ---- threads of the program's -------------------------------------------------------------------------

// As the kernel has it.
struct Action {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)();
  uint64_t mask;
};

// That the kernel has sent to the thread itself, as it was told to: the ULT waits for it elsewhere.
WEFT_ON_LENDER uint64_t waited_for(const Identity& identity) noexcept {
  return identity.directed.load(std::memory_order_acquire) & identity.wanted.load(std::memory_order_acquire);
}

// What the program has not blocked, or waits for; and our call. Also those of faults: here they have been sent.
WEFT_ON_LENDER uint64_t accepted(const Identity& identity) noexcept {
  return ((kProcessSignals | kFaultSignals) & (~blocked(identity) | waited_for(identity))) | own_signals_mask();
}

// Sending a signal that stops takes away one that continues, and the other way round: what is pending now has come after the one in hand.
WEFT_ON_LENDER bool goes_on_already(int signal) noexcept {
  uint64_t pending = 0;
  if ((signal_bit(signal) & Passed::kStops) != 0) system_call(SYS_rt_sigpending, word(&pending), kMaskBytes, 0, 0);
  return (pending & signal_bit(SIGCONT)) != 0;
}

// Here, and not where it was sent to: what it stops or ends is the process. One that is ignored, or that a debugger keeps, does nothing.
WEFT_ON_LENDER void act_by_default(Identity& identity, int signal) noexcept {
  if (goes_on_already(signal)) return;
  const uint64_t one = signal_bit(signal);
  make_pending(identity, signal);
  system_call(SYS_rt_sigprocmask, SIG_UNBLOCK, word(&one), 0, kMaskBytes);
  lender_block_signals();
}

// The ULT has blocked it meanwhile, maybe before it was sent: pending again, at this thread or for the whole process.
WEFT_ON_LENDER void put_back(Identity& identity, int signal, bool ults) noexcept {
  if (ults || was_sent_to_ult(identity, identity.info)) {
    make_pending_first(identity, signal);
    identity.sent.fetch_or(signal_bit(signal), std::memory_order_release);
  } else if (system_call(SYS_rt_sigqueueinfo, process(), signal, word(&identity.info), 0) != 0) {
    system_call(SYS_kill, process(), signal, 0, 0);  // what it says is for the kernel alone to send, or for the main thread
  }
}

// One that has been taken from what is pending here, or by others. What the program does with it is asked only now. `ults`: it is known to be the ULT's.
WEFT_ON_LENDER void take_for_process(Identity& identity, int signal, bool ults) noexcept {
  const uint64_t one = signal_bit(signal);
  if ((one & own_signals_mask()) != 0) return;
  if ((one & blocked(identity)) != 0) {
    const bool waits_for_it = (one & identity.wanted.load(std::memory_order_acquire)) != 0;
    return waits_for_it ? deliver(identity, signal) : put_back(identity, signal, ults);
  }
  Action now{};
  system_call(SYS_rt_sigaction, signal, 0, word(&now), kMaskBytes);
  if (own_signal_is_stand_ins(reinterpret_cast<const void*>(now.handler))) return;
  // In a call that lets it in the ULT may be waiting for just this one.
  const bool let_in = (one & identity.mask.load(std::memory_order_acquire)) != 0;
  const bool ours = (one & kOverflowSignals) != 0 && !overflow_programs_handles(signal);
  const bool handled = now.handler != SIG_DFL && now.handler != SIG_IGN && !ours;
  if (!handled && !let_in) return act_by_default(identity, signal);
  deliver(identity, signal);
}

// ---- for the main thread, seen elsewhere ----------------------------------------------------------------

// True: there may be more, which have come while one was waited for.
WEFT_ON_LENDER bool take_passed(Identity& identity) noexcept {
  if (passed.to.load(std::memory_order_relaxed) != &identity) return false;
  const uint64_t all = passed.there.exchange(0, std::memory_order_acquire);
  for (uint64_t rest = all; rest != 0; rest &= rest - 1) {
    const int signal = __builtin_ctzll(rest) + 1;
    identity.info = passed.infos[signal - 1];
    const bool ults = (passed.ults & signal_bit(signal)) != 0;
    passed.ults &= ~signal_bit(signal);
    passed.claimed.fetch_and(~signal_bit(signal), std::memory_order_release);
    take_for_process(identity, signal, ults);
  }
  return all != 0;
}

enum class Passing { kPassed, kGone, kStays };

WEFT_ON_LENDER Passing pass_one(int signal) noexcept {
  const uint64_t one = signal_bit(signal);
  siginfo_t info;
  const timespec no_time{};
  if (system_call(SYS_rt_sigtimedwait, word(&one), word(&info), word(&no_time), kMaskBytes) <= 0) return Passing::kGone;
  const bool may_be = info.si_code == SI_QUEUE && klt_register_valid() && klt_self()->has_been_sent.load(std::memory_order_relaxed);
  const bool to_this = info.si_code == SI_TKILL || may_be;
  if (!to_this) return pass(info) ? Passing::kPassed : Passing::kGone;
  // It has been sent to this thread, for whatever runs here; or it may have been, and whoever runs here may handle what the process has been sent.
  system_call(SYS_rt_tgsigqueueinfo, process(), kernel_tid(), signal, word(&info));
  return Passing::kStays;
}

// By the ULT. What it has opened may be with its lender; one of a thread of the program's takes it from now on, or no longer.
// Sequentially consistent, pairs with deliver_sent(), where the fence is: it sees this mask, or we see what it has been sent.
void change_mask(Identity& identity, std::atomic<uint64_t>& which, uint64_t mask) noexcept {
  if (which.exchange(mask, std::memory_order_seq_cst) == mask) return;
  if (identity.adopted || identity.sent.load(std::memory_order_seq_cst) != 0) lender_call(identity);
}

}  // namespace

WEFT_ON_LENDER void lender_call(Identity& identity) noexcept {
  identity.calls.fetch_add(kLenderCall, std::memory_order_release);
  system_call(SYS_futex, word(&identity.calls), FUTEX_WAKE_PRIVATE, 1, 0);
  if (!identity.adopted || own_signal_send_courier(identity.tid)) return;  // wherever it sleeps
  if (passed.to.load(std::memory_order_relaxed) != &identity) return;
  // No more can be queued: its timer's has a place of its own.
  const itimerspec at_once{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = 1}};
  system_call(SYS_timer_settime, identity.waker, 0, word(&at_once), 0);
}

WEFT_ON_LENDER void lender_send(Identity& to, int signal) noexcept {
  system_call(SYS_tgkill, process(), to.tid, signal, 0);
  to.sent.fetch_or(signal_bit(signal), std::memory_order_release);  // it is pending
  lender_call(to);
}

void lender_set_mask(Identity& identity, uint64_t mask) noexcept { change_mask(identity, identity.mask, mask); }
void lender_wait_mask(Identity& identity, uint64_t mask) noexcept { change_mask(identity, identity.wait_mask, mask); }

void lender_bring(Identity& identity, uint64_t wanted) noexcept {
  const uint64_t before = identity.wanted.exchange(wanted, std::memory_order_seq_cst);  // as in change_mask()
  const bool others = ((before ^ wanted) & identity.directed.load(std::memory_order_relaxed)) != 0;
  if (others || (identity.sent.load(std::memory_order_seq_cst) & wanted) != 0) lender_call(identity);
}

long signal_to_thread(int tid, siginfo_t& info) noexcept {
  // The kernel lets nobody say that but itself.
  if (info.si_code == SI_TKILL) return system_call(SYS_tgkill, process(), tid, info.si_signo, 0);
  return system_call(SYS_rt_tgsigqueueinfo, process(), tid, info.si_signo, word(&info));
}

int lender_queue(Identity& to, siginfo_t& info) noexcept {
  // No handler may come between, which may send one, too. But a filter's, in the place of a system call of ours.
  const uint64_t all = ~signal_bit(SIGSYS);
  uint64_t before = 0;
  system_call(SYS_rt_sigprocmask, SIG_SETMASK, word(&all), word(&before), kMaskBytes);
  lock_queue(to);
  const long result = signal_to_thread(to.tid, info);
  if (result == 0) to.sent.fetch_or(signal_bit(info.si_signo), std::memory_order_release);  // it is pending
  to.queueing.store(false, std::memory_order_release);
  system_call(SYS_rt_sigprocmask, SIG_SETMASK, word(&before), 0, kMaskBytes);
  if (result == 0) lender_call(to);
  return static_cast<int>(-result);
}

namespace {

// Of the calling thread alone, not what the process has been sent; as the kernel has a set.
WEFT_ON_LENDER uint64_t pending_here() noexcept {
  constexpr char kName[] = "\nSigPnd:\t";
  char text[4096];
  const long fd = system_call(SYS_openat, AT_FDCWD, word("/proc/thread-self/status"), O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return 0;
  const long size = system_call(SYS_read, fd, word(text), sizeof text, 0);
  system_call(SYS_close, fd, 0, 0, 0);
  long at = 0, known = 0;
  while (at < size && kName[known] != '\0') known = text[at++] == kName[known] ? known + 1 : 0;
  uint64_t set = 0;
  for (; at < size && text[at] != '\n'; ++at) set = set << 4 | static_cast<uint64_t>(text[at] <= '9' ? text[at] - '0' : text[at] - 'a' + 10);
  return set;
}

}  // namespace

WEFT_ON_LENDER void leave_pending(Klt* self, uint64_t blocked, Identity& left, bool some) noexcept {
  uint64_t pending = 0;
  system_call(SYS_rt_sigpending, word(&pending), kMaskBytes, 0, 0);
  pending &= blocked;
  // What the process has been sent, and everybody has blocked, is seen at each switch: whether it is that takes long to find out.
  self->pending_for_all &= pending;
  if (pending == 0 || (pending == self->pending_for_all && !some)) return;
  const timespec no_time{};
  uint64_t own = pending_here() & blocked;
  self->pending_for_all = pending & ~own;
  for (; own != 0; own = pending_here() & blocked) {
    const uint64_t first = own & -own;
    siginfo_t info;
    if (system_call(SYS_rt_sigtimedwait, word(&first), word(&info), word(&no_time), kMaskBytes) <= 0) return;
    // What it says is for the kernel alone to send to another thread.
    if (lender_queue(left, info) != 0) lender_send(left, info.si_signo);
  }
}

void lender_give_back(Identity& identity, uint64_t set) noexcept {
  // In a handler that has blocked it the courier would not come, and be waited for in vain.
  if (!own_signal_has_courier() || (signal_mask_here() & own_signals_mask()) != 0) return;
  const uint64_t before = identity.wait_mask.load(std::memory_order_relaxed);
  lender_wait_mask(identity, before & ~set);
  while ((identity.sent.load(std::memory_order_seq_cst) & set) != 0 || identity.looking.load(std::memory_order_seq_cst)) {
    lender_call(identity);
    cpu_yield();
  }
  lender_wait_mask(identity, before);
}

namespace {

// It has been called when it looks for calls next, and by then has delivered what it had in hand.
void wait_until_caught_up(Identity& identity) noexcept {
  lender_call(identity);
  const uint32_t call = identity.calls.load(std::memory_order_relaxed);
  while (static_cast<int32_t>(identity.caught_up.load(std::memory_order_acquire) - call) < 0) cpu_yield();
}

}  // namespace

// Until nobody has had one in hand meanwhile who passes it on: what the kernel no longer has is the lender's, or was when that looked.
// Not from a handler: there the courier, for which it waits, may be put off until this one lowers its guard.
void lender_catch_up(Identity& identity) noexcept {
  if (passed.to.load(std::memory_order_relaxed) != &identity) return;
  const uint64_t mask = signal_mask_here();
  if ((mask & own_signals_mask()) != 0 || own_signals_handler_runs(mask)) return;
  if (identity.tid != process()) return;  // in a child of vfork()
  for (;;) {
    const uint32_t begun = passed.begun.load(std::memory_order_acquire);
    if (passed.ended.load(std::memory_order_acquire) == begun) {
      wait_until_caught_up(identity);
      if (passed.begun.load(std::memory_order_acquire) == begun) return;
    }
    cpu_yield();
  }
}

uint64_t lender_takes_for_main(const Identity& caller) noexcept {
  const Identity* to = passed.to.load(std::memory_order_acquire);
  return to != nullptr && to != &caller && to->unit.load(std::memory_order_relaxed) != nullptr ? has_open(*to) : 0;
}

void lender_catch_up_here() noexcept {
  Identity* to = passed.to.load(std::memory_order_acquire);
  if (to != nullptr && to->thread_pointer == thread_pointer()) lender_catch_up(*to);
}

void lender_settle(Identity& identity) noexcept {
  while (identity.sending.load(std::memory_order_acquire) != 0) cpu_yield();
  while (identity.sent.load(std::memory_order_acquire) != 0 || identity.looking.load(std::memory_order_acquire)) {
    lender_call(identity);
    cpu_yield();
  }
  identity.signals.store(0, std::memory_order_relaxed);
  identity.mask.store(klts_signal_mask(), std::memory_order_relaxed);
  identity.jumps.store(false, std::memory_order_relaxed);
  // A handler may have jumped out of the call.
  identity.wait_mask.store(~uint64_t{0}, std::memory_order_relaxed);
  identity.wanted.store(0, std::memory_order_relaxed);
}

WEFT_ON_LENDER void lender_serve(Identity& identity) noexcept {
  for (;;) {
    const uint32_t calls = identity.calls.load(std::memory_order_acquire);
    if ((calls & kLenderEnds) != 0) return;
    deliver_sent(identity);
    sleep_until_called(identity, calls);
  }
}

WEFT_ON_LENDER uint64_t lender_pass_on(uint64_t opens) noexcept {
  Identity* to = passed.to.load(std::memory_order_acquire);
  if (to == nullptr || to->thread_pointer == thread_pointer()) return opens;  // here a handler runs as that thread
  uint64_t pending = 0;
  system_call(SYS_rt_sigpending, word(&pending), kMaskBytes, 0, 0);
  pending &= opens;
  const uint64_t mains = pending & Passed::kNumbers & kProcessSignals & ~signal_bit(kStandIn) & has_open(*to);
  uint64_t stay = pending & ~mains;
  if (mains == 0) return stay;
  passed.begun.fetch_add(1, std::memory_order_seq_cst);
  bool some = false;
  for (uint64_t rest = mains; rest != 0; rest &= rest - 1) {
    const Passing what = pass_one(__builtin_ctzll(rest) + 1);
    some |= what == Passing::kPassed;
    if (what == Passing::kStays) stay |= rest & -rest;
  }
  passed.ended.fetch_add(1, std::memory_order_release);
  if (some) lender_call(*to);
  return stay;
}

WEFT_ON_LENDER bool lender_takes(const siginfo_t& info) noexcept {
  Identity* to = passed.to.load(std::memory_order_acquire);
  if (to == nullptr || to->thread_pointer == thread_pointer() || (has_open(*to) & signal_bit(info.si_signo)) == 0) return false;
  if (to->tid != process()) return false;  // in a child of vfork()
  passed.begun.fetch_add(1, std::memory_order_seq_cst);
  const bool some = pass(info);
  passed.ended.fetch_add(1, std::memory_order_release);
  if (some) lender_call(*to);
  return true;
}

void lender_pass_on_forget() noexcept {
  passed.to.store(nullptr, std::memory_order_relaxed);
  passed.claimed.store(0, std::memory_order_relaxed);
  passed.there.store(0, std::memory_order_relaxed);
  passed.begun.store(0, std::memory_order_relaxed);
  passed.ended.store(0, std::memory_order_relaxed);
  passed.ults = passed.looked_for = 0;
}

WEFT_ON_LENDER void lender_serve_adopted(Identity& identity) noexcept {
  // Nothing can be brought to the ULT where it runs: what is sent to the process is for other threads, as long as they take it.
  if (!own_signal_has_courier()) lender_serve(identity);
  if (identity.waker != kNoTimer && identity.tid == process()) passed.to.store(&identity, std::memory_order_release);
  for (;;) {
    const uint32_t calls = identity.calls.load(std::memory_order_acquire);
    deliver_sent(identity);
    if (take_passed(identity)) continue;
    const uint64_t set = accepted(identity);
    if (calls != identity.caught_up.load(std::memory_order_relaxed)) {
      // The courier, which is for this thread, comes before what the process has been sent earlier.
      const uint64_t others = set & ~own_signals_mask();
      const timespec no_time{};
      const long earlier = system_call(SYS_rt_sigtimedwait, word(&others), word(&identity.info), word(&no_time), kMaskBytes);
      if (earlier > 0) {
        take_for_process(identity, static_cast<int>(earlier), false);
        continue;
      }
      identity.caught_up.store(calls, std::memory_order_release);
    }
    // Who has called since may have ended a wait in deliver_sent(), which has taken that courier.
    if (identity.calls.load(std::memory_order_acquire) != calls) continue;
    const long signal = system_call(SYS_rt_sigtimedwait, word(&set), word(&identity.info), 0, kMaskBytes);
    if (signal > 0) take_for_process(identity, static_cast<int>(signal), false);
  }
}

}  // namespace weft::rt
