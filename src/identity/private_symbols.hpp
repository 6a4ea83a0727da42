// private_symbols.hpp: what the C library names for debuggers only.
//
// It is exported since glibc 2.34. Before that libpthread.so.0 has it in its full symbol table, which distributions leave it, since
// libthread_db needs that too.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace weft::rt {

class PrivateSymbols {
 public:
  // Null: there is no such name. While this library is loaded: it takes the loader's lock, and, where the name is not exported, looks at its list
  // and takes memory.
  const void* find(const char* name) noexcept;
  // Nothing more is asked for.
  void forget() noexcept;

 private:
  void read_table() noexcept;

  bool is_read_ = false;
  uintptr_t bias_ = 0;  // from where the library was linked to be to where it is
  size_t count_ = 0;    // of the symbols
  std::unique_ptr<ElfW(Sym)[]> symbols_;
  std::unique_ptr<char[]> names_;
};

}  // namespace weft::rt
