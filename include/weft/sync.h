// sync.h: synchronisation for C11 programs; weft.h includes it.
//
// Between ULTs on any worker and KLTs at once. Waiters suspend (a KLT sleeps in the kernel). Where a mutex or
// a lock for reading and writing is held on another worker it is looked at a few times before; nobody spins
// until something happens. Everything with a static initialiser can be used before weft_initialize().
//
// Time: a *deadline* is a time of weft_now(). Functions that end in _until wait no longer than that, and
// return TIMEOUT then; one that lies in the past only tries. WEFT_NEVER waits without end.
//
// Context of all functions, unless they say so: any; a tasklet may not wait: CONTEXT, where it would have to, and
// in each wait for a condition. A main scheduler's code blocks its worker. Cancellation does not end a wait.
// Errors of all: INVALID (null, not initialised). Who was let through may destroy the object at once, also while
// the call that let it through has not returned.
#ifndef WEFT_SYNC_H
#define WEFT_SYNC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weft/weft.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- time --------------------------------------------------------------------------------------

#define WEFT_NEVER UINT64_MAX

// Nanoseconds of CLOCK_MONOTONIC. Context: any, also a signal handler.
WEFT_API uint64_t weft_now(void);
// The deadline that comes `ns` from now; never past WEFT_NEVER.
WEFT_API uint64_t weft_after(uint64_t ns);
// Both suspend the calling ULT; its worker runs others, or sleeps. Errors: CONTEXT (a tasklet).
WEFT_API int weft_sleep(uint64_t ns);
WEFT_API int weft_sleep_until(uint64_t deadline);

// ---- waiting in place ----------------------------------------------------------------------------

// While it is on, the calling unit is not suspended where it waits by what this file has, or for a join: its worker
// waits with it, and runs nothing else meanwhile. So a tasklet may wait too. For code that must not leave its
// kernel thread, or be overtaken by other units of its worker. What it waits for must not need this worker.
// Returns whether it was on. It ends with the unit. A KLT and a scheduler always wait like that: true.
// Context: any.
WEFT_API bool weft_wait_in_place(bool on);

// ---- mutex -------------------------------------------------------------------------------------
// Whoever comes while it is free takes it, also past a waiter that was woken and has not run yet; who was
// passed over twice, or waited for a unit of its own worker, is handed it. Otherwise first in, first out.
// A mutex that one worker's units alone come for is theirs without a locked instruction. The first that comes from
// elsewhere pays once for that, some microseconds.
//
// An open one is never handed to a ULT: whoever comes while it is free takes it, always, so waiters may starve. For
// mutexes that are locked in place too (by schedulers, pools, tasklets): who waits in place for one that was handed to a ULT
// of its own worker would wait for ever. weft_mutex_open() makes any mutex an open one, for good; to be called by who
// is about to wait for it.

typedef struct weft_mutex { uint32_t state; uint32_t held; void* waiters[3]; } weft_mutex_t;
#define WEFT_MUTEX_INIT { 0, 0, { 0, 0, 0 } }
#define WEFT_MUTEX_OPEN_INIT { 0x50, 0, { 0, 0, 0 } }
WEFT_API int weft_mutex_open(weft_mutex_t* mutex);  // Context: any; never blocks
WEFT_API int weft_mutex_lock(weft_mutex_t* mutex);
WEFT_API int weft_mutex_lock_until(weft_mutex_t* mutex, uint64_t deadline);  // TIMEOUT
WEFT_API int weft_mutex_trylock(weft_mutex_t* mutex);  // BUSY
WEFT_API int weft_mutex_unlock(weft_mutex_t* mutex);   // NOT_OWNER: it is not locked
// Where it has to wait: before all that wait by weft_mutex_lock(), or behind them all.
WEFT_API int weft_mutex_lock_high(weft_mutex_t* mutex);
WEFT_API int weft_mutex_lock_low(weft_mutex_t* mutex);

// The same unit, or the same KLT, may lock it again; LIMIT: 2^32 - 1 times. NOT_OWNER: it is another's.
typedef struct weft_recursive_mutex {
  weft_mutex_t mutex;
  uint64_t owner;
  uint32_t depth;
  uint32_t pad;
} weft_recursive_mutex_t;
#define WEFT_RECURSIVE_MUTEX_INIT { WEFT_MUTEX_INIT, 0, 0, 0 }
WEFT_API int weft_recursive_mutex_lock(weft_recursive_mutex_t* mutex);
WEFT_API int weft_recursive_mutex_lock_until(weft_recursive_mutex_t* mutex, uint64_t deadline);
WEFT_API int weft_recursive_mutex_trylock(weft_recursive_mutex_t* mutex);
WEFT_API int weft_recursive_mutex_unlock(weft_recursive_mutex_t* mutex);

// ---- condition variable ------------------------------------------------------------------------
// First in, first out; no wake-ups without a reason. wait unlocks the mutex and locks it again, also on
// TIMEOUT. Errors: NOT_OWNER (the mutex is not locked). One that one worker's units alone use is theirs, as a mutex; so
// is a channel.

