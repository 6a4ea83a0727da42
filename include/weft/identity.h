// weft/identity.h: identities: ULTs that have thread-local state of their own.
//
// A ULT made with WEFT_IDENTITY_OWN (weft_unit_attr_t::identity) has its own errno, thread-local variables, pthread keys,
// malloc cache, locale and pthread_self(), as a kernel thread has, on whatever worker it runs. What a program may rely on:
// docs/identity.md.
#ifndef WEFT_IDENTITY_H
#define WEFT_IDENTITY_H

#include <stdint.h>

#include "weft/weft.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- identities --------------------------------------------------------------------------------

typedef struct weft_identity_information {
  const char* why_not;   // why ULTs cannot have their own here; null: they can, as far as it has been tried
  bool by_instruction;   // the processor sets the thread pointer by an instruction; else a system call does, for more
  unsigned limit;        // as many ULTs can have one at a time: WEFT_IDENTITY_LIMIT
  unsigned in_use;       // by ULTs that have not been freed
  unsigned parked;       // ready for the next ULT
  uint64_t made;         // since the process began
} weft_identity_info_t;

// Context: any. Does not block. Errors: UNINITIALIZED, INVALID.
WEFT_API int weft_identity_info(weft_identity_info_t* info);

#ifdef __cplusplus
}
#endif

#endif
