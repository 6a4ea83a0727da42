// park_wake.pml: how a worker that finds nothing goes to sleep, and how it is woken (src/worker/idle.cpp).
//
// Workers run units that push more units, compute for ever, or give their worker to another KLT; a
// foreign thread pushes too, and gives orders. A unit is a number in a count. Which function each part
// stands for is said at the part; README.md has the table.
//
// Memory is x86-TSO where it matters: the owner's plain stores to its ring wait in its store buffer
// and become visible when they like. Everything else is a locked instruction.
//
// How many are woken: one by who pushes a unit, one by who finds a unit and passes on that he was the
// last to search; no more (asserted in wake_sleepers()).
//
// Opening somebody else's lane (use (i) of klt/README.md) is one step here; hand_over.pml shows why
// that is allowed.

#ifndef WORKERS
#define WORKERS 3
#endif
#ifndef PUSHES
#define PUSHES 1     // by units, to their own worker's ring
#endif
#ifndef FOREIGN
#define FOREIGN 1    // by a foreign thread, to a shared list or an inbox
#endif
#ifndef INBOXES
#define INBOXES 1    // 0: only to shared lists
#endif
#ifndef ORDERS
#define ORDERS 0     // to one worker: a deferred unit
#endif
#ifndef GIVES
#define GIVES 0      // how often a worker changes its KLT
#endif
#ifndef SPIN
#define SPIN 0       // looks before the last one
#endif

#ifndef INITIAL
#define INITIAL 1    // units there at the beginning
#endif

#define KLTS (WORKERS + GIVES)

// struct Lane
byte ring[WORKERS];          // as others see it
byte ring_owner[WORKERS];    // as its owner sees it; differs: in the store buffer
byte shared[WORKERS];
byte inbox[WORKERS];
// struct Worker
bit park[WORKERS];
bit asleep[WORKERS];
bit orders[WORKERS];
byte carrier[WORKERS];
bit computes[WORKERS];       // guard down, for ever
// struct Klt
bit hungry_note[KLTS];       // attention::kHungry
// struct Runtime
short sleepers, searchers, hungry;

byte pushes = PUSHES, gives = GIVES;
byte made, woken;            // units; wake-ups on their behalf
byte spare_klt = WORKERS;

#define flushed(v) (ring[v] == ring_owner[v])

proctype Flush(byte w) {
end:
  do
  :: atomic { !flushed(w) -> ring[w] = ring_owner[w] }
  od
}

// ---- waking ----

// wake_if_asleep(): in `hit` whether it did.
inline wake_if_asleep(v) {
#ifdef WAKE_WITHOUT_EXCHANGE
  hit = asleep[v];
  if
  :: hit -> asleep[v] = 0
  :: else
  fi;
#else
  d_step { hit = asleep[v]; asleep[v] = 0 };
#endif
  if
  :: hit ->
     sleepers--;
#ifndef WOKEN_NOT_SEARCHING
     searchers++;  // on behalf of whom we wake
#endif
     park[v] = 1
  :: else
  fi
}

// wake_sleepers()
inline wake_sleepers(units) {
  if
  :: sleepers > 0 ->
     d_step {
       if
       :: searchers >= units -> todo = 0
       :: else -> todo = units - searchers
       fi
     };
     i = 0;
     do
     :: i < WORKERS && todo > 0 ->
        wake_if_asleep(i);
        d_step {
          if
          :: hit -> todo--; woken++; assert(woken <= 2 * made + ORDERS)
          :: else
          fi;
          hit = 0;
          i++
        }
     :: else -> break
     od;
     atomic { i = 0; todo = 0 }
  :: else
  fi
}

// ---- looking ----

// sched_pick(): own inbox, ring, shared list; then the others' shared lists. One step: what it finds
// it takes under a lock, and what it misses is looked for again before sleep.
inline sched_pick() {
  atomic {
    i = 0;
    if
    :: inbox[w] > 0 -> inbox[w]--; unit = 1
    :: inbox[w] == 0 && ring_owner[w] > 0 && flushed(w) ->
       ring_owner[w]--;
       ring[w]--;
       unit = 1
    :: inbox[w] == 0 && ring_owner[w] == 0 && shared[w] > 0 -> shared[w]--; unit = 1
    :: inbox[w] == 0 && ring_owner[w] == 0 && shared[w] == 0 ->
       do
       :: i < WORKERS && unit == 0 ->
          if
          :: i != w && shared[i] > 0 -> shared[i]--; unit = 1
          :: else
          fi;
          i++
       :: else -> break
       od
    fi;
    i = 0
  }
}

