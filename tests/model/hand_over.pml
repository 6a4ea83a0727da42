// hand_over.pml: how a worker gets from one KLT to another (src/klt/).
//
// KLTs run units on workers, leave them, capture them, block in the kernel and come back; takers come
// at any moment. Which function each part stands for is said at the part; README.md has the table.
//
// Memory is x86-TSO where it matters: a KLT's stores to `guard` and `current` go through its store
// buffer, which is flushed whenever it likes. All other stores are locked, or followed by a locked
// instruction or a system call before the KLT's next load that matters; for these a late store is a
// late KLT. Stores leave a buffer in order, so what a KLT did to a worker's private part is visible
// to whoever sees the guard that it lowered afterwards.
//
// Every run is finite (each unit takes `STEPS` steps, each taker `TRIES` tries), so "no invalid end"
// and "no cycle" together say that every KLT that waits gets an answer and every unit ends.

#ifndef KLTS
#define KLTS 3
#endif
#ifndef WORKERS
#define WORKERS 1
#endif
#ifndef UNITS
#define UNITS 2
#endif
#ifndef STEPS
#define STEPS 1      // what each unit does before it ends; the one that spins: 1
#endif
#ifndef TRIES
#define TRIES 1      // of each taker, at any moment
#endif
#ifndef USER_SCHED
#define USER_SCHED 1 // how often code of a scheduler or tasklet runs with the guard down
#endif
#ifndef BLOCKER
#define BLOCKER 0    // the unit that may block in the kernel until the other has ended; 8: each may, for some time; 9: none
#endif
#ifndef ANNOUNCES
#define ANNOUNCES 0  // 1: it says so before and after
#endif
#ifndef PRIMARY
#define PRIMARY 0    // the primary unit: only KLT 0 runs it; 9: none
#endif

// Signals: a *tick* (src/preempt/), when the KLT's timer is set; and a *stop* (src/block/), once, when the KLT is back
// in user mode after its worker was taken.
#ifndef TICKS
#define TICKS 0      // how many come at any moment; besides them one whenever all others wait for it
#endif
#ifndef SPINNER
#define SPINNER 9    // the unit that spins, as its first step, until the other has ended; 9: none
#endif
#ifndef ROUNDS
#define ROUNDS 2     // so many signals in a row, at most, for which all others wait, do not make a unit leave
#endif
#if TICKS || SPINNER != 9
#define SIGNALS
#endif

#define MAY_BLOCK(u_) (BLOCKER == 8 || u_ == BLOCKER)
#if SPINNER == 9 && BLOCKER != 8
#define BLOCKER_WAKES place[1 - BLOCKER] == ENDED
#else
#define BLOCKER_WAKES skip  // whenever it likes: the other one may wait for it
#endif

#define NOBODY 15

// Klt::take
#define kNone 0
#define kPending 1
#define kGiving 2
#define kTaken 3
// Klt::state
#define kCarrying 0
#define kCaptive 1
#define kSpare 2

// Where a unit is: exactly one of these, because it is one variable; that nobody moves a unit out of
// a place where it is not is asserted in move().
#define IN_HAND 0          // picked; its worker's carrier has it
#define SHARED 1
#define RING(w) (2 + (w))  // w = 1..WORKERS
#define RUNNING(k) (10 + (k))
#define IN_KERNEL(k) (20 + (k))
#define DEFERRED 30
#define ENDED 31

// struct Klt
byte guard_[KLTS];
byte current[KLTS];        // unit + 1; 0: scheduler, or a tasklet
byte worker[KLTS];         // 1..WORKERS; 0: null
byte take_[KLTS];
byte state[KLTS];
bit wake[KLTS];
byte held[KLTS];           // unit + 1
byte deferred[KLTS];       // unit + 1
bit attention[KLTS];       // kDeferred
bit blocked[KLTS];         // in the kernel, by the kernel's account
#ifdef SIGNALS
bit note[KLTS];            // attention: kPreempt
bit armed[KLTS];           // its timer is set
bit stop[KLTS];            // it gets a signal when it is back in user mode, once
bit due[KLTS];             // all others wait for a signal of this one
bit handling[KLTS];        // it runs the handler, and nothing else
byte jump[KLTS];           // the worker, when the handler has left the unit's stack for the scheduler's
bit spinning[KLTS];
byte ticks = TICKS;
byte rounds;
#define NOTED(klt) note[klt]
#else
#define NOTED(klt) 0
#endif
bit slot[KLTS];            // the array of spares
chan buffer0 = [2] of { byte, byte };
chan buffer1 = [2] of { byte, byte };
chan buffer2 = [2] of { byte, byte };
#if KLTS > 3
chan buffer3 = [2] of { byte, byte };
#endif
chan buffer[KLTS];

