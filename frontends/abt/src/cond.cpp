// cond.cpp: ABT_cond.
//
// Argobots binds a condition variable for ever to the first mutex that is used with it. Here only as long as
// somebody waits.
#include <atomic>
#include <cstdlib>

#include "mutex.hpp"

namespace weft::abt {
namespace {

struct Cond {
  weft_cond_t cond;
  void* mutex;  // whoever waits with the mutex held: that of those who wait
};

Cond& cond_of(ABT_cond handle) noexcept { return within<Cond>(handle); }

// False: others wait with another mutex. Relaxed: callers with the same mutex are ordered by it.
bool take_mutex(Cond& cond, ABT_mutex mutex) noexcept {
  const std::atomic_ref bound(cond.mutex);
  if (bound.load(std::memory_order_relaxed) == mutex) return true;
  if (front::cond_has_waiters(&cond.cond)) return false;
  bound.store(mutex, std::memory_order_relaxed);
  return true;
}

// A recursive mutex is given back and locked again as a plain one; that it is the caller's is put down here. `wait`: WEFT_OK, WEFT_ERR_TIMEOUT.
template <class F>
int as_plain(Mutex& mutex, F wait) noexcept {
  const std::atomic_ref owner(mutex.owner);  // relaxed: only the owner finds itself in there
  const uint64_t self = owner.load(std::memory_order_relaxed);
  if (mutex.depth != 1) return WEFT_ERR_NOT_OWNER;
  owner.store(0, std::memory_order_relaxed);
  mutex.depth = 0;
  const int error = wait();
  owner.store(self, std::memory_order_relaxed);
  mutex.depth = 1;
  return error;
}

// The mutex is opened only if somebody has to wait for it: one that this ES's units have to themselves stays theirs.
[[gnu::always_inline]] inline int wait_plain(Cond& cond, unsigned mark, ABT_mutex with, uint64_t deadline) noexcept {
  weft_mutex_t* const mutex = &mutex_of(with).mutex;
  bool locked = true;
  const int error = wait_anywhere([&] { return front::cond_wait(&cond.cond, mutex, deadline, mark, locked); });
  if (__builtin_expect(!locked, 0)) {
    expect_waiters(with);
    wait_anywhere([&] { return weft_mutex_lock(mutex); });
  }
  return error;
}

int wait_until(ABT_cond handle, ABT_mutex with, uint64_t deadline) noexcept {
  if (is_null(handle)) return ABT_ERR_INV_COND;
  if (is_null(with)) return ABT_ERR_INV_MUTEX;
  Cond& cond = cond_of(handle);
  if (!take_mutex(cond, with)) return ABT_ERR_INV_MUTEX;
  const unsigned mark = distance_of(&cond, handle) / sizeof(int);
  const auto wait = [&] { return wait_plain(cond, mark, with, deadline); };
  switch (is_recursive(with) ? as_plain(mutex_of(with), wait) : wait()) {
    case WEFT_OK: return ABT_SUCCESS;
    case WEFT_ERR_TIMEOUT: return ABT_ERR_COND_TIMEDOUT;
    default: return ABT_ERR_INV_MUTEX;  // it is not locked, or more than once
  }
}

}  // namespace
}  // namespace weft::abt

using namespace weft::abt;

int ABT_cond_create(ABT_cond* newcond) {
  auto* memory = static_cast<ABT_cond_memory*>(std::calloc(1, sizeof(ABT_cond_memory)));
  if (memory == nullptr) return fail(newcond, ABT_COND_NULL, ABT_ERR_MEM);
  *newcond = ABT_COND_MEMORY_GET_HANDLE(memory);
  return ABT_SUCCESS;
}

int ABT_cond_free(ABT_cond* cond) {
  if (holds_null(cond)) return ABT_ERR_INV_COND;
  if (weft::front::cond_has_waiters(&cond_of(*cond).cond)) return ABT_ERR_COND;
  std::free(*cond);
  *cond = ABT_COND_NULL;
  return ABT_SUCCESS;
}

int ABT_cond_wait(ABT_cond cond, ABT_mutex mutex) {
  if (is_refused()) return ABT_ERR_COND;
  return wait_until(cond, mutex, WEFT_NEVER);
}

int ABT_cond_timedwait(ABT_cond cond, ABT_mutex mutex, const struct timespec* abstime) {
  return wait_until(cond, mutex, deadline_of(*abstime));
}

int ABT_cond_signal(ABT_cond cond) {
  if (is_null(cond)) return ABT_ERR_INV_COND;
  weft_cond_signal(&cond_of(cond).cond);
  return ABT_SUCCESS;
}

int ABT_cond_broadcast(ABT_cond cond) {
  if (is_null(cond)) return ABT_ERR_INV_COND;
  weft_cond_broadcast(&cond_of(cond).cond);
  return ABT_SUCCESS;
}
