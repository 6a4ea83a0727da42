/* brought.c: as much of a libgomp as brings.c looks at: it binds the thread that loads it. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>

void GOMP_parallel(void (*body)(void*), void* arg, unsigned threads, unsigned flags);

void GOMP_parallel(void (*body)(void*), void* arg, unsigned threads, unsigned flags) {
  (void)body, (void)arg, (void)threads, (void)flags;
}

static int first_of(const cpu_set_t* cpus) {
  int cpu = 0;
  while (!CPU_ISSET(cpu, cpus)) ++cpu;
  return cpu;
}

__attribute__((constructor)) static void bind_here(void) {
  cpu_set_t cpus;
  if (sched_getaffinity(0, sizeof cpus, &cpus) != 0) return;
  const int cpu = first_of(&cpus);
  CPU_ZERO(&cpus);
  CPU_SET(cpu, &cpus);
  pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus);
}
