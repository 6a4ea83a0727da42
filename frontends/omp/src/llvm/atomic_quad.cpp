// atomic_quad.cpp: atomic updates of real and complex numbers with 16 bytes a part, and of other numbers by such a one. Intel's compilers call
// them; clang's libomp has none.
#include "llvm/atomic.hpp"

using namespace weft::omp::llvm;

using Quad = __float128;
typedef _Complex float ComplexQuad __attribute__((mode(TC)));  // clang does not know an alias with a mode

WEFT_OMP_ATOMIC_FLOAT(float16, Quad)
WEFT_OMP_ATOMIC_LIMITS(float16, Quad)
WEFT_OMP_ATOMIC_FLOAT(cmplx16, ComplexQuad)

// x = x op value, or value op x, as numbers of 16 bytes.
#define WEFT_OMP_ATOMIC_BY_QUAD(type, T, op, way, a, b)                                                                     \
  WEFT_OMP_API void __kmpc_atomic_##type##_##op##way##_fp(Ident*, int, T* x, Quad value) {                                  \
    update(x, false, [value](T old) { return static_cast<T>(op_##op<Quad>(a, b)); });                                       \
  }                                                                                                                         \
  WEFT_OMP_API T __kmpc_atomic_##type##_##op##_cpt##way##_fp(Ident*, int, T* x, Quad value, int after) {                    \
    return update(x, after != 0, [value](T old) { return static_cast<T>(op_##op<Quad>(a, b)); });                           \
  }
#define WEFT_OMP_ATOMIC_BY_QUADS(type, T)                            \
  WEFT_OMP_ATOMIC_BY_QUAD(type, T, add, , old, value)                \
  WEFT_OMP_ATOMIC_BY_QUAD(type, T, sub, , old, value)                \
  WEFT_OMP_ATOMIC_BY_QUAD(type, T, mul, , old, value)                \
  WEFT_OMP_ATOMIC_BY_QUAD(type, T, div, , old, value)                \
  WEFT_OMP_ATOMIC_BY_QUAD(type, T, sub, _rev, value, old)            \
  WEFT_OMP_ATOMIC_BY_QUAD(type, T, div, _rev, value, old)

WEFT_OMP_ATOMIC_BY_QUADS(fixed1, int8_t)
WEFT_OMP_ATOMIC_BY_QUADS(fixed1u, uint8_t)
WEFT_OMP_ATOMIC_BY_QUADS(fixed2, int16_t)
WEFT_OMP_ATOMIC_BY_QUADS(fixed2u, uint16_t)
WEFT_OMP_ATOMIC_BY_QUADS(fixed4, int32_t)
WEFT_OMP_ATOMIC_BY_QUADS(fixed4u, uint32_t)
WEFT_OMP_ATOMIC_BY_QUADS(fixed8, int64_t)
WEFT_OMP_ATOMIC_BY_QUADS(fixed8u, uint64_t)
WEFT_OMP_ATOMIC_BY_QUADS(float4, float)
WEFT_OMP_ATOMIC_BY_QUADS(float8, double)
WEFT_OMP_ATOMIC_BY_QUADS(float10, long double)
