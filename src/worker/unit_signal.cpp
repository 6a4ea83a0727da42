#include "worker/unit_signal.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "arch/frame.hpp"
#include "arch/system_call.hpp"
#include "klt/guard.hpp"
#include "klt/hand_over.hpp"
#include "klt/no_preemption.hpp"
#include "klt/own_signal.hpp"
#include "os/membarrier.hpp"
#include "os/proc_file.hpp"
#include "os/signal_mask.hpp"
#include "unit/unit.hpp"
#include "worker/lender_signal.hpp"

namespace weft::rt {
namespace {

Identity* identity_of(const Unit* unit) noexcept {
  if (unit == nullptr) return nullptr;
  const Unit* host = unit->host;
  return host != nullptr && unit_owns(host, own::kIdentity) ? host->identity : nullptr;
}

constexpr unsigned kMostTries = 50;  // of some 20 µs

struct Search {
  const Identity* whose;
  Klt* found = nullptr;
};

// What is read of a unit may be of one that has just ended; descriptors stay. A wrong answer costs a courier for nothing.
void look_at(Klt* klt, void* search_arg) noexcept {
  auto& search = *static_cast<Search*>(search_arg);
  if (identity_of(klt->current.load(std::memory_order_acquire)) == search.whose) search.found = klt;
}

// In a call with a signal mask of its own: "NUMBER ARGUMENT …", or "running". No handler of ours makes such a call.
bool waits_for_signals(int tid) noexcept {
  const ProcFile call = task_file(tid, "syscall");
  if (call.text[0] < '0' || call.text[0] > '9') return false;
  constexpr long kEpollPwait2 = 441;  // for every instruction set; older headers lack it
  switch (std::strtol(call.text, nullptr, 10)) {
    case SYS_rt_sigsuspend: case SYS_rt_sigtimedwait: case SYS_ppoll: case SYS_pselect6: case SYS_epoll_pwait: case kEpollPwait2:
      return true;
    default: return false;
  }
}

// The courier would not come, or come too late. In this order: who waits has it open, and goes on waiting. Who waits for nothing but this signal
// keeps the courier out: on its way to sleep it is "running" still.
bool takes_it_itself(const Klt* klt, int signal) noexcept {
  const int tid = klt->tid.load(std::memory_order_relaxed);
  return has_blocked_of(signal_bit(signal) | own_signals_mask(), tid) || waits_for_signals(tid);
}

// False: it is gone already.
bool take_note_off(Identity& to, int signal) noexcept {
  return (to.signals.fetch_and(~signal_bit(signal), std::memory_order_acq_rel) & signal_bit(signal)) != 0;
}

// What it has blocked ends no call, but where that lets it in.
void note_brought(Identity& to, uint64_t set) noexcept {
  if ((set & ~to.mask.load(std::memory_order_relaxed)) != 0) to.brought.fetch_add(1, std::memory_order_relaxed);
}

// Unless it has taken it by now, or can be reached otherwise.
void send_to(Identity& to, Klt* klt, int signal) noexcept {
  if (identity_of(klt->current.load(std::memory_order_acquire)) != &to || !takes_it_itself(klt, signal)) return;
  if (!take_note_off(to, signal)) return;
  note_brought(to, signal_bit(signal));
  klt->has_been_sent.store(true, std::memory_order_relaxed);
  system_call(SYS_tgkill, getpid(), klt->tid.load(std::memory_order_relaxed), signal, 0);
}

bool is_noted(const Identity& to, int signal) noexcept {
  return (to.signals.load(std::memory_order_acquire) & signal_bit(signal)) != 0;
}

// It has its worker, and its guard down; it cannot leave the KLT meanwhile. False: not so, or others are at it.
bool send_to_carrier(Identity& to, Klt* klt, int signal) noexcept {
  Worker* worker = klt->worker.load(std::memory_order_acquire);
  Klt* victim = worker != nullptr ? take_begin(worker) : nullptr;
  if (victim == nullptr) return false;
  if (victim == klt) send_to(to, klt, signal);
  take_retract(worker, victim);
  return !is_noted(to, signal);
}

// It is in the kernel, and has lost its worker to others. The same.
bool send_to_taken(Identity& to, Klt* klt, int signal) noexcept {
  Take taken = Take::kTaken;
  if (!klt->take.compare_exchange_strong(taken, Take::kHeld, std::memory_order_acquire)) return false;
  send_to(to, klt, signal);
  // Not if it is about to come back already: then it sleeps as a captive before it can leave.
  Take held = Take::kHeld;
  klt->take.compare_exchange_strong(held, Take::kTaken, std::memory_order_release);
  return !is_noted(to, signal);
}

// It sleeps in Weft until it is woken, and looks as it goes on. False: not so, or it goes on already.
bool leave_to_sleeper(Klt* klt) noexcept {
  klt->attention.fetch_or(attention::kSignals, std::memory_order_relaxed);
  membarrier_all();
  const ProcFile call = task_file(klt->tid.load(std::memory_order_relaxed), "syscall");
  char* rest = nullptr;
  return std::strtol(call.text, &rest, 10) == SYS_futex && std::strtoull(rest, nullptr, 16) == reinterpret_cast<uintptr_t>(&klt->wake);
}

// Meanwhile it stays on its KLT, and its unit is not freed.
class Sending {
 public:
  explicit Sending(Identity& to) noexcept : to_(to) {
    to.sending.fetch_add(1, std::memory_order_seq_cst);
    membarrier_all();  // it sees that as it leaves, or we see that it has
  }
  Sending(const Sending&) = delete;
  Sending& operator=(const Sending&) = delete;
  ~Sending() { to_.sending.fetch_sub(1, std::memory_order_release); }
  const Unit* unit() const noexcept { return to_.unit.load(std::memory_order_acquire); }

