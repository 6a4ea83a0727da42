// modules.cpp: addresses to names, without the loader's lock and without memory.
//
// Rejected: dladdr() and dl_iterate_phdr(), which take the loader's lock: a program that hangs in dlopen() would
// hang its dump too. A function's name is looked up in the file's own symbol table: the loader knows those that are exported
// only, so none of an ordinary program's.
#include "inspect/modules.hpp"

#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <cstring>

#include "inspect/loaded.hpp"
#include "os/elf_file.hpp"
#include "os/peek.hpp"

namespace weft::rt {
namespace {

// "" where it is too long, or /proc is not mounted.
const char* program_path() noexcept {
  static char path[1024];  // always written with the same text
  if (*path == '\0') {
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
    if (n < 0 || static_cast<size_t>(n) == sizeof path) path[0] = '\0';
  }
  return path;
}

// "" where it is gone, or too long.
const char* copied_path(const char* path) noexcept {
  static char copy[1024];
  constexpr size_t kStep = 64;  // a string may end at the end of what is mapped
  for (size_t size = 0; path != nullptr && size + kStep <= sizeof copy;) {
    const size_t step = kStep - (reinterpret_cast<uintptr_t>(path) + size) % kStep;
    if (!peek(path + size, copy + size, step)) break;
    if (std::memchr(copy + size, '\0', step) != nullptr) return copy;
    size += step;
  }
  return "";
}

}  // namespace

bool module_at(uintptr_t address, Module& module) noexcept {
  Loaded loaded;
  if (!loaded_at(address, loaded)) return false;
  module.low = loaded.low;
  module.high = loaded.high;
  module.unwind_table = loaded.unwind_table;
  module.bias = loaded.bias;
  const Peek<link_map> map(loaded.map);
  module.path = map ? copied_path(map->l_name) : "";
  // The program itself has no name there.
  if (*module.path == '\0') module.path = program_path();
  return true;
}

namespace {

// The symbol that covers the address; else, of those without a size, the nearest below it.
bool find_symbol(const ElfFile& file, const SymbolTable& table, uintptr_t at, ElfW(Sym)& best) noexcept {
  bool found = false;
  for_each_symbol(file, table, [&](const ElfW(Sym)& symbol) {
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    if ((type != STT_FUNC && type != STT_NOTYPE) || symbol.st_shndx == SHN_UNDEF || at < symbol.st_value) return false;
    const bool covers = at - symbol.st_value < symbol.st_size && type == STT_FUNC;
    if (!covers && (symbol.st_size != 0 || (found && symbol.st_value <= best.st_value))) return false;
    best = symbol;
    found = true;
    return covers;
  });
  return found;
}

Symbol look_up(uintptr_t address, const Module& module) noexcept {
  Symbol symbol;
  const ElfFile file(module.path);
  SymbolTable table;
  ElfW(Sym) found{};
  const uintptr_t at = address - module.bias;
  if (!is_loaded(file, module.bias) || !find_table(file, table) || !find_symbol(file, table, at, found)) {
    return symbol;
  }
  file.read_at(table.names.sh_offset + found.st_name, symbol.name, sizeof symbol.name - 1);
  symbol.name[sizeof symbol.name - 1] = '\0';
  symbol.offset = at - found.st_value;
  return symbol;
}

// Thousands of ULTs wait in the same few places.
struct Known {
  uintptr_t address = 0;
  uintptr_t low = 0;
  Symbol symbol;
};
constexpr size_t kKnown = 256;
Known known[kKnown];

}  // namespace

Symbol symbol_at(uintptr_t address, const Module& module) noexcept {
  Known& place = known[(address ^ address >> 8) % kKnown];
  if (place.address != address || place.low != module.low) {
    place = {address, module.low, look_up(address, module)};
  }
  return place.symbol;
}

void symbols_forget() noexcept {
  loaded_forget();
  for (Known& place : known) place.address = 0;
}

}  // namespace weft::rt
