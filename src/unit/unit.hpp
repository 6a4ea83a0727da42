// unit.hpp: the descriptor of a work unit, and its states.
//
//            create                 claim / pop
//   Free ------------> Fresh ----------------------> Running -------> Terminated --> Free (free)
//                        ^                          ^   |  ^               |   |
//                        |               pop        |   |  | wake          |   +----> Fresh (revive)
//                        |             +----- Ready <---+  |  (yield)      |
//                        |             |        ^       |  |
//                        +-------------|--------+---- Blocked (suspend, wait)
//                                      |        |       |
//                                      |        +---- InKernel (its KLT blocks in the kernel)
//
// In a forked child all but the surviving unit, and those that have ended, are Forked, until they are freed.
//
// Who owns what in each state is told at the enum. The descriptor's memory is type-stable: it comes
// from slabs that live until the last finalise.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "arch/context.hpp"
#include "base/check.hpp"
#include "base/debug_field.hpp"
#include "os/huge_pages.hpp"
#include "unit/front_part.hpp"
#include "unit/wait_kind.hpp"
#include "weft/weft.h"

namespace weft::rt {

struct Identity;
struct Klt;
struct Pool;
struct Stack;
struct Unit;
struct Worker;
struct LocalTable;

enum class UnitState : uint8_t {
  kFree,        // a descriptor cache owns it
  kFresh,       // the pool it is in owns it (or whoever took it out of there); no stack, no context
  kReady,       // the pool owns it; its context is complete
  kRunning,     // the KLT that it runs on owns it
  kBlocked,     // whoever wakes it owns it, once its waiter says "parked"
  kInKernel,    // its KLT owns it: it blocks in the kernel and carries no worker
  kTerminated,  // the joiner, or whoever holds the handle, owns it
  kForked,      // a forked child: it stayed behind in the parent; whoever holds the handle owns it
};

namespace flag {
inline constexpr uint32_t kTasklet = 1u << 0;
inline constexpr uint32_t kDetached = 1u << 1;
inline constexpr uint32_t kPrimary = 1u << 2;
inline constexpr uint32_t kPinned = 1u << 3;     // only workers that pop its home pool itself run it
inline constexpr uint32_t kInPlace = 1u << 4;   // where it waits, its worker waits: weft_wait_in_place()
inline constexpr uint32_t kOwnStack = 1u << 5;   // never on somebody else's stack
inline constexpr uint32_t kStackKept = 1u << 6;  // its stack stays its own until it is freed: memory of the program, or its identity's
inline constexpr uint32_t kOwnState = 1u << 7;  // each switch brings something along: see namespace own
inline constexpr uint32_t kClaimable = 1u << 8;  // may run on its joiner's stack
inline constexpr uint32_t kDirect = 1u << 9;     // leaves and comes by a mere switch: see api/control.cpp
inline constexpr uint32_t kFork = 1u << 10;      // made from a weft_fork_t
inline constexpr uint32_t kCold = 1u << 11;      // the cold part has something to clear
inline constexpr uint32_t kNamed = 1u << 12;     // has a name
inline constexpr uint32_t kExceptions = 1u << 13;  // `exceptions` holds something
// Made by a front-end: `cold.front` is in use, and it goes to its home pool always: no lane of others takes it.
inline constexpr uint32_t kFront = 1u << 14;
inline constexpr uint32_t kWatched = 1u << 15;  // of a front-end: see worker/watch.hpp
}  // namespace flag

// Written by one at a time, read by anybody who holds a handle.
class UnitFlags {
 public:
  operator uint16_t() const noexcept { return bits_.load(std::memory_order_relaxed); }
  UnitFlags& operator=(uint16_t bits) noexcept {
    bits_.store(bits, std::memory_order_relaxed);
    return *this;
  }
  void set(uint32_t bits) noexcept { *this = static_cast<uint16_t>(*this | bits); }
  void clear(uint32_t bits) noexcept { *this = static_cast<uint16_t>(*this & ~bits); }

