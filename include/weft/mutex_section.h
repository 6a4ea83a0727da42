/* mutex_section.h: how a mutex that the caller's worker has to itself is locked and unlocked in the program's own code, for mutex_own.h
 * and abt.h; programs do not use it. It is lock_own() and unlock_own() of src/sync/bias.hpp, in a section of its own ("guard up";
 * src/klt/README.md).
 *
 * Rejected: kernel-restartable sequences (rseq), which are no faster, need a kernel and a C library that have them, and cannot be
 * stepped through in a debugger. */
#ifndef WEFT_MUTEX_SECTION_H
#define WEFT_MUTEX_SECTION_H

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEFT_MUTEX_BY_CALLS
#endif
#endif
#if !defined(__x86_64__) || defined(__ILP32__) || defined(__SANITIZE_THREAD__)
#define WEFT_MUTEX_BY_CALLS
#endif

/* In each place; what has the name of a function of the library is that elsewhere. */
#define WEFT_OWN_INLINE extern __inline __attribute__((__gnu_inline__, __always_inline__, __artificial__))

#ifndef WEFT_MUTEX_BY_CALLS

/*      %fs:(own)            mutex: the section begins with "in this mutex" (guard_in()), and ends with 0. A mutex of which this is 0
 *                           belongs to no worker
 *      %fs:4(own)           tag: of the worker that the thread carries, or none
 *      %gs:12               attention: what others want. Only where the thread carries a worker. 1 (attention::kHungry) is for who pushes
 *                           units: it may stand there all the time
 *      0(mutex) state       4(mutex) held
 *
 * `own`: where weft_rt_own lies, from the thread pointer on. Each part goes to a label where it does not get on: `elsewhere` before the
 * section, `missed` in it.
 *
 * For who finds that a mutex is no worker's each instruction before the locked one counts: two workers that fight for it take
 * turns the more often, the longer it is free, or held. Hence the first look, at `state` or `held`. It need not be done anew for who
 * unlocks: he holds it.
 *
 * Both syntaxes, since a program may be compiled for either. */
#define WEFT_OWN_LOCK(mutex, own)                                             \
  __asm__ goto(                                                               \
      "cmp{l $1024, (%0)| DWORD PTR [%0], 1024}\n\t"                          \
      "jb %l[elsewhere]\n\t"                                                  \
      "mov{l %k0, %%fs:(%1)| DWORD PTR fs:[%1], %k0}\n\t"                     \
      "mov{l %%fs:4(%1), %%ecx| ecx, DWORD PTR fs:[%1 + 4]}\n\t"              \
      "cmp{l %%ecx, (%0)| DWORD PTR [%0], ecx}\n\t"                           \
      "jne %l[missed]\n\t"                                                    \
      "cmp{l $0, 4(%0)| DWORD PTR [%0 + 4], 0}\n\t"                           \
      "jne %l[missed]\n\t"                                                    \
      "mov{l $1, 4(%0)| DWORD PTR [%0 + 4], 1}\n\t"                           \
      "mov{l $0, %%fs:(%1)| DWORD PTR fs:[%1], 0}"                            \
      :                                                                       \
      : "r"(mutex), "r"(own)                                                  \
      : "rcx", "cc", "memory"                                                 \
      : missed, elsewhere)

/* Then to `wanted` where others want something; who locks leaves that to his unlock. */
#define WEFT_OWN_UNLOCK(mutex, own)                                           \
  __asm__ goto(                                                               \
      "cmp{l $1, 4(%0)| DWORD PTR [%0 + 4], 1}\n\t"                           \
      "jne %l[elsewhere]\n\t"                                                 \
      "mov{l %k0, %%fs:(%1)| DWORD PTR fs:[%1], %k0}\n\t"                     \
      "mov{l %%fs:4(%1), %%ecx| ecx, DWORD PTR fs:[%1 + 4]}\n\t"              \
      "cmp{l %%ecx, (%0)| DWORD PTR [%0], ecx}\n\t"                           \
      "jne %l[missed]\n\t"                                                    \
      "mov{l $0, 4(%0)| DWORD PTR [%0 + 4], 0}\n\t"                           \
      "mov{l $0, %%fs:(%1)| DWORD PTR fs:[%1], 0}\n\t"                        \
      "test{l $-2, %%gs:12| DWORD PTR gs:12, -2}\n\t"                         \
      "jne %l[wanted]"                                                        \
      :                                                                       \
      : "r"(mutex), "r"(own)                                                  \
      : "rcx", "cc", "memory"                                                 \
      : missed, elsewhere, wanted)

#define WEFT_OWN_END(own) __asm__ volatile("mov{l $0, %%fs:(%0)| DWORD PTR fs:[%0], 0}" : : "r"(own) : "memory")

#endif

#endif