inline tell_hunger(v) { hungry_note[carrier[v]] = 1 }

// Search::look()
inline look() {
  sched_pick();
  atomic {
    do
    :: i < WORKERS && unit == 0 ->
       if
       :: i != w && ring[i] > 0 -> tell_hunger(i)
       :: else
       fi;
       i++
    :: else -> break
    od;
    i = 0
  }
}

// help_ourselves(): Lane::publish() in place of an owner that computes.
inline help_ourselves() {
  atomic {
    do
    :: i < WORKERS ->
       if
       :: i != w && computes[i] && flushed(i) && ring[i] > 0 ->
          shared[i] = shared[i] + ring[i];
          ring[i] = 0;
          ring_owner[i] = 0
       :: else
       fi;
       i++
    :: else -> break
    od;
    i = 0
  }
}

// lanes_empty(), and the own lane's shared part: in `seen`, whether there is something.
inline look_at_lanes() {
  d_step { seen = 0; i = 0 };
  do
  :: i < WORKERS && !seen ->
     if
#ifdef IGNORE_OWN_LANE
     :: i == w -> skip
#else
     :: i == w -> seen = (shared[i] > 0)
#endif
     :: i != w -> seen = (shared[i] > 0);
        seen = (seen || ring[i] > 0)
     fi;
     i++
  :: else -> break
  od;
  i = 0
}

// Search::found()
inline found() {
  hungry--;
  d_step { searchers--; last = (searchers == 0) };
  if
#ifdef NO_PASSING_ON
  :: false
#elif defined(ORDERS_FIRST)
  :: last && unit != 0 && sleepers > 0 ->
#else
  :: last && sleepers > 0 ->
#endif
     look_at_lanes();
     if
     :: seen -> wake_sleepers(1)
     :: else
     fi
  :: else
  fi;
  atomic { last = 0; seen = 0 }
}

// ---- sleeping ----

inline announce() {
  sleepers++;
  asleep[w] = 1
}

inline tell_all() {
  i = 0;
  do
  :: i < WORKERS ->
     if
     :: i != w -> tell_hunger(i)
     :: else
     fi;
     i++
  :: else -> break
  od;
  i = 0
}

inline membarrier() {
#ifdef DROP_MEMBARRIER
  skip
#else
  atomic { flushed(0) -> i = 1 };
  do
  :: atomic { i < WORKERS && flushed(i) -> i++ }
  :: i == WORKERS -> break
  od;
  i = 0
#endif
}

inline look_once_more() {
#ifndef SKIP_RECHECK
  seen = orders[w];
  if
  :: !seen -> seen = (inbox[w] > 0 || ring_owner[w] > 0 || shared[w] > 0)
  :: else
  fi;
  if
  :: !seen -> look_at_lanes()
  :: else
  fi
#else
  seen = 0
#endif
}

// sleep_until_woken(), steps 1 to 5
inline sleep_until_woken() {
  park[w] = 0;
#ifdef ANNOUNCE_AFTER_CHECK
  look_once_more();
  announce();
#else
  announce();
  tell_all();
  membarrier();
  look_once_more();
#endif
  if
  :: seen ->
     d_step { seen = 0; hit = asleep[w]; asleep[w] = 0 };
     if
     :: hit ->
        sleepers--;
#ifndef WOKEN_NOT_SEARCHING
        searchers++
#endif
     :: else ->
#ifndef RETRACT_WITHOUT_WAITING
        park[w]  // a waker is on its way: until it has come, we may not sleep again
#endif
     fi;
     hit = 0
  :: else ->
end_asleep:
     park[w]
  fi
}

