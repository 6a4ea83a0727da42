/* sync.c: sections, single, masked, scope, critical, atomics, locks, barriers, reductions, cancellation, threadprivate. */
#include <complex.h>
#include <omp.h>
#include <string.h>

#include "check.h"

/* How many come here. */
#define COUNT(n) __atomic_fetch_add(&(n), 1, __ATOMIC_RELAXED)

static void sections(void) {
  int count[6] = {0}, last = 0;
#pragma omp parallel sections
  {
#pragma omp section
    COUNT(count[0]);
#pragma omp section
    COUNT(count[1]);
  }
#pragma omp parallel
  {
#pragma omp sections lastprivate(last) nowait
    {
#pragma omp section
    {
      COUNT(count[2]);
      last = 1;
    }
#pragma omp section
      COUNT(count[3]);
#pragma omp section
      {
        COUNT(count[4]);
        last = 3;
      }
    }
#pragma omp sections
    { COUNT(count[5]); }
  }
  for (int i = 0; i < 6; ++i) CHECK(count[i] == 1);
  CHECK(last == 3);
}

static void singles(void) {
  int made = 0;
#pragma omp parallel
  for (int round = 0; round < 20; ++round) {
    int one = -1, masters = 0;
    double two[2];
#pragma omp single copyprivate(one, two)
    {
      one = round;
      two[0] = two[1] = round / 2.0;
      COUNT(made);
    }
    CHECK(one == round && two[0] == round / 2.0 && two[1] == two[0]);
#pragma omp single nowait
    COUNT(made);
#pragma omp masked
    masters += omp_get_thread_num() == 0 ? 1 : 100;
#pragma omp masked filter(omp_get_num_threads() - 1)
    masters += omp_get_thread_num() == omp_get_num_threads() - 1 ? 1 : 100;
#pragma omp master
    masters += omp_get_thread_num() == 0 ? 1 : 100;
    const int me = omp_get_thread_num(), n = omp_get_num_threads();
    CHECK(masters == (me == 0 ? 2 : 0) + (me == n - 1 ? 1 : 0));
  }
  CHECK(made == 40);
}

static void scopes(void) {
#ifndef __clang__ /* cannot compile it yet */
  int sum = 0, n = 0;
#pragma omp parallel
  {
#pragma omp scope reduction(+ : sum) nowait
    sum += omp_get_thread_num() + 1;
#pragma omp scope
    COUNT(n);
    CHECK(__atomic_load_n(&n, __ATOMIC_RELAXED) == omp_get_num_threads());
  }
  CHECK(sum == n * (n + 1) / 2);
#endif
}

static void criticals(void) {
  int plain = 0, named = 0, hinted = 0, n = 0;
#pragma omp parallel
  {
#pragma omp atomic
    n++;
    for (int i = 0; i < 300; ++i) {
#pragma omp critical
      plain++;
#pragma omp critical(here)
      {
        named++;
#pragma omp critical(inside)
        named++;
      }
#pragma omp critical(other) hint(omp_sync_hint_contended)
      hinted++;
    }
  }
  CHECK(plain == 300 * n && named == 600 * n && hinted == 300 * n);
}

/* Those of types that no instruction serves need the runtime. */
static void atomics(void) {
  long double wide = 0, product = 1;
  double complex z = 0;
  _Complex float small = 0;
  double real = 0;
  unsigned char byte = 0;
  short odd = 0;
  long captured = 0, all = 0, largest = -1;
  int n = 0;
#pragma omp parallel reduction(+ : all)
  {
#pragma omp atomic
    n++;
    for (int i = 0; i < 200; ++i) {
#pragma omp atomic
      wide += 1.5L;
#pragma omp atomic update
      product = product * (i % 2 ? 2.0L : 0.5L);
#ifdef __clang__ /* gcc has none of these */
#pragma omp atomic
      z += 1.0 + 2.0 * I;
#pragma omp atomic
      small -= 1.0f;
#else
#pragma omp critical
      z += 1.0 + 2.0 * I, small -= 1.0f;
#endif
#pragma omp atomic
      real += 0.25;
#pragma omp atomic
      byte ^= 0x55;
#pragma omp atomic
      odd += 3;
      long old;
#pragma omp atomic capture seq_cst
      old = captured++;
      all += old;
      const long mine = i * 7 + omp_get_thread_num();
#pragma omp atomic compare
      largest = largest < mine ? mine : largest; /* gcc 14 takes an if only where nothing comes behind it */
      long double now;
#pragma omp atomic read
      now = wide;
      CHECK(now >= 1.5L);
    }
  }
  const long sum = 200L * n;
  CHECK(wide == 1.5L * sum && product == 1.0L && creal(z) == sum && cimag(z) == 2 * sum && crealf(small) == -sum);
  CHECK(real == 0.25 * sum && byte == 0 && odd == (short)(3 * sum));
  CHECK(captured == sum && all == sum * (sum - 1) / 2 && largest == 199 * 7 + n - 1);
#pragma omp atomic write
  wide = 3;
  CHECK(wide == 3);
}