// struct Worker, from 1
byte carrier[WORKERS + 1];
bit asleep[WORKERS + 1];
byte dispatch_first[WORKERS + 1];  // unit + 1

// struct Unit
byte place[UNITS];
byte captive[UNITS];       // KLT, or NOBODY
byte steps[UNITS];

// for the properties
byte inside[WORKERS + 1];  // who touches the private part
byte ended;
byte user_sched = USER_SCHED;

#define IS(u_, p) (u_ < UNITS && place[u_] == p)
#define IN_REACH(u_) (place[u_] == SHARED || place[u_] == RING(w))
#if UNITS > 2
#define VISIBLE (IN_REACH(0) || IN_REACH(1) || IN_REACH(2))
#else
#define VISIBLE (IN_REACH(0) || IN_REACH(1))  // that it is seen is what park_wake.pml is about
#endif

// ---- words that others may see late ----

#define GUARD 0
#define CURRENT 1
inline store(what, value) { buffer[k]!what,value }
inline fence() { empty(buffer[k]) }  // what a locked instruction of KLT k waits for

proctype Flush(byte k) {
  byte value;
end:
  do
  :: atomic { buffer[k]?GUARD,value -> guard_[k] = value; value = 0 }
  :: atomic { buffer[k]?CURRENT,value -> current[k] = value; value = 0 }
  od
}

// ---- ghosts ----

inline move(unit, from, to_place) {
  assert(place[unit] == from);
  place[unit] = to_place
}

inline touch_begin(w_) {
  assert(inside[w_] == 0);  // mutual exclusion on the private part
  inside[w_] = 1
}

inline touch_end(w_) {
  assert(inside[w_] == 1);
  inside[w_] = 0
}

inline set_worker(klt, w_) {  // a worker is carried by at most one KLT
  assert(worker[0] != w_ && worker[1] != w_ && worker[KLTS - 1] != w_ && worker[2] != w_);
  assert(worker[klt] == 0);
  worker[klt] = w_
}

// ---- the owner's side ----

// preempt_goes_on()
inline goes_on() {
#ifdef SIGNALS
  d_step {
    note[k] = 0;
#ifndef NOT_SET_AFTER_SLEEP
    armed[k] = 1
#endif
  }
#else
  skip
#endif
}

inline unit_leaves() {
#ifdef SIGNALS
  rounds = 0
#else
  skip
#endif
}

// take_back(), and end_take_back(): where the carrier of the worker blocks. Nobody else is in the ring: both units are captives.
inline take_back() {
  seen_back = carrier[1];
  if
  :: blocked[seen_back] ->
     if
     :: atomic { take_[seen_back] == kNone && empty(buffer[k]) -> take_[seen_back] = kPending };
        if
        :: atomic { worker[seen_back] == 1 -> worker[seen_back] = 0 };
           empty(buffer[seen_back]);
           if
           :: guard_[seen_back] || current[seen_back] == 0 -> retract_back()
           :: else ->
              atomic { touch_begin(1) };
              if
              :: touch_end(1); retract_back()
              :: way = 1; separate_back();  // kInstead
                 atomic {
                   move(u, IN_KERNEL(k), RUNNING(k)); held[k] = 0; captive[u] = NOBODY;
                   touch_end(1); set_worker(k, 1)
                 };
                 carrier[1] = k
              :: way = 2;  // kBehindOthers
                 atomic { move(u, IN_KERNEL(k), RING(1)); unit_leaves() };
                 if
                 :: touch_end(1); retract_back()  // nobody to take it for
                 :: separate_back();
                    atomic { move(u, RING(1), RUNNING(k)); held[k] = 0; captive[u] = NOBODY; touch_end(1) };
                    atomic { set_worker(k, 1) };
                    carrier[1] = k;
                    wake[k] = 1
                 fi
              fi
           fi
        :: else -> take_[seen_back] = kNone
        fi
     :: else
     fi
  :: else
  fi;
  seen_back = 0
}

