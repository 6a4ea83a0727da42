/* weft/abt_ext.h: what Weft adds to Argobots' interface. Contexts and errors as in abt.h.
 *
 * Without these functions too, an idle ES sleeps, a wait with a time costs no CPU, a stack overflow is reported, and
 * WEFT_DUMP_SIGNAL has all work units dumped: see Weft's docs/options.md.
 */
#ifndef WEFT_ABT_EXT_H
#define WEFT_ABT_EXT_H

#include <abt.h>

#if defined(__cplusplus)
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Waits until one of the eventuals is ready; *index (may be NULL) is the first such. None of them may be freed before
 * this returns.
 * I-t+/2.0:I+. INV_ARG (num is 0, eventuals is NULL) INV_EVENTUAL MEM (more than 16) 1.x:EVENTUAL. */
int ABTX_eventual_wait_any(size_t num, const ABT_eventual* eventuals, size_t* index);
/* The same, until a time of CLOCK_REALTIME. COND_TIMEDOUT. */
int ABTX_eventual_timedwait_any(size_t num, const ABT_eventual* eventuals, const struct timespec* abstime,
                                size_t* index);

/* Suspends the calling ULT for that time; its ES runs others, or sleeps. A tasklet holds its ES; another thread
 * sleeps. A+. INV_ARG (secs is not a number). */
int ABTX_sleep(double secs);

/* Writes every ES and every work unit to the file: names, states, what they wait for and since when, and their
 * backtraces, also of those that are in no pool. A, and signal handlers. UNINITIALIZED; OTHER (another dump is being
 * written, or the file did not take it). */
int ABTX_dump(int fd);

/* How a ULT that computes for long is made to let others run, if the process has preemption (WEFT_PREEMPTION; see Weft's
 * docs/preemption.md). What does not say is preempted as WEFT_PREEMPTION_KIND says. */
typedef enum {
  ABTX_PREEMPTION_DEFAULT = 0,
  ABTX_PREEMPTION_NONE,          /* not at all */
  ABTX_PREEMPTION_SIGNAL_YIELD,  /* for code that depends on nothing of its kernel thread's: no malloc, no stdio */
  ABTX_PREEMPTION_KLT_SWITCHING  /* for any code */
} ABTX_preemption_kind;

/* Of the ULTs that are created with the attribute. A. INV_THREAD_ATTR INV_ARG. */
int ABTX_thread_attr_set_preemption(ABT_thread_attr attr, ABTX_preemption_kind kind);
/* Of the ULTs associated with the pool that do not say themselves, from now on. A. INV_POOL INV_ARG. */
int ABTX_pool_set_preemption(ABT_pool pool, ABTX_preemption_kind kind);

/* Whether the ES goes on with others while a ULT is blocked in the kernel, if the process has awareness of blocking
 * (WEFT_BLOCKING; see Weft's docs/blocking.md). */
typedef enum {
  ABTX_BLOCKING_DEFAULT = 0, /* of the attribute: as the pool says; of the pool: it does */
  ABTX_BLOCKING_UNAWARE,     /* the ES waits with it */
  ABTX_BLOCKING_AWARE        /* it does */
} ABTX_blocking_kind;

/* Of the ULTs that are created with the attribute. A. INV_THREAD_ATTR INV_ARG. */
int ABTX_thread_attr_set_blocking(ABT_thread_attr attr, ABTX_blocking_kind kind);
/* Of the ULTs associated with the pool that do not say themselves, from now on. A. INV_POOL INV_ARG. */
int ABTX_pool_set_blocking(ABT_pool pool, ABTX_blocking_kind kind);

#pragma GCC visibility pop
#if defined(__cplusplus)
}
#endif

#endif /* WEFT_ABT_EXT_H */
