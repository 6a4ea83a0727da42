// A dump in the first region shows whole backtraces of code without frame pointers. Environment: WEFT_DUMP_SIGNAL=USR2.
#define _GNU_SOURCE
#include <omp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

__attribute__((noinline)) static int deepest(int n) {
  volatile int room[16] = {n};
  if (omp_get_thread_num() == 0) raise(SIGUSR2);
  return room[n & 15];
}

__attribute__((noinline)) static int below(int n) { return deepest(n) + 1; }

int main(void) {
  char name[] = "/tmp/weft-dumped-XXXXXX";
  const int file = mkstemp(name), errors = dup(STDERR_FILENO);
  CHECK(file >= 0);
  unlink(name);
  dup2(file, STDERR_FILENO);
  int sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
  sum += below(omp_get_thread_num());
  (void)sum;
  dup2(errors, STDERR_FILENO);
  static char dump[1 << 16];
  const ssize_t size = pread(file, dump, sizeof dump - 1, 0);
  CHECK(size > 0);
  CHECK(strstr(dump, " deepest+") != NULL);
  CHECK(strstr(dump, " below+") != NULL);
  CHECK(strstr(dump, " main+") != NULL);
  CHECK(strstr(dump, "frame pointers") == NULL);
  return check_end();
}
