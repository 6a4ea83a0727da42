// weft.h in a C11 program: the header compiles as C, its macros and initialisers work there, and
// the library links to it.
#if !defined(__STDC_VERSION__) || __STDC_VERSION__ < 201112L
#error "C11 or later"
#endif

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <weft/weft.h>

#define CHECK(condition)                                                        \
  do {                                                                          \
    if (!(condition)) {                                                         \
      fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                  \
    }                                                                           \
  } while (0)

enum { kUnits = 500 };

static weft_mutex_t mutex = WEFT_MUTEX_INIT;
static weft_cond_t cond = WEFT_COND_INIT;
static weft_barrier_t barrier = WEFT_BARRIER_INIT(4);
static weft_event_t event = WEFT_EVENT_INIT;
static long counter;
static atomic_int lasts;
static atomic_int destroyed;

static void count(void* unused) {
  (void)unused;
  for (int i = 0; i < 10; ++i) {
    CHECK(weft_mutex_lock(&mutex) == WEFT_OK);
    ++counter;
    CHECK(weft_mutex_unlock(&mutex) == WEFT_OK);
    weft_yield();
  }
}

static void check_units(void) {
  weft_unit_t units[kUnits];
  size_t created = 0;
  CHECK(weft_ult_create_many(kUnits, count, NULL, 0, NULL, units, &created) == WEFT_OK);
  CHECK(created == kUnits);
  CHECK(weft_free_many(kUnits, units) == WEFT_OK);
  CHECK(counter == 10L * kUnits);

  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.name = "a C ULT";
  attr.stack_size = 64 * 1024;
  weft_unit_t unit;
  CHECK(weft_ult_create(count, NULL, &attr, &unit) == WEFT_OK);
  CHECK(weft_is_ult(unit));
  CHECK(weft_join(unit) == WEFT_OK);
  CHECK(weft_unit_state(unit) == WEFT_UNIT_TERMINATED);
  CHECK(weft_revive(unit, count, NULL) == WEFT_OK);
  CHECK(weft_free(&unit) == WEFT_OK);
  CHECK(unit == NULL);
  CHECK(weft_join(NULL) == WEFT_ERR_INVALID);
}

static void pass_barrier(void* unused) {
  (void)unused;
  for (int i = 0; i < 10; ++i) {
    bool last = false;
    CHECK(weft_barrier_wait(&barrier, &last) == WEFT_OK);
    if (last) {
      ++lasts;
    }
  }
  CHECK(weft_event_wait(&event) == WEFT_OK);
  CHECK(weft_mutex_lock(&mutex) == WEFT_OK);
  while (counter > 0) {
    CHECK(weft_cond_wait(&cond, &mutex) == WEFT_OK);
  }
  CHECK(weft_mutex_unlock(&mutex) == WEFT_OK);
}

static void check_sync(void) {
  weft_unit_t units[4];
  CHECK(weft_ult_create_many(4, pass_barrier, NULL, 0, NULL, units, NULL) == WEFT_OK);
  CHECK(!weft_event_is_set(&event));
  CHECK(weft_event_set(&event) == WEFT_OK);
  weft_yield();
  CHECK(weft_mutex_lock(&mutex) == WEFT_OK);
  counter = 0;
  CHECK(weft_cond_broadcast(&cond) == WEFT_OK);
  CHECK(weft_mutex_unlock(&mutex) == WEFT_OK);
  CHECK(weft_free_many(4, units) == WEFT_OK);
  CHECK(lasts == 10);
}

static void destroy(void* value) {
  CHECK(value == &counter);
  ++destroyed;
}

static void set_key(void* key) { CHECK(weft_key_set((weft_key_t)key, &counter) == WEFT_OK); }

static void check_keys(void) {
  weft_key_t key;
  CHECK(weft_key_create(destroy, &key) == WEFT_OK);
  weft_unit_t unit;
  CHECK(weft_tasklet_create(set_key, key, NULL, &unit) == WEFT_OK);
  CHECK(weft_free(&unit) == WEFT_OK);
  CHECK(destroyed == 1);
  CHECK(weft_key_free(&key) == WEFT_OK);
}

struct fork {
  weft_fork_t base;  // first: run_fork() receives its address
  int n;
  long result;
};

static long fib(int n);
static void run_fork(weft_fork_t* self) {
  struct fork* f = (struct fork*)self;
  f->result = fib(f->n);
}

static long fib(int n) {
  if (n < 2) {
    return n;
  }
  struct fork f = {.base = {.invoke = run_fork}, .n = n - 2};
  weft_fork_push(&f.base);
  const long a = fib(n - 1);
  if (weft_fork_pop(&f.base)) {
    run_fork(&f.base);
  }
  return a + f.result;
}

static void check_sched(void) {
  weft_pool_t pool;
  weft_sched_t sched;
  weft_worker_t worker;
  CHECK(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &pool) == WEFT_OK);
  CHECK(weft_sched_create(WEFT_SCHED_BASIC, 1, &pool, &sched) == WEFT_OK);
  CHECK(weft_worker_create(sched, &worker) == WEFT_OK);
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.pool = pool;
  weft_unit_t unit;
  CHECK(weft_ult_create(count, NULL, &attr, &unit) == WEFT_OK);
  CHECK(weft_free(&unit) == WEFT_OK);
  weft_worker_stats_t stats;
  CHECK(weft_worker_stats(worker, &stats) == WEFT_OK);
  CHECK(stats.units_run == 1);
  CHECK(weft_worker_free(&worker) == WEFT_OK);
  CHECK(weft_sched_free(&sched) == WEFT_OK);
  CHECK(weft_pool_free(&pool) == WEFT_OK);
}

int main(void) {
  CHECK(!weft_initialized());
  CHECK(weft_finalize() == WEFT_ERR_UNINITIALIZED);
  const weft_options_t options = {.workers = 2};
  CHECK(weft_initialize(&options) == WEFT_OK);
  check_units();
  check_sync();
  check_keys();
  CHECK(fib(20) == 6765);
  check_sched();
  CHECK(weft_finalize() == WEFT_OK);
  printf("%s\n", weft_version());
  return 0;
}