typedef struct weft_cond { uint32_t state; uint32_t pad; void* waiters[3]; } weft_cond_t;
#define WEFT_COND_INIT { 0, 0, { 0, 0, 0 } }
WEFT_API int weft_cond_wait(weft_cond_t* cond, weft_mutex_t* mutex);
WEFT_API int weft_cond_wait_until(weft_cond_t* cond, weft_mutex_t* mutex, uint64_t deadline);
WEFT_API int weft_cond_signal(weft_cond_t* cond);
WEFT_API int weft_cond_broadcast(weft_cond_t* cond);

// ---- lock for many readers or one writer -------------------------------------------------------
// Who comes while somebody waits queues behind, so neither readers nor writers starve: first in, first out,
// where readers that wait beside each other enter together. A reader must not lock it for reading again, but by
// rdlock_high: a writer may have come between. unlock is for both. NOT_OWNER: it is not locked.
// After thousands of readers without a writer, readers take no locked instruction and share no cache line; the
// next writer pays once for that, some microseconds.

typedef struct weft_rwlock { uint32_t state; uint32_t pad; void* waiters[3]; } weft_rwlock_t;
#define WEFT_RWLOCK_INIT { 0, 0, { 0, 0, 0 } }
WEFT_API int weft_rwlock_rdlock(weft_rwlock_t* lock);
// Past all that wait to write: unless somebody holds it for writing, it does not wait. So who reads may lock it for reading
// again; but writers may starve.
WEFT_API int weft_rwlock_rdlock_high(weft_rwlock_t* lock);
WEFT_API int weft_rwlock_rdlock_until(weft_rwlock_t* lock, uint64_t deadline);
WEFT_API int weft_rwlock_tryrdlock(weft_rwlock_t* lock);  // BUSY; LIMIT: 2^24 readers
WEFT_API int weft_rwlock_wrlock(weft_rwlock_t* lock);
WEFT_API int weft_rwlock_wrlock_until(weft_rwlock_t* lock, uint64_t deadline);
WEFT_API int weft_rwlock_trywrlock(weft_rwlock_t* lock);
WEFT_API int weft_rwlock_unlock(weft_rwlock_t* lock);

// ---- barrier -----------------------------------------------------------------------------------

// `complete` (may be null) is called with `arg` by the last one to arrive, before anybody passes.
typedef struct weft_barrier {
  uint32_t state;
  uint32_t count;    // participants
  uint32_t arrived;
  uint32_t phase;
  void* waiters[3];
  void (*complete)(void* arg);
  void* arg;
} weft_barrier_t;
#define WEFT_BARRIER_INIT(n) { 0, (n), 0, 0, { 0, 0, 0 }, 0, 0 }
#define WEFT_BARRIER_INIT_COMPLETE(n, fn, arg) { 0, (n), 0, 0, { 0, 0, 0 }, (fn), (arg) }
// *last (may be null): whether the caller came last.
WEFT_API int weft_barrier_wait(weft_barrier_t* barrier, bool* last);
// Arrives for n participants without waiting; *phase (may be null) is what to wait for. INVALID: n is 0, or
// more than are missing.
WEFT_API int weft_barrier_arrive(weft_barrier_t* barrier, uint32_t n, uint32_t* phase);
// Until that phase, the present one or the one before, is complete.
WEFT_API int weft_barrier_wait_phase(weft_barrier_t* barrier, uint32_t phase);
// Arrives, and takes part no longer: later phases want one participant less.
WEFT_API int weft_barrier_drop(weft_barrier_t* barrier);

// ---- latch -------------------------------------------------------------------------------------
// Counts down once; waiters pass when it is at 0.

typedef struct weft_latch { uint32_t state; uint32_t count; void* waiters[3]; } weft_latch_t;
#define WEFT_LATCH_INIT(n) { 0, (n), { 0, 0, 0 } }
WEFT_API int weft_latch_count_down(weft_latch_t* latch, uint32_t n);  // INVALID: below 0
WEFT_API int weft_latch_wait(weft_latch_t* latch);
WEFT_API int weft_latch_wait_until(weft_latch_t* latch, uint64_t deadline);
WEFT_API bool weft_latch_is_down(const weft_latch_t* latch);

// ---- counting semaphore ------------------------------------------------------------------------
// Nobody passes those who wait: a release gives to them first, in the order in which they came.

typedef struct weft_sem { uint32_t state; uint32_t count; void* waiters[3]; } weft_sem_t;
#define WEFT_SEM_INIT(n) { 0, (n), { 0, 0, 0 } }
WEFT_API int weft_sem_acquire(weft_sem_t* sem);
WEFT_API int weft_sem_acquire_until(weft_sem_t* sem, uint64_t deadline);
WEFT_API int weft_sem_tryacquire(weft_sem_t* sem);           // BUSY
WEFT_API int weft_sem_release(weft_sem_t* sem, uint32_t n);  // LIMIT: more than 2^31 - 1
WEFT_API uint32_t weft_sem_value(const weft_sem_t* sem);     // a moment's figure

// ---- event -------------------------------------------------------------------------------------
// Once set, waiters pass until it is reset. It can carry a value (an eventual). A reset after a wait comes
// after the set that let the waiter through.

