// wait_kind.hpp: what a blocked unit waits for.
#pragma once

#include <cstdint>

namespace weft::rt {

enum class WaitKind : uint32_t {
  kNone,
  kSuspend,         // weft_suspend()
  kJoin,            // a unit
  kFork,            // a fork that another worker runs
  kMutex,
  kCond,
  kReadLock,
  kWriteLock,
  kBarrier,
  kLatch,
  kSemaphore,
  kEvent,
  kFuture,
  kAny,             // of several
  kChannelSend,
  kChannelReceive,
  kOnce,
  kSleep,
  kIdleSched,       // a stacked scheduler, for a unit
  kWorker,          // until it has stopped
};

// For people, after "waits for": "a mutex". Async-signal-safe.
const char* wait_kind_name(WaitKind kind) noexcept;

}  // namespace weft::rt
