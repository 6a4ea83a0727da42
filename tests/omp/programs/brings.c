/* brings.c LIBRARY: a libgomp that a program brings, and that nobody uses, does not bind the program. Others do. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>

#include "check.h"

int main(int argc, char** argv) {
  cpu_set_t before, after;
  CHECK(argc == 2);
  CHECK(sched_getaffinity(0, sizeof before, &before) == 0);
  CHECK(dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) != NULL);
  CHECK(sched_getaffinity(0, sizeof after, &after) == 0);
  CHECK(CPU_EQUAL(&before, &after));
  CHECK(omp_get_num_procs() == CPU_COUNT(&before));

  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  CHECK(pthread_setaffinity_np(pthread_self(), sizeof one, &one) == 0);
  CHECK(pthread_getaffinity_np(pthread_self(), sizeof after, &after) == 0);
  CHECK(CPU_EQUAL(&one, &after));
  CHECK(pthread_setaffinity_np(pthread_self(), sizeof before, &before) == 0);
  return check_end();
}