inline retract_back() {
  atomic { set_worker(seen_back, 1) };
  take_[seen_back] = kNone
}

inline separate_back() {
#ifdef SIGNALS
  stop[seen_back] = 1;
#endif
  d_step {
    captive[current[seen_back] - 1] = seen_back;
    held[seen_back] = current[seen_back];
    state[seen_back] = kCaptive;
    move(current[seen_back] - 1, RUNNING(seen_back), IN_KERNEL(seen_back))
  };
#ifndef TAKEN_WITHOUT_SAYING
  take_[seen_back] = kTaken
#else
  take_[seen_back] = kNone
#endif
}

// come_back(): once for each time that its worker was taken.
inline come_back() {
#ifdef SIGNALS
  stop[k] = 0;
#endif
  assert(u != NOBODY);
#if BLOCKER == 8
  take_back();
#endif
  take_[k] = kNone;
  if
  :: way == 1
  :: way != 1 ->
     if
     :: way == 0 -> atomic { move(u, IN_KERNEL(k), SHARED); unit_leaves() }
     :: else
     fi;
     klt_sleep()
  fi;
  way = 0;
  state[k] = kCarrying;
  assert(place[u] == RUNNING(k))
}

// guard_enter_slow(). Returns in w.
inline guard_enter_slow() {
  do
  :: (take_[k] == kNone || take_[k] == kGiving) && worker[k] != 0 ->  // otherwise it looks again
     atomic {
       w = worker[k];
       if
       :: w != 0 -> touch_begin(w)
       :: else
       fi
     };
     if
     :: w != 0 -> break
     :: else
     fi
  :: take_[k] == kPending -> (take_[k] != kPending)
  :: take_[k] == kTaken ->
     come_back();
     goes_on()
#ifdef READ_ONCE_AFTER_SLEEP
     ;
     atomic { w = worker[k]; assert(w != 0); touch_begin(w) };
     break
#endif
  od
}

inline klt_sleep() {
  fence();
  atomic { wake[k] == 1 -> wake[k] = 0 }
}

inline guard_enter() {
  store(GUARD, 1);
  atomic {
    w = worker[k];
    if
    :: w == 0
    :: else -> touch_begin(w)
    fi
  };
  if
  :: w == 0 -> guard_enter_slow()
  :: else
  fi
}

// guard_leave() and guard_leave_slow().
inline guard_leave() {
#ifdef LOOK_BEFORE_LOWERING
  if
  :: attention[k] || NOTED(k) -> w_seen = 1
  :: else
  fi;
  atomic { store(GUARD, 0); touch_end(w); w = 0 };
  if
  :: w_seen -> w_seen = 0;
#else
  atomic { store(GUARD, 0); touch_end(w); w = 0 };
  if
  :: attention[k] || NOTED(k) ->
#endif
     guard_enter();
     noted = NOTED(k);
     if
     :: attention[k] -> atomic { empty(buffer[k]) -> attention[k] = 0 }; take_deferred()
     :: else
     fi;
     if
     :: noted -> noted = 0; preempt_noted()
     :: else
     fi;
     atomic { store(GUARD, 0); touch_end(w); w = 0 };
     put_off()
  :: else
  fi
}

// A note that has come since the KLT looked: there may be no next leave.
inline put_off() {
#if defined(SIGNALS) && !defined(LOOK_ONCE)
  do
  :: note[k] ->
     guard_enter();
     atomic { empty(buffer[k]) -> note[k] = 0; armed[k] = 1 };
     atomic { store(GUARD, 0); touch_end(w); w = 0 }
  :: else -> break
  od
#else
  skip
#endif
}

