// mutex_own.h: locking and unlocking a mutex that the caller's worker has to itself, in the program's own code: to call a function
// takes longer than what is to be done. sync.h, weft::mutex and Weft's front-ends use it; programs do not. It belongs to the library of
// the same SONAME.
#ifndef WEFT_MUTEX_OWN_H
#define WEFT_MUTEX_OWN_H

#include "weft/mutex_section.h"
#include "weft/sync.h"

#ifdef __cplusplus
extern "C" {
#endif

// Where something is wanted of the caller.
WEFT_API __attribute__((cold)) void weft_own_leave(void);
// weft_mutex_unlock() of one that may be the caller's worker's, but that is not known here yet.
WEFT_API __attribute__((cold)) int weft_own_unlock_missed(weft_mutex_t* mutex);
// weft_mutex_lock() and its like by another name, since sync.h has inline functions of theirs. (By an asm label clang takes the inline
// function and that for one.)
WEFT_API __attribute__((nothrow)) int weft_own_call_lock(weft_mutex_t* mutex);
WEFT_API __attribute__((nothrow)) int weft_own_call_trylock(weft_mutex_t* mutex);
WEFT_API __attribute__((nothrow)) int weft_own_call_unlock(weft_mutex_t* mutex);

#ifdef __cplusplus
}
#endif

#ifdef WEFT_MUTEX_BY_CALLS

WEFT_OWN_INLINE int weft_own_lock(weft_mutex_t* mutex) { return weft_own_call_lock(mutex); }
WEFT_OWN_INLINE int weft_own_trylock(weft_mutex_t* mutex) { return weft_own_call_trylock(mutex); }
WEFT_OWN_INLINE int weft_own_unlock(weft_mutex_t* mutex) { return weft_own_call_unlock(mutex); }

#else

// Where weft_rt_own lies, from the thread pointer on: the same for all threads, so the compiler may keep it.
WEFT_OWN_INLINE long weft_own_offset(void) {
  long offset;
  __asm__("mov{q weft_rt_own@gottpoff(%%rip), %0| %0, QWORD PTR weft_rt_own@gottpoff[rip]}" : "=r"(offset));
  return offset;
}

WEFT_OWN_INLINE int weft_own_lock(weft_mutex_t* mutex) {
  WEFT_OWN_LOCK(mutex, weft_own_offset());
  return WEFT_OK;
missed:
  WEFT_OWN_END(weft_own_offset());
elsewhere:
  return weft_own_call_lock(mutex);
}

WEFT_OWN_INLINE int weft_own_trylock(weft_mutex_t* mutex) {
  WEFT_OWN_LOCK(mutex, weft_own_offset());
  return WEFT_OK;
missed:
  WEFT_OWN_END(weft_own_offset());
elsewhere:
  return weft_own_call_trylock(mutex);
}

WEFT_OWN_INLINE int weft_own_unlock(weft_mutex_t* mutex) {
  WEFT_OWN_UNLOCK(mutex, weft_own_offset());
  return WEFT_OK;
wanted:
  weft_own_leave();
  return WEFT_OK;
missed:
  WEFT_OWN_END(weft_own_offset());
  return weft_own_unlock_missed(mutex);
elsewhere:
  return weft_own_call_unlock(mutex);
}

#endif

// Of C programs, and of C++ programs that use these. The functions' addresses are the library's.
#if defined(__OPTIMIZE__) && !defined(WEFT_LOCK_BY_CALLS) && !defined(__EDG__)

#ifdef __cplusplus
extern "C" {
#endif

WEFT_OWN_INLINE int weft_mutex_lock(weft_mutex_t* mutex) {
  return mutex != NULL ? weft_own_lock(mutex) : weft_own_call_lock(mutex);
}
WEFT_OWN_INLINE int weft_mutex_trylock(weft_mutex_t* mutex) {
  return mutex != NULL ? weft_own_trylock(mutex) : weft_own_call_trylock(mutex);
}
WEFT_OWN_INLINE int weft_mutex_unlock(weft_mutex_t* mutex) {
  return mutex != NULL ? weft_own_unlock(mutex) : weft_own_call_unlock(mutex);
}

#ifdef __cplusplus
}
#endif

#endif

#endif
