/* loops.c: loops of every schedule and of several types, of teams and of leagues, collapse, lastprivate, ordered, doacross, scans. */
#include <limits.h>
#include <omp.h>
#include <string.h>

#include "check.h"

enum { kMost = 1000 };

static int seen[kMost];

static void check_seen(int n) {
  int wrong = 0;
  for (int i = 0; i < kMost; ++i) wrong += seen[i] != (i < n);
  CHECK(wrong == 0);
  memset(seen, 0, sizeof seen);
}

/* Loops of n iterations, combined with the region and by themselves, of several types, upwards and downwards. */
#define LOOPS(name, ...)                                                      \
  static void name(int n) {                                                   \
    PRAGMA(omp parallel for schedule(__VA_ARGS__))                            \
    for (int i = 0; i < n; ++i) seen[i]++;                                    \
    check_seen(n);                                                            \
    _Pragma("omp parallel") {                                                 \
      PRAGMA(omp for schedule(__VA_ARGS__) nowait)                            \
      for (long i = 7L * n - 7; i >= 0; i -= 7) seen[i / 7]++;                \
    }                                                                         \
    check_seen(n);                                                            \
    _Pragma("omp parallel") {                                                 \
      const unsigned long long base = ULLONG_MAX - 3ull * kMost;              \
      PRAGMA(omp for schedule(__VA_ARGS__))                                   \
      for (unsigned long long i = base; i < base + 3ull * (unsigned)n; i += 3) \
        seen[(i - base) / 3]++;                                               \
      PRAGMA(omp single)                                                      \
      check_seen(n);                                                          \
      PRAGMA(omp for schedule(__VA_ARGS__))                                   \
      for (unsigned char i = 0; i < (n < 200 ? n : 200); i++) seen[i]++;      \
    }                                                                         \
    check_seen(n < 200 ? n : 200);                                            \
  }
LOOPS(loops_static, static)
LOOPS(loops_static_3, static, 3)
LOOPS(loops_dynamic, dynamic)
LOOPS(loops_dynamic_5, dynamic, 5)
LOOPS(loops_guided, guided)
LOOPS(loops_guided_4, guided, 4)
LOOPS(loops_auto, auto)
LOOPS(loops_runtime, runtime)
LOOPS(loops_monotonic, monotonic : dynamic, 2)
LOOPS(loops_nonmonotonic, nonmonotonic : guided, 2)
LOOPS(loops_monotonic_runtime, monotonic : runtime)

static void schedules(void) {
  const int sizes[] = {0, 1, 2, 7, 100, kMost};
  for (unsigned k = 0; k < sizeof sizes / sizeof *sizes; ++k) {
    const int n = sizes[k];
    loops_static(n);
    loops_static_3(n);
    loops_dynamic(n);
    loops_dynamic_5(n);
    loops_guided(n);
    loops_guided_4(n);
    loops_auto(n);
    loops_monotonic(n);
    loops_nonmonotonic(n);
    const omp_sched_t kinds[] = {omp_sched_static, omp_sched_dynamic, omp_sched_guided, omp_sched_auto};
    for (int kind = 0; kind < 4; ++kind) {
      omp_set_schedule(kinds[kind], kind + 1);
      loops_runtime(n);
      loops_monotonic_runtime(n);
    }
  }
}

/* Who gets which iteration is settled for the static schedules, and the order in which one thread gets them for the monotonic. */
static void deals(void) {
  int owner[100], again[100], falls = 0;
#pragma omp parallel reduction(+ : falls)
  {
    const int me = omp_get_thread_num(), n = omp_get_num_threads();
#pragma omp for schedule(static, 4)
    for (int i = 0; i < 100; ++i) CHECK(i / 4 % n == me);
#pragma omp for schedule(static)
    for (int i = 0; i < 100; ++i) owner[i] = me;
#pragma omp for schedule(static)
    for (int i = 0; i < 100; ++i) again[i] = me;
    int last = -1;
#pragma omp for schedule(monotonic : dynamic, 3)
    for (int i = 0; i < 100; ++i) {
      falls += i < last;
      last = i;
    }
  }
  CHECK(falls == 0);
  for (int i = 0; i < 100; ++i) CHECK(owner[i] == again[i] && (i == 0 || owner[i] >= owner[i - 1]));
}

