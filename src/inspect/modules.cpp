// modules.cpp: addresses to names, without the loader's lock and without memory.
//
// Rejected: dladdr() and dl_iterate_phdr(), which take the loader's lock: a program that hangs in dlopen() would
// hang its dump too. A function's name is looked up in the file's own symbol table: the loader knows those that are exported
// only, so none of an ordinary program's.
#include "inspect/modules.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "inspect/loaded.hpp"
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

class File {
 public:
  explicit File(const char* path) noexcept : fd_(open(path, O_RDONLY | O_CLOEXEC)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  // What was read, which is less at the end of the file.
  size_t read_at(uint64_t offset, void* to, size_t bytes) const noexcept {
    if (fd_ < 0) return 0;
    const ssize_t n = pread(fd_, to, bytes, static_cast<off_t>(offset));
    return n > 0 ? static_cast<size_t>(n) : 0;
  }
  template <class T>
  bool read_at(uint64_t offset, T& to) const noexcept {
    return read_at(offset, &to, sizeof to) == sizeof to;
  }

 private:
  int fd_;
};

// Where the head of the file has been loaded; null: nowhere. Not `low`: of a program with a gap between its segments the loader names
// the one that has the address.
const void* loaded_head(const File& file, const Module& module) noexcept {
  ElfW(Ehdr) head;
  if (!file.read_at(0, head)) return nullptr;
  ElfW(Phdr) segment;
  for (unsigned i = 0; i < head.e_phnum && file.read_at(head.e_phoff + i * sizeof segment, segment); ++i) {
    if (segment.p_type == PT_LOAD && segment.p_offset == 0) return reinterpret_cast<const void*>(module.bias + segment.p_vaddr);
  }
  return nullptr;
}

// Whether the file is what was loaded: it may have been replaced since. The head has the build id too.
bool is_loaded_file(const File& file, const Module& module) noexcept {
  constexpr size_t kHead = 1024;
  unsigned char in_file[kHead];
  unsigned char in_memory[kHead];
  const void* head = loaded_head(file, module);
  return head != nullptr && file.read_at(0, in_file, kHead) == kHead && peek(head, in_memory, kHead) &&
         std::memcmp(in_file, in_memory, kHead) == 0;
}

struct SymbolTable {
  ElfW(Shdr) symbols{};
  ElfW(Shdr) names{};
};

// The full table; of a stripped file the one for the loader.
bool find_table(const File& file, SymbolTable& table) noexcept {
  ElfW(Ehdr) head;
  if (!file.read_at(0, head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return false;
  const auto section = [&](unsigned index, ElfW(Shdr)& to) {
    return index < head.e_shnum && file.read_at(head.e_shoff + index * sizeof to, to);
  };
  bool found = false;
  ElfW(Shdr) at;
  for (unsigned i = 0; i < head.e_shnum && section(i, at); ++i) {
    if (at.sh_type != SHT_SYMTAB && (at.sh_type != SHT_DYNSYM || found)) continue;
    if (!section(at.sh_link, table.names)) continue;
    table.symbols = at;
    found = true;
    if (at.sh_type == SHT_SYMTAB) break;
  }
  return found;
}

// The symbol that covers the address; else, of those without a size, the nearest below it.
bool find_symbol(const File& file, const SymbolTable& table, uintptr_t at, ElfW(Sym)& best) noexcept {
  ElfW(Sym) some[64];
  bool found = false;
  const uint64_t end = table.symbols.sh_offset + table.symbols.sh_size;
  for (uint64_t from = table.symbols.sh_offset; from + sizeof some[0] <= end;) {
    const size_t most = std::min<uint64_t>(sizeof some, end - from) / sizeof some[0];
    const size_t count = file.read_at(from, some, most * sizeof some[0]) / sizeof some[0];
    if (count == 0) break;
    from += count * sizeof some[0];
    for (size_t i = 0; i < count; ++i) {
      const ElfW(Sym)& symbol = some[i];
      const unsigned type = ELF64_ST_TYPE(symbol.st_info);
      if ((type != STT_FUNC && type != STT_NOTYPE) || symbol.st_shndx == SHN_UNDEF) continue;
      if (at < symbol.st_value) continue;
      const bool covers = at - symbol.st_value < symbol.st_size;
      if (covers && type == STT_FUNC) {
        best = symbol;
        return true;
      }
      if (symbol.st_size == 0 && (!found || symbol.st_value > best.st_value)) {
        best = symbol;
        found = true;
      }
    }
  }
  return found;
}

Symbol look_up(uintptr_t address, const Module& module) noexcept {
  Symbol symbol;
  const File file(module.path);
  SymbolTable table;
  ElfW(Sym) found{};
  const uintptr_t at = address - module.bias;
  if (!is_loaded_file(file, module) || !find_table(file, table) || !find_symbol(file, table, at, found)) {
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
