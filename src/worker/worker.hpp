// worker.hpp: a virtual processor: runs one scheduler; is carried by one KLT at a time.
#pragma once

#include <atomic>
#include <cstdint>

#include "arch/pause.hpp"
#include "arch/thread_pointer.hpp"
#include "klt/guard.hpp"
#include "os/futex.hpp"
#include "os/patience.hpp"
#include "pool/lane.hpp"
#include "sched/sched.hpp"
#include "unit/stack.hpp"
#include "unit/unit.hpp"
#include "worker/marks.hpp"
#include "worker/waiter.hpp"

namespace weft::rt {

// What is done, on the scheduler's side, with a unit that has just left its stack.
using AfterSwitch = void (*)(Worker* worker, Unit* unit, void* arg);

struct WorkerStats {
  std::atomic<uint64_t> units_run{0};
  std::atomic<uint64_t> units_claimed{0};
  std::atomic<uint64_t> forks{0};
  std::atomic<uint64_t> switches{0};
  std::atomic<uint64_t> steals{0};
  std::atomic<uint64_t> sleeps{0};
  std::atomic<uint64_t> handovers{0};
  std::atomic<uint64_t> promotions{0};
  std::atomic<uint64_t> ticks{0};
  std::atomic<uint64_t> signal_yields{0};
  std::atomic<uint64_t> klt_switches{0};
  std::atomic<uint64_t> put_off{0};

  // What has begun to run. A unit that is preempted and the one that comes then count for two at most.
  uint64_t begun() const noexcept {
    return units_run.load(std::memory_order_relaxed) + units_claimed.load(std::memory_order_relaxed) +
           forks.load(std::memory_order_relaxed) + switches.load(std::memory_order_relaxed);
  }
};

// Owner only: a plain add that readers may watch.
[[gnu::always_inline]] inline void count(std::atomic<uint64_t>& counter) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

// When its ticks come (preempt/). Owner, tick handler; whoever starts the ticks.
struct PreemptClock {
  std::atomic<bool> by_priority{false};  // its main scheduler, or one of that's pools, goes by priority
  std::atomic<bool> ticking{false};   // there will be one, unless the worker sleeps then
  std::atomic<uint32_t> periods{1};   // intervals from one to the next
  std::atomic<uint32_t> turn{1};      // as long as a turn is; more than one: the lane tells
  std::atomic<uint32_t> settled{0};   // ticks in a row that have found nobody waiting but those that ticks have preempted
  std::atomic<uint32_t> tail{0};      // of the ring, if nobody has been pushed since the last such tick
  std::atomic<uint64_t> due{0};       // when the last one, or the next one, should come
  std::atomic<uint64_t> seen{0};      // what had begun to run when it was armed
  std::atomic<const Unit*> whose{nullptr};  // a name: it ends this one's short slice only; null: of whoever runs
  std::atomic<uint32_t> spun{0};      // ticks that are left before it is forgotten that a unit spun here
  // a ULT is left alone while others wait: since when, in which futex, what had begun to run then, how often somebody has been asked to look since;
  // somebody is to look; the worker was given to whoever held that lock
  std::atomic<uint64_t> alone_since{0};
  std::atomic<const void*> alone_at{nullptr};
  std::atomic<uint64_t> alone_progress{UINT64_MAX};
  std::atomic<uint32_t> alone_asked{0};
  std::atomic<bool> stuck{false}, unstuck{false};
  std::atomic<uint64_t> round{0};     // the last one of the process's that it took part in
};

// Its scout, and who carries it on when its carrier blocks (block/). Who writes what: block/README.md.
struct BlockPost {
  FutexWord state{0};                // of the scout; see block/block.hpp
  FutexWord call{0};                 // counts: the scout wants the heir to look
  std::atomic<uint32_t> answered{0};  // heir
  std::atomic<uint64_t> counted{0}, counted_at{0};  // scout, heir: which block was counted last, and when
  std::atomic<bool> would_steal{false};  // heir: as it had the scout rest; other scouts look at it
  uint64_t kept_since = 0, kept_at = UINT64_MAX;  // heir, with the worker's private part: see kept_for_long()
  std::atomic<Klt*> heir{nullptr};   // sleeps, and is no spare meanwhile
  std::atomic<int> tid{0};
  std::atomic<unsigned> index{0};    // the worker's: of its deadlines
  pthread_t thread{};                // of whoever starts and ends it
  std::atomic<bool> started{false};  // the same one; a worker that starts looks at it
  bool listed = false;
  Worker* next = nullptr;  // in the list of those that have, or had, a scout
};

enum class Sleep : uint8_t {
  kAwake,
  kAsleep,       // whoever exchanges it for Awake wakes the worker
  kAsleepThief,  // the same; it would steal, and counts as a searcher once it is woken
};

enum class WorkerState : uint32_t {
  kNew,       // its creator owns it
  kActive,    // its carrier owns it
  kStopping,  // told to stop; its carrier owns it until it says Stopped
  kStopped,   // whoever joined it owns it
};

inline constexpr unsigned kTagShift = 10;

// A ULT that replaces its worker's main scheduler, and waits until the new one has taken over, or a later one comes
// before it has. In its frame.
struct Replacement {
  Unit* unit;
  Sched* sched;
  void (*left)(void* arg);     // called when the unit does not run any more
  void (*adopted)(void* arg);  // called just then; guard up, both
  void* arg;
  bool done;
};

// Since when units of a worker wait: waits_since().
struct WaitClock {
  static constexpr uint64_t kSwitches = 8;
  uint64_t time = 0;
  uint64_t turn = 0;    // which so many switches it was read in
  bool steady = false;  // it holds for all of them
};
uint64_t look_at_wait_clock(WaitClock& clock, uint64_t turn) noexcept;

inline Waiter* const kNoMoreJoiners = reinterpret_cast<Waiter*>(1);

struct alignas(64) Worker {
  explicit Worker(void* lane_memory) noexcept : lane(this, lane_memory) {}

