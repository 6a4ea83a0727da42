// bias.hpp: a mutex that one worker has to itself, for as long as nobody else comes. Protocol and proof: README.md,
// "Bias".
//
// Idea: of what a program locks, most is never wanted by two workers. Units of one worker cannot run at the same
// time, so between them plain loads and stores will do, in a critical section. The first that comes from elsewhere pays
// for all: one membarrier().
// Rejected: to give a mutex back to a worker later (it would have to be known that no section of an earlier
// one is still on its way).
#pragma once

#include <atomic>

#include "sync/mutex.hpp"

namespace weft::rt {

// While a mutex is ordinary, `held` is a guess at who holds it: the KLT on which it was locked; 0: another thread. Nothing but speed
// depends on it.
inline uint32_t this_klt() noexcept {
  return klt_register_valid() ? static_cast<uint32_t>(reinterpret_cast<uintptr_t>(klt_self()) / alignof(Klt)) : 0;
}

inline void note_holder(Mutex& mutex) noexcept { mutex.held.store(this_klt(), std::memory_order_relaxed); }

inline bool held_here(const Mutex& mutex) noexcept {
  const uint32_t klt = this_klt();
  return klt != 0 && mutex.held.load(std::memory_order_relaxed) == klt;
}

// Both: a section of the worker that `state` names, with the guard raised by guard_try_enter_in() or guard_come_in(): then whoever
// takes the bias away waits until it is over, or is seen. False: nothing was done: the bias is not this worker's (any more), or the
// mutex is held (not held). Acquire and release of `held`: the units of the worker, and whoever takes the bias away, see what was done
// under the mutex.
[[gnu::always_inline]] inline bool lock_own(const Worker* worker, Mutex& mutex) noexcept {
  if (mutex.state.load(std::memory_order_acquire) != worker->tag) return false;
  if (mutex.held.load(std::memory_order_acquire) != held::kNo) return false;
  mutex.held.store(held::kYes, std::memory_order_release);
  return true;
}

[[gnu::always_inline]] inline bool unlock_own(const Worker* worker, Mutex& mutex) noexcept {
  if (mutex.state.load(std::memory_order_acquire) != worker->tag) return false;
  if (mutex.held.load(std::memory_order_relaxed) != held::kYes) return false;
  mutex.held.store(held::kNo, std::memory_order_release);  // the last access
  return true;
}

// The same for who has its guard up already. `seen`: a biased state.
[[gnu::always_inline]] inline bool lock_biased(const Worker* worker, Mutex& mutex, uint32_t seen) noexcept {
  if (seen != worker->tag) return false;
  guard_come_in(&mutex);
  const bool locked = lock_own(worker, mutex);
  guard_go_out();
  return locked;
}

[[gnu::always_inline]] inline bool unlock_biased(const Worker* worker, Mutex& mutex, uint32_t seen) noexcept {
  if (seen != worker->tag) return false;
  guard_come_in(&mutex);
  const bool unlocked = unlock_own(worker, mutex);
  guard_go_out();
  return unlocked;
}

// The calling KLT, in a section of `worker`: from here on the program's own code locks and unlocks that one's mutexes, as long as the
// thread carries it. ThreadSanitizer would not see what that does.
void know_tag(const Worker* worker) noexcept;

// From here on: guard up, unless worker is null: the caller is no KLT of Weft.

// The caller holds the mutex, which has never been biased and was locked without waiting: counts that for the worker,
// and gives it the mutex when its units have come often enough.
void count_towards_bias(const Worker* worker, Mutex& mutex) noexcept;

// The holder of a mutex that has never been biased is a unit of that worker.
inline bool was_counted_for(const Worker* worker, const Mutex& mutex) noexcept {
  return worker != nullptr && (mutex.held.load(std::memory_order_relaxed) ^ worker->tag) < 1u << kTagShift;
}

// Makes it an ordinary mutex, held or not as it is.
void take_bias_away(const Worker* worker, Mutex& mutex) noexcept;

}  // namespace weft::rt
