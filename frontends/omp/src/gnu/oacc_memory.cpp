// oacc_memory.cpp: OpenACC's functions about memory: the device's is the host's.
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "export.hpp"
#include "gnu/message.hpp"

using namespace weft::omp;

WEFT_OMP_API void* acc_malloc(size_t bytes) { return bytes ? malloc(bytes) : nullptr; }
WEFT_OMP_GNU(acc_malloc, "OACC_2.0")
WEFT_OMP_API void acc_free(void* memory) { free(memory); }
WEFT_OMP_GNU(acc_free, "OACC_2.0")
WEFT_OMP_API void* acc_deviceptr(void* host) { return host; }
WEFT_OMP_GNU(acc_deviceptr, "OACC_2.0")
WEFT_OMP_API void* acc_hostptr(void* device) { return device; }
WEFT_OMP_GNU(acc_hostptr, "OACC_2.0")

WEFT_OMP_API void acc_map_data(void* host, void* device, size_t) {
  if (host != device) gnu::fail("cannot map data on shared-memory system");
}
WEFT_OMP_GNU(acc_map_data, "OACC_2.0")
WEFT_OMP_API void acc_unmap_data(void*) {}
WEFT_OMP_GNU(acc_unmap_data, "OACC_2.0")

WEFT_OMP_API int acc_is_present(void* host, size_t bytes) { return host && bytes; }
WEFT_OMP_GNU(acc_is_present, "OACC_2.0")

WEFT_OMP_API void acc_memcpy_to_device(void* to, void* from, size_t bytes) { memmove(to, from, bytes); }
WEFT_OMP_GNU(acc_memcpy_to_device, "OACC_2.0")
WEFT_OMP_API void acc_memcpy_from_device(void* to, void* from, size_t bytes) { memmove(to, from, bytes); }
WEFT_OMP_GNU(acc_memcpy_from_device, "OACC_2.0")
WEFT_OMP_API void acc_memcpy_to_device_async(void* to, void* from, size_t bytes, int) { memmove(to, from, bytes); }
WEFT_OMP_GNU(acc_memcpy_to_device_async, "OACC_2.5")
WEFT_OMP_API void acc_memcpy_from_device_async(void* to, void* from, size_t bytes, int) { memmove(to, from, bytes); }
WEFT_OMP_GNU(acc_memcpy_from_device_async, "OACC_2.5")
WEFT_OMP_API void acc_memcpy_device(void* to, void* from, size_t bytes) { memmove(to, from, bytes); }
WEFT_OMP_GNU(acc_memcpy_device, "OACC_2.6.1")
WEFT_OMP_API void acc_memcpy_device_async(void* to, void* from, size_t bytes, int) { memmove(to, from, bytes); }
WEFT_OMP_GNU(acc_memcpy_device_async, "OACC_2.6.1")

// ---- those that copy, make, update or remove: nothing to do. `Result`: the device's address, which is the host's.

#define WEFT_ACC_ADDRESS(name, version)                                     \
  WEFT_OMP_API void* name(void* host, size_t) { return host; } \
  WEFT_OMP_GNU(name, version)
#define WEFT_ACC_NOTHING(name, parameters, version) \
  WEFT_OMP_API void name parameters {}              \
  WEFT_OMP_GNU(name, version)
