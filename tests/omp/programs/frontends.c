/* frontends.c: a service loop on Argobots, ULTs of Weft's C interface, and main() open OpenMP regions at the same time, their
 * own and OpenBLAS's. All of them run on the same workers: Argobots' execution streams.
 */
#include <abt.h>
#include <omp.h>
#include <string.h>
#include <time.h>
#include <weft/weft.h>

#include "blas.h"
#include "check.h"

enum { kSize = 96, kRequests = 20, kServers = 2, kClients = 2, kComputing = 2 };

/* OpenBLAS is called by one at a time (see openblas.c), the region by all. */
static weft_mutex_t blas = WEFT_MUTEX_INIT;

static void multiply_both(const double* a, const double* b, double* c) {
  weft_mutex_lock(&blas);
  multiply(a, b, c, kSize);
  weft_mutex_unlock(&blas);
  int wrong = 0;
#pragma omp parallel for reduction(+ : wrong) schedule(dynamic, 7)
  for (int i = 0; i < kSize; ++i)
    for (int j = 0; j < kSize; ++j) {
      double sum = 0;
      for (int l = 0; l < kSize; ++l) sum += a[i * kSize + l] * b[l * kSize + j];
      wrong += sum != c[i * kSize + j];
    }
  CHECK(wrong == 0);
}

/* A service: requests come into a list, a ULT of Argobots serves them, and says so by an eventual. */
struct request {
  double *a, *b, *c;
  ABT_eventual done;
  struct request* next;
};

static struct {
  ABT_mutex mutex;
  ABT_cond come;
  struct request* first;
  int stop;
} service;

static void serve(void* unused) {
  (void)unused;
  while (1) {
    ABT_mutex_lock(service.mutex);
    while (service.first == NULL && !service.stop) ABT_cond_wait(service.come, service.mutex);
    struct request* request = service.first;
    if (request != NULL) service.first = request->next;
    ABT_mutex_unlock(service.mutex);
    if (request == NULL) return;
    multiply_both(request->a, request->b, request->c);
    ABT_eventual_set(request->done, NULL, 0);
  }
}

static void ask(void* unused) {
  (void)unused;
  struct request request = {matrix(kSize, 1), matrix(kSize, 2), matrix(kSize, 3), ABT_EVENTUAL_NULL, NULL};
  for (int i = 0; i < kRequests; ++i) {
    CHECK(ABT_eventual_create(0, &request.done) == ABT_SUCCESS);
    memset(request.c, 0, sizeof(double) * kSize * kSize);
    ABT_mutex_lock(service.mutex);
    request.next = service.first;
    service.first = &request;
    ABT_cond_signal(service.come);
    ABT_mutex_unlock(service.mutex);
    CHECK(ABT_eventual_wait(request.done, NULL) == ABT_SUCCESS);
    ABT_eventual_free(&request.done);
  }
  free(request.a);
  free(request.b);
  free(request.c);
}

/* The same by itself: a ULT of Weft's. */
static void compute(void* unused) {
  (void)unused;
  double *a = matrix(kSize, 4), *b = matrix(kSize, 5), *c = matrix(kSize, 6);
  for (int i = 0; i < kRequests; ++i) {
    memset(c, 0, sizeof(double) * kSize * kSize);
    multiply_both(a, b, c);
  }
  free(a);
  free(b);
  free(c);
}

static double seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static ABT_pool pool_of(ABT_xstream xstream) {
  ABT_pool pool = ABT_POOL_NULL;
  CHECK(ABT_xstream_get_main_pools(xstream, 1, &pool) == ABT_SUCCESS);
  return pool;
}

static void all_at_once(ABT_pool here, ABT_pool there) {
  ABT_thread servers[kServers], clients[kClients];
  weft_unit_t computing[kComputing];
  service.stop = 0;
  for (int i = 0; i < kServers; ++i) {
    CHECK(ABT_thread_create(i % 2 ? here : there, serve, NULL, ABT_THREAD_ATTR_NULL, &servers[i]) == ABT_SUCCESS);
  }
  for (int i = 0; i < kClients; ++i) {
    CHECK(ABT_thread_create(i % 2 ? there : here, ask, NULL, ABT_THREAD_ATTR_NULL, &clients[i]) == ABT_SUCCESS);
  }
  for (int i = 0; i < kComputing; ++i) CHECK(weft_ult_create(compute, NULL, NULL, &computing[i]) == WEFT_OK);
  compute(NULL);
  for (int i = 0; i < kClients; ++i) CHECK(ABT_thread_free(&clients[i]) == ABT_SUCCESS);
  for (int i = 0; i < kComputing; ++i) CHECK(weft_free(&computing[i]) == WEFT_OK);
  ABT_mutex_lock(service.mutex);
  service.stop = 1;
  ABT_cond_broadcast(service.come);
  ABT_mutex_unlock(service.mutex);
  for (int i = 0; i < kServers; ++i) CHECK(ABT_thread_free(&servers[i]) == ABT_SUCCESS);
}

