// lock.cpp: the locks of omp.h by their names for compilers. The lock is in the program's variable itself: see lock.hpp.
#include "lock.hpp"

#include "llvm/ident.hpp"

using namespace weft::omp;
using namespace weft::omp::llvm;

namespace {

Lock& lock_in(void** cell) { return *reinterpret_cast<Lock*>(cell); }
NestLock& nest_in(void** cell) { return *reinterpret_cast<NestLock*>(cell); }
static_assert(sizeof(Lock) <= sizeof(void*) && sizeof(NestLock) <= sizeof(void*));

}  // namespace

WEFT_OMP_API void __kmpc_init_lock(Ident*, int32_t, void** cell) { *cell = nullptr; }
WEFT_OMP_API void __kmpc_init_lock_with_hint(Ident*, int32_t, void** cell, uintptr_t) { *cell = nullptr; }
WEFT_OMP_API void __kmpc_destroy_lock(Ident*, int32_t, void**) {}
WEFT_OMP_API void __kmpc_set_lock(Ident*, int32_t, void** cell) { lock_acquire(lock_in(cell)); }
WEFT_OMP_API void __kmpc_unset_lock(Ident*, int32_t, void** cell) { lock_release(lock_in(cell)); }
WEFT_OMP_API int __kmpc_test_lock(Ident*, int32_t, void** cell) { return lock_try(lock_in(cell)); }

WEFT_OMP_API void __kmpc_init_nest_lock(Ident*, int32_t, void** cell) { *cell = nullptr; }
WEFT_OMP_API void __kmpc_init_nest_lock_with_hint(Ident*, int32_t, void** cell, uintptr_t) { *cell = nullptr; }
WEFT_OMP_API void __kmpc_destroy_nest_lock(Ident*, int32_t, void**) {}
WEFT_OMP_API void __kmpc_set_nest_lock(Ident*, int32_t, void** cell) { nest_acquire(nest_in(cell)); }
WEFT_OMP_API void __kmpc_unset_nest_lock(Ident*, int32_t, void** cell) { nest_release(nest_in(cell)); }
WEFT_OMP_API int __kmpc_test_nest_lock(Ident*, int32_t, void** cell) { return nest_try(nest_in(cell)); }
