/* adopted.c: a thread that has had a region, the main thread or one of the program's own, is still the thread that it was: it locks a mutex that
 * inherits priorities beside others, has its name, and forks. */
#define _GNU_SOURCE
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { kThreads = 4, kLocks = 200 };

static int region(int n) {
  int count = 0;
  PRAGMA(omp parallel num_threads(n) reduction(+ : count))
  ++count;
  return count;
}

static pthread_mutex_t mutex;
static int locked;

static void* lock_often(void* arg) {
  for (int i = 0; i < kLocks; ++i) {
    CHECK(pthread_mutex_lock(&mutex) == 0);
    ++locked;
    usleep(30);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
  }
  return arg;
}

static void lock_beside_others(void) {
  pthread_mutexattr_t attr;
  CHECK(pthread_mutexattr_init(&attr) == 0 && pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT) == 0);
  CHECK(pthread_mutex_init(&mutex, &attr) == 0 && pthread_mutexattr_destroy(&attr) == 0);
  pthread_t other;
  CHECK(pthread_create(&other, NULL, lock_often, NULL) == 0);
  lock_often(NULL);
  PRAGMA(omp parallel num_threads(kThreads))
  lock_often(NULL);
  CHECK(pthread_join(other, NULL) == 0 && locked == (kThreads + 2) * kLocks);
  CHECK(pthread_mutex_destroy(&mutex) == 0);
}

/* Threads of the team have others, and run in the same kernel threads. */
static void have_name(void) {
  char name[16], shown[16] = "";
  CHECK(pthread_setname_np(pthread_self(), "first") == 0);
  CHECK(pthread_setname_np(pthread_self(), "one that is too long") == ERANGE);
  for (int i = 0; i < 50; ++i) {
    PRAGMA(omp parallel num_threads(kThreads)) {
      if (omp_get_thread_num() != 0) CHECK(pthread_setname_np(pthread_self(), "another") == 0);
      usleep(300);
    }
    CHECK(pthread_getname_np(pthread_self(), name, sizeof name) == 0 && strcmp(name, "first") == 0);
  }
  FILE* file = fopen("/proc/self/comm", "r");
  CHECK(file != NULL && fscanf(file, "%15s", shown) == 1 && strcmp(shown, "first") == 0);
  if (file != NULL) fclose(file);
}

static void* fork_and_go_on(void* arg) {
  CHECK(region(2) == 2);
  const pid_t child = fork();
  if (child == 0) _exit(region(3) != 3);
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  return arg;
}

int main(void) {
  pthread_t other;
  CHECK(pthread_create(&other, NULL, fork_and_go_on, NULL) == 0 && pthread_join(other, NULL) == 0);
  CHECK(region(kThreads) == kThreads);
  lock_beside_others();
  have_name();
  fork_and_go_on(NULL);
  return check_end();
}
