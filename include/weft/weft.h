// weft.h: Weft for C11 programs.
//
// Words: a *work unit* is what is scheduled: a *ULT* (user-level thread, may suspend anywhere) or a
// *tasklet* (runs to completion on its caller's stack, may not suspend). Ready units wait in
// *pools*; a *scheduler* picks the next unit from its pools; a *worker* is a virtual processor that
// runs one scheduler; a *KLT* (kernel-level thread) carries a worker.
//
// Contexts named below: "ULT", "tasklet", "scheduler" (a scheduler's own code), "KLT" (any kernel
// thread that does not belong to Weft), "any" (all of them). No function here may be called from a
// signal handler unless it says so. Functions return WEFT_OK or an error code; nothing is changed
// when they fail unless they say so.
#ifndef WEFT_H
#define WEFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 1
#define WEFT_VERSION_PATCH 0

#ifndef WEFT_API
#define WEFT_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

// ---- errors ------------------------------------------------------------------------------------

typedef enum weft_error {
  WEFT_OK = 0,
  WEFT_ERR_UNINITIALIZED,  // weft_initialize() has not been called (or weft_finalize() has)
  WEFT_ERR_INVALID,        // an argument is null, out of range, or refers to something freed
  WEFT_ERR_CONTEXT,        // not allowed here: e.g. suspending in a tasklet, join from a tasklet
  WEFT_ERR_SELF,           // a unit may not do this to itself (join, free, yield to)
  WEFT_ERR_JOINED,         // another joiner has this unit already
  WEFT_ERR_STATE,          // the object is not in a state that allows this (see the function)
  WEFT_ERR_NO_MEMORY,      // memory or address space is used up
  WEFT_ERR_NO_KLT,         // the kernel refused another thread
  WEFT_ERR_STACK_TOO_SMALL,  // the stack is smaller than WEFT_STACK_MIN
  WEFT_ERR_BUSY,           // try-operations: it would have to wait
  WEFT_ERR_NOT_OWNER,      // unlock by somebody who does not hold the mutex
  WEFT_ERR_LIMIT,          // a fixed limit is reached (keys, pools of one scheduler, workers)
  WEFT_ERR_UNSUPPORTED,    // this kernel or machine cannot do it
  WEFT_ERR_TIMEOUT,        // the deadline came first
  WEFT_ERR_CLOSED,         // the channel has been closed
  WEFT_ERR_FORKED,         // in a forked child: the unit stayed behind in the parent
} weft_error_t;

// A sentence for an error code; never null. Context: any, also before weft_initialize().
WEFT_API const char* weft_strerror(int error);

// ---- handles -----------------------------------------------------------------------------------

typedef struct weft_unit* weft_unit_t;
typedef struct weft_pool* weft_pool_t;
typedef struct weft_sched* weft_sched_t;
typedef struct weft_worker* weft_worker_t;
typedef struct weft_key* weft_key_t;

// ---- the runtime -------------------------------------------------------------------------------

// Zero in any field means: as the environment (WEFT_...) says, else the default.
typedef struct weft_options {
  unsigned workers;   // number of workers; default: usable CPUs (affinity, cpuset, cgroup quota)
  size_t stack_size;  // bytes of stack of a ULT; default 128 KiB
  // 1: bind workers to CPUs (default), -1: do not. A kernel thread that the program starts from a ULT
  // inherits the binding of the worker: see docs/hand-over.md.
  int bind;
  unsigned idle_spin_us;  // how long an idle worker looks for work before it sleeps; default 20
} weft_options_t;

// Starts the runtime; the calling thread becomes the *primary ULT*, on worker 0, which only ever
// runs it on this thread. Calls nest and are counted; only the first one's options count. Where the
// kernel refuses threads it goes on with fewer workers and says so on stderr.
// Context: KLT (nested calls: any). Errors: NO_MEMORY, STACK_TOO_SMALL, LIMIT (more than 1024
// workers), UNSUPPORTED (kernel before Linux 4.14), CONTEXT (a forked child, in what was a tasklet or
// a scheduler).
//
// A child of fork() goes on with the calling ULT alone, on one worker; joins of other units return
// FORKED. The child of a thread that is none of Weft's has no runtime. About this, exit(), several
// libraries and dlclose(): docs/process.md.
WEFT_API int weft_initialize(const weft_options_t* options);

