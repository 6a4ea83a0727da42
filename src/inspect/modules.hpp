// modules.hpp: what code lies at an address: which library or program, and which function.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::rt {

struct Module {
  uintptr_t low = 0;          // [low, high): where it is mapped
  uintptr_t high = 0;
  uintptr_t bias = 0;         // address less bias: the address in the file, as addr2line wants it
  uintptr_t unwind_table = 0; // its .eh_frame_hdr; 0: none
  const char* path = "";      // of its file; "": unknown. Good until the next call
};

// False: no code that was loaded lies there (it may have been generated). Async-signal-safe; one caller at a time.
bool module_at(uintptr_t address, Module& module) noexcept;

struct Symbol {
  static constexpr size_t kMostName = 128;
  char name[kMostName] = "";  // as the linker knows it; "": none
  uintptr_t offset = 0;       // of the address in the function
};

// The function at `address` in the module, as its file says. Both: async-signal-safe; one caller at a time.
Symbol symbol_at(uintptr_t address, const Module& module) noexcept;
// Forgets what has been looked up: libraries may have come and gone since the last report.
void symbols_forget() noexcept;

}  // namespace weft::rt
