// timers.cpp: deadlines. Steps as in README.md, "Deadlines".
#include "worker/timers.hpp"

#include <algorithm>

#include "klt/kernel_sleep.hpp"
#include "worker/runtime.hpp"
#include "worker/watch.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

// Not in the workers: a ULT that one has armed may outlive it.
constexpr unsigned kHeaps = 64;
struct alignas(64) Heap {
  TimerHeap heap;
};
constinit Heap heaps[kHeaps];

// So much too late may whoever sleeps wake for it: to wake another one takes as long.
constexpr uint64_t kWakeNs = 50'000;

// Two sleepers watch: one wakes at the earliest deadline, the other one at the next. Which worker each is, and when it
// will wake; it may wake for nothing.
struct Watch {
  SpinLock lock;
  struct Sleeper {
    Worker* worker = nullptr;
    std::atomic<uint64_t> until{kNever};
    void set(Worker* who, uint64_t when) noexcept {
      worker = who;
      until.store(when, std::memory_order_seq_cst);
    }
    uint64_t wakes() const noexcept { return until.load(std::memory_order_seq_cst); }
  } sleepers[2];  // under lock; `until` is looked at without

  // When the first of them wakes.
  uint64_t first() const noexcept { return std::min(sleepers[0].wakes(), sleepers[1].wakes()); }
  Sleeper& later() noexcept { return sleepers[sleepers[0].wakes() < sleepers[1].wakes() ? 1 : 0]; }
};
constinit Watch watch;

TimerHeap& heap_of(const Worker* worker) noexcept { return heaps[worker->index % kHeaps].heap; }

unsigned heaps_used() noexcept {
  return std::min(kHeaps, runtime.worker_slots.load(std::memory_order_acquire));
}

// Wakes some of those that are due.
bool fire_some(Worker* worker, TimerHeap& heap, uint64_t now) noexcept {
  constexpr unsigned kBatch = 64;  // for others to get the lock
  unsigned fired = 0;
  Unit* units[kBatch];
  unsigned count = 0;
  heap.pop_due(now, kBatch, [&](Timer* timer) {
    ++fired;
    Waiter* waiter = timer->waiter;
    Unit* unit = waiter->unit;
    uint32_t state = waiter->state.load(std::memory_order_relaxed);
    while (state != Waiter::kWoken) {
      // Acquire, pairs with park(): its context. Once it is not Parked, the frame may go.
      if (!waiter->state.compare_exchange_weak(state, Waiter::kTimedOut, std::memory_order_acq_rel)) continue;
      if (state == Waiter::kParked) units[count++] = unit;
      break;
    }
  });
  for (unsigned i = 0; i < count; ++i) {
    watch_unit(worker, units[i], UnitEvent::kResume);
    unit_transition(units[i], UnitState::kReady);
    make_ready(worker, units[i]);
  }
  return fired == kBatch;
}

void fire(Worker* worker, TimerHeap& heap, uint64_t now) noexcept {
  while (heap.earliest() <= now && fire_some(worker, heap, now)) {
  }
}

bool is_watched(uint64_t earliest) noexcept {
  const uint64_t first = watch.first();
  return first <= earliest || first - earliest <= kWakeNs;
}

struct Two {
  uint64_t first = kNever;
  uint64_t second = kNever;
  void add(uint64_t deadline) noexcept {
    second = std::min(second, std::max(first, deadline));
    first = std::min(first, deadline);
  }
};

// The two earliest deadlines of all.
Two two_earliest() noexcept {
  Two two;
  const unsigned used = heaps_used();
  for (unsigned i = 0; i < used; ++i) {
    TimerHeap& heap = heaps[i].heap;
    const uint64_t earliest = heap.earliest();
    if (earliest >= two.second) continue;
    two.add(earliest);
    two.add(heap.second());
  }
  return two;
}

}  // namespace

