// lock.cpp: omp_..._lock(). The same functions serve all layouts: C's and Fortran's of both compilers, and libgomp's first one
// (@OMP_1.0, before locks belonged to tasks).
#include "lock_calls.hpp"

#include "export.hpp"

using namespace weft::omp;

// Each also as name_, which gets the same address, and in libgomp's two versions.
#define WEFT_OMP_LOCK(type, name, Kind)                      \
  WEFT_OMP_GNU(name, "OMP_3.0")                              \
  WEFT_OMP_GNU_OLD(name, "OMP_1.0")                          \
  WEFT_OMP_API type name##_(Kind* lock) { return name(lock); } \
  WEFT_OMP_GNU(name##_, "OMP_3.0")                           \
  WEFT_OMP_GNU_OLD(name##_, "OMP_1.0")

WEFT_OMP_API void omp_init_lock(Lock* lock) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  call_init<ompt_mutex_lock>(*lock);
}
WEFT_OMP_LOCK(void, omp_init_lock, Lock)
WEFT_OMP_API void omp_destroy_lock(Lock* lock) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  call_destroy<ompt_mutex_lock>(*lock);
}
WEFT_OMP_LOCK(void, omp_destroy_lock, Lock)
WEFT_OMP_API void omp_set_lock(Lock* lock) {
  call_acquire<ompt_mutex_lock>(*lock, 0, WEFT_OMP_CALLER);
}
WEFT_OMP_LOCK(void, omp_set_lock, Lock)
WEFT_OMP_API void omp_unset_lock(Lock* lock) {
  call_release<ompt_mutex_lock>(*lock, WEFT_OMP_CALLER);
}
WEFT_OMP_LOCK(void, omp_unset_lock, Lock)
WEFT_OMP_API int omp_test_lock(Lock* lock) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  return call_try(*lock);
}
WEFT_OMP_LOCK(int, omp_test_lock, Lock)

WEFT_OMP_API void omp_init_nest_lock(NestLock* lock) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  call_init<ompt_mutex_nest_lock>(*lock);
}
WEFT_OMP_LOCK(void, omp_init_nest_lock, NestLock)
WEFT_OMP_API void omp_destroy_nest_lock(NestLock* lock) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  call_destroy<ompt_mutex_nest_lock>(*lock);
}
WEFT_OMP_LOCK(void, omp_destroy_nest_lock, NestLock)
WEFT_OMP_API void omp_set_nest_lock(NestLock* lock) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  call_acquire(*lock);
}
WEFT_OMP_LOCK(void, omp_set_nest_lock, NestLock)
WEFT_OMP_API void omp_unset_nest_lock(NestLock* lock) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  call_release(*lock);
}
WEFT_OMP_LOCK(void, omp_unset_nest_lock, NestLock)
WEFT_OMP_API int omp_test_nest_lock(NestLock* lock) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  return call_try(*lock);
}
WEFT_OMP_LOCK(int, omp_test_nest_lock, NestLock)

// There is one kind of lock, good for all hints.
WEFT_OMP_API void omp_init_lock_with_hint(Lock* lock, int hint) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  call_init<ompt_mutex_lock>(*lock, static_cast<unsigned>(hint));
}
WEFT_OMP_API void omp_init_lock_with_hint_(Lock* lock, const int* hint) { omp_init_lock_with_hint(lock, *hint); }
WEFT_OMP_API void omp_init_nest_lock_with_hint(NestLock* lock, int hint) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  call_init<ompt_mutex_nest_lock>(*lock, static_cast<unsigned>(hint));
}
WEFT_OMP_API void omp_init_nest_lock_with_hint_(NestLock* lock, const int* hint) { omp_init_nest_lock_with_hint(lock, *hint); }
