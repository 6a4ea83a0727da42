// let_out.pml: a fork beside a captive that was stopped in a signal's handler, holding a lock that the C library takes in
// fork() (src/klt/README.md, "The gate", "Let out").
//
// Two KLTs. K sleeps in the handler, captive in the one unit, whose code holds the lock; the unit waits in a pool. A carries
// the one worker, whose scheduler may pick the unit at any time, and so give the worker to K. A thread of the program's forks,
// FORKS times. Outside of Weft the unit's code gives the lock back; then it is preempted once more (holding the lock again), spins
// until it has a worker, or comes to Weft by itself and ends.
//
// Steps are sequentially consistent: the barrier of gate_close() and what else makes them so is hand_over.pml's business.

#ifndef FORKS
#define FORKS 2
#endif

mtype = { Down, Up, Resting };            // guards
mtype = { Captive, Out, Carrying, Spare };  // states of KLTs
mtype = { None, Pending, Giving };        // Klt::take

#define A 0
#define K 1
#define kNothing 0
#define kGoOn 1
#define kGoOut 2

mtype guard[2], state[2], take[2];
bit worker[2];      // has it
bit held_back[2];
bit passes[2];
byte wake[2];
bit held;           // K's: the unit in which it sleeps
bit given;          // K's
byte closed;
bit locked;         // the list of KLTs
bit in_pool;        // the unit
bit pushes;         // whoever carries the worker next is to push it
bit program_lock;   // held by the unit's code
bit signal_k;       // sent, and not handled yet
bit forking;
bit ended;          // the unit
bit moved;          // something that whoever forks looks at

// What only somebody inside may do.
inline touch() { assert(!forking) }

inline set_guard(k, to) { atomic { guard[k] = to; moved = 1 } }

// ---- the gate, for everybody else -----------------------------------------------------------------

inline rest_at_gate(k) {
  do
  :: closed != 0 -> set_guard(k, Resting); closed == 0; set_guard(k, Up)
  :: else -> break
  od
}

// Guard up, and not Out. A worker that is held back comes when the gate opens, or when it is seen that its KLT passes.
inline guard_worker(k) {
  do
  :: worker[k] -> break
  :: !worker[k] && closed != 0 && !passes[k] -> rest_at_gate(k)
  od
}

// klt_sleep() in a handler. Returns in `what`.
inline sleep_in_handler(k, what, seen) {
  set_guard(k, Resting);
  do
  :: wake[k] != kNothing ->
     if
     :: wake[k] == kGoOut -> break
     :: else ->
#ifdef WAKES_WITHOUT_LOOKING
        set_guard(k, Up); break
#else
        set_guard(k, Up);
        seen = closed;
        if
        :: seen == 0 -> break
        :: else ->
           set_guard(k, Resting);
           if
           :: wake[k] == kGoOut
           :: else -> closed != seen  // a futex
           fi
        fi
#endif
     fi
  od;
  atomic { what = wake[k]; wake[k] = kNothing }
}

inline sleep_elsewhere(k) {
  set_guard(k, Resting);
  atomic { wake[k] != kNothing; assert(wake[k] == kGoOn); wake[k] = kNothing };
  set_guard(k, Up);
  rest_at_gate(k)
}

// A KLT's worker for another one.
inline give_begin(k, before) {
  atomic { before = passes[k]; passes[k] = 1; moved = 1 };
#ifdef RESTS_WHILE_GIVING
  atomic { passes[k] = 0 };
#endif
  atomic { take[k] == None -> take[k] = Giving; assert(worker[k]) };
  atomic { passes[k] = before; moved = 1 }
}

inline give_worker(from, to) {
  touch();
  atomic { worker[from] = 0; take[from] = None; assert(!worker[to]); worker[to] = 1; moved = 1 };
  atomic { wake[to] = kGoOn; moved = 1 }
}

// ---- whoever forks --------------------------------------------------------------------------------

inline let_go(k) {
  if
  :: held_back[k] -> held_back[k] = 0; worker[k] = 1; take[k] = None
  :: else
  fi
}

inline hold_back(k) {
  if
  :: passes[k] -> let_go(k)
  :: else ->
     if
     :: !held_back[k] && guard[k] != Resting && worker[k] && take[k] == None ->
        take[k] = Pending; worker[k] = 0; held_back[k] = 1
     :: else
     fi
  fi
}

inline see(k) {
  if
  :: guard[k] == Resting
  :: else ->
     if
     :: guard[k] == Down && (held_back[k] || (!worker[k] && take[k] != Pending && take[k] != Giving))
     :: else -> someone = 1
     fi
  fi
}

inline let_out() {
#ifdef NOBODY_LET_OUT
  skip
#else
  if
  :: state[K] == Captive && passes[K] ->
     if
     :: guard[K] != Resting -> someone = 1
     :: guard[K] == Resting && (worker[K] || held) ->
        given = worker[K];
        worker[K] = 0;
        state[K] = Out;
        wake[K] = kGoOut;
        closed++  // those that have been given a worker wait for this word
     :: else
     fi
  :: else
  fi
#endif
}

