/* constructor.c: a library whose constructor is the first of its process to do what WHAT says, while it has the loader's lock. No thread
 * that it waits for may need that lock. */
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int done;

static __thread int mine; /* which a thread gets when it first asks */

static int region(int n) {
  int come = 0;
#pragma omp parallel num_threads(n) reduction(+ : come)
  {
    usleep(10000); /* so long that what the runtime does beside its first region has begun */
    int in_tasks = 0;
#pragma omp task shared(in_tasks)
#pragma omp atomic
    in_tasks++;
#pragma omp taskwait
    come += in_tasks;
    mine++;
#pragma omp barrier
  }
  return come;
}

static int regions(void) {
  const int n = omp_get_max_threads();
  return region(n) == n && region(40) == 40;
}

static void* sleep_a_while(void* arg) {
  const struct timespec while_ = {.tv_nsec = 1000};
  nanosleep(&while_, NULL);
  sched_yield();
  return arg;
}

static void* in_thread(void* (*f)(void*), void* arg) {
  pthread_t thread;
  void* result = NULL;
  if (pthread_create(&thread, NULL, f, arg) != 0 || pthread_join(thread, &result) != 0) return NULL;
  return result;
}

static void* with_a_thread(void* arg) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, sleep_a_while, NULL) != 0 || pthread_detach(thread) != 0) return NULL;
  return in_thread(sleep_a_while, arg);
}

static void* with_regions(void* arg) { return regions() ? arg : NULL; }

__attribute__((constructor)) static void construct(void) {
  const char* what = getenv("WHAT");
  if (what == NULL) return;
  if (strcmp(what, "regions") == 0) done = regions();
  if (strcmp(what, "threads") == 0) done = in_thread(with_a_thread, &done) == &done;
  if (strcmp(what, "regions in a thread") == 0) done = in_thread(with_regions, &done) == &done;
}
