// own_tag.pml: what a thread may believe of the worker that it carries, in sections of the program's own code (klt/README.md,
// "Sections in the program's own code"): know_tag() and forget_tag(), beside the guard.
//
// `Owner` is a KLT that comes to ordinary sections, where it says to itself which worker it has, and to sections of its own,
// where it believes that. `Publisher` publishes the worker as gone, as a taker does and whoever forks; if the KLT is in no section it
// uses what is the worker's alone, and then it gives the worker back. Which KLT has it meanwhile does not matter here.
//
// Memory is x86-TSO: the owner's plain stores wait in a buffer, in order. A locked instruction empties it, and so does the
// publisher's membarrier().

#ifndef SECTIONS
#define SECTIONS 4  // of the owner
#endif
#ifndef TIMES
#define TIMES 2  // that the worker is published as gone
#endif

bit worker = 1;      // Klt::worker: not null
bit guard, mutex;    // Klt::guard; OwnWords::mutex
bit tag;             // OwnWords::tag: not none
byte none_stored;    // in the buffer: tag = none
bit taken;           // the publisher uses the private part

mtype = { Guard, Mutex, Tag };
chan buffer = [4] of { mtype, bit };

#define flushed (empty(buffer))

proctype Flush() {
  bit value;
end:
  do
  :: atomic { buffer ? Guard, value -> guard = value }
  :: atomic { buffer ? Mutex, value -> mutex = value }
  :: atomic { buffer ? Tag, value -> tag = value; none_stored-- }
  od
}

inline uses_private_part() { assert(!taken) }

proctype Owner() {
  byte i;
  bit seen;

  for (i : 1 .. SECTIONS) {
    if
    :: // an ordinary one
       buffer ! Guard, 1;
       seen = worker;
       if
       :: seen ->
          uses_private_part();
          atomic { flushed -> tag = 1 };  // know_tag()
#ifndef NO_SECOND_LOOK
          if
          :: worker
          :: else -> atomic { buffer ! Tag, 0; none_stored++ }
          fi;
#endif
          uses_private_part()
       :: else                            // guard_enter_slow()
       fi;
       buffer ! Guard, 0
    :: // one of its own
#ifdef LOOK_BEFORE_STORE
       seen = (none_stored == 0 && tag);
       buffer ! Mutex, 1;
#else
       buffer ! Mutex, 1;
       seen = (none_stored == 0 && tag);
#endif
       if
       :: seen -> uses_private_part(); skip; uses_private_part()
       :: else
       fi;
       buffer ! Mutex, 0
    fi
  }
}

proctype Publisher() {
  byte i;

  for (i : 1 .. TIMES) {
#ifdef FORGET_FIRST
    tag = 0;
    worker = 0;
#else
    worker = 0;
#ifndef NEVER_FORGET
    tag = 0;
#endif
#endif
#ifndef DROP_MEMBARRIER
    flushed;
#endif
    if
#ifdef IGNORE_MUTEX
    :: !guard ->
#else
    :: !guard && !mutex ->
#endif
       taken = 1;
       skip;
       taken = 0
    :: else
    fi;
    worker = 1
  }
}

init {
  atomic {
    run Flush();
    run Owner();
    run Publisher()
  }
}
