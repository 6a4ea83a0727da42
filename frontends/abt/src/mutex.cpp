// mutex.cpp: ABT_mutex.
#include "mutex.hpp"

#include <cstdlib>

#include "arch/pause.hpp"
#include "weft/mutex_own.h"

namespace weft::abt {
namespace {

struct MutexAttr {
  bool recursive;
};

MutexAttr& attr_of(ABT_mutex_attr handle) noexcept { return *reinterpret_cast<MutexAttr*>(handle); }

// Without a wait, or a word to those who may come to wait.
bool take_free(ABT_mutex handle) noexcept {
  Mutex& mutex = mutex_of(handle);
  return (is_recursive(handle) ? weft_recursive_mutex_trylock(&mutex) : weft_own_trylock(&mutex.mutex)) == WEFT_OK;
}

[[gnu::noinline]] int lock_slow(ABT_mutex handle) noexcept {
  Mutex& mutex = mutex_of(handle);
  expect_waiters(handle);
  if (!is_recursive(handle) && in_ult()) return weft_mutex_lock(&mutex.mutex);
  const int error = wait_anywhere([&] {
    return is_recursive(handle) ? weft_recursive_mutex_lock(&mutex) : weft_mutex_lock(&mutex.mutex);
  });
  return error == WEFT_OK ? ABT_SUCCESS : ABT_ERR_MUTEX;
}

int trylock(ABT_mutex handle) noexcept {
  Mutex& mutex = mutex_of(handle);
  const int error =
      is_recursive(handle) ? weft_recursive_mutex_trylock(&mutex) : weft_mutex_trylock(&mutex.mutex);
  return error == WEFT_OK ? ABT_SUCCESS : error == WEFT_ERR_BUSY ? ABT_ERR_MUTEX_LOCKED : ABT_ERR_MUTEX;
}

// Whoever holds it is expected to run on another ES, for a short time. If it does not, the caller sleeps in the
// kernel, with its ES, and lets no other unit run there; but where that one may have lost this very ES to the caller.
[[gnu::noinline]] int spinlock_slow(ABT_mutex handle) noexcept {
  constexpr unsigned kLooks = 1000;
  for (unsigned i = 0; i < kLooks; ++i) {
    if (const int error = trylock(handle); error != ABT_ERR_MUTEX_LOCKED) return error;
    weft::rt::cpu_pause();
  }
  const HoldsStream holds(!weft::front::workers_are_taken());
  return lock_slow(handle);
}

int make_mutex(bool recursive, ABT_mutex* out) noexcept {
  auto* memory = static_cast<ABT_mutex_memory*>(std::calloc(1, sizeof(ABT_mutex_memory)));
  if (memory == nullptr) return fail(out, ABT_MUTEX_NULL, ABT_ERR_MEM);
  memory->dummy[0] = recursive;
  *out = ABT_MUTEX_MEMORY_GET_HANDLE(memory);
  return ABT_SUCCESS;
}

}  // namespace
}  // namespace weft::abt

using namespace weft::abt;

// For what abt.h has of this file in the program's own code.
extern "C" {
ABT_API_PUBLIC constinit ABTX_own ABTX_own_1{0, 0, weft_own_leave};
}
#ifndef WEFT_MUTEX_BY_CALLS
namespace {
[[gnu::constructor(101)]] void tell_programs() {
  ABTX_own_1.words = weft_own_offset();
  ABTX_own_1.room = UINTPTR_MAX - 64;
}
}  // namespace
#endif

int ABT_mutex_create(ABT_mutex* newmutex) { return make_mutex(false, newmutex); }

int ABT_mutex_create_with_attr(ABT_mutex_attr attr, ABT_mutex* newmutex) {
  return make_mutex(attr != nullptr && attr != ABT_MUTEX_ATTR_NULL && attr_of(attr).recursive, newmutex);
}

int ABT_mutex_free(ABT_mutex* mutex) {
  if (holds_null(mutex)) return ABT_ERR_INV_MUTEX;
  std::free(*mutex);
  *mutex = ABT_MUTEX_NULL;
  return ABT_SUCCESS;
}

int ABT_mutex_lock(ABT_mutex mutex) {
  if (is_null(mutex)) return ABT_ERR_INV_MUTEX;
  return __builtin_expect(take_free(mutex), 1) ? ABT_SUCCESS : lock_slow(mutex);
}

// As in Argobots they are no different: with weft_mutex_lock_low() a program that has not known it could starve.
int ABT_mutex_lock_high(ABT_mutex mutex) { return ABT_mutex_lock(mutex); }
int ABT_mutex_lock_low(ABT_mutex mutex) { return ABT_mutex_lock(mutex); }

int ABT_mutex_trylock(ABT_mutex mutex) { return is_null(mutex) ? ABT_ERR_INV_MUTEX : trylock(mutex); }

int ABT_mutex_spinlock(ABT_mutex mutex) {
  if (is_null(mutex)) return ABT_ERR_INV_MUTEX;
  return __builtin_expect(take_free(mutex), 1) ? ABT_SUCCESS : spinlock_slow(mutex);
}

int ABT_mutex_unlock(ABT_mutex mutex) {
  if (is_null(mutex)) return ABT_ERR_INV_MUTEX;
  const int error = __builtin_expect(is_recursive(mutex), 0) ? weft_recursive_mutex_unlock(&mutex_of(mutex))
                                                             : weft_own_unlock(&mutex_of(mutex).mutex);
  return __builtin_expect(error == WEFT_OK, 1) ? ABT_SUCCESS : ABT_ERR_MUTEX;
}

// Where the next one should be: on this ES, or on another. A waiter on this one is preferred in any case.
int ABT_mutex_unlock_se(ABT_mutex mutex) { return ABT_mutex_unlock(mutex); }
int ABT_mutex_unlock_de(ABT_mutex mutex) { return ABT_mutex_unlock(mutex); }

int ABT_mutex_equal(ABT_mutex mutex1, ABT_mutex mutex2, ABT_bool* result) {
  *result = mutex1 == mutex2;
  return ABT_SUCCESS;
}

int ABT_mutex_get_attr(ABT_mutex mutex, ABT_mutex_attr* attr) {
  if (is_null(mutex)) return fail(attr, ABT_MUTEX_ATTR_NULL, ABT_ERR_INV_MUTEX);
  return make(attr, ABT_MUTEX_ATTR_NULL, MutexAttr{is_recursive(mutex)});
}

int ABT_mutex_attr_create(ABT_mutex_attr* newattr) {
  return make(newattr, ABT_MUTEX_ATTR_NULL, MutexAttr{false});
}

int ABT_mutex_attr_free(ABT_mutex_attr* attr) {
  if (holds_null(attr)) return ABT_ERR_INV_MUTEX_ATTR;
  delete &attr_of(*attr);
  *attr = ABT_MUTEX_ATTR_NULL;
  return ABT_SUCCESS;
}

int ABT_mutex_attr_set_recursive(ABT_mutex_attr attr, ABT_bool recursive) {
  if (is_null(attr)) return ABT_ERR_INV_MUTEX_ATTR;
  attr_of(attr).recursive = recursive != ABT_FALSE;
  return ABT_SUCCESS;
}

int ABT_mutex_attr_get_recursive(ABT_mutex_attr attr, ABT_bool* recursive) {
  if (is_null(attr)) return ABT_ERR_INV_MUTEX_ATTR;
  *recursive = attr_of(attr).recursive;
  return ABT_SUCCESS;
}
