// sanitizer_switch.hpp (none): no tool has to be told of stack switches.
#pragma once

#include <cstddef>

// For hot parts of functions that are left without returning.
#define WEFT_HOT [[gnu::always_inline]] inline

namespace weft::rt::san {

// Whether handlers of signals run later than the signal, and how many threads the tool adds.
inline constexpr bool kSignalsComeLate = false;
inline constexpr bool kHandlesFaults = false;
inline constexpr unsigned kOwnThreads = 0;
// Whether fork() finds the allocator whole, whatever other threads do in it.
inline constexpr bool kAllocatorKnowsFork = true;
// Whether in a forked child the tool goes on to look at the thread-local storage of threads that have stayed behind.
inline constexpr bool kLooksAtThreadsLeftBehind = false;

// Why ULTs cannot have identities of their own under this tool; null: they can. And whether the tool has thread-local
// variables of its own among the program's, which are not to be reset.
inline const char* no_identities() noexcept { return nullptr; }
inline constexpr bool kOwnThreadLocals = false;

// What a sanitizer wants to know about one stack.
struct StackState {};

inline void stack_created(StackState&, const void*, const void*) noexcept {}  // [low, top), with its guard
inline void stack_destroyed(StackState&) noexcept {}
inline void stack_adopted(StackState&) noexcept {}  // the stack this thread runs on now
// Called on the old stack just before the switch, and on the new one just after it. `dies`: nothing
// will come back to the old frames.
inline void before_switch(StackState&, StackState&, const void*, size_t, bool) noexcept {}
inline void after_switch(StackState&) noexcept {}
inline void pointers_begin(const void*, size_t) noexcept {}
inline void pointers_end(const void*, size_t) noexcept {}

// Whether the next two do anything.
inline constexpr bool kOrders = false;
inline void acquire(void*) noexcept {}
inline void release(void*) noexcept {}
inline void stack_reused(void*, void*) noexcept {}
// The thread pointer has become another one, and the caller runs on this stack.
inline void identity_changed(const void*, size_t) noexcept {}

}  // namespace weft::rt::san
