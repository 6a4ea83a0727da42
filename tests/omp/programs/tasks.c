/* tasks.c: tasks with every clause, dependences, taskgroups, taskloops, detached tasks. */
#include <omp.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

#define COUNT(n) __atomic_fetch_add(&(n), 1, __ATOMIC_RELAXED)
#define VALUE(n) __atomic_load_n(&(n), __ATOMIC_RELAXED)

static int fib(int n) {
  if (n < 2) return n;
  int x, y;
#pragma omp task shared(x) if (n > 10) final(n < 6) mergeable
  x = fib(n - 1);
#pragma omp task shared(y) untied
  y = fib(n - 2);
#pragma omp taskwait
  return x + y;
}

static void clauses(void) {
  int result = 0, count = 0, in_final = 0;
#pragma omp parallel
#pragma omp single
  {
    result = fib(17);
    char large[3000];
    memset(large, 42, sizeof large);
    for (int i = 0; i < 50; ++i) {
#pragma omp task firstprivate(large, i) priority(i)
      {
        CHECK(large[0] == 42 && large[2999] == 42);
        large[0] = 0;
        COUNT(count);
#pragma omp taskyield
        COUNT(count);
      }
    }
#pragma omp task if (0) shared(count)
    {
#pragma omp task
      COUNT(count);
    }
#pragma omp task final(1) shared(in_final)
    {
      const int me = omp_get_thread_num();
      in_final = omp_in_final();
#pragma omp task shared(in_final)
      in_final += omp_in_final() && omp_get_thread_num() == me;
      in_final *= 10; /* the included task has ended */
    }
  }
  CHECK(result == 1597 && count == 101 && in_final == 20);
}

/* Tasks of very different sizes in turns, one within the other, some of which leave tasks behind. */
static int left;
static int sizes(int depth) {
  int sum[3] = {0, 0, 0};
  if (depth == 0) return 1;
  for (int i = 0; i < 3; ++i) {
    char small[8], large[700];
    memset(small, depth, sizeof small);
    memset(large, i, sizeof large);
    if (i == 1) {
#pragma omp task shared(sum) firstprivate(small, i, depth) untied
      sum[i] = sizes(depth - 1) + (small[7] != depth);
    } else {
#pragma omp task shared(sum) firstprivate(large, i, depth)
      {
        sum[i] = sizes(depth - 1) + (large[699] != i) + (large[0] != i);
#pragma omp task
        COUNT(left);
      }
    }
  }
#pragma omp task if (depth % 2)
  {
#pragma omp task
    COUNT(left);
  }
#pragma omp taskgroup
  {
#pragma omp task
    {
#pragma omp task untied
      COUNT(left);
    }
  }
#pragma omp taskwait
  return sum[0] + sum[1] + sum[2];
}

static void of_sizes(void) {
  int all = 0;
  left = 0;
#pragma omp parallel
#pragma omp single
  {
#pragma omp task shared(all)
    all = sizes(6);
  }
  CHECK(all == 729 && left == 4 * 364);
}

static void many(void) {
  int count = 0;
#pragma omp parallel
  {
#pragma omp for nowait
    for (int i = 0; i < 2000; ++i) {
#pragma omp task
      {
#pragma omp task
        COUNT(count);
        COUNT(count);
      }
    }
#pragma omp barrier
    CHECK(VALUE(count) == 4000);
  }
}

/* What in, out and inout mean: each task sees what the program one after the other would show. */
static void dependences(void) {
  enum { kSteps = 300, kCells = 5 };
  int cell[kCells] = {0}, by_one[kCells] = {0}, wrong = 0;
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < kSteps; ++i) {
    const int from = i * 7 % kCells, to = i * 3 % kCells;
    if (from == to) {
      const int want = by_one[to];
      by_one[to] += 1;
#pragma omp task depend(inout : cell[to])
      {
        if (cell[to] != want) COUNT(wrong);
        cell[to] += 1;
      }
    } else if (i % 5 == 0) {
      by_one[to] = i;
#pragma omp task depend(out : cell[to]) if (i % 2)
      cell[to] = i;
    } else {
      by_one[to] += by_one[from] % 100;
#pragma omp task depend(in : cell[from]) depend(inout : cell[to])
      cell[to] += cell[from] % 100;
    }
  }
  CHECK(wrong == 0 && memcmp(cell, by_one, sizeof cell) == 0);
}