// Undoes one weft_initialize(). The last one does not wait for units: those still alive are an error.
// Detached units that are just ending get time: it yields up to 1000 times, and looks for a second
// more while a unit runs or is ready. Terminated units that were not freed go with it, without the
// destructors of their unit-local values.
// Context: the last one: the primary ULT. Errors: UNINITIALIZED, CONTEXT (not the primary ULT),
// STATE (units are alive: they are listed on stderr, and the runtime goes on).
WEFT_API int weft_finalize(void);

WEFT_API bool weft_initialized(void);

// "0.1.0".
WEFT_API const char* weft_version(void);

// ---- work units --------------------------------------------------------------------------------

#define WEFT_STACK_MIN 16384
#define WEFT_PRIORITIES 8  // priorities are 0 (lowest) … WEFT_PRIORITIES - 1; default 4
#define WEFT_PRIORITY_DEFAULT 4

// How a ULT is started (dissertation, table 3.1). AUTO picks by itself: on the joiner's stack, on
// the scheduler's stack, or on a stack of its own (see docs/running.md). A stack size, stack memory
// or WEFT_FP_OWN means a stack of its own with any technique.
typedef enum weft_technique {
  WEFT_TECHNIQUE_AUTO = 0,
  WEFT_TECHNIQUE_SC,     // on the scheduler's stack, promoted when it suspends
  WEFT_TECHNIQUE_SS_L,   // own stack, allocated when it first runs; scheduler restarted, not saved
  WEFT_TECHNIQUE_SS,     // own stack, allocated at creation; scheduler restarted, not saved
  WEFT_TECHNIQUE_JOINER, // like SC, and may be run on its joiner's stack (what AUTO allows)
} weft_technique_t;

typedef enum weft_fp_environment {
  WEFT_FP_SHARED = 0,  // inherited at creation, then shared with whatever runs on the worker
  WEFT_FP_OWN,         // rounding mode, exception masks: saved and restored at each switch
} weft_fp_environment_t;

// How a ULT is preempted.
typedef enum weft_preemption {
  WEFT_PREEMPTION_DEFAULT = 0,  // as the process says: WEFT_PREEMPTION_KIND, weft_preemption_set_default()
  WEFT_PREEMPTION_NONE,         // not at all
  // By a mere context switch: some microseconds less than the other. It may go on on another kernel thread, from
  // between any two instructions: for code that uses nothing of its kernel thread's (no malloc, no stdio, no
  // thread-local variables, no mutexes but Weft's).
  WEFT_PREEMPTION_SIGNAL_YIELD,
  // It keeps its kernel thread, which sleeps while another one goes on with the worker: for any code.
  WEFT_PREEMPTION_KLT_SWITCHING,
} weft_preemption_t;

// Whether a ULT's worker goes on with others while the ULT is blocked in the kernel, where the process's mode has that
// (weft/block.h). weft_blocking_begin() hands over in any case.
typedef enum weft_blocking {
  WEFT_BLOCKING_DEFAULT = 0,  // it does
  WEFT_BLOCKING_UNAWARE,      // the worker waits with it
  WEFT_BLOCKING_AWARE,        // it does, whatever its pool says
} weft_blocking_t;

// Whose thread-local state a ULT uses: errno, thread-local variables, pthread keys, malloc's cache, pthread_self().
typedef enum weft_identity {
  WEFT_IDENTITY_WORKER = 0,  // that of the kernel thread it runs on: a switch costs nothing more
  // Its own, as a kernel thread has: docs/identity.md. It has a stack of its own, whatever the technique.
  WEFT_IDENTITY_OWN,
} weft_identity_t;

// Of a tasklet only name, pool, worker, priority and pinned count; a stack size, stack memory or an identity of its own is
// INVALID.
typedef struct weft_unit_attr {
  const char* name;          // copied, at most 31 bytes; null: none
  size_t stack_size;         // bytes; 0: default. A size of its own means a stack of its own
  void* stack_memory;        // stack_size bytes (not 0) of the caller's memory; null: Weft's
  weft_pool_t pool;          // home pool; null: that of `worker`, else the calling worker's
  weft_worker_t worker;      // its pool is the home pool; null: any. `pool` and this: INVALID
  weft_technique_t technique;
  weft_fp_environment_t fp_environment;
  int priority;              // 0 … WEFT_PRIORITIES - 1; counts in priority pools only
  bool pinned;               // may not migrate: runs only on workers that pop its home pool itself
  weft_preemption_t preemption;
  weft_identity_t identity;
  weft_blocking_t blocking;
} weft_unit_attr_t;

