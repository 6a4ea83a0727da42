// sanitizer_switch.hpp (asan): AddressSanitizer keeps a shadow of each stack and a fake stack.
#pragma once

#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

#include <cstddef>

namespace weft::rt::san {

struct StackState {
  void* fake_stack = nullptr;  // saved while nothing runs on the stack
};

inline void stack_created(StackState&) noexcept {}
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

inline void acquire(void*) noexcept {}
inline void release(void*) noexcept {}

// Frames that were left without returning leave poison behind.
inline void stack_reused(void* low, void* high) noexcept {
  __asan_unpoison_memory_region(low, static_cast<size_t>(static_cast<char*>(high) -
                                                         static_cast<char*>(low)));
}

}  // namespace weft::rt::san
