// list_lock.pml: the list of an object that one worker has to itself, and how others take that away
// (src/sync/list_lock.hpp; the steps are those of src/sync/README.md, "Lists that one worker has to itself").
//
// A worker whose units use the list in sections, one after the other; other workers that use it too. Each section adds to
// two words that belong to the list: they must be the same for everybody, always.
//
// Memory is x86-TSO where it matters: the first worker's stores wait in its store buffer, in order. A locked instruction
// empties it, and so does somebody else's membarrier().

#ifndef SECTIONS
#define SECTIONS 4  // of the first worker
#endif
#ifndef OTHERS
#define OTHERS 2
#endif

mtype = { Free, Queue, Biased };  // `state`
mtype state = Free;
bit changing;
byte a, b;                        // the list

mtype = { State, Changing, A, B };
chan buffer = [6] of { mtype, byte };
byte waiting_a, waiting_b;        // how many of these are in the buffer
byte newest_a, newest_b;          // the last of them
bit biasing;                      // Biased is in the buffer

#define flushed (empty(buffer))
#define seen_a ((waiting_a > 0) * newest_a + (waiting_a == 0) * a)
#define seen_b ((waiting_b > 0) * newest_b + (waiting_b == 0) * b)
#define seen_biased (biasing || state == Biased)

bit inside_first;                 // the first worker is in the list
byte inside;                      // how many others
byte done;

proctype Flush() {
  byte v;
end:
  do
  :: atomic { buffer ? State, v -> state = v; biasing = 0 }
  :: atomic { buffer ? Changing, v -> changing = v }
  :: atomic { buffer ? A, v -> a = v; waiting_a-- }
  :: atomic { buffer ? B, v -> b = v; waiting_b-- }
  od
}

inline store_a(value) { atomic { newest_a = value; waiting_a++; buffer ! A, newest_a } }
inline store_b(value) { atomic { newest_b = value; waiting_b++; buffer ! B, newest_b } }

proctype First() {
  byte n = SECTIONS;
  bit had;  // it has had the list to itself: never again
  bit mine;
  do
  :: n == 0 -> break
  :: n > 0 ->
     mine = 0;
     if
     :: seen_biased ->
#ifdef LOOK_BEFORE_STORE
        mine = seen_biased;
        buffer ! Changing, 1
#else
        buffer ! Changing, 1;                                // L1
        mine = seen_biased                             // L2
#endif
        ;
        if
        :: mine
        :: !mine -> buffer ! Changing, 0
        fi
     :: else
     fi;
     if
     :: mine
     :: !mine -> atomic { flushed && state == Free -> state = Queue }
     fi;
     // the section
     inside_first = 1;
     assert(inside == 0 && seen_a == seen_b);
     store_a(seen_a + 1);
     store_b(seen_b + 1);
     inside_first = 0;
     if
     :: mine -> buffer ! Changing, 0                         // L3
     :: !mine && !had -> atomic { had = 1; biasing = 1; buffer ! State, Biased }  // B2
     :: !mine -> buffer ! State, Free
     fi;
     n--;
     done++
  od
}

proctype Other() {
  do
  :: atomic { state == Free -> state = Queue }; break
  :: atomic { state == Biased -> state = Queue };            // T1
#ifndef DROP_MEMBARRIER
     flushed;                                                // T2
#endif
#ifndef IGNORE_CHANGING
     !changing;                                              // T3
#endif
     break
  od;
  inside++;
  assert(inside == 1 && !inside_first && a == b);
  a++;
  b++;
  inside--;
  state = Free;
  done++
}

proctype Judge() {
  done == SECTIONS + OTHERS && flushed;
  assert(a == SECTIONS + OTHERS && b == a)
}

init {
  byte i;
  atomic {
    run Flush();
    run First();
    run Judge();
    do
    :: i < OTHERS -> run Other(); i++
    :: else -> break
    od
  }
}