static void locks(void) {
  omp_lock_t lock, other;
  omp_nest_lock_t nested;
  omp_init_lock(&lock);
  omp_init_lock(&other);
  omp_init_nest_lock(&nested);
  int n = 0, plain = 0, tried = 0, deep = 0;
#pragma omp parallel
  {
#pragma omp atomic
    n++;
    for (int i = 0; i < 200; ++i) {
      omp_set_lock(&lock);
      plain++;
      omp_unset_lock(&lock);
      while (!omp_test_lock(&other)) {
#pragma omp taskyield
      }
      tried++;
      omp_unset_lock(&other);
      omp_set_nest_lock(&nested);
      CHECK(omp_test_nest_lock(&nested) == 2);
      omp_set_nest_lock(&nested);
      deep++;
      omp_unset_nest_lock(&nested);
      omp_unset_nest_lock(&nested);
      omp_unset_nest_lock(&nested);
    }
  }
  CHECK(plain == 200 * n && tried == 200 * n && deep == 200 * n);
  omp_destroy_lock(&lock);
  omp_destroy_lock(&other);
  omp_destroy_nest_lock(&nested);
}

static void barriers(void) {
  int come[50] = {0};
#pragma omp parallel
  for (int round = 0; round < 50; ++round) {
    COUNT(come[round]);
#pragma omp barrier
    CHECK(__atomic_load_n(&come[round], __ATOMIC_RELAXED) == omp_get_num_threads());
  }
  /* A flag that one sets and the others look at, all of them spinning. */
  int flag = 0;
#pragma omp parallel
  {
    if (omp_get_thread_num() == omp_get_num_threads() - 1) {
#pragma omp atomic write release
      flag = 1;
    }
    int is = 0;
    while (!is) {
#pragma omp atomic read acquire
      is = flag;
    }
  }
}

struct point {
  int x, y;
};
#pragma omp declare reduction(join : struct point : omp_out.x += omp_in.x, omp_out.y *= omp_in.y) \
    initializer(omp_priv = (struct point){0, 1})

static void reductions(void) {
  long sum = 5, product = 1, least = 1000, most = -1000;
  unsigned any = 0, all = ~0u, odd = 0;
  int both = 1, one = 0, table[40] = {0};
  double real = 0, big[3] = {0};
  struct point point = {1, 1};
#pragma omp parallel for schedule(dynamic, 3) reduction(+ : sum, real, table) reduction(* : product) \
    reduction(min : least) reduction(max : most) reduction(| : any) reduction(& : all) reduction(^ : odd) \
    reduction(&& : both) reduction(|| : one) reduction(join : point) reduction(+ : big[1 : 2])
  for (int i = 0; i < 40; ++i) {
    sum += i;
    real += i * 0.5;
    table[39 - i] += i;
    if (i < 10) product *= 2;
    if (i - 20 < least) least = i - 20;
    if (i - 20 > most) most = i - 20;
    any |= 1u << (i % 20);
    all &= ~(1u << (i % 5));
    odd ^= (unsigned)i;
    both = both && i < 40;
    one = one || i == 39;
    point.x += 1;
    point.y *= i % 10 == 0 ? 3 : 1;
    big[1 + i % 2] += 1;
  }
  CHECK(sum == 785 && real == 390 && product == 1024 && least == -20 && most == 19);
  CHECK(any == 0xfffff && all == ~31u && odd == 0 && both && one && point.x == 41 && point.y == 81);
  CHECK(big[0] == 0 && big[1] == 20 && big[2] == 20);
  for (int i = 0; i < 40; ++i) CHECK(table[i] == 39 - i);
  int several = 0, n = 0;
#pragma omp parallel
  {
#pragma omp for reduction(+ : several) nowait
    for (int i = 0; i < 10; ++i) several += 1;
#pragma omp for reduction(+ : n)
    for (int i = 0; i < 10; ++i) n += 2;
#pragma omp sections reduction(+ : n)
    {
      n += 1;
#pragma omp section
      n += 2;
    }
    CHECK(several == 10 && n == 23);
  }
}

static void cancelled(void) {
  CHECK(omp_get_cancellation());
  int after = 0, done = 0, told = 0;
#pragma omp parallel
  {
#pragma omp barrier
    if (omp_get_thread_num() == 0) {
#pragma omp cancel parallel
    }
    while (1) {
#pragma omp cancellation point parallel
    }
    after++;
  }
  CHECK(after == 0);
#pragma omp parallel
  {
    for (int round = 0; round < 5; ++round) {
#pragma omp for schedule(dynamic)
      for (int i = 0; i < 100000; ++i) {
        COUNT(done);
        if (i == 3) {
          COUNT(told);
#pragma omp cancel for
        }
#pragma omp cancellation point for
      }
#pragma omp sections
      {
#pragma omp section
        {
          COUNT(told);
#pragma omp cancel sections if (round % 2)
        }
      }
    }
  }
  CHECK(done < 500000 && told == 10);
}

static int counter = 7;
static struct point mine[3];
#pragma omp threadprivate(counter, mine)

static void kept(void) {
  counter = 7;
#pragma omp parallel
  {
    if (omp_get_thread_num() != 0) counter = 0;
    mine[1].y = omp_get_thread_num();
  }
#pragma omp parallel copyin(counter)
  {
    CHECK(counter == 7);
    counter += omp_get_thread_num();
  }
  for (int round = 0; round < 30; ++round) {
#pragma omp parallel
    {
      CHECK(counter == 7 + omp_get_thread_num() + round * 2 && mine[1].y == omp_get_thread_num());
      counter++;
#pragma omp barrier
      counter++;
    }
  }
#pragma omp parallel
  {
    int given;
#pragma omp single copyprivate(counter)
    counter = 99;
    given = counter;
    CHECK(given == 99);
  }
}

int main(void) {
  const int teams[] = {1, 2, 3, 8};
  for (int k = 0; k < 4; ++k) {
    omp_set_num_threads(teams[k]);
    sections();
    singles();
    scopes();
    criticals();
    atomics();
    locks();
    barriers();
    reductions();
    cancelled();
    kept();
  }
  return check_end();
}