// preempt_noted(), guard up.
inline preempt_noted() {
#ifdef SIGNALS
  atomic { empty(buffer[k]) -> note[k] = 0 };
  if
  :: !VISIBLE -> armed[k] = 1
  :: VISIBLE -> capture_current()
  :: VISIBLE && u != PRIMARY ->  // leave_unit()
     atomic { store(CURRENT, 0); move(u, RUNNING(k), RING(w)); armed[k] = 1; u = NOBODY; rounds = 0 };
     goto scheduler
  fi
#else
  skip
#endif
}

inline take_deferred() {
  atomic {
    if
    :: deferred[k] != 0 -> move(deferred[k] - 1, DEFERRED, RING(w)); deferred[k] = 0
    :: else
    fi
  }
}

inline give_begin() {
#ifndef NO_GIVING
  atomic { take_[k] == kNone && empty(buffer[k]) -> take_[k] = kGiving }
#else
  fence()
#endif
}

inline give_worker() {
  d_step { touch_end(w); worker[k] = 0 };
#ifndef NO_GIVING
  take_[k] = kNone;
#endif
  atomic { set_worker(to, w) };
  carrier[w] = to;
  d_step { wake[to] = 1; to = NOBODY; w = 0 }
}

// klt_try_acquire(), from KLT or taker: one of the spares, or NOBODY.
inline klt_try_acquire() {
  atomic {
    if
    :: slot[KLTS - 1] -> to = KLTS - 1
    :: else ->
       if
       :: slot[1] -> to = 1
       :: else ->
          if
          :: slot[2] -> to = 2
          :: else ->
             if
             :: slot[0] -> to = 0  // not with a primary unit
             :: else -> to = NOBODY
             fi
          fi
       fi
    fi;
    if
    :: to != NOBODY -> slot[to] = 0
    :: else
    fi
  }
}

// capture_current(): the hook, and the preemption handler. In the unit, guard up.
inline capture_current() {
#ifdef READ_WORKER_AGAIN
  w = worker[k];
  assert(w != 0);
#endif
  klt_try_acquire();
  if
  :: to == NOBODY ->
#ifdef SIGNALS
     armed[k] = 1  // preempt_arm_soon()
#endif
  :: else ->
#ifdef PUSH_BEFORE_GIVING
     d_step { captive[u] = k; held[k] = u + 1; state[k] = kCaptive; move(u, RUNNING(k), SHARED) };
     give_begin();
#else
     give_begin();
     d_step { captive[u] = k; held[k] = u + 1; state[k] = kCaptive; move(u, RUNNING(k), RING(w)) };
#endif
     unit_leaves();
     give_worker();
     klt_sleep();
     state[k] = kCarrying;
     assert(place[u] == RUNNING(k));
     guard_enter_slow_again();
     goes_on()
  fi
}

// capture_current() does not look at its worker again; the model does, to know whose private part is
// left at guard_leave().
inline guard_enter_slow_again() {
  d_step { assert(worker[k] != 0 || take_[k] == kPending) };
  atomic { worker[k] != 0 -> w = worker[k]; touch_begin(w) }
}

#define PICK(u_, p) place[u_] == p -> place[u_] = IN_HAND; u = u_

// leave_for_kernel(), in the unit, guard up. Leaves with the guard down.
inline leave_for_kernel() {
  klt_try_acquire();
  if
  :: to == NOBODY -> guard_leave()
  :: else ->
     give_begin();
     d_step { captive[u] = k; held[k] = u + 1; state[k] = kCaptive; move(u, RUNNING(k), IN_KERNEL(k)) };
     d_step { touch_end(w); worker[k] = 0 };
#ifndef TAKEN_AFTER_NONE
     take_[k] = kTaken;
#else
     take_[k] = kNone;
#endif
     atomic { set_worker(to, w) };
     carrier[w] = to;
     d_step { wake[to] = 1; to = NOBODY; w = 0 };
#ifdef TAKEN_AFTER_NONE
     take_[k] = kTaken;
#endif
     store(GUARD, 0)
  fi
}

