// sanitizer_switch.hpp (asan): AddressSanitizer keeps a shadow of each stack and a fake stack.
#pragma once

#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

// For hot parts of functions that are left without returning.
#define WEFT_HOT [[gnu::always_inline]] inline

namespace weft::rt::san {

inline constexpr bool kSignalsComeLate = false;
inline constexpr bool kHandlesFaults = true;  // by a handler that it has installed before
inline constexpr unsigned kOwnThreads = 0;
// Whether fork() finds the allocator whole, whatever other threads do in it. That of gcc 12 takes no locks round a fork().
inline constexpr bool kAllocatorKnowsFork = false;
inline constexpr bool kLooksAtThreadsLeftBehind = false;

// Why ULTs cannot have identities of their own under this tool; null: they can. And whether the tool has thread-local
// variables of its own among the program's, which are not to be reset.
inline const char* no_identities() noexcept { return nullptr; }
inline constexpr bool kOwnThreadLocals = true;

struct StackState {
  void* fake_stack = nullptr;  // saved while nothing runs on the stack
};

inline void stack_created(StackState&, const void*, const void*) noexcept {}
inline void stack_destroyed(StackState&) noexcept {}
inline void stack_adopted(StackState&) noexcept {}

__attribute__((no_sanitize("address"))) inline void before_switch(StackState& from, StackState&,
                                                          const void* to_low, size_t to_size,
                                                          bool dies) noexcept {
  __sanitizer_start_switch_fiber(dies ? nullptr : &from.fake_stack, to_low, to_size);
}

__attribute__((no_sanitize("address"))) inline void after_switch(StackState& to) noexcept {
  __sanitizer_finish_switch_fiber(to.fake_stack, nullptr, nullptr);
  to.fake_stack = nullptr;
}

// ASan knows a thread by its thread-local storage, and each one's stack.
__attribute__((no_sanitize("address"))) inline void identity_changed(const void* low, size_t size) noexcept {
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&fake_stack, low, size);
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
}

// Memory from mmap() in which there are pointers to memory of malloc()'s that is not lost.
inline void pointers_begin(const void* low, size_t size) noexcept { __lsan_register_root_region(low, size); }
inline void pointers_end(const void* low, size_t size) noexcept { __lsan_unregister_root_region(low, size); }

// Whether the next two do anything.
inline constexpr bool kOrders = false;
inline void acquire(void*) noexcept {}
inline void release(void*) noexcept {}

// Frames that were left without returning leave poison behind. ASan clears a shadow by writing all of it,
// an eighth of the stack; of a big one, whose shadow was hardly ever touched, the pages are dropped.
inline void stack_reused(void* low, void* high) noexcept {
  constexpr uintptr_t kBig = uintptr_t{64} << 20;
  constexpr uintptr_t kPage = 4096;
  auto from = reinterpret_cast<uintptr_t>(low);
  const auto to = reinterpret_cast<uintptr_t>(high);
  if (to - from > kBig) {
    size_t scale = 0;
    size_t offset = 0;
    __asan_get_shadow_mapping(&scale, &offset);
    const uintptr_t unit = kPage << scale;  // of the stack, whose shadow is one page
    const uintptr_t first = (from + unit - 1) & -unit;
    const uintptr_t last = to & -unit;
    if (madvise(reinterpret_cast<void*>((first >> scale) + offset), (last - first) >> scale,
                MADV_DONTNEED) == 0) {
      __asan_unpoison_memory_region(low, first - from);
      from = last;
    }
  }
  __asan_unpoison_memory_region(reinterpret_cast<void*>(from), to - from);
}

}  // namespace weft::rt::san