// feed_the_hungry()
inline feed_the_hungry() {
  seen = (hungry > 0);
  if
  :: seen -> seen = (sleepers > 0)
  :: else
  fi;
  if
  :: !seen ->
     hungry_note[k] = 0;
#ifndef CLEAR_AND_GO
     if
     :: hungry > 0 -> seen = (sleepers > 0)
     :: else
     fi;
     if
     :: seen -> hungry_note[k] = 1
     :: else
     fi
#endif
  :: else
  fi;
  seen = 0;
  n = hungry;
  if
  :: n > 0 && ring_owner[w] > 0 && shared[w] < n ->
     flushed(w);  // the list's lock
     atomic {
       n = ring_owner[w] / 2 + 1;
       if
       :: n > ring_owner[w] -> n = ring_owner[w]
       :: else
       fi;
       shared[w] = shared[w] + n;
       ring_owner[w] = ring_owner[w] - n;
       ring[w] = ring_owner[w]
     };
     wake_sleepers(n)
  :: else
  fi;
  n = 0
}

inline guard_leave() {
  if
  :: hungry_note[k] -> feed_the_hungry()
  :: else
  fi
}

// give_worker() and take_finish(), as far as hunger goes.
inline give() {
#ifdef HUNGER_BEFORE_CARRIER
  seen = (hungry > 0);
  carrier[w] = to;
#else
  carrier[w] = to;
  seen = (hungry > 0);
#endif
  if
  :: seen -> hungry_note[to] = 1
  :: else
  fi;
  k = to;
  seen = 0
}

proctype Worker(byte w) {
  byte k = w, i, unit, todo, n, to, turn;
  bit hit, seen, last;

next_unit:
  sched_pick();
  if
  :: unit != 0 -> goto execute
  :: else
  fi;
  if
  :: atomic { orders[w] -> orders[w] = 0; unit = 1 };  // take_deferred()
     goto execute
  :: else
  fi;

  // idle_wait()
  hungry++;
  searchers++;
  turn = SPIN;
search:
  do
  :: turn > 0 ->
     look();
     if
     :: unit != 0 || orders[w] -> goto searched
     :: else
     fi;
     turn--
  :: else -> break
  od;
  help_ourselves();
  look();
  if
  :: unit != 0 || orders[w] -> goto searched
  :: else
  fi;
  searchers--;
  sleep_until_woken();
#ifdef WOKEN_NOT_SEARCHING
  hungry--;
  goto next_unit;
#else
  goto search;
#endif

searched:
  turn = 0;
  found();
  if
  :: unit == 0 -> goto next_unit
  :: else
  fi;

execute:
  unit = 0;
  guard_leave();
  do
  :: atomic { pushes > 0 -> pushes--; made++ };
     flushed(w) -> ring_owner[w]++;  // Lane::push_private(): a plain store
     guard_leave()
  :: atomic { gives > 0 && ring_owner[w] == 0 -> gives--; to = spare_klt; spare_klt++ };
     give()
  :: goto next_unit
  :: computes[w] = 1;
end_computes:
     false
  od
}

proctype Foreign() {
  byte v, i, todo, left = FOREIGN, left_orders = ORDERS;
  bit hit;
end:
  do
  :: left > 0 ->
     left--;
     if
     :: v = 0
     :: v = 1
     fi;
     if
     :: atomic { shared[v]++; made++ };  // Lane::push_shared(), wake_for_pool()
        wake_sleepers(1)
     :: atomic { INBOXES -> inbox[v]++; made++ };   // Lane::push_inbox(): only this worker may run it
        wake_if_asleep(v);
        hit = 0
     fi;
     v = 0
  :: left_orders > 0 ->  // defer_to()
     left_orders--;
     orders[0] = 1;
     wake_if_asleep(0);
     hit = 0
  od
}

// Nobody can do anything any more: then nobody may sleep beside work that he could do.
proctype Judge() {
  byte i, sleeping, visible;
end:
  timeout;
  d_step {
    do
    :: i < WORKERS ->
       visible = visible + shared[i] + ring[i];
       sleeping = sleeping + asleep[i];
       assert(asleep[i] || computes[i]);
       assert(!(asleep[i] && (inbox[i] > 0 || orders[i])));
       i++
    :: else -> break
    od;
    assert(sleeping == 0 || visible == 0);  // no lost wake-up
    assert(sleepers == sleeping && hungry == sleeping && searchers == 0)
  }
}

init {
  byte i;
  atomic {
    do
    :: i < WORKERS -> carrier[i] = i; i++
    :: else -> break
    od;
    i = 0;
    shared[0] = INITIAL;
    made = INITIAL;
    do
    :: i < WORKERS -> run Worker(i); run Flush(i); i++
    :: else -> break
    od;
    i = 0;
    run Foreign();
    run Judge()
  }
}