 private:
  std::atomic<uint16_t> bits_{0};
};

// What a unit may have that otherwise belongs to whatever it runs on. Bits of UnitCold::own.
namespace own {
inline constexpr uint8_t kFp = 1;        // floating-point control words, in UnitCold::core
inline constexpr uint8_t kIdentity = 2;  // a thread control block, Unit::identity
}  // namespace own

// The parts that only some units have.
struct UnitCold {
  std::atomic<uint64_t> id{0};
  // Null all over in a free descriptor.
  union {
    FrontPart front{};  // kFront
    struct {
      char name[32];     // kNamed
      FpEnvironment fp;  // own::kFp
    } core;              // else
  };
  LocalTable* locals = nullptr;
  uint64_t stack_size : 48 = 0;  // asked for
  uint64_t own : 8 = 0;          // see namespace own
  uint64_t preemption : 4 = 0;   // weft_preemption_t
  uint64_t blocking : 4 = 0;     // weft_blocking_t
};
static_assert(sizeof(UnitCold) == 64, "a descriptor is three cache lines");

struct alignas(64) Unit {
  // -- line 0: all that create, claim, run, join and free touch when nothing happens
  // The first eight bytes are also written and compared as one word: see unit_header().
  std::atomic<UnitState> state{UnitState::kFree};  // see UnitState
  std::atomic<uint8_t> marked{0};                  // any thread: see unit_mark()
  std::atomic<uint8_t> requests{0};                // any thread: kCancelRequest, kMoveRequest, kAwayRequest
  uint8_t priority = WEFT_PRIORITY_DEFAULT;
  UnitFlags flags;  // set at creation; afterwards whoever runs it
  std::atomic<uint8_t> token{0};  // see weft_suspend(): kTokenNone, kTokenParked, kTokenResumed
  std::atomic<bool> homed{false};  // goes to its home pool, not where it is woken; see migrate
  union {
    weft_fn fn;        // Fresh
    void* exit_frame;  // Running and later: see call_with_exit()
  };
  union {
    void* arg;   // Fresh
    Unit* host;  // Running and later: the unit at the bottom of the stack that this one runs on
  };
  std::atomic<Pool*> pool{nullptr};  // home; changed by migrate
  // Where in its pool; whoever owns that pool's list. Blocked: a WaitKind.
  std::atomic<uint32_t> slot{0};
  // The id of the pool whose list it is in; 0: none, or a ring. Believed under that pool's lock only. Or kRanOn.
  std::atomic<uint32_t> inside{0};
  // 0: nobody; kJoinDone: terminated; kJoinTaken: claimed or being waited for by a Waiter*
  std::atomic<uintptr_t> joiner{0};
  union {
    Unit* next = nullptr;     // in the list that owns it
    const void* wait_object;  // Blocked: what it waits for
  };
  union {
    Unit* prev = nullptr;
    uint64_t wait_since;  // Blocked: by coarse_now_ns()
  };

  // -- line 1: suspended
  Context context;
  Stack* stack = nullptr;          // of its own, or kept when it was promoted
  Klt* captive = nullptr;          // the KLT that must carry it; whoever owns the unit
  // Above this address its stack has room for a child that it joins; see klt_set_claim_floor(). Hosts only. Whoever
  // owns the unit; of the primary one any thread.
  std::atomic<uintptr_t> claim_floor{0};
  union {
    void* exceptions[2] = {};  // __cxa_eh_globals while it does not run
    Identity* identity;        // own::kIdentity: they are among its thread-local variables. Whoever owns the unit
  };