// Fortran's: an address and its bytes, of 4 bytes or 8; or an array's descriptor.
#define WEFT_ACC_FORTRAN(name, version)                               \
  WEFT_ACC_NOTHING(name##_32_h_, (void*, const int*), version)        \
  WEFT_ACC_NOTHING(name##_64_h_, (void*, const long*), version)       \
  WEFT_ACC_NOTHING(name##_array_h_, (void*), version)
#define WEFT_ACC_ASYNC(name)                                                        \
  WEFT_ACC_NOTHING(name##_async, (void*, size_t, int), "OACC_2.5")                  \
  WEFT_ACC_NOTHING(name##_async_32_h_, (void*, const int*, const int*), "OACC_2.5") \
  WEFT_ACC_NOTHING(name##_async_64_h_, (void*, const long*, const int*), "OACC_2.5") \
  WEFT_ACC_NOTHING(name##_async_array_h_, (void*, const int*), "OACC_2.5")
#define WEFT_ACC_FINALIZE(name)                                            \
  WEFT_ACC_NOTHING(name##_finalize, (void*, size_t), "OACC_2.5")           \
  WEFT_ACC_NOTHING(name##_finalize_async, (void*, size_t, int), "OACC_2.5") \
  WEFT_ACC_NOTHING(name##_finalize_async_32_h_, (void*, const int*, const int*), "OACC_2.6.1") \
  WEFT_ACC_NOTHING(name##_finalize_async_64_h_, (void*, const long*, const int*), "OACC_2.6.1") \
  WEFT_ACC_NOTHING(name##_finalize_async_array_h_, (void*, const int*), "OACC_2.6.1")

WEFT_ACC_ADDRESS(acc_copyin, "OACC_2.0")
WEFT_ACC_ADDRESS(acc_create, "OACC_2.0")
WEFT_ACC_ADDRESS(acc_pcopyin, "OACC_2.0.1")
WEFT_ACC_ADDRESS(acc_pcreate, "OACC_2.0.1")
WEFT_ACC_ADDRESS(acc_present_or_copyin, "OACC_2.0")
WEFT_ACC_ADDRESS(acc_present_or_create, "OACC_2.0")
WEFT_ACC_NOTHING(acc_copyout, (void*, size_t), "OACC_2.0")
WEFT_ACC_NOTHING(acc_delete, (void*, size_t), "OACC_2.0")
WEFT_ACC_NOTHING(acc_update_device, (void*, size_t), "OACC_2.0")
WEFT_ACC_NOTHING(acc_update_self, (void*, size_t), "OACC_2.0")

WEFT_ACC_FORTRAN(acc_copyin, "OACC_2.0")
WEFT_ACC_FORTRAN(acc_create, "OACC_2.0")
WEFT_ACC_FORTRAN(acc_present_or_copyin, "OACC_2.0")
WEFT_ACC_FORTRAN(acc_present_or_create, "OACC_2.0")
WEFT_ACC_FORTRAN(acc_copyout, "OACC_2.0")
WEFT_ACC_FORTRAN(acc_delete, "OACC_2.0")
WEFT_ACC_FORTRAN(acc_update_device, "OACC_2.0")
WEFT_ACC_FORTRAN(acc_update_self, "OACC_2.0")
WEFT_ACC_FORTRAN(acc_copyout_finalize, "OACC_2.5")
WEFT_ACC_FORTRAN(acc_delete_finalize, "OACC_2.5")

WEFT_ACC_ASYNC(acc_copyin)
WEFT_ACC_ASYNC(acc_create)
WEFT_ACC_ASYNC(acc_copyout)
WEFT_ACC_ASYNC(acc_delete)
WEFT_ACC_ASYNC(acc_update_device)
WEFT_ACC_ASYNC(acc_update_self)
WEFT_ACC_FINALIZE(acc_copyout)
WEFT_ACC_FINALIZE(acc_delete)

WEFT_ACC_NOTHING(acc_attach, (void**), "OACC_2.6")
WEFT_ACC_NOTHING(acc_attach_async, (void**, int), "OACC_2.6")
WEFT_ACC_NOTHING(acc_detach, (void**), "OACC_2.6")
WEFT_ACC_NOTHING(acc_detach_async, (void**, int), "OACC_2.6")
WEFT_ACC_NOTHING(acc_detach_finalize, (void**), "OACC_2.6")
WEFT_ACC_NOTHING(acc_detach_finalize_async, (void**, int), "OACC_2.6")

WEFT_OMP_API int acc_is_present_32_h_(void* host, const int* bytes) { return host && *bytes; }
WEFT_OMP_GNU(acc_is_present_32_h_, "OACC_2.0")
WEFT_OMP_API int acc_is_present_64_h_(void* host, const long* bytes) { return host && *bytes; }
WEFT_OMP_GNU(acc_is_present_64_h_, "OACC_2.0")
// A descriptor begins with the array's address.
WEFT_OMP_API int acc_is_present_array_h_(void** descriptor) { return descriptor && *descriptor; }
WEFT_OMP_GNU(acc_is_present_array_h_, "OACC_2.0")
