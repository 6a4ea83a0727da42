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
[[gnu::noinline, gnu::cold]] void acquire_seen(Lock& lock, unsigned hint, const void* from, void* frame) {
  const tool::Entry entry(from, frame);
  tool::mutex_wanted(kind, &lock, hint);
  lock_acquire(lock);
  tool::mutex_taken(kind, &lock);
}

// from, frame: WEFT_OMP_CALLER.
template <ompt_mutex_t kind>
[[gnu::always_inline]] inline void call_acquire(Lock& lock, unsigned hint, const void* from, void* frame) {
  tool::there() ? acquire_seen<kind>(lock, hint, from, frame) : lock_acquire(lock);
}

inline bool call_try(Lock& lock) {
  if (tool::there()) tool::mutex_wanted(ompt_mutex_test_lock, &lock);
  const bool taken = lock_try(lock);
  if (tool::there()) taken ? tool::mutex_taken(ompt_mutex_test_lock, &lock) : tool::mutex_missed();
  return taken;
}

template <ompt_mutex_t kind>
[[gnu::noinline, gnu::cold]] void release_seen(Lock& lock, const void* from, void* frame) {
  const tool::Entry entry(from, frame);
  lock_release(lock);
  tool::mutex_left(kind, &lock);
}

template <ompt_mutex_t kind>
[[gnu::always_inline]] inline void call_release(Lock& lock, const void* from, void* frame) {
  tool::there() ? release_seen<kind>(lock, from, frame) : lock_release(lock);
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