  alignas(64) UnitCold cold;
};
static_assert(offsetof(Unit, state) == 0 && offsetof(Unit, marked) == 1 &&
              offsetof(Unit, requests) == 2 && offsetof(Unit, priority) == 3 &&
              offsetof(Unit, flags) == 4 && offsetof(Unit, token) == 6 && offsetof(Unit, homed) == 7);
static_assert(offsetof(Unit, context) == 64 && offsetof(Unit, cold) == 128);

inline constexpr uintptr_t kJoinDone = 1;
inline constexpr uintptr_t kJoinTaken = 2;
inline constexpr uintptr_t kJoinNotStarted = 3;  // of a unit that is Forked: it was Fresh

inline constexpr uint8_t kCancelRequest = 1;
inline constexpr uint8_t kMoveRequest = 2;  // FrontHooks::move() is to be called
inline constexpr uint8_t kAwayRequest = 4;  // its stack is somebody else's for a while: see worker/lender_signal.hpp

inline constexpr uint8_t kTokenNone = 0;
inline constexpr uint8_t kTokenParked = 1;   // it is suspended; whoever moves it on owns it
inline constexpr uint8_t kTokenResumed = 2;  // the resume came first

// The one function that changes a unit's state. Debug builds abort on a transition that the picture
// above does not have. Release: pairs with the acquire in unit_state().
bool unit_transition_allowed(UnitState from, UnitState to) noexcept;

inline void unit_transition(Unit* unit, UnitState to) noexcept {
  WEFT_DCHECK(unit_transition_allowed(unit->state.load(std::memory_order_relaxed), to));
  unit->state.store(to, std::memory_order_release);
}

// Says for dumps what the unit waits for, and since when (coarse_now_ns()). Before others can wake it.
inline void unit_note_wait(Unit* unit, WaitKind kind, const void* object, uint64_t since) noexcept {
  unit->wait_object = object;
  unit->wait_since = since;
  unit->slot.store(static_cast<uint32_t>(kind), std::memory_order_relaxed);
}

// "blocked"
const char* unit_state_name(UnitState state) noexcept;

inline UnitState unit_state(const Unit* unit) noexcept {
  return unit->state.load(std::memory_order_acquire);
}

// The first eight bytes of a unit as one word.
using HeaderWord = uint64_t __attribute__((may_alias));

constexpr uint64_t unit_header_of(UnitState state, uint16_t flags, uint8_t priority, bool homed) noexcept {
  return static_cast<uint64_t>(state) | uint64_t{priority} << 24 | uint64_t{flags} << 32 |
         uint64_t{homed} << 56;
}
inline constexpr uint64_t kHeaderButPriority = ~(uint64_t{0xff} << 24);
inline uint64_t unit_header(const Unit* unit) noexcept {
  return __atomic_load_n(reinterpret_cast<const HeaderWord*>(unit), __ATOMIC_RELAXED);
}
// A fresh unit's: not marked, no requests, no token.
inline void unit_set_header(Unit* unit, uint64_t header) noexcept {
  __atomic_store_n(reinterpret_cast<HeaderWord*>(unit), header, __ATOMIC_RELEASE);
}

// `slot` and `inside` by one store.
inline void unit_set_place(Unit* unit, uint32_t slot, uint32_t inside) noexcept {
  static_assert(offsetof(Unit, inside) == offsetof(Unit, slot) + 4 && offsetof(Unit, slot) % 8 == 0);
  __atomic_store_n(reinterpret_cast<HeaderWord*>(&unit->slot), slot | uint64_t{inside} << 32, __ATOMIC_RELAXED);
}

inline bool unit_is(const Unit* unit, uint32_t flags) noexcept { return (unit->flags & flags) != 0; }

inline bool unit_owns(const Unit* unit, uint8_t what) noexcept {
  return unit_is(unit, flag::kOwnState) && (unit->cold.own & what) != 0;
}

// Said before a request is made or an id is given, which other threads do while `flags` belongs to
// whoever runs the unit. Whoever recycles the descriptor looks; it holds the last handle, and what
// made it so orders it after every mark.
inline void unit_mark(Unit* unit) noexcept { unit->marked.store(1, std::memory_order_relaxed); }

// Whether unit_clear_cold() must be called before the descriptor is used again. Line 0 only.
inline bool unit_needs_clear(const Unit* unit) noexcept {
  return unit_is(unit, flag::kCold) || unit->marked.load(std::memory_order_relaxed) != 0;
}

// Whether freeing it takes more than giving its descriptor back. Line 0 only.
inline bool unit_needs_more(const Unit* unit) noexcept {
  return unit_is(unit, flag::kCold | flag::kStackKept) || unit->marked.load(std::memory_order_relaxed) != 0;
}

inline bool unit_cancelled(const Unit* unit) noexcept {
  return (unit->requests.load(std::memory_order_relaxed) & kCancelRequest) != 0;
}

inline bool unit_is_away(const Unit* unit) noexcept {
  return (unit->requests.load(std::memory_order_acquire) & kAwayRequest) != 0;
}

// Flags, and whether it is homed, as one word: of a unit that runs, or is about to, whose state has just
// been written; the whole header could not be forwarded from that store.
using AttributeWord = uint32_t __attribute__((may_alias));
inline constexpr uint32_t kHomedAttribute = uint32_t{1} << 24;
inline uint32_t unit_attributes(const Unit* unit) noexcept {
  const auto* word = reinterpret_cast<const AttributeWord*>(&unit->flags);
  return __atomic_load_n(word, __ATOMIC_RELAXED) & ~(uint32_t{0xff} << 16);
}

// Debug builds keep a freed descriptor back for a while, so that a use after free finds kFree.
// Returns one that has been kept long enough; null: none.
Unit* unit_quarantine(Unit* unit) noexcept;

// Descriptors: one worker's stock; owner worker only.
struct UnitCache {
  Unit* head = nullptr;
  unsigned count = 0;
  static constexpr unsigned kMost = 1024;
  static constexpr unsigned kBatch = 256;