  // constant
  unsigned index = 0;
  uint32_t tag = 0;  // names it in a word that has flags below kTagShift; never 0
  WorkerMarks* marks = nullptr;
  // its own parts say whose they are
  Lane lane;
  // carrier, guard up (or a taker)
  UnitCache units;
  StackCache stacks;
  Stack* sched_stack = nullptr;  // where the main scheduler runs, and SC units on top of it
  uintptr_t sched_floor = kNoClaim;  // claim floor of what runs on sched_stack
  Stack* next_stack = nullptr;   // prepared: what the scheduler moves to when a unit keeps sched_stack
  Sched* sched = nullptr;        // main scheduler
  // Who gets control when a unit leaves: null: the stateless main scheduler, restarted at the top of
  // sched_stack; else a scheduler's saved context.
  Context* parent = nullptr;
  Stack* parent_stack = nullptr;
  struct Left {
    Unit* unit;
    AfterSwitch action;  // null: nothing
    void* arg;
  } left{};  // for a saved scheduler: which unit has come back, and what to do with it
  Unit* scheduling = nullptr;      // the ULT that runs what runs now, as a scheduler does; null: the main scheduler
  unsigned depth = 0;              // how many such ULTs there are below it
  Unit* dispatch_first = nullptr;  // what the next carrier starts with
  struct Named {
    const Unit* unit;
    Unit* by;
  } named{};  // dispatch_first, if it is watched, until it runs or goes elsewhere
  Pool* first_pool = nullptr;      // of sched, if it begins each pick there, and that is no lane of this one's; else null
  bool ring_first = false;         // sched is built in, this one's lane is its first pool, others have no turns
  bool expects_inbox = false;      // what it ran last, after it had nothing, had been sent to it
  bool direct = false;             // units may switch to each other: home is the lane, and parent null
  std::atomic<Pool*> home_pool{nullptr};  // where units created here go: the scheduler's first pool
  Lane* ring = nullptr;            // its lane, if that is its home and private: units created here go into the ring
  FpEnvironment fp = kFpOfNewThreads;  // of schedulers, and of all units that have none of their own: who has one leaves this behind
  FpEnvironment fp_shared = kFpOfNewThreads;  // debug builds: what those have to leave as they found it
  uint32_t tick = 0;
  uint32_t timer_look = 0;  // counts the times at which deadlines might be looked at
  bool alarmed = false;     // a deadline has ended its last sleep, and nothing else has come since
  Patience patience;        // idle.cpp
  uint64_t looks_since = 0;  // when it began to look on; 0: it has not
  uint32_t timer_turn = 0;  // whose deadlines besides the own are looked at next
  uint32_t bell_answered = 0;  // see bell.hpp
  uint64_t random = 0;
  WorkerStats stats;
  WaitClock wait_clock;
  PreemptClock preempt;
  bool parked = false;      // has taken note of `suspended`
  uint32_t swept_tail = 0;  // of its ring, while it is suspended: what lies before has been looked at
  BlockPost post;
  std::atomic<const Pool*> holds{nullptr};  // read by who frees a pool; see pool_hold.hpp
  // any worker
  alignas(64) std::atomic<Klt*> carrier{nullptr};
  std::atomic<WorkerState> state{WorkerState::kNew};
  FutexWord park{0};               // 1: look again
  std::atomic<Sleep> asleep{Sleep::kAwake};
  std::atomic<uint64_t> nap{0};   // owner: odd from its last look round to its way back; never the same again
  std::atomic<Sched*> new_sched{nullptr};
  std::atomic<int> cpu{-1};
  FutexWord stopped{0};             // 1 when it has stopped
  std::atomic<Waiter*> joiners{nullptr};  // ULTs that wait for that; kNoMoreJoiners: it stops just now, or has
  Worker* next_retired = nullptr;
  std::atomic<void*> front{nullptr};  // a front-end's
  Replacement* replacement = nullptr;  // carrier; with new_sched
  // Shall run only what no other worker may: packing.hpp. Written under runtime.setup, and by its last carrier.
  std::atomic<bool> suspended{false};
  // What it begins with, unless it is given another one: see Sched::implicit.
  alignas(64) Sched own_sched;

