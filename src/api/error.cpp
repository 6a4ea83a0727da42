// error.cpp: what an error code means, and what to do about it.
#include "weft/weft.h"

extern "C" const char* weft_strerror(int error) {
  switch (error) {
    case WEFT_OK: return "no error";
    case WEFT_ERR_UNINITIALIZED: return "Weft is not running: call weft_initialize() first";
    case WEFT_ERR_INVALID:
      return "an argument is null or out of range, or the object was freed: check the handle and "
             "the values that were passed";
    case WEFT_ERR_CONTEXT:
      return "not allowed here: a tasklet may not suspend or join, and some calls are for ULTs (or "
             "for the primary ULT) only; make the caller a ULT";
    case WEFT_ERR_SELF:
      return "a unit or worker may not do this to itself: call it from another one";
    case WEFT_ERR_JOINED: return "another joiner has this unit already: join each unit once";
    case WEFT_ERR_STATE:
      return "the object is not in a state that allows this: wait until it is (it still runs, is "
             "still in use, or has ended)";
    case WEFT_ERR_NO_MEMORY:
      return "memory or address space is used up: have fewer units alive at once, make stacks "
             "smaller (WEFT_STACK_SIZE), or raise ulimit -v or vm.max_map_count";
    case WEFT_ERR_NO_KLT:
      return "the kernel refused another thread: start fewer workers, or raise ulimit -u or the "
             "cgroup's pids.max";
    case WEFT_ERR_STACK_TOO_SMALL:
      return "the stack is too small: give at least WEFT_STACK_MIN (16384) bytes";
    case WEFT_ERR_BUSY: return "it would have to wait: try again later, or use the call that waits";
    case WEFT_ERR_NOT_OWNER:
      return "the caller does not hold the mutex: lock it before unlocking or waiting";
    case WEFT_ERR_LIMIT:
      return "a fixed limit is reached (512 keys, 64 pools of a scheduler, or the most workers): "
             "free some that are no longer used";
    case WEFT_ERR_UNSUPPORTED:
      return "this kernel or machine cannot do it: use the default, or a newer kernel";
    case WEFT_ERR_TIMEOUT: return "the deadline came first: wait longer, or find out who should have come";
    case WEFT_ERR_CLOSED: return "the channel has been closed: send before, or open another one";
    case WEFT_ERR_FORKED:
      return "the unit stayed behind in the parent process: after fork() only the calling ULT goes on "
             "in the child; create units anew there";
    default: return "not an error code of Weft: pass what a function of Weft returned";
  }
}
