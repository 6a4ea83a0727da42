// Threads that wait for each other by sched_yield(): nobody preempts them (the environment says so), and there are fewer workers.
#include <omp.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

enum { kThreads = 8, kRounds = 200 };

static void wait_for(atomic_int* flag) {
  while (atomic_load(flag) == 0) sched_yield();
}

int main(void) {
  int ended = 0;
  for (int round = 0; round < kRounds; ++round) {
    atomic_int reached[kThreads + 1] = {0};
    reached[kThreads] = 1;
#pragma omp parallel num_threads(kThreads) reduction(+ : ended)
    {
      const int me = omp_get_thread_num();
      wait_for(&reached[me + 1]);
      atomic_store(&reached[me], 1);
      wait_for(&reached[0]);
      ended += 1;
    }
  }
  printf("%d of %d\n", ended, kThreads * kRounds);
  return ended == kThreads * kRounds ? 0 : 1;
}
