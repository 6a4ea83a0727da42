// sanitizer_switch.hpp (valgrind): Valgrind is told which memory is a stack. Otherwise it takes a switch for one
// great push or pop, and whatever lies between for dead: units, pools, everything.
//
// The same library runs without Valgrind: a request is then a few instructions that do nothing, once for each
// stack that is made and given back, and none where one is used again or switched to.
#pragma once

#include <valgrind/valgrind.h>

#include <cstddef>

// For hot parts of functions that are left without returning.
#define WEFT_HOT [[gnu::always_inline]] inline

namespace weft::rt::san {

inline constexpr bool kSignalsComeLate = false;
inline constexpr bool kHandlesFaults = false;
inline constexpr unsigned kOwnThreads = 0;
inline constexpr bool kAllocatorKnowsFork = true;
inline constexpr bool kLooksAtThreadsLeftBehind = false;

// Why ULTs cannot have identities of their own under this tool; null: they can. And whether the tool has thread-local
// variables of its own among the program's, which are not to be reset.
inline const char* no_identities() noexcept { return RUNNING_ON_VALGRIND != 0 ? "Valgrind does not know the instruction that changes the thread pointer" : nullptr; }
inline constexpr bool kOwnThreadLocals = false;

struct StackState {
  unsigned id = 0;
};

inline void stack_created(StackState& state, const void* low, const void* top) noexcept {
  state.id = VALGRIND_STACK_REGISTER(low, top);
}
inline void stack_destroyed(StackState& state) noexcept { VALGRIND_STACK_DEREGISTER(state.id); }
inline void stack_adopted(StackState&) noexcept {}  // a thread's own: it knows those
inline void before_switch(StackState&, StackState&, const void*, size_t, bool) noexcept {}
inline void after_switch(StackState&) noexcept {}
inline void identity_changed(const void*, size_t) noexcept {}
inline void pointers_begin(const void*, size_t) noexcept {}
inline void pointers_end(const void*, size_t) noexcept {}

// Whether the next two do anything.
inline constexpr bool kOrders = false;
inline void acquire(void*) noexcept {}
inline void release(void*) noexcept {}
inline void stack_reused(void*, void*) noexcept {}

}  // namespace weft::rt::san
