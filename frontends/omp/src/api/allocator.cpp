// allocator.cpp: omp_alloc() and its like.
#include "allocator.hpp"

#include "api/caller.hpp"
#include "api/fortran.hpp"

using namespace weft::omp;

WEFT_OMP_API AllocatorHandle omp_init_allocator(uintptr_t space, int n, const TraitValue* traits) {
  return create_allocator(space, n, traits);
}
WEFT_OMP_GNU(omp_init_allocator, "OMP_5.0.1")
WEFT_OMP_API AllocatorHandle omp_init_allocator_(const uintptr_t* space, const int32_t* n, const TraitValue* traits) {
  return create_allocator(*space, *n, traits);
}
WEFT_OMP_GNU(omp_init_allocator_, "OMP_5.0.1")
WEFT_OMP_API AllocatorHandle omp_init_allocator_8_(const uintptr_t* space, const int64_t* n, const TraitValue* traits) {
  return create_allocator(*space, to_int(*n), traits);
}
WEFT_OMP_GNU(omp_init_allocator_8_, "OMP_5.0.1")

WEFT_OMP_API void omp_destroy_allocator(AllocatorHandle handle) { destroy_allocator(handle); }
WEFT_OMP_GNU(omp_destroy_allocator, "OMP_5.0.1")
WEFT_OMP_API void omp_destroy_allocator_(const AllocatorHandle* handle) { destroy_allocator(*handle); }
WEFT_OMP_GNU(omp_destroy_allocator_, "OMP_5.0.1")

WEFT_OMP_API void omp_set_default_allocator(AllocatorHandle handle) {
  callers_own_icvs().allocator = handle != kNullAllocator ? handle : kDefaultAllocator;
}
WEFT_OMP_GNU(omp_set_default_allocator, "OMP_5.0.1")
WEFT_OMP_API void omp_set_default_allocator_(const AllocatorHandle* handle) { omp_set_default_allocator(*handle); }
WEFT_OMP_GNU(omp_set_default_allocator_, "OMP_5.0.1")

WEFT_OMP_API AllocatorHandle omp_get_default_allocator() { return callers_icvs().allocator; }
WEFT_OMP_PLAIN(omp_get_default_allocator, "OMP_5.0.1")

WEFT_OMP_API void* omp_alloc(size_t bytes, AllocatorHandle handle) { return allocate(handle, 1, bytes, false); }
WEFT_OMP_GNU(omp_alloc, "OMP_5.0.1")
WEFT_OMP_API void* omp_aligned_alloc(size_t alignment, size_t bytes, AllocatorHandle handle) {
  return allocate(handle, alignment, bytes, false);
}
WEFT_OMP_GNU(omp_aligned_alloc, "OMP_5.0.2")

WEFT_OMP_API void* omp_aligned_calloc(size_t alignment, size_t n, size_t size, AllocatorHandle handle) {
  size_t bytes = 0;
  return __builtin_mul_overflow(n, size, &bytes) ? nullptr : allocate(handle, alignment, bytes, true);
}
WEFT_OMP_GNU(omp_aligned_calloc, "OMP_5.0.2")
WEFT_OMP_API void* omp_calloc(size_t n, size_t size, AllocatorHandle handle) { return omp_aligned_calloc(1, n, size, handle); }
WEFT_OMP_GNU(omp_calloc, "OMP_5.0.2")

// A block knows whose it is, so the allocator that frees need not be told.
WEFT_OMP_API void* omp_realloc(void* memory, size_t bytes, AllocatorHandle handle, AllocatorHandle) {
  return reallocate(memory, bytes, handle);
}
WEFT_OMP_GNU(omp_realloc, "OMP_5.0.2")
WEFT_OMP_API void omp_free(void* memory, AllocatorHandle) { deallocate(memory); }
WEFT_OMP_GNU(omp_free, "OMP_5.0.1")

// The constants as data, which libomp's Fortran and Windows' headers refer to.
#define WEFT_OMP_CONSTANT(name, value)                                                   \
  extern "C" {                                                                           \
  extern __attribute__((visibility("default"))) const uintptr_t name;                   \
  const uintptr_t name = value;                                                          \
  }

WEFT_OMP_CONSTANT(omp_null_allocator, 0)
WEFT_OMP_CONSTANT(omp_default_mem_alloc, 1)
WEFT_OMP_CONSTANT(omp_large_cap_mem_alloc, 2)
WEFT_OMP_CONSTANT(omp_const_mem_alloc, 3)
WEFT_OMP_CONSTANT(omp_high_bw_mem_alloc, 4)
WEFT_OMP_CONSTANT(omp_low_lat_mem_alloc, 5)
WEFT_OMP_CONSTANT(omp_cgroup_mem_alloc, 6)
WEFT_OMP_CONSTANT(omp_pteam_mem_alloc, 7)
WEFT_OMP_CONSTANT(omp_thread_mem_alloc, 8)
WEFT_OMP_CONSTANT(omp_null_mem_space, 0)
WEFT_OMP_CONSTANT(omp_default_mem_space, kDefaultSpaceOfClang)
WEFT_OMP_CONSTANT(omp_large_cap_mem_space, 1)
WEFT_OMP_CONSTANT(omp_const_mem_space, 2)
WEFT_OMP_CONSTANT(omp_high_bw_mem_space, 3)
WEFT_OMP_CONSTANT(omp_low_lat_mem_space, 4)
WEFT_OMP_CONSTANT(omp_cgroup_mem_space, 5)
WEFT_OMP_CONSTANT(kmp_max_mem_space, 1024)
// Intel's.
WEFT_OMP_CONSTANT(omp_target_host_mem_alloc, 100)
WEFT_OMP_CONSTANT(omp_target_shared_mem_alloc, 101)
WEFT_OMP_CONSTANT(omp_target_device_mem_alloc, 102)
WEFT_OMP_CONSTANT(omp_target_host_mem_space, 100)
WEFT_OMP_CONSTANT(omp_target_shared_mem_space, 101)
WEFT_OMP_CONSTANT(omp_target_device_mem_space, 102)