  Unit* pop() noexcept { return __builtin_expect(head != nullptr, 1) ? pop_unchecked() : refill(); }
  // Precondition: head != nullptr.
  Unit* pop_unchecked() noexcept {
    Unit* unit = head;
    head = unit->next;
    --count;
    return unit;
  }
  void push(Unit* unit) noexcept {
    push_unchecked(unit);
    if (__builtin_expect(count > kMost, 0)) spill();
  }
  bool full() const noexcept { return count >= kMost; }
  // Precondition: !full().
  void push_unchecked(Unit* unit) noexcept {
    if constexpr (kDebugBuild) {
      if ((unit = unit_quarantine(unit)) == nullptr) return;
    }
    unit->next = head;
    head = unit;
    ++count;
  }
  void drain() noexcept;

 private:
  Unit* refill() noexcept;
  void spill() noexcept;
};

// Has descriptors made until there have been so many, of one slab: else their pages are touched as units are created. As far as there is memory.
void unit_make_ahead(unsigned n) noexcept;
// For threads without a worker.
Unit* unit_acquire_global() noexcept;
// Whoever next takes units from what all share calls that, once: in a section, or inside the gate. Null: nobody does.
void unit_tell_of_next(void (*tell)() noexcept) noexcept;
void unit_release_global(Unit* unit) noexcept;

// Brings a descriptor's rarely used parts back to their first state. Precondition: its unit-local
// values are gone (locals_destroy()).
void unit_clear_cold(Unit* unit) noexcept;

// The end of what it has for the user: unit-local values, what a front-end keeps. The user's code is called.
// Precondition: guard down; terminated; only of units with flag kCold.
void unit_drop_values(Unit* unit) noexcept;
// Gives the program's memory back, if that is its stack.
void unit_release_kept_stack(Unit* unit) noexcept;

// What freeing a unit takes where unit_needs_more(), but for its descriptor. Precondition: as above.
void unit_release_more(Unit* unit) noexcept;

// Given at the first question; never 0. Async-signal-safe.
uint64_t unit_id(Unit* unit) noexcept;
uint64_t unit_ids_given() noexcept;
const char* unit_name(const Unit* unit) noexcept;

// Calls f(unit) for every descriptor that is not free. For finalise and dumps: the runtime is quiet,
// or the caller lives with units that change while it looks.
void unit_for_each(void (*f)(Unit*, void*), void* context) noexcept;
void unit_slabs_release() noexcept;

// From which pages slabs are made. Precondition: there is none.
void unit_setup(PageKind pages) noexcept;

// For debuggers: see base/debug_field.hpp.
extern const DebugPart unit_debug_part;

}  // namespace weft::rt
