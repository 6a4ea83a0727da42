// mutex.hpp: what is behind an ABT_mutex.
#pragma once

#include "front/front.hpp"
#include "wait.hpp"

namespace weft::abt {

// The int in front of it, the first of ABT_mutex_memory, says whether it is recursive; if not, only its `mutex` is used.
using Mutex = weft_recursive_mutex_t;

// Tasklets, schedulers, pools and spinlocks wait for it with their whole ES, so a ULT must not be handed it before it runs.
// Whoever is about to wait says so, and where the mutex lies, in words: in the program's memory all begins with 0.
inline void expect_waiters(ABT_mutex handle) noexcept {
  Mutex& mutex = within<Mutex>(handle);
  front::mutex_open(&mutex.mutex, distance_of(&mutex, handle) / sizeof(int));
}

inline bool is_recursive(ABT_mutex handle) noexcept { return *reinterpret_cast<const int*>(handle) != 0; }
inline Mutex& mutex_of(ABT_mutex handle) noexcept { return within<Mutex>(handle); }

}  // namespace weft::abt
