// cond.cpp: the condition variable. The numbers are the steps of README.md, "Condition variable".
//
// Rejected: moving waiters over to the mutex's list on a broadcast. The signaller would touch a
// mutex that need not exist any more when it does not hold it.
#include <cstddef>

#include "sync/bias.hpp"
#include "sync/list_lock.hpp"
#include "worker/direct.hpp"

namespace weft::rt {
namespace {

struct Cond {
  std::atomic<uint32_t> state;  // any thread: kWaiters, kQueue; or a worker's tag and nothing else: list_lock.hpp
  // under the list's lock
  std::atomic<uint32_t> uses;
  WaitQueue waiters;
};
static_assert(sizeof(Cond) == sizeof(weft_cond_t) && alignof(Cond) == alignof(weft_cond_t));
static_assert(offsetof(Cond, state) == offsetof(weft_cond_t, state));
static_assert(offsetof(Cond, waiters) == offsetof(weft_cond_t, waiters));

using namespace sync_bit;

Cond& cond_of(weft_cond_t* cond) noexcept { return *reinterpret_cast<Cond*>(cond); }

ListHold cond_lock(const GuardedSection& section, Cond& cond) noexcept {
  const ListHold hold = list_lock(section.worker, cond.state, cond.uses, kWaiters);
  cond.waiters.forget_stale();
  return hold;
}

// What is left for the front-end. In the list's lock. 0: nothing.
[[gnu::always_inline]] inline void leave_mark(Cond& cond, uint32_t mark) noexcept {
  if (mark == 0) return;
  const uint32_t uses = cond.uses.load(std::memory_order_relaxed);
  const uint32_t wanted = (uses & ~kUsesFront) | mark << kUsesFrontShift;
  if (__builtin_expect(uses != wanted, 0)) cond.uses.store(wanted, std::memory_order_relaxed);
}

// The deadline came.
bool take_out(const GuardedSection& section, Cond& cond, Waiter& waiter) noexcept {
  const ListHold hold = cond_lock(section, cond);
  const bool queued = cond.waiters.remove_if_queued(&waiter);
  hold.unlock(cond.waiters.empty());
  return queued;
}

// S1. Where the list is a worker's, that one has to look into it. Relaxed: who waits because of a state that the caller
// has changed under the mutex has set kWaiters before it released that mutex.
bool cond_may_have_waiters(const Cond& cond) noexcept { return cond.state.load(std::memory_order_relaxed) != 0; }

// S2, S3. Takes one waiter, or all, off the list; giving the lock back is the last access to the condition
// variable.
void cond_wake(Cond& cond, bool all) noexcept {
  GuardedSection section;
  WakeList wakes;
  const ListHold hold = cond_lock(section, cond);
  if (all) {
    cond.waiters.take_all(wakes);
  } else if (Waiter* waiter = cond.waiters.pop_front()) {
    wakes.add(waiter);
  }
  hold.unlock(cond.waiters.empty());
  wakes.wake(section.worker);
}

// W2 to W4.
template <bool kFar>
[[gnu::always_inline]] inline bool cond_wait(GuardedSection& section, Cond& cond, Mutex& mutex, uint64_t deadline, uint32_t mark = 0) noexcept {
  Waiter self;
  section.init(self, WaitKind::kCond, &cond, deadline);
  WakeList next_holder;
  const ListHold hold = cond_lock(section, cond);
  leave_mark(cond, mark);
  cond.waiters.push_back(&self);
  const int error = mutex_give_in(section.worker, mutex, next_holder);
  WEFT_CHECK(error == WEFT_OK);  // somebody else has unlocked the caller's mutex
  const QueueRelease release{hold.word, hold.waiters, true, &next_holder};
  if constexpr (kFar) {
    section.wait_far(self, release);
    return true;
  }
  return section.wait_until(self, release, deadline, [&] { return take_out(section, cond, self); });
}

[[gnu::noinline]] int cond_wait_near(Worker* worker, Cond& cond, Mutex& mutex, uint64_t deadline) noexcept {
  GuardedSection section(worker);
  if (!section.can_wait()) return WEFT_ERR_CONTEXT;
  const bool woken = cond_wait<false>(section, cond, mutex, deadline);
  const int error = mutex_lock_in(section, mutex);  // W5
  return error != WEFT_OK || woken ? error : WEFT_ERR_TIMEOUT;
}

[[gnu::noinline]] WEFT_RETURNS_BY_JUMP int cond_wait_far(Worker* worker, Cond& cond, Mutex& mutex) noexcept {
  GuardedSection section(worker);
  cond_wait<true>(section, cond, mutex, kNever);
  return mutex_lock_in(section, mutex);
}

int cond_wait_checked(Cond& cond, Mutex& mutex, uint64_t deadline) noexcept {
  Worker* worker = section_enter();
  return leaves_far(worker, deadline) ? cond_wait_far(worker, cond, mutex) : cond_wait_near(worker, cond, mutex, deadline);
}

// The same without a wait for the mutex.
[[gnu::noinline]] int cond_wait_leaving_near(Worker* worker, Cond& cond, Mutex& mutex, uint64_t deadline, uint32_t mark, bool& locked) noexcept {
  GuardedSection section(worker);
  if (!section.can_wait()) return WEFT_ERR_CONTEXT;
  const bool woken = cond_wait<false>(section, cond, mutex, deadline, mark);
  locked = mutex_trylock_in(section, mutex);
  return woken ? WEFT_OK : WEFT_ERR_TIMEOUT;
}

[[gnu::noinline]] WEFT_RETURNS_BY_JUMP int cond_wait_leaving_far(Worker* worker, Cond& cond, Mutex& mutex, uint32_t mark, bool& locked) noexcept {
  GuardedSection section(worker);
  cond_wait<true>(section, cond, mutex, kNever, mark);
  locked = mutex_trylock_in(section, mutex);
  return WEFT_OK;
}

// Most ULTs that wait for each other belong to one worker, which then has the list to itself, the mutex too, and they wake and wait
// for one of its ring. For them the same steps without anything else. Both: false: nothing has happened. Guard up.

[[gnu::always_inline]] inline bool is_own(const Worker* worker, const Cond& cond) noexcept {
  if (!list_lock_own(worker, cond.state)) return false;
  if (cond.waiters.generation == process_generation) return true;
  list_unlock_own(worker);
  return false;
}

// S2, S3.
[[gnu::always_inline]] inline bool signal_here(Worker* worker, Cond& cond) noexcept {
  if (!is_own(worker, cond)) return false;
  Waiter* waiter = cond.waiters.head;
  const bool wakes = waiter != nullptr && wakes_into_ring(worker, *waiter);
  if (wakes) cond.waiters.remove(waiter);
  list_unlock_own(worker);
  if (wakes) wake_into_ring(worker, *waiter);
  return wakes || waiter == nullptr;
}

// W2 to W4; the worker may be another one afterwards. Precondition: the caller holds the mutex.
[[gnu::always_inline]] inline bool wait_here(Worker*& worker, Cond& cond, Mutex& mutex, uint32_t mark = 0) noexcept {
  Unit* unit = klt_current();
  if (unit == nullptr || unit_is(unit, flag::kInPlace) || mutex.state.load(std::memory_order_relaxed) != worker->tag) return false;
  if (!is_own(worker, cond)) return false;
  // Before the mutex is given back: then nothing but the context is left to do.
  Unit* next = take_direct_successor(worker, unit);
  if (next == nullptr) {
    list_unlock_own(worker);
    return false;
  }
  leave_mark(cond, mark);
  Waiter self;
  waiter_init(worker, unit, self, WaitKind::kCond, &cond);
  cond.waiters.push_back(&self);
  WakeList next_holder;
  if (__builtin_expect(!unlock_biased(worker, mutex, worker->tag), 0)) {
    WEFT_CHECK(mutex_give_in(worker, mutex, next_holder) == WEFT_OK);  // somebody else has just come
  }
  block(worker, unit, self);
  next_holder.wake(worker);
  switch_directly_and_release(worker, unit, next, &worker->marks->changing, 0, false);
  worker = guard_worker();
  return true;
}

}  // namespace

int cond_wait_leaving(weft_cond_t* cond, weft_mutex_t* mutex, uint64_t deadline, uint32_t mark, bool& locked) noexcept {
  Mutex& m = mutex_of(mutex);
  if (!mutex_is_locked(m)) return WEFT_ERR_NOT_OWNER;  // W1
  if (deadline == kNever && klt_register_valid()) {
    if (Worker* worker = guard_try_enter(); worker != nullptr) {
      const bool woken = wait_here(worker, cond_of(cond), m, mark);
      if (woken) locked = lock_biased(worker, m, m.state.load(std::memory_order_relaxed));
      guard_leave(worker);
      if (woken) return WEFT_OK;
    }
  }
  Worker* worker = section_enter();
  return leaves_far(worker, deadline) ? cond_wait_leaving_far(worker, cond_of(cond), m, mark, locked)
                                      : cond_wait_leaving_near(worker, cond_of(cond), m, deadline, mark, locked);
}

bool cond_has_waiters(weft_cond_t* handle) noexcept {
  Cond& cond = cond_of(handle);
  if (!cond_may_have_waiters(cond)) return false;
  const GuardedSection section;
  const ListHold hold = cond_lock(section, cond);
  const bool some = !cond.waiters.empty();
  hold.unlock(!some);
  return some;
}

uint32_t cond_front(const weft_cond_t* cond) noexcept {
  const auto& uses = reinterpret_cast<const Cond*>(cond)->uses;
  return (uses.load(std::memory_order_relaxed) & kUsesFront) >> kUsesFrontShift;
}

}  // namespace weft::rt

