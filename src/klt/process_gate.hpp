// process_gate.hpp: how fork() finds nobody inside Weft.
//
// The thread that forks closes the gate and waits until nobody is inside a section: then no lock of Weft's
// and no kQueue bit of a synchronisation object is held, and every structure is whole. docs/process.md says
// what users may rely on; protocol and proof: README.md, "The gate".
//
//   a KLT            is outside while its guard is down, or Resting (asleep inside a section, where it holds
//                    nothing). It comes in through guard_enter_slow(), because its worker is published as
//                    gone, and waits there; one that wakes up looks at the gate.
//   another thread   counts itself in and out. Those have no guard, and their sections are slow ones only.
#pragma once

#include <atomic>
#include <cstdint>

#include "klt/klt.hpp"
#include "os/futex.hpp"
#include "sanitizer_switch.hpp"

namespace weft::rt {

// Values of Klt::guard.
inline constexpr uint32_t kGuardDown = 0;
inline constexpr uint32_t kGuardUp = 1;
inline constexpr uint32_t kGuardResting = 2;  // up, and asleep where no lock and no list is held
// Any other: up, and in an object: guard_in().

struct ProcessGate {
  // the thread that forks; 0: open
  FutexWord closed{0};
  // not 0: for threads that are no KLTs only: gate_wait_for_threads()
  FutexWord clearing{0};
  // threads that are no KLTs
  alignas(64) std::atomic<uint32_t> inside{0};
};
extern ProcessGate process_gate;

// How often this process has come out of a fork() as the child, its parents' times included. Written in a
// child that has one thread only.
extern uintptr_t process_generation;

// ---- KLTs, guard up -------------------------------------------------------------------------------

// Round a sleep inside a section. Between the two the KLT touches nothing but the word it sleeps on.
inline void rest_begin(Klt* self) noexcept {
  // Release, pairs with the acquire in see_whether_out(): what we have done is whole.
  self->guard.store(kGuardResting, std::memory_order_release);
}
void rest_at_gate(Klt* self) noexcept;
inline void rest_end(Klt* self) noexcept {
  self->guard.store(kGuardUp, std::memory_order_relaxed);
  // The other half of this fence is the membarrier() of the thread that forks: either it sees the guard up
  // again, or we see the gate closed.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (__builtin_expect(process_gate.closed.load(std::memory_order_acquire) != 0, 0)) rest_at_gate(self);
}
// For loops that wait for something without a sleep. Precondition: as rest_begin().
inline void rest_if_closed(Klt* self) noexcept {
  if (__builtin_expect(process_gate.closed.load(std::memory_order_relaxed) != 0, 0)) rest_at_gate(self);
}
// In a signal handler, in the place of rest_end(). False: the gate is closed, or has been just now; the KLT rests still.
bool rest_ends(Klt* self) noexcept;
// There, guard up, without a worker: true: the gate is closed, and the KLT is to go on outside, until it is called in.
bool stays_out(Klt* self) noexcept;

// ---- other threads --------------------------------------------------------------------------------

void gate_enter() noexcept;
void gate_leave() noexcept;
// Whether the calling thread is inside.
bool gate_entered() noexcept;
// Until none of those is inside who was: who has woken a unit may be at its pool still when the unit has ended, and the runtime is to. Who comes meanwhile
// waits outside, so that it comes to an end. Any KLT; no lock is held that is wanted inside.
void gate_wait_for_threads() noexcept;

// For a thread of ours that starts others. A sanitizer whose allocator does not know of fork() leaves its locks in the child as
// they are: then the gate waits for us. Else it does not, since we may wait for a lock that a ULT holds which the gate keeps out.
template <class F>
void outside_of_forks(F&& f) noexcept {
  if (!san::kAllocatorKnowsFork) gate_enter();
  f();
  if (!san::kAllocatorKnowsFork) gate_leave();
}

// What a KLT that has no worker does in it, it does as a thread that is no KLT, to whom all of Weft is open, users' pools
// included. Guard up before and after.
class AsThread {
 public:
  explicit AsThread(Klt* self) noexcept : self_(self) {
    rest_begin(self_);
    klt_register_set(nullptr);
    gate_enter();
  }
  AsThread(const AsThread&) = delete;
  AsThread& operator=(const AsThread&) = delete;
  ~AsThread() {
    gate_leave();
    klt_register_set(self_);
    rest_end(self_);
  }

 private:
  Klt* const self_;
};

// ---- the thread that forks ------------------------------------------------------------------------

// Returns when nobody but `self` (null: no KLT) is inside; the list of KLTs is then locked too. `klts`: the
// runtime runs, so there are some.
void gate_close(Klt* self, bool klts) noexcept;
// In the parent: everybody goes on.
void gate_open(bool klts) noexcept;
// In the child, where nobody else is left.
void gate_reset() noexcept;

}  // namespace weft::rt