 private:
  const SignalsBlocked alone_;  // it waits for us: a handler here might wait for it
  Identity& to_;
};

// False: it is on its way to a KLT, or from there. `last`: its lender waits for it.
bool send_to_waiting(Identity& to, int signal, bool last) noexcept {
  const Sending sending(to);
  const Unit* unit = sending.unit();
  const UnitState state = unit != nullptr ? unit_state(unit) : UnitState::kTerminated;
  if (state == UnitState::kTerminated) to.signals.fetch_and(~signal_bit(signal), std::memory_order_relaxed);
  const bool between = state == UnitState::kRunning;
  // Its lender may be in a handler in its place that waits for just this one: whether it has been woken meanwhile or not.
  const bool away = state == UnitState::kBlocked || (unit != nullptr && unit_is_away(unit));
  if ((away || (between && last)) && take_note_off(to, signal)) lender_send(to, signal);
  return !between || last;
}

// As it is, with its guard up: it may be about to leave its KLT.
void send_straight(Identity& to, Klt* klt, int signal) noexcept {
  const Sending sending(to);
  const bool stays = to.on.load(std::memory_order_relaxed) == klt;
  // Else a handler has interrupted it on its way out, and ends by a signal only: afterwards it sees that we send.
  if (stays || waits_for_signals(klt->tid.load(std::memory_order_relaxed))) send_to(to, klt, signal);
  membarrier_all();  // whoever runs has been in the kernel, which gives it the signal
}

// A handler may have interrupted it on its way to or from there, and end by this signal only. Null: it is on none.
Klt* klt_of(const Identity& to, int signal) noexcept {
  if (Klt* klt = to.on.load(std::memory_order_acquire)) return klt;
  Search search{&to};
  klt_for_each(look_at, &search);
  return search.found != nullptr && takes_it_itself(search.found, signal) ? search.found : nullptr;
}

// True: nothing is left to be done. A section of whatever thread, or a handler that has interrupted one.
bool try_send(Identity& to, int signal, bool first, bool last) noexcept {
  if (!is_noted(to, signal)) return true;
  Klt* klt = klt_of(to, signal);
  if (klt == nullptr) return send_to_waiting(to, signal, last);
  const int tid = klt->tid.load(std::memory_order_relaxed);
  const bool itself = takes_it_itself(klt, signal);
  if (!itself || first) own_signal_send_courier(tid);
  if (!itself) return true;
  // In a handler, most often, that has blocked the courier, too. It ends, and that comes; or it will soon wait. A signal that is sent to
  // the KLT as the handler ends may come to it in Weft, where it keeps the worker.
  if (!last && !waits_for_signals(tid)) return !is_noted(to, signal);
  if (send_to_carrier(to, klt, signal) || send_to_taken(to, klt, signal) || leave_to_sleeper(klt)) return true;
  // Its guard is up: it is in Weft, for some instructions, or a handler of the program's has interrupted that: which may wait for this
  // signal, or for what the sender does next.
  if (last || waits_for_signals(tid)) send_straight(to, klt, signal);
  return !is_noted(to, signal);
}

int tid_of_this_klt() noexcept { return klt_self()->tid.load(std::memory_order_relaxed); }

// What the lender has in hand, with all that is known of it. Returns which; 0: nothing.
uint64_t take_from_lender(Identity& identity) noexcept {
  uint32_t signal = identity.in_hand.load(std::memory_order_relaxed);
  if (signal == 0 || signal == kTaking) return 0;
  if (!identity.in_hand.compare_exchange_strong(signal, kTaking, std::memory_order_acquire)) return 0;
  system_call(SYS_rt_tgsigqueueinfo, getpid(), tid_of_this_klt(), signal, reinterpret_cast<long>(&identity.info));
  identity.in_hand.store(0, std::memory_order_release);
  lender_call(identity);
  return signal_bit(static_cast<int>(signal));
}

// They come when the caller unblocks them. Returns which. A jump that is put off is to be seen again.
uint64_t take() noexcept {
  klt_register_and32<kKltAttention>(~attention::kSignals);
  Identity* identity = identity_of(klt_current());
  if (identity == nullptr) return 0;
  if (identity->jumps.load(std::memory_order_relaxed)) klt_register_or32<kKltAttention>(attention::kSignals);
  const uint64_t noted = identity->signals.exchange(0, std::memory_order_acq_rel);
  for (uint64_t rest = noted; rest != 0; rest &= rest - 1) {
    system_call(SYS_tgkill, getpid(), tid_of_this_klt(), __builtin_ctzll(rest) + 1, 0);
  }
  const uint64_t all = noted | take_from_lender(*identity);
  if (all != 0) klt_self()->has_been_sent.store(true, std::memory_order_relaxed);
  note_brought(*identity, all);
  return all;
}

// That a handler has put off, if any has.
void make_jump() noexcept {
  Identity* identity = identity_of(klt_current());
  if (identity == nullptr || !identity->jumps.exchange(false, std::memory_order_acquire)) return;
  const PutOffJump jump = identity->jump;
  jump.make(jump);
}

// As the program wants it: what our own handler has interrupted would be begun again.
void end_call(ucontext_t& frame, int signal) noexcept {
  struct sigaction now;
  if (sigaction(signal, nullptr, &now) != 0) return;
  const bool handled = (now.sa_flags & SA_SIGINFO) != 0 || (now.sa_handler != SIG_IGN && now.sa_handler != SIG_DFL);
  if (handled) frame_end_call(frame, (now.sa_flags & SA_RESTART) != 0);
}

}  // namespace

int unit_signal_send(Identity& to, int signal) noexcept {
  if (signal < 0 || signal > SIGRTMAX) return EINVAL;
  const int error = errno;
  const uint64_t noted = to.signals.fetch_or(signal_bit(signal), std::memory_order_seq_cst);
  // A note is one signal.
  if ((noted & signal_bit(signal)) != 0 && signal >= kFirstThatQueues) {
    const int result = unit_signal_queue_plain(to, signal);
    errno = error;
    return result;
  }
  membarrier_all();  // it sees that as it gets onto a KLT, or we see where it is
  // A handler that has interrupted Weft waits for nobody, who may wait for it.
  if (klt_register_valid() && klt_is_inside_here()) {
    static_cast<void>(try_send(to, signal, true, true));
  } else {
    bool done = false;
    for (unsigned tries = 1; !done && tries <= kMostTries; ++tries) {
      Worker* worker = section_enter();
      done = try_send(to, signal, tries == 1, tries == kMostTries);
      section_leave(worker);
    }
  }
  errno = error;
  return 0;
}

int unit_signal_queue(Identity& to, siginfo_t& info) noexcept {
  if (info.si_signo < 0 || info.si_signo > SIGRTMAX) return EINVAL;
  if (info.si_signo == 0) return 0;
  const Sending sending(to);
  const Unit* unit = sending.unit();
  if (unit == nullptr || unit_state(unit) == UnitState::kTerminated) return 0;
  // Its lender would keep what it has blocked, and may be waiting for: that is pending where it is, and calls no handler there. What it sends to
  // itself comes before the call returns. Not past those that the lender has.
  Klt* klt = to.on.load(std::memory_order_acquire);
  const bool lender_has = to.sent.load(std::memory_order_acquire) != 0 || to.looking.load(std::memory_order_acquire);
  const bool blocked = (to.mask.load(std::memory_order_acquire) & signal_bit(info.si_signo)) != 0;
  const bool itself = klt_register_valid() && klt == klt_self();
  if (klt == nullptr || lender_has || !(blocked || itself)) return lender_queue(to, info);
  const int tid = klt->tid.load(std::memory_order_relaxed);
  klt->has_been_sent.store(true, std::memory_order_relaxed);
  return static_cast<int>(-signal_to_thread(tid, info));
}

int unit_signal_queue_plain(Identity& to, int signal) noexcept {
  siginfo_t info{};
  info.si_signo = signal;
  info.si_code = SI_TKILL;
  return unit_signal_queue(to, info);
}

void unit_signals_take() noexcept {
  const int error = errno;
  {
    const SignalsBlocked until_all_are_sent;
    take();
  }
  errno = error;
  if (may_leave_asleep(klt_self())) make_jump();
}

void unit_signals_leave_handler() noexcept {
  const Identity* identity = identity_of(klt_current());
  if (__builtin_expect(identity == nullptr || !identity->jumps.load(std::memory_order_relaxed), 1)) return;
  // The mask is the ULT's, as it has been noted.
  change_mask_here(SIG_SETMASK, klt_self()->program_mask.load(std::memory_order_relaxed));
  make_jump();
}

void unit_signals_take_in_handler(ucontext_t& frame) noexcept {
  const int error = errno;
  // Else their handlers, and of whatever else is sent to this KLT meanwhile, would come here, on another stack than the ULT's. Our return
  // gives the mask of then back.
  sigset_t all;
  sigfillset(&all);
  set_signal_mask(SIG_BLOCK, &all, nullptr);
  for (uint64_t taken = take(); taken != 0; taken &= taken - 1) {
    end_call(frame, __builtin_ctzll(taken) + 1);
  }
  errno = error;
}

void unit_signals_leave(Identity& identity) noexcept {
  for (uint64_t all = identity.signals.exchange(0, std::memory_order_acq_rel); all != 0; all &= all - 1) {
    lender_send(identity, __builtin_ctzll(all) + 1);
  }
  if (identity.in_hand.load(std::memory_order_acquire) != 0) lender_call(identity);
}

}  // namespace weft::rt
