// recursive_mutex.cpp: a mutex that knows its owner.
#include <atomic>

#include "arch/thread_pointer.hpp"
#include "klt/klt.hpp"
#include "unit/unit.hpp"
#include "weft/mutex_own.h"
#include "weft/weft.h"

namespace weft::rt {
namespace {

// The calling unit; elsewhere, and for the primary ULT, which is that before the runtime starts and after it has ended, the thread. Only the caller
// itself asks, so no guard is needed: it is on the same unit, or thread, afterwards.
struct Caller {
  uint64_t unit = 0, thread = 0;
  uint64_t name() const noexcept { return thread != 0 ? thread : unit; }
  // The ULT that goes on in a forked child becomes its primary one: what it has locked before has its other name.
  bool is(uint64_t owner) const noexcept { return owner != 0 && (owner == thread || owner == unit); }
};
Caller caller() noexcept {
  constexpr uint64_t kThread = 1, kScheduler = 3;  // its own code may run on the primary ULT's thread
  const uint64_t thread = thread_pointer();  // pthread_self()
  if (!klt_register_valid()) return {0, thread | kThread};
  const Unit* unit = klt_current();
  if (unit == nullptr) return {0, thread | kScheduler};
  return {reinterpret_cast<uint64_t>(unit), unit_is(unit, flag::kPrimary) ? thread | kThread : 0};
}

// Relaxed: only the owner finds itself in there.
std::atomic_ref<uint64_t> owner_of(weft_recursive_mutex_t* mutex) noexcept { return std::atomic_ref(mutex->owner); }

// Whether it is the caller's already, and *error what comes of locking it again.
bool again(weft_recursive_mutex_t* mutex, const Caller& self, int* error) noexcept {
  if (!self.is(owner_of(mutex).load(std::memory_order_relaxed))) return false;
  *error = mutex->depth == UINT32_MAX ? WEFT_ERR_LIMIT : WEFT_OK;
  if (*error == WEFT_OK) ++mutex->depth;
  return true;
}

template <class Lock>
int lock_with(weft_recursive_mutex_t* mutex, Lock&& lock) noexcept {
  if (mutex == nullptr) return WEFT_ERR_INVALID;
  const Caller self = caller();
  int error;
  if (again(mutex, self, &error)) return error;
  error = lock(&mutex->mutex);
  if (error != WEFT_OK) return error;
  owner_of(mutex).store(self.name(), std::memory_order_relaxed);
  mutex->depth = 1;
  return WEFT_OK;
}

}  // namespace
}  // namespace weft::rt

using namespace weft::rt;

int weft_recursive_mutex_lock(weft_recursive_mutex_t* mutex) { return lock_with(mutex, [](weft_mutex_t* m) { return weft_own_lock(m); }); }

int weft_recursive_mutex_lock_until(weft_recursive_mutex_t* mutex, uint64_t deadline) {
  return lock_with(mutex, [=](weft_mutex_t* m) { return weft_mutex_lock_until(m, deadline); });
}

int weft_recursive_mutex_trylock(weft_recursive_mutex_t* mutex) {
  return lock_with(mutex, [](weft_mutex_t* m) { return weft_own_trylock(m); });
}

int weft_recursive_mutex_unlock(weft_recursive_mutex_t* mutex) {
  if (mutex == nullptr) return WEFT_ERR_INVALID;
  if (!caller().is(owner_of(mutex).load(std::memory_order_relaxed))) return WEFT_ERR_NOT_OWNER;
  if (--mutex->depth > 0) return WEFT_OK;
  owner_of(mutex).store(0, std::memory_order_relaxed);
  return weft_own_unlock(&mutex->mutex);
}