static void other_dependences(void) {
  int sum = 0, inside = 0, most = 0, before = 0, after = 0, x = 0, read = 0, table[20] = {0};
  omp_depend_t on_x;
#pragma omp depobj(on_x) depend(inout : x)
#pragma omp parallel
#pragma omp single
  {
#pragma omp task depend(out : sum)
    before = 1;
    for (int i = 0; i < 30; ++i) {
#pragma omp task depend(mutexinoutset : sum)
      {
        CHECK(before == 1);
        const int now = inside + 1;
        inside = now;
        if (now > most) most = now;
        sum += i;
        inside = now - 1;
      }
    }
#pragma omp task depend(in : sum)
    after = sum;

    for (int i = 0; i < 10; ++i) {
#pragma omp task depend(depobj : on_x)
      x = x * 2 + 1;
    }
#pragma omp depobj(on_x) update(in)
    for (int i = 0; i < 10; ++i) {
#pragma omp task depend(depobj : on_x)
      if (x == 1023) COUNT(read);
    }
#pragma omp depobj(on_x) destroy

    for (int i = 0; i < 20; ++i) {
#pragma omp task depend(out : table[i])
      table[i] = i;
    }
#pragma omp task depend(iterator(i = 0 : 20 : 1), in : table[i])
    {
      int all = 0;
      for (int i = 0; i < 20; ++i) all += table[i];
      CHECK(all == 190);
    }
#pragma omp task depend(iterator(int i = 19 : 0 : -3), inout : table[i]) affinity(table[1])
    for (int i = 19; i > 0; i -= 3) table[i] = -table[i];
#pragma omp taskwait depend(in : table[19], table[18])
    CHECK(table[19] == -19 && table[18] == 18);
#if defined __clang__ || __GNUC__ >= 13
    int set = 0;
    for (int i = 0; i < 10; ++i) {
#pragma omp task depend(inoutset : set) shared(set)
      COUNT(set);
    }
#pragma omp task depend(inout : set) shared(set)
    set = set == 10 ? 100 : -1;
#pragma omp taskwait depend(out : set) nowait
#pragma omp taskwait depend(in : set)
    CHECK(set == 100);
#endif
#pragma omp taskwait
    CHECK(read == 10 && after == 435);
  }
  CHECK(most == 1 && sum == 435);
}

static void taskgroups(void) {
  int sum = 0, inner = 0, product = 1;
#pragma omp parallel
#pragma omp single
  {
#pragma omp taskgroup task_reduction(+ : sum) task_reduction(* : product)
    {
      for (int i = 1; i <= 100; ++i) {
#pragma omp task in_reduction(+ : sum)
        {
          sum += i;
#pragma omp task in_reduction(+ : sum)
          sum += i;
        }
      }
      for (int i = 0; i < 8; ++i) {
#pragma omp task in_reduction(* : product)
        product *= 3;
      }
#pragma omp taskgroup
      {
#pragma omp task
        {
#pragma omp task
          COUNT(inner);
        }
      }
      CHECK(VALUE(inner) == 1);
    }
    CHECK(sum == 10100 && product == 6561);
  }
  /* Tasks that add to a region's, or a loop's, reduction. */
  long total = 0;
  int n = 0;
#pragma omp parallel reduction(task, + : total) reduction(+ : n)
  {
    n++;
    total += 1;
    for (int i = 0; i < 10; ++i) {
#pragma omp task in_reduction(+ : total)
      total += 10;
    }
  }
  CHECK(total == 101 * n);
  total = 0;
#pragma omp parallel
#pragma omp for reduction(task, + : total) schedule(dynamic)
  for (int i = 0; i < 20; ++i) {
#pragma omp task in_reduction(+ : total)
    total += i;
  }
  CHECK(total == 190);
}

/* gcc's loop of 2^64 - 1 iterations in parts of 2^63: the last one ends where the loop does. Called, since none could be run. */
void GOMP_taskloop_ull(void (*fn)(void*), void* data, void (*copy)(void*, void*), long size, long align, unsigned flags,
                       unsigned long number, int priority, unsigned long long start, unsigned long long end,
                       unsigned long long step);
static unsigned long long part_ends[2];
static void note_part(void* own) {
  const unsigned long long* bounds = own;
  part_ends[bounds[0] != 0] = bounds[1];
}
static void long_taskloop(void) {
  const unsigned long long half = 1ull << 63;
  const unsigned up_grainsize_if_strict = 256 + 512 + 1024 + 16384;
  unsigned long long data[2] = {0, 0};
#pragma omp parallel
#pragma omp single
  GOMP_taskloop_ull(note_part, data, 0, sizeof data, _Alignof(unsigned long long), up_grainsize_if_strict, half, 0, 0, -1ull, 1);
  CHECK(part_ends[0] == half);
  CHECK(part_ends[1] == -1ull);
}

static void taskloops(void) {
  int seen[500] = {0}, last = -1, wrong = 0;
  long sum = 0;
#pragma omp parallel
#pragma omp single
  {
#pragma omp taskloop grainsize(7)
    for (int i = 0; i < 500; ++i) seen[i]++;
#pragma omp taskloop num_tasks(13) lastprivate(last) priority(2)
    for (int i = 499; i >= 0; --i) {
      seen[i]++;
      last = i;
    }
    CHECK(last == 0);
#pragma omp taskloop collapse(2) untied shared(seen)
    for (int i = 0; i < 50; ++i)
      for (unsigned long long j = 0; j < 10; ++j) seen[i * 10 + (int)j]++;
#pragma omp taskloop reduction(+ : sum) num_tasks(strict : 9)
    for (int i = 0; i < 500; ++i) sum += i;
    CHECK(sum == 124750);
#pragma omp taskgroup
    {
#pragma omp taskloop nogroup grainsize(strict : 60) if (0)
      for (int i = 0; i < 500; ++i) seen[i]++;
#pragma omp taskloop simd nogroup
      for (int i = 0; i < 500; ++i) seen[i] += 0;
    }
  }
  int in_loop[3] = {0};
#pragma omp parallel num_threads(3)
  { /* without a group: a taskwait waits for them as well */
    int mine = 0;
#pragma omp taskloop nogroup grainsize(2) shared(mine)
    for (int i = 0; i < 500; ++i)
#pragma omp atomic
      mine++;
#pragma omp taskwait
    in_loop[omp_get_thread_num()] = mine;
  }
  for (int i = 0; i < 3; ++i) CHECK(in_loop[i] == 500);
#pragma omp parallel
#pragma omp masked
#pragma omp taskloop simd
  for (int i = 0; i < 500; ++i) seen[i]++;
#pragma omp parallel
#pragma omp master taskloop
  for (long i = 0; i < 1000; i += 2) seen[i / 2]++;
  for (int i = 0; i < 500; ++i) wrong += seen[i] != 6;
  CHECK(wrong == 0);
}

