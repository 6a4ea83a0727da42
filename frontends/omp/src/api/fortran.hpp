// fortran.hpp: omp_... under all its names: C's, Fortran's with an underscore behind it, and gfortran's for programs whose
// integers have 8 bytes.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "export.hpp"

// Behind the definition of a function without arguments.
#define WEFT_OMP_PLAIN(name, version)                        \
  WEFT_OMP_GNU(name, version)                                \
  WEFT_OMP_API decltype(name()) name##_() { return name(); } \
  WEFT_OMP_GNU(name##_, version)

// Behind that of a function of one number.
#define WEFT_OMP_NUMBER(name, version)                                                                  \
  WEFT_OMP_GNU(name, version)                                                                           \
  WEFT_OMP_API decltype(name(0)) name##_(const int32_t* number) { return name(*number); }               \
  WEFT_OMP_GNU(name##_, version)                                                                        \
  WEFT_OMP_API decltype(name(0)) name##_8_(const int64_t* number) { return name(weft::omp::to_int(*number)); } \
  WEFT_OMP_GNU(name##_8_, version)

namespace weft::omp {

// The nearest there is.
inline int to_int(int64_t number) {
  return number > INT_MAX ? INT_MAX : number < INT_MIN ? INT_MIN : static_cast<int>(number);
}

// How gfortran is given a string, or none.
inline void return_string(const char* string, const char** result, size_t* length) {
  *result = string;
  *length = string != nullptr ? std::strlen(string) : 0;
}

}  // namespace weft::omp
