/* limited.c: a process whose address space ends (ulimit -v): a team gets as many threads as there is room for, and all that there are take part;
 * with more room the next one is whole.
 */
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "check.h"

enum { kThreads = 48, kRoom = 160 << 20 };

static size_t address_space(void) {
  unsigned long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file != NULL && fscanf(file, "%lu", &pages) != 1) pages = 0;
  if (file != NULL) fclose(file);
  return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void limit_to(rlim_t bytes) {
  struct rlimit limit;
  CHECK(getrlimit(RLIMIT_AS, &limit) == 0);
  limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

/* How many threads it had; each of them has been in it. */
static int team(void) {
  int size = 0, came = 0;
  PRAGMA(omp parallel num_threads(kThreads) reduction(+ : came)) {
    char* some = malloc(1000);
    if (some != NULL) memset(some, 1, 1000);
    free(some);
    came += 1;
    PRAGMA(omp barrier)
    PRAGMA(omp single)
    size = omp_get_num_threads();
  }
  CHECK(came == size);
  return size;
}

int main(void) {
  const size_t before = address_space();
  if (before == 0 || before > (size_t)1 << 40) { /* a sanitizer's shadow: it does not live with a limit */
    puts("not here");
    return 0;
  }
  limit_to(before + kRoom);
  for (int i = 0; i < 20; ++i) {
    const int size = team();
    CHECK(size >= 1 && size < kThreads);
  }
  limit_to(RLIM_INFINITY);
  CHECK(team() == kThreads);
  CHECK(team() == kThreads);
  return check_end();
}
