// cpu_yield.hpp: the CPU to whoever else of the system waits for it. Not sched_yield(), which a front-end may stand in for.
#pragma once

#include <sys/syscall.h>

#include "arch/system_call.hpp"
#include "os/clock.hpp"

namespace weft::rt {

// Returns how long it was gone, in ns.
inline uint64_t cpu_yield() noexcept {
  const uint64_t before = now_ns();
  system_call(SYS_sched_yield, 0, 0, 0, 0);
  return now_ns() - before;
}

}  // namespace weft::rt
