// lock.hpp: OpenMP's locks in the program's memory, and critical sections.
//
// A plain lock fits in 4 bytes, and a nestable one in 8, so that one implementation serves both compilers' headers.
// Whoever waits suspends, whatever unit or thread it is. Without contention each call is one locked instruction.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::omp {

// 4 bytes, 0: free. See lock.cpp.
struct Lock {
  static constexpr uint32_t kFree = 0, kLocked = 1;
  std::atomic<uint32_t> word;
};
void lock_acquire_slowly(Lock& lock);
void lock_release_slowly(Lock& lock);
bool lock_try(Lock& lock);

inline void lock_acquire(Lock& lock) {
  uint32_t word = Lock::kFree;
  // Acquire, pairs with the release of whoever had it.
  const bool taken = lock.word.compare_exchange_strong(word, Lock::kLocked, std::memory_order_acquire, std::memory_order_relaxed);
  if (!__builtin_expect(taken, 1)) lock_acquire_slowly(lock);
}
inline void lock_release(Lock& lock) {
  uint32_t word = Lock::kLocked;
  // Release, pairs with the acquire of whoever has it next.
  const bool free = lock.word.compare_exchange_strong(word, Lock::kFree, std::memory_order_release, std::memory_order_relaxed);
  if (!__builtin_expect(free, 1)) lock_release_slowly(lock);
}

// 8 bytes, 0: free. Owned by a task: its address and the count are in the word.
struct NestLock {
  std::atomic<uint64_t> word;
};
int nest_acquire(NestLock& lock);
int nest_try(NestLock& lock);  // 0: somebody else has it; else the count
int nest_release(NestLock& lock);

extern Lock nameless_lock;
// The lock of a critical section's name: `cell` is the compiler's, 8 zero bytes at first. Null: the nameless one.
inline Lock& critical_lock(void* cell) { return cell != nullptr ? *static_cast<Lock*>(cell) : nameless_lock; }
// GOMP_atomic_start(), and what else has no name.
extern Lock atomic_lock;

}  // namespace weft::omp