proctype Forker() {
  byte n;
  bit someone;
  do
  :: n < FORKS ->
     closed = 1;
     do
     :: locked = 1;
        moved = 0;
        someone = 0;
        atomic { hold_back(A) };
        atomic { hold_back(K) };
        atomic { see(A) };
        atomic { see(K) };
        if
        :: !someone -> atomic { let_out() }
        :: else
        fi;
        if
        :: !someone -> break
        :: else -> locked = 0; moved  // what it waits for comes by itself
        fi
     od;
     forking = 1;
     !program_lock;  // the C library's part of fork()
     forking = 0;
     atomic { let_go(A) };
     atomic { let_go(K) };
     locked = 0;
     closed = 0;
#ifndef NOBODY_CALLED_IN
     atomic {
       if
       :: state[K] == Out -> signal_k = 1
       :: else
       fi
     };
#endif
     n++
  :: else -> break
  od
}

// ---- the worker -----------------------------------------------------------------------------------

#ifdef GIVES_TO_WHO_IS_OUT
#define may_be_given (state[K] == Captive || state[K] == Out)
#else
#define may_be_given (state[K] == Captive)
#endif

proctype Other() {
  bit before;
carries:
  // The scheduler's turn, guard up.
  if
  :: pushes -> touch(); atomic { pushes = 0; in_pool = 1 }
  :: else
  fi;
  do
  :: ended -> goto idle
  :: in_pool ->
     touch();
     in_pool = 0;
     if
     :: may_be_given && held ->
        give_begin(A, before);
        held = 0;
        give_worker(A, K);
        goto spare
     :: else -> in_pool = 1  // it runs outside, and comes in soon
     fi;
     rest_at_gate(A)
  :: closed != 0 -> rest_at_gate(A)
  od;
spare:
  state[A] = Spare;
  set_guard(A, Resting);
end_spare:
  atomic { wake[A] != kNothing -> wake[A] = kNothing };
  set_guard(A, Up);
  rest_at_gate(A);
  state[A] = Carrying;
  guard_worker(A);
  goto carries;
idle:
  set_guard(A, Resting)
}

// ---- the unit -------------------------------------------------------------------------------------

proctype Captured() {
  byte what, seen;
  bit before, again;
asleep:
  sleep_in_handler(K, what, seen);
woken:
  if
  :: what == kGoOut -> goto leaves_handler
  :: else -> state[K] = Carrying; guard_worker(K); touch()
  fi;
leaves_handler:
  atomic { passes[K] = 0; moved = 1 };
  set_guard(K, Down);
  // The unit's code, with a worker or outside.
  program_lock = 0;
runs:
  do
  :: signal_k ->
     // The handler, called in.
     signal_k = 0;
     set_guard(K, Up);
     atomic { passes[K] = 1; moved = 1 };
     if
     :: state[K] == Out && closed == 0 -> goto comes_in
     :: else -> goto leaves_handler  // carries a worker, or stays out until the end of that fork()
     fi
  :: worker[K] && !again ->
     // A tick: captured once more, in the midst of something.
     again = 1;
     program_lock = 1;
     set_guard(K, Up);
     atomic { passes[K] = 1; moved = 1 };
     if
     :: !worker[K] || state[A] != Spare -> goto leaves_handler  // held back, or no spare: later
     :: else
     fi;
     give_begin(K, before);
     atomic { state[K] = Captive; held = 1; pushes = 1 };
     give_worker(K, A);
     goto asleep
#ifdef SPINS
  :: worker[K] -> break
#else
  :: break
#endif
  od;
  // It comes to Weft.
  set_guard(K, Up);
  if
  :: !worker[K] ->
     rest_at_gate(K);
     if
     :: state[K] == Out -> goto comes_in
     :: else
     fi
  :: else
  fi;
  guard_worker(K);
  touch();
  ended = 1;
  set_guard(K, Resting);
  goto done;
comes_in:
  if
#ifndef FORGETS_WHAT_IT_WAS_GIVEN
  :: given -> given = 0; atomic { worker[K] = 1; moved = 1 }; state[K] = Carrying; guard_worker(K); touch(); goto leaves_handler
#endif
  :: else ->
     state[K] = Captive;
     if
     :: passes[K] -> goto asleep
     :: else -> sleep_elsewhere(K); state[K] = Carrying; guard_worker(K); touch(); goto leaves_handler
     fi
  fi;
done:
  skip
}

init {
  atomic {
    guard[A] = Up; state[A] = Carrying; worker[A] = 1; take[A] = None;
    guard[K] = Resting; state[K] = Captive; passes[K] = 1; held = 1; take[K] = None;
    in_pool = 1; program_lock = 1;
    run Forker(); run Other(); run Captured()
  }
}
