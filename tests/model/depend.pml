// depend.pml: tasks that wait for others of their parent's (frontends/omp/src/depend.cpp).
//
// A parent makes tasks in order: 0 and 1 wait for nobody, 2 for both, 3 for 1, 4 for 2 and 3. 2 and 3 exclude each other. Threads run them
// as they become ready. A node is gone when its task is, and the parent has made all that wait for it; an edge lies in the node of the
// one that waits.
//
// All that two threads touch at once is touched by locked instructions, so memory is sequentially consistent.

#ifndef THREADS
#define THREADS 2
#endif
#define NODES 5
#define UNARMED 50

#define before_of(k) ((k == 2) * 3 + (k == 3) * 2 + (k == 4) * 12)     // bits
#define last_behind(k) ((k == 0) * 2 + (k == 1) * 3 + (k == 2 || k == 3) * 4)  // 0: none
#define exclusive(k) (k == 2 || k == 3)

short waits_for[NODES];
byte behind[NODES];      // whose edges are in the list
bit ended[NODES];        // the list says so
bit over[NODES];         // its task is gone
bit ready[NODES], begun[NODES];
byte made;               // nodes that have been armed

bit taken;               // their set
byte line;               // who waits for it
bit inside;

#define is_gone(k) (over[k] && made > last_behind(k))
inline touch(k) { assert(!is_gone(k)) }

inline make_ready(k) { d_step { assert(!ready[k]); ready[k] = 1 } }

// take_sets(), under the lock.
inline take_sets(k, got) {
  if
  :: !taken -> taken = 1; got = 1
  :: taken -> line = line | (1 << k); got = 0
  fi
}

// waits_for_less().
inline less(k, by) {
  atomic { touch(k); waits_for[k] = waits_for[k] - by; left = waits_for[k] };
  if
  :: !exclusive(k) && left == 0 -> make_ready(k)
  :: exclusive(k) && left == 1 ->
     atomic { touch(k); take_sets(k, got) };
     if
     :: got -> waits_for[k] = 0; make_ready(k)
     :: else
     fi
  :: else
  fi
}

inline link(first, then) {
  atomic {
    touch(first);
    if
#ifdef IGNORE_ENDED
    :: true -> behind[first] = behind[first] | (1 << then); linked++
#else
    :: ended[first]
    :: !ended[first] -> behind[first] = behind[first] | (1 << then); linked++
#endif
    fi
#ifdef NO_BIAS
    ; waits_for[then] = waits_for[then] + linked; linked = 0
#endif
  }
}

proctype Parent() {
  byte k, i, linked;
  short left;
  bit got;
  do
  :: k == NODES -> break
  :: k < NODES ->
#ifdef NO_BIAS
     waits_for[k] = exclusive(k);
#else
     waits_for[k] = UNARMED;
#endif
     linked = 0;
     i = 0;
     do
     :: i == k -> break
     :: i < k && (before_of(k) >> i & 1) -> link(i, k); i++
     :: i < k && !(before_of(k) >> i & 1) -> i++
     od;
#ifdef NO_BIAS
     less(k, 0);
#else
     less(k, (UNARMED - linked - exclusive(k)));
#endif
     made++;
     k++
  od
}

proctype Thread() {
  byte k, j, list, others;
  short left;
  bit got;
end:
  do
  :: atomic { ready[0] && !begun[0] -> begun[0] = 1; k = 0 }; goto runs
  :: atomic { ready[1] && !begun[1] -> begun[1] = 1; k = 1 }; goto runs
  :: atomic { ready[2] && !begun[2] -> begun[2] = 1; k = 2 }; goto runs
  :: atomic { ready[3] && !begun[3] -> begun[3] = 1; k = 3 }; goto runs
  :: atomic { ready[4] && !begun[4] -> begun[4] = 1; k = 4 }; goto runs
runs:
     skip;
     d_step {
       j = 0;
       do
       :: j == NODES -> break
       :: j < NODES -> assert(!(before_of(k) >> j & 1) || ended[j]); j++
       od;
       assert(!exclusive(k) || !inside);
       inside = inside || exclusive(k)
     };
     d_step { inside = inside && !exclusive(k) };
     // dependences_met()
     atomic { list = behind[k]; behind[k] = 0; ended[k] = 1 };
     if
     :: exclusive(k) ->
        atomic {
          taken = 0;
#ifndef NO_NEW_TRY
          others = line;
          line = 0;
          j = 0;
          do
          :: j == NODES -> break
          :: j < NODES && (others >> j & 1) ->
             take_sets(j, got);
             if
             :: got -> waits_for[j] = 0; make_ready(j)
             :: else
             fi;
             j++
          :: j < NODES && !(others >> j & 1) -> j++
          od
#endif
        }
     :: else
     fi;
     j = 0;
     do
     :: j == NODES -> break
     :: j < NODES && (list >> j & 1) ->
        less(j, 1);
#ifdef NEXT_EDGE_AFTERWARDS
        touch(j);
#endif
        j++
     :: j < NODES && !(list >> j & 1) -> j++
     od;
     over[k] = 1
  od
}

// When nothing can be done any more all have run.
proctype Judge() {
  timeout;
  assert(over[0] && over[1] && over[2] && over[3] && over[4])
}

init {
  byte i;
  atomic {
    run Parent();
    run Judge();
    do
    :: i < THREADS -> run Thread(); i++
    :: else -> break
    od
  }
}
