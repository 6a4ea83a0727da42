/* library.c: a library that uses OpenMP, to be loaded. */
#include <omp.h>

static int mine;
#pragma omp threadprivate(mine)

int come(int n);
int come_inside(int (*inner)(int n));
int in_region(int unused);

/* How many come to a region of n, and do a task there. */
int come(int n) {
  int count = 0;
#pragma omp parallel num_threads(n)
  {
    mine = omp_get_thread_num();
#pragma omp barrier
#pragma omp task shared(count)
    {
#pragma omp atomic
      count++;
    }
#pragma omp taskwait
    if (mine != omp_get_thread_num()) count = -1000;
  }
  return count;
}

/* How many come to regions of 2, of somebody else's, inside of one of 3. */
int come_inside(int (*inner)(int n)) {
  int count = 0;
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(3) reduction(+ : count)
  count += inner(2);
  return count;
}

int in_region(int unused) {
  (void)unused;
  return omp_in_parallel();
}
