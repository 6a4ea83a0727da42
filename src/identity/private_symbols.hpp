// private_symbols.hpp: names of a library that it does not export: its full symbol table, where it has been left that.
//
// What glibc tells debuggers of its threads it exports since 2.34. Before that libpthread.so.0 has it in that table, which distributions leave
// it, since libthread_db needs it too.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace weft::rt {

class PrivateSymbols {
 public:
  // `library`: how the name of its file begins.
  constexpr explicit PrivateSymbols(const char* library) noexcept : library_(library) {}
  // Null: there is no such name. While our own library is loaded: it looks at the loader's list. Takes memory.
  const void* find(const char* name) noexcept;
  // Nothing more is asked for.
  void forget() noexcept;

 private:
  void read_table() noexcept;

  const char* library_;
  bool is_read_ = false;
  uintptr_t bias_ = 0;  // from where the library was linked to be to where it is
  size_t count_ = 0;    // of the symbols
  std::unique_ptr<ElfW(Sym)[]> symbols_;
  std::unique_ptr<char[]> names_;
};

}  // namespace weft::rt
