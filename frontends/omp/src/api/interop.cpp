// interop.cpp: omp_interop_t, of which there is none but omp_interop_none: there is nothing to operate with.
#include <cstdint>

#include "export.hpp"

namespace {

constexpr int kEmpty = -1;  // omp_irc_empty

void* nothing(int* error) {
  if (error != nullptr) *error = kEmpty;
  return nullptr;
}

}  // namespace

WEFT_OMP_API int omp_get_num_interop_properties(const void*) { return 0; }
WEFT_OMP_API int omp_get_num_interop_properties_(const void*) { return 0; }

WEFT_OMP_API intptr_t omp_get_interop_int(const void*, int, int* error) { return reinterpret_cast<intptr_t>(nothing(error)); }
WEFT_OMP_API intptr_t omp_get_interop_int_(const void*, int, int* error) { return omp_get_interop_int(nullptr, 0, error); }
WEFT_OMP_API void* omp_get_interop_ptr(const void*, int, int* error) { return nothing(error); }
WEFT_OMP_API void* omp_get_interop_ptr_(const void*, int, int* error) { return nothing(error); }
WEFT_OMP_API const char* omp_get_interop_str(const void*, int, int* error) { return static_cast<char*>(nothing(error)); }
WEFT_OMP_API const char* omp_get_interop_str_(const void*, int, int* error) { return static_cast<char*>(nothing(error)); }

WEFT_OMP_API const char* omp_get_interop_name(const void*, int) { return nullptr; }
WEFT_OMP_API const char* omp_get_interop_name_(const void*, int) { return nullptr; }
WEFT_OMP_API const char* omp_get_interop_type_desc(const void*, int) { return nullptr; }
WEFT_OMP_API const char* omp_get_interop_type_desc_(const void*, int) { return nullptr; }
WEFT_OMP_API const char* omp_get_interop_rc_desc(const void*, int) { return nullptr; }
WEFT_OMP_API const char* omp_get_interop_rc_desc_(const void*, int) { return nullptr; }
