/* bound.c: every thread stays at its place, whatever it does: bound.c [alone]. With OMP_PLACES and OMP_PROC_BIND.
 * alone: places are no more than told, as there is one worker: only that all ends is seen to. */
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

static int alone;
static int cpus_seen[1024]; /* by members of the place with most CPUs */
static int widest;          /* that place */

static int cpu_now(void) {
  unsigned cpu = 0;
  /* Not sched_getcpu(): a thread has moved between the C library's look and the answer in its thread pointer. */
  syscall(SYS_getcpu, &cpu, NULL, NULL);
  return (int)cpu;
}

static int is_in(int place, int cpu) {
  int ids[1024];
  omp_get_place_proc_ids(place, ids);
  for (int i = 0; i < omp_get_place_num_procs(place); ++i) {
    if (ids[i] == cpu) return 1;
  }
  return 0;
}

/* Level 1 and inner ones differ in whether they are bound. */
static void here(void) {
  const int place = omp_get_place_num(), cpu = cpu_now();
  if (place < 0 || alone) return;
  CHECK(is_in(place, cpu));
  if (place == widest) __atomic_store_n(&cpus_seen[cpu], 1, __ATOMIC_RELAXED);
}

static void spin(double seconds) {
  const double end = omp_get_wtime() + seconds;
  while (omp_get_wtime() < end) {
    for (int i = 0; i < 200; ++i) __asm__ volatile("pause");
    here();
  }
}

/* Blocks in the kernel until somebody else's thread writes. */
static void block(void) {
  int ends[2];
  char byte = 1;
  CHECK(pipe(ends) == 0);
#pragma omp task shared(ends)
  {
    here();
    usleep(300);
    CHECK(write(ends[1], &byte, 1) == 1);
    here();
  }
#pragma omp taskwait
  CHECK(read(ends[0], &byte, 1) == 1);
  here();
  usleep(200);
  here();
  close(ends[0]);
  close(ends[1]);
}

static void everything(int round) {
  here();
#pragma omp barrier
  here();
  switch ((omp_get_thread_num() + round) % 4) {
    case 0: spin(0.004); break;
    case 1: block(); break;
    case 2: for (int i = 0; i < 50; ++i, here()) sched_yield(); break;
    default:
      for (int i = 0; i < 20; ++i) {
#pragma omp task
        spin(0.0001);
      }
  }
#pragma omp taskwait
  here();
#pragma omp barrier
  here();
}

static void flat(int n) {
  for (int round = 0; round < 4; ++round) {
    here();
#pragma omp parallel num_threads(n) proc_bind(close)
    everything(round);
    here();
#pragma omp parallel num_threads(n) proc_bind(spread)
    everything(round);
#pragma omp parallel num_threads(n) proc_bind(primary)
    {
      CHECK(omp_get_place_num() == 0 || omp_get_place_num() == -1);
      everything(round);
    }
#pragma omp parallel num_threads(n)
    everything(round);
    here();
  }
}

static void nested(void) {
  for (int round = 0; round < 3; ++round) {
#pragma omp parallel num_threads(2)
    {
      here();
#pragma omp parallel num_threads(3)
      {
        everything(round);
        if (omp_get_place_num() < 0) spin(0.001);
      }
      here();
    }
  }
}

static void leagues(void) {
#pragma omp teams num_teams(2)
  {
    here();
#pragma omp parallel num_threads(2)
    everything(0);
    here();
  }
  here();
}

/* Another root. It is bound in its regions, by the kernel. */
static void* other(void* unused) {
#pragma omp parallel num_threads(3)
  everything(1);
  here();
  return unused;
}

/* With libgomp a region inside goes by the clause, where OMP_PROC_BIND has no list. */
static void clause_lasts(void) {
  const char* said = getenv("OMP_PROC_BIND");
  if (said != NULL && strchr(said, ',') != NULL) return;
  const omp_proc_bind_t outside = omp_get_proc_bind();
#ifdef __clang__
  const omp_proc_bind_t wanted = outside;
#else
  const omp_proc_bind_t wanted = omp_proc_bind_spread;
#endif
#pragma omp parallel num_threads(2) proc_bind(spread)
  {
    CHECK(omp_get_proc_bind() == wanted);
#pragma omp parallel num_threads(2)
    CHECK(omp_get_proc_bind() == wanted);
  }
#pragma omp parallel num_threads(2)
  CHECK(omp_get_proc_bind() == outside);
  CHECK(omp_get_proc_bind() == outside);
}

/* While one thread of the place is busy the other CPUs of the place run the others. */
static void balanced(void) {
  int seen = 0, may = omp_get_place_num_procs(widest);
#pragma omp parallel num_threads(4 * omp_get_num_places())
  spin(0.03);
  for (int i = 0; i < 1024; ++i) seen += cpus_seen[i];
  CHECK(seen == may);
}

int main(int argc, char** argv) {
  alone = argc > 1 && strcmp(argv[1], "alone") == 0;
  CHECK(omp_get_place_num() == 0); /* before the first region */
  CHECK(omp_get_num_places() > 0 && omp_get_proc_bind() != omp_proc_bind_false);
  for (int i = 1; i < omp_get_num_places(); ++i) {
    if (omp_get_place_num_procs(i) > omp_get_place_num_procs(widest)) widest = i;
  }
  omp_set_max_active_levels(2);
  flat(2);
  flat(omp_get_num_places());
  flat(7);
  nested();
  clause_lasts();
  leagues();
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, other, NULL) == 0);
  flat(3);
  CHECK(pthread_join(thread, NULL) == 0);
  if (!alone) balanced();
  return check_end();
}
