// mutex.cpp: pthread_mutex_init() before the C library's. Of a mutex that inherits priorities the kernel knows the owner, by the number of a
// kernel thread, which a ULT has none of: the main thread would wait for itself. All that the attribute does is to lend the owner a
// priority of the kernel's, while a ULT has that of whatever runs it. So such a mutex is made as one without.
//
// It has no version: see yield.cpp.
#include <pthread.h>

#include "api/next.hpp"
#include "export.hpp"

namespace {

constinit weft::omp::Next<int(pthread_mutex_t*, const pthread_mutexattr_t*) noexcept> next_init{"pthread_mutex_init"};

[[gnu::constructor]] void find_next() { next_init.get(); }

bool inherits_priority(const pthread_mutexattr_t* attr) noexcept {
  int protocol = PTHREAD_PRIO_NONE;
  return attr != nullptr && pthread_mutexattr_getprotocol(attr, &protocol) == 0 && protocol == PTHREAD_PRIO_INHERIT;
}

}  // namespace

WEFT_OMP_API int pthread_mutex_init(pthread_mutex_t* mutex, const pthread_mutexattr_t* attr) noexcept {
  if (!inherits_priority(attr)) return next_init.get()(mutex, attr);
  pthread_mutexattr_t without = *attr;  // nothing is shared by a copy
  pthread_mutexattr_setprotocol(&without, PTHREAD_PRIO_NONE);
  return next_init.get()(mutex, &without);
}