#define WEFT_UNIT_ATTR_INIT \
  { 0, 0, 0, 0, 0, WEFT_TECHNIQUE_AUTO, WEFT_FP_SHARED, WEFT_PRIORITY_DEFAULT, false, WEFT_PREEMPTION_DEFAULT, \
    WEFT_IDENTITY_WORKER, WEFT_BLOCKING_DEFAULT }

typedef enum weft_unit_state {
  WEFT_UNIT_FRESH,       // created or revived, has not run yet
  WEFT_UNIT_READY,       // in a pool, has run before
  WEFT_UNIT_RUNNING,
  WEFT_UNIT_BLOCKED,     // suspended, waiting for something
  WEFT_UNIT_TERMINATED,  // its function has ended, or it was cancelled
} weft_unit_state_t;

typedef void (*weft_fn)(void* arg);

// Creates a ULT or a tasklet that runs fn(arg), and pushes it to its home pool. attr may be null.
// With unit == null the unit is detached: it frees itself at its end. Otherwise *unit is written
// before the unit can run.
// Context: any. Does not block, but that with an identity of its own it may wait for a kernel thread to start. Errors:
// UNINITIALIZED, INVALID, NO_MEMORY, STACK_TOO_SMALL; with an identity of its own also LIMIT (as many as
// WEFT_IDENTITY_LIMIT says are in use), NO_KLT (the kernel refuses another thread), UNSUPPORTED
// (weft_identity_info() says why).
WEFT_API int weft_ult_create(weft_fn fn, void* arg, const weft_unit_attr_t* attr,
                             weft_unit_t* unit);
WEFT_API int weft_tasklet_create(weft_fn fn, void* arg, const weft_unit_attr_t* attr,
                                 weft_unit_t* unit);

// Creates n ULTs that run fn((char*)args + i * stride). units: n handles, or null for detached ones.
// On an error the units created so far are still good, and *created (may be null) says how many.
// Context and errors as weft_ult_create().
WEFT_API int weft_ult_create_many(size_t n, weft_fn fn, void* args, size_t stride,
                                  const weft_unit_attr_t* attr, weft_unit_t* units,
                                  size_t* created);

// Waits until the unit has terminated. A fresh unit may be run right here, on the caller's stack.
// Joining one that has terminated is OK, also a second time.
// Context: ULT, scheduler, KLT. Suspends (a KLT blocks; a main scheduler blocks its worker).
// Errors: INVALID (null), UNINITIALIZED, SELF, INVALID (freed, detached, or the primary ULT), JOINED (somebody
// else is joining it just now; of two that begin at the very same moment one may wait for ever instead, which
// debug builds detect), CONTEXT (from a tasklet, also where the unit has terminated), FORKED (a
// forked child, and the unit stayed behind in the parent).
WEFT_API int weft_join(weft_unit_t unit);
// Joins all of them in order; returns the first error, after having tried them all.
WEFT_API int weft_join_many(size_t n, const weft_unit_t* units);

// Joins the unit if nobody has, frees it, and sets *unit to null. Context and errors as weft_join();
// then the handle stays as it is, but for FORKED, where it is freed all the same.
WEFT_API int weft_free(weft_unit_t* unit);
WEFT_API int weft_free_many(size_t n, weft_unit_t* units);

// Gives a terminated, not freed unit a new function, and pushes it to its home pool again. Its
// attributes and unit-local values are kept; that it was cancelled is forgotten.
// Context: any. Errors: UNINITIALIZED, INVALID, STATE (it has not terminated).
WEFT_API int weft_revive(weft_unit_t unit, weft_fn fn, void* arg);

// Lets other ready units run first; returns at once if there are none. In a tasklet and in a
// scheduler it does nothing; on a KLT it is sched_yield().
WEFT_API void weft_yield(void);

// Runs `unit`, if it is ready, at once in the caller's place; the caller becomes ready.
// Context: ULT. Errors: UNINITIALIZED, INVALID, SELF, CONTEXT, STATE (not ready where this worker
// can take it at once: then the caller has only yielded). It can take a unit out of its own default
// pool, and one that has not started out of any built-in pool that it pops; under a user-defined or
// stacked scheduler, none.
WEFT_API int weft_yield_to(weft_unit_t unit);

