// scheduling.hpp: how the kernel schedules the calling thread.
#pragma once

#include <sched.h>
#include <sys/syscall.h>

#include <cstdint>

#include "arch/system_call.hpp"

namespace weft::rt {

// sched_setattr()'s, which not every C library has.
struct Scheduling {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
};

// The shortest slice that the kernel lets a thread choose: when it wakes up it runs soon, beside threads that compute. From Linux 6.12 on; earlier
// ones ignore it, and so do the other policies. Async-signal-safe; touches nothing thread-local.
__attribute__((no_sanitize("address", "thread", "undefined"))) inline void have_short_slice() noexcept {
  constexpr uint64_t kSliceNs = 100'000;
  Scheduling now{};
  if (system_call(SYS_sched_getattr, 0, reinterpret_cast<long>(&now), sizeof now, 0) != 0) return;
  if (now.policy != SCHED_OTHER && now.policy != SCHED_BATCH) return;
  now.size = sizeof now;
  now.runtime = kSliceNs;
  system_call(SYS_sched_setattr, 0, reinterpret_cast<long>(&now), 0, 0);
}

}  // namespace weft::rt
