/* forks.c: a thread that forks is sent a signal meanwhile, and handles it though it only waits in the kernel afterwards. */
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { kForks = 60, kMostNs = 1000000 };

static pthread_t forking;
static atomic_int round_begins, handled;
static __thread int mine;

static void count(int signal) {
  (void)signal;
  CHECK(mine == 1);
  atomic_fetch_add(&handled, 1);
}

/* A thread of the program's own: it does not wait for a worker. */
static void* send(void* nothing) {
  (void)nothing;
  unsigned next = 7;
  for (int i = 1; i <= kForks; ++i) {
    while (atomic_load(&round_begins) != i) sched_yield();
    next = next * 1103515245u + 12345u;
    const struct timespec while_it_forks = {.tv_nsec = (next >> 8) % kMostNs};
    nanosleep(&while_it_forks, NULL);
    CHECK(pthread_kill(forking, SIGUSR1) == 0);
  }
  return NULL;
}

static void fork_and_wait(int i) {
  atomic_store(&round_begins, i);
  const pid_t child = fork();
  if (child == 0) _exit(0);
  CHECK(child > 0);
  const struct timespec in_the_kernel = {.tv_nsec = 2000000};
  while (atomic_load(&handled) != i) nanosleep(&in_the_kernel, NULL);
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = count;
  action.sa_flags = SA_RESTART;
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == 1) {
    mine = 1;
    forking = pthread_self();
    pthread_t sender;
    CHECK(pthread_create(&sender, NULL, send, NULL) == 0);
    for (int i = 1; i <= kForks; ++i) fork_and_wait(i);
    CHECK(pthread_join(sender, NULL) == 0);
  }
  CHECK(atomic_load(&handled) == kForks);
  return check_end();
}
