/* roots.c: regions that several of the program's own threads have open at the same time: their teams do not wait for each other's
 * worker. Without preemption and awareness of blocking, so that nothing else helps. */
#include <omp.h>
#include <pthread.h>

#include "check.h"

enum { ROOTS = 2, ROUNDS = 200 };

static int come;

/* The second threads of all teams wait for each other, and let nobody else run. */
static void* root(void* unused) {
  for (int round = 1; round <= ROUNDS; ++round) {
#pragma omp parallel num_threads(2)
    {
      CHECK(omp_get_num_threads() == 2);
      if (omp_get_thread_num() == 1) {
        __atomic_fetch_add(&come, 1, __ATOMIC_ACQ_REL);
        while (__atomic_load_n(&come, __ATOMIC_ACQUIRE) < round * ROOTS) {
        }
      }
    }
  }
  return unused;
}

int main(void) {
  pthread_t threads[ROOTS];
  for (int i = 0; i < ROOTS; ++i) CHECK(pthread_create(&threads[i], NULL, root, NULL) == 0);
  for (int i = 0; i < ROOTS; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK(come == ROOTS * ROUNDS);
  return check_end();
}
