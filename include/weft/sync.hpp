// sync.hpp: mutexes and the event, between ULTs on any worker and KLTs at once. Waiters suspend (a KLT
// sleeps in the kernel). None of them needs the runtime to run, and all can be constants of static
// storage. Errors are thrown as weft::error. The locks of <mutex> work with them, and can be named as
// weft's: weft::lock_guard is std::lock_guard.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>

#include "weft/mutex_own.h"
#include "weft/runtime.hpp"
#include "weft/time.hpp"
#include "weft/weft.h"

namespace weft {

using std::adopt_lock;
using std::adopt_lock_t;
using std::defer_lock;
using std::defer_lock_t;
using std::lock;
using std::lock_guard;
using std::scoped_lock;
using std::try_lock;
using std::try_to_lock;
using std::try_to_lock_t;
using std::unique_lock;

class mutex {
 public:
  using native_handle_type = weft_mutex_t*;

  constexpr mutex() noexcept = default;
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;

  // Context: any; suspends. Throws CONTEXT (held by another, and the caller is a tasklet).
  void lock() { detail::check(weft_own_lock(&mutex_)); }
  // Context: any; never blocks.
  bool try_lock() { return detail::check_unless(weft_own_trylock(&mutex_), WEFT_ERR_BUSY); }
  // Context: any. Throws NOT_OWNER (it is not locked).
  void unlock() { detail::check(weft_own_unlock(&mutex_)); }

  native_handle_type native_handle() noexcept { return &mutex_; }

 private:
  weft_mutex_t mutex_ = WEFT_MUTEX_INIT;
};

class timed_mutex : private mutex {
 public:
  using mutex::native_handle_type;

  constexpr timed_mutex() noexcept = default;

  using mutex::lock;
  using mutex::native_handle;
  using mutex::try_lock;
  using mutex::unlock;
  // False: it could not be had in that time. Context and what they throw: as lock().
  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& d) {
    return detail::check_unless(weft_mutex_lock_until(native_handle(), detail::deadline_after(d)),
                                WEFT_ERR_TIMEOUT);
  }
  template <class Clock, class Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration>& t) {
    const auto lock_until = [this](std::uint64_t deadline) {
      return weft_mutex_lock_until(native_handle(), deadline);
    };
    return detail::check_unless(detail::wait_until(t, lock_until), WEFT_ERR_TIMEOUT);
  }
};

// Its holder, a unit or a KLT, may lock it again, and unlocks it as often.
class recursive_mutex {
 public:
  using native_handle_type = weft_recursive_mutex_t*;

  constexpr recursive_mutex() noexcept = default;
  recursive_mutex(const recursive_mutex&) = delete;
  recursive_mutex& operator=(const recursive_mutex&) = delete;

  // Context: any; suspends. Throws CONTEXT as mutex::lock(), LIMIT (held 2^32 - 1 times).
  void lock() { detail::check(weft_recursive_mutex_lock(&mutex_)); }
  bool try_lock() {
    return detail::check_unless(weft_recursive_mutex_trylock(&mutex_), WEFT_ERR_BUSY);
  }
  // Throws NOT_OWNER (it is not locked, or is another's).
  void unlock() { detail::check(weft_recursive_mutex_unlock(&mutex_)); }

  native_handle_type native_handle() noexcept { return &mutex_; }

 private:
  weft_recursive_mutex_t mutex_ = WEFT_RECURSIVE_MUTEX_INIT;
};

class recursive_timed_mutex : private recursive_mutex {
 public:
  using recursive_mutex::native_handle_type;

  constexpr recursive_timed_mutex() noexcept = default;

  using recursive_mutex::lock;
  using recursive_mutex::native_handle;
  using recursive_mutex::try_lock;
  using recursive_mutex::unlock;
  // As those of timed_mutex.
  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& d) {
    return detail::check_unless(
        weft_recursive_mutex_lock_until(native_handle(), detail::deadline_after(d)),
        WEFT_ERR_TIMEOUT);
  }
  template <class Clock, class Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration>& t) {
    const auto lock_until = [this](std::uint64_t deadline) {
      return weft_recursive_mutex_lock_until(native_handle(), deadline);
    };
    return detail::check_unless(detail::wait_until(t, lock_until), WEFT_ERR_TIMEOUT);
  }
};

// Once set, waiters pass until it is reset.
class event {
 public:
  using native_handle_type = weft_event_t*;

  constexpr event() noexcept = default;
  event(const event&) = delete;
  event& operator=(const event&) = delete;

  // Context: ULT, KLT; suspends.
  void wait() { detail::check(weft_event_wait(&event_)); }
  // False: it was not set in that time. Context: as wait().
  template <class Rep, class Period>
  bool wait_for(const std::chrono::duration<Rep, Period>& d) {
    return detail::check_unless(weft_event_wait_until(&event_, detail::deadline_after(d)),
                                WEFT_ERR_TIMEOUT);
  }
  template <class Clock, class Duration>
  bool wait_until(const std::chrono::time_point<Clock, Duration>& t) {
    const auto wait = [this](std::uint64_t deadline) {
      return weft_event_wait_until(&event_, deadline);
    };
    return detail::check_unless(detail::wait_until(t, wait), WEFT_ERR_TIMEOUT);
  }
  // Context: any; do not block.
  void set() { detail::check(weft_event_set(&event_)); }
  void reset() { detail::check(weft_event_reset(&event_)); }
  bool is_set() const noexcept { return weft_event_is_set(&event_); }

  // For what weft.h adds: a value, and waiting for any of several.
  native_handle_type native_handle() noexcept { return &event_; }

 private:
  weft_event_t event_ = WEFT_EVENT_INIT;
};

}  // namespace weft
