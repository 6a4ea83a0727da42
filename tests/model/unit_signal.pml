// unit_signal.pml: a signal that is sent straight to the KLT of a unit that may be about to leave it (src/worker/unit_signal.hpp).
//
// A thread stops the unit by one signal, whose handler says so and waits for a second one, which the thread sends next; as garbage
// collectors do. The unit gets onto its KLT, is in Weft there, and leaves it, again and again. Its KLT takes a signal at any step: but
// it must be the unit then. Every run is finite, so "no invalid end" says that each signal comes and nobody waits for ever.
//
// Memory is x86-TSO where it matters: the unit's stores wait in its KLT's store buffer, in order. The kernel empties it as it gives the
// KLT a signal, and so does somebody else's membarrier(): which gives it its signals besides, but not while it sleeps.

#ifndef STOPS
#define STOPS 3
#endif
#ifndef LEAVES
#define LEAVES 3
#endif

#ifdef NOT_TO_A_SLEEPER
#define SLEEPS 0
#else
#define SLEEPS waits
#endif

mtype = { Current, On };
chan buffer = [4] of { mtype, bit };
bit current, on;            // as others see them
byte sending;
bit noted_stop, noted_go;   // with the identity
bit sent_stop, sent_go;     // to the KLT, and not taken yet
bit is_the_unit;            // thread pointer and stack of the KLT are the unit's
bit handles, waits;         // its handler runs; and sleeps until the second signal comes, or has not noticed yet
bit answered;

inline flush() {
  atomic {
    do
    :: buffer ? Current, current
    :: buffer ? On, on
    :: empty(buffer) -> break
    od
  }
}

proctype Flush() {
end:
  do
  :: atomic { buffer ? Current, current }
  :: atomic { buffer ? On, on }
  od
}

// ---- the unit, and its KLT when it is away --------------------------------------------------------

inline handler() {
  flush();
  do
  :: atomic { sent_stop -> assert(is_the_unit); sent_stop = 0; handles = 1 }
     atomic { waits = 1; answered = 1 }
     atomic { sent_go -> sent_go = 0; waits = 0; handles = 0 }
  :: atomic { !sent_stop -> break }  // none that was blocked meanwhile
  od
}

// Between any two instructions.
inline step() {
  if
  :: sent_stop -> handler()
  :: skip
  fi
}

inline get_on() {
  buffer ! Current, 1;
  is_the_unit = 1;
  buffer ! On, 1;
  step();
  if
  :: atomic { noted_stop -> noted_stop = 0; sent_stop = 1 }
     handler()
  :: !noted_stop -> skip
  fi
}

inline get_off() {
  buffer ! On, 0;
  step();
#ifdef LOOK_ONCE
  if
  :: sending == 0 -> skip
  :: sending != 0 -> step()
  fi;
#else
  do
  :: sending == 0 -> break
  :: sending != 0 -> step()
  od;
#endif
  step();
  is_the_unit = 0;
  step();
  buffer ! Current, 0
}

active proctype Klt() {
  byte n = LEAVES;
  run Flush();
  do
  :: n == 0 -> break
  :: n > 0 ->
     n--;
     get_on();
     step();
     get_off();
     step()
  od;
  get_on();
end:
  do
  :: sent_stop -> handler()
  od
}

// ---- who sends ------------------------------------------------------------------------------------

inline membarrier() {
  flush();
  handles || !sent_stop
}

inline send(noted, sent) {
  noted = 1;
  membarrier();
  do
  :: !noted -> break
  :: noted && !current -> break  // taken as it gets on
  :: noted && current && (on || SLEEPS) ->
#ifndef NO_ANNOUNCEMENT
     sending++;
#endif
#ifndef DROP_MEMBARRIER
     membarrier();
#endif
     is_there = on;
     is_there = is_there || SLEEPS;
     if
     :: !is_there || !current -> skip
     :: is_there && current ->
        atomic {
          if
          :: noted -> noted = 0; sent = 1
          :: !noted -> skip
          fi
        }
     fi;
#ifndef NO_SECOND_MEMBARRIER
     membarrier();
#endif
#ifndef NO_ANNOUNCEMENT
     sending--;
#endif
  od
}

active proctype Collector() {
  byte n = STOPS;
  bit is_there;
  do
  :: n == 0 -> break
  :: n > 0 ->
     n--;
     send(noted_stop, sent_stop);
     answered;
     answered = 0;
     send(noted_go, sent_go)
  od
}
