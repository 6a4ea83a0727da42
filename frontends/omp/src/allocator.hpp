// allocator.hpp: OpenMP's allocators and memory spaces. All memory is the same here, so a memory space means nothing; traits
// do: alignment, pool size, what happens when the pool is used up, pinning.
//
// Handles are numbers below kFirstOwn for the predefined allocators, or else an Allocator's address.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::omp {

using AllocatorHandle = uintptr_t;
inline constexpr AllocatorHandle kNullAllocator = 0, kDefaultAllocator = 1, kLastPredefined = 8, kFirstOwn = 4096;
inline constexpr AllocatorHandle kPinnedOfGcc = 200;  // ompx_gnu_pinned_mem_alloc
// Predefined memory spaces: 0 to 5, where 0 is the default one in gcc's header and in those of clang up to 19, and none in newer ones,
// which have another number for it; and those of memory that devices see (llvm_omp_target_…_mem_space, ompx_gnu_managed_mem_space).
inline constexpr uintptr_t kLastSpace = 5, kDefaultSpaceOfClang = 99, kFirstDeviceSpace = 100, kLastDeviceSpace = 102, kManagedSpaceOfGcc = 200;

// Values of omp_alloctrait_key_t and omp_alloctrait_value_t, the same in both compilers' headers. What comes behind kPartition is about devices.
enum class Trait : int {
  kSyncHint = 1,
  kAlignment,
  kAccess,
  kPoolSize,
  kFallback,
  kFallbackData,
  kPinned,
  kPartition,
  kPinDevice,
  kPreferredDevice,
  kDeviceAccess,
  kTargetAccess,
  kAtomicScope,
  kPartSize
};
enum class Fallback : uintptr_t { kDefault = 11, kNull, kAbort, kAllocator };
inline constexpr uintptr_t kDefaultValue = ~uintptr_t{0};  // omp_atv_default

struct TraitValue {  // omp_alloctrait_t
  int key;
  uintptr_t value;
};

// Zero: a trait or its value is not allowed.
AllocatorHandle create_allocator(uintptr_t space, int n, const TraitValue* traits);
void destroy_allocator(AllocatorHandle handle);

// Null: there is none, and the allocator's fall-back is null. `handle` kNullAllocator: the caller's default.
void* allocate(AllocatorHandle handle, size_t alignment, size_t bytes, bool zeroed);
void* reallocate(void* memory, size_t bytes, AllocatorHandle handle);
void deallocate(void* memory);

}  // namespace weft::omp
