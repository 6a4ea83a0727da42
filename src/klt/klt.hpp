// klt.hpp: a kernel-level thread of Weft: what carries a worker.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "arch/klt_register.hpp"
#include "arch/context.hpp"
#include "base/debug_field.hpp"
#include "os/cpu_set.hpp"
#include "os/futex.hpp"
#include "sanitizer_switch.hpp"
#include "unit/stack.hpp"

// A function that may be left without returning: ThreadSanitizer would keep its call on that stack for ever.
#define WEFT_LEFT_FOR_GOOD __attribute__((no_sanitize("thread")))

namespace weft::rt {

struct Unit;
struct Worker;

enum class KltState : uint32_t {
  kCarrying,   // runs a worker; that worker's private state is its own
  kCaptive,    // sleeps, or blocks in the kernel, inside a ULT; owns that ULT's frames
  kSpare,      // sleeps in its base loop, or is about to; owns nothing
  kOut,        // as a captive, but it runs outside of Weft, for the sake of a fork(): README.md, "Let out"
  kStopping,   // told to leave its base loop; inside Weft until `ended`, unless it rests
};

// Remote taking of a worker; see README.md, "Taking".
enum class Take : uint32_t {
  kNone,     // the owner has its worker (or sleeps without one by its own will)
  kPending,  // a taker decides, or uses the worker's private state for a moment; the owner waits
  kGiving,   // the owner gives its worker away; takers keep off
  kTaken,    // the worker is gone; the owner runs without one
  kHeld,     // the same, and somebody sends the owner a signal for its unit: the owner waits
  kForked,   // this is a forked child, and what this thread did for Weft stayed behind in the parent
};

// Reasons for a KLT to look up when it lowers its guard.
namespace attention {
inline constexpr uint32_t kHungry = 1u << 0;    // some worker has nothing to do
inline constexpr uint32_t kBind = 1u << 1;      // the worker is to run on another CPU
inline constexpr uint32_t kHook = 1u << 3;      // ask the test hook, each time
inline constexpr uint32_t kDeferred = 1u << 2;  // `deferred` holds a unit that only this KLT may run
inline constexpr uint32_t kTimer = 1u << 4;     // nobody may watch over the deadlines
inline constexpr uint32_t kPreempt = 1u << 5;   // the time slice of the unit that runs is used up
inline constexpr uint32_t kSuspend = 1u << 6;   // the worker is suspended: its scheduler is to look soon
inline constexpr uint32_t kSignals = 1u << 7;   // the unit that runs has been sent signals
inline constexpr uint32_t kThreads = 1u << 8;   // a forked child is to start the threads that it has put off
}  // namespace attention

// The C++ runtime's per-thread exception state (Itanium ABI, __cxa_eh_globals).
struct ExceptionGlobals {
  void* caught;
  uintptr_t uncaught;
};

// Of the calling thread, or of the identity that runs on it.
ExceptionGlobals* exceptions_of_thread() noexcept;

inline constexpr int kBindingUnknown = -2;

// What a mutex's fast paths in the program's own code (mutex_own.h) see of this thread and leave there: thread-local, so that a thread
// need not ask whether it is a KLT.
inline constexpr uint32_t kNoTag = UINT32_MAX;
struct OwnWords {
  std::atomic<uint32_t> mutex{0};  // the thread: in which it is, as guard_in() has it; 0: in none. A guard as Klt::guard is
  // Of the worker that the thread carries as a KLT, or kNoTag. The thread sets it, in a section; whoever publishes that worker as gone
  // takes it away. See know_tag(), forget_tag().
  std::atomic<uint32_t> tag{kNoTag};
};
extern "C" __attribute__((tls_model("initial-exec"), visibility("default"))) constinit thread_local OwnWords weft_rt_own;
extern OwnWords nobodys_words;

// A descriptor that is kept open. The program may close it, and have a file of its own by that number: what is known of ours tells it.
struct KeptFile {
  std::atomic<int> fd{-1};
  std::atomic<uint64_t> device{0}, inode{0};
};

// How others see whether the thread sleeps in the kernel; see block/watch.hpp.
struct KltWatch {
  std::atomic<bool> opened{false};           // for this thread
  std::atomic<const char*> ring{nullptr};    // its switches, as the kernel records them
  const char* mapping = nullptr;             // where that is, or was; whoever opens it
  // whoever opens it; again, whoever finds that it is gone: one at a time, who sets opens_again
  mutable KeptFile stat;
  mutable std::atomic<bool> opens_again{false};
  std::atomic<const std::atomic<uint64_t>*> state{nullptr};  // what an eBPF program writes of it; see block/bpf_rung.hpp
  int slot = -1, thread = 0;  // where that is, and of whom; whoever opens it
};

// What stops its ULT when that has come back from the kernel and has no worker; see block/back.cpp.
struct KltStop {
  std::atomic<int> timer{-1};      // the kernel's number of it; -1: none
  std::atomic<uint64_t> grace{0};  // for how long it may run before that; whoever has it stopped
  std::atomic<uint64_t> cpu{0};    // its thread's CPU time when it went without its worker; whoever took that. 0: it has gone by itself
  uint64_t turn = 0;               // the same when it last waited for its turn; the KLT
  uint64_t yielded_at = 0;         // the KLT: when it last gave way in the kernel, without a worker; and how often by then
  unsigned yields = 0;
};

struct Klt {
  // -- reached through klt_register; offsets are fixed below
  Klt* self = this;
  std::atomic<uint32_t> guard{0};      // owner KLT: see process_gate.hpp; read by takers
  std::atomic<uint32_t> attention{0};  // any thread
  std::atomic<Worker*> worker{nullptr};  // owner KLT; a taker while Take is Pending or Taken
  std::atomic<Unit*> current{nullptr};   // owner KLT: the ULT or tasklet whose code runs; null: scheduler

