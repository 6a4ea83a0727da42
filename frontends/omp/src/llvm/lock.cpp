// lock.cpp: the locks of omp.h by their names for compilers. The lock is in the program's variable itself: see lock.hpp.
#include "lock_calls.hpp"

#include "llvm/ident.hpp"

using namespace weft::omp;
using namespace weft::omp::llvm;

namespace {

Lock& lock_in(void** cell) { return *reinterpret_cast<Lock*>(cell); }
NestLock& nest_in(void** cell) { return *reinterpret_cast<NestLock*>(cell); }
static_assert(sizeof(Lock) <= sizeof(void*) && sizeof(NestLock) <= sizeof(void*));

}  // namespace

WEFT_OMP_API void __kmpc_init_lock(Ident*, int32_t, void** cell) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  call_init<ompt_mutex_lock>(lock_in(cell));
}
WEFT_OMP_API void __kmpc_init_lock_with_hint(Ident*, int32_t, void** cell, uintptr_t hint) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  call_init<ompt_mutex_lock>(lock_in(cell), static_cast<unsigned>(hint));
}
WEFT_OMP_API void __kmpc_destroy_lock(Ident*, int32_t, void** cell) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  call_destroy<ompt_mutex_lock>(lock_in(cell));
}
WEFT_OMP_API void __kmpc_set_lock(Ident*, int32_t, void** cell) {
  call_acquire<ompt_mutex_lock>(lock_in(cell), 0, WEFT_OMP_CALLER);
}
WEFT_OMP_API void __kmpc_unset_lock(Ident*, int32_t, void** cell) {
  call_release<ompt_mutex_lock>(lock_in(cell), WEFT_OMP_CALLER);
}
WEFT_OMP_API int __kmpc_test_lock(Ident*, int32_t, void** cell) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  return call_try(lock_in(cell));
}

WEFT_OMP_API void __kmpc_init_nest_lock(Ident*, int32_t, void** cell) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  call_init<ompt_mutex_nest_lock>(nest_in(cell));
}
WEFT_OMP_API void __kmpc_init_nest_lock_with_hint(Ident*, int32_t, void** cell, uintptr_t hint) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  call_init<ompt_mutex_nest_lock>(nest_in(cell), static_cast<unsigned>(hint));
}
WEFT_OMP_API void __kmpc_destroy_nest_lock(Ident*, int32_t, void** cell) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  call_destroy<ompt_mutex_nest_lock>(nest_in(cell));
}
WEFT_OMP_API void __kmpc_set_nest_lock(Ident*, int32_t, void** cell) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  call_acquire(nest_in(cell));
}
WEFT_OMP_API void __kmpc_unset_nest_lock(Ident*, int32_t, void** cell) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  call_release(nest_in(cell));
}
WEFT_OMP_API int __kmpc_test_nest_lock(Ident*, int32_t, void** cell) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  return call_try(nest_in(cell));
}
