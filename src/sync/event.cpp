// event.cpp: the event. The numbers are the steps of README.md, "Event".
#include <cstddef>

#include "sync/wait_queue.hpp"
#include "weft/weft.h"

namespace weft::rt {
namespace {

struct Event {
  std::atomic<uint32_t> state;  // any thread: kSet, kWaiters, kQueue; never kSet with kWaiters
  uint32_t unused;
  WaitQueue waiters;  // under kQueue
  void* unused_pointer;
};
static_assert(sizeof(Event) == sizeof(weft_event_t) && alignof(Event) == alignof(weft_event_t));
static_assert(offsetof(Event, state) == offsetof(weft_event_t, state));
static_assert(offsetof(Event, waiters) == offsetof(weft_event_t, waiters));

using namespace sync_bit;

Event& event_of(weft_event_t* event) noexcept { return *reinterpret_cast<Event*>(event); }

// W1. Acquire, pairs with the release of whoever set it.
bool event_passes(const Event& event) noexcept {
  return (event.state.load(std::memory_order_acquire) & kSet) != 0;
}

// W2. False: it has been set, the caller passes. True: the waiter is in the list.
bool event_queue(Event& event, Waiter& waiter) noexcept {
  QueueBackoff backoff;
  uint32_t seen = event.state.load(std::memory_order_acquire);
  for (;;) {
    if ((seen & kSet) != 0) return false;
    if ((seen & kQueue) != 0) {
      backoff.pause();
      seen = event.state.load(std::memory_order_acquire);
    } else if (event.state.compare_exchange_weak(seen, seen | kQueue | kWaiters,
                                                 std::memory_order_acquire)) {
      break;
    }
  }
  event.waiters.push_back(&waiter);
  queue_unlock(event.state);
  return true;
}

// S1. True: set, and nobody waited. False: somebody waits. A compare-exchange also where it is set
// already: what the caller did before must be seen by whoever passes later.
bool event_set_unwaited(Event& event) noexcept {
  uint32_t seen = event.state.load(std::memory_order_relaxed);
  while ((seen & (kWaiters | kQueue)) == 0) {
    if (event.state.compare_exchange_weak(seen, kSet, std::memory_order_acq_rel,
                                          std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

}  // namespace
}  // namespace weft::rt

using namespace weft::rt;

int weft_event_wait(weft_event_t* event) {
  if (event == nullptr) return WEFT_ERR_INVALID;
  if (event_passes(event_of(event))) return WEFT_OK;
  GuardedSection section;
  if (!section.can_wait()) return WEFT_ERR_CONTEXT;
  Waiter self;
  waiter_init(section.worker, self);
  if (event_queue(event_of(event), self)) section.wait(self);
  return WEFT_OK;
}

int weft_event_set(weft_event_t* event) {
  if (event == nullptr) return WEFT_ERR_INVALID;
  Event& e = event_of(event);
  if (event_set_unwaited(e)) return WEFT_OK;
  GuardedSection section;
  queue_lock(e.state);  // S2
  Waiter* all = e.waiters.take();
  // S3. The last access to the event: whoever passes now may destroy it.
  e.state.store(kSet, std::memory_order_release);
  wake_all(section.worker, all);
  return WEFT_OK;
}

int weft_event_reset(weft_event_t* event) {
  if (event == nullptr) return WEFT_ERR_INVALID;
  event_of(event).state.fetch_and(~kSet, std::memory_order_acq_rel);
  return WEFT_OK;
}

bool weft_event_is_set(const weft_event_t* event) {
  return event != nullptr && event_passes(event_of(const_cast<weft_event_t*>(event)));
}