static void collapsed(void) {
  int count[6][7][8] = {0}, lower[20][20] = {0}, wrong = 0;
#pragma omp parallel for collapse(3) schedule(dynamic, 5)
  for (int i = 0; i < 6; ++i)
    for (int j = 6; j >= 0; --j)
      for (int k = 0; k < 16; k += 2) count[i][j][k / 2]++;
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 7; ++j)
      for (int k = 0; k < 8; ++k) wrong += count[i][j][k] != 1;
#pragma omp parallel for collapse(2)
  for (int i = 0; i < 20; ++i)
    for (int j = 0; j <= i; ++j) lower[i][j]++;
  for (int i = 0; i < 20; ++i)
    for (int j = 0; j < 20; ++j) wrong += lower[i][j] != (j <= i);
  CHECK(wrong == 0);
}

static void last(void) {
  int last = -1, highest = -1;
#pragma omp parallel for schedule(dynamic, 3) lastprivate(last)
  for (int i = 0; i < 101; ++i) last = i * i;
  CHECK(last == 10000);
#pragma omp parallel for schedule(static) lastprivate(conditional : highest)
  for (int i = 0; i < 500; ++i) {
    if (i % 123 == 0) highest = i;
  }
  CHECK(highest == 492);
}

#define ORDERED(...)                                                 \
  do {                                                               \
    int next = 0, wrong = 0;                                         \
    PRAGMA(omp parallel for ordered schedule(__VA_ARGS__))           \
    for (int i = 0; i < 200; ++i) {                                  \
      int local = i;                                                 \
      if (i % 3 != 1) {                                              \
        PRAGMA(omp ordered) {                                        \
          wrong += next > local;                                     \
          next = local + 1;                                          \
        }                                                            \
      }                                                              \
    }                                                                \
    CHECK(wrong == 0 && next == 199);                                \
  } while (0)

static void ordered(void) {
  ORDERED(static);
  ORDERED(static, 1);
  ORDERED(dynamic);
  ORDERED(dynamic, 7);
  ORDERED(guided);
  ORDERED(runtime);
  unsigned long long next = ULLONG_MAX - 50;
#pragma omp parallel for ordered schedule(dynamic)
  for (unsigned long long i = ULLONG_MAX - 50; i < ULLONG_MAX; ++i) {
#pragma omp ordered
    CHECK(next++ == i);
  }
}

/* A wave runs through the table: each cell wants its left and its upper neighbour. */
#define DOACROSS(type, ...)                                            \
  do {                                                                 \
    static int cell[30][30], by_one[30][30];                           \
    for (int i = 0; i < 30; ++i)                                       \
      for (int j = 0; j < 30; ++j) {                                   \
        by_one[i][j] = i * 3 + j * 5 + 1;                              \
        if (i > 0) by_one[i][j] += by_one[i - 1][j] % 1000;            \
        if (j > 0) by_one[i][j] += by_one[i][j - 1] % 777;             \
        cell[i][j] = i * 3 + j * 5 + 1;                                \
      }                                                                \
    PRAGMA(omp parallel for ordered(2) __VA_ARGS__)                    \
    for (type i = 0; i < 30; ++i)                                      \
      for (type j = 0; j < 30; ++j) {                                  \
        PRAGMA(omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)) \
        if (i > 0) cell[i][j] += cell[i - 1][j] % 1000;                \
        if (j > 0) cell[i][j] += cell[i][j - 1] % 777;                 \
        PRAGMA(omp ordered depend(source))                             \
      }                                                                \
    CHECK(memcmp(cell, by_one, sizeof cell) == 0);                     \
  } while (0)

static void doacross(void) {
  DOACROSS(int, schedule(static));
  DOACROSS(int, schedule(static, 1));
  DOACROSS(long, schedule(dynamic, 2));
  DOACROSS(unsigned long long, schedule(guided));
  DOACROSS(int, collapse(1) schedule(runtime));
}

static void scans(void) {
  long sum = 0, up_to[300], before[300];
#pragma omp parallel for reduction(inscan, + : sum)
  for (int i = 0; i < 300; ++i) {
    sum += i;
#pragma omp scan inclusive(sum)
    up_to[i] = sum;
  }
  CHECK(sum == 299 * 300 / 2);
  sum = 0;
#pragma omp parallel for reduction(inscan, + : sum)
  for (int i = 0; i < 300; ++i) {
    before[i] = sum;
#pragma omp scan exclusive(sum)
    sum += i;
  }
  int wrong = 0;
  for (long i = 0; i < 300; ++i) wrong += up_to[i] != i * (i + 1) / 2 || before[i] != i * (i - 1) / 2;
  CHECK(wrong == 0);
}

