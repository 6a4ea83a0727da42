// deadline.pml: who watches the deadlines, while workers sleep, wake and run (src/worker/timers.cpp, idle.cpp).
//
// Workers run units that arm a deadline and leave, wake one that waits, end, or compute for ever; before it runs a unit
// a worker may be given to another KLT. Time is a small number. It moves on when nothing else can move: then
// whatever is due has to have been fired, if anybody sleeps (he could have been told to watch). With ANYTIME it moves
// on at any moment as well, between any two steps, and is judged at its end.
//
// Each access to a word that others write is a step; all of them are sequentially consistent in the code, or under a
// lock. What is read and written under the lock only (watcher) needs no step of its own. Heaps: how many are armed, for
// each worker and time. A worker that runs units polls now and then as well; that only helps, and is left out, as is
// everything that park_wake.pml is about: here units stay where they are made ready.

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef INITIAL
#define INITIAL 2    // units, all with worker 0
#endif
#ifndef ARMS
#define ARMS 3       // how often deadlines are armed
#endif
#ifndef WAKES
#define WAKES 0      // how often a unit wakes one that waits for a deadline
#endif
#ifndef FOREIGN
#define FOREIGN 0    // units from outside, to any worker
#endif
// RESTLESS: units arm or compute, and those from outside go to worker 1: fewer states.
#ifndef GIVES
#define GIVES 0      // how often a worker changes its KLT
#endif
#ifndef END
#define END 3        // of time
#endif

#define NEVER (END + 1)
#define AT(v, d) armed[(v) * NEVER + (d)]

byte now;
byte armed[WORKERS * NEVER];  // struct Heap
byte ready[WORKERS];
// struct Worker
bit park[WORKERS];
bit asleep[WORKERS];
bit computes[WORKERS];        // guard down, for ever
// struct Watch
bit lock;
byte watcher[2];              // NEVER: nobody
byte wakes_at[2];
// struct Runtime
byte sleepers;

byte arms = ARMS, gives = GIVES, wakes = WAKES;

#define NOBODY WORKERS

// TimerHeap::earliest(), into `first`; TimerHeap::second() where that is asked for.
inline look_at_heap(v) {
  do
  :: d < NEVER ->
     n = AT(v, d);
     if
     :: n > 0 && d < first -> second = (n > 1 -> d : first); first = d
     :: n > 0 && d >= first && d < second -> second = d
     :: else
     fi;
     d++
  :: else -> break
  od;
  d = 0;
  n = 0
}

// timers_earliest(), two_earliest()
inline look_at_heaps() {
  d_step { first = NEVER; second = NEVER; v = 0 };
  do
  :: v < WORKERS -> atomic { look_at_heap(v); v++ }
  :: else -> break
  od;
  v = 0
}

// is_watched(first): in `hit`
inline is_watched(deadline) {
  hit = (wakes_at[0] <= deadline);
  hit = (hit || wakes_at[1] <= deadline)
}

// timer_arm()
inline arm(deadline) {
#ifdef ASK_BEFORE_ARMING
  seen = (sleepers > 0);
#endif
  atomic {
    first = NEVER;
    second = NEVER;
    look_at_heap(w);
    hit = (deadline < first);
    AT(w, deadline)++
  };
#ifndef ASK_BEFORE_ARMING
  seen = (sleepers > 0);
#endif
  if
  :: hit && seen ->
     is_watched(deadline);
     if
     :: !hit -> note = 1
     :: else
     fi
  :: else
  fi;
  d_step { hit = 0; seen = 0; first = 0; second = 0 }
}

// wake_any_sleeper()
inline wake_any_sleeper() {
  v = 0;
  hit = 0;
  do
  :: v < WORKERS && !hit ->
     d_step { hit = asleep[v] && v != w; if :: hit -> asleep[v] = 0 :: else fi };
     if
     :: hit -> sleepers--; park[v] = 1
     :: else
     fi;
     v++
  :: else -> break
  od;
  atomic { v = 0; hit = 0 }
}

// timers_news(): the guard is lowered, and something runs.
inline timers_news() {
  note = 0;
  look_at_heaps();
  if
  :: first < NEVER && sleepers > 0 ->
     is_watched(first);
     if
     :: !hit -> wake_any_sleeper()
     :: else
     fi
  :: else
  fi;
  d_step { hit = 0; first = 0; second = 0 }
}

// timers_watch()
inline timers_watch() {
#ifndef LOOK_BEFORE_COUNTING
  look_at_heaps();
  is_watched(first);
  if
  :: hit && first < NEVER -> look_at_heaps()  // the second as well
  :: else
  fi;
#endif
  atomic {
    !lock -> lock = 1;
#ifndef LOOK_BEFORE_COUNTING
    hit = (!hit && first < NEVER && !(first < wakes_at[0] && first < wakes_at[1]))
  };
  if
  :: hit -> look_at_heaps()
  :: else
  fi;
#else
  };
#endif
  hit = 0;
  d_step {
    v = (wakes_at[0] < wakes_at[1] -> 1 : 0);
    until = NEVER;
    if
    :: first < wakes_at[0] && first < wakes_at[1] -> until = first
    :: !(first < wakes_at[0] && first < wakes_at[1]) && second < wakes_at[v] -> until = second
    :: else
    fi
  };
  if
  :: until < NEVER -> d_step { watcher[v] = w; wakes_at[v] = until }
  :: else
  fi;
  lock = 0;
  d_step { v = 0; first = 0; second = 0 }
}

