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
  std::atomic<uint32_t> word;
};
void lock_acquire(Lock& lock);
bool lock_try(Lock& lock);
void lock_release(Lock& lock);

// 8 bytes, 0: free. Owned by a task: its address and the count are in the word.
struct NestLock {
  std::atomic<uint64_t> word;
};
int nest_acquire(NestLock& lock);
int nest_try(NestLock& lock);  // 0: somebody else has it; else the count
int nest_release(NestLock& lock);

// The lock of a critical section's name: `cell` is the compiler's, 8 zero bytes at first. Null: the nameless one.
Lock& critical_lock(void* cell);
// GOMP_atomic_start(), and what else has no name.
Lock& atomic_lock();

}  // namespace weft::omp
