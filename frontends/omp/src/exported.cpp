#include "exported.hpp"

#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstring>

namespace weft::omp {

namespace {

struct Wanted {
  const char* name;
  uintptr_t ours;
  uint32_t hash;
  bool found = false;
};

uint32_t gnu_hash(const char* name) {
  uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

// What the loader has of a module for look-ups by name.
struct Symbols {
  const ElfW(Sym)* table = nullptr;
  const char* names = nullptr;
  const uint32_t* gnu = nullptr;  // DT_GNU_HASH
  const uint32_t* old = nullptr;  // DT_HASH
};

Symbols symbols_of(const dl_phdr_info& module) {
  Symbols symbols;
  for (const auto* header = module.dlpi_phdr; header != module.dlpi_phdr + module.dlpi_phnum; ++header) {
    if (header->p_type != PT_DYNAMIC) continue;
    for (const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(module.dlpi_addr + header->p_vaddr); entry->d_tag != DT_NULL; ++entry) {
      // The loader has made addresses of them, but for the kernel's own module.
      const uintptr_t at = entry->d_un.d_ptr < module.dlpi_addr ? module.dlpi_addr + entry->d_un.d_ptr : entry->d_un.d_ptr;
      if (entry->d_tag == DT_SYMTAB) symbols.table = reinterpret_cast<const ElfW(Sym)*>(at);
      if (entry->d_tag == DT_STRTAB) symbols.names = reinterpret_cast<const char*>(at);
      if (entry->d_tag == DT_GNU_HASH) symbols.gnu = reinterpret_cast<const uint32_t*>(at);
      if (entry->d_tag == DT_HASH) symbols.old = reinterpret_cast<const uint32_t*>(at);
    }
  }
  return symbols;
}

bool is_wanted(const Wanted& wanted, const Symbols& symbols, uint32_t index, uintptr_t base) {
  const ElfW(Sym)& symbol = symbols.table[index];
  return symbol.st_shndx != SHN_UNDEF && base + symbol.st_value != wanted.ours &&
         std::strcmp(symbols.names + symbol.st_name, wanted.name) == 0;
}

// How many buckets, the first symbol that is in one, the words of a filter, its shift; the filter, the buckets, and of each symbol its
// hash, whose last bit says that the bucket ends.
bool in_gnu_table(const Wanted& wanted, const Symbols& symbols, uintptr_t base) {
  const uint32_t buckets = symbols.gnu[0], first = symbols.gnu[1], filter_words = symbols.gnu[2];
  if (buckets == 0) return false;
  const uint32_t* bucket = symbols.gnu + 4 + filter_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
  const uint32_t* hashes = bucket + buckets;
  uint32_t index = bucket[wanted.hash % buckets];
  if (index < first) return false;
  for (;; ++index) {
    const uint32_t hash = hashes[index - first];
    if ((hash | 1) == (wanted.hash | 1) && is_wanted(wanted, symbols, index, base)) return true;
    if ((hash & 1) != 0) return false;
  }
}

// How many buckets, how many symbols.
bool in_old_table(const Wanted& wanted, const Symbols& symbols, uintptr_t base) {
  for (uint32_t index = 1; index < symbols.old[1]; ++index) {
    if (is_wanted(wanted, symbols, index, base)) return true;
  }
  return false;
}

int look_at(dl_phdr_info* module, size_t, void* arg) {
  auto& wanted = *static_cast<Wanted*>(arg);
  const Symbols symbols = symbols_of(*module);
  if (symbols.table == nullptr || symbols.names == nullptr) return 0;
  if (symbols.gnu != nullptr) {
    wanted.found = in_gnu_table(wanted, symbols, module->dlpi_addr);
  } else if (symbols.old != nullptr) {
    wanted.found = in_old_table(wanted, symbols, module->dlpi_addr);
  }
  return wanted.found ? 1 : 0;
}

}  // namespace

bool exported_by_others(const char* name, const void* ours) {
  Wanted wanted{name, reinterpret_cast<uintptr_t>(ours), gnu_hash(name)};
  dl_iterate_phdr(look_at, &wanted);
  return wanted.found;
}

}  // namespace weft::omp
