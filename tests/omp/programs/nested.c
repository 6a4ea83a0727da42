// gcc's nested functions: they are called by way of a few instructions on the stack of whoever passes them on, be it a thread of an inner
// team's.
#include <omp.h>

#include "check.h"

static int call(int (*f)(int), int n) { return f(n); }

static int inner_team(int mine) {
  int sum = 0;
  int times(int n) { return mine * n; }
#pragma omp parallel num_threads(3) reduction(+ : sum)
  sum += call(times, 100 + omp_get_thread_num());
  return sum;
}

static void by_teams(int base) {
  int sum = 0;
  int add(int n) { return base + n; }
#pragma omp parallel num_threads(4) reduction(+ : sum)
  sum += call(add, omp_get_thread_num()) + inner_team(omp_get_thread_num());
  CHECK(sum == 4 * base + 6 + 6 * 303);
}

static int by_task(int mine) {
  int sum = 0;
  int plus(int n) { return mine + n; }
#pragma omp task shared(sum)
  sum += call(plus, 1);
#pragma omp taskwait
  return sum;
}

static void by_tasks(void) {
  int sum = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
  for (int i = 0; i < 100; ++i) {
#pragma omp task
    {
      const int mine = by_task(i);
#pragma omp atomic
      sum += mine;
    }
  }
  CHECK(sum == 4950 + 100);
}

int main(void) {
  omp_set_max_active_levels(2);
  for (int i = 0; i < 20; ++i) by_teams(i);
  by_tasks();
  return check_end();
}