static void* fulfil(void* event) {
  omp_fulfill_event((omp_event_handle_t)(size_t)event);
  return NULL;
}

/* A task that has run ends when its event is fulfilled: by another task, by itself, by a thread that is none of OpenMP's. */
static void detached(void) {
  int x = 0, after = 0;
  pthread_t thread;
#pragma omp parallel
#pragma omp single
  {
    omp_event_handle_t first, second, third;
#pragma omp task detach(first) depend(out : x)
    x = 1;
#pragma omp task depend(in : x)
    after += x;
#pragma omp task firstprivate(first)
    {
      CHECK(after == 0);
      omp_fulfill_event(first);
    }
#pragma omp taskwait
    CHECK(after == 1);
#pragma omp task detach(second)
    omp_fulfill_event(second);
#pragma omp task detach(third) shared(thread)
    CHECK(pthread_create(&thread, NULL, fulfil, (void*)(size_t)third) == 0);
  }
  CHECK(pthread_join(thread, NULL) == 0);
}

static void* fulfil_later(void* event) {
  usleep(3000);
  return fulfil(event);
}

/* The same outside of regions: what waits for that is run when it comes to be ready, by the one thread that there is. */
static void detached_outside(void) {
  int x = 0, after = 0;
  pthread_t thread;
#pragma omp taskgroup
  {
    omp_event_handle_t event;
#pragma omp task detach(event) depend(out : x) shared(x, thread)
    {
      x = 1;
      CHECK(pthread_create(&thread, NULL, fulfil_later, (void*)(size_t)event) == 0);
    }
#pragma omp task depend(in : x) shared(x, after)
    after += x;
  }
  CHECK(after == 1);
  CHECK(pthread_join(thread, NULL) == 0);
}

static void cancelled(void) {
  int begun = 0, passed = 0;
#pragma omp parallel
#pragma omp single
#pragma omp taskgroup
  for (int i = 0; i < 1000; ++i) {
#pragma omp task
    {
      COUNT(begun);
#pragma omp cancel taskgroup if (begun > 5)
#pragma omp cancellation point taskgroup
      COUNT(passed);
    }
  }
  CHECK(begun < 1000 && passed < 6);
}

/* Tasks whose parents have ended, and regions inside of tasks. */
static void nested(void) {
  int count = 0;
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < 10; ++i) {
#pragma omp task
    {
#pragma omp task
      {
#pragma omp task
        {
          int here = 0;
#pragma omp parallel num_threads(3) reduction(+ : here)
          {
#pragma omp task shared(count)
            COUNT(count);
            here++;
          }
          CHECK(here == (omp_get_max_active_levels() > 1 ? 3 : 1) || omp_get_num_threads() == 1);
        }
      }
    }
  }
  CHECK(count >= 10 && count <= 30);
}

/* Two pieces that spin for each other, behind so many tasks that wait: fewer than 64 for each thread. */
static void spinning_behind_many(void) {
  if (omp_get_max_threads() < 8) return;
  const int waiting = 7 * 64;
  int count = 0;
#pragma omp parallel
#pragma omp masked
  {
    int begun = 0;
    for (int i = 0; i < waiting; ++i) {
#pragma omp task shared(count)
      {
        for (volatile int k = 0; k < 5000; ++k) {
        }
        COUNT(count);
      }
    }
#pragma omp taskloop num_tasks(2) untied shared(begun)
    for (int i = 0; i < 2; ++i) {
      COUNT(begun);
      while (__atomic_load_n(&begun, __ATOMIC_RELAXED) < 2) {
      }
    }
  }
  CHECK(count == waiting);
}

int main(void) {
  const int teams[] = {1, 2, 3, 8};
  for (int k = 0; k < 4; ++k) {
    for (int levels = 1; levels <= 2; ++levels) {
      omp_set_max_active_levels(levels);
      omp_set_num_threads(teams[k]);
      clauses();
      of_sizes();
      many();
      dependences();
      other_dependences();
      taskgroups();
      taskloops();
      long_taskloop();
      detached();
      detached_outside();
      cancelled();
      nested();
      spinning_behind_many();
    }
  }
  return check_end();
}
