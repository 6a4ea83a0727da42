// A thread that looks at what is loaded, and loads something else meanwhile, as threadpoolctl does: it has one lock of the loader's, and
// takes the other one. Whoever loads at that time on a thread of its own takes them the other way round; without the runtime nobody
// does.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <time.h>

#include "check.h"

static int load(struct dl_phdr_info* info, size_t size, void* arg) {
  (void)info, (void)size;
  const struct timespec time_for_others = {.tv_nsec = 50000000};
  nanosleep(&time_for_others, NULL);
  void* library = dlopen("libutil.so.1", RTLD_NOW);
  *(int*)arg = library != NULL;
  return 1;
}

int main(void) {
  int threads = 0, loaded = 0;
#pragma omp parallel num_threads(2) reduction(+ : threads)
  ++threads;
  CHECK(threads == 2);
  dl_iterate_phdr(load, &loaded);
  CHECK(loaded);
  return check_end();
}