void timer_arm(Worker* worker, Timer& timer, Waiter& waiter, uint64_t deadline) noexcept {
  timer.deadline = deadline;
  timer.waiter = &waiter;
  if (!heap_of(worker).insert(&timer)) return;
  const uint32_t tells = worker->lane.tells.load(std::memory_order_relaxed);
  if ((tells & tell_to::kPreempt) != 0) preempt_deadline(worker);
  if ((tells & tell_to::kBlock) != 0) block_deadline(worker);
  // Should this worker go on to run something, somebody else has to keep an eye on the deadline.
  Klt* self = klt_self();
  if (runtime.sleepers.load(std::memory_order_seq_cst) > 0 && !is_watched(deadline) &&
      (self->attention.load(std::memory_order_relaxed) & attention::kTimer) == 0) {
    self->attention.fetch_or(attention::kTimer, std::memory_order_relaxed);
  }
}

bool timer_disarm(Timer& timer) noexcept { return timer.heap != nullptr && timer.heap->remove(&timer); }

uint64_t timers_earliest_of(const Worker* worker) noexcept { return heap_of(worker).earliest(); }
uint64_t timers_earliest_of(unsigned worker_index) noexcept { return heaps[worker_index % kHeaps].heap.earliest(); }

uint64_t timers_earliest() noexcept {
  uint64_t earliest = kNever;
  const unsigned used = heaps_used();
  for (unsigned i = 0; i < used; ++i) earliest = std::min(earliest, heaps[i].heap.earliest());
  return earliest;
}

bool timers_pending() noexcept { return timers_earliest() != kNever; }

void timers_poll(Worker* worker) noexcept {
  TimerHeap& own = heap_of(worker);
  TimerHeap& other = heaps[worker->timer_turn++ % heaps_used()].heap;
  if (own.earliest() == kNever && other.earliest() == kNever) return;
  const uint64_t now = now_ns();
  fire(worker, own, now);
  fire(worker, other, now);
}

void timers_poll_all(Worker* worker, uint64_t now) noexcept {
  const unsigned used = heaps_used();
  for (unsigned i = 0; i < used; ++i) fire(worker, heaps[i].heap, now);
}

void timers_news(Worker* worker) noexcept {
  klt_self()->attention.fetch_and(~attention::kTimer, std::memory_order_relaxed);
  const uint64_t earliest = timers_earliest();
  if (earliest == kNever || runtime.sleepers.load(std::memory_order_seq_cst) <= 0) return;
  if (!is_watched(earliest)) wake_any_sleeper(worker);
}

void timers_forget() noexcept {
  for (Heap& heap : heaps) heap.heap.forget_all();
  for (Watch::Sleeper& sleeper : watch.sleepers) sleeper.set(nullptr, kNever);
}

void timers_release() noexcept {
  for (Heap& heap : heaps) heap.heap.release();
}

uint64_t timers_unwatched() noexcept {
  const uint64_t earliest = timers_earliest();
  return watch.first() <= earliest ? kNever : earliest;
}

uint64_t timers_watch(Worker* worker) noexcept {
  Two two{timers_earliest(), kNever};
  if (two.first == kNever) return kNever;
  // All heaps, one after the other: not under the lock.
  const bool watched = watch.first() <= two.first;
  if (watched) two = two_earliest();
  uint64_t until = kNever;
  watch.lock.lock();
  if (!watched && two.first >= watch.first()) two = two_earliest();  // somebody has been faster: the second is to be watched
  if (two.first < watch.first()) {
    until = two.first;
  } else if (two.second < watch.later().wakes()) {
    until = two.second;
  }
  // Whoever was to wake later than both still does so, and finds nothing to do.
  if (until != kNever) watch.later().set(worker, until);
  watch.lock.unlock();
  return until;
}

void timers_unwatch(Worker* worker) noexcept {
  watch.lock.lock();
  for (Watch::Sleeper& sleeper : watch.sleepers) {
    if (sleeper.worker == worker) sleeper.set(nullptr, kNever);
  }
  watch.lock.unlock();
}

}  // namespace weft::rt
