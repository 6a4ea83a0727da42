// elf_file.hpp: the symbol table of a file. Async-signal-safe: it is read piece by piece, without memory.
#pragma once

#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace weft::rt {

class ElfFile {
 public:
  explicit ElfFile(const char* path) noexcept : fd_(open(path, O_RDONLY | O_CLOEXEC)) {}
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;
  ~ElfFile() {
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

// Whether the file is what was loaded, so many bytes from where it was linked to be: it may have been replaced since.
bool is_loaded(const ElfFile& file, uintptr_t bias) noexcept;

struct SymbolTable {
  ElfW(Shdr) symbols{};
  ElfW(Shdr) names{};
};

// The full table; of a stripped file the one for the loader.
bool find_table(const ElfFile& file, SymbolTable& table) noexcept;

// visit(symbol): true: that was the last one.
template <class Visit>
void for_each_symbol(const ElfFile& file, const SymbolTable& table, Visit&& visit) noexcept {
  ElfW(Sym) some[64];
  const uint64_t end = table.symbols.sh_offset + table.symbols.sh_size;
  for (uint64_t from = table.symbols.sh_offset; from + sizeof some[0] <= end;) {
    const size_t most = std::min<uint64_t>(sizeof some, end - from) / sizeof some[0];
    const size_t count = file.read_at(from, some, most * sizeof some[0]) / sizeof some[0];
    if (count == 0) return;
    from += count * sizeof some[0];
    for (size_t i = 0; i < count; ++i) {
      if (visit(static_cast<const ElfW(Sym)&>(some[i]))) return;
    }
  }
}

}  // namespace weft::rt
