// loaded.cpp: see loaded.hpp.
//
// The loader keeps its list for debuggers (_r_debug). It may change while it is read, so everything is read by peek(), and what does not
// begin as an ELF file is left out. The list's end may be missed where something is unloaded just now; it is not followed further than
// there is room for.
#include "inspect/loaded.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "os/peek.hpp"

namespace weft::rt {
namespace {

constexpr size_t kMostObjects = 1024;
constexpr unsigned kMostSegments = 64;

struct Object {
  Loaded loaded;
  uintptr_t segments;  // its program headers
  unsigned count;      // of them
};
Object objects[kMostObjects];
size_t object_count = 0;

template <class Visit>
bool for_each_segment(uintptr_t segments, unsigned count, Visit&& visit) noexcept {
  ElfW(Phdr) some[kMostSegments];
  count = std::min(count, kMostSegments);
  if (!peek(reinterpret_cast<const void*>(segments), some, count * sizeof some[0])) return false;
  for (const ElfW(Phdr)* each = some; each != some + count; ++each) visit(*each);
  return true;
}

bool describe(const link_map* map, uintptr_t bias, uintptr_t segments, unsigned count, Object& object) noexcept {
  Loaded loaded;
  loaded.map = map;
  loaded.bias = bias;
  loaded.low = UINTPTR_MAX;
  const bool known = for_each_segment(segments, count, [&](const ElfW(Phdr)& segment) {
    if (segment.p_type == PT_GNU_EH_FRAME) loaded.unwind_table = bias + segment.p_vaddr;
    if (segment.p_type != PT_LOAD) return;
    loaded.low = std::min(loaded.low, bias + segment.p_vaddr);
    loaded.high = std::max(loaded.high, bias + segment.p_vaddr + segment.p_memsz);
  });
  object = {loaded, segments, count};
  return known && loaded.low < loaded.high;
}

// visit(object): true: that was the last one. What the kernel has loaded tells where its program headers are; of a library the file's head lies
// where it begins.
template <class Visit>
void for_each_object(Visit&& visit) noexcept {
  const auto segments = static_cast<uintptr_t>(getauxval(AT_PHDR));
  const auto count = static_cast<unsigned>(getauxval(AT_PHNUM));
  const link_map* map = _r_debug.r_map;
  Object object;
  if (map == nullptr) {
    uintptr_t bias = 0;
    for_each_segment(segments, count, [&](const ElfW(Phdr)& each) {
      if (each.p_type == PT_PHDR) bias = segments - each.p_vaddr;
    });
    if (describe(nullptr, bias, segments, count, object)) visit(object);
  }
  for (size_t i = 0; map != nullptr && i < kMostObjects; ++i) {
    const Peek<link_map> copy(map);
    if (!copy) return;
    bool known = false;
    if (i == 0) {
      known = describe(map, copy->l_addr, segments, count, object);
    } else if (const Peek<ElfW(Ehdr)> head(reinterpret_cast<const ElfW(Ehdr)*>(copy->l_addr));
               head && std::memcmp(head->e_ident, ELFMAG, SELFMAG) == 0) {
      known = describe(map, copy->l_addr, copy->l_addr + head->e_phoff, head->e_phnum, object);
    }
    if (known && visit(static_cast<const Object&>(object))) return;
    map = copy->l_next;
  }
}

// Others may lie in its gaps.
bool has(const Object& object, uintptr_t address) noexcept {
  if (address < object.loaded.low || address >= object.loaded.high) return false;
  bool found = false;
  for_each_segment(object.segments, object.count, [&](const ElfW(Phdr)& segment) {
    const uintptr_t from = object.loaded.bias + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && address >= from && address - from < segment.p_memsz) found = true;
  });
  return found;
}

}  // namespace

bool loaded_in_list(uintptr_t address, Loaded& loaded) noexcept {
  if (object_count == 0) {
    for_each_object([](const Object& object) {
      objects[object_count++] = object;
      return object_count == kMostObjects;
    });
  }
  for (const Object* each = objects; each != objects + object_count; ++each) {
    if (!has(*each, address)) continue;
    loaded = each->loaded;
    return true;
  }
  return false;
}

namespace {

// Of all of them, as they are now. False: none has it.
bool find_in_list(const void* address, Loaded& loaded) noexcept {
  const int error = errno;
  bool found = false;
  for_each_object([&](const Object& object) {
    found = has(object, reinterpret_cast<uintptr_t>(address));
    if (found) loaded = object.loaded;
    return found;
  });
  errno = error;
  return found;
}

}  // namespace

const link_map* loaded_object_in_list(const void* address) noexcept {
  Loaded loaded;
  return find_in_list(address, loaded) ? loaded.map : nullptr;
}

void loaded_forget() noexcept { object_count = 0; }

#ifdef DLFO_STRUCT_HAS_EH_DBASE  // glibc 2.35
bool loaded_at(uintptr_t address, Loaded& loaded) noexcept {
  dl_find_object found;
  if (_dl_find_object(reinterpret_cast<void*>(address), &found) != 0) return false;
  loaded.low = reinterpret_cast<uintptr_t>(found.dlfo_map_start);
  loaded.high = reinterpret_cast<uintptr_t>(found.dlfo_map_end);
  loaded.unwind_table = reinterpret_cast<uintptr_t>(found.dlfo_eh_frame);
  loaded.map = found.dlfo_link_map;
  // It may be unloaded just now.
  const Peek<link_map> map(loaded.map);
  if (!map) return false;
  loaded.bias = map->l_addr;
  return true;
}
const link_map* loaded_object(const void* address) noexcept {
  dl_find_object found;
  return _dl_find_object(const_cast<void*>(address), &found) == 0 ? found.dlfo_link_map : nullptr;
}
bool loaded_range(const void* address, uintptr_t& low, uintptr_t& high) noexcept {
  dl_find_object found;
  if (_dl_find_object(const_cast<void*>(address), &found) != 0) return false;
  low = reinterpret_cast<uintptr_t>(found.dlfo_map_start);
  high = reinterpret_cast<uintptr_t>(found.dlfo_map_end);
  return true;
}
#else
const link_map* loaded_object(const void* address) noexcept { return loaded_object_in_list(address); }
bool loaded_range(const void* address, uintptr_t& low, uintptr_t& high) noexcept {
  Loaded loaded;
  if (!find_in_list(address, loaded)) return false;
  low = loaded.low;
  high = loaded.high;
  return true;
}
bool loaded_at(uintptr_t address, Loaded& loaded) noexcept { return loaded_in_list(address, loaded); }
#endif

}  // namespace weft::rt
