/* told.c: what pthread_getattr_np() tells of a thread is all where it may keep pointers: its frames, and its thread-local variables. That is
 * what collectors of garbage scan. */
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>

#include "check.h"

static __thread void* kept;

static int has(const char* low, size_t size, const void* address) { return (size_t)((const char*)address - low) < size; }

static void look(size_t at_least) {
  pthread_attr_t attr;
  void* low = NULL;
  size_t size = 0;
  CHECK(pthread_getattr_np(pthread_self(), &attr) == 0);
  CHECK(pthread_attr_getstack(&attr, &low, &size) == 0);
  pthread_attr_destroy(&attr);
  CHECK(has(low, size, &attr) && has(low, size, &kept));
  CHECK(size >= at_least);
}

int main(void) {
  for (int round = 0; round < 3; ++round) {
#pragma omp parallel num_threads(6)
    if (omp_get_thread_num() != 0) {
      look(4 << 20);
#pragma omp parallel num_threads(2)
      if (omp_get_thread_num() != 0) look(4 << 20);
    }
  }
  return check_end();
}
