// weak.cpp: who has been bound to omp_in_parallel() only because we are preloaded.
//
// An OpenBLAS with threads of its own refers to that function weakly: if there is a runtime, it wants to know of regions, and warns in each
// of its calls there. In Python's wheels it finds none, since the loader shows the wheels' own runtimes to those alone that need them. What
// is preloaded everybody finds. So the answer is no for an object that refers to us weakly and needs no runtime itself, in a program that
// has begun without one.
//
// The object is that of the return address. Rejected: dladdr(), dlsym() and dl_iterate_phdr(). They take locks of the loader's, which
// somebody may have who waits for this thread (src/intercept/README.md).
#include "api/weak.hpp"

#include <elf.h>
#include <link.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "front/front.hpp"

namespace weft::omp {
namespace {

constexpr const char* kRuntimes[] = {"libgomp", "libomp", "libiomp5", "libweft_omp", "libnvomp"};

// What the loader has of an object.
class Object {
 public:
  Object(const ElfW(Dyn)* dynamic, uintptr_t base) : dynamic_(dynamic), base_(base) {}

  bool needs_runtime() const {
    const auto* names = at<char>(DT_STRTAB);
    for (const auto* entry = dynamic_; names != nullptr && entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_NEEDED && is_runtime(names + entry->d_un.d_val)) return true;
    }
    return false;
  }

  // By the relocations: whoever refers weakly looks at the address, for which there is one, and where undefined symbols end in the table is
  // not said in each object.
  bool refers_weakly(const char* name) const {
    const auto* names = at<char>(DT_STRTAB);
    const auto* symbols = at<ElfW(Sym)>(DT_SYMTAB);
    const auto* relocation = at<ElfW(Rela)>(DT_RELA);
    if (names == nullptr || symbols == nullptr || relocation == nullptr) return false;
    const auto* end = relocation + value(DT_RELASZ) / sizeof(ElfW(Rela));
    for (; relocation != end; ++relocation) {
      const ElfW(Sym)& symbol = symbols[ELF64_R_SYM(relocation->r_info)];
      if (symbol.st_shndx == SHN_UNDEF && ELF64_ST_BIND(symbol.st_info) == STB_WEAK && std::strcmp(names + symbol.st_name, name) == 0)
        return true;
    }
    return false;
  }

 private:
  // Also as renamed by wheels: libgomp-a34b3233.so.1.0.0.
  static bool is_runtime(const char* file) {
    for (const char* name : kRuntimes) {
      const size_t length = std::strlen(name);
      if (std::strncmp(file, name, length) == 0 && (file[length] == '.' || file[length] == '-')) return true;
    }
    return false;
  }

  uintptr_t value(ElfW(Sxword) tag) const {
    for (const auto* entry = dynamic_; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == tag) return entry->d_un.d_val;
    }
    return 0;
  }
  // The loader has made addresses of them, but for the kernel's own module.
  template <class T>
  const T* at(ElfW(Sxword) tag) const {
    const uintptr_t given = value(tag);
    return reinterpret_cast<const T*>(given != 0 && given < base_ ? base_ + given : given);
  }

  const ElfW(Dyn)* dynamic_;
  uintptr_t base_;
};

int look_at(dl_phdr_info* module, size_t, void*) {
  for (const auto* header = module->dlpi_phdr; header != module->dlpi_phdr + module->dlpi_phnum; ++header) {
    if (header->p_type != PT_DYNAMIC) continue;
    const auto* dynamic = reinterpret_cast<const ElfW(Dyn)*>(module->dlpi_addr + header->p_vaddr);
    if (Object(dynamic, module->dlpi_addr).needs_runtime()) return 1;
  }
  return 0;
}

// Not where the program has begun with a runtime: one that somebody needs who is loaded later is shown to him alone.
constinit bool some_find_none = false;

[[gnu::constructor]] void look_who_needs_us() { some_find_none = dl_iterate_phdr(look_at, nullptr) == 0; }

bool find_out(const void* return_address) {
  const link_map* map = front::object_of(return_address);
  if (map == nullptr) return false;
  // The caller runs there, so it stays while we look.
  const Object object(map->l_ld, map->l_addr);
  return !object.needs_runtime() && object.refers_weakly("omp_in_parallel");
}

// Return addresses, shifted, with the answer as the last bit: each is a whole by itself. They are not forgotten when an object goes.
// Another one that comes to its place is mistaken for it only if a call of its own returns to the same byte, as in the same library
// loaded again.
constexpr size_t kAnswers = 256;
constinit std::atomic<uintptr_t> answers[kAnswers] = {};

}  // namespace

bool called_without_runtime(const void* return_address) {
  if (!some_find_none) return false;
  const auto address = reinterpret_cast<uintptr_t>(return_address);
  std::atomic<uintptr_t>& slot = answers[address % kAnswers];
  const uintptr_t known = slot.load(std::memory_order_relaxed);
  if (known >> 1 == address) return (known & 1) != 0;
  const bool answer = find_out(return_address);
  slot.store(address << 1 | static_cast<uintptr_t>(answer), std::memory_order_relaxed);
  return answer;
}

}  // namespace weft::omp
