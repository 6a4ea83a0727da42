// no_preemption.hpp: round what must be done in one go, but not with the guard up, because it may allocate or wait.
//
// A ULT that is preempted while it holds one of the process's locks would keep every KLT waiting that wants the lock, its
// own worker's included. Those who lock only Weft's own structures hold the guard up instead.
#pragma once

#include "klt/guard.hpp"
#include "klt/time_slice.hpp"

namespace weft::rt {

// False: the caller is no KLT, and there is nothing to end.
inline bool no_preemption_begin() noexcept {
  if (!klt_register_valid()) return false;
  klt_register_add32<kKltNoPreemption>(1);
  return true;
}

inline void no_preemption_end() noexcept {
  if (!klt_register_valid()) return;  // a thread may stop being a KLT in between: weft_finalize()
  klt_register_add32<kKltNoPreemption>(static_cast<unsigned>(-1));
  if (__builtin_expect(preempt_tick_waits(), 0)) guard_leave(guard_enter_on_klt());
}

// The ULT does not suspend within the scope. A tick that comes meanwhile is acted on at its end.
class NoPreemption {
 public:
  NoPreemption() noexcept : on_klt_(no_preemption_begin()) {}
  NoPreemption(const NoPreemption&) = delete;
  NoPreemption& operator=(const NoPreemption&) = delete;
  ~NoPreemption() {
    if (on_klt_) no_preemption_end();
  }

 private:
  const bool on_klt_;
};

inline bool preemption_allowed(const Klt* self) noexcept { return self->no_preemption == 0; }

}  // namespace weft::rt
