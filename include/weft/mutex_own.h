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

// Where something is wanted of the caller.
WEFT_API __attribute__((cold)) void weft_own_leave(void);
// weft_mutex_unlock() of one that may be the caller's worker's, but that is not known here yet.
WEFT_API __attribute__((cold)) int weft_own_unlock_missed(weft_mutex_t* mutex);

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

// Where weft_rt_own lies, from the thread pointer on: the same for all threads, so the compiler may keep it.
static inline long weft_own_offset(void) {
  long offset;
  __asm__("movq weft_rt_own@gottpoff(%%rip), %0" : "=r"(offset));
  return offset;
}

//      %fs:weft_rt_own      mutex: the section begins with "in this mutex" (guard_in()), and ends with 0. A mutex of which this is 0
//                           belongs to no worker
//      %fs:weft_rt_own + 4  tag: of the worker that the thread carries, or none
//      %gs:12               attention: what others want. Only where the thread carries a worker
//      0(mutex) state       4(mutex) held
//
// Each part goes to a label where it does not get on: `elsewhere` before the section, `missed` in it.

// For who finds that a mutex is no worker's each instruction before the locked one counts: two workers that fight for it take
// turns the more often, the longer it is free, or held. Hence the first look, at `state` or `held`. It need not be done anew for who
// unlocks: he holds it.
#define WEFT_OWN_LOCK(mutex)                                        \
  __asm__ goto(                                                     \
      "cmpl $1024, (%0)\n\t"                                        \
      "jb %l[elsewhere]\n\t"                                        \
      "movl %k0, %%fs:(%1)\n\t"                                     \
      "movl %%fs:4(%1), %%ecx\n\t"                                  \
      "cmpl %%ecx, (%0)\n\t"                                        \
      "jne %l[missed]\n\t"                                          \
      "cmpl $0, 4(%0)\n\t"                                          \
      "jne %l[missed]\n\t"                                          \
      "movl $1, 4(%0)\n\t"                                          \
      "movl $0, %%fs:(%1)"                                          \
      :                                                             \
      : "r"(mutex), "r"(weft_own_offset())                          \
      : "rcx", "cc", "memory"                                       \
      : missed, elsewhere)

// Then to `wanted` where others want something; who locks leaves that to his unlock.
#define WEFT_OWN_UNLOCK(mutex)                                      \
  __asm__ goto(                                                     \
      "cmpl $1, 4(%0)\n\t"                                          \
      "jne %l[elsewhere]\n\t"                                       \
      "movl %k0, %%fs:(%1)\n\t"                                     \
      "movl %%fs:4(%1), %%ecx\n\t"                                  \
      "cmpl %%ecx, (%0)\n\t"                                        \
      "jne %l[missed]\n\t"                                          \
      "movl $0, 4(%0)\n\t"                                          \
      "movl $0, %%fs:(%1)\n\t"                                      \
      "cmpl $0, %%gs:12\n\t"                                        \
      "jne %l[wanted]"                                              \
      :                                                             \
      : "r"(mutex), "r"(weft_own_offset())                          \
      : "rcx", "cc", "memory"                                       \
      : missed, elsewhere, wanted)

#define WEFT_OWN_END() __asm__ volatile("movl $0, %%fs:(%0)" : : "r"(weft_own_offset()) : "memory")

static inline int weft_own_lock(weft_mutex_t* mutex) {
  WEFT_OWN_LOCK(mutex);
  return WEFT_OK;
missed:
  WEFT_OWN_END();
elsewhere:
  return weft_mutex_lock(mutex);
}

static inline int weft_own_trylock(weft_mutex_t* mutex) {
  WEFT_OWN_LOCK(mutex);
  return WEFT_OK;
missed:
  WEFT_OWN_END();
elsewhere:
  return weft_mutex_trylock(mutex);
}

static inline int weft_own_unlock(weft_mutex_t* mutex) {
  WEFT_OWN_UNLOCK(mutex);
  return WEFT_OK;
wanted:
  weft_own_leave();
  return WEFT_OK;
missed:
  WEFT_OWN_END();
  return weft_own_unlock_missed(mutex);
elsewhere:
  return weft_mutex_unlock(mutex);
}

#undef WEFT_OWN_LOCK
#undef WEFT_OWN_UNLOCK
#undef WEFT_OWN_END

#endif

#endif
