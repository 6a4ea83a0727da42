#include "unit/wait_kind.hpp"

namespace weft::rt {

const char* wait_kind_name(WaitKind kind) noexcept {
  switch (kind) {
    case WaitKind::kNone: return "nothing";
    case WaitKind::kSuspend: return "a resume";
    case WaitKind::kJoin: return "the end of a unit";
    case WaitKind::kFork: return "a fork that another worker runs";
    case WaitKind::kMutex: return "a mutex";
    case WaitKind::kCond: return "a condition variable";
    case WaitKind::kReadLock: return "a lock, for reading";
    case WaitKind::kWriteLock: return "a lock, for writing";
    case WaitKind::kBarrier: return "a barrier";
    case WaitKind::kLatch: return "a latch";
    case WaitKind::kSemaphore: return "a semaphore";
    case WaitKind::kEvent: return "an event";
    case WaitKind::kFuture: return "a future";
    case WaitKind::kAny: return "any of several";
    case WaitKind::kChannelSend: return "room in a channel";
    case WaitKind::kChannelReceive: return "an element of a channel";
    case WaitKind::kOnce: return "another caller's first call";
    case WaitKind::kSleep: return "a time";
    case WaitKind::kIdleSched: return "a unit to schedule";
    case WaitKind::kWorker: return "a worker to stop";
  }
  return "something unknown";
}

}  // namespace weft::rt
