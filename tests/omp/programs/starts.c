/* starts.c: threads fork while another one opens the process's first region: their children fork, too, or open regions. */
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { kProcesses = 15, kThreads = 3, kForks = 12 };

static atomic_int go, failed;
static int children_fork;

static int ends_well(pid_t child) {
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static int region(int threads) {
  int sum = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
  sum += 1;
  return sum == threads;
}

static void* fork_often(void* nothing) {
  (void)nothing;
  while (!atomic_load(&go)) {
  }
  for (int i = 0; i < kForks; ++i) {
    const pid_t child = fork();
    if (child == 0 && children_fork) {
      const pid_t grandchild = fork();
      if (grandchild == 0) _exit(0);
      _exit(!ends_well(grandchild));
    }
    if (child == 0) _exit(!region(2));
    if (!ends_well(child)) atomic_fetch_add(&failed, 1);
  }
  return nothing;
}

static int starts_while_others_fork(void) {
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, fork_often, NULL);
  atomic_store(&go, 1);
  const int fits = region(4);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  return fits && atomic_load(&failed) == 0;
}

int main(void) {
  for (int i = 0; i < kProcesses; ++i) {
    children_fork = i % 2;
    const pid_t process = fork();
    if (process == 0) _exit(!starts_while_others_fork());
    CHECK(ends_well(process));
  }
  return check_end();
}
