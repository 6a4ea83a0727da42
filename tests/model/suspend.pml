// suspend.pml: weft_suspend() and weft_resume() of src/api/control.cpp: a resume that comes first is
// remembered, and one that comes while another is remembered is not lost to a caller that uses that one up.
//
// The waiter looks at its condition and suspends until it holds. Two resumers: one resumes it for nothing,
// the other makes the condition true first.
//
// Memory is x86-TSO: plain stores wait in their thread's store buffer (here: one store each, of `token` by
// the waiter, of `condition` by the resumer) and a locked instruction empties it first.

mtype = { None, Parked, Resumed };

mtype token = None;
bit condition;             // as others see it
bit condition_resumer;     // as the resumer sees it
bit ready;                 // the unit, parked, was made ready
bit done;

#define resumer_flushed (condition == condition_resumer)

// The waiter's plain store of the mutation, becoming visible. Nobody changes a token that is Resumed but the
// waiter, so it is enough to remember what it wrote.
bit token_pending;

proctype FlushToken() {
end:
  do
  :: atomic { token_pending -> token = None; token_pending = 0 }
  od
}

proctype FlushCondition() {
end:
  do
  :: atomic { !resumer_flushed -> condition = condition_resumer }
  od
}

inline use_up_resume() {
#ifdef PLAIN_STORE
  token_pending = 1
#else
  token = None
#endif
}

proctype Waiter() {
  do
  :: if
     :: condition -> break
     :: else
     fi;
     // weft_suspend()
     if
     :: token == Resumed && !token_pending -> use_up_resume()
     :: else ->
        // suspend_action(): a compare-exchange
        atomic {
          !token_pending ->
          if
          :: token == None -> token = Parked
          :: else -> use_up_resume(); goto looked
          fi
        };
end_parked:
        atomic { ready -> ready = 0 }
     fi;
looked:
     skip
  od;
  done = 1
}

// weft_resume()
inline resume() {
#ifdef SKIP_REMEMBERED
  if
  :: token == Resumed -> goto resumed
  :: else
  fi;
#endif
  atomic {
    resumer_flushed ->
    if
    :: token == Parked -> token = None; ready = 1
    :: else -> token = Resumed
    fi
  };
resumed:
  skip
}

proctype Stray() { resume() }

proctype Resumer() {
  condition_resumer = 1;
  resume()
}

proctype Judge() {
end:
  timeout;
  assert(done)
}

init {
  atomic {
    run FlushToken();
    run FlushCondition();
    run Waiter();
    run Stray();
    run Resumer();
    run Judge()
  }
}
