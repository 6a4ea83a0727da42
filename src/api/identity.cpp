// identity.cpp: weft/identity.h.
#include "weft/identity.h"

#include "klt/guard.hpp"
#include "worker/identity.hpp"
#include "worker/runtime.hpp"

using namespace weft::rt;

extern "C" int weft_identity_info(weft_identity_info_t* info) {
  if (info == nullptr) return WEFT_ERR_INVALID;
  if (!runtime_running()) return WEFT_ERR_UNINITIALIZED;
  Worker* worker = section_enter();
  const IdentityCounts counts = identity_counts();
  *info = {identity_unsupported(), thread_pointer_by_instruction, counts.most, counts.lent, counts.parked, counts.made};
  section_leave(worker);
  return WEFT_OK;
}
