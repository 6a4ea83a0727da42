// shared_mutex.hpp: many readers or one writer, between ULTs on any worker and KLTs at once.
//
// Neither side starves: who comes while somebody waits queues behind. So a reader must not lock it for
// reading again: a writer that waits between the two waits for the first and is waited for by the second.
#pragma once

#include <chrono>
#include <cstdint>
#include <shared_mutex>

#include "weft/runtime.hpp"
#include "weft/time.hpp"
#include "weft/weft.h"

namespace weft {

using std::shared_lock;

class shared_mutex {
 public:
  using native_handle_type = weft_rwlock_t*;

  constexpr shared_mutex() noexcept = default;
  shared_mutex(const shared_mutex&) = delete;
  shared_mutex& operator=(const shared_mutex&) = delete;

  // For writing. Context: any; suspends. Throws CONTEXT (it would have to wait in a tasklet).
  void lock() { detail::check(weft_rwlock_wrlock(&lock_)); }
  bool try_lock() { return detail::check_unless(weft_rwlock_trywrlock(&lock_), WEFT_ERR_BUSY); }
  // Throws NOT_OWNER (it is not locked).
  void unlock() { detail::check(weft_rwlock_unlock(&lock_)); }

  // For reading. Context: as lock(). Throws also LIMIT (2^24 readers).
  void lock_shared() { detail::check(weft_rwlock_rdlock(&lock_)); }
  bool try_lock_shared() {
    return detail::check_unless(weft_rwlock_tryrdlock(&lock_), WEFT_ERR_BUSY);
  }
  void unlock_shared() { detail::check(weft_rwlock_unlock(&lock_)); }

  native_handle_type native_handle() noexcept { return &lock_; }

 private:
  weft_rwlock_t lock_ = WEFT_RWLOCK_INIT;
};

class shared_timed_mutex : private shared_mutex {
 public:
  using shared_mutex::native_handle_type;

  constexpr shared_timed_mutex() noexcept = default;

  using shared_mutex::lock;
  using shared_mutex::lock_shared;
  using shared_mutex::native_handle;
  using shared_mutex::try_lock;
  using shared_mutex::try_lock_shared;
  using shared_mutex::unlock;
  using shared_mutex::unlock_shared;

  // False: it could not be had in that time. Context and what they throw: as lock(), lock_shared().
  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& d) {
    return write_until(detail::deadline_after(d)) == WEFT_OK;
  }
  template <class Clock, class Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration>& t) {
    return detail::wait_until(t, [this](std::uint64_t at) { return write_until(at); }) == WEFT_OK;
  }
  template <class Rep, class Period>
  bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& d) {
    return read_until(detail::deadline_after(d)) == WEFT_OK;
  }
  template <class Clock, class Duration>
  bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration>& t) {
    return detail::wait_until(t, [this](std::uint64_t at) { return read_until(at); }) == WEFT_OK;
  }

 private:
  // OK or TIMEOUT.
  int write_until(std::uint64_t deadline) {
    const int error = weft_rwlock_wrlock_until(native_handle(), deadline);
    detail::check_unless(error, WEFT_ERR_TIMEOUT);
    return error;
  }
  int read_until(std::uint64_t deadline) {
    const int error = weft_rwlock_rdlock_until(native_handle(), deadline);
    detail::check_unless(error, WEFT_ERR_TIMEOUT);
    return error;
  }
};

}  // namespace weft
