// passed_signal.pml: what the process is sent, for the main thread, which is a ULT (src/worker/lender_signal.hpp, Passed): its lender takes it
// from the kernel, or any other thread, which passes it on to the lender; the lender brings one after the other to the ULT, and accepts
// further ones while it waits for that.
//
// One number, of which the kernel keeps one; so do we, of those that are passed on. Whatever is sent, a handler begins after it. Read-modify-writes
// are in order with each other, and the kernel's calls with everything: memory is sequentially consistent here.

#ifndef SENDS
#define SENDS 3
#endif
#ifndef OTHERS
#define OTHERS 2
#endif

#ifndef CALLERS
#define CALLERS 0
#endif

mtype = { None, Offered, Taking };

bit pending;            // the kernel: sent to the process
bit calls;              // the kernel: the courier, for the lender
bit courier;            // the kernel: the courier, for the ULT
bit claimed, there;     // Passed
mtype in_hand = None;
bit owed;               // one has been sent, and no handler has begun since
bit handles;            // the ULT is in a handler: it does nothing else
byte begun, ended;      // Passed
byte called, caught_up; // Identity: by who catches up
bit missed;             // one had been sent when the call ended, and no handler has begun since

// Whoever has it.
inline pass(done) {
  atomic { done = !claimed; claimed = 1 }
  if
  :: done -> there = 1
  :: !done -> skip
  fi
}

active proctype Sender() {
  byte n = SENDS;
  do
  :: n == 0 -> break
  :: n > 0 -> n--; atomic { owed = 1; pending = 1 }
     if
     :: owed == 0
     :: skip
     fi
  od;
  owed == 0
}

// Before it opens its mask, or as it returns from a handler.
active [OTHERS] proctype Other() {
  bit done;
end:
  do
  :: pending ->
#ifdef CLAIM_BEFORE_TAKING
     atomic { done = !claimed; claimed = 1 }
     if
     :: atomic { pending -> pending = 0 }
        if
        :: done -> there = 1; calls = 1
        :: !done -> skip
        fi
     :: atomic { !pending -> skip }
        if
        :: done -> claimed = 0
        :: !done -> skip
        fi
     fi
#else
     begun = begun + CALLERS;
     if
     :: atomic { pending -> pending = 0 }
        pass(done);
        ended = ended + CALLERS;
#ifndef PASS_WITHOUT_CALL
        if
        :: done -> calls = 1
        :: !done -> skip
        fi
#endif
     :: atomic { !pending -> ended = ended + CALLERS }  // somebody else has it
     fi
#endif
  od
}

active proctype Ult() {
end:
  do
  :: atomic { courier -> courier = 0; handles = 1 }
     if
     :: atomic { in_hand == Offered -> in_hand = Taking }
        in_hand = None;
        calls = 1;
        atomic { owed = 0; missed = 0; handles = 0 }  // the handler begins
     :: atomic { in_hand != Offered -> handles = 0 }
     fi
  od
}

// The ULT, whose call has ended for nothing that can be seen: lender_catch_up(). What has been sent by now is handled when that returns.
active [CALLERS] proctype Caller() {
  byte seen, call;
  d_step { !handles -> missed = owed };
again:
  atomic { !handles -> seen = begun };
#ifndef PASS_MEANWHILE
  if
  :: atomic { !handles && ended == seen -> skip }
  :: atomic { !handles && ended != seen -> goto again }
  fi;
#endif
  atomic { !handles -> called++; call = called };
  atomic { !handles -> calls = 1 };
  atomic { !handles && caught_up >= call -> skip };
#if !defined(PASS_MEANWHILE) && !defined(LOOK_ONCE)
  if
  :: atomic { !handles && begun == seen -> skip }
  :: atomic { !handles && begun != seen -> goto again }
  fi;
#endif
  atomic { !handles -> assert(!missed) }
}

inline deliver() {
  in_hand = Offered;
  courier = 1;
  do
  :: in_hand == None -> break
  :: in_hand != None ->
     if
     :: atomic { calls -> calls = 0 }
     :: atomic { pending -> pending = 0 }
        pass(done)
     fi
  od
}

active proctype Lender() {
  bit done, some;
  byte asked;
looks:
  asked = called;
  atomic { some = there; there = 0 }
  if
  :: some ->
#ifndef UNCLAIM_LATE
     claimed = 0;
#endif
     deliver();
#ifdef UNCLAIM_LATE
     claimed = 0;
#endif
#ifndef SLEEP_AFTER_TAKING
     goto looks
#endif
  :: !some -> skip
  fi;
  if
  :: asked != caught_up ->
#ifndef CATCH_UP_BY_PASSED
     if
     :: atomic { pending -> pending = 0 }
        deliver();
        goto looks
     :: !pending -> skip
     fi;
#endif
     caught_up = asked
  :: asked == caught_up -> skip
  fi;
end:
  if
  :: atomic { calls -> calls = 0 }
  :: atomic { pending -> pending = 0 }
     deliver()
  fi;
  goto looks
}