// Suspends the calling ULT until weft_resume(). A resume that comes first is not lost: then this
// returns at once (at most one resume is remembered). Context: ULT. Errors: UNINITIALIZED, CONTEXT.
WEFT_API int weft_suspend(void);

// Makes a ULT that has suspended itself, or is about to, ready again. It does not end other waits
// (join, mutex, …). Context: any. Errors: UNINITIALIZED, INVALID, STATE (terminated).
WEFT_API int weft_resume(weft_unit_t unit);

// Ends the calling ULT from the middle of its function. Frames of C++ code on its stack are left
// without running destructors: C++ programs use weft::this_thread::exit(). Undefined with forks
// outstanding (weft_fork_push() without its pop). Context: ULT that is not the primary one. Returns
// only on an error: UNINITIALIZED, CONTEXT.
WEFT_API int weft_exit(void);

// Asks a unit to end: one that has not started never will; a ULT ends at its next yield,
// weft_suspend() or weft_cancel_point(), as by weft_exit(). One that is in weft_suspend() is woken
// for it; one that waits for a join, mutex, condition variable, barrier or event is not. A tasklet
// that runs is not stopped. Context: any. Does not wait. Errors: INVALID, CONTEXT (the primary ULT).
WEFT_API int weft_cancel(weft_unit_t unit);
WEFT_API void weft_cancel_point(void);

// Changes a unit's home pool. It moves there at its next push; one that runs and is not suspended
// moves at its next yield. One that waits in a pool is not taken out of it. Context: any.
// Errors: INVALID, STATE (pinned, or it runs on the stack of a joiner that is pinned).
WEFT_API int weft_migrate(weft_unit_t unit, weft_pool_t pool);

// The calling unit; null on a KLT and in a scheduler. Context: any.
WEFT_API weft_unit_t weft_self(void);

WEFT_API bool weft_is_ult(weft_unit_t unit);
WEFT_API weft_unit_state_t weft_unit_state(weft_unit_t unit);
WEFT_API const char* weft_unit_name(weft_unit_t unit);  // "" if it has none
WEFT_API uint64_t weft_unit_id(weft_unit_t unit);       // unique in the process's life
WEFT_API int weft_unit_priority(weft_unit_t unit);
WEFT_API int weft_unit_set_priority(weft_unit_t unit, int priority);
WEFT_API weft_pool_t weft_unit_pool(weft_unit_t unit);
WEFT_API size_t weft_unit_stack_size(weft_unit_t unit);  // 0: it has no stack of its own now
// Deepest use of the unit's own stack so far, in bytes; 0 unless WEFT_STACK_WATERMARK=on.
WEFT_API size_t weft_unit_stack_used(weft_unit_t unit);

// Unit-local storage: one value per key and unit. The destructor (may be null) is called with each
// value that is not null when a unit is freed (a detached one: when it ends; the primary ULT: at the
// last weft_finalize()). On a KLT the values are the thread's. Freeing a key drops its values without
// a destructor. Context: any; also without the runtime. Errors: LIMIT (512 keys), INVALID, NO_MEMORY.
WEFT_API int weft_key_create(void (*destructor)(void* value), weft_key_t* key);
WEFT_API int weft_key_free(weft_key_t* key);
WEFT_API int weft_key_set(weft_key_t key, void* value);
WEFT_API void* weft_key_get(weft_key_t key);

// ---- pools -------------------------------------------------------------------------------------

// Who may use a pool at the same time: one worker alone (PRIV); single/multiple producers and
// consumers. Several consumers of a pool that is meant for one are an error that is not detected;
// several producers are always borne (a mutex that is unlocked elsewhere pushes its waiter).
typedef enum weft_access {
  WEFT_ACCESS_PRIV,
  WEFT_ACCESS_SPSC,
  WEFT_ACCESS_SPMC,
  WEFT_ACCESS_MPSC,
  WEFT_ACCESS_MPMC,
} weft_access_t;

typedef enum weft_pool_kind {
  WEFT_POOL_FIFO,
  WEFT_POOL_LIFO,
  WEFT_POOL_DEQUE,     // the consumer that pushed takes the newest, others the oldest
  WEFT_POOL_PRIORITY,  // highest priority first, FIFO within one
} weft_pool_kind_t;

