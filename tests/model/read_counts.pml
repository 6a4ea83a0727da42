// read_counts.pml: a lock whose readers are counted by their workers, and writers who sum up (src/sync/read_counts.hpp
// and rwlock.cpp; the steps are those of src/sync/README.md, "Readers that are counted apart").
//
// A worker with two units that lock for reading, and switch where they like; it uses another lock, too, whose readers
// it counts in the same word. Writers on other workers; one to which a unit was moved while it held the lock for
// reading. Who has to wait tries again: how waiters are queued has nothing to do with the counts.
//
// Memory is x86-TSO where it matters: the first worker's stores to its marks wait in its store buffer, in order. A locked
// instruction empties it, and so does somebody else's membarrier().

#ifndef ROUNDS
#define ROUNDS 2    // of each unit
#endif
#ifndef WRITERS
#define WRITERS 1
#endif
#ifndef MOVES
#define MOVES 0     // units that are moved while they hold it
#endif
#ifndef OTHERS
#define OTHERS 1    // times that the other lock is locked
#endif

// The lock's state.
bit counted, queue, locked;
byte readers;

// The first worker's marks: `changing`, and one count: whose it is and how many.
#define MINE 8
#define THEIRS 16
#define owner_of(c) (c & 24)
#define number_of(c) (c & 7)
bit changing;
byte count;

mtype = { Changing, Count };
chan buffer = [4] of { mtype, byte };
byte stored;        // stores to `count` that are in the buffer
byte newest;        // the last of them

mtype = { Idle, Holds, Gone };  // a unit

byte inside;        // who reads
bit writing;
byte moved;

#define flushed (empty(buffer))
#define seen_count ((stored > 0) * newest + (stored == 0) * count)

proctype Flush() {
  byte v;
end:
  do
  :: atomic { buffer ? Changing, v -> changing = v }
  :: atomic { buffer ? Count, v -> count = v; stored-- }
  od
}

inline store_changing(value) { buffer ! Changing, value }
inline store_count(value) { atomic { newest = value; stored++; buffer ! Count, newest } }

inline reads() { d_step { inside++; assert(!writing) } }

// X2 to X5. kQueue is the caller's.
inline make_exact() {
  if
  :: counted ->
#ifndef DROP_MEMBARRIER
     flushed;                                                // X2
#endif
#ifndef IGNORE_CHANGING
     !changing;                                              // X3
#endif
     sum = count;
     if                                                      // X4
     :: owner_of(sum) == MINE && number_of(sum) > 0 -> count = 0
#ifdef CLEAR_FREE_COUNTS
     :: owner_of(sum) == MINE && number_of(sum) == 0 -> count = 0
#else
     :: owner_of(sum) == MINE && number_of(sum) == 0
#endif
     :: owner_of(sum) != MINE -> sum = 0
     fi;
     atomic { readers = readers + number_of(sum); counted = 0 }  // X5
  :: !counted
  fi;
  sum = 0
}

// C1 to C5: done says whether it was.
inline count_reader(change) {
#ifdef LOOK_BEFORE_STORE
  done = counted && !queue;
  store_changing(1);
#else
  store_changing(1);                                         // C1
#ifdef IGNORE_QUEUE
  done = counted;
#else
  done = counted && !queue;                                  // C2
#endif
#endif
  if                                                         // C3
  :: done && change > 0 && owner_of(seen_count) == MINE -> store_count(seen_count + 1)
  :: done && change > 0 && owner_of(seen_count) != MINE && number_of(seen_count) == 0 -> store_count(MINE + 1)
  :: done && change < 0 && owner_of(seen_count) == MINE && number_of(seen_count) > 0 -> store_count(seen_count - 1)
  :: else -> done = 0
  fi;
  store_changing(0)                                          // C4
}

// U1, U2; in unlock_slow() the queue is taken where nobody is counted here.
inline unlock_ordinary() {
  if
  :: atomic { !(counted && queue) && readers > 0 && !(queue && readers == 1) -> readers--; done = 1 }
  :: atomic { counted && !queue && readers == 0 -> queue = 1 }; make_exact(); queue = 0
#ifdef IGNORE_COUNTING
  :: atomic { readers == 0 && (!counted || queue) -> assert(false) }
#else
  :: atomic { readers == 0 && !counted -> assert(false) }    // NOT_OWNER
#endif
  fi
}

proctype Owner() {
  mtype unit[2] = Idle;
  byte rounds[2] = ROUNDS;
  byte u, sum, others = OTHERS;
  byte moves = MOVES;
  bit done, other;

  do
  :: rounds[0] == 0 && rounds[1] == 0 && !other -> break
  // ---- the other lock
  :: others > 0 && !other && (owner_of(seen_count) == THEIRS || number_of(seen_count) == 0) ->
     store_changing(0);  // its name is another one
     if
     :: owner_of(seen_count) == THEIRS -> store_count(seen_count + 1)
     :: else -> store_count(THEIRS + 1)
     fi;
     others--;
     other = 1
  :: other ->
     assert(seen_count == THEIRS + 1);
     store_count(seen_count - 1);
     other = 0
  // ---- this one
  :: rounds[0] > 0 || rounds[1] > 0 ->
     if
     :: rounds[0] > 0 -> u = 0
     :: rounds[1] > 0 -> u = 1
     fi;
     if
     :: unit[u] == Idle ->
        done = 0;
        if
        :: counted && !queue -> count_reader(1); if :: done -> reads() :: else fi
        :: else
        fi;
        if
        :: done -> unit[u] = Holds
        :: !done ->
           if
           :: atomic { flushed && !queue && !locked -> readers++; reads() }; unit[u] = Holds;
              if
              :: atomic { flushed && !counted && !queue && !locked -> counted = 1 }  // W1
              :: skip
              fi
           :: queue || locked -> skip    // another unit
           fi
        fi
     :: unit[u] == Holds && moves > 0 ->
        atomic { flushed -> moves--; moved++; unit[u] = Gone; rounds[u] = 0 }
     :: unit[u] == Holds ->
        done = 0;
        atomic {
          inside--;
          if
          :: counted && !queue -> skip
          :: else -> goto slow
          fi
        };
        count_reader(-1);
slow:   do
        :: done -> break
        :: !done && flushed -> unlock_ordinary()
        od;
        rounds[u]--;
        unit[u] = Idle
     fi
  od;
  flushed
}

proctype Writer() {
  byte sum;
  do
  :: atomic { !queue && !locked && !counted && readers == 0 -> locked = 1 }; break
  :: atomic { !queue -> queue = 1 };
     make_exact();
     if
     :: atomic { readers == 0 && !locked -> locked = 1; queue = 0 }; break
     :: else -> queue = 0
     fi
  od;
  atomic { writing = 1; assert(inside == 0) };
  writing = 0;
  atomic { !queue -> locked = 0 }
}

// unlock of a unit on the worker to which it was moved.
proctype MovedTo() {
  byte sum;
  bit done;
end:
  moved > 0;
  inside--;
  do
  :: done -> break
  :: !done -> unlock_ordinary()
  od
}

init {
  byte i;
  atomic {
    run Flush();
    run Owner();
    do
    :: i < WRITERS -> run Writer(); i++
    :: else -> break
    od;
    if
    :: MOVES > 0 -> run MovedTo()
    :: else
    fi
  }
}
