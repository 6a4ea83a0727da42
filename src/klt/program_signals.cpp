#include "klt/program_signals.hpp"

#include <sys/syscall.h>

#include "arch/system_call.hpp"
#include "worker/lender_signal.hpp"

namespace weft::rt {
namespace {
constinit std::atomic<bool> others_take{false};
}

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

uint64_t signals_of_others() noexcept {
  const uint64_t own = own_signals_mask();
  return others_take.load(std::memory_order_relaxed) && own != 0 ? kProcessSignals & ~own & ~signal_bit(kStandIn) : 0;
}

}  // namespace weft::rt
