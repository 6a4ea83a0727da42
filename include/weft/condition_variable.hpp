// condition_variable.hpp: waiting for a condition under a weft::mutex, or under any lock.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "weft/exit.hpp"
#include "weft/runtime.hpp"
#include "weft/stop_token.hpp"
#include "weft/sync.hpp"
#include "weft/time.hpp"
#include "weft/weft.h"

namespace weft {

using std::cv_status;

namespace detail {

// What a single wait says: false after TIMEOUT.
inline cv_status status_of(bool woken) { return woken ? cv_status::no_timeout : cv_status::timeout; }

}  // namespace detail

class condition_variable {
 public:
  using native_handle_type = weft_cond_t*;

  constexpr condition_variable() noexcept = default;
  condition_variable(const condition_variable&) = delete;
  condition_variable& operator=(const condition_variable&) = delete;

  // Unlocks, waits and locks again. Context: ULT, KLT; suspends.
  // Throws CONTEXT (tasklet), NOT_OWNER (lock is not held).
  void wait(std::unique_lock<mutex>& lock) { wait_deadline(lock, WEFT_NEVER); }
  template <class P>
  void wait(std::unique_lock<mutex>& lock, P until) {
    while (!until()) {
      wait(lock);
    }
  }

  // The same, no longer than until t, or for d. With a condition: whether it holds.
  template <class Clock, class Duration>
  cv_status wait_until(std::unique_lock<mutex>& lock,
                       const std::chrono::time_point<Clock, Duration>& t) {
    return detail::status_of(wait_deadline(lock, detail::deadline_at(t)) || !detail::is_past(t));
  }
  template <class Clock, class Duration, class P>
  bool wait_until(std::unique_lock<mutex>& lock, const std::chrono::time_point<Clock, Duration>& t,
                  P until) {
    while (!until()) {
      if (wait_until(lock, t) == cv_status::timeout) {
        return until();
      }
    }
    return true;
  }
  template <class Rep, class Period>
  cv_status wait_for(std::unique_lock<mutex>& lock, const std::chrono::duration<Rep, Period>& d) {
    return detail::status_of(wait_deadline(lock, detail::deadline_after(d)));
  }
  template <class Rep, class Period, class P>
  bool wait_for(std::unique_lock<mutex>& lock, const std::chrono::duration<Rep, Period>& d,
                P until) {
    const std::uint64_t deadline = detail::deadline_after(d);
    while (!until()) {
      if (!wait_deadline(lock, deadline)) {
        return until();
      }
    }
    return true;
  }

  // Context: any; do not block.
  void notify_one() noexcept { static_cast<void>(weft_cond_signal(&cond_)); }
  void notify_all() noexcept { static_cast<void>(weft_cond_broadcast(&cond_)); }

  native_handle_type native_handle() noexcept { return &cond_; }

 private:
  bool wait_deadline(std::unique_lock<mutex>& lock, std::uint64_t deadline) {
    if (!lock.owns_lock()) {
      detail::raise(WEFT_ERR_NOT_OWNER);
    }
    return detail::check_unless(
        weft_cond_wait_until(&cond_, lock.mutex()->native_handle(), deadline), WEFT_ERR_TIMEOUT);
  }

  weft_cond_t cond_ = WEFT_COND_INIT;
};

// When the calling thread ends (exit.hpp says when that is): notifies all, and unlocks.
// Context: ULT, KLT. Throws std::bad_alloc, weft::error (NOT_OWNER: lock is not held; LIMIT).
inline void notify_all_at_thread_exit(condition_variable& condition,
                                      std::unique_lock<mutex> lock) {
  if (!lock.owns_lock()) {
    detail::raise(WEFT_ERR_NOT_OWNER);
  }
  mutex* held = lock.mutex();
  detail::at_thread_exit([&condition, held]() noexcept {
    // Notified first: who locks the mutex after us may destroy both.
    condition.notify_all();
    held->unlock();
  });
  lock.release();
}

// With any lock. A notification passes a mutex of its own, which waiters hold while they queue: so in a
// tasklet notify_one() and notify_all() may throw CONTEXT, and they may suspend a ULT for a moment.
class condition_variable_any {
 public:
  condition_variable_any() : inner_(std::make_shared<mutex>()) {}
  condition_variable_any(const condition_variable_any&) = delete;
  condition_variable_any& operator=(const condition_variable_any&) = delete;

  // Unlocks, waits and locks again; an exception of lock() ends the program.
  // Context: ULT, KLT; suspends. Throws CONTEXT (tasklet).
  template <class Lock>
  void wait(Lock& lock) {
    wait_deadline(lock, WEFT_NEVER, [] { return false; });
  }
  template <class Lock, class P>
  void wait(Lock& lock, P until) {
    while (!until()) {
      wait(lock);
    }
  }

