// interop.cpp: omp_interop_t, of which there is none but omp_interop_none: there is nothing to operate with.
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "api/fortran.hpp"

using weft::omp::return_string;

namespace {

// omp_interop_rc_t, and the properties: -1 (omp_ipr_fr_id) to -9.
constexpr int kEmpty = -1, kOutOfRange = -2;
constexpr const char* kProperties[] = {"fr_id",    "fr_name", "vendor",         "vendor_name", "device_num",
                                       "platform", "device",  "device_context", "targetsync"};

// Null: no such property.
const char* name_of(int property) {
  const int i = -1 - property;
  return i >= 0 && i < static_cast<int>(std::size(kProperties)) ? kProperties[i] : nullptr;
}

void* nothing(int property, int* error) {
  if (error != nullptr) *error = name_of(property) == nullptr ? kOutOfRange : kEmpty;
  return nullptr;
}

const char* meaning_of(int error) {
  switch (error) {
    case 1: return "the property has no value";
    case 0: return "success";
    case kEmpty: return "the interoperability object is omp_interop_none";
    case kOutOfRange: return "no such property";
    case -3: return "the property is an integer: omp_get_interop_int()";
    case -4: return "the property is a pointer: omp_get_interop_ptr()";
    case -5: return "the property is a string: omp_get_interop_str()";
    default: return nullptr;
  }
}

}  // namespace

WEFT_OMP_API int omp_get_num_interop_properties(const void*) { return 0; }
WEFT_OMP_GNU(omp_get_num_interop_properties, "GOMP_5.1.3")
WEFT_OMP_API int omp_get_num_interop_properties_(const void*) { return 0; }

WEFT_OMP_API intptr_t omp_get_interop_int(const void*, int property, int* error) {
  return reinterpret_cast<intptr_t>(nothing(property, error));
}
WEFT_OMP_GNU(omp_get_interop_int, "GOMP_5.1.3")
WEFT_OMP_API void* omp_get_interop_ptr(const void*, int property, int* error) { return nothing(property, error); }
WEFT_OMP_GNU(omp_get_interop_ptr, "GOMP_5.1.3")
WEFT_OMP_API const char* omp_get_interop_str(const void*, int property, int* error) {
  return static_cast<char*>(nothing(property, error));
}
WEFT_OMP_GNU(omp_get_interop_str, "GOMP_5.1.3")
WEFT_OMP_API const char* omp_get_interop_name(const void*, int property) { return name_of(property); }
WEFT_OMP_GNU(omp_get_interop_name, "GOMP_5.1.3")
// The type depends on the object.
WEFT_OMP_API const char* omp_get_interop_type_desc(const void*, int) { return nullptr; }
WEFT_OMP_GNU(omp_get_interop_type_desc, "GOMP_5.1.3")
WEFT_OMP_API const char* omp_get_interop_rc_desc(const void*, int error) { return meaning_of(error); }
WEFT_OMP_GNU(omp_get_interop_rc_desc, "GOMP_5.1.3")

// ---- Fortran's: libomp's, and under gcc's version those of gfortran's, which are called otherwise

WEFT_OMP_API intptr_t omp_get_interop_int_(const void* object, int property, int* error) {
  return omp_get_interop_int(object, property, error);
}
WEFT_OMP_API void* omp_get_interop_ptr_(const void*, int property, int* error) { return nothing(property, error); }
WEFT_OMP_API const char* omp_get_interop_str_(const void* object, int property, int* error) {
  return omp_get_interop_str(object, property, error);
}
WEFT_OMP_API const char* omp_get_interop_name_(const void*, int property) { return name_of(property); }
WEFT_OMP_API const char* omp_get_interop_type_desc_(const void*, int) { return nullptr; }
WEFT_OMP_API const char* omp_get_interop_rc_desc_(const void*, int error) { return meaning_of(error); }

WEFT_OMP_API void weft_gfortran_interop_str(const char** result, size_t* length, const void* object, int property, int* error) {
  return_string(omp_get_interop_str(object, property, error), result, length);
}
WEFT_OMP_GNU_OTHER(omp_get_interop_str_, weft_gfortran_interop_str, "GOMP_5.1.3")
WEFT_OMP_API void weft_gfortran_interop_name(const char** result, size_t* length, const void*, int property) {
  return_string(name_of(property), result, length);
}
WEFT_OMP_GNU_OTHER(omp_get_interop_name_, weft_gfortran_interop_name, "GOMP_5.1.3")
WEFT_OMP_API void weft_gfortran_interop_type_desc(const char** result, size_t* length, const void*, int) {
  return_string(nullptr, result, length);
}
WEFT_OMP_GNU_OTHER(omp_get_interop_type_desc_, weft_gfortran_interop_type_desc, "GOMP_5.1.3")
WEFT_OMP_API void weft_gfortran_interop_rc_desc(const char** result, size_t* length, const void*, int error) {
  return_string(meaning_of(error), result, length);
}
WEFT_OMP_GNU_OTHER(omp_get_interop_rc_desc_, weft_gfortran_interop_rc_desc, "GOMP_5.1.3")