// timers_unwatch()
inline timers_unwatch() {
#ifndef KEEP_WATCH
  atomic { !lock -> lock = 1 };
  if
  :: d_step { watcher[0] == w -> watcher[0] = NOBODY; wakes_at[0] = NEVER }
  :: else
  fi;
  if
  :: d_step { watcher[1] == w -> watcher[1] = NOBODY; wakes_at[1] = NEVER }
  :: else
  fi;
  lock = 0
#else
  skip
#endif
}

// timers_poll_all(): heap by heap.
inline timers_poll_all() {
  d_step { t = now; v = 0 };
  do
  :: v < WORKERS ->
     atomic {
       do
       :: d <= t && d < NEVER -> ready[w] = ready[w] + AT(v, d); AT(v, d) = 0; d++
       :: else -> break
       od;
       d = 0;
       v++
     }
  :: else -> break
  od;
  atomic { v = 0; t = 0 }
}

// sleep_until_woken(), sleep_watching()
inline sleep_until_woken() {
  park[w] = 0;
#ifdef LOOK_BEFORE_COUNTING
  look_at_heaps();
#endif
  sleepers++;
  asleep[w] = 1;
  if
  :: ready[w] > 0 -> early = 1
  :: else ->
     timers_watch();
end_asleep:
     if
     :: park[w] -> seen = 1
     :: until <= now -> seen = 0
     fi
  fi;
  if
  :: until < NEVER -> timers_unwatch()
  :: else
  fi;
  if
  :: !seen ->  // retract()
     d_step { hit = asleep[w]; asleep[w] = 0 };
     if
     :: hit -> sleepers--
     :: else -> park[w]
     fi
  :: else
  fi;
#ifdef NO_NOTE_BY_THE_CLOCK
  hit = seen;
#elif defined(NO_NOTE_WHEN_WOKEN)
  hit = !seen;
#elif defined(NOTES_BY_WATCHES_ONLY)
  hit = (until < NEVER);
#elif defined(NO_NOTE_AT_RETRACTION)
  hit = !early;
#else
  hit = 1;
#endif
  look_at_heaps();  // timers_pending()
  d_step {
    note = (note || (hit && first < NEVER));
    hit = 0;
    early = 0;
    seen = 0;
    first = 0;
    second = 0;
    until = NEVER
  }
}

// give_worker(): what runs the worker is another KLT from here on, one without a note.
inline give() {
#ifdef NOTE_STAYS_BEHIND
  note = 0
#else
  skip  // which is told
#endif
}

proctype Worker(byte w) {
  byte v, d, n, t, first, second;
  bit hit, seen, early;
  bit note;            // struct Klt, of the one that has the worker: attention::kTimer; nobody else touches it
  byte until = NEVER;  // when the kernel wakes it

next_unit:
  do
  :: atomic { ready[w] > 0 -> ready[w]-- }; break
  :: else ->
     timers_poll_all();
     if
     :: ready[w] == 0 -> sleep_until_woken()
     :: else
     fi
  od;
  if
  :: atomic { gives > 0 -> gives-- }; give()
  :: true
  fi;
  // guard_leave()
  if
  :: note -> timers_news()
  :: else
  fi;
  if
  :: atomic { arms > 0 -> arms--; select(t : 1 .. END) };
     arm(t);
     t = 0
  :: atomic {
       wakes > 0 -> wakes--;
       select(v : 0 .. (WORKERS - 1));
       select(t : 1 .. END)
     };
     d_step {
       if
       :: AT(v, t) > 0 -> AT(v, t)--; ready[w]++
       :: else
       fi;
       v = 0;
       t = 0
     }
#ifndef RESTLESS
  :: true  // it ends
#endif
  :: computes[w] = 1;
end_computes:
     false
  fi;
  goto next_unit
}

proctype Foreign() {
  byte v, left = FOREIGN;
  bit hit;
end:
  do
  :: left > 0 ->
     left--;
#ifdef RESTLESS
     v = 1;
#else
     select(v : 0 .. (WORKERS - 1));
#endif
     ready[v]++;
     d_step { hit = asleep[v]; asleep[v] = 0 };
     if
     :: hit -> sleepers--; park[v] = 1
     :: else
     fi;
     atomic { hit = 0; v = 0 }
  od
}

inline judge() {
  d_step {
    v = 0;
    do
    :: v < WORKERS ->
       busy = busy + computes[v];
       d = 0;
       do
       :: d <= now -> due = due + AT(v, d); d++
       :: else -> break
       od;
       v++
    :: else -> break
    od;
    assert(due == 0 || busy == WORKERS);  // on time
    assert(sleepers + busy == WORKERS);
    v = 0;
    d = 0;
    due = 0;
    busy = 0
  }
}

proctype Clock() {
  byte v, d, due, busy;
end:
  do
  :: timeout -> judge();
     if
     :: now < END -> now++
     :: else -> break
     fi
#ifdef ANYTIME
  :: now < END -> now++
#endif
  od
}

init {
  byte v;
  atomic {
    watcher[0] = NOBODY;
    watcher[1] = NOBODY;
    wakes_at[0] = NEVER;
    wakes_at[1] = NEVER;
    ready[0] = INITIAL;
    do
    :: v < WORKERS -> run Worker(v); v++
    :: else -> break
    od;
    v = 0;
    run Foreign();
    run Clock()
  }
}