  Pool* home() const noexcept { return home_pool.load(std::memory_order_relaxed); }
  Stack* parent_or_sched_stack() const noexcept {
    return parent != nullptr ? parent_stack : sched_stack;
  }
};

// In whole pages that it shares with no other worker: the record, which its creator writes, then the lane's arrays,
// which its carrier touches first. What a worker gets of its own in future goes here too. Null: out of memory.
Worker* worker_map() noexcept;
void worker_unmap(Worker* worker) noexcept;

inline bool is_consumer(const Worker* worker, const Pool* pool) noexcept {
  const uint64_t word = pool->consumers[worker->index / 64].load(std::memory_order_relaxed);
  return (word >> (worker->index % 64) & 1) != 0;
}

// Whether the worker's main scheduler takes units out of the pool.
inline bool may_pop(const Worker* worker, const Pool* pool) noexcept {
  if (const Worker* owner = pool->lane_owner; owner != nullptr && !owner->lane.is_listed()) {
    return owner == worker || (worker->sched->steals_lanes && pool == &owner->lane);
  }
  return is_consumer(worker, pool);
}

// Whether this worker, which is awake, is the only one that could be woken. One that has begun to pop from the pool just
// now has looked, or looks, itself. Before it sleeps it has this worker see it (membarrier).
inline bool serves_alone(const Worker* worker, const Pool* pool) noexcept {
  return worker != nullptr && pool->lane_owner.load(std::memory_order_relaxed) == nullptr &&
         pool->schedulers.load(std::memory_order_relaxed) == 1 && pool->sleepers.load(std::memory_order_relaxed) == 0 &&
         is_consumer(worker, pool);
}

// ---- running ----------------------------------------------------------------------------------

// Leaves the current ULT: saves it, goes to the scheduler, which calls action(worker, unit, arg).
// Returns, on whatever worker runs it then, when somebody dispatches it. Guard up before and after.
Worker* leave_unit(Worker* worker, Unit* unit, AfterSwitch action, void* arg) noexcept;
// The same, for who comes back by jumps, as all that lies between here and the program has to: WEFT_RETURNS_BY_JUMP.
Worker* leave_unit_far(Worker* worker, Unit* unit, AfterSwitch action, void* arg) noexcept;
// A ULT that is about to be captive where it runs goes on elsewhere, if that is main's KLT: main could not go on before it does, and would
// do so at whatever worker it does. Guard up. It stays if no KLT is to be had.
void leave_klt_of_main() noexcept;

// The scheduler's start at the top of its stack: Entry.
[[noreturn]] void scheduler_restart(void* worker, void* left, void* action, void* arg) noexcept;

// From the loop of a user-defined or stacked scheduler: runs the unit until it leaves.
void run_from_scheduler(Worker* worker, Unit* unit) noexcept;
// The same, and the guard is lowered. Returns WEFT_OK.
int run_from_scheduler_and_leave(Worker* worker, Unit* unit) noexcept;
// The same of a unit that only the caller's KLT may run, if a user's main scheduler has been left one: its worker runs it
// whatever the scheduler's pools are.
inline void run_deferred(Worker* worker) noexcept {
  if (__builtin_expect(worker->dispatch_first == nullptr, 1) || klt_current() != nullptr) return;
  Unit* const unit = worker->dispatch_first;
  worker->dispatch_first = nullptr;
  run_from_scheduler(worker, unit);
}

// Ends the current unit from inside (weft_exit, cancellation). Guard up. Does not return; not declared so,
// because AddressSanitizer's preparation for that does not know our stacks.
void exit_unit(Worker* worker, Unit* unit) noexcept;

// Above it a ULT on this stack has room for a child: at least half of what that would have on a stack of
// its own. See klt_set_claim_floor().
uintptr_t claim_floor_of(const Stack& stack) noexcept;
void set_sched_stack(Worker* worker, Stack* stack) noexcept;

// Carries out the move that was requested of a unit that is fresh or ready and in no pool: into the other pool.
void move_unit(Worker* worker, Unit* unit) noexcept;

// Makes sure that the scheduler has a stack to move to. False: out of memory.
bool prepare_next_stack(Worker* worker) noexcept;

// Whether detach_stack() takes no more than what is at hand: for signal handlers.
bool detaches_at_once(const Worker* worker, const Unit* unit) noexcept;

// The stack that the unit runs on becomes its host's for good, and what the unit has forked becomes
// units of its own: it is about to leave the worker. Precondition: prepare_next_stack(), or the unit's
// host has a stack.
void detach_stack(Worker* worker, Unit* unit) noexcept;

// Debug builds: a ULT goes on on this worker, and later leaves it: its floating-point control words, which it
// shares with the others, must be the same then. Main sets them for all, and one with WEFT_FP_OWN for itself.
[[gnu::always_inline]] inline void note_fp([[maybe_unused]] Worker* worker) noexcept {
  if constexpr (kDebugBuild) worker->fp_shared = fp_save();
  WEFT_DCHECK(klt_current() != nullptr || thread_pointer() == klt_thread_pointer());  // a scheduler runs as its KLT
}
// Main leaves.
[[gnu::always_inline]] inline void share_fp(Worker* worker, const Unit* host) noexcept {
  if (__builtin_expect(unit_is(host, flag::kPrimary) && !unit_owns(host, own::kFp), 0)) worker->fp = fp_save();
}
[[gnu::always_inline]] inline void check_fp([[maybe_unused]] const Worker* worker,
                                            [[maybe_unused]] const Unit* host) noexcept {
  WEFT_DCHECK((unit_owns(host, own::kFp) || unit_is(host, flag::kPrimary) || fp_save() == worker->fp_shared) &&
              "a ULT without WEFT_FP_OWN leaves with other rounding or exception masks than it came with");
}

// ---- the main scheduler -------------------------------------------------------------------------

// The next unit of a built-in main scheduler; sleeps while there is none. Null: the scheduler is a
// user's, or the worker shall stop.
Unit* next_unit(Worker* worker) noexcept;
// The same where it is in the ring, and nothing else is wanted of the scheduler: null: ask next_unit(). All built-in
// policies begin with their first pool, and look elsewhere now and then, or when it is empty.
WEFT_HOT Unit* next_unit_of_ring(Worker* worker) noexcept {
  Lane& lane = worker->lane;
  const bool ordinary = worker->ring_first && worker->dispatch_first == nullptr &&
                        worker->new_sched.load(std::memory_order_relaxed) == nullptr &&
                        !lane.has_inbox() && ((worker->tick + 1) & kLookRound) != 0;
  Unit* unit = __builtin_expect(ordinary, 1) ? lane.pop_private() : nullptr;
  if (__builtin_expect(unit != nullptr, 1)) ++worker->tick;  // the other way counts for itself
  return unit;
}
// The same of a first pool that is not the ring.
WEFT_HOT Unit* next_unit_of_first_pool(Worker* worker) noexcept {
  const bool ordinary = worker->first_pool != nullptr && worker->dispatch_first == nullptr &&
                        worker->new_sched.load(std::memory_order_relaxed) == nullptr &&
                        !worker->lane.has_inbox() && !worker->sched->exit.load(std::memory_order_relaxed) &&
                        (++worker->tick & kLookRound) != 0;
  return ordinary ? worker->first_pool->pop(worker) : nullptr;
}
// Whether it has something to do but what runs now: for all that can be said of pools of the user's, which may have units.
// The worker's private part is the caller's. Async-signal-safe.
bool units_wait(Worker* worker) noexcept;
// Whether it takes units from other workers' lanes where its own pools are empty. The worker's private part is the caller's.
bool would_steal(const Worker* worker) noexcept;
// Whether another worker has units to spare. Any thread.
bool others_have_to_spare(Worker* self) noexcept;
// Runs a user-defined main scheduler until it returns.
void run_user_main(Worker* worker) noexcept;
bool worker_may_stop(Worker* worker) noexcept;
// The last that a carrier does for a worker: on its base stack. BaseAction.
void worker_stopped_on_base(void* worker, void* unused) noexcept;
// Returns when the worker has stopped. A ULT is suspended meanwhile.
void worker_wait_stopped(Worker* worker) noexcept;
// Binds the KLT, which is the caller or sleeps, to the worker's CPU, if it is not bound there already.
void bind_carrier(Klt* klt, Worker* worker) noexcept;

// Of whom the worker is published as gone, by then: so what holds for `worker` in a section holds for the tag.
inline void forget_tag(const Klt* klt) noexcept {
  klt->own.load(std::memory_order_acquire)->tag.store(kNoTag, std::memory_order_relaxed);
}
void set_main_sched(Worker* worker, Sched* sched) noexcept;
// The worker, which is the caller's, and has the scheduler that it was made with, takes units out of this pool too.
bool worker_take_from(Worker* worker, Pool* pool) noexcept;
// BASIC begins with another one of several now and then, and one that steals from lanes asks them.
inline bool begins_with_first_pool(const Sched* sched) noexcept {
  const bool by_turns = sched->kind == WEFT_SCHED_BASIC || sched->kind == WEFT_SCHED_BASIC_WAIT;
  return !sched->user && !sched->steals_lanes && sched->kind != WEFT_SCHED_PACKING && !(by_turns && sched->pool_count > 1);
}
inline bool ring_may_come_first(const Sched* sched) noexcept {
  return !sched->user && !(sched->steals_lanes && sched->pool_count > 1);
}
inline void set_parent(Worker* worker, Context* parent, Stack* stack) noexcept {
  worker->parent = parent;
  worker->parent_stack = stack;
  worker->direct = parent == nullptr && worker->ring != nullptr;
}

// ---- ready ------------------------------------------------------------------------------------

// The pool that it has to go to, or null: any lane will do, so the caller's own.
Pool* required_pool(const Unit* unit) noexcept;
// Puts a unit that is ready (or fresh) where it belongs, and wakes a worker for it if one sleeps.
// worker: the caller's, guard up; null on a foreign thread.
void make_ready(Worker* worker, Unit* unit) noexcept;
// To that worker, behind what is ready there, if it may run there; else as make_ready(). Guard up; the unit has left.
void send_to(Worker* worker, Unit* unit, Worker* to) noexcept;
// Where a unit is better off that a tick has interrupted: the worker where two fewer run and wait, if any lane will do for it; else null.
// A few workers are asked, others the next time.
Worker* emptier_worker(Worker* worker, const Unit* unit) noexcept;
// Into this pool.
void push_and_wake(Worker* worker, Pool* pool, Unit* unit) noexcept;
void push_all_and_wake(Worker* worker, Pool* pool, UnitList& units, unsigned n) noexcept;  // so many of a front-end's
// The same as make_ready() by a KLT that has no worker.
void make_ready_without_worker(Klt* self, Unit* unit) noexcept;
// The same for the owner's own use where nobody is to be woken yet.
void push_ready_private(Worker* worker, Unit* unit) noexcept;

// True: it went into the worker's own lane. False: it has to go elsewhere, and is nowhere yet.
bool push_if_own_lane(Worker* worker, Unit* unit) noexcept;
// Whether no function of the user's is called when the unit, which has run, is pushed.
bool goes_to_builtin(const Unit* unit) noexcept;
// Whether a unit that has run goes into the ring of the worker, and there is room for it.
bool goes_to_ring(Worker* worker, const Unit* unit) noexcept;
// The unit that the main scheduler would take out of the ring now; null: none, or something else is its turn.
Unit* first_in_ring(Worker* worker) noexcept;
// Whether what comes next is for the scheduler to say, whatever is in the ring.
bool scheduler_has_its_turn(const Worker* worker) noexcept;
// Whether a unit can be taken out of the ring without the scheduler: nothing is requested of it, nor to be noted.
bool may_pass_scheduler(const Unit* unit) noexcept;

// Of a front-end's unit: where it has run last.
inline void note_worker_of_front_unit(const Worker* worker, Unit* unit) noexcept {
  const bool here = unit->pool.load(std::memory_order_relaxed)->lane_owner == worker;
  unit->inside.store(here ? 0 : kRanOn | worker->index, std::memory_order_relaxed);
}

// ---- idleness ---------------------------------------------------------------------------------

// After units became visible to others: wakes as many sleepers as can use them.
void wake_sleepers(unsigned units) noexcept;
void wake_worker(Worker* worker) noexcept;
void wake_any_sleeper(Worker* self) noexcept;
void wake_carried_by(Klt* klt) noexcept;
// worker: the caller's, guard up; null: a foreign thread, or a KLT that has no worker just now.
void wake_for_pool(Worker* worker, Pool* pool) noexcept;
// A unit of that pool's runs here without having been pushed. A scheduler of it that shall finish may have waited for that one alone.
void wake_to_finish(Worker* worker, Pool* pool) noexcept;
// Of a suspended worker: sleeps until there is something that only it may run, or it shall do something else.
void idle_suspended(Worker* worker, Sched* sched) noexcept;
// Takes a unit that only this KLT may run into the worker's ring; see klt/README.md.
void take_deferred(Worker* worker) noexcept;
// That unit comes next, as `by` has it, which leaves or has ended; null: nobody who is there still. One that was to come already, because only this KLT may run it, goes back to
// its pool.
void dispatch_next(Worker* worker, Unit* unit, Unit* by) noexcept;
// Nothing was found: looks round for a while, then sleeps until there may be something. Returns a unit
// that it has found on the way, or null. `sched` is the one whose pools count.
Unit* idle_wait(Worker* worker, Sched* sched, bool spin) noexcept;
// Before it looks round, a worker that others have just sent a unit waits for the next one for so many looks, some microseconds.
inline constexpr unsigned kLooksForOthers = 64;
// Whether the worker would do that if the current unit left it. Precondition: expects_inbox.
bool would_look_for_inbox(const Worker* worker) noexcept;
// By a unit that is about to wait, in the place of that: comes() says whether what it waits for is there. Then nobody need send the
// unit, which is most of what a wake-up on another worker costs. False: it has to wait. Guard up.
template <class F>
bool look_before_waiting(Worker* worker, F&& comes) noexcept {
  if (__builtin_expect(!worker->expects_inbox, 1) || !would_look_for_inbox(worker)) return false;
  for (unsigned i = 0; i < kLooksForOthers; ++i) {
    if (comes()) return true;
    if (worker->lane.has_inbox()) return false;
    cpu_pause();
  }
  worker->expects_inbox = false;
  return false;
}
// The same for a user-defined main scheduler, whose units are its own business.
void idle_user(Worker* worker, Sched* sched) noexcept;
// True if somebody sleeps or searches.
bool anybody_hungry() noexcept;
// The caller has slept for so long, and has seen no worker awake. Looks whether anything is left that could wake
// one. Returns after how much longer that is to be asked again, 0: never. Defined by inspect/.
uint64_t all_asleep(uint64_t slept_ns) noexcept;
// For a ULT that waits by yielding: a unit that waits at another worker, taken as by an idle one. Null: there is none, or this
// worker's scheduler takes none. Guard up.
Unit* take_from_others(Worker* worker) noexcept;
// The owner's answer to attention::kHungry.
void feed_the_hungry(Worker* worker) noexcept;

}  // namespace weft::rt