  ExceptionGlobals* exceptions = nullptr;  // constant: this thread's
  // The ULT that runs may run what it joins on its own stack while its stack pointer is above this. Owner
  // KLT. kNoClaim: it may not at all (a scheduler, what it runs without a stack, a unit under a scheduler of the user's).
  // A tasklet may not either, whatever this says.
  uintptr_t claim_floor = UINTPTR_MAX;
  // Owner KLT: in how many scopes it is that must not be preempted; see no_preemption.hpp.
  uint32_t no_preemption = 0;
  uintptr_t thread_pointer = 0;  // its own: what schedulers run with, and ULTs without an identity of their own. Its thread
  // any thread, by the protocol of README.md
  alignas(64) std::atomic<Take> take{Take::kNone};
  std::atomic<KltState> state{KltState::kSpare};
  FutexWord wake{0};          // kGoOn, kBeHeir
  std::atomic<Unit*> deferred{nullptr};  // see klt/README.md, "The primary ULT"
  std::atomic<Unit*> held{nullptr};      // Captive: the unit in whose frames it sleeps
  // Owner, guard up: in a signal handler that has interrupted foreign code, or just about to give its worker away: it does not
  // rest at the gate, and is not held back there. Asleep as a captive it may be let out.
  std::atomic<bool> passes_gate{false};
  std::atomic<bool> call_in{false};  // it has stayed outside because the gate was closed
  Worker* taken_from = nullptr;  // Take::kTaken: the worker that it had. Who takes or gives that away
  Worker* given = nullptr;    // Out: the worker that it had just been given. Whoever forks; the KLT when it comes in
  // owner KLT
  Stack base;                 // where the base loop runs
  void* base_top = nullptr;
  Context exit;               // where a KLT of ours leaves its base loop
  // Owner; while it sleeps by its own will, whoever gives it a worker. -1: not bound.
  std::atomic<int> bound_cpu{kBindingUnknown};
  // Owner, before it sleeps: the CPU where it is; -1: not known. And, by whoever gives it a worker while it sleeps, the mask that it
  // gives itself again: hand_over.cpp, pull().
  std::atomic<int> slept_on{-1};
  CpuSet pulled_from;
  bool pulled = false;
  bool initial = false;       // the thread that initialised Weft
  std::atomic<bool> has_forked{false};  // klt_has_forked()
  char* memory = nullptr;     // constant: its thread's stack, from the guard on; null: the initial KLT
  size_t memory_bytes = 0;    // constant
  pthread_t thread{};
  void (*there)() = nullptr;  // constant while its thread runs: see klt_start_spare(); null: it was made for somebody
  std::atomic<int> tid{0};  // 0: its thread is only starting
  void* alt_stack = nullptr;
  uint64_t pending_for_all = 0;     // own: signals that were pending for the whole process when it last looked; see leave_pending()
  std::atomic<bool> has_been_sent{false};  // whoever sends it one, for a ULT that stays on it meanwhile: since a ULT last left it
  uint64_t signal_mask = 0;         // constant: as the kernel has it: what was blocked where Weft was initialised
  uint64_t native_mask = 0;         // its thread: what is blocked in it while no identity is on it
  std::atomic<uint64_t> program_mask{0};  // its thread: what is blocked in it just now but for handlers, as far as is known
  std::atomic<bool> blocks_stand_in{false};    // its thread is about to block it, and will have it in `program_mask`
  std::atomic<uint32_t> stand_ins_coming{0};   // how many threads are sending it one
  uint64_t put_off_since = 0, put_off_last = 0;  // its thread: when the first, and the last, of our own signals came to it in such a handler
  std::atomic<int> tick_timer{-1};  // the kernel's number of its timer for preempt/; -1: none
  KltWatch watch;
  KltStop stop;
  std::atomic<Worker*> heir_of{nullptr};  // a spare that is kept for this worker, and not in the list
  std::atomic<uint32_t> interruptions{0};  // any thread: how often a signal of ours has cut a call of its thread's short, with no identity known
  std::atomic<uint32_t> timer_changes{0};  // any thread: how many are about to set that timer anew, which may count there
  std::atomic<uint64_t> tick_due{UINT64_MAX};  // whoever sets that timer: when it fires
  std::atomic<uint64_t> tick_set{UINT64_MAX};  // the same: for when it is set in the kernel; a tick that is not for what it carries now has no `tick_due`
  std::atomic<uint64_t> tick_handled{0};       // owner KLT: what was set of that whose signal it has handled last
  std::atomic<uint64_t> beat{UINT64_MAX};  // whoever would set that timer, and preempt/'s metronome: when its tick is to be sent, if it has none
  std::atomic<uint64_t> tick_away{0};  // the same: for how long the thread had not run by then, ever, if it has looked; 0: not
  // Its thread's. For others while it has a worker, or under the list's lock; before its thread begins, and after its end, nobody's.
  std::atomic<OwnWords*> own{&nobodys_words};
  Klt* next_ended = nullptr;  // in the list of those whose thread has ended
  Klt* next_all = nullptr;    // constant once listed
  bool joinable = false;      // its thread has not been joined
  bool ended = false;         // under the list's lock: its thread does nothing of Weft's any more

