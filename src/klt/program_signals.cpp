#include "klt/program_signals.hpp"

#include <signal.h>
#include <sys/syscall.h>

#include "arch/system_call.hpp"
#include "klt/handlers_begun.hpp"
#include "worker/lender_signal.hpp"

constinit thread_local std::atomic<uint32_t> weft_handlers_begun{0};

namespace weft::rt {
namespace {

constinit std::atomic<bool> others_take{false};

enum class Handlers { kUnknown, kNone, kOfFaults, kSome };
constinit std::atomic<Handlers> handlers{Handlers::kUnknown};  // none goes back: one may have taken itself away

struct Action {  // as the kernel has it
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)();
  uint64_t mask;
};

constinit std::atomic<uint64_t> counted{0};              // as the kernel has a set: of those that have been set last
constinit std::atomic<bool> one_is_not_counted{false};  // for good: it may take itself away

}  // namespace

void change_signal_mask(Klt* self, uint64_t mask) noexcept {
  const uint64_t before = self->program_mask.load(std::memory_order_relaxed);
  if ((mask & ~before & signal_bit(kStandIn)) != 0) {
    self->program_mask.store(mask, std::memory_order_seq_cst);
    own_signal_stand_ins_come(self);
  }
  self->program_mask.store(mask, std::memory_order_relaxed);
  if ((before & ~mask) != 0) lender_pass_on(before & ~mask);
  system_call(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&mask), 0, sizeof mask);
}

constinit std::atomic<uint64_t> blocked_by_others{0};

void others_take_signals(bool do_so) noexcept {
  others_take.store(do_so, std::memory_order_relaxed);
  blocked_by_others.store(0, std::memory_order_relaxed);
}

void others_block(uint64_t mask) noexcept {
  constexpr uint64_t kNobodyCan = signal_bit(SIGKILL) | signal_bit(SIGSTOP);
  blocked_by_others.store(mask & signals_of_others() & ~kNobodyCan, std::memory_order_relaxed);
}

void program_handlers_are_noted() noexcept {
  Handlers unknown = Handlers::kUnknown;
  handlers.compare_exchange_strong(unknown, Handlers::kNone, std::memory_order_relaxed);
}

void program_sets_handler(int signal) noexcept {
  if ((signal_bit(signal) & kFaultSignals) == 0) return handlers.store(Handlers::kSome, std::memory_order_relaxed);
  Handlers none = Handlers::kNone;
  handlers.compare_exchange_strong(none, Handlers::kOfFaults, std::memory_order_relaxed);
}

bool program_has_handlers() noexcept { return handlers.load(std::memory_order_relaxed) != Handlers::kNone; }

namespace {

bool handles_one_of(uint64_t set) noexcept {
  for (uint64_t open = set & kProcessSignals & ~own_signals_mask(); open != 0; open &= open - 1) {
    Action now{};
    system_call(SYS_rt_sigaction, __builtin_ctzll(open) + 1, 0, reinterpret_cast<long>(&now), sizeof now.mask);
    const bool handled = now.handler != SIG_DFL && now.handler != SIG_IGN;
    if (handled && !own_signal_is_stand_ins(reinterpret_cast<const void*>(now.handler))) return true;
  }
  return false;
}

}  // namespace

bool program_handles_here(uint64_t set) noexcept { return handles_one_of(set & ~signal_mask_here()); }

// The kernel is asked, too: handlers may be set past the C library.
bool program_may_handle() noexcept {
  const Handlers set = handlers.load(std::memory_order_relaxed);
  return set == Handlers::kUnknown || set == Handlers::kSome || program_handles_here(~uint64_t{0});
}

void program_handler_is_counted(int signal, bool is_counted) noexcept {
  const uint64_t one = signal_bit(signal);
  if (is_counted) {
    counted.fetch_or(one, std::memory_order_relaxed);
    return;
  }
  counted.fetch_and(~one, std::memory_order_relaxed);
  if ((one & kProcessSignals) != 0) one_is_not_counted.store(true, std::memory_order_relaxed);
}

__attribute__((no_sanitize("thread", "address"))) void program_handler_begins() noexcept {
  weft_handlers_begun.fetch_add(1, std::memory_order_relaxed);
}

bool program_handlers_are_counted(uint64_t let_in) noexcept {
  const uint64_t open = ~signal_mask_here() | let_in;
  return !one_is_not_counted.load(std::memory_order_relaxed) && !handles_one_of(open & ~counted.load(std::memory_order_relaxed));
}

uint64_t signals_of_others() noexcept {
  const uint64_t own = own_signals_mask();
  return others_take.load(std::memory_order_relaxed) && own != 0 ? kProcessSignals & ~own & ~signal_bit(kStandIn) : 0;
}

}  // namespace weft::rt
