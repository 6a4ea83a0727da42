// eventual.cpp: ABT_eventual.
#include "eventual.hpp"

#include <cstdlib>

namespace weft::abt {
namespace {

int wait_until(ABT_eventual handle, void** value, uint64_t deadline) noexcept {
  if (is_null(handle)) return ABT_ERR_INV_EVENTUAL;
  if (is_refused()) return ABT_ERR_EVENTUAL;
  Eventual& eventual = eventual_of(handle);
  note_place(eventual.event.pad, &eventual, handle);
  if (deadline == WEFT_NEVER && in_ult()) {
    if (value != nullptr) *value = eventual_room(handle);
    return weft_event_wait(&eventual.event);
  }
  const int error = wait_anywhere([&] { return weft_event_wait_until(&eventual.event, deadline); });
  if (error == WEFT_ERR_TIMEOUT) return ABT_ERR_COND_TIMEDOUT;
  if (value != nullptr) *value = eventual_room(handle);
  return ABT_SUCCESS;
}

}  // namespace
}  // namespace weft::abt

using namespace weft::abt;

int ABT_eventual_create(int nbytes, ABT_eventual* neweventual) {
  if (nbytes < 0) return fail(neweventual, ABT_EVENTUAL_NULL, ABT_ERR_INV_ARG);
  const auto size = static_cast<size_t>(nbytes);
  void* memory = std::calloc(1, kMemory + size);
  if (memory == nullptr) return fail(neweventual, ABT_EVENTUAL_NULL, ABT_ERR_MEM);
  *neweventual = ABT_EVENTUAL_MEMORY_GET_HANDLE(memory);
  eventual_of(*neweventual).size = size;
  return ABT_SUCCESS;
}

// Whoever sets it may be inside still: the reset waits for that, and so does a program that resets one after a wait
// and leaves the frame that it stands in.
int ABT_eventual_free(ABT_eventual* eventual) {
  if (holds_null(eventual)) return ABT_ERR_INV_EVENTUAL;
  weft_event_reset(&eventual_of(*eventual).event);
  std::free(*eventual);
  *eventual = ABT_EVENTUAL_NULL;
  return ABT_SUCCESS;
}

int ABT_eventual_wait(ABT_eventual eventual, void** value) { return wait_until(eventual, value, WEFT_NEVER); }

int ABT_eventual_timedwait(ABT_eventual eventual, void** value, const struct timespec* abstime) {
  return wait_until(eventual, value, deadline_of(*abstime));
}

int ABT_eventual_test(ABT_eventual eventual, void** value, ABT_bool* is_ready) {
  if (is_null(eventual)) return ABT_ERR_INV_EVENTUAL;
  const bool ready = weft_event_is_set(&eventual_of(eventual).event);
  if (ready && value != nullptr) *value = eventual_room(eventual);
  *is_ready = ready;
  return ABT_SUCCESS;
}

int ABT_eventual_set(ABT_eventual eventual, void* value, int nbytes) {
  if (is_null(eventual)) return ABT_ERR_INV_EVENTUAL;
  if (nbytes < 0) return ABT_ERR_INV_ARG;
  Eventual& target = eventual_of(eventual);
  auto size = static_cast<size_t>(nbytes);
  if (size > target.size) return kVersion20 ? ABT_ERR_INV_ARG : ABT_ERR_INV_EVENTUAL;
  if (value == nullptr) size = 0;
  const int error = weft_event_set_copy(&target.event, eventual_room(eventual), value, size);
  return error == WEFT_OK ? ABT_SUCCESS : ABT_ERR_EVENTUAL;
}

int ABT_eventual_reset(ABT_eventual eventual) {
  if (is_null(eventual)) return ABT_ERR_INV_EVENTUAL;
  weft_event_reset(&eventual_of(eventual).event);
  return ABT_SUCCESS;
}
