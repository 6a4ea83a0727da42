// barrier.cpp: ABT_barrier, and ABT_xstream_barrier, where the whole ES waits.
#include <atomic>

#include "wait.hpp"

namespace weft::abt {
namespace {

template <class Handle>
weft_barrier_t* barrier_of(Handle handle) noexcept {
  return reinterpret_cast<weft_barrier_t*>(handle);
}

template <class Handle>
int make_barrier(uint32_t participants, Handle* out, Handle null) noexcept {
  if (participants == 0) return fail(out, null, ABT_ERR_INV_ARG);
  return make(out, null, weft_barrier_t WEFT_BARRIER_INIT(participants));
}

// The next round may have begun: a moment's look.
bool somebody_waits(weft_barrier_t* barrier) noexcept {
  return std::atomic_ref(barrier->arrived).load(std::memory_order_relaxed) != 0;
}

template <class Handle>
int free_barrier(Handle* barrier, Handle null, int null_error, int waited_for) noexcept {
  if (holds_null(barrier)) return null_error;
  if (somebody_waits(barrier_of(*barrier))) return waited_for;
  delete barrier_of(*barrier);
  *barrier = null;
  return ABT_SUCCESS;
}

}  // namespace
}  // namespace weft::abt

using namespace weft::abt;

int ABT_barrier_create(uint32_t num_waiters, ABT_barrier* newbarrier) {
  return make_barrier(num_waiters, newbarrier, ABT_BARRIER_NULL);
}

int ABT_barrier_reinit(ABT_barrier barrier, uint32_t num_waiters) {
  if (is_null(barrier)) return ABT_ERR_INV_BARRIER;
  if (num_waiters == 0) return ABT_ERR_INV_ARG;
  if (somebody_waits(barrier_of(barrier))) return ABT_ERR_BARRIER;
  barrier_of(barrier)->count = num_waiters;
  return ABT_SUCCESS;
}

int ABT_barrier_free(ABT_barrier* barrier) {
  return free_barrier(barrier, ABT_BARRIER_NULL, ABT_ERR_INV_BARRIER, ABT_ERR_BARRIER);
}

int ABT_barrier_wait(ABT_barrier barrier) {
  if (is_null(barrier)) return ABT_ERR_INV_BARRIER;
  if (in_ult()) return weft_barrier_wait(barrier_of(barrier), nullptr);
  if (is_refused()) return ABT_ERR_BARRIER;
  const int error = wait_anywhere([&] { return weft_barrier_wait(barrier_of(barrier), nullptr); });
  return error == WEFT_OK ? ABT_SUCCESS : ABT_ERR_BARRIER;
}

int ABT_barrier_get_num_waiters(ABT_barrier barrier, uint32_t* num_waiters) {
  if (is_null(barrier)) return ABT_ERR_INV_BARRIER;
  *num_waiters = barrier_of(barrier)->count;
  return ABT_SUCCESS;
}

int ABT_xstream_barrier_create(uint32_t num_waiters, ABT_xstream_barrier* newbarrier) {
  return make_barrier(num_waiters, newbarrier, ABT_XSTREAM_BARRIER_NULL);
}

int ABT_xstream_barrier_free(ABT_xstream_barrier* barrier) {
  return free_barrier(barrier, ABT_XSTREAM_BARRIER_NULL, ABT_ERR_INV_XSTREAM_BARRIER, ABT_ERR_XSTREAM_BARRIER);
}

int ABT_xstream_barrier_wait(ABT_xstream_barrier barrier) {
  if (is_null(barrier)) return ABT_ERR_INV_XSTREAM_BARRIER;
  const HoldsStream holds(!weft::front::workers_are_taken());
  const int error = wait_anywhere([&] { return weft_barrier_wait(barrier_of(barrier), nullptr); });
  return error == WEFT_OK ? ABT_SUCCESS : ABT_ERR_XSTREAM_BARRIER;
}
