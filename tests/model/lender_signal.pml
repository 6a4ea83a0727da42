// lender_signal.pml: signals for a unit that its lender is sent (src/worker/lender_signal.hpp): the lender handles them in the place of a
// unit that is on no KLT, on its stack; else the unit takes them.
//
// The unit runs, waits, is woken, and picked, again and again; at last it runs on, or waits, for good. A call by the courier comes at any
// of its steps. Each signal is handled once, and the unit and its lender are never on its stack both.
//
// Memory is x86-TSO where it matters: what the unit's side stores waits in its processor's store buffer, in order; the lender's
// membarrier() empties that.

#ifndef SIGNALS
#define SIGNALS 2
#endif
#ifndef WAITS
#define WAITS 2
#endif

mtype = { Running, Blocked, Ready };
mtype = { On, State };
mtype = { None, Offered, Taking };

chan buffer = [6] of { mtype, mtype };
mtype state = Running;
mtype on = Running;     // Running: it is; Blocked: it is not. As others see it
mtype in_hand = None;
bit away, courier;
bit there;              // the unit is on its stack
bit in_its_place;       // the lender is
byte pending, handled;
byte calls;             // mod 4: who sleeps has seen the last one

inline flush() {
  atomic {
    do
    :: buffer ? State, state
    :: buffer ? On, on
    :: empty(buffer) -> break
    od
  }
}

inline drain_one() {
  if
  :: buffer ? State, state
  :: buffer ? On, on
  fi
}

proctype Flush() {
end:
  do
  :: atomic { nempty(buffer) -> drain_one() }
  od
}

inline call() { atomic { flush(); calls = (calls + 1) % 4 } }

// ---- the unit ---------------------------------------------------------------------------------------

inline take() {
  if
  :: atomic { in_hand == Offered -> flush(); in_hand = Taking }
     assert(there && !in_its_place);
     handled++;
     in_hand = None;
     call()
  :: in_hand != Offered -> skip
  fi
}

// Between any two instructions.
inline step() {
  if
  :: atomic { courier -> courier = 0 }
     take()
  :: skip
  fi
}

inline get_off() {
  buffer ! On, Blocked;
#ifndef LEAVE_WITHOUT_LOOK
  if
  :: in_hand != None -> call()
  :: in_hand == None -> skip
  fi;
#endif
  courier = 0;  // the scheduler's handler finds nobody
  there = 0;
  buffer ! State, Blocked
}

// Whoever wakes it, and whoever picks it, by one processor.
inline get_on() {
  buffer ! State, Ready;
#ifndef IGNORE_AWAY
  !away;
#endif
  there = 1;
  assert(!in_its_place);
  buffer ! State, Running;
  buffer ! On, Running;
#ifndef GET_ON_WITHOUT_LOOK
  if
  :: in_hand != None -> take()
  :: in_hand == None -> skip
  fi
#endif
}

active proctype Unit() {
  byte n = WAITS;
  there = 1;
  run Flush();
  do
  :: n == 0 -> break
  :: n > 0 ->
     n--;
     step();
     get_off();
     get_on()
  od;
  if
  :: get_off()
  :: skip
  fi;
end:
  do
  :: atomic { courier && there -> courier = 0 }
     take()
  od
}

// ---- the lender -------------------------------------------------------------------------------------

inline fence_all() { flush() }

inline handle_in_its_place() {
#ifdef LET_ON_EARLY
  away = 0;
#endif
  in_its_place = 1;
  assert(!there);
  handled++;
  in_its_place = 0
}

inline deliver() {
  bool offered = false;
  do
  :: away = 1;
#ifndef DROP_FENCE
     fence_all();
#endif
     if
     :: state == Blocked && offered && in_hand == None -> away = 0; break  // it has taken it
     :: state == Blocked && !(offered && in_hand == None) ->
        in_hand = None;
        handle_in_its_place();
        away = 0;
        break
     :: state != Blocked -> away = 0
     fi;
     if
     :: !offered ->
        offered = true;
        in_hand = Offered;
#ifndef DROP_SECOND_FENCE
        fence_all();
#endif
        if
        :: on == Running -> courier = 1
        :: on != Running -> skip
        fi
     :: offered -> skip
     fi;
     // until it has taken it, or may be kept away
     do
     :: seen = calls;
        if
        :: in_hand == None -> goto taken
        :: in_hand != None && state == Blocked -> break
        :: in_hand != None && state == Running && on != Running ->  // on its way
#ifdef DO_NOT_WAIT_ON_ITS_WAY
           calls != seen
#else
           state != Running || on == Running || in_hand == None
#endif
        :: in_hand != None && (state == Ready || (state == Running && on == Running)) -> calls != seen
        fi
     od
  od;
taken:
  skip
}

active proctype Lender() {
  byte seen;
end:
  do
  :: pending > 0 ->
     pending--;
     deliver()
  od
}

active proctype Sender() {
  byte n = SIGNALS;
  do
  :: n == 0 -> break
  :: n > 0 -> n--; pending++
  od
}

active proctype Check() {
  timeout -> assert(handled == SIGNALS)
}