/* Many small loops one after the other, without a barrier between them: threads are in different ones. */
static void many(void) {
  static int count[64];
  memset(count, 0, sizeof count);
#pragma omp parallel
  for (int round = 0; round < 64; ++round) {
    switch (round % 4) {
      case 0: {
#pragma omp for schedule(dynamic) nowait
        for (int i = 0; i < 10; ++i) {
#pragma omp atomic
          count[round]++;
        }
        break;
      }
      case 1: {
#pragma omp for schedule(static, 1) ordered nowait
        for (int i = 0; i < 10; ++i) {
#pragma omp ordered
          count[round]++;
        }
        break;
      }
      case 2: {
#pragma omp for schedule(guided) nowait
        for (int i = 0; i < 10; ++i) {
#pragma omp atomic
          count[round]++;
        }
        break;
      }
      default: {
#pragma omp loop bind(parallel)
        for (int i = 0; i < 10; ++i) {
          __atomic_fetch_add(&count[round], 1, __ATOMIC_RELAXED);
        }
      }
    }
  }
  for (int round = 0; round < 64; ++round) CHECK(count[round] == 10);
}

/* Of a league's teams, each of so many threads: dealt out twice, upwards and downwards. */
#define IN_LEAGUE(...) PRAGMA(omp teams distribute parallel for num_teams(teams) __VA_ARGS__)
#define LEAGUE(name, ...)                                                   \
  static void name(int teams, int threads, int n) {                         \
    IN_LEAGUE(thread_limit(threads) __VA_ARGS__)                            \
    for (int i = 0; i < n; ++i) seen[i]++;                                  \
    check_seen(n);                                                          \
    IN_LEAGUE(num_threads(threads) __VA_ARGS__)                             \
    for (long i = 7L * n - 7; i >= 0; i -= 7) seen[i / 7]++;                \
    check_seen(n);                                                          \
    int last = -1;                                                          \
    IN_LEAGUE(num_threads(threads) lastprivate(last) __VA_ARGS__)           \
    for (unsigned i = 0; i < 3u * (unsigned)n; i += 3) {                    \
      seen[i / 3]++;                                                        \
      last = (int)i;                                                        \
    }                                                                       \
    if (n != 0) CHECK(last == 3 * n - 3);                                   \
    check_seen(n);                                                          \
  }
LEAGUE(league, )
LEAGUE(league_static, schedule(static))
LEAGUE(league_static_1, schedule(static, 1))
LEAGUE(league_static_3, schedule(static, 3))
LEAGUE(league_dynamic_1, schedule(dynamic, 1))
LEAGUE(league_by_1, dist_schedule(static, 1))
LEAGUE(league_by_5, dist_schedule(static, 5))
LEAGUE(league_by_1_static_1, dist_schedule(static, 1) schedule(static, 1))
LEAGUE(league_by_5_static_1, dist_schedule(static, 5) schedule(static, 1))
LEAGUE(league_by_5_static_3, dist_schedule(static, 5) schedule(static, 3))

static void leagues(void) {
  const int sizes[] = {0, 1, 4, 100};
  for (int k = 0; k < 4; ++k) {
    for (int teams = 1; teams <= 3; ++teams) {
      for (int threads = 1; threads <= 3; ++threads) {
        const int n = sizes[k];
        league(teams, threads, n);
        league_static(teams, threads, n);
        league_static_1(teams, threads, n);
        league_static_3(teams, threads, n);
        league_dynamic_1(teams, threads, n);
        league_by_1(teams, threads, n);
        league_by_5(teams, threads, n);
        league_by_1_static_1(teams, threads, n);
        league_by_5_static_1(teams, threads, n);
        league_by_5_static_3(teams, threads, n);
      }
    }
  }
}

int main(void) {
  const int teams[] = {1, 2, 3, 8};
  for (int k = 0; k < 4; ++k) {
    omp_set_num_threads(teams[k]);
    schedules();
    deals();
    collapsed();
    last();
    ordered();
    doacross();
    scans();
    many();
    leagues();
  }
  return check_end();
}
