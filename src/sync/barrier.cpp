// barrier.cpp: the barrier. The numbers are the steps of README.md, "Barrier".
#include <cstddef>

#include "sync/wait_queue.hpp"
#include "weft/weft.h"

namespace weft::rt {
namespace {

struct Barrier {
  std::atomic<uint32_t> state;  // any thread: kQueue
  // under kQueue
  uint32_t count;
  uint32_t arrived;
  uint32_t phase;
  WaitQueue waiters;
  // constant
  void (*complete)(void* arg);
  void* arg;
};
static_assert(sizeof(Barrier) == sizeof(weft_barrier_t) &&
              alignof(Barrier) == alignof(weft_barrier_t));
static_assert(offsetof(Barrier, state) == offsetof(weft_barrier_t, state));
static_assert(offsetof(Barrier, phase) == offsetof(weft_barrier_t, phase));
static_assert(offsetof(Barrier, waiters) == offsetof(weft_barrier_t, waiters));
static_assert(offsetof(Barrier, complete) == offsetof(weft_barrier_t, complete));

Barrier& barrier_of(weft_barrier_t* barrier) noexcept { return *reinterpret_cast<Barrier*>(barrier); }

// In a forked child those who had arrived are not counted: they do not go on.
void barrier_lock(Barrier& barrier) noexcept {
  queue_lock(barrier.state);
  if (barrier.waiters.forget_stale()) barrier.arrived = 0;
}
void barrier_unlock(Barrier& barrier) noexcept { barrier.state.store(0, std::memory_order_release); }

// Those whose units only one worker may run are one entry of the list: whoever ends the phase on another worker touches
// the first of them only, and gives them away by one push. False: the caller is the first.
[[gnu::noinline]] bool join_group(Barrier& barrier, Waiter& self) noexcept {
  constexpr unsigned kLooks = 4;  // entries of other workers cost a cache miss each
  Waiter* first = barrier.waiters.head;
  for (unsigned i = 0; i < kLooks && first != nullptr; ++i, first = first->next) {
    if (!first->stays || first->worker != self.worker) continue;
    self.group = first->group;
    first->group = &self;
    ++first->members;
    return true;
  }
  return false;
}

// B3. Precondition: the lock.
[[gnu::always_inline]] inline void enqueue(const Worker* worker, Barrier& barrier, Waiter& self) noexcept {
  if (self.unit != nullptr) note_whether_it_stays(worker, self);
  if (__builtin_expect(self.stays, 0) && join_group(barrier, self)) return;
  barrier.waiters.push_back(&self);
}

// B2. Precondition: the lock; all have arrived. The last access to the barrier: whoever passes may destroy it.
void end_phase(const GuardedSection& section, Barrier& barrier) noexcept {
  WakeList wakes;
  barrier.arrived = 0;
  ++barrier.phase;
  barrier.waiters.take_all(wakes);
  barrier_unlock(barrier);
  wakes.wake(section.worker);
}

// B1 for n participants, of whom `leaving` do not come again. Where they are the last ones the phase ends. INVALID:
// so many are not missing.
int arrive(Barrier& barrier, uint32_t n, uint32_t leaving, uint32_t* phase) noexcept {
  {
    GuardedSection section;
    barrier_lock(barrier);
    if (n == 0 || n > barrier.count - barrier.arrived) {
      barrier_unlock(barrier);
      return WEFT_ERR_INVALID;
    }
    if (phase != nullptr) *phase = barrier.phase;
    barrier.count -= leaving;
    barrier.arrived += n - leaving;
    if (barrier.arrived < barrier.count) {
      barrier_unlock(barrier);
      return WEFT_OK;
    }
    if (barrier.complete == nullptr) {
      end_phase(section, barrier);
      return WEFT_OK;
    }
    barrier_unlock(barrier);
  }
  barrier.complete(barrier.arg);  // nobody arrives meanwhile: all have
  GuardedSection section;
  barrier_lock(barrier);
  end_phase(section, barrier);
  return WEFT_OK;
}

// B3, of whoever has to wait. Precondition: the lock.
template <bool kFar>
[[gnu::always_inline]] inline int wait_in(Worker* worker, Barrier& barrier, bool* last) noexcept {
  GuardedSection section(worker);
  if (!section.can_wait()) {
    barrier_unlock(barrier);
    return WEFT_ERR_CONTEXT;
  }
  if (last != nullptr) *last = false;
  alignas(64) Waiter self;  // one line of each of many stacks
  section.init(self, WaitKind::kBarrier, &barrier);
  ++barrier.arrived;
  enqueue(section.worker, barrier, self);
  const QueueRelease release{&barrier.state, 0, true};
  kFar ? section.wait_far(self, release) : section.wait(self, release);
  return WEFT_OK;
}

[[gnu::noinline]] int wait_directly_in(Worker* worker, Barrier& barrier, bool* last, Unit* next) noexcept {
  if (last != nullptr) *last = false;
  alignas(64) Waiter self;
  waiter_init(worker, klt_current(), self, WaitKind::kBarrier, &barrier);
  ++barrier.arrived;
  enqueue(worker, barrier, self);
  return wait_directly(worker, next, self, {&barrier.state, 0, true});
}

[[gnu::noinline]] int wait_near(Worker* worker, Barrier& barrier, bool* last) noexcept { return wait_in<false>(worker, barrier, last); }
[[gnu::noinline]] WEFT_RETURNS_BY_JUMP int wait_far(Worker* worker, Barrier& barrier, bool* last) noexcept {
  return wait_in<true>(worker, barrier, last);
}

// B3. Arrives, and waits for the end of the phase, and says whether the caller came last, if that is asked; then
// nothing is waited for. INVALID: it was not initialised, or all have left it.
int wait_arriving(Barrier& barrier, bool* last) noexcept {
  {
    Worker* worker = section_enter();
    barrier_lock(barrier);
    if (barrier.arrived + 1 < barrier.count) {
      Unit* next;
      switch (how_it_leaves(worker, kNever, next)) {
        case Leaves::kDirectly: return wait_directly_in(worker, barrier, last, next);
        case Leaves::kFar: return wait_far(worker, barrier, last);
        default: return wait_near(worker, barrier, last);
      }
    }
    const GuardedSection section(worker);
    if (barrier.count == 0) {
      barrier_unlock(barrier);
      return WEFT_ERR_INVALID;
    }
    if (last != nullptr) *last = true;
    if (barrier.complete == nullptr) {
      end_phase(section, barrier);
      return WEFT_OK;
    }
    barrier_unlock(barrier);
  }
  return arrive(barrier, 1, 0, nullptr);
}

int wait_phase(Barrier& barrier, uint32_t phase) noexcept {
  GuardedSection section;
  barrier_lock(barrier);
  if (barrier.phase != phase || !section.can_wait()) {
    const int error = barrier.phase != phase ? WEFT_OK : WEFT_ERR_CONTEXT;
    barrier_unlock(barrier);
    return error;
  }
  alignas(64) Waiter self;
  section.init(self, WaitKind::kBarrier, &barrier);
  enqueue(section.worker, barrier, self);
  section.wait(self, {&barrier.state, 0, true});
  return WEFT_OK;
}

}  // namespace
}  // namespace weft::rt

using namespace weft::rt;

int weft_barrier_wait(weft_barrier_t* barrier, bool* last) {
  if (barrier == nullptr) return WEFT_ERR_INVALID;
  return wait_arriving(barrier_of(barrier), last);
}

int weft_barrier_arrive(weft_barrier_t* barrier, uint32_t n, uint32_t* phase) {
  if (barrier == nullptr) return WEFT_ERR_INVALID;
  return arrive(barrier_of(barrier), n, 0, phase);
}

int weft_barrier_wait_phase(weft_barrier_t* barrier, uint32_t phase) {
  if (barrier == nullptr) return WEFT_ERR_INVALID;
  return wait_phase(barrier_of(barrier), phase);
}

int weft_barrier_drop(weft_barrier_t* barrier) {
  if (barrier == nullptr) return WEFT_ERR_INVALID;
  return arrive(barrier_of(barrier), 1, 1, nullptr);
}
