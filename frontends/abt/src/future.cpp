// future.cpp: ABT_future.
#include <cstdlib>

#include "wait.hpp"

namespace weft::abt {
namespace {

weft_future_t* future_of(ABT_future handle) noexcept { return reinterpret_cast<weft_future_t*>(handle); }

// Waits for whoever is inside: the one that has set the last part calls the callback, and then lets others pass.
void reset(weft_future_t* future) noexcept {
  while (weft_future_reset(future) != WEFT_OK) {
    wait_anywhere([future] { return weft_future_wait(future); });
  }
}

void call_back(void** values, void* function) { reinterpret_cast<void (*)(void**)>(function)(values); }

}  // namespace
}  // namespace weft::abt

using namespace weft::abt;

int ABT_future_create(uint32_t num_compartments, void (*cb_func)(void** arg), ABT_future* newfuture) {
  void* memory = std::calloc(1, sizeof(weft_future_t) + num_compartments * sizeof(void*));
  if (memory == nullptr) return fail(newfuture, ABT_FUTURE_NULL, ABT_ERR_MEM);
  auto* values = reinterpret_cast<void**>(static_cast<weft_future_t*>(memory) + 1);
  new (memory) weft_future_t WEFT_FUTURE_INIT(num_compartments, values, cb_func != nullptr ? call_back : nullptr,
                                              reinterpret_cast<void*>(cb_func));
  *newfuture = static_cast<ABT_future>(memory);
  return ABT_SUCCESS;
}

int ABT_future_free(ABT_future* future) {
  if (holds_null(future)) return ABT_ERR_INV_FUTURE;
  reset(future_of(*future));
  std::free(*future);
  *future = ABT_FUTURE_NULL;
  return ABT_SUCCESS;
}

int ABT_future_wait(ABT_future future) {
  if (is_null(future)) return ABT_ERR_INV_FUTURE;
  if (is_refused()) return ABT_ERR_FUTURE;
  if (in_ult()) return weft_future_wait(future_of(future));
  wait_anywhere([&] { return weft_future_wait(future_of(future)); });
  return ABT_SUCCESS;
}

int ABT_future_test(ABT_future future, ABT_bool* is_ready) {
  if (is_null(future)) return ABT_ERR_INV_FUTURE;
  *is_ready = weft_future_is_ready(future_of(future));
  return ABT_SUCCESS;
}

int ABT_future_set(ABT_future future, void* value) {
  if (is_null(future)) return ABT_ERR_INV_FUTURE;
  return weft_future_set(future_of(future), value) == WEFT_OK ? ABT_SUCCESS : ABT_ERR_FUTURE;
}

int ABT_future_reset(ABT_future future) {
  if (is_null(future)) return ABT_ERR_INV_FUTURE;
  reset(future_of(future));
  return ABT_SUCCESS;
}
