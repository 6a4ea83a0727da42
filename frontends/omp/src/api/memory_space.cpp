// memory_space.cpp: memory spaces of devices, and allocators in them, as newer libomp has them. There is no device but the
// host, and none for it either, as with libomp where no device is found: omp_null_mem_space, omp_null_allocator.
#include <cstddef>
#include <cstdint>

#include "allocator.hpp"
#include "export.hpp"

using namespace weft::omp;

namespace {

using Space = uintptr_t;
constexpr Space kNullSpace = 0;

// A predefined space has one resource, and is its own part.
int resources_of(Space space) { return space == kNullSpace ? 0 : 1; }

}  // namespace

#define WEFT_OMP_OF_DEVICES(kind, Result)                                                                                        \
  WEFT_OMP_API Result omp_get_devices_##kind(int, const int*, Space) { return 0; }                                               \
  WEFT_OMP_API Result omp_get_devices_##kind##_(const int*, const int*, const Space*) { return 0; }                              \
  WEFT_OMP_API Result omp_get_devices_and_host_##kind(int, const int*, Space) { return 0; }                                      \
  WEFT_OMP_API Result omp_get_devices_and_host_##kind##_(const int*, const int*, const Space*) { return 0; }                     \
  WEFT_OMP_API Result omp_get_device_##kind(int, Space) { return 0; }                                                            \
  WEFT_OMP_API Result omp_get_device_##kind##_(const int*, const Space*) { return 0; }                                           \
  WEFT_OMP_API Result omp_get_device_and_host_##kind(int, Space) { return 0; }                                                   \
  WEFT_OMP_API Result omp_get_device_and_host_##kind##_(const int*, const Space*) { return 0; }                                  \
  WEFT_OMP_API Result omp_get_devices_all_##kind(Space) { return 0; }                                                            \
  WEFT_OMP_API Result omp_get_devices_all_##kind##_(const Space*) { return 0; }
WEFT_OMP_OF_DEVICES(memspace, Space)
WEFT_OMP_OF_DEVICES(allocator, AllocatorHandle)

WEFT_OMP_API int omp_get_memspace_num_resources(Space space) { return resources_of(space); }
WEFT_OMP_API int omp_get_memspace_num_resources_(const Space* space) { return resources_of(*space); }
WEFT_OMP_API Space omp_get_submemspace(Space space, int, const int*) { return space; }
WEFT_OMP_API Space omp_get_submemspace_(const Space* space, const int*, const int*) { return *space; }

// Memory of a team's on a device that a kernel has asked for.
WEFT_OMP_API void* omp_get_dyn_gprivate_ptr(size_t, int) { return nullptr; }
WEFT_OMP_API void* omp_get_dyn_gprivate_nofb_ptr(size_t, int) { return nullptr; }
WEFT_OMP_API size_t omp_get_dyn_gprivate_size(int) { return 0; }
WEFT_OMP_API Space omp_get_dyn_gprivate_memspace(int) { return kNullSpace; }
WEFT_OMP_API void* ompx_get_dyn_cgroup_mem() { return nullptr; }
