// mutex_own.h: locking and unlocking a mutex that the caller's worker has to itself, in the program's own code: to call a function
// takes longer than what is to be done. weft::mutex and Weft's front-ends use it; programs do not. What it does is lock_own() and
// unlock_own() of src/sync/bias.hpp, in a section of its own ("guard up"); it belongs to the library of the same SONAME.
//
// Rejected: kernel-restartable sequences (rseq), which are no faster, need a kernel and a C library that have them, and cannot be
// stepped through in a debugger.
#ifndef WEFT_MUTEX_OWN_H
#define WEFT_MUTEX_OWN_H

#include "weft/sync.h"

#ifdef __cplusplus
extern "C" {
#endif

// Ends such a section where something is wanted of the caller, or the mutex is not to be had so.
WEFT_API __attribute__((cold)) void weft_own_leave(void);

#ifdef __cplusplus
}
#endif

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEFT_MUTEX_BY_CALLS
#endif
#endif
#if !defined(__x86_64__) || defined(__ILP32__) || defined(__SANITIZE_THREAD__)
#define WEFT_MUTEX_BY_CALLS
#endif

#ifdef WEFT_MUTEX_BY_CALLS

static inline int weft_own_lock(weft_mutex_t* mutex) { return weft_mutex_lock(mutex); }
static inline int weft_own_trylock(weft_mutex_t* mutex) { return weft_mutex_trylock(mutex); }
static inline int weft_own_unlock(weft_mutex_t* mutex) { return weft_mutex_unlock(mutex); }

#else

// Where the thread-local variable lies, from the thread pointer on: the same for all threads, so the compiler may keep it.
static inline long weft_own_offset(void) {
  long offset;
  __asm__("movq weft_rt_on_klt@gottpoff(%%rip), %0" : "=r"(offset));
  return offset;
}

// held: `from` -> `to`. Goes to a label where it has not done that: `missed` within the section, `elsewhere` without one, since the
// thread is no KLT, or the mutex no worker's: there each instruction before the locked one counts, since two workers that fight for a
// mutex take turns the more often, the longer it is free in between. To `wanted` where it has, and others want something.
//
//      %fs:weft_rt_on_klt   whether %gs points to this KLT's record
//      %gs:8    guard       the section begins with "in this mutex" (guard_in()), and ends with 0. A mutex of which this is 0
//                           belongs to no worker
//      %gs:12   attention   what others want
//      %gs:52   tag         of the worker
//      0(mutex) state       4(mutex) held
#define WEFT_OWN_CHANGE(mutex, from, to)                                                       \
  __asm__ goto(                                                                                \
      "cmpb $0, %%fs:(%1)\n\t"                                                                 \
      "je %l[elsewhere]\n\t"                                                                   \
      "cmpl $1024, (%0)\n\t"                                                                   \
      "jb %l[elsewhere]\n\t"                                                                   \
      "movl %k0, %%gs:8\n\t"                                                                   \
      "movl %%gs:52, %%ecx\n\t"                                                                \
      "cmpl %%ecx, (%0)\n\t"                                                                   \
      "jne %l[missed]\n\t"                                                                     \
      "cmpl $" #from ", 4(%0)\n\t"                                                             \
      "jne %l[missed]\n\t"                                                                     \
      "movl $" #to ", 4(%0)\n\t"                                                               \
      "movl $0, %%gs:8\n\t"                                                                    \
      "cmpl $0, %%gs:12\n\t"                                                                   \
      "jne %l[wanted]"                                                                         \
      :                                                                                        \
      : "r"(mutex), "r"(weft_own_offset())                                                     \
      : "rcx", "cc", "memory"                                                                  \
      : missed, elsewhere, wanted)

#define WEFT_OWN_FUNCTION(name, from, to, otherwise)  \
  static inline int name(weft_mutex_t* mutex) {       \
    WEFT_OWN_CHANGE(mutex, from, to);                 \
    return WEFT_OK;                                   \
  wanted:                                             \
    weft_own_leave();                                 \
    return WEFT_OK;                                   \
  missed:                                             \
    weft_own_leave();                                 \
  elsewhere:                                          \
    return otherwise(mutex);                          \
  }

WEFT_OWN_FUNCTION(weft_own_lock, 0, 1, weft_mutex_lock)
WEFT_OWN_FUNCTION(weft_own_trylock, 0, 1, weft_mutex_trylock)
WEFT_OWN_FUNCTION(weft_own_unlock, 1, 0, weft_mutex_unlock)

#undef WEFT_OWN_FUNCTION
#undef WEFT_OWN_CHANGE

#endif

#endif