typedef struct weft_event { uint32_t state; uint32_t pad; void* waiters[3]; void* value; } weft_event_t;
#define WEFT_EVENT_INIT { 0, 0, { 0, 0, 0 }, 0 }
WEFT_API int weft_event_wait(weft_event_t* event);
WEFT_API int weft_event_wait_until(weft_event_t* event, uint64_t deadline);
WEFT_API int weft_event_set(weft_event_t* event);
// STATE: it is set already, and keeps its value.
WEFT_API int weft_event_set_value(weft_event_t* event, void* value);
// The same, and before anybody passes the first n bytes of `from` are copied to `value`. Nobody else copies meanwhile.
WEFT_API int weft_event_set_copy(weft_event_t* event, void* value, const void* from, size_t n);
WEFT_API int weft_event_reset(weft_event_t* event);
WEFT_API bool weft_event_is_set(const weft_event_t* event);
WEFT_API void* weft_event_value(const weft_event_t* event);  // null where it is not set

// ---- future ------------------------------------------------------------------------------------
// Ready when n parts have been set. The one that sets the last part calls `ready` (may be null) with the
// values, in the order in which they were set, and `arg`, before anybody passes. `values` is room for n
// pointers, or null: then they are dropped.

typedef struct weft_future {
  uint32_t state;
  uint32_t parts;
  void* waiters[3];
  uint32_t set;
  uint32_t pad;
  void** values;
  void (*ready)(void** values, void* arg);
  void* arg;
} weft_future_t;
#define WEFT_FUTURE_INIT(n, values, fn, arg) { 0, (n), { 0, 0, 0 }, 0, 0, (values), (fn), (arg) }
WEFT_API int weft_future_set(weft_future_t* future, void* value);  // STATE: all parts are set
WEFT_API int weft_future_wait(weft_future_t* future);
WEFT_API int weft_future_wait_until(weft_future_t* future, uint64_t deadline);
WEFT_API bool weft_future_is_ready(const weft_future_t* future);
WEFT_API int weft_future_reset(weft_future_t* future);

// ---- waiting for any of several ----------------------------------------------------------------

typedef enum weft_waitable_kind {
  WEFT_WAITABLE_EVENT,   // is set
  WEFT_WAITABLE_LATCH,   // is down
  WEFT_WAITABLE_FUTURE,  // is ready
} weft_waitable_kind_t;

typedef struct weft_waitable {
  weft_waitable_kind_t kind;
  void* object;
} weft_waitable_t;

// Until one of them lets waiters pass; *which (may be null) is the first such in the array. They must not be
// destroyed before this returns. Errors: INVALID (also n == 0), NO_MEMORY (n > 16), TIMEOUT.
WEFT_API int weft_wait_any(size_t n, const weft_waitable_t* objects, size_t* which);
WEFT_API int weft_wait_any_until(size_t n, const weft_waitable_t* objects, uint64_t deadline,
                                 size_t* which);

// ---- channel -----------------------------------------------------------------------------------
// A bounded queue of elements of `size` bytes, which are copied, for any number of senders and receivers. With
// capacity 0 a sender waits until a receiver has its element. First in, first out, waiters too. After close
// nothing more is sent: CLOSED; receivers get what is left, and then CLOSED.

typedef struct weft_channel* weft_channel_t;
WEFT_API int weft_channel_create(size_t capacity, size_t size, weft_channel_t* channel);  // NO_MEMORY
WEFT_API int weft_channel_free(weft_channel_t* channel);  // STATE: somebody waits. What is left is dropped
WEFT_API int weft_channel_send(weft_channel_t channel, const void* element);
WEFT_API int weft_channel_send_until(weft_channel_t channel, const void* element, uint64_t deadline);
WEFT_API int weft_channel_trysend(weft_channel_t channel, const void* element);  // BUSY
WEFT_API int weft_channel_receive(weft_channel_t channel, void* element);
WEFT_API int weft_channel_receive_until(weft_channel_t channel, void* element, uint64_t deadline);
WEFT_API int weft_channel_tryreceive(weft_channel_t channel, void* element);  // BUSY
WEFT_API int weft_channel_close(weft_channel_t channel);  // STATE: it is closed already
WEFT_API size_t weft_channel_size(weft_channel_t channel);  // elements in it; a moment's figure

// ---- once --------------------------------------------------------------------------------------

typedef struct weft_once_state { uint32_t state; uint32_t pad; void* waiters[3]; } weft_once_t;
#define WEFT_ONCE_INIT { 0, 0, { 0, 0, 0 } }
// The first caller calls fn(arg), and others wait until it has returned: true, and nobody calls again; false,
// and it counts as not called: then this returns STATE, and the next caller calls its own.
WEFT_API int weft_once(weft_once_t* once, bool (*fn)(void* arg), void* arg);

#ifdef __cplusplus
}
#endif

#if defined(__OPTIMIZE__) && !defined(WEFT_LOCK_BY_CALLS) && !defined(__EDG__)
#include "weft/mutex_own.h"
#endif

#endif  // WEFT_SYNC_H
