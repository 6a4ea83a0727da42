// front.hpp: what front-ends ask of the core beyond weft.h. Exported from the library for them, and not installed:
// a front-end is built with the core that it runs on.
//
// Contexts as in weft.h. Nothing here checks handles: a front-end has.
#pragma once

#include <link.h>
#include <signal.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "arch/klt_register.hpp"
#include "klt/handlers_begun.hpp"
#include "unit/front_part.hpp"
#include "worker/unit_event.hpp"
#include "weft/weft.h"

namespace weft::rt {
struct Topology;
}

namespace weft::front {

using rt::FrontHooks;
using rt::FrontPart;

// ---- the runtime

// weft_initialize(), and its worker 0 gets this scheduler (null: one over its lane that does not steal), which is
// patient. The primary ULT becomes the front-end's. CONTEXT: the runtime is there, and the caller is not its primary
// ULT.
WEFT_API int initialize(const weft_options_t* options);
// weft_finalize() for the last time, whatever units there are: they are dropped. Context: the primary ULT; all other
// workers have been freed, their pools are their owners'.
WEFT_API int finalize();
WEFT_API weft_unit_t primary();
// The CPUs that the calling thread may use, in the order in which workers get them, null if the system does not tell. Context: any
// thread; also without the runtime.
WEFT_API const rt::Topology* topology();
// How many of them the process's quota can keep busy, and how many workers there are by default: fewer where other processes of the same
// MPI job use them too. Context: any thread; also without the runtime.
struct UsableCpus {
  int procs;
  int workers;
};
WEFT_API UsableCpus usable_cpus(const rt::Topology& topology);
// The CPUs for workers, in the order in which they get them, where WEFT_WORKERS_CPUS says nothing. Context: before the runtime
// is initialised; by one thread.
WEFT_API void prefer_cpus(const int* cpus, int count);
// The calling kernel thread becomes a ULT: worker/adopt.hpp. Whether that can be is told without the runtime too.
WEFT_API bool may_adopt();
WEFT_API int adopt_caller(weft_pool_t home);
// Threads of the program's will do so: klt/program_signals.hpp. Context: before the runtime is initialised.
WEFT_API void will_adopt();

// What takes half a millisecond of weft_initialize(), and is for dumps alone, is left to the first dump, which has the thread do it that
// begin_identities() starts. Context: before the runtime is initialised; any thread that may wait.
WEFT_API void leave_unwinder();
// For where that has failed.
WEFT_API void load_unwinder();
// The program or library that has this code; null: nothing that the loader knows. Async-signal-safe; takes none of the loader's locks.
WEFT_API const link_map* object_of(const void* code);

// How often weft_blocking_set_mode() has been called; and what it does for `auto`, unless it has been called since, or the mode is on.
// The second may wait for the kernel: by a thread that carries no worker. Error: UNSUPPORTED: the system does not grant it.
WEFT_API uint32_t blocking_settings_made();
WEFT_API int begin_awareness(uint32_t settings_made);

// ULTs with identities of their own will be made: what makes those may begin. False: it cannot.
WEFT_API bool begin_identities();
// So many ULTs with identities of their own, and such stacks, are about to be made, one after the other: their identities are made at
// once then. And so many of them have been made, or will not be.
WEFT_API void identities_foreseen(unsigned n, size_t stack_size);
WEFT_API void identities_had(unsigned n);

// ---- units

inline constexpr size_t kFrontPartOffset = 136;
inline FrontPart* part(weft_unit_t unit) noexcept {
  return reinterpret_cast<FrontPart*>(reinterpret_cast<char*>(unit) + kFrontPartOffset);
}

// What a unit is, without a call: made by a front-end; a tasklet.
inline constexpr size_t kFlagsOffset = 4;
inline constexpr uint16_t kMade = 1u << 14, kTasklet = 1u << 0;
[[gnu::always_inline]] inline uint16_t flags_of(weft_unit_t unit) noexcept {
  return __atomic_load_n(reinterpret_cast<const uint16_t*>(reinterpret_cast<const char*>(unit) + kFlagsOffset), __ATOMIC_RELAXED);
}
inline bool is_tasklet(weft_unit_t unit) noexcept { return (flags_of(unit) & kTasklet) != 0; }

// weft_self(), without a call.
inline constexpr size_t kCurrentOffset = 24;
[[gnu::always_inline]] inline weft_unit_t self() noexcept {
  return rt::klt_register_valid_abroad() ? rt::klt_register_load<kCurrentOffset, weft_unit_t>() : nullptr;
}

struct UnitWish {
  bool tasklet = false;
  bool detached = false;       // it frees itself at its end
  bool push = true;            // false: the caller runs it, by switch_to()
  bool watched = false;        // by set_watcher()
  size_t stack_size = 0;       // 0: default. At most half the default: it may run on somebody's stack
  void* stack_memory = nullptr;
  weft_preemption_t preemption = WEFT_PREEMPTION_DEFAULT;
  weft_blocking_t blocking = WEFT_BLOCKING_DEFAULT;
  FrontHooks* hooks = nullptr;
};

// Creates a unit that goes to that pool always, and pushes it. *unit is written before it can run; the first two: null:
// detached.
// Errors: NO_MEMORY, UNINITIALIZED. The first two are for the pool in which they come to no more than a few moves, the
// ring of the caller's worker: where nothing has been done they return what `otherwise` returns, whose way is the third; for
// tasklets also where workers are taken from units, so that it can make a ULT instead. They
// leave FrontPart::context as it is: whoever makes a pool of the user's the unit's home writes it.
using CreateOtherwise = int (*)(weft_pool_t pool, weft_fn fn, void* arg, weft_unit_t* unit);
WEFT_API int ult_create_here(weft_pool_t pool, weft_fn fn, void* arg, weft_unit_t* unit, CreateOtherwise otherwise);
WEFT_API int tasklet_create_here(weft_pool_t pool, weft_fn fn, void* arg, weft_unit_t* unit, CreateOtherwise otherwise);
WEFT_API int unit_create(weft_pool_t pool, weft_fn fn, void* arg, uint64_t context, const UnitWish& wish,
                         weft_unit_t* unit);
// The same with hooks and no other wish, and not pushed. `out` is never null.
WEFT_API int unit_create_plain(weft_pool_t pool, weft_fn fn, void* arg, bool tasklet, bool detached, FrontHooks* hooks, weft_unit_t* out);
// Memory for so many, and touched: some 0.05 us each, which the first units take longer otherwise.
WEFT_API void units_make_ahead(unsigned n);
// Frees a fresh unit that is in no pool. Its hooks are not called.
WEFT_API void unit_discard(weft_unit_t unit);
// STATE: it has not terminated.
WEFT_API int unit_revive(weft_unit_t unit, weft_pool_t pool, weft_fn fn, void* arg, uint64_t context, bool push);

// weft_join(), weft_free(): WEFT_OK, where that takes no waiting, nothing is wrong, and the unit is not watched. Else nothing is done,
// and what `otherwise` returns is returned. `null` is what the handle becomes. Precondition: a unit's handle.
WEFT_API int join_here(weft_unit_t unit, int (*otherwise)(weft_unit_t unit));
WEFT_API int free_here(weft_unit_t* unit, weft_unit_t null, int (*otherwise)(weft_unit_t* unit));

// As weft_unit_state(): also says of a blocked unit whether it has suspended itself.
struct UnitView {
  weft_unit_state_t state;
  bool suspended;    // by weft_suspend()
  bool detached;
  bool tasklet;
  bool primary;
};
WEFT_API UnitView view(weft_unit_t unit);
WEFT_API void set_arg(weft_unit_t unit, void* arg);  // also of what it will run with
WEFT_API void set_home(weft_unit_t unit, weft_pool_t pool);
// How many ids have been given to units so far: the next one has the next number.
WEFT_API uint64_t unit_ids_given();
// Hooks in place of others, or of none. False: it has other ones by now.
WEFT_API bool set_hooks(weft_unit_t unit, FrontHooks* before, FrontHooks* hooks);
inline FrontHooks* hooks(weft_unit_t unit) noexcept {
  return __atomic_load_n(&part(unit)->hooks, __ATOMIC_ACQUIRE);  // pairs with the release in set_hooks()
}
// FrontHooks::move() is called when it is picked next, or yields.
WEFT_API void request_move(weft_unit_t unit);
// It ends when it is picked before it has started, when it yields, or once it has been resumed.
WEFT_API void request_cancel(weft_unit_t unit);
// Where it has run last: null: nowhere. A moment's answer.
WEFT_API weft_worker_t last_worker(weft_unit_t unit);
// [*low, *low + *size) of the stack that it has now; false: none of its own.
WEFT_API bool stack_of(weft_unit_t unit, void** low, size_t* size);
WEFT_API size_t default_stack_size();
WEFT_API bool stacks_are_guarded();

// The caller goes on only where that pool is taken from; null: anywhere. At once, that is in this call, if it may not run on
// where it is. False: the caller is no ULT, or one that somebody else's stack, or its KLT, keeps where that is.
WEFT_API bool keep_in(weft_pool_t pool);

// A unit that never runs, and stands for a main scheduler. Null: no memory. unit_forget() frees it.
WEFT_API weft_unit_t stand_in_create(weft_pool_t pool);
WEFT_API void stand_in_free(weft_unit_t unit);

using rt::UnitEvent;
// What watched units do is told to this function: worker/watch.hpp. Null: to nobody.
WEFT_API void set_watcher(void (*watcher)(weft_unit_t unit, UnitEvent event, weft_unit_t by, weft_worker_t worker));
WEFT_API void watch_self();  // the calling unit too is watched from now on
struct WaitView {
  const char* kind;    // "mutex", as in dumps
  unsigned number;     // of WaitKind
  const void* object;  // null: none
};
WEFT_API WaitView wait_of(weft_unit_t unit);
// How many ULTs are below what runs on the worker, which run it as schedulers do. In a watcher.
WEFT_API unsigned scheduling_depth(weft_worker_t worker);
// The ULT that runs others as a scheduler does, if the caller is what it does for that: a pool's function, a watcher, the end of a unit. Else null.
WEFT_API weft_unit_t scheduling_self();

// ---- switching. The unit to go to is in no pool, and is fresh or ready; see weft_pool_pop().

// weft_yield(); if the unit's pool is a user's, it finds `context` in its part.
// Returns WEFT_OK, so that it can be the last thing that a front-end's function does. If the caller is no ULT, and
// `otherwise` is not null: nothing is done, and what that returns is returned.
WEFT_API int yield(uint64_t context, int (*otherwise)() = nullptr);
// kMade: it has made `to`, or revived it: as kYield, but in a deque the caller lies where its worker looks first, as if it had been made
// last: depth first.
enum class Leave { kYield, kMade, kSuspend, kExit };
// The caller leaves, and `to` is run in its place by the scheduler that runs the caller. `context` as above.
// Context: ULT.
WEFT_API void switch_to(weft_unit_t to, Leave how, uint64_t context);
// The unit is taken out of its pool, if it is ready there and that is built in, and run as by switch_to(), kYield.
// False: it is not there, and nothing has been done.
WEFT_API bool yield_to(weft_unit_t to, uint64_t context);
// The same where both are ULTs that leave and come by a mere switch: WEFT_OK. Else nothing is done, and what otherwise(to)
// returns is returned: so that it can be the last thing that a front-end's function does.
WEFT_API int yield_to_directly(weft_unit_t to, int (*otherwise)(weft_unit_t to));
// weft_yield() straight to that ULT, whose place among those that wait for the worker the caller takes. False: nothing has been done: it
// is not among them, or one of the two does not leave or come by a mere switch, or it is the scheduler's turn; then it comes
// second from now on, and the caller is to yield. Null, and a unit that is gone, is among nobody; one that has its place may be.
WEFT_API bool yield_nearby(weft_unit_t to);
// The calling ULT goes on at that worker, behind those that are ready there, if it may run there; else it yields. It is no front-end's
// unit. Precondition: the worker is there for as long as the call takes.
WEFT_API void move_to(weft_worker_t to);
// Takes over a unit that has suspended itself, as if it had been popped. False: it has not.
WEFT_API bool take_suspended(weft_unit_t unit);
// Takes a ready or fresh unit out of its pool, if that is built in. False: it is not there.
WEFT_API bool take_ready(weft_unit_t unit);
// Runs a unit until it ends, yields or suspends. Context: ULT, scheduler. Error: CONTEXT.
WEFT_API int run(weft_unit_t unit);
// The same of a unit that belongs to that pool, where the pool is built in and the caller is a ULT of a front-end's, or its scheduler.
// Else nothing is done, and what otherwise(unit, pool) returns is returned.
WEFT_API int run_of_pool(weft_unit_t unit, weft_pool_t pool, int (*otherwise)(weft_unit_t unit, weft_pool_t pool));
// A scheduler of the front-end's looks at deadlines, and at what else a worker has to do now and then.
WEFT_API void poll();
// How many units wait for the caller's worker, as far as it is quickly told: at least one if there is something else to run. None on
// a thread that is none of Weft's.
WEFT_API unsigned others_waiting();
// What sched_yield() is to a ULT with an identity of its own: other units run first. One without might hold what is its
// worker's, an allocator's cache say. `calls`: how often it has called: now and then units that wait at other workers are
// looked for, since a worker whose ULTs wait in this way is never idle. False: nothing has been done: the caller is another,
// or nothing waits, or a section of Weft's has called, or a signal handler. Context: any.
WEFT_API bool yield_as_thread(unsigned calls);
// A short sleep of a ULT with an identity of its own, while others wait for its worker, or sleep there in this way: the worker goes
// on with them, and keeps its kernel thread. As precise as the kernel's: never less. No signal ends it. False: nothing has been done; also in
// a signal handler, whose mask its kernel thread has. Context: any.
WEFT_API bool sleep_as_thread(uint64_t ns);
// Until the second one the caller is not preempted, and must not suspend. may_wait: unless it is asleep, since it waits for a lock of the
// process's; without, it waits for none. False: nothing has been done, it is none of Weft's threads; then the second one is not called.
// They nest. Context: any.
inline constexpr size_t kAttentionOffset = 12, kNoPreemptionOffset = 48;
inline constexpr unsigned kNeverLeaves = 1, kMayLeave = 1u << 16;
[[gnu::always_inline]] inline bool no_preemption_begin(bool may_wait) noexcept {
  if (!rt::klt_register_valid_abroad()) return false;
  rt::klt_register_add32<kNoPreemptionOffset>(may_wait ? kMayLeave : kNeverLeaves);
  return true;
}
WEFT_API void attend();  // to what has come meanwhile
[[gnu::always_inline]] inline void no_preemption_end(bool may_wait) noexcept {
  if (!rt::klt_register_valid_abroad()) return;  // a thread may stop being a KLT in between
  rt::klt_register_add32<kNoPreemptionOffset>(-(may_wait ? kMayLeave : kNeverLeaves));
  if (__builtin_expect((rt::klt_register_load<kAttentionOffset, uint32_t>() != 0), 0)) attend();
}
class NoPreemption {
 public:
  NoPreemption() : counts_(no_preemption_begin(false)) {}
  NoPreemption(const NoPreemption&) = delete;
  NoPreemption& operator=(const NoPreemption&) = delete;
  ~NoPreemption() {
    if (counts_) no_preemption_end(false);
  }