// A user-defined pool. push, pop and size may be called by any worker that uses the pool; they may
// lock, allocate and block (a blocked callback blocks its worker; weft_self() is null in it). The
// pool keeps the handles it was given, in whatever order it likes; it never looks inside.
typedef struct weft_pool_ops {
  void* (*create)(void* arg);               // may be null; result is passed as `self`
  void (*free)(void* self);                 // may be null
  void (*push)(void* self, weft_unit_t unit);
  weft_unit_t (*pop)(void* self);           // null if empty
  size_t (*size)(void* self);
} weft_pool_ops_t;

WEFT_API int weft_pool_create(weft_pool_kind_t kind, weft_access_t access, weft_pool_t* pool);
WEFT_API int weft_pool_create_user(const weft_pool_ops_t* ops, void* arg, weft_pool_t* pool);
// Errors: INVALID, STATE (units or schedulers still use it, or it is a worker's own).
WEFT_API int weft_pool_free(weft_pool_t* pool);
// While others use it: a moment's figure; of a worker's own pool it may be too high.
WEFT_API size_t weft_pool_size(weft_pool_t pool);
// For schedulers and code of their kind: takes a unit out of the pool; the caller owes it a
// weft_sched_run() or a weft_pool_push(). Null if empty.
WEFT_API weft_unit_t weft_pool_pop(weft_pool_t pool);
// Puts such a unit into a pool, which becomes its home. Errors: INVALID, STATE (it is not ready, or
// is in a pool).
WEFT_API int weft_pool_push(weft_pool_t pool, weft_unit_t unit);

// ---- schedulers --------------------------------------------------------------------------------

typedef enum weft_sched_kind {
  WEFT_SCHED_BASIC,       // pools in order, now and then from another one on; spins, then sleeps
  WEFT_SCHED_BASIC_WAIT,  // sleeps as soon as all are empty, without spinning
  WEFT_SCHED_PRIORITY,    // always the first pool that is not empty
  // First pool, then steals from its others in random order. The one that a worker is given by
  // default is of this kind, and steals from the pools of all other such workers.
  WEFT_SCHED_RANDWS,
  // For a group of workers that weft_workers_set_active() makes fewer: each has one with the same pools, its own first,
  // then the others' in the order of the workers, round about. The pools of suspended workers are dealt to the
  // active ones, and those that remain are shared; each pool gets the same time. See docs/preemption.md.
  // Its pools must be for several consumers (MPMC, SPMC, user-defined); a worker's own: INVALID.
  WEFT_SCHED_PACKING,
} weft_sched_kind_t;

// A user-defined scheduler: run() loops, picks units with weft_pool_pop() and runs them with
// weft_sched_run() until weft_sched_should_stop(); it calls weft_sched_idle() when it finds nothing.
typedef struct weft_sched_ops {
  void* (*create)(weft_sched_t sched, void* arg);  // may be null; result: weft_sched_data()
  void (*free)(weft_sched_t sched, void* data);    // may be null
  void (*run)(weft_sched_t sched, void* data);
} weft_sched_ops_t;

// n pools (null or n == 0: one new FIFO pool, MPMC, that is freed with it). At most 64.
// Errors: INVALID, LIMIT, NO_MEMORY.
WEFT_API int weft_sched_create(weft_sched_kind_t kind, size_t n, const weft_pool_t* pools,
                               weft_sched_t* sched);
WEFT_API int weft_sched_create_user(const weft_sched_ops_t* ops, void* arg, size_t n,
                                    const weft_pool_t* pools, weft_sched_t* sched);
// Errors: INVALID, STATE (a worker uses it, it runs as a unit, or its own pool is not empty).
WEFT_API int weft_sched_free(weft_sched_t* sched);
WEFT_API size_t weft_sched_pools(weft_sched_t sched, size_t max, weft_pool_t* pools);
WEFT_API void* weft_sched_data(weft_sched_t sched);

