// recursive_mutex.cpp: a mutex that knows its owner.
#include <pthread.h>

#include <atomic>

#include "klt/klt.hpp"
#include "weft/weft.h"

namespace weft::rt {
namespace {

// The calling unit; elsewhere the thread. Only the caller itself asks, so no guard is needed: it is on the same
// unit, or thread, afterwards.
uint64_t caller() noexcept {
  const Unit* unit = klt_register_valid() ? klt_current() : nullptr;
  if (unit != nullptr) return reinterpret_cast<uint64_t>(unit);
  return static_cast<uint64_t>(pthread_self()) | 1;
}

// Relaxed: only the owner finds itself in there.
std::atomic_ref<uint64_t> owner_of(weft_recursive_mutex_t* mutex) noexcept { return std::atomic_ref(mutex->owner); }

// Whether it is the caller's already, and *error what comes of locking it again.
bool again(weft_recursive_mutex_t* mutex, uint64_t self, int* error) noexcept {
  if (owner_of(mutex).load(std::memory_order_relaxed) != self) return false;
  *error = mutex->depth == UINT32_MAX ? WEFT_ERR_LIMIT : WEFT_OK;
  if (*error == WEFT_OK) ++mutex->depth;
  return true;
}

template <class Lock>
int lock_with(weft_recursive_mutex_t* mutex, Lock&& lock) noexcept {
  if (mutex == nullptr) return WEFT_ERR_INVALID;
  const uint64_t self = caller();
  int error;
  if (again(mutex, self, &error)) return error;
  error = lock(&mutex->mutex);
  if (error != WEFT_OK) return error;
  owner_of(mutex).store(self, std::memory_order_relaxed);
  mutex->depth = 1;
  return WEFT_OK;
}

}  // namespace
}  // namespace weft::rt

using namespace weft::rt;

int weft_recursive_mutex_lock(weft_recursive_mutex_t* mutex) { return lock_with(mutex, weft_mutex_lock); }

int weft_recursive_mutex_lock_until(weft_recursive_mutex_t* mutex, uint64_t deadline) {
  return lock_with(mutex, [=](weft_mutex_t* m) { return weft_mutex_lock_until(m, deadline); });
}

int weft_recursive_mutex_trylock(weft_recursive_mutex_t* mutex) {
  return lock_with(mutex, weft_mutex_trylock);
}

int weft_recursive_mutex_unlock(weft_recursive_mutex_t* mutex) {
  if (mutex == nullptr) return WEFT_ERR_INVALID;
  if (owner_of(mutex).load(std::memory_order_relaxed) != caller()) return WEFT_ERR_NOT_OWNER;
  if (--mutex->depth > 0) return WEFT_OK;
  owner_of(mutex).store(0, std::memory_order_relaxed);
  return weft_mutex_unlock(&mutex->mutex);
}
