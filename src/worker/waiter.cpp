#include "worker/waiter.hpp"

#include <new>

#include "klt/process_gate.hpp"
#include "os/clock.hpp"
#include "os/futex.hpp"
#include "pool/list_pool.hpp"
#include "worker/direct.hpp"
#include "worker/watch.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

// The unit's context is complete, but it was woken meanwhile.
void go_on(Worker* worker, Unit* unit) noexcept {
  watch_unit(worker, unit, UnitEvent::kResume);
  unit_transition(unit, UnitState::kReady);
  push_ready_private(worker, unit);
}

// True: from here on the unit is the waker's.
bool park(Waiter& waiter) noexcept {
  uint32_t expected = Waiter::kWaiting;
  // Release, pairs with the acquire of whoever changes it next: that one sees the whole context. Acquire on
  // failure: we see what the waker did.
  return waiter.state.compare_exchange_strong(expected, Waiter::kParked, std::memory_order_acq_rel);
}

// Both on the scheduler's side.
void park_action(Worker* worker, Unit* unit, void* arg) {
  auto& waiter = *static_cast<Waiter*>(arg);
  block(worker, unit, waiter);
  if (!park(waiter)) go_on(worker, unit);
}

struct LockedWait {
  Waiter* waiter;
  QueueRelease release;
};

void park_locked_action(Worker* worker, Unit* unit, void* arg) {
  const LockedWait wait = *static_cast<LockedWait*>(arg);  // in the unit's frame
  block(worker, unit, *wait.waiter);
  const bool parked = !wait.waiter->contended || park(*wait.waiter);
  wait.release(worker);
  if (!parked) go_on(worker, unit);
}

bool nobody(const WakeList* wakes) noexcept { return wakes == nullptr || wakes->empty(); }

