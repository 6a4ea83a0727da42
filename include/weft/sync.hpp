// sync.hpp: mutex, condition variable, barrier and event, between ULTs on any worker and KLTs at
// once. Waiters suspend (a KLT sleeps in the kernel). None of them needs the runtime to run, and
// all can be constants of static storage. Errors are thrown as weft::error.
#pragma once

#include <mutex>

#include "weft/runtime.hpp"
#include "weft/weft.h"

namespace weft {

// A std Lockable: for std::lock_guard, std::unique_lock, std::scoped_lock.
class mutex {
 public:
  using native_handle_type = weft_mutex_t*;

  constexpr mutex() noexcept = default;
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;

  // Context: any; suspends. Throws CONTEXT (held by another, and the caller is a tasklet).
  void lock() { detail::check(weft_mutex_lock(&mutex_)); }
  // Context: any; never blocks.
  bool try_lock() {
    const int error = weft_mutex_trylock(&mutex_);
    if (error == WEFT_ERR_BUSY) {
      return false;
    }
    detail::check(error);
    return true;
  }
  // Context: any. Throws NOT_OWNER (it is not locked).
  void unlock() { detail::check(weft_mutex_unlock(&mutex_)); }

  native_handle_type native_handle() noexcept { return &mutex_; }

 private:
  weft_mutex_t mutex_ = WEFT_MUTEX_INIT;
};

class condition_variable {
 public:
  using native_handle_type = weft_cond_t*;

  constexpr condition_variable() noexcept = default;
  condition_variable(const condition_variable&) = delete;
  condition_variable& operator=(const condition_variable&) = delete;

  // Unlocks, waits and locks again; may return without a notification. Context: ULT, KLT; suspends.
  // Throws CONTEXT (tasklet), NOT_OWNER (lock is not held).
  void wait(std::unique_lock<mutex>& lock) {
    if (!lock.owns_lock()) {
      detail::raise(WEFT_ERR_NOT_OWNER);
    }
    detail::check(weft_cond_wait(&cond_, lock.mutex()->native_handle()));
  }
  template <class P>
  void wait(std::unique_lock<mutex>& lock, P until) {
    while (!until()) {
      wait(lock);
    }
  }
  // Context: any; do not block.
  void notify_one() { detail::check(weft_cond_signal(&cond_)); }
  void notify_all() { detail::check(weft_cond_broadcast(&cond_)); }

  native_handle_type native_handle() noexcept { return &cond_; }

 private:
  weft_cond_t cond_ = WEFT_COND_INIT;
};

// Lets `participants` callers pass together, again and again.
class barrier {
 public:
  constexpr explicit barrier(unsigned participants) noexcept
      : barrier_ WEFT_BARRIER_INIT(participants) {}
  barrier(const barrier&) = delete;
  barrier& operator=(const barrier&) = delete;

  // True for one of the callers that pass together: the last to arrive. Context: ULT, KLT;
  // suspends.
  bool wait() {
    bool last = false;
    detail::check(weft_barrier_wait(&barrier_, &last));
    return last;
  }
  void arrive_and_wait() { wait(); }

 private:
  weft_barrier_t barrier_;
};

// Once set, waiters pass until it is reset.
class event {
 public:
  constexpr event() noexcept = default;
  event(const event&) = delete;
  event& operator=(const event&) = delete;

  // Context: ULT, KLT; suspends.
  void wait() { detail::check(weft_event_wait(&event_)); }
  // Context: any; do not block.
  void set() { detail::check(weft_event_set(&event_)); }
  void reset() { detail::check(weft_event_reset(&event_)); }
  bool is_set() const noexcept { return weft_event_is_set(&event_); }

 private:
  weft_event_t event_ = WEFT_EVENT_INIT;
};

}  // namespace weft
