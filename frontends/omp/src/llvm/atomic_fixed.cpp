// atomic_fixed.cpp: atomic updates of whole numbers.
#include "llvm/atomic.hpp"

using namespace weft::omp::llvm;

#define WEFT_OMP_ATOMIC_FIXED(n, T, U)               \
  WEFT_OMP_ATOMIC(fixed##n, T, add)                  \
  WEFT_OMP_ATOMIC(fixed##n, T, sub)                  \
  WEFT_OMP_ATOMIC(fixed##n, T, mul)                  \
  WEFT_OMP_ATOMIC(fixed##n, T, div)                  \
  WEFT_OMP_ATOMIC(fixed##n, T, andb)                 \
  WEFT_OMP_ATOMIC(fixed##n, T, orb)                  \
  WEFT_OMP_ATOMIC(fixed##n, T, xor)                  \
  WEFT_OMP_ATOMIC(fixed##n, T, eqv)                  \
  WEFT_OMP_ATOMIC(fixed##n, T, neqv)                 \
  WEFT_OMP_ATOMIC(fixed##n, T, shl)                  \
  WEFT_OMP_ATOMIC(fixed##n, T, shr)                  \
  WEFT_OMP_ATOMIC(fixed##n, T, andl)                 \
  WEFT_OMP_ATOMIC(fixed##n, T, orl)                  \
  WEFT_OMP_ATOMIC(fixed##n, T, max)                  \
  WEFT_OMP_ATOMIC(fixed##n, T, min)                  \
  WEFT_OMP_ATOMIC(fixed##n##u, U, div)               \
  WEFT_OMP_ATOMIC(fixed##n##u, U, shr)               \
  WEFT_OMP_ATOMIC_REVERSE(fixed##n, T, sub)          \
  WEFT_OMP_ATOMIC_REVERSE(fixed##n, T, div)          \
  WEFT_OMP_ATOMIC_REVERSE(fixed##n, T, shl)          \
  WEFT_OMP_ATOMIC_REVERSE(fixed##n, T, shr)          \
  WEFT_OMP_ATOMIC_REVERSE(fixed##n##u, U, div)       \
  WEFT_OMP_ATOMIC_REVERSE(fixed##n##u, U, shr)       \
  WEFT_OMP_ATOMIC_MIXED(fixed##n, T, mul, float8, double) \
  WEFT_OMP_ATOMIC_MIXED(fixed##n, T, div, float8, double) \
  WEFT_OMP_ATOMIC_ACCESS(fixed##n, T)                \
  WEFT_OMP_ATOMIC_SWAP(fixed##n, T)

WEFT_OMP_ATOMIC_FIXED(1, int8_t, uint8_t)
WEFT_OMP_ATOMIC_FIXED(2, int16_t, uint16_t)
WEFT_OMP_ATOMIC_FIXED(4, int32_t, uint32_t)
WEFT_OMP_ATOMIC_FIXED(8, int64_t, uint64_t)
