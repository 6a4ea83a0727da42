// barrier.cpp: the barrier. The numbers are the steps of README.md, "Barrier".
#include <cstddef>

#include "sync/wait_queue.hpp"
#include "weft/weft.h"

namespace weft::rt {
namespace {

struct Barrier {
  std::atomic<uint32_t> state;  // any thread: kQueue
  uint32_t count;               // constant
  uint32_t arrived;             // under kQueue
  uint32_t unused;
  WaitQueue waiters;  // under kQueue; `arrived` of them
  void* unused_pointer;
};
static_assert(sizeof(Barrier) == sizeof(weft_barrier_t) &&
              alignof(Barrier) == alignof(weft_barrier_t));
static_assert(offsetof(Barrier, state) == offsetof(weft_barrier_t, state));
static_assert(offsetof(Barrier, count) == offsetof(weft_barrier_t, count));
static_assert(offsetof(Barrier, arrived) == offsetof(weft_barrier_t, arrived));
static_assert(offsetof(Barrier, waiters) == offsetof(weft_barrier_t, waiters));

int barrier_wait(Barrier& barrier, bool& last) noexcept {
  GuardedSection section;
  queue_lock(barrier.state);  // B1
  last = barrier.arrived + 1 >= barrier.count;
  if (last) {  // B2
    barrier.arrived = 0;
    Waiter* all = barrier.waiters.take();
    queue_unlock(barrier.state);
    wake_all(section.worker, all);
    return WEFT_OK;
  }
  if (!section.can_wait()) {
    queue_unlock(barrier.state);
    return WEFT_ERR_CONTEXT;
  }
  Waiter self;  // B3
  waiter_init(section.worker, self);
  ++barrier.arrived;
  barrier.waiters.push_back(&self);
  queue_unlock(barrier.state);
  section.wait(self);
  return WEFT_OK;
}

}  // namespace
}  // namespace weft::rt

int weft_barrier_wait(weft_barrier_t* barrier, bool* last) {
  if (barrier == nullptr || barrier->count == 0) return WEFT_ERR_INVALID;
  bool was_last = false;
  const int error =
      weft::rt::barrier_wait(*reinterpret_cast<weft::rt::Barrier*>(barrier), was_last);
  if (error == WEFT_OK && last != nullptr) *last = was_last;
  return error;
}