/* Execution streams end when their units have, also those of OpenMP's teams that have begun there. */
enum { kStreams = 2, kOpening = 6 };

static void open_regions(void* unused) {
  (void)unused;
  for (int i = 0; i < 10; ++i) {
    long sum = 0;
#pragma omp parallel for reduction(+ : sum) num_threads(3)
    for (int j = 0; j < 1000; ++j) sum += j;
    CHECK(sum == 499500);
    CHECK(ABT_thread_yield() == ABT_SUCCESS);
  }
}

static void streams_end(void) {
  ABT_pool pool;
  ABT_xstream streams[kStreams];
  ABT_thread threads[kOpening];
  CHECK(ABT_pool_create_basic(ABT_POOL_FIFO, ABT_POOL_ACCESS_MPMC, ABT_FALSE, &pool) == ABT_SUCCESS);
  for (int i = 0; i < kStreams; ++i) {
    CHECK(ABT_xstream_create_basic(ABT_SCHED_BASIC, 1, &pool, ABT_SCHED_CONFIG_NULL, &streams[i]) == ABT_SUCCESS);
  }
  for (int i = 0; i < kOpening; ++i) CHECK(ABT_thread_create(pool, open_regions, NULL, ABT_THREAD_ATTR_NULL, &threads[i]) == ABT_SUCCESS);
  for (int i = 0; i < kOpening; ++i) CHECK(ABT_thread_free(&threads[i]) == ABT_SUCCESS);
  for (int i = 0; i < kStreams; ++i) CHECK(ABT_xstream_free(&streams[i]) == ABT_SUCCESS);
  CHECK(ABT_pool_free(&pool) == ABT_SUCCESS);
}

/* Of threads that there have not been before. */
static void open_a_larger_region(void) {
  enum { kThreads = 5 };
  int there[kThreads] = {0};
#pragma omp parallel num_threads(kThreads)
  there[omp_get_thread_num()] = 1;
  for (int i = 0; i < kThreads; ++i) CHECK(there[i]);
}

/* From here on main's stream has a pool of the program's, which ends with ABT_finalize(). */
static void have_a_pool(ABT_xstream primary) {
  ABT_pool pool;
  CHECK(ABT_pool_create_basic(ABT_POOL_FIFO, ABT_POOL_ACCESS_MPMC, ABT_TRUE, &pool) == ABT_SUCCESS);
  CHECK(ABT_xstream_set_main_sched_basic(primary, ABT_SCHED_BASIC, 1, &pool) == ABT_SUCCESS);
}

int main(int argc, char** argv) {
  if (weft_initialized()) {
    puts("With a tool, a library's constructor that asks OpenMP something has begun the runtime (OpenBLAS 0.3.29 does): no ABT_init() now");
    return 77;
  }
  CHECK(ABT_init(argc, argv) == ABT_SUCCESS);
  ABT_xstream primary, second;
  CHECK(ABT_self_get_xstream(&primary) == ABT_SUCCESS);
  CHECK(ABT_mutex_create(&service.mutex) == ABT_SUCCESS && ABT_cond_create(&service.come) == ABT_SUCCESS);
  for (int streams = 1; streams <= 2; ++streams) {
    if (streams == 2) CHECK(ABT_xstream_create(ABT_SCHED_NULL, &second) == ABT_SUCCESS);
    const double begin = seconds(CLOCK_MONOTONIC), used = seconds(CLOCK_PROCESS_CPUTIME_ID);
    all_at_once(pool_of(primary), pool_of(streams == 2 ? second : primary));
    const double wall = seconds(CLOCK_MONOTONIC) - begin, cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - used;
    printf("%d streams: %.3f s, %.3f s of CPUs\n", streams, wall, cpu);
    /* OpenMP has added no worker, and no more kernel threads have run at a time than there are. */
    CHECK(weft_worker_count() == (unsigned)streams);
    CHECK(cpu < wall * streams * 1.2);
  }
  CHECK(ABT_xstream_join(second) == ABT_SUCCESS && ABT_xstream_free(&second) == ABT_SUCCESS);
  for (int i = 0; i < 10; ++i) streams_end();
  compute(NULL);
  ABT_cond_free(&service.come);
  ABT_mutex_free(&service.mutex);
  have_a_pool(primary);
  open_a_larger_region();
  have_a_pool(primary); /* another one: OpenMP's threads, which wait in the first one, come along */
  open_a_larger_region();
  CHECK(ABT_finalize() == ABT_SUCCESS);
  compute(NULL); /* OpenMP goes on */
  open_a_larger_region();
  return check_end();
}
