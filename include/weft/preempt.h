// weft/preempt.h: preemption: a ULT that does not come back to Weft by itself has to let others run.
//
// A worker's timer sends its carrier a signal, the *tick*, and the ULT that runs then leaves, if another unit waits for
// the worker. How it leaves is the unit's `preemption`; whether there are ticks at all is the process's mode. Neither
// costs anything while it is off. What a program may rely on: docs/preemption.md.
//
// Context of all functions: any. None of them blocks. Errors of all: UNINITIALIZED, INVALID.
#ifndef WEFT_PREEMPT_H
#define WEFT_PREEMPT_H

#include <stdint.h>

#include "weft/weft.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- preemption --------------------------------------------------------------------------------

typedef enum weft_preemption_mode {
  WEFT_PREEMPTION_OFF = 0,
  WEFT_PREEMPTION_ON,    // each worker has a tick in each interval, as long as it is awake
  WEFT_PREEMPTION_AUTO,  // only while a unit waits for a worker whose ULT does not leave by itself
} weft_preemption_mode_t;

#define WEFT_PREEMPTION_INTERVAL_MIN 100000u       // ns
#define WEFT_PREEMPTION_INTERVAL_MAX 1000000000u

// How the process's ULTs are preempted.
// Errors: UNSUPPORTED, no real-time signal is free, or the kernel grants no timer; the mode stays as it was.
WEFT_API int weft_preemption_set_mode(weft_preemption_mode_t mode);
// How units leave that do not say, also those that run. DEFAULT is INVALID.
WEFT_API int weft_preemption_set_default(weft_preemption_t kind);
// The time between two ticks of a worker, from the next tick on.
WEFT_API int weft_preemption_set_interval(uint64_t ns);

typedef struct weft_preemption_information {
  weft_preemption_mode_t mode;
  weft_preemption_t standard;  // of units that do not say
  uint64_t interval;           // ns
  int signal;                  // 0: none has been needed yet
  // since weft_initialize(), of all workers
  uint64_t ticks;
  uint64_t signal_yields;
  uint64_t klt_switches;
  uint64_t put_off;  // the ULT could not leave just then, and left later
} weft_preemption_info_t;

// The settings, and what has been counted.
WEFT_API int weft_preemption_info(weft_preemption_info_t* info);

#ifdef __cplusplus
}
#endif

#endif