  // Its thread has not ended; under the list's lock.
  bool lives() const noexcept { return initial || state.load(std::memory_order_acquire) != KltState::kStopping; }

  // whoever forks, under the list's lock: the worker that it has published as gone
  Worker* held_back = nullptr;
};
static_assert(offsetof(Klt, guard) == 8 && offsetof(Klt, attention) == 12 &&
              offsetof(Klt, worker) == 16 && offsetof(Klt, current) == 24 &&
              offsetof(Klt, exceptions) == 32 && offsetof(Klt, claim_floor) == 40 &&
              offsetof(Klt, no_preemption) == 48 && offsetof(Klt, thread_pointer) == 56);

inline constexpr size_t kKltGuard = 8;
inline constexpr size_t kKltAttention = 12;
inline constexpr size_t kKltWorker = 16;
inline constexpr size_t kKltCurrent = 24;
inline constexpr size_t kKltExceptions = 32;
inline constexpr size_t kKltClaimFloor = 40;
inline constexpr size_t kKltNoPreemption = 48;
inline constexpr size_t kKltThreadPointer = 56;
inline constexpr uintptr_t kNoClaim = UINTPTR_MAX;

// Precondition of both: klt_register_valid(); the result is used with the guard up only.
[[gnu::always_inline]] inline Klt* klt_self() noexcept { return klt_register_load<0, Klt*>(); }
// In a section. Acquire, pairs with the stores that end one.
inline bool klt_is_inside(const Klt* klt) noexcept {
  return klt->guard.load(std::memory_order_acquire) != 0 ||
         klt->own.load(std::memory_order_acquire)->mutex.load(std::memory_order_acquire) != 0;
}
// The same of the caller, if a tick may take that to another KLT at any moment: this one would soon be inside, for others. Precondition: as above.
[[gnu::always_inline]] inline bool klt_is_inside_here() noexcept {
  if (klt_register_load<kKltGuard, uint32_t>() != 0) return true;
  for (;;) {
    const Klt* self = klt_self();
    if (self->own.load(std::memory_order_acquire)->mutex.load(std::memory_order_acquire) == 0) return false;
    if (klt_self() == self) return true;
  }
}
[[gnu::always_inline]] inline Unit* klt_current() noexcept {
  return klt_register_load<kKltCurrent, Unit*>();
}
[[gnu::always_inline]] inline void klt_set_current(Unit* unit) noexcept {
  klt_register_store64<kKltCurrent>(unit);
}

[[gnu::always_inline]] inline void klt_set_claim_floor(uintptr_t floor) noexcept {
  klt_register_store64<kKltClaimFloor>(reinterpret_cast<void*>(floor));
}
[[gnu::always_inline]] inline uintptr_t klt_claim_floor() noexcept {
  return klt_register_load<kKltClaimFloor, uintptr_t>();
}
[[gnu::always_inline]] inline ExceptionGlobals* klt_exceptions() noexcept {
  return klt_register_load<kKltExceptions, ExceptionGlobals*>();
}

[[gnu::always_inline]] inline uintptr_t klt_thread_pointer() noexcept {
  return klt_register_load<kKltThreadPointer, uintptr_t>();
}

// ---- life -------------------------------------------------------------------------------------

// Makes the calling thread a KLT (the initial one). Null: out of memory.
Klt* klt_adopt() noexcept;
// Undoes it. Precondition: called on that thread, by its primary ULT.
void klt_release_adopted(Klt* klt) noexcept;

// Starts a new KLT that joins the list of spares by itself, as soon as its thread has begun, and then calls there(). To
// begin, a thread may need a lock of the allocator's (a sanitizer's, or that of a program which looks at its threads), and
// a captive may hold that: who is given a worker before could keep it from the one that it waits for. False: the kernel
// refused.
bool klt_start_spare(void (*there)()) noexcept;
// How many of those have yet to begin.
unsigned klt_spares_coming() noexcept;

// A spare from the list, best one that is bound to this CPU already (a change takes the kernel longer than
// all the rest of a hand-over), or a new one. Null: none, and the kernel refused.
Klt* klt_acquire(int cpu) noexcept;
// A spare from the list only. Async-signal-safe.
Klt* klt_try_acquire(int cpu) noexcept;

// Gives back a KLT from klt_acquire() that is not needed after all.
void klt_put_back(Klt* klt) noexcept;

// What signals each begins with blocked, as the kernel has it.
uint64_t klts_signal_mask() noexcept;

// Bits that every KLT, present and future, has set in `attention` for good (tests).
void klt_set_sticky_attention(uint32_t bits) noexcept;

// Calls f(klt) for every KLT, the initial one first, and also for records whose thread has ended. For dumps;
// async-signal-safe. Precondition: not at the same time as klt_stop_all() or klt_release_adopted().
void klt_for_each(void (*f)(Klt*, void*), void* context) noexcept;

// Once more in a loop that waits for a few instructions of another thread's. `spins`: 0 at first.
void wait_a_little(unsigned& spins) noexcept;

// Waits until no KLT is in that object: see guard_in(). After a membarrier(): who comes later has seen what was stored before that.
// Guard up, or counted at the gate.
void klt_wait_until_none_in(const void* object) noexcept;

// How many spares are kept.
void klt_set_spare_limit(unsigned limit) noexcept;
// How many there are.
unsigned klt_spares() noexcept;
// Ends one of them that has not forked. False: there is none.
bool klt_end_spare() noexcept;
// A child of the process may want to be sent a signal when its parent ends (PR_SET_PDEATHSIG): that is the kernel thread which has forked.
// From here on it does not end while the runtime runs, needed or not. Its own thread, or whoever has the gate closed.
void klt_has_forked(Klt* klt) noexcept;
unsigned klts_that_have_forked() noexcept;

// Ends all spares. Precondition: every other KLT of Weft is a spare.
void klt_stop_all() noexcept;

// No KLT is added, and none removed, while the list is locked.
void klts_lock() noexcept;
void klts_unlock() noexcept;

// For whoever forks, under the list's lock: whether its thread has left Weft for good, and holds nothing that a child would
// miss. Does not wait.
bool klt_has_left(Klt* klt) noexcept;

// In a forked child: the other KLTs are gone; `keep` (may be null) is this thread's.
void klts_forget_all_but(Klt* keep) noexcept;
// In a forked child: the calling KLT is the initial one from here on. False: out of memory.
bool klt_become_initial(Klt* self) noexcept;

// ---- sleeping by Weft's own will ----------------------------------------------------------------

// What for: values of Klt::wake.
inline constexpr uint32_t kGoOn = 1;    // with the worker that it has been given, or to its end
inline constexpr uint32_t kBeHeir = 2;  // of a spare: see heir_of
inline constexpr uint32_t kGoOut = 3;   // of a captive: out of Weft. Its guard rests until it is out

// Sleeps until klt_wake(). Never taken meanwhile. Returns what for. Precondition: guard up; `state` says why already.
uint32_t klt_sleep(Klt* self) noexcept;
void klt_wake(Klt* klt, uint32_t what_for = kGoOn) noexcept;

// Runs first(a, b) on the base stack, then sleeps there as a spare until it is given a worker.
// `save`: where the current context is kept; null: it is given up. Precondition: guard up.
using BaseAction = void (*)(void* a, void* b);
void klt_go_to_base(Klt* self, Context* save, Stack* from, BaseAction first, void* a,
                    void* b) noexcept;

// What a spare does with the worker it was given. Defined by worker/.
[[noreturn]] void klt_carry(Klt* self, Worker* worker) noexcept;

// For debuggers: see base/debug_field.hpp.
extern const DebugPart klt_debug_part;

// A unit was left with this KLT just as it went to sleep. Defined by worker/.
void klt_return_deferred(Unit* unit) noexcept;

}  // namespace weft::rt