inline blocks() {
#if ANNOUNCES
  guard_enter();  // weft_blocking_begin()
  leave_for_kernel();
#endif
  fence();
  blocked[k] = 1;
  BLOCKER_WAKES;
  blocked[k] = 0
#if ANNOUNCES
  ;
  guard_enter();  // weft_blocking_end()
  guard_leave()
#endif
}

#ifdef SIGNALS
proctype Klt(byte k) provided (!handling[k]) {
#else
proctype Klt(byte k) {
#endif
  byte w, u = NOBODY, to = NOBODY, w_to, seen_back, way;
  bit noted;
#ifdef LOOK_BEFORE_LOWERING
  bit w_seen;
#endif
  if
  :: k < WORKERS -> w = k + 1; touch_begin(w); goes_on(); goto scheduler
  :: else -> goto base
  fi;

scheduler:  // guard up, worker w; scheduler_restart() and its loop
  if
  :: atomic { PICK(0, RING(w)) }
  :: atomic { PICK(1, RING(w)) }
  :: atomic { PICK(0, SHARED) }
  :: atomic { PICK(1, SHARED) }
#if UNITS > 2
  :: atomic { PICK(2, RING(w)) }
  :: atomic { PICK(2, SHARED) }
#endif
  :: user_sched > 0 ->  // a tasklet, or a callback of a user's scheduler: guard down, no ULT
     atomic { store(GUARD, 0); user_sched--; touch_end(w); w = 0 };
     guard_enter();
     goto scheduler
  :: attention[k] -> attention[k] = 0; take_deferred(); goto scheduler
  :: !VISIBLE && !attention[k] ->  // idle_wait()
     asleep[w] = 1;
     if
     :: VISIBLE || attention[k] -> skip
     :: else ->
end_asleep:
        VISIBLE || !asleep[w]
     fi;
     asleep[w] = 0;
     goes_on();
     goto scheduler
  fi;
  if
  :: captive[u] == NOBODY || (u == PRIMARY && k == 0) -> goto resume
  :: else
  fi;

give_to_captive:
  to = captive[u];
  assert(to != k);
  if  // reserve_captive()
  :: state[to] == kCaptive ->
     if
     :: held[to] == u + 1 ->
        give_begin();
        atomic {
          held[to] = 0;
          if
          :: u != PRIMARY -> captive[u] = NOBODY
          :: else
          fi;
          move(u, IN_HAND, RUNNING(to))
        }
     :: else -> goto defer
     fi
  :: atomic { state[to] == kSpare -> state[to] = kCarrying };
     give_begin();
     dispatch_first[w] = u + 1
  :: state[to] == kCarrying -> goto defer
  fi;
  u = NOBODY;
#ifdef SPARE_BEFORE_GIVING
  state[k] = kSpare;
  if
  :: k != 0 -> slot[k] = 1
  :: else
  fi;
#endif
  give_worker();  // give_on_base(): from the base stack
  state[k] = kSpare;  // become_findable()
  if
  :: k == 0 && PRIMARY == 0 ->
     atomic {
       if
       :: deferred[k] != 0 -> move(deferred[k] - 1, DEFERRED, SHARED); deferred[k] = 0
       :: else
       fi
     }
#ifndef SPARE_BEFORE_GIVING
  :: else -> slot[k] = 1
#else
  :: else
#endif
  fi;
  goto base;

defer:  // defer_to()
  atomic { move(u, IN_HAND, DEFERRED); deferred[to] = u + 1 };
  attention[to] = 1;
#ifndef DEFER_WITHOUT_LOOKING
  if
  :: state[to] == kSpare ->
     atomic {
       if
       :: deferred[to] == u + 1 -> deferred[to] = 0; move(u, DEFERRED, IN_HAND)
       :: else -> u = NOBODY; to = NOBODY
       fi
     };
     if
     :: u != NOBODY -> goto give_to_captive
     :: else -> goto scheduler
     fi
  :: else
  fi;
#endif
  u = NOBODY;
#ifdef WAKE_BY_KLT_WORKER
  w_to = worker[to];
  if
  :: w_to != 0 -> asleep[w_to] = 0
  :: else
  fi;
  w_to = 0;
#elif defined(WAKE_BY_WORD_AND_TAKE)
  do
  :: w_to = worker[to];
     if
     :: w_to == 0 && take_[to] == kPending
     :: else -> break
     fi
  od;
  if
  :: w_to != 0 -> asleep[w_to] = 0
  :: else
  fi;
  w_to = 0;
#else
  // wake_worker() of the one that the KLT carries, also while a taker holds it for a moment.
  if
  :: carrier[1] == to -> asleep[1] = 0
  :: else
  fi;
#if WORKERS > 1
  if
  :: carrier[2] == to -> asleep[2] = 0
  :: else
  fi;
#endif
#endif
  to = NOBODY;
  goto scheduler;

base:  // base_entry(): guard up, no worker
end_base:
  atomic { empty(buffer[k]) && wake[k] == 1 -> wake[k] = 0 };
  state[k] = kCarrying;
#ifdef READ_ONCE_AFTER_SLEEP
  atomic { w = worker[k]; assert(w != 0); touch_begin(w) };
#else
  guard_enter_slow();
#endif
  goes_on();
  if
  :: atomic { dispatch_first[w] != 0 -> u = dispatch_first[w] - 1; dispatch_first[w] = 0 }
  :: else -> goto scheduler
  fi;

resume:  // the unit starts, or goes on
  {
  atomic { store(CURRENT, u + 1); move(u, IN_HAND, RUNNING(k)) };
  guard_leave();

user:  // the unit's code: guard down; takers may come, and signals
  if
  :: steps[u] > 0 && u != SPINNER ->
     steps[u]--;
     if
     :: guard_enter(); guard_leave()
     :: guard_enter();  // yields
        atomic { store(CURRENT, 0); move(u, RUNNING(k), RING(w)); u = NOBODY };
        goto scheduler
     :: guard_enter(); capture_current(); guard_leave()
     :: MAY_BLOCK(u) -> blocks()
     fi;
     goto user
#ifdef SIGNALS
  :: steps[u] > 0 && u == SPINNER ->
     if
     :: MAY_BLOCK(u) -> blocks()
     :: else
     fi;
     spinning[k] = 1;
     atomic {
       place[1 - SPINNER] == ENDED ->
       assert(take_[k] != kTaken || stop[k]);  // it would run without a worker for as long as it likes
       spinning[k] = 0
     };
     steps[u]--;
     goto user
#endif
  :: else ->
     guard_enter();
     atomic { store(CURRENT, 0); move(u, RUNNING(k), ENDED); ended++; u = NOBODY };
     goto scheduler
  fi
  }
#ifdef SIGNALS
  unless {  // where a signal's handler has left the unit, that goes on at `user` when it is picked
    atomic {
      jump[k] != 0 ->
      w = jump[k];
      jump[k] = 0;
      if
      :: blocked[k] -> blocked[k] = 0; steps[u]++  // the system call is restarted
      :: else
      fi;
      spinning[k] = 0;
      u = NOBODY;
      goto scheduler
    }
  }
#endif
}

#ifdef SIGNALS
// ---- signals ----
// A signal is delivered on the way out of the kernel, which empties the store buffer.

#define TICK_COMES(klt) (armed[klt] && (ticks > 0 || due[klt]) && empty(buffer[klt]))
#define STOP_COMES(klt) (stop[klt] && !blocked[klt] && empty(buffer[klt]))

inline count_signal(klt) {
  if
  :: due[klt] -> due[klt] = 0
  :: else -> ticks--
  fi
}

// tick_without_worker()
inline tick_without_worker(klt) {
#ifndef NOT_SOON
  if
  :: state[klt] == kCarrying -> armed[klt] = 1
  :: else
  fi
#else
  skip
#endif
}

// tick_inside(): the handler finds the guard up. One step: all that it writes is its own KLT's. It may find
// itself: a handler that has not lowered the guard yet.
inline tick_inside(klt) {
  armed[klt] = 0;
  if
  :: worker[klt] == 0 -> tick_without_worker(klt)
  :: worker[klt] != 0 && current[klt] == 0 -> armed[klt] = 1
#ifndef NO_NOTE
  :: worker[klt] != 0 && current[klt] != 0 -> note[klt] = 1
#endif
  :: else
  fi
}

proctype Inside(byte k) {
end:
  do
  :: atomic { TICK_COMES(k) && guard_[k] -> count_signal(k); tick_inside(k) }
  :: atomic {  // block_on_return()
       STOP_COMES(k) && guard_[k] && ticks > 0 ->
       ticks--;
#ifdef STOP_WHEN_TAKEN_ONLY
       stop[k] = (take_[k] == kTaken)
#else
       stop[k] = (take_[k] == kTaken || take_[k] == kPending)
#endif
     }
  od
}

// preempt_on_tick() with the guard down, and the handler of a stop.
inline handler_leave() {
  store(GUARD, 0);
  if
  :: w != 0 -> touch_end(w)
  :: else
  fi;
  w = 0;
  handling[k] = 0
}

inline handle() {
  store(GUARD, 1);
  atomic {
    w = worker[k];
    if
    :: w == 0
    :: else -> touch_begin(w)
    fi
  };
  if
  :: w == 0 && !stops -> tick_without_worker(k)
  :: w == 0 && stops ->
#ifndef COME_BACK_WITHOUT_ANSWER
     guard_enter_slow()
#else
     come_back();
     atomic { worker[k] != 0 -> w = worker[k]; touch_begin(w) };
     goes_on()
#endif
  :: w != 0 && stops  // nothing to do any more
  :: w != 0 && !stops && !VISIBLE -> armed[k] = 1
  :: w != 0 && !stops && VISIBLE -> capture_current()
  :: w != 0 && !stops && VISIBLE && u != PRIMARY ->  // yield_by_signal()
     atomic {
       store(CURRENT, 0);
       move(u, RUNNING(k), RING(w));
       armed[k] = 1;
       rounds = 0;
       jump[k] = w;
       w = 0;
       handling[k] = 0
     };
     goto left
  fi;
  // From the last look at the note to the return a tick is known by where it came, and only sets the next one.
#ifndef HANDLER_LOOKS_NOT
  do
  :: note[k] -> atomic { empty(buffer[k]) -> note[k] = 0; armed[k] = 1 }
#ifndef NO_WAY_BACK
  :: atomic { !note[k] -> handler_leave() }; break
#else
  :: !note[k] -> atomic { handler_leave() }; break
#endif
  od;
#else
  atomic { handler_leave() };
#endif
left:
  u = NOBODY;
  to = NOBODY;
  stops = 0
}

proctype Handler(byte k) {
  byte w, u = NOBODY, to = NOBODY, seen_back, way;
  bit stops;
end:
  do
  :: atomic {
       !handling[k] && jump[k] == 0 && !guard_[k] && TICK_COMES(k) ->
       count_signal(k); armed[k] = 0; handling[k] = 1; stops = 0; u = current[k] - 1
     };
     handle()
  :: atomic {
#ifndef COME_BACK_INSIDE
       !handling[k] && jump[k] == 0 && !guard_[k] && STOP_COMES(k) ->
#else
       !handling[k] && jump[k] == 0 && take_[k] == kTaken && STOP_COMES(k) ->
#endif
       stop[k] = 0; handling[k] = 1; stops = 1; u = current[k] - 1
     };
     handle()
  od
}

#endif

// ---- the taker's side ----

// take_begin(); then take_retract(), or take_worker() with take_finish().
inline attempt(uses_only) {
  v = carrier[w];
  if
  :: atomic { take_[v] == kNone -> take_[v] = kPending };
     if
     :: atomic { worker[v] == w -> worker[v] = 0 };
#ifndef DROP_MEMBARRIER
        empty(buffer[v]);
#endif
#ifdef CURRENT_BEFORE_GUARD
        seen = current[v];
        up = guard_[v];
#else
        up = guard_[v];
        seen = current[v];
#endif
        if
#ifndef IGNORE_GUARD
        :: up || seen == 0 -> retract()
#else
        :: seen == 0 -> retract()
#endif
        :: else ->
           atomic { touch_begin(w) };
           if
           :: uses_only ->  // Lane::publish() in the owner's place
              if
              :: atomic { IS(0, RING(w)) -> place[0] = SHARED }
              :: atomic { IS(1, RING(w)) -> place[1] = SHARED }
              :: else
              fi;
              touch_end(w);
              retract()
           :: else ->
#ifdef SIGNALS
              stop[v] = 1;
#endif
              klt_try_acquire();
              if
              :: to == NOBODY -> touch_end(w); retract()
              :: else ->
                 seen = current[v];
                 assert(seen != 0);
                 d_step {
                   captive[seen - 1] = v;
                   held[v] = seen;
                   state[v] = kCaptive;
                   move(seen - 1, RUNNING(v), IN_KERNEL(v));
                   touch_end(w)
                 };
                 take_[v] = kTaken;
                 atomic { set_worker(to, w) };
                 carrier[w] = to;
                 wake[to] = 1
              fi
           fi
        fi
     :: else -> take_[v] = kNone
     fi
  :: else
  fi;
  d_step { v = 0; to = NOBODY; up = 0; seen = 0 }
}

inline retract() {
#ifndef NO_RETRACTION
  atomic { set_worker(v, w) };
  take_[v] = kNone
#else
  skip
#endif
}

proctype Taker() {
  byte w, v, to = NOBODY, seen, tries = TRIES;
  bit up, uses;
  do
  :: tries > 0 ->
     tries--;
     if
     :: w = 1
#if WORKERS > 1
     :: w = 2
#endif
     fi;
     if
     :: uses = 0
     :: uses = 1
     fi;
     attempt(uses);
     uses = 0
  :: break
  od;
}

// Who notices that a KLT blocks: the standby, the coordinator, another worker. It comes again for as
// long as the KLT blocks.
proctype Noticer() {
  byte w = 1, v, to = NOBODY, seen;
  bit up;
end:
progress:  // its tries are not bounded, by design
  do
  :: blocked[carrier[w]] -> attempt(0)
  od
}

// Nobody can do anything any more: then all must be well. Or all wait for a signal: then one must be able to come.
proctype Judge() {
  byte i;
end:
  timeout;
#ifdef SIGNALS
  if
  :: ended < UNITS ->
     atomic {
       rounds++;
       assert(rounds <= ROUNDS);
       if
       :: spinning[0] && armed[0] -> due[0] = 1
       :: spinning[1] && armed[1] -> due[1] = 1
       :: spinning[2] && armed[2] -> due[2] = 1
       :: else -> assert(false)  // a tick was lost
       fi
     };
     goto end
  :: else
  fi;
#endif
  d_step {
  assert(ended == UNITS);
  i = 0;
  do
  :: i < KLTS -> assert(take_[i] == kNone && !(worker[i] == 0 && held[i] != 0)); i++
  :: else -> break
  od;
  i = 1;
  do
  :: i <= WORKERS -> assert(worker[carrier[i]] == i && inside[i] == 1); i++
  :: else -> break
  od
  }
}

init {
  byte i;
  atomic {
    buffer[0] = buffer0;
    buffer[1] = buffer1;
    buffer[2] = buffer2;
#if KLTS > 3
    buffer[3] = buffer3;
#endif
    i = 0;
    do
    :: i < KLTS ->
       guard_[i] = 1;
       if
       :: i < WORKERS -> worker[i] = i + 1; carrier[i + 1] = i; state[i] = kCarrying
       :: else -> state[i] = kSpare; slot[i] = 1
       fi;
       i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < UNITS -> place[i] = RING(1); captive[i] = NOBODY; steps[i] = (i == SPINNER -> 1 : STEPS); i++
    :: else -> break
    od;
#if PRIMARY == 0
    captive[0] = 0;
#endif
    i = 0;
    do
    :: i < KLTS ->
       run Flush(i);
#ifdef SIGNALS
       run Inside(i);
       run Handler(i);
#endif
       run Klt(i);
       i++
    :: else -> break
    od;
    i = 0;
    run Taker();
    run Noticer();
    run Judge()
  }
}
