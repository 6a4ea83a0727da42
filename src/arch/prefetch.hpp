// prefetch.hpp: has a cache line come that is going to be written.
#pragma once

namespace weft::rt {

// Any address.
inline void prefetch_own(const void* address) noexcept {
#if defined(__x86_64__)
  // __builtin_prefetch(…, 1) is this only from -mprfchw on. Where a CPU does not have it, it does nothing.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 1);
#endif
}

}  // namespace weft::rt
