// identity.hpp: identities that ULTs can own: thread control blocks of the C library's making. See README.md.
#pragma once

#include <linux/futex.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

#include <atomic>
#include <cstdint>

#include "base/debug_field.hpp"
#include "identity/c_library.hpp"
#include "os/futex.hpp"
#include "unit/stack.hpp"

namespace weft::rt {

struct Klt;
struct Unit;

// A handler has left by siglongjmp(), and the ULT is to jump when it has left Weft: see worker/put_off_jump.hpp.
struct PutOffJump {
  void (*make)(const PutOffJump&) noexcept;
  __jmp_buf_tag target;  // a copy: the program's may lie in the handler's frame
  int value;
};

// Lies on the stack of the thread whose control block it is: its *lender*.
struct Identity {
  // what each switch looks at
  uintptr_t thread_pointer;           // constant
  // The ULT: that it has blocked, as the kernel has a set; before it, whoever makes the identity. None of ours. Its KLT has the same.
  std::atomic<uint64_t> mask{0};
  std::atomic<uint64_t> signals{0};   // anybody: that have been sent to its ULT, and not been taken yet; see worker/unit_signal.hpp
  std::atomic<Klt*> on{nullptr};      // whoever gets on and off: the KLT that has it
  std::atomic<uint32_t> sending{0};   // anybody: how many keep it there
  std::atomic<uint32_t> in_hand{0};   // the lender: the one that it has got; who takes it from there: kTaking, then 0
  std::atomic<bool> jumps{false};     // the ULT, or its lender in its place: `jump` is to be made
  bool owns_fp = false;               // whoever makes the unit: own::kFp
  robust_list_head* robust;  // constant: the list of robust mutexes that are held
  Stack* memory;             // constant: the lender's stack
  Stack stack;               // constant: the part of it that is the ULT's
  StackWords lenders;        // constant: what is told of it
  int tid;                   // constant: the kernel's number of the lender
  bool adopted = false;      // constant: a thread of the program's, which has become a ULT for good: see worker/adopt.hpp
  int waker = -1;            // constant, of such a one: a timer that sends its lender the courier; kNoTimer: there is none
  // signals by its lender: see worker/lender_signal.hpp
  std::atomic<Unit*> unit{nullptr};   // whoever owns it: whose it is; null: nobody's
  std::atomic<uint64_t> sent{0};      // anybody: that the lender has been sent
  std::atomic<bool> queueing{false};  // a lock, with all signals blocked: of the order of those that are pending at the lender
  std::atomic<uint64_t> wait_mask{~uint64_t{0}};  // the ULT: those of `mask` that the call does not let in that it waits in
  std::atomic<uint64_t> wanted{0};    // the ULT: those of `mask` that it waits for, or lets in, in the call that it is in
  std::atomic<uint64_t> directed{0};  // anybody, of an adopted thread: those that the kernel is to send to its number, see number.cpp
  PutOffJump jump;                    // who sets `jumps`, before that
  siginfo_t info;                     // the lender, while in_hand is 0: what is known of that one
  std::atomic<bool> looking{false};   // the lender: its unit is not to be freed
  FutexWord calls{0};                 // anybody: counts by kLenderCall; kLenderEnds
  std::atomic<uint32_t> caught_up{0};  // a lender of a thread of the program's: the calls that it has seen when it had nothing in hand
  std::atomic<uint32_t> brought{0};   // anybody: how often some have been brought to where its ULT is that it has open
  std::atomic<uint32_t> interruptions{0};  // its ULT: how often a signal of ours has cut a call of its short; see front/call.cpp
  // whoever owns it: the pool, or the unit
  Identity* next = nullptr;       // parked
  bool fresh = true;              // nothing has run on it yet
  bool used = false;              // its stack, since memory of that was last given back
  bool has_destructors = false;   // of what ended on it last
  bool has_keys = false;          // the same: values of keys
  // the pool's lock
  Identity* next_all = nullptr;
  Identity* previous_all = nullptr;
  std::atomic<Identity*> next_of_number{nullptr};  // see number.cpp
  pthread_t lender;
};

inline constexpr uint32_t kLenderEnds = 1;
inline constexpr uint32_t kLenderCall = 2;

struct IdentityCounts {
  unsigned most, parked, lent;
  uint64_t made;
};

// ---- the pool -------------------------------------------------------------------------------------

// Null: it can be done. Else why not, for people.
const char* identity_unsupported() noexcept;

void identity_set_most(unsigned most) noexcept;

// One with a stack of at least so many bytes. Null: none is parked. Guard up, or inside the gate, in all three.
Identity* identity_take(size_t stack_size) noexcept;
// What ended on it has left no destructors.
void identity_give_back(Identity* identity) noexcept;
IdentityCounts identity_counts() noexcept;

// ---- who needs one, and found none --------------------------------------------------------------------

// Counts itself in, reads the news, calls the keeper, and sleeps until there is other news. Guard up, or inside
// the gate, in the functions. Who will need several counts them all in before: they are made at once then.
extern FutexWord identity_news;
void identity_wait_begins(unsigned n, size_t stack_size) noexcept;
void identity_wait_ends(unsigned n = 1) noexcept;
// All that there may be are lent.
bool identity_exhausted() noexcept;
// How often the kernel has refused a thread, and whether there was no room for its stack the last time.
uint32_t identity_refusals() noexcept;
bool identity_refused_memory() noexcept;
// Anybody. Async-signal-safe, both.
bool identity_waits() noexcept;
void identity_refused(int error) noexcept;

// ---- the keeper's: see keeper.hpp -------------------------------------------------------------------

// How thread-local values are given their first ones. As it begins: whoever starts it will need one.
void identity_learn() noexcept;
// For those who wait, and some more. Tells if one has been given back.
void identity_make() noexcept;
// Whether there are more than are kept, or any keep memory that a ULT has used.
bool identity_surplus() noexcept;
// Once in a while: ends some of those that nobody has needed since the last time, and gives back memory of the others.
void identity_shrink() noexcept;

// ---- whose a pthread_t is ---------------------------------------------------------------------------

// It is found by its lender's number, as those of the pool are. Guard up, or inside the gate.
void identity_list(Identity* adopted) noexcept;
// Null: it is a thread's of its own. Async-signal-safe, also before Weft is initialised. Precondition: there is such a thread.
Identity* identity_of(pthread_t thread) noexcept;
// Of a lender's, which is no thread of the program's.
inline bool identity_is(pthread_t thread) noexcept {
  const Identity* identity = identity_of(thread);
  return identity != nullptr && !identity->adopted;
}
// Before the first one.
void identity_mark_setup() noexcept;
// Null: a thread's of its own again.
void identity_mark(pthread_t lender, Identity* identity) noexcept;
extern const DebugPart identity_debug_part;

// ---- the end --------------------------------------------------------------------------------------

// Ends all lenders. Nobody runs on any.
void identity_stop() noexcept;
// Round a fork(): meanwhile the pool is whole.
void identity_fork_begins() noexcept;
void identity_fork_ends() noexcept;
// In a forked child, where no lender is: all that is parked or lent is forgotten. Later, when no unit has the
// stack of any: its memory is given back, but for that of the calling thread.
void identity_forget() noexcept;
void identity_unmap_forgotten() noexcept;
// In a forked child whose only thread runs on this identity: what the kernel knows of the thread is put there, and the
// identity becomes the thread's own. `before`: the thread pointer that the thread had before it was lent this one.
void identity_becomes_native(uintptr_t before) noexcept;

// ---- on the identity itself -------------------------------------------------------------------------

// A ULT begins on this stack; a new one: what the one before has set goes back. Guard up.
void identity_begin(Identity* identity, const Stack& stack) noexcept;
// Its function has ended: notes whether there are destructors to be run.
void identity_note_end(Identity* identity) noexcept;
// Runs the destructors of thread-local variables, and of keys. The user's code: guard down.
void identity_run_destructors() noexcept;

}  // namespace weft::rt
