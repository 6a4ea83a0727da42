// no_preemption.hpp: round what must be done in one go, but not with the guard up, because it may allocate or wait.
//
// A ULT that is preempted while it holds one of the process's locks would keep every KLT waiting that wants the lock, its
// own worker's included. Those who lock only Weft's own structures hold the guard up instead.
#pragma once

#include "klt/guard.hpp"
#include "klt/time_slice.hpp"

namespace weft::rt {

// What a scope counts. kMayLeave: where code of the program's runs, with locks of its own. A tick that finds the ULT asleep there, since it waits
// for another lock of the process's, takes it off its worker all the same, with its KLT: whoever has that lock, malloc's say, may
// wait for this very worker. Not in other scopes: who is asked, or waits, there may be who would carry the worker next.
// kStays: nor is its worker taken while it sleeps in the kernel. Who writes a report, and has asked a KLT, may want that one's worker then, and that one
// waits for the report.
inline constexpr unsigned kNeverLeaves = 1, kMayLeave = 1u << 16, kStays = (1u << 28) + kNeverLeaves;

// False: the caller is no KLT, and there is nothing to end.
inline bool no_preemption_begin(unsigned count) noexcept {
  if (!klt_register_valid()) return false;
  klt_register_add32<kKltNoPreemption>(count);
  return true;
}

// What has come meanwhile.
inline void no_preemption_attend() noexcept {
  if (!klt_register_valid()) return;
  const bool signals = (klt_register_load<kKltAttention, uint32_t>() & attention::kSignals) != 0;
  if (__builtin_expect(signals || preempt_tick_waits(), 0)) guard_leave(guard_enter_on_klt());
}

inline void no_preemption_end(unsigned count) noexcept {
  if (!klt_register_valid()) return;  // a thread may stop being a KLT in between: weft_finalize()
  klt_register_add32<kKltNoPreemption>(-count);
  no_preemption_attend();
}

// The ULT does not suspend within the scope, but for runtime.setup, for which it gives its worker away. A tick that comes meanwhile is acted on at
// its end.
class NoPreemption {
 public:
  NoPreemption() noexcept : on_klt_(no_preemption_begin(kNeverLeaves)) {}
  NoPreemption(const NoPreemption&) = delete;
  NoPreemption& operator=(const NoPreemption&) = delete;
  ~NoPreemption() {
    if (on_klt_) no_preemption_end(kNeverLeaves);
  }

 private:
  const bool on_klt_;
};

inline bool preemption_allowed(const Klt* self) noexcept { return self->no_preemption == 0; }
inline bool stays_with_worker(const Klt* self) noexcept { return self->no_preemption >= kStays; }
inline bool may_leave_asleep(const Klt* self) noexcept { return self->no_preemption % kMayLeave == 0; }

}  // namespace weft::rt
