/* young.c: a process forks while its runtime is young, and what no region waits for is still being made ready: its children load
 * libraries, open regions and end.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { kProcesses = 40, kForks = 4 };

static int threads_of_a_region(void) {
  int threads = 0;
#pragma omp parallel num_threads(4) reduction(+ : threads)
  threads += 1;
  return threads;
}

static int child(void) {
  check_failures = 0;
  void* library = dlopen("libm.so.6", RTLD_NOW);
  CHECK(library != NULL && dlclose(library) == 0);
  CHECK(threads_of_a_region() == 4);
  return check_failures;
}

static int status_of(pid_t pid) {
  int status;
  CHECK(waitpid(pid, &status, 0) == pid);
  return status;
}

/* At different moments after its first region. */
static int parent(int number) {
  check_failures = 0;
  CHECK(threads_of_a_region() == 4);
  usleep(4500 + 40 * (unsigned)number);
  for (int i = 0; i < kForks; ++i) {
    const pid_t pid = fork();
    if (pid == 0) _exit(child());
    CHECK(pid > 0 && status_of(pid) == 0);
  }
  return check_failures;
}

int main(void) {
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t pid = fork(); /* the runtime has not begun here */
    if (pid == 0) exit(parent(i));
    CHECK(pid > 0 && status_of(pid) == 0);
  }
  return check_end();
}
