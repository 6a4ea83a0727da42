// mutex.cpp: the numbers are the steps of README.md, "Mutex".
#include "sync/mutex.hpp"

#include "arch/pause.hpp"
#include "worker/runtime.hpp"

namespace weft::rt {
namespace {

using namespace sync_bit;

struct MutexWaiter : Waiter {
  unsigned passes = 0;
  bool handed = false;  // the waker, before it wakes: the mutex is this waiter's
};

// L1. Acquire, pairs with the release of whoever unlocked it.
bool take_free(Mutex& mutex) noexcept {
  uint32_t free = 0;
  return mutex.state.compare_exchange_strong(free, kLocked, std::memory_order_acquire,
                                             std::memory_order_relaxed);
}

// U1. Release, pairs with the acquire of whoever locks it next.
bool give_unwanted(Mutex& mutex) noexcept {
  uint32_t held = kLocked;
  return mutex.state.compare_exchange_strong(held, 0, std::memory_order_release,
                                             std::memory_order_relaxed);
}

// L2. As take_free(), also where somebody waits.
bool barge(Mutex& mutex) noexcept {
  uint32_t seen = mutex.state.load(std::memory_order_relaxed);
  while ((seen & kLocked) == 0) {
    if (mutex.state.compare_exchange_weak(seen, seen | kLocked, std::memory_order_acquire,
                                          std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

// Looks a few times, much shorter than a sleep and a wake-up in the kernel. Not where the holder
// needs the caller's worker to get on, and not where others wait already.
bool barge_soon(Mutex& mutex) noexcept {
  constexpr unsigned kLooks = 16;
  const bool holder_may_run =
      !klt_register_valid() || runtime.active.load(std::memory_order_relaxed) > 1;
  for (unsigned i = 0;; ++i) {
    if (barge(mutex)) return true;
    if (!holder_may_run || i == kLooks) return false;
    if ((mutex.state.load(std::memory_order_relaxed) & kWaiters) != 0) return false;
    cpu_pause();
  }
}

// L3, L4. True: the mutex became free meanwhile and is the caller's. False: `self` is in the list.
bool take_or_queue(Mutex& mutex, MutexWaiter& self) noexcept {
  const uint32_t woken = self.passes != 0 ? kWoken : 0;  // ours to clear
  QueueBackoff backoff;
  uint32_t seen = mutex.state.load(std::memory_order_relaxed);
  for (;;) {
    const bool free = (seen & kLocked) == 0;
    if (!free && (seen & kQueue) != 0) {
      backoff.pause();
      seen = mutex.state.load(std::memory_order_relaxed);
      continue;
    }
    const uint32_t wanted = (free ? seen | kLocked : seen | kQueue | kWaiters) & ~woken;
    if (mutex.state.compare_exchange_weak(seen, wanted, std::memory_order_acquire,
                                          std::memory_order_relaxed)) {
      if (free) return true;
      break;
    }
  }
  if (self.passes != 0) {
    mutex.waiters.push_front(&self);
  } else {
    mutex.waiters.push_back(&self);
  }
  queue_unlock(mutex.state);
  return false;
}

// U2. True: given back. False: somebody has to be woken, or it is not locked.
bool give_without_waking(Mutex& mutex, bool& locked) noexcept {
  uint32_t seen = mutex.state.load(std::memory_order_relaxed);
  for (;;) {
    locked = (seen & kLocked) != 0;
    if (!locked || (seen & (kWaiters | kWoken)) == kWaiters) return false;
    if (mutex.state.compare_exchange_weak(seen, seen & ~kLocked, std::memory_order_release,
                                          std::memory_order_relaxed)) {
      return true;
    }
  }
}

// U3 to U5. Precondition: held by the caller; kWaiters without kWoken, which only the holder
// changes.
void give_and_wake(GuardedSection& section, Mutex& mutex) noexcept {
  queue_lock(mutex.state);
  auto* waiter = static_cast<MutexWaiter*>(mutex.waiters.pop_front());
  WEFT_CHECK(waiter != nullptr);
  waiter->handed = waiter->passes >= Mutex::kMostPasses;
  const uint32_t rest = mutex.waiters.empty() ? 0 : kWaiters;
  // Nobody else changes the word while kLocked and kQueue are both ours. The last access to the
  // mutex: from here on the next holder may destroy it.
  mutex.state.store(rest | (waiter->handed ? kLocked : kWoken), std::memory_order_release);
  waiter_wake(section.worker, waiter);
}

[[gnu::noinline]] int lock_slow(Mutex& mutex) noexcept {
  if (barge_soon(mutex)) return WEFT_OK;
  GuardedSection section;
  return mutex_lock_in(section, mutex);
}

[[gnu::noinline]] int unlock_slow(Mutex& mutex) noexcept {
  bool locked;
  if (give_without_waking(mutex, locked)) return WEFT_OK;
  if (!locked) return WEFT_ERR_NOT_OWNER;
  GuardedSection section;
  give_and_wake(section, mutex);
  return WEFT_OK;
}

}  // namespace

int mutex_lock_in(GuardedSection& section, Mutex& mutex) noexcept {
  if (barge(mutex)) return WEFT_OK;
  if (!section.can_wait()) return WEFT_ERR_CONTEXT;
  for (unsigned passes = 0;; ++passes) {
    MutexWaiter self;
    waiter_init(section.worker, self);
    self.passes = passes;
    if (take_or_queue(mutex, self)) return WEFT_OK;
    section.wait(self);
    if (self.handed) return WEFT_OK;
  }
}

int mutex_unlock_in(GuardedSection& section, Mutex& mutex) noexcept {
  bool locked;
  if (give_without_waking(mutex, locked)) return WEFT_OK;
  if (!locked) return WEFT_ERR_NOT_OWNER;
  give_and_wake(section, mutex);
  return WEFT_OK;
}

}  // namespace weft::rt

using namespace weft::rt;

int weft_mutex_lock(weft_mutex_t* mutex) {
  if (mutex == nullptr) return WEFT_ERR_INVALID;
  if (__builtin_expect(take_free(mutex_of(mutex)), 1)) return WEFT_OK;
  return lock_slow(mutex_of(mutex));
}

int weft_mutex_trylock(weft_mutex_t* mutex) {
  if (mutex == nullptr) return WEFT_ERR_INVALID;
  return barge(mutex_of(mutex)) ? WEFT_OK : WEFT_ERR_BUSY;
}

int weft_mutex_unlock(weft_mutex_t* mutex) {
  if (mutex == nullptr) return WEFT_ERR_INVALID;
  if (__builtin_expect(give_unwanted(mutex_of(mutex)), 1)) return WEFT_OK;
  return unlock_slow(mutex_of(mutex));
}
