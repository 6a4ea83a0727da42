// sanitizer_switch.hpp (tsan): ThreadSanitizer keeps one state per stack, a "fiber".
#pragma once

#include <sanitizer/tsan_interface.h>

#include <cstddef>

// For hot parts of functions that are left without returning: those are not instrumented, their parts must be.
#define WEFT_HOT [[gnu::noinline]] inline

namespace weft::rt::san {

// A handler of a signal runs at the next call that TSan intercepts: what it is told of the interrupted code is
// old by then. And one thread of the process is TSan's own.
inline constexpr bool kSignalsComeLate = true;
inline constexpr bool kHandlesFaults = true;  // by a handler that it has installed before
inline constexpr unsigned kOwnThreads = 1;
// Whether fork() finds the allocator whole, whatever other threads do in it. That of gcc 12 takes no locks round a fork().
inline constexpr bool kAllocatorKnowsFork = false;
// That of gcc 13 looks at a thread that has stayed behind with one of its "slots", once it needs that for another.
inline constexpr bool kLooksAtThreadsLeftBehind = true;

// Why ULTs cannot have identities of their own under this tool. And whether the tool has thread-local variables of its own
// among the program's, which are not to be reset.
inline const char* no_identities() noexcept { return "ThreadSanitizer keeps what it knows of a ULT in thread-local storage"; }
inline constexpr bool kOwnThreadLocals = true;

struct StackState {
  void* fiber = nullptr;
  bool owned = false;  // made here, not a thread's own
};

inline void stack_created(StackState& s, const void*, const void*) noexcept {
  s.fiber = __tsan_create_fiber(0);
  s.owned = true;
}

inline void stack_destroyed(StackState& s) noexcept {
  if (s.owned) __tsan_destroy_fiber(s.fiber);
  s = {};
}

inline void stack_adopted(StackState& s) noexcept { s.fiber = __tsan_get_current_fiber(); }

// Not instrumented: between the call and the change of the stack pointer the call stack that TSan
// keeps is already the other one's.
[[gnu::always_inline]] __attribute__((no_sanitize("thread"))) inline void before_switch(
    StackState&, StackState& to, const void*, size_t, bool) noexcept {
  __tsan_switch_to_fiber(to.fiber, 0);  // what ran before happens before what runs now
}

inline void after_switch(StackState&) noexcept {}
inline void identity_changed(const void*, size_t) noexcept {}

inline void pointers_begin(const void*, size_t) noexcept {}
inline void pointers_end(const void*, size_t) noexcept {}

// Whether the next two do anything.
inline constexpr bool kOrders = true;
// The guard's handshake synchronises through membarrier(), which TSan does not know.
inline void acquire(void* address) noexcept { __tsan_acquire(address); }
inline void release(void* address) noexcept { __tsan_release(address); }
inline void stack_reused(void*, void*) noexcept {}

}  // namespace weft::rt::san
