// waiter.hpp: suspending until somebody wakes us.
//
// Whoever waits has a Waiter in its own frame. There are two ways to wait:
//
//   locked    For objects with a list of waiters under a lock. The waiter is put into the list, and the lock is
//             given back *after* the ULT's context is complete: by the scheduler's side, or by the very switch
//             to the next ULT (direct.hpp). So whoever finds the waiter in the list may push its unit at once: no
//             handshake, no locked instruction.
//   contended The waiter may be found before it has left its stack (a join), or by several who race to wake it (a
//             deadline, one of many objects). Then `state` decides.
//
// Rejected: the handshake for everybody (two locked instructions more for each wait, of some 20 ns).
#pragma once

#include <atomic>
#include <cstdint>

#include "klt/klt.hpp"
#include "unit/unit.hpp"

namespace weft::rt {

struct Waiter {
  // Waiting -> Parked    the ULT's context is saved; whoever wakes it pushes it
  // Waiting -> Woken     the wake-up came first; the ULT does not stay suspended
  // Parked  -> Woken
  // Waiting, Parked -> TimedOut -> Woken    the deadline came first; it may be woken all the same
  enum State : uint32_t { kWaiting, kParked, kWoken, kTimedOut };
  std::atomic<uint32_t> state{kWaiting};  // see State; ULTs that wait the locked way do not use it
  // constant; by waiter_init() (what need not be set is not: to clear it all would be a tenth of a wait)
  WaitKind kind;
  Unit* unit;           // null: a KLT that sleeps on `state`
  const void* object;   // for dumps
  const Worker* worker;  // where it waits
  union {
    Waiter* target;  // whose `state` decides, if `contended`: its own, or that of a wait for several
    // If `stays`: the next one of that worker that is woken with this one. Such a group is in a list as its
    // first member.
    Waiter* group;
  };
  bool contended = false;
  bool stays = false;  // only its worker may run its unit
  // under the object's lock
  bool queued = false;
  uint32_t members = 1;  // of the first of a group: how many there are
  Waiter* next;          // both: while it is queued, and `next` afterwards
  Waiter* prev;
};
static_assert(sizeof(Waiter) == 64, "it lies in every frame that waits: often one line of a cold stack");

// Those that were taken out of a list, and are to be woken once its lock is given back.
class WakeList {
 public:
  // Under the list's lock. Decides about a contended waiter; it may be gone afterwards.
  void add(Waiter* waiter) noexcept;
  bool empty() const noexcept { return head_ == nullptr; }
  // Without a lock. Guard up, unless worker is null.
  void wake(Worker* worker) const noexcept {
    if (head_ != nullptr) wake_them(worker);
  }

 private:
  void wake_them(Worker* worker) const noexcept;
  Waiter* head_ = nullptr;
  Waiter* tail_ = nullptr;
};

// How the lock of the list that a waiter is in is given back.
struct QueueRelease {
  std::atomic<uint32_t>* word;
  uint32_t value;
  bool whole;  // true: value is stored; false: value's bits are cleared, others may change meanwhile
  const WakeList* wakes = nullptr;  // who is to be woken then

  // Release, pairs with the acquire of whoever takes the lock next: the waiter's context is complete, and it may
  // be gone afterwards.
  void operator()(Worker* worker) const noexcept {
    const WakeList others = wakes != nullptr ? *wakes : WakeList();
    if (whole) {
      word->store(value, std::memory_order_release);
    } else {
      word->fetch_and(~value, std::memory_order_release);
    }
    others.wake(worker);
  }
};

// Both: with the guard up, or worker null: not a KLT of Weft.

// False: the caller is a tasklet. A main scheduler's callback may wait: it blocks its worker. So does a unit that
// waits in place.
inline bool may_wait(const Worker* worker) noexcept {
  if (worker == nullptr) return true;
  const Unit* unit = klt_current();
  return unit == nullptr || (unit->flags & (flag::kTasklet | flag::kInPlace)) != flag::kTasklet;
}

// unit: the ULT that waits; null: the KLT does.
inline void waiter_init(const Worker* worker, Unit* unit, Waiter& waiter, WaitKind kind, const void* object) noexcept {
  waiter.unit = unit;
  waiter.kind = kind;
  waiter.object = object;
  waiter.worker = worker;
  waiter.target = &waiter;
}

inline void waiter_init(const Worker* worker, Waiter& waiter, WaitKind kind, const void* object) noexcept {
  Unit* unit = worker != nullptr ? klt_current() : nullptr;
  const bool suspends = unit != nullptr && !unit_is(unit, flag::kTasklet | flag::kInPlace);
  waiter_init(worker, suspends ? unit : nullptr, waiter, kind, object);
}

// Of the current unit, which is about to wait the locked way: sets `stays`. It is not set where a front-end
// looks at each step, nor where the unit is its worker's in a roundabout way.
void note_pinned(const Worker* worker, Waiter& waiter) noexcept;
inline void note_whether_it_stays(const Worker* worker, Waiter& waiter) noexcept {
  if (__builtin_expect((unit_attributes(waiter.unit) & (flag::kDirect | kHomedAttribute)) == flag::kDirect, 1)) return;
  if (unit_is(waiter.unit->host, flag::kPinned) && !waiter.contended) note_pinned(worker, waiter);
}
// Waits the locked way. Precondition: it is in the list, whose lock the caller holds. Returns the worker that
// the caller is on afterwards.
Worker* waiter_wait_locked(Worker* worker, Waiter& waiter, const QueueRelease& release) noexcept;
// The same of a ULT that leaves_far(): it comes back by jumps (WEFT_RETURNS_BY_JUMP), as all that lies between here and the program has to.
Worker* waiter_wait_far(Worker* worker, Waiter& waiter, const QueueRelease& release) noexcept;
// The same, straight over to the next one if that can be, and back by jumps in any case.
Worker* waiter_wait_elsewhere(Worker* worker, Waiter& waiter, const QueueRelease& release) noexcept;
// Waits the contended way, until the state is Woken or TimedOut.
Worker* waiter_wait(Worker* worker, Waiter& waiter) noexcept;
// For waiters that are no ULT's: sleeps in the kernel until the state is Woken. False: the deadline came
// first.
bool waiter_sleep(Worker* worker, Waiter& waiter, uint64_t deadline) noexcept;
// Wakes one that waits the contended way, and that nobody else wakes. It may be gone afterwards. Guard up, unless
// worker is null.
void waiter_wake(Worker* worker, Waiter* waiter) noexcept;
// The same of the joiner of a unit that has ended. `ended`: if not null, and that end is a scheduler's, some go on at once in its place. A front-end's that
// was at this worker last does, as Argobots has it, where somebody sees that, or nothing else is ready in its pool; else it comes behind what is: a unit that
// joins many waits for one of them then, and finds the others ended. One of a deque that the worker serves does, depth first, wherever the other one has
// run: pushed, it would come last at both ends.
void waiter_wake_joiner(Worker* worker, Waiter* waiter, Unit* ended) noexcept;

}  // namespace weft::rt
