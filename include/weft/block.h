// weft/block.h: blocking: a worker whose ULT blocks in the kernel goes on with other units.
//
// Whatever the reason is (a system call, a page fault, a lock of a foreign library), the worker is taken from the kernel
// thread that sleeps, and another one goes on with it. The ULT comes back like any other that was woken. It costs nothing
// while it is off. What a program may rely on: docs/blocking.md.
//
// Context of all functions, unless they say so: any. None of them blocks. Errors of all: UNINITIALIZED, INVALID.
#ifndef WEFT_BLOCK_H
#define WEFT_BLOCK_H

#include <stdint.h>

#include "weft/weft.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- blocking ----------------------------------------------------------------------------------

typedef enum weft_blocking_mode {
  WEFT_BLOCKING_OFF = 0,
  WEFT_BLOCKING_ON,    // whenever a ULT blocks
  WEFT_BLOCKING_AUTO,  // only where units wait, for its worker or for others that have several
} weft_blocking_mode_t;

// Whether workers are taken from kernel threads that block. A ULT may be suspended; a tasklet does not wait until the change is complete.
// Errors: UNSUPPORTED, the system grants no way to see that a thread blocks, or refuses a thread; see docs/blocking.md.
WEFT_API int weft_blocking_set_mode(weft_blocking_mode_t mode);
// How many ULTs may be in the kernel without their workers. One more keeps its worker, for 10 ms at most if others wait there,
// unless all workers would stand still.
WEFT_API int weft_blocking_set_klts(unsigned klts);

typedef struct weft_blocking_information {
  weft_blocking_mode_t mode;
  const char* rung;    // how it is seen that a thread blocks: "bpf", "perf", "proc"; "none" while the mode is off
  unsigned klts;
  unsigned in_kernel;  // ULTs that are there now, without their workers
  // since the process began
  uint64_t blocks;      // seen, while units waited (or always: mode On)
  uint64_t hand_overs;  // so many workers were taken, or given by weft_blocking_begin()
  uint64_t returns;     // of ULTs from there
  uint64_t stopped;     // of those: by a signal, because they did not come to Weft by themselves
  uint64_t beyond;      // hand-overs beyond `klts`
  uint64_t looks;       // of the threads that watch
  uint64_t idle_ns;     // cores were idle though units waited: from the block to the hand-over
  uint64_t oversubscribed_ns;  // from a return to its stop
} weft_blocking_info_t;

// The settings, and what has been counted.
WEFT_API int weft_blocking_info(weft_blocking_info_t* info);

// For code that knows that it is about to block for long: its worker goes on at once, whatever the mode is. Until the end
// the ULT has no worker; any other function of Weft ends it, too. Context: ULT; in a thread that is none of Weft's neither
// does anything. Errors: CONTEXT, a tasklet or a scheduler; NO_KLT, the kernel refuses one more thread.
WEFT_API int weft_blocking_begin(void);
// The end of it: waits for a worker. Context: as weft_blocking_begin(). Blocks: suspends.
WEFT_API void weft_blocking_end(void);

#ifdef __cplusplus
}
#endif

#endif