bool sleep_till(Waiter& waiter, uint64_t deadline) noexcept {
  // Acquire, pairs with the exchange of whoever wakes us.
  while (waiter.state.load(std::memory_order_acquire) != Waiter::kWoken) {
    if (deadline == kNever) {
      futex_wait(waiter.state, Waiter::kWaiting);
    } else if (now_ns() < deadline) {
      futex_wait_until(waiter.state, Waiter::kWaiting, deadline);
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

[[gnu::noinline]] uint64_t look_at_wait_clock(WaitClock& clock, uint64_t turn) noexcept {
  const uint64_t now = coarse_now_ns();
  if (clock.turn != turn) {
    clock.turn = turn;
    clock.steady = now == clock.time;
  }
  clock.time = now;
  return now;
}

// Outside, as far as a thread that forks is concerned.
[[gnu::noinline]] bool waiter_sleep(Worker* worker, Waiter& waiter, uint64_t deadline) noexcept {
  if (worker == nullptr) {
    gate_leave();
    const bool woken = sleep_till(waiter, deadline);
    gate_enter();
    return woken;
  }
  Klt* const self = klt_self();
  rest_begin(self);
  const bool woken = sleep_till(waiter, deadline);
  rest_end(self);
  return woken;
}

namespace {

template <bool kByJump>
[[gnu::always_inline]] inline Worker* wait_locked(Worker* worker, Waiter& waiter, const QueueRelease& release) noexcept {
  Unit* unit = waiter.unit;
  if (unit == nullptr) {
    release(worker);
    waiter_sleep(worker, waiter, kNever);
    return worker;
  }
  if (!waiter.contended && nobody(release.wakes)) {
    if (Unit* next = take_direct_successor(worker, unit)) {
      block(worker, unit, waiter);
      switch_directly_and_release(worker, unit, next, release.word, release.value, !release.whole);
      return guard_worker();
    }
  }
  if (!waiter.stays) note_whether_it_stays(worker, waiter);
  LockedWait wait{&waiter, release};
  worker = kByJump ? leave_unit_far(worker, unit, park_locked_action, &wait) : leave_unit(worker, unit, park_locked_action, &wait);
  mark_if_direct(unit);
  return worker;
}

}  // namespace

Worker* waiter_wait_locked(Worker* worker, Waiter& waiter, const QueueRelease& release) noexcept {
  return wait_locked<false>(worker, waiter, release);
}

WEFT_RETURNS_BY_JUMP Worker* waiter_wait_elsewhere(Worker* worker, Waiter& waiter, const QueueRelease& release) noexcept {
  return wait_locked<true>(worker, waiter, release);
}

WEFT_RETURNS_BY_JUMP Worker* waiter_wait_far(Worker* worker, Waiter& waiter, const QueueRelease& release) noexcept {
  if (!waiter.stays) note_whether_it_stays(worker, waiter);
  LockedWait wait{&waiter, release};
  worker = leave_unit_far(worker, waiter.unit, park_locked_action, &wait);
  mark_if_direct(waiter.unit);
  return worker;
}

Worker* waiter_wait(Worker* worker, Waiter& waiter) noexcept {
  if (waiter.unit == nullptr) {
    waiter_sleep(worker, waiter, kNever);
    return worker;
  }
  if (waiter.state.load(std::memory_order_acquire) != Waiter::kWaiting) return worker;
  return leave_unit(worker, waiter.unit, park_action, &waiter);
}

void waiter_wake(Worker* worker, Waiter* waiter) noexcept {
  Unit* unit = waiter->unit;
  const uint32_t old = waiter->state.exchange(Waiter::kWoken, std::memory_order_acq_rel);
  // The waiter may be gone now; waking an address that is nobody's any more does no harm.
  if (unit == nullptr) {
    futex_wake(waiter->state, 1);
  } else if (old == Waiter::kParked) {
    watch_unit(worker, unit, UnitEvent::kResume);
    unit_transition(unit, UnitState::kReady);
    make_ready(worker, unit);
  }
}

namespace {

bool was_here_last(const Worker* worker, const Unit* unit) noexcept {
  const uint32_t inside = unit->inside.load(std::memory_order_relaxed);
  return inside == (kRanOn | worker->index) ||
         (inside == 0 && unit->pool.load(std::memory_order_relaxed)->lane_owner == worker);
}

bool goes_on_here(const Worker* worker, const Unit* unit) noexcept {
  if (worker == nullptr || klt_current() != nullptr || worker->dispatch_first != nullptr ||
      unit->requests.load(std::memory_order_relaxed) != 0) {
    return false;
  }
  Pool* pool = unit->pool.load(std::memory_order_relaxed);
  if (unit_is(unit, flag::kFront) && was_here_last(worker, unit) &&
      (!pool->builtin || unit_is(unit, flag::kWatched) || pool->size() == 0)) {
    return true;
  }
  return is_deque(pool) && !scheduler_has_its_turn(worker) && may_pop(worker, pool) &&
         !unit_is(unit, flag::kWatched | flag::kPrimary);
}

}  // namespace

void waiter_wake_joiner(Worker* worker, Waiter* waiter, Unit* ended) noexcept {
  Unit* unit = waiter->unit;
  if (ended == nullptr || unit == nullptr || !goes_on_here(worker, unit)) return waiter_wake(worker, waiter);
  // As above.
  if (waiter->state.exchange(Waiter::kWoken, std::memory_order_acq_rel) != Waiter::kParked) return;
  if (unit_is(unit, flag::kWatched)) worker->named = {unit, ended};
  watch_unit(worker, unit, UnitEvent::kResume);
  unit_transition(unit, UnitState::kReady);
  dispatch_next(worker, unit, ended);
}

void WakeList::add(Waiter* waiter) noexcept {
  if (waiter->contended) {
    Waiter* target = waiter->target;
    FutexWord& word = target->state;
    const bool klt = target->unit == nullptr;
    // Acquire and release: as in park().
    const uint32_t old = word.exchange(Waiter::kWoken, std::memory_order_acq_rel);
    if (klt && old == Waiter::kWaiting) futex_wake(word, 1);
    if (klt || old != Waiter::kParked) return;  // it is on its way already
    waiter = target;
  }
  waiter->next = nullptr;
  (head_ != nullptr ? tail_->next : head_) = waiter;
  tail_ = waiter;
}

namespace {

// A front-end's units that others are to run, by their pools: each gets them by one push.
class FarUnits {
 public:
  explicit FarUnits(Worker* worker) noexcept : worker_(worker) {}
  FarUnits(const FarUnits&) = delete;
  FarUnits& operator=(const FarUnits&) = delete;
  ~FarUnits() {
    for (unsigned i = 0; i < used_; ++i) push_all_and_wake(worker_, places_[i].pool, places_[i].units, places_[i].count);
  }

  // False: it is to be pushed on its own.
  bool add(Unit* unit) noexcept {
    if ((unit_attributes(unit) & (flag::kFront | flag::kWatched)) != flag::kFront) return false;
    Pool* pool = unit->pool.load(std::memory_order_relaxed);
    if (!pool->builtin || (worker_ != nullptr && pool->lane_owner == worker_)) return false;
    Place* place = places_;
    while (place != places_ + used_ && place->pool != pool) ++place;
    if (place == places_ + kPlaces) return false;
    if (place == places_ + used_) {
      new (place) Place{pool};
      ++used_;
    }
    place->units.push_back(unit);
    ++place->count;
    return true;
  }

 private:
  static constexpr unsigned kPlaces = 4;
  struct Place {
    Pool* pool;
    UnitList units{};
    unsigned count = 0;
  };
  Worker* const worker_;
  unsigned used_ = 0;
  union {  // most often none is needed
    Place places_[kPlaces];
  };
};

// The unit of one that is in no list any more. It may be gone afterwards.
[[gnu::always_inline]] inline void wake_one(Worker* worker, Waiter* waiter, FarUnits* far = nullptr) noexcept {
  Unit* unit = waiter->unit;
  if (unit == nullptr) return waiter_wake(worker, waiter);
  watch_unit(worker, unit, UnitEvent::kResume);
  unit_transition(unit, UnitState::kReady);
  if (worker != nullptr && becomes_ready_here(worker, unit)) {
    worker->lane.push_private(unit);
  } else if (far == nullptr || !far->add(unit)) {
    make_ready(worker, unit);
  }
}

// Of one that stays.
void wake_group(Worker* worker, Waiter* waiter) noexcept {
  while (waiter != nullptr) {
    Waiter* after = waiter->group;
    wake_one(worker, waiter);
    waiter = after;
  }
}

// Those that another worker is to run, collected: it gets them by one push.
class FarWaiters {
 public:
  void add(Worker* worker, Waiter* waiter) noexcept {
    if (newest_ == nullptr || waiter->worker != newest_->worker) {
      push(worker);
      *this = FarWaiters();
      oldest_ = waiter;
    }
    waiter->next = newest_;
    newest_ = waiter;
    count_ += waiter->members;
  }
  void push(Worker* worker) const noexcept {
    if (newest_ == nullptr) return;
    Lane* lane = &const_cast<Worker*>(newest_->worker)->lane;
    if (lane->push_woken(newest_, oldest_, count_)) return wake_for_pool(worker, lane);
    for (Waiter *each = newest_, *next; each != nullptr; each = next) {
      next = each != oldest_ ? each->next : nullptr;
      wake_group(worker, each);
    }
  }

 private:
  Waiter* newest_ = nullptr;
  Waiter* oldest_ = nullptr;
  unsigned count_ = 0;
};

// The first of those of a list of whom some stay where they are.
[[gnu::noinline]] void wake_apart(Worker* worker, Waiter* waiter) noexcept {
  FarWaiters far;
  Waiter* near = nullptr;
  Waiter** end = &near;
  for (Waiter* next; waiter != nullptr; waiter = next) {
    next = waiter->next;  // gone once it is woken
    // A thread that is no worker pushes units that are ready: whoever looks for a deadlock does not see it.
    if (waiter->stays && worker != nullptr && waiter->worker != worker) {
      far.add(worker, waiter);
    } else {
      *end = waiter;
      end = &waiter->next;
    }
  }
  *end = nullptr;
  far.push(worker);  // first: its worker is waiting for that
  for (Waiter* next; near != nullptr; near = next) {
    next = near->next;
    if (near->stays) {
      wake_group(worker, near);
    } else {
      wake_one(worker, near);
    }
  }
}

}  // namespace

void note_pinned(const Worker* worker, Waiter& waiter) noexcept {
  const Unit* unit = waiter.unit;
  const Unit* host = unit->host;
  if (unit_is(unit, flag::kFront | flag::kWatched) || unit_is(host, flag::kFront | flag::kWatched)) return;
  if (host->pool.load(std::memory_order_relaxed) != &worker->lane) return;
  waiter.stays = true;
  waiter.group = nullptr;
}

void WakeList::wake_them(Worker* worker) const noexcept {
  Waiter* waiter = head_;
  if (waiter == tail_ && !waiter->stays) return wake_one(worker, waiter);
  FarUnits far(worker);
  for (Waiter* next; waiter != nullptr && !waiter->stays; waiter = next) {
    next = waiter->next;  // gone once it is woken
    wake_one(worker, waiter, &far);
  }
  if (waiter != nullptr) wake_apart(worker, waiter);
}

}  // namespace weft::rt
