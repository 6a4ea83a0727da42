// atomic_float.cpp: atomic updates of floating-point and complex numbers.
#include "llvm/atomic.hpp"

using namespace weft::omp::llvm;

using Complex4 = float _Complex;
using Complex8 = double _Complex;
using Complex10 = long double _Complex;

WEFT_OMP_ATOMIC_FLOAT(float4, float)
WEFT_OMP_ATOMIC_LIMITS(float4, float)
WEFT_OMP_ATOMIC_MIXED(float4, float, add, float8, double)
WEFT_OMP_ATOMIC_MIXED(float4, float, sub, float8, double)
WEFT_OMP_ATOMIC_MIXED(float4, float, mul, float8, double)
WEFT_OMP_ATOMIC_MIXED(float4, float, div, float8, double)
WEFT_OMP_ATOMIC_FLOAT(float8, double)
WEFT_OMP_ATOMIC_LIMITS(float8, double)
WEFT_OMP_ATOMIC_FLOAT(float10, long double)
WEFT_OMP_ATOMIC_LIMITS(float10, long double)
WEFT_OMP_ATOMIC_FLOAT(cmplx8, Complex8)
WEFT_OMP_ATOMIC_FLOAT(cmplx10, Complex10)

// The smallest complex type tells its old or new value through a pointer.
#define WEFT_OMP_ATOMIC_COMPLEX4(op)                                                                                     \
  WEFT_OMP_API void __kmpc_atomic_cmplx4_##op(Ident*, int, Complex4* x, Complex4 value) {                                \
    update(x, false, [value](Complex4 old) { return op_##op<Complex4>(old, value); });                                   \
  }                                                                                                                      \
  WEFT_OMP_API void __kmpc_atomic_cmplx4_##op##_cpt(Ident*, int, Complex4* x, Complex4 value, Complex4* out, int after) { \
    *out = update(x, after != 0, [value](Complex4 old) { return op_##op<Complex4>(old, value); });                       \
  }                                                                                                                      \
  WEFT_OMP_ATOMIC_MIXED(cmplx4, Complex4, op, cmplx8, Complex8)
#define WEFT_OMP_ATOMIC_COMPLEX4_REVERSE(op)                                                                    \
  WEFT_OMP_API void __kmpc_atomic_cmplx4_##op##_rev(Ident*, int, Complex4* x, Complex4 value) {                 \
    update(x, false, [value](Complex4 old) { return op_##op<Complex4>(value, old); });                          \
  }                                                                                                             \
  WEFT_OMP_API void __kmpc_atomic_cmplx4_##op##_cpt_rev(Ident*, int, Complex4* x, Complex4 value, Complex4* out, \
                                                        int after) {                                            \
    *out = update(x, after != 0, [value](Complex4 old) { return op_##op<Complex4>(value, old); });              \
  }

WEFT_OMP_ATOMIC_COMPLEX4(add)
WEFT_OMP_ATOMIC_COMPLEX4(sub)
WEFT_OMP_ATOMIC_COMPLEX4(mul)
WEFT_OMP_ATOMIC_COMPLEX4(div)
WEFT_OMP_ATOMIC_COMPLEX4_REVERSE(sub)
WEFT_OMP_ATOMIC_COMPLEX4_REVERSE(div)
WEFT_OMP_ATOMIC_ACCESS(cmplx4, Complex4)
WEFT_OMP_API void __kmpc_atomic_cmplx4_swp(Ident*, int, Complex4* x, Complex4 value, Complex4* out) {
  *out = swap_atomic(x, value);
}
