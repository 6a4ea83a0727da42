#include "identity/private_symbols.hpp"

#include <cstring>
#include <new>
#include <utility>

#include "os/elf_file.hpp"

namespace weft::rt {
namespace {

// Not by dlopen(), of which the linker warns in each program that is linked statically.
const link_map* find_library(const char* name) noexcept {
  for (const link_map* map = _r_debug.r_map; map != nullptr; map = map->l_next) {
    const char* slash = std::strrchr(map->l_name, '/');
    if (std::strncmp(slash != nullptr ? slash + 1 : map->l_name, name, std::strlen(name)) == 0) return map;
  }
  return nullptr;
}

}  // namespace

void PrivateSymbols::read_table() noexcept {
  const link_map* map = find_library(library_);
  if (map == nullptr) return;
  const ElfFile file(map->l_name);
  bias_ = map->l_addr;
  SymbolTable table;
  if (!is_loaded(file, bias_) || !find_table(file, table)) return;
  const size_t bytes = table.names.sh_size;
  names_.reset(new (std::nothrow) char[bytes + 1]);
  symbols_.reset(new (std::nothrow) ElfW(Sym)[table.symbols.sh_size / sizeof(ElfW(Sym))]);
  if (names_ == nullptr || symbols_ == nullptr || file.read_at(table.names.sh_offset, names_.get(), bytes) != bytes) return;
  names_[bytes] = '\0';
  for_each_symbol(file, table, [&](const ElfW(Sym)& symbol) {
    if (symbol.st_shndx != SHN_UNDEF && symbol.st_name < bytes) symbols_[count_++] = symbol;
    return false;
  });
}

const void* PrivateSymbols::find(const char* name) noexcept {
  if (!std::exchange(is_read_, true)) read_table();
  for (size_t i = 0; i < count_; ++i) {
    if (std::strcmp(names_.get() + symbols_[i].st_name, name) == 0) return reinterpret_cast<const void*>(bias_ + symbols_[i].st_value);
  }
  return nullptr;
}

void PrivateSymbols::forget() noexcept {
  count_ = 0;
  symbols_.reset();
  names_.reset();
}

}  // namespace weft::rt
