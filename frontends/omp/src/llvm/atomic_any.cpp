// atomic_any.cpp: atomic updates by a function of the compiler's, compare-and-swap, and blocks of code.
#include "llvm/atomic.hpp"

namespace weft::omp::llvm {
namespace {

using Combine = void (*)(void* result, void* a, void* b);

template <typename T>
void combine_word(void* x, void* value, Combine combine) {
  update(static_cast<T*>(x), false, [&](T old) {
    T result;
    combine(&result, &old, value);
    return result;
  });
}

void combine_locked(void* x, void* value, Combine combine) {
  Lock& lock = atomic_lock;
  lock_acquire(lock);
  combine(x, x, value);
  lock_release(lock);
}

template <typename T>
bool swap_if(T* x, T* expected, T desired) {
  return __atomic_compare_exchange_n(x, expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

}  // namespace
}  // namespace weft::omp::llvm

using namespace weft::omp;
using namespace weft::omp::llvm;

WEFT_OMP_API void __kmpc_atomic_1(Ident*, int, void* x, void* value, Combine f) { combine_word<uint8_t>(x, value, f); }
WEFT_OMP_API void __kmpc_atomic_2(Ident*, int, void* x, void* value, Combine f) { combine_word<uint16_t>(x, value, f); }
WEFT_OMP_API void __kmpc_atomic_4(Ident*, int, void* x, void* value, Combine f) { combine_word<uint32_t>(x, value, f); }
WEFT_OMP_API void __kmpc_atomic_8(Ident*, int, void* x, void* value, Combine f) { combine_word<uint64_t>(x, value, f); }
WEFT_OMP_API void __kmpc_atomic_10(Ident*, int, void* x, void* value, Combine f) { combine_locked(x, value, f); }
WEFT_OMP_API void __kmpc_atomic_16(Ident*, int, void* x, void* value, Combine f) { combine_locked(x, value, f); }
WEFT_OMP_API void __kmpc_atomic_20(Ident*, int, void* x, void* value, Combine f) { combine_locked(x, value, f); }
WEFT_OMP_API void __kmpc_atomic_32(Ident*, int, void* x, void* value, Combine f) { combine_locked(x, value, f); }

// What has no function of its own.
WEFT_OMP_API void __kmpc_atomic_start() { lock_acquire(atomic_lock); }
WEFT_OMP_API void __kmpc_atomic_end() { lock_release(atomic_lock); }

// bool: whether x was e. val: what x was. cpt: `*seen` gets x where it was not e (bool), or x as it is afterwards (val).
#define WEFT_OMP_ATOMIC_CAS(n, T)                                                                      \
  WEFT_OMP_API bool __kmpc_atomic_bool_##n##_cas(Ident*, int, T* x, T e, T d) { return swap_if(x, &e, d); } \
  WEFT_OMP_API T __kmpc_atomic_val_##n##_cas(Ident*, int, T* x, T e, T d) {                            \
    swap_if(x, &e, d);                                                                                 \
    return e;                                                                                          \
  }                                                                                                    \
  WEFT_OMP_API bool __kmpc_atomic_bool_##n##_cas_cpt(Ident*, int, T* x, T e, T d, T* seen) {           \
    const bool done = swap_if(x, &e, d);                                                               \
    if (!done) *seen = e;                                                                              \
    return done;                                                                                       \
  }                                                                                                    \
  WEFT_OMP_API T __kmpc_atomic_val_##n##_cas_cpt(Ident*, int, T* x, T e, T d, T* seen) {               \
    *seen = swap_if(x, &e, d) ? d : e;                                                                 \
    return e;                                                                                          \
  }
WEFT_OMP_ATOMIC_CAS(1, int8_t)
WEFT_OMP_ATOMIC_CAS(2, int16_t)
WEFT_OMP_ATOMIC_CAS(4, int32_t)
WEFT_OMP_ATOMIC_CAS(8, int64_t)
