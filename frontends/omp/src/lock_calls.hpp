// lock_calls.hpp: the program's calls of locks, with what a tool is told of them.
#pragma once

#include "lock.hpp"
#include "tool.hpp"

namespace weft::omp {

template <ompt_mutex_t kind, class AnyLock>
void call_init(AnyLock& lock, unsigned hint = 0) {
  lock.word.store(0, std::memory_order_relaxed);
  if (tool::there()) tool::lock_made(kind, &lock, hint);
}

template <ompt_mutex_t kind, class AnyLock>
void call_destroy(AnyLock& lock) {
  if (tool::there()) tool::lock_gone(kind, &lock);
}

template <ompt_mutex_t kind>
void call_acquire(Lock& lock, unsigned hint = 0) {
  if (tool::there()) tool::mutex_wanted(kind, &lock, hint);
  lock_acquire(lock);
  if (tool::there()) tool::mutex_taken(kind, &lock);
}

inline bool call_try(Lock& lock) {
  if (tool::there()) tool::mutex_wanted(ompt_mutex_test_lock, &lock);
  const bool taken = lock_try(lock);
  if (tool::there()) taken ? tool::mutex_taken(ompt_mutex_test_lock, &lock) : tool::mutex_missed();
  return taken;
}

template <ompt_mutex_t kind>
void call_release(Lock& lock) {
  lock_release(lock);
  if (tool::there()) tool::mutex_left(kind, &lock);
}

inline void call_acquire(NestLock& lock) {
  if (tool::there()) tool::mutex_wanted(ompt_mutex_nest_lock, &lock);
  const int count = nest_acquire(lock);
  if (tool::there()) count == 1 ? tool::mutex_taken(ompt_mutex_nest_lock, &lock) : tool::nest_changed(ompt_scope_begin, &lock);
}

inline int call_try(NestLock& lock) {
  if (tool::there()) tool::mutex_wanted(ompt_mutex_test_nest_lock, &lock);
  const int count = nest_try(lock);
  if (tool::there()) {
    if (count == 0) tool::mutex_missed();
    if (count == 1) tool::mutex_taken(ompt_mutex_test_nest_lock, &lock);
    if (count > 1) tool::nest_changed(ompt_scope_begin, &lock);
  }
  return count;
}

inline void call_release(NestLock& lock) {
  const int count = nest_release(lock);
  if (tool::there()) count == 0 ? tool::mutex_left(ompt_mutex_nest_lock, &lock) : tool::nest_changed(ompt_scope_end, &lock);
}

}  // namespace weft::omp
