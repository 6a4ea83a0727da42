// loaded.hpp: which program or library lies at an address, as the loader knows it, without its lock.
#pragma once

#include <link.h>

#include <cstdint>

namespace weft::rt {

struct Loaded {
  uintptr_t low = 0;          // [low, high): where it is mapped
  uintptr_t high = 0;
  uintptr_t unwind_table = 0; // its .eh_frame_hdr; 0: none
  uintptr_t bias = 0;
  const link_map* map = nullptr;  // may be gone; null: a program that was linked with -static
};

// False: nothing that was loaded. Async-signal-safe; one caller at a time.
bool loaded_at(uintptr_t address, Loaded& loaded) noexcept;
// The same from the loader's list, where the C library has no _dl_find_object(). It is read once, and then remembered: what is loaded
// later is not found before loaded_forget().
bool loaded_in_list(uintptr_t address, Loaded& loaded) noexcept;
void loaded_forget() noexcept;

// Which of them alone; null: none. Async-signal-safe, any number of callers at a time.
const link_map* loaded_object(const void* address) noexcept;
// Where it is mapped; false: nowhere. As cheap, and as safe.
bool loaded_range(const void* address, uintptr_t& low, uintptr_t& high) noexcept;
// The first from that list, which takes some 0.1 ms each time.
const link_map* loaded_object_in_list(const void* address) noexcept;

}  // namespace weft::rt