using namespace weft::rt;

int weft_cond_wait(weft_cond_t* cond, weft_mutex_t* mutex) {
  if (cond == nullptr || mutex == nullptr) return WEFT_ERR_INVALID;
  Mutex& m = mutex_of(mutex);
  if (!mutex_is_locked(m)) return WEFT_ERR_NOT_OWNER;  // W1
  const auto any = [mutex](Cond& c) { return cond_wait_checked(c, mutex_of(mutex), kNever); };
  if (!klt_register_valid()) return any(cond_of(cond));
  Worker* worker = guard_try_enter();
  if (__builtin_expect(worker == nullptr || !wait_here(worker, cond_of(cond), m), 0)) return leave_and(worker, cond_of(cond), any);
  if (__builtin_expect(lock_biased(worker, m, m.state.load(std::memory_order_relaxed)), 1)) return guard_leave_ok(worker);  // W5
  return leave_and(worker, m, [mutex](Mutex&) { return weft_mutex_lock(mutex); });
}

int weft_cond_wait_until(weft_cond_t* cond, weft_mutex_t* mutex, uint64_t deadline) {
  if (cond == nullptr || mutex == nullptr) return WEFT_ERR_INVALID;
  if (!mutex_is_locked(mutex_of(mutex))) return WEFT_ERR_NOT_OWNER;  // W1
  return cond_wait_checked(cond_of(cond), mutex_of(mutex), deadline);
}

int weft_cond_signal(weft_cond_t* cond) {
  if (cond == nullptr) return WEFT_ERR_INVALID;
  Cond& c = cond_of(cond);
  if (!cond_may_have_waiters(c)) return WEFT_OK;
  const auto any = [](Cond& object) {
    cond_wake(object, false);
    return static_cast<int>(WEFT_OK);
  };
  if (!klt_register_valid()) return any(c);
  Worker* worker = guard_try_enter();
  if (__builtin_expect(worker != nullptr && signal_here(worker, c), 1)) return guard_leave_ok(worker);
  return leave_and(worker, c, any);
}

int weft_cond_broadcast(weft_cond_t* cond) {
  if (cond == nullptr) return WEFT_ERR_INVALID;
  if (cond_may_have_waiters(cond_of(cond))) cond_wake(cond_of(cond), true);
  return WEFT_OK;
}
