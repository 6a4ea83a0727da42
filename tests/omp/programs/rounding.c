/* rounding.c: the floating-point control words, of SSE and of x87, are each thread's own, whoever runs on its worker meanwhile; a region's
 * threads begin with those of its opener. */
#define _GNU_SOURCE
#include <fenv.h>
#include <omp.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>
#include <xmmintrin.h>

#include "check.h"

enum { kRegions = 60, kRounds = 4, kFlush = 0x8040 };

static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

static unsigned x87_control(void) {
  uint16_t word;
  __asm__ volatile("fnstcw %0" : "=m"(word));
  return word;
}

static void set_x87_precision(unsigned bits) {
  const uint16_t word = (uint16_t)((x87_control() & ~0x300u) | bits);
  __asm__ volatile("fldcw %0" ::"m"(word));
}

/* All that can be told apart: some of 16. */
static void have(int what) {
  CHECK(fesetround(modes[what % 4]) == 0);
  _mm_setcsr((_mm_getcsr() & ~(unsigned)kFlush) | (what / 4 % 2 != 0 ? kFlush : 0));
  set_x87_precision(what / 8 % 2 != 0 ? 0x200 : 0x300);
}

static int has(int what) {
  return fegetround() == modes[what % 4] && (_mm_getcsr() & kFlush) == (what / 4 % 2 != 0 ? kFlush : 0u) &&
         (x87_control() & 0x300) == (what / 8 % 2 != 0 ? 0x200u : 0x300u);
}

static omp_lock_t lock;
static atomic_int turns;

/* Each way to wait for others. */
static void wait_as_member(int what) {
  PRAGMA(omp barrier)
  CHECK(has(what));
  PRAGMA(omp critical) {
    CHECK(has(what));
    if (what % 3 == 0) usleep(20);
  }
  CHECK(has(what));
  omp_set_lock(&lock);
  for (volatile int i = 0; i < 2000; ++i) continue;
  omp_unset_lock(&lock);
  CHECK(has(what));
  for (int i = 0; i < 3; ++i) {
    PRAGMA(omp task)
    atomic_fetch_add(&turns, 1);
  }
  PRAGMA(omp taskwait)
  CHECK(has(what));
  for (int i = 0; i < 5; ++i) sched_yield();
  CHECK(has(what));
  for (volatile int i = 0; i < 30000; ++i) continue;
  CHECK(has(what));
}

static void region(int n, int begin) {
  have(begin);
  PRAGMA(omp parallel num_threads(n)) {
    const int mine = begin + 5 * omp_get_thread_num() + 1;
    CHECK(has(begin));
    have(mine);
    for (int i = 0; i < kRounds; ++i) wait_as_member(mine);
    if (n == 2) {
      PRAGMA(omp parallel num_threads(3)) {
        CHECK(has(mine));
        have(mine + omp_get_thread_num());
        PRAGMA(omp barrier)
        CHECK(has(mine + omp_get_thread_num()));
      }
    }
    CHECK(has(mine));
  }
  CHECK(has(begin + 1));
}

static __attribute__((noinline)) long double divide(long double by) {
  return 1 / by;
}

/* What one divides by zero is nothing to one who wants a signal for that. */
static void traps(int n) {
  have(0);
  PRAGMA(omp parallel num_threads(n)) {
    const int wants = omp_get_thread_num() % 2;
    if (wants) CHECK(feclearexcept(FE_ALL_EXCEPT) == 0 && feenableexcept(FE_DIVBYZERO) != -1);
    for (int i = 0; i < 20; ++i) {
      volatile const long double quotient = divide(wants ? i + 1 : 0);
      PRAGMA(omp barrier)
      CHECK(quotient > 0 && fegetexcept() == (wants ? FE_DIVBYZERO : 0));
    }
    if (wants) fedisableexcept(FE_DIVBYZERO);
  }
}

int main(void) {
  omp_set_max_active_levels(2);
  omp_init_lock(&lock);
  for (int n = 1; n <= 8; n *= 2) {
    for (int i = 0; i < kRegions; ++i) region(n, i);
    traps(n);
  }
  omp_destroy_lock(&lock);
  return check_end();
}
