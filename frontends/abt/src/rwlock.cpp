// rwlock.cpp: ABT_rwlock. Argobots' prefers readers, and a program that locks one for reading twice lives by that.
#include "wait.hpp"

namespace weft::abt {
namespace {

weft_rwlock_t* lock_of(ABT_rwlock handle) noexcept { return reinterpret_cast<weft_rwlock_t*>(handle); }

int lock_by(ABT_rwlock handle, int (*lock)(weft_rwlock_t*)) noexcept {
  if (is_null(handle)) return ABT_ERR_INV_RWLOCK;
  if (is_refused()) return ABT_ERR_RWLOCK;
  const int error = wait_anywhere([&] { return lock(lock_of(handle)); });
  return error == WEFT_OK ? ABT_SUCCESS : ABT_ERR_RWLOCK;
}

}  // namespace
}  // namespace weft::abt

using namespace weft::abt;

int ABT_rwlock_create(ABT_rwlock* newrwlock) {
  return make(newrwlock, ABT_RWLOCK_NULL, weft_rwlock_t WEFT_RWLOCK_INIT);
}

int ABT_rwlock_free(ABT_rwlock* rwlock) {
  if (holds_null(rwlock)) return ABT_ERR_INV_RWLOCK;
  delete lock_of(*rwlock);
  *rwlock = ABT_RWLOCK_NULL;
  return ABT_SUCCESS;
}

int ABT_rwlock_rdlock(ABT_rwlock rwlock) { return lock_by(rwlock, weft_rwlock_rdlock_high); }
int ABT_rwlock_wrlock(ABT_rwlock rwlock) { return lock_by(rwlock, weft_rwlock_wrlock); }

int ABT_rwlock_unlock(ABT_rwlock rwlock) {
  if (is_null(rwlock)) return ABT_ERR_INV_RWLOCK;
  return weft_rwlock_unlock(lock_of(rwlock)) == WEFT_OK ? ABT_SUCCESS : ABT_ERR_RWLOCK;
}