  // The same, no longer than until t, or for d. With a condition: whether it holds.
  template <class Lock, class Clock, class Duration>
  cv_status wait_until(Lock& lock, const std::chrono::time_point<Clock, Duration>& t) {
    return wait_until_unless(lock, t, [] { return false; });
  }
  template <class Lock, class Clock, class Duration, class P>
  bool wait_until(Lock& lock, const std::chrono::time_point<Clock, Duration>& t, P until) {
    while (!until()) {
      if (wait_until(lock, t) == cv_status::timeout) {
        return until();
      }
    }
    return true;
  }
  template <class Lock, class Rep, class Period>
  cv_status wait_for(Lock& lock, const std::chrono::duration<Rep, Period>& d) {
    return detail::status_of(
        wait_deadline(lock, detail::deadline_after(d), [] { return false; }));
  }
  template <class Lock, class Rep, class Period, class P>
  bool wait_for(Lock& lock, const std::chrono::duration<Rep, Period>& d, P until) {
    const std::uint64_t deadline = detail::deadline_after(d);
    while (!until()) {
      if (!wait_deadline(lock, deadline, [] { return false; })) {
        return until();
      }
    }
    return true;
  }

  // The same, no longer than until stop is requested. Whether the condition holds.
  template <class Lock, class P>
  bool wait(Lock& lock, stop_token token, P until) {
    return wait_stoppable(token, until, [&](auto stopped) {
      return wait_deadline(lock, WEFT_NEVER, stopped);
    });
  }
  template <class Lock, class Clock, class Duration, class P>
  bool wait_until(Lock& lock, stop_token token,
                  const std::chrono::time_point<Clock, Duration>& t, P until) {
    return wait_stoppable(token, until, [&](auto stopped) {
      return wait_until_unless(lock, t, stopped) == cv_status::no_timeout;
    });
  }
  template <class Lock, class Rep, class Period, class P>
  bool wait_for(Lock& lock, stop_token token, const std::chrono::duration<Rep, Period>& d,
                P until) {
    return wait_stoppable(token, until,
                          [&, deadline = detail::deadline_after(d)](auto stopped) {
                            return wait_deadline(lock, deadline, stopped);
                          });
  }

  void notify_one() {
    const std::lock_guard queue(*inner_);
    detail::check(weft_cond_signal(&cond_));
  }
  void notify_all() {
    const std::lock_guard queue(*inner_);
    detail::check(weft_cond_broadcast(&cond_));
  }

 private:
  // Unlocked while it lives.
  template <class Lock>
  class unlocked {
   public:
    explicit unlocked(Lock& lock) : lock_(lock) { lock.unlock(); }
    unlocked(const unlocked&) = delete;
    unlocked& operator=(const unlocked&) = delete;
    ~unlocked() { lock_.lock(); }

   private:
    Lock& lock_;
  };

  // One wait, unless skip() once the caller is sure of being notified. False: the deadline came first.
  template <class Lock, class Skip>
  bool wait_deadline(Lock& lock, std::uint64_t deadline, Skip skip) {
    // A copy: once all are notified the object may be destroyed, and the waiters still lock this.
    const std::shared_ptr<mutex> inner = inner_;
    std::unique_lock<mutex> queue(*inner);
    if (skip()) {
      return true;
    }
    const unlocked<Lock> outside(lock);
    const std::unique_lock<mutex> given_back(std::move(queue));  // before `lock` is locked again
    return detail::check_unless(weft_cond_wait_until(&cond_, inner->native_handle(), deadline),
                                WEFT_ERR_TIMEOUT);
  }

  template <class Lock, class Clock, class Duration, class Skip>
  cv_status wait_until_unless(Lock& lock, const std::chrono::time_point<Clock, Duration>& t,
                              Skip skip) {
    return detail::status_of(wait_deadline(lock, detail::deadline_at(t), skip) ||
                             !detail::is_past(t));
  }

  // wait_once(stopped): one wait, unless stopped(); false: the deadline came first.
  template <class P, class Wait>
  bool wait_stoppable(const stop_token& token, P& until, Wait wait_once) {
    const stop_callback wake(token, [this] { notify_all(); });
    const auto stopped = [&token] { return token.stop_requested(); };
    while (!stopped()) {
      if (until()) {
        return true;
      }
      if (!wait_once(stopped)) {
        break;
      }
    }
    return until();
  }

  std::shared_ptr<mutex> inner_;
  weft_cond_t cond_ = WEFT_COND_INIT;
};

}  // namespace weft