// Pushes a scheduler into a pool as a ULT of its own: it runs there, stacked on the scheduler that
// picks it, until it is told to finish and its pools are empty, or told to exit. *unit (may be
// null) is joined like any other. Errors: UNINITIALIZED, INVALID, NO_MEMORY, STATE (it is in use).
WEFT_API int weft_sched_push(weft_sched_t sched, weft_pool_t pool, weft_unit_t* unit);
// Both also stop the worker whose main scheduler it is.
WEFT_API int weft_sched_finish(weft_sched_t sched);  // stop when the pools are empty; units that are suspended do not keep it
WEFT_API int weft_sched_exit(weft_sched_t sched);    // stop now; units stay in the pools

// For a user-defined scheduler's run():
// Runs a unit until it ends, yields or suspends. May return on another KLT. Errors: INVALID, CONTEXT
// (a KLT, a tasklet).
WEFT_API int weft_sched_run(weft_sched_t sched, weft_unit_t unit);
WEFT_API bool weft_sched_should_stop(weft_sched_t sched);
// Nothing was found: suspends (stacked), or spins and then sleeps (main), until a pool of the
// scheduler is pushed to or it shall stop. May return without a reason.
WEFT_API void weft_sched_idle(weft_sched_t sched);

// ---- workers -----------------------------------------------------------------------------------

// Starts a worker with that main scheduler (null: a default one, with a pool of its own). It has no
// CPU until weft_worker_bind() gives it one. With preemption or awareness of blocking a ULT may be suspended meanwhile.
// Context: any. Errors: UNINITIALIZED, INVALID, NO_KLT, NO_MEMORY (also: 1024 workers are there),
// STATE (the scheduler is in use, or a worker's default one).
WEFT_API int weft_worker_create(weft_sched_t sched, weft_worker_t* worker);
// Waits until the worker's scheduler has finished (its pools are empty), and stops it. A ULT is
// suspended meanwhile. Suspended units that only this worker may run are not waited for: they go on when it is
// revived. Context: ULT, KLT. Errors: SELF (from the worker itself), INVALID, STATE (worker 0).
WEFT_API int weft_worker_join(weft_worker_t worker);
WEFT_API int weft_worker_free(weft_worker_t* worker);  // joins it first
WEFT_API int weft_worker_revive(weft_worker_t worker); // a joined one; otherwise STATE
// Binds to one CPU (a number as in sched_setaffinity). From the worker itself at once; of another
// one when a unit on it next calls Weft, and before it starts or resumes one. -1: any CPU of the process. Errors: INVALID (also a CPU that the process may not use).
WEFT_API int weft_worker_bind(weft_worker_t worker, int cpu);
WEFT_API int weft_worker_cpu(weft_worker_t worker);    // -1: not bound
// Replaces the main scheduler; the old one is left to its owner. A default one stays its worker's, which can go
// back to it. Units stay in their pools; those of default pools that are not pinned may be run by any worker that has one.
// The caller goes on under the new one, with its first pool as home.
// Context: ULT on that worker. Errors: INVALID, STATE (another caller; the scheduler is in use, or another worker's
// default one; the old one, of the program's, has not yet looked since it was last replaced).
WEFT_API int weft_worker_set_sched(weft_worker_t worker, weft_sched_t sched);
WEFT_API weft_sched_t weft_worker_sched(weft_worker_t worker);
WEFT_API weft_pool_t weft_worker_pool(weft_worker_t worker);  // its scheduler's first pool
WEFT_API weft_worker_t weft_worker_self(void);                // null on a KLT
WEFT_API unsigned weft_worker_index(weft_worker_t worker);
WEFT_API weft_worker_t weft_worker_get(unsigned index);       // null if there is none
WEFT_API unsigned weft_worker_count(void);                    // those that run, also those that are suspended

// Thread packing: from now on the n workers with the lowest index run, and the others are suspended, until another call
// says otherwise: they sleep, and what they had to run goes to those that are active. Whatever only one of them may run
// (a pinned unit, a pool that no active worker's scheduler has) it goes on to run, and sleeps in between. A worker
// lets go of the ULT that it runs at its next call of Weft that lets others run, or with preemption at its next tick.
// A worker that is made later is active.
// Context: any. Does not block. Errors: UNINITIALIZED, INVALID (0, or more than run), STATE (one that would be suspended
// has a user-defined main scheduler, which nobody can keep from picking units).
WEFT_API int weft_workers_set_active(unsigned n);
WEFT_API unsigned weft_workers_active(void);                  // of those that run, those that are not suspended

