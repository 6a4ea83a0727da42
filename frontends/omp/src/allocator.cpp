// allocator.cpp
//
// In front of what the program gets lies a header, which says where the whole block begins and which allocator has it. Blocks
// come from malloc(), which has caches for each thread already; pinned ones from mmap(), as pages are pinned as a whole.
#include "allocator.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "api/caller.hpp"

namespace weft::omp {
namespace {

struct Allocator {
  // constant
  size_t alignment = 1;
  size_t pool = SIZE_MAX;
  Fallback fallback = Fallback::kDefault;
  AllocatorHandle other = kNullAllocator;  // fall-back
  bool pinned = false;
  // any thread
  std::atomic<size_t> used{0};
};

struct Header {
  void* block;
  size_t block_bytes;
  size_t bytes;  // the program's
  AllocatorHandle handle;
};
constexpr size_t kLeastAlignment = 16;
static_assert(sizeof(Header) % kLeastAlignment == 0);

// Predefined, and yet with traits.
Allocator* pinned_of_gcc() {
  static constinit Allocator pinned{.fallback = Fallback::kNull, .pinned = true};
  return &pinned;
}

Allocator* own(AllocatorHandle handle) {
  if (handle == kPinnedOfGcc) return pinned_of_gcc();
  return handle >= kFirstOwn ? reinterpret_cast<Allocator*>(handle) : nullptr;
}

bool is_space(uintptr_t space) {
  return space <= kLastSpace || space == kDefaultSpaceOfClang || (space >= kFirstDeviceSpace && space <= kLastDeviceSpace) ||
         space == kManagedSpaceOfGcc;
}

Header* header_of(void* memory) { return static_cast<Header*>(memory) - 1; }

bool set_trait(Allocator& allocator, const TraitValue& trait) {
  const uintptr_t value = trait.value;
  const bool standard = value == kDefaultValue;
  switch (static_cast<Trait>(trait.key)) {
    case Trait::kAlignment:
      if (standard) return true;
      allocator.alignment = value;
      return std::has_single_bit(value);
    case Trait::kPoolSize:
      if (!standard) allocator.pool = value;
      return value != 0;
    case Trait::kFallback:
      if (!standard) allocator.fallback = static_cast<Fallback>(value);
      return standard || (value >= static_cast<uintptr_t>(Fallback::kDefault) && value <= static_cast<uintptr_t>(Fallback::kAllocator));
    case Trait::kFallbackData:
      allocator.other = standard ? kNullAllocator : value;
      return true;
    case Trait::kPinned:
      allocator.pinned = value == 1;
      return standard || value <= 1;
    // Hints, and what is true of all memory here. The values: contended, uncontended, serialized, private; all, thread,
    // pteam, cgroup, or all once more; environment, nearest, blocked, interleaved.
    case Trait::kSyncHint: return standard || (value >= 3 && value <= 6);
    case Trait::kAccess: return standard || (value >= 7 && value <= 10) || value == 19;
    case Trait::kPartition: return standard || (value >= 15 && value <= 18);
    case Trait::kPinDevice:
    case Trait::kPreferredDevice:
    case Trait::kDeviceAccess:
    case Trait::kTargetAccess:
    case Trait::kAtomicScope:
    case Trait::kPartSize: return true;
  }
  return false;
}

// Of the pool, if there is room.
bool reserve(Allocator& allocator, size_t bytes) {
  if (allocator.pool == SIZE_MAX) return true;
  size_t used = allocator.used.load(std::memory_order_relaxed);
  do {
    if (used > allocator.pool || bytes > allocator.pool - used) return false;  // more than all: see reallocate()
  } while (!allocator.used.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  return true;
}

void unreserve(Allocator* allocator, size_t bytes) {
  if (allocator != nullptr && allocator->pool != SIZE_MAX) allocator->used.fetch_sub(bytes, std::memory_order_relaxed);
}

void* map_pinned(size_t bytes) {
  void* const block = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) return nullptr;
  if (::mlock(block, bytes) == 0) return block;
  ::munmap(block, bytes);
  return nullptr;
}

void* take_block(const Allocator* allocator, size_t bytes, bool zeroed) {
  if (allocator != nullptr && allocator->pinned) return map_pinned(bytes);
  return zeroed ? std::calloc(1, bytes) : std::malloc(bytes);
}

// Null: no memory, or no room in the pool.
void* try_allocate(AllocatorHandle handle, size_t alignment, size_t bytes, bool zeroed) {
  Allocator* const allocator = own(handle);
  alignment = std::max({alignment, kLeastAlignment, allocator != nullptr ? allocator->alignment : 1});
  // malloc() aligns as much itself.
  size_t whole = sizeof(Header) + (alignment - kLeastAlignment);
  if (__builtin_add_overflow(whole, bytes, &whole)) return nullptr;
  if (allocator != nullptr && !reserve(*allocator, bytes)) return nullptr;
  void* const block = take_block(allocator, whole, zeroed);
  if (block == nullptr) {
    unreserve(allocator, bytes);
    return nullptr;
  }
  const uintptr_t memory = (reinterpret_cast<uintptr_t>(block) + sizeof(Header) + alignment - 1) & ~(alignment - 1);
  *header_of(reinterpret_cast<void*>(memory)) = {block, whole, bytes, handle};
  return reinterpret_cast<void*>(memory);
}

[[noreturn]] void give_up(size_t bytes) {
  std::fprintf(stderr, "weft: an allocator whose fall-back is to abort has no %zu bytes left\n", bytes);
  std::abort();
}

}  // namespace

AllocatorHandle create_allocator(uintptr_t space, int n, const TraitValue* traits) {
  if (!is_space(space) || n < 0 || (n > 0 && traits == nullptr)) return kNullAllocator;
  Allocator* const allocator = new (std::nothrow) Allocator;
  if (allocator == nullptr) return kNullAllocator;
  for (int i = 0; i < n; ++i) {
    if (set_trait(*allocator, traits[i])) continue;
    delete allocator;
    return kNullAllocator;
  }
  return reinterpret_cast<AllocatorHandle>(allocator);
}

void destroy_allocator(AllocatorHandle handle) {
  if (handle >= kFirstOwn) delete own(handle);
}

void* allocate(AllocatorHandle handle, size_t alignment, size_t bytes, bool zeroed) {
  if (bytes == 0 || !std::has_single_bit(std::max<size_t>(alignment, 1))) return nullptr;
  if (handle == kNullAllocator) handle = callers_icvs().allocator;
  for (;;) {
    void* const memory = try_allocate(handle, alignment, bytes, zeroed);
    if (memory != nullptr) return memory;
    const Allocator* allocator = own(handle);
    const Fallback fallback = allocator != nullptr ? allocator->fallback : Fallback::kNull;
    if (fallback == Fallback::kAbort) give_up(bytes);
    if (fallback == Fallback::kNull) return nullptr;
    // The alignment that was asked for counts with the next one too.
    alignment = std::max(alignment, allocator->alignment);
    handle = fallback == Fallback::kAllocator ? allocator->other : kDefaultAllocator;
    if (handle == kNullAllocator) return nullptr;
  }
}

void* reallocate(void* memory, size_t bytes, AllocatorHandle handle) {
  if (memory == nullptr) return allocate(handle, 1, bytes, false);
  if (bytes == 0) {
    deallocate(memory);
    return nullptr;
  }
  const Header header = *header_of(memory);
  if (handle == kNullAllocator) handle = header.handle;
  // Of its own pool the block takes the place of the old one: only the difference has to fit. Until that is freed both count.
  Allocator* const pool = handle == header.handle ? own(handle) : nullptr;
  unreserve(pool, header.bytes);
  void* const fresh = allocate(handle, 1, bytes, false);
  if (pool != nullptr && pool->pool != SIZE_MAX) pool->used.fetch_add(header.bytes, std::memory_order_relaxed);
  if (fresh == nullptr) return nullptr;
  std::memcpy(fresh, memory, std::min(bytes, header.bytes));
  deallocate(memory);
  return fresh;
}

void deallocate(void* memory) {
  if (memory == nullptr) return;
  const Header header = *header_of(memory);
  Allocator* const allocator = own(header.handle);
  unreserve(allocator, header.bytes);
  if (allocator != nullptr && allocator->pinned) {
    ::munmap(header.block, header.block_bytes);
  } else {
    std::free(header.block);
  }
}

}  // namespace weft::omp
