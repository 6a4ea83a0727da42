// bias.pml: a mutex that one worker has to itself, and how others take that away (src/sync/bias.hpp; the steps
// are those of src/sync/README.md, "Bias").
//
// A worker with two units, of which one at a time runs, and switches where it likes, also between lock and unlock;
// another worker that wants the mutex too; and a third that goes on with a unit of the first which was moved there
// while it held the mutex. Who has to wait for an ordinary mutex waits until it is free: how waiters are queued
// and woken has nothing to do with the bias.
//
// Memory is x86-TSO where it matters: the first worker's stores to `held` and to its guard wait in its store buffer, in order,
// and become visible when they like. A locked instruction empties it, and so does somebody else's membarrier().
//
// The steps of a section are those of lock_own() and of the program's own code in mutex_own.h: the guard says in which object it is,
// `state` and `held` are looked at, `held` is written, the guard says that it is over.

#ifndef ROUNDS
#define ROUNDS 2     // of each unit
#endif
#ifndef OTHERS
#define OTHERS 1     // workers that want it too
#endif
#ifndef MOVES
#define MOVES 0      // units that are moved while they hold it
#endif

mtype = { Free, Locked, Biased, Deciding, OrdinaryFree, OrdinaryLocked };  // `state`
mtype = { No, Yes };                                                       // `held`
mtype = { Idle, Holds, Waits, Gone };                                      // a unit

mtype state = Free;
mtype held = No;
bit within;                      // the first worker's guard: "in this mutex"
mtype = { Held, Guard };
chan buffer = [3] of { mtype, mtype };  // that worker's stores: to which of the two, and what
mtype newest = No;               // `held` as it sees it

byte inside;                     // who thinks that the mutex is its own
bit moved;                       // a unit that holds it goes on elsewhere

#define flushed (empty(buffer))

proctype Flush() {
  mtype value;
end:
  do
  :: atomic { buffer ? Held, value -> held = value }
  :: atomic { buffer ? Guard, value -> within = (value == Yes) }
  od
}

inline store_held(value) {
  atomic { buffer ! Held, value; newest = value }
}
inline store_guard(value) { buffer ! Guard, value }

inline taken() { d_step { inside++; assert(inside == 1) } }

// take_bias_away(). `own`: the caller is the worker whose bias it is.
inline take_bias_away(own) {
  if
  :: atomic {
       state == Biased && (!own || flushed) ->  // T1
#ifdef NO_DECIDING
       state = OrdinaryLocked
#else
       state = Deciding
#endif
     };
#ifndef DROP_MEMBARRIER
     flushed;                                   // T2 (the own worker's locked instruction did that)
#endif
#ifndef IGNORE_GUARD
     own || !within;                            // T3
#endif
     if                                         // T4
     :: held == No -> state = OrdinaryFree
     :: else -> state = OrdinaryLocked
     fi
  :: state != Biased
  fi
}

// U2, of an ordinary mutex.
inline unlock_slow() {
  if
#ifdef IGNORE_DECIDING
  :: atomic { state == Deciding && flushed -> state = OrdinaryFree }
#endif
  :: atomic { state == OrdinaryLocked && flushed -> state = OrdinaryFree }
  :: atomic { state == Locked && flushed -> state = Free }
  fi
}

proctype Owner() {
  mtype unit[2] = Idle;
  byte rounds[2] = ROUNDS;
  byte u, moves = MOVES;
  mtype seen;

  do
  :: rounds[0] == 0 && rounds[1] == 0 -> break
  :: else ->
     if
     :: rounds[0] > 0 -> u = 0
     :: rounds[1] > 0 -> u = 1
     fi;
     if
     // ---- lock
     :: unit[u] == Idle ->
        seen = state;
        if
        :: seen == Biased && newest == No ->     // L1
#ifdef LOOK_BEFORE_STORE
           seen = state;
           store_guard(Yes)                     // L2
#else
           store_guard(Yes);
           seen = state
#endif
           ;
           if                                   // L3
           :: seen == Biased ->
#ifdef LEAVE_BEFORE_STORE
              store_guard(No); store_held(Yes)
#else
              store_held(Yes); store_guard(No)
#endif
              ; taken(); unit[u] = Holds
           :: else -> store_guard(No); unit[u] = Waits
           fi
        :: seen == Biased && newest != No ->     // another unit of this worker holds it
           take_bias_away(true);
           unit[u] = Waits
        :: else -> unit[u] = Waits
        fi
     :: unit[u] == Waits && state == Biased -> take_bias_away(true)
     :: atomic { unit[u] == Waits && state == OrdinaryFree && flushed -> state = OrdinaryLocked; taken(); unit[u] = Holds }
     :: atomic { unit[u] == Waits && state == Free && flushed -> state = Locked; taken(); unit[u] = Holds };
        // B1, B2: it has come often enough
        store_held(Yes);
        if
        :: atomic { flushed && state == Locked -> state = Biased }
        :: else -> store_held(No)
        fi
     // nothing to do for this unit: another one
     :: unit[u] == Waits && state != OrdinaryFree && state != Free && state != Biased -> skip
     // ---- unlock
     :: unit[u] == Holds && moves > 0 ->
        atomic { flushed -> moves--; moved = 1; unit[u] = Gone; rounds[u] = 0 }  // a move is full of locked instructions
     :: unit[u] == Holds ->
        inside--;
        seen = state;
        if
        :: seen == Biased ->
           assert(newest == Yes);
           store_guard(Yes);                    // U2
           seen = state;
           if                                   // U3
           :: seen == Biased -> store_held(No); store_guard(No)
           :: else -> store_guard(No); unlock_slow()
           fi
        :: else -> unlock_slow()
        fi;
        rounds[u]--;
        unit[u] = Idle
     fi
  od
}

proctype Other() {
  do
  :: state == Biased -> take_bias_away(false)
  :: atomic { state == Free -> state = Locked; taken() }; break
  :: atomic { state == OrdinaryFree -> state = OrdinaryLocked; taken() }; break
  od;
  inside--;
  if
  :: atomic { state == Locked -> state = Free }
  :: atomic { state == OrdinaryLocked -> state = OrdinaryFree }
  fi
}

// The worker to which a unit was moved: unlock_slow().
proctype MovedTo() {
end:
  moved;
  inside--;
  take_bias_away(false);
  if
  :: atomic { state == OrdinaryLocked -> state = OrdinaryFree }
  :: atomic { state == Locked -> state = Free }
  fi
}

init {
  byte i;
  atomic {
    run Flush();
    run Owner();
    do
    :: i < OTHERS -> run Other(); i++
    :: else -> break
    od;
    if
    :: MOVES > 0 -> run MovedTo()
    :: else
    fi
  }
}