 private:
  const bool counts_;
};
// Ticks, or blocks in the kernel, may take a unit's worker from it: nobody chooses where it goes on. Context: any.
WEFT_API bool workers_are_taken();
// The caller is in a signal handler, as far as can be told: then it may be what others wait for, and is not to wait for a worker itself, as the
// functions around this one may. Context: any thread.
WEFT_API bool handler_runs();

// ---- system calls that wait, and that a signal of ours may cut short: call.cpp. Context: any, outside of Weft

// How many handlers of the program's had begun in the caller.
struct HandlersMark {
  const std::atomic<uint32_t>* counter;  // it has been another one's since, where the caller has no identity of its own
  uint32_t begun;
};
[[gnu::always_inline]] inline HandlersMark handlers_mark() noexcept {
  return {&weft_handlers_begun, weft_handlers_begun.load(std::memory_order_relaxed)};
}

// Taken before such a call.
struct CallMark {
  const rt::Klt* klt = nullptr;  // null: the caller is none of Weft's, or a section of its own
  HandlersMark handlers{};
  uint32_t thread = 0, ult = 0, brought = 0;
};
WEFT_API CallMark call_mark();
// It has ended with EINTR, and as far as can be told for nothing of the program's since then, or since the last time: it is to be made again.
WEFT_API bool call_cut_short(CallMark& since);

// A call that returns what it has done so far where a signal comes has done a part; handlers_mark() from before it. As far as can be told it was no
// signal that the program knows of that has cut it short: it is to go on with the rest.
WEFT_API bool part_goes_on(const HandlersMark& since);

// What the process has been sent by now, and the caller has open: if it is main its handlers have run when this returns; not in a handler.
WEFT_API void signals_catch_up();

// A call with a signal mask of its own. Of what that lets in exactly one is to end it, which comes in the call and at no other time: so ours
// come in the call alone, too, and are known from it for sure.
struct MaskedCall {
  uint64_t closed = 0;    // as the kernel has a set: those of ours
  uint32_t cut_short = 0;
  HandlersMark handlers{};
  bool again = false;
};
// False: ours do not interrupt the caller. Else ours are left out of `mask`, which the calls are to be made with from here to the end.
WEFT_API bool masked_call_begins(MaskedCall& call, sigset_t& mask);
// It has ended with EINTR: for ours alone, so it is to be made again.
WEFT_API bool masked_call_cut_short(MaskedCall& call, const sigset_t& mask);
WEFT_API void masked_call_ends(const MaskedCall& call);

// A call, made again and again, that waits for these: what it is sent meanwhile is brought to where the caller is, also between two of them. Returns
// what is to be given back.
WEFT_API uint64_t waiting_begins(const sigset_t& set);
WEFT_API void waiting_ends(uint64_t before);

// The caller is a signal handler that has interrupted Weft, on one of its kernel threads: it may call nothing of Weft's but what is
// async-signal-safe. False says nothing about what else it has interrupted. Async-signal-safe; also without the runtime.
WEFT_API bool interrupts_section();
// Idle workers that have slept for less than that look on for as long the next time, giving way to other threads: for
// front-ends whose programs pause for moments. 0: they sleep, as soon as they have looked for WEFT_IDLE_SPIN.
WEFT_API void set_idle_patience(uint64_t ns);
// Whether idle workers sleep as soon as they have found nothing once, in spite of WEFT_IDLE_SPIN: where others of the process's threads want
// the CPU.
WEFT_API void set_idle_sleeps_at_once(bool on);
// A full fence on every running thread of the process: os/membarrier.hpp.
WEFT_API void fence_everywhere();
// What such fences need of the kernel, ahead of initialize(), and our files, as long as the process has one thread. Then it costs nothing, later the
// 10 to 35 ms in which every CPU has to be seen idle or switching once. Context: any; also without the runtime.
WEFT_API void prepare();

// What every worker that runs calls once after each ring_bell(), when its scheduler, or a poll(), comes by: those that
// sleep are woken for it. It may block, which blocks its worker. Null: nothing.
WEFT_API void set_bell(void (*function)());
// The same, besides that one and for good: the OpenMP front-end's. Async-signal-safe.
WEFT_API void set_lasting_bell(void (*function)());
// Async-signal-safe; also without the runtime.
WEFT_API void ring_bell();

// ---- synchronisation

// weft_mutex_open(), and leaves a number from 0 to 3 in the mutex, for good.
WEFT_API void mutex_open(weft_mutex_t* mutex, unsigned mark);
WEFT_API unsigned mutex_mark(const weft_mutex_t* mutex);  // 0: none, so far
// weft_cond_wait_until() for who has a way of his own to wait for the mutex afterwards: `locked`: that need not be done. It is written where
// the caller has waited: WEFT_OK, WEFT_ERR_TIMEOUT. Leaves a number from 0 to 3 in the condition variable.
WEFT_API int cond_wait(weft_cond_t* cond, weft_mutex_t* mutex, uint64_t deadline, unsigned mark, bool& locked);
WEFT_API unsigned cond_mark(const weft_cond_t* cond);  // 0: none, so far
// Takes the list's lock: by the time that the caller has the answer there may be others.
WEFT_API bool cond_has_waiters(weft_cond_t* cond);

// ---- pools

WEFT_API void pool_set_front(weft_pool_t pool, void* front);
WEFT_API void* pool_front(weft_pool_t pool);
// How units of that home are preempted that do not say; what becomes of their worker when they block.
WEFT_API void pool_set_preemption(weft_pool_t pool, weft_preemption_t kind);
WEFT_API void pool_set_blocking(weft_pool_t pool, weft_blocking_t kind);
// More than one worker, or a thread, pops from it from now on. Only a worker's own pool has to know.
WEFT_API void pool_share(weft_pool_t pool);
WEFT_API bool pool_is_own(weft_pool_t pool);  // a worker's
// Units of that home that are blocked.
WEFT_API size_t pool_blocked(weft_pool_t pool);
// A user-defined pool has got units without the core: those who wait for some are woken.
WEFT_API void pool_pushed(weft_pool_t pool);
// Whatever is in it.
WEFT_API void pool_destroy(weft_pool_t pool);
// A FIFO for any number of users, which costs no more than a worker's own where one worker alone has
// it as the first pool of its main scheduler. Null: no memory.
WEFT_API weft_pool_t pool_create_fifo(weft_access_t access);
WEFT_API unsigned pool_schedulers(weft_pool_t pool);
// *unit = null: it is empty. False: it is not built in, and nothing has been done.
WEFT_API bool pool_pop(weft_pool_t pool, weft_unit_t* unit);
// The same, and waits until the deadline (weft_after()) for one to come; the caller's worker with it. Null: none has, or
// the caller is a main scheduler that shall stop. Only of pools that are built in.
WEFT_API weft_unit_t pool_pop_until(weft_pool_t pool, uint64_t deadline);
// Takes one unit out. False: it is not there.
WEFT_API bool pool_remove(weft_pool_t pool, weft_unit_t unit);
// Calls f for each unit; the pool is locked meanwhile. Only of pools that are built in.
WEFT_API void pool_for_each(weft_pool_t pool, void (*f)(weft_unit_t unit, void* arg), void* arg);

// ---- schedulers

// As weft_sched_create(), weft_sched_create_user(), with any number of pools; it waits for blocked units before it ends.
WEFT_API int sched_create(weft_sched_kind_t kind, size_t n, const weft_pool_t* pools, weft_sched_t* sched);
WEFT_API int sched_create_user(const weft_sched_ops_t* ops, void* arg, size_t n, const weft_pool_t* pools,
                               weft_sched_t* sched);
// What it was told by its last user's end is forgotten.
WEFT_API void sched_renew(weft_sched_t sched);
WEFT_API bool sched_should_stop(weft_sched_t sched);
// Its pools are empty, and no unit of a front-end's, or that was put there, waits that will come back to one.
WEFT_API bool sched_done(weft_sched_t sched);
// Other units are at home in that pool from here on, if they were in one of its.
WEFT_API void sched_hand_on_others(weft_sched_t sched, weft_pool_t to);
// Runs a scheduler as the calling unit's function.
WEFT_API void sched_stacked_main(void* sched);
WEFT_API bool sched_claim_stacked(weft_sched_t sched, bool on);
WEFT_API weft_unit_t sched_unit(weft_sched_t sched);  // that runs it, stacked; null: none
// Of a scheduler that nobody uses any more, also one that came with its worker.
WEFT_API void sched_free(weft_sched_t sched);

// ---- workers

WEFT_API void worker_set_front(weft_worker_t worker, void* front);
WEFT_API void* worker_front(weft_worker_t worker);
// Of the worker that the caller is on; null: a foreign thread, no front-end's worker, or a unit of somebody else's.
WEFT_API void* my_front();
WEFT_API weft_pool_t worker_lane(weft_worker_t worker);
WEFT_API bool worker_stopped(weft_worker_t worker);
// Whoever carries the caller's worker is on that CPU then, and free to be moved, as before. Nothing is done where it may not go there, nor
// without a worker.
WEFT_API void carrier_to(unsigned cpu);
// Makes a worker with a patient scheduler over its lane (null), or with that one. It is started, or discarded.
WEFT_API int worker_create(weft_sched_t sched, void* front, weft_worker_t* worker);
WEFT_API int worker_start(weft_worker_t worker);
WEFT_API void worker_discard(weft_worker_t worker);
// The calling ULT goes on when the old scheduler of its worker is done and this one has taken over. left(arg) is called once it does not run any
// more: then it gets its new home, without which the old scheduler would wait for it; adopted(arg) when the new one has taken over, and must do no
// more than note it. False: somebody else's has come before that.
WEFT_API bool worker_replace_sched(weft_sched_t sched, void (*left)(void* arg), void (*adopted)(void* arg), void* arg);
// The calling ULT's worker gets a scheduler over its lane alone. Its old one, which is built in, is nobody's.
WEFT_API void worker_drop_sched();
// In a child that fork() has just made, by the front-end's ULT that has called it: its worker has that scheduler, null: its lane's. Only what
// worker_set_front() has said of the worker that it was on, and its pool, if that is no worker's own, are still as they were.
WEFT_API void worker_in_child(weft_sched_t sched);
// The same as worker_replace_sched(), at once, of a worker that has stopped.
WEFT_API void worker_change_stopped(weft_worker_t worker, weft_sched_t sched);
// The caller's worker takes units out of this pool too, by turns with its lane: for units that some workers may run, and others
// not. False: its scheduler is not the one that it was made with, or has as many pools as it can.
WEFT_API bool worker_take_from(weft_pool_t pool);
// Of the process, as it was before its workers were bound.
inline constexpr int kMostCpus = 8192;
WEFT_API bool may_use_cpu(int cpu);
// Whether ULTs that the primary one joins may run on its stack: only while nobody else could run them.
WEFT_API void primary_may_host(bool may);

}  // namespace weft::front