typedef struct weft_worker_statistics {
  uint64_t units_run;        // units started by a scheduler, forks left out
  uint64_t units_claimed;    // units run on their joiner's stack
  uint64_t forks;            // forks that a scheduler has run: stolen, or left behind by their ULT
  uint64_t switches;         // suspensions and yields
  uint64_t steals;           // successful steals from other workers
  uint64_t sleeps;           // times it went to sleep in the kernel
  uint64_t handovers;        // times it changed its KLT
  uint64_t promotions;       // scheduler stacks kept by a unit that suspended
} weft_worker_stats_t;
// Counters are read while the worker runs: each one is exact, they need not belong together.
WEFT_API int weft_worker_stats(weft_worker_t worker, weft_worker_stats_t* stats);

// ---- fork and join of a callable on the caller's stack (what weft::fork_join is made of) --------

// Lives in the frame of the caller, who must pass every pushed fork to weft_fork_pop() in reverse
// order before it leaves that frame: also before weft_exit() or an end by cancellation.
typedef struct weft_fork {
  void (*invoke)(struct weft_fork* self);  // run by whoever takes it; must not throw
  void* unit;     // owned by Weft from here on
  uint64_t slot;
} weft_fork_t;

// Offers the fork to other workers. In a scheduler and on a KLT it is only remembered.
// Context: any. Does not block.
WEFT_API void weft_fork_push(weft_fork_t* fork);
// Takes the newest fork back. True: nobody has it, the caller runs it itself, inline. False: somebody
// else took it, and it has ended by now. Until then the caller was suspended; a tasklet, which cannot
// suspend, has blocked its worker. Context: that of the push.
WEFT_API bool weft_fork_pop(weft_fork_t* fork);

// ---- loops -------------------------------------------------------------------------------------
// A range of indices is halved, by forks, until a piece has at most `grain` of them (0: an eighth of a worker's
// share). Pieces that no worker takes are done by the caller, in order. Functions must not throw, nor end their unit.
// Context of both: ULT, tasklet; elsewhere the caller does everything itself. May suspend (a tasklet blocks its
// worker).

// Calls body(first, last, arg) for pieces that together are [first, last), maybe at the same time.
// Errors: INVALID (no body).
WEFT_API int weft_parallel_for(size_t first, size_t last, size_t grain,
                               void (*body)(size_t first, size_t last, void* arg), void* arg);

#define WEFT_REDUCTION_MAX 1024  // bytes of a value; each halving keeps one on the stack
typedef struct weft_reduction {
  size_t size;           // bytes of a value
  const void* identity;  // the value to begin with, of each piece
  void (*fold)(size_t first, size_t last, void* value, void* arg);  // adds a piece to *value
  void (*combine)(void* left, const void* right, void* arg);  // adds *right, of what comes next, to *left
} weft_reduction_t;
// Folds each piece, and combines in order: combine must be associative, and need not be commutative. *result gets
// the value; of an empty range the identity. Errors: INVALID (null), LIMIT (size).
WEFT_API int weft_parallel_reduce(size_t first, size_t last, size_t grain, const weft_reduction_t* reduction,
                                  void* arg, void* result);

// Calls fn(arg) in a ULT of its own, and returns when it has ended: from a KLT the way into Weft.
// Context and errors as weft_ult_create() and weft_join().
WEFT_API int weft_invoke(weft_fn fn, void* arg);

// ---- looking inside ------------------------------------------------------------------------------

// Writes every worker and every unit to the file: names, states, what they wait for and since when, and their
// backtraces. Other KLTs stand still for a moment each, one after the other, and get a real-time signal for it
// (a system call that signals interrupt may return EINTR); all else goes on meanwhile. WEFT_DUMP_SIGNAL does the
// same from outside. See docs/inside.md.
// Context: any, also a signal handler. Waits for the file, and at most 0.2 s for each KLT that does not answer.
// Errors: UNINITIALIZED, BUSY (another dump is being written), INVALID (the file took not all of it).
WEFT_API int weft_dump(int fd);
// The same of one unit, without a first and a last line. Nothing, if it has been freed.
WEFT_API int weft_dump_unit(int fd, weft_unit_t unit);

#ifdef __cplusplus
}
#endif

#include "weft/block.h"
#include "weft/identity.h"
#include "weft/preempt.h"
#include "weft/sync.h"

#endif  // WEFT_H
