/* both.c: what gcc has built and what clang has built, in one process: one runtime, the same workers.
 *
 * usage: both WORKERS LIBRARY...   (library.c, built by several compilers)
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kMost = 4 };

static int (*come[kMost])(int n);
static int (*come_inside[kMost])(int (*inner)(int n));
static int n;

/* How many different files of one of these names are mapped. */
static int runtimes(void) {
  static const char* names[] = {"/libgomp", "/libomp", "/libiomp"};
  FILE* maps = fopen("/proc/self/maps", "r");
  CHECK(maps != NULL);
  char line[4096], found[8][4096];
  int count = 0;
  while (fgets(line, sizeof line, maps) != NULL) {
    const char* path = strchr(line, '/');
    if (path == NULL || count == 8) continue;
    int is = 0, known = 0;
    for (int i = 0; i < 3; ++i) is |= strstr(path, names[i]) != NULL && strstr(strstr(path, names[i]) + 1, "/") == NULL;
    for (int i = 0; i < count; ++i) known |= strcmp(found[i], path) == 0;
    if (is && !known) strcpy(found[count++], path);
  }
  fclose(maps);
  return count;
}

static unsigned workers(void) {
  unsigned (*count)(void) = (unsigned (*)(void))dlsym(RTLD_DEFAULT, "weft_worker_count");
  CHECK(count != NULL);
  return count != NULL ? count() : 0;
}

static void* use(void* of) {
  for (int i = 0; i < 50; ++i) CHECK(come[(long)of](1 + i % 5) == 1 + i % 5);
  return NULL;
}

int main(int argc, char** argv) {
  n = argc - 2;
  if (n < 1 || n > kMost) return 2;
  for (int i = 0; i < n; ++i) {
    void* library = dlopen(argv[2 + i], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) fprintf(stderr, "%s\n", dlerror());
    CHECK(library != NULL);
    come[i] = (int (*)(int))dlsym(library, "come");
    come_inside[i] = (int (*)(int (*)(int)))dlsym(library, "come_inside");
    CHECK(come[i] != NULL && come_inside[i] != NULL);
    CHECK(come[i](4) == 4);
  }
  CHECK(runtimes() == 1);
  CHECK(workers() == (unsigned)atoi(argv[1]));
  /* In turn, at the same time, and one inside of the other's regions. */
  for (int round = 0; round < 100; ++round) CHECK(come[round % n](round % 7 + 1) == round % 7 + 1);
  pthread_t threads[kMost];
  for (long i = 0; i < n; ++i) CHECK(pthread_create(&threads[i], NULL, use, (void*)i) == 0);
  for (int i = 0; i < n; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  for (int i = 0; i < n; ++i) CHECK(come_inside[i](come[(i + 1) % n]) == 3 * 2);
  CHECK(workers() == (unsigned)atoi(argv[1]) && runtimes() == 1);
  return check_end();
}
