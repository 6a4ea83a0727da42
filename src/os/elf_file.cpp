#include "os/elf_file.hpp"

#include <elf.h>

#include <cstring>

#include "os/peek.hpp"

namespace weft::rt {
namespace {

// Where the head of the file has been loaded; null: nowhere. Not the lowest address: of a program with a gap between its segments the loader
// names the one that has the address.
const void* loaded_head(const ElfFile& file, uintptr_t bias) noexcept {
  ElfW(Ehdr) head;
  if (!file.read_at(0, head)) return nullptr;
  ElfW(Phdr) segment;
  for (unsigned i = 0; i < head.e_phnum && file.read_at(head.e_phoff + i * sizeof segment, segment); ++i) {
    if (segment.p_type == PT_LOAD && segment.p_offset == 0) return reinterpret_cast<const void*>(bias + segment.p_vaddr);
  }
  return nullptr;
}

}  // namespace

// The head has the build id too.
bool is_loaded(const ElfFile& file, uintptr_t bias) noexcept {
  constexpr size_t kHead = 1024;
  unsigned char in_file[kHead];
  unsigned char in_memory[kHead];
  const void* head = loaded_head(file, bias);
  return head != nullptr && file.read_at(0, in_file, kHead) == kHead && peek(head, in_memory, kHead) &&
         std::memcmp(in_file, in_memory, kHead) == 0;
}

bool find_table(const ElfFile& file, SymbolTable& table) noexcept {
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

}  // namespace weft::rt
