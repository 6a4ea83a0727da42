/* Sums in ULTs of two execution streams, as a program for Argobots does it, and waits as only Weft can. */
#include <abt.h>
#include <stdio.h>
#include <weft/abt_ext.h>

#define ULTS 100

static ABT_mutex_memory mutex_memory = ABT_MUTEX_INITIALIZER;
static ABT_eventual_memory done_memory = ABT_EVENTUAL_INITIALIZER;
static int sum;

static void add(void* number) {
  ABT_mutex mutex = ABT_MUTEX_MEMORY_GET_HANDLE(&mutex_memory);
  ABT_mutex_lock(mutex);
  sum += *(int*)number;
  ABT_mutex_unlock(mutex);
}

static void announce(void* arg) {
  (void)arg;
  ABT_eventual_set(ABT_EVENTUAL_MEMORY_GET_HANDLE(&done_memory), NULL, 0);
}

static int fails(int code, const char* what) {
  if (code != ABT_SUCCESS) printf("%s: %d\n", what, code);
  return code != ABT_SUCCESS;
}

int main(int argc, char** argv) {
  static int numbers[ULTS];
  static ABT_thread threads[ULTS];
  ABT_xstream streams[2];
  ABT_eventual done = ABT_EVENTUAL_MEMORY_GET_HANDLE(&done_memory);
  size_t which = 1;
  if (fails(ABT_init(argc, argv), "ABT_init") || fails(ABT_xstream_self(&streams[0]), "ABT_xstream_self") ||
      fails(ABT_xstream_create(ABT_SCHED_NULL, &streams[1]), "ABT_xstream_create")) {
    return 1;
  }
  for (int i = 0; i < ULTS; ++i) {
    numbers[i] = i;
    if (fails(ABT_thread_create_on_xstream(streams[i % 2], add, &numbers[i], ABT_THREAD_ATTR_NULL, &threads[i]),
              "ABT_thread_create_on_xstream")) {
      return 1;
    }
  }
  if (fails(ABT_thread_free_many(ULTS, threads), "ABT_thread_free_many")) return 1;
  if (fails(ABT_task_create_on_xstream(streams[1], announce, NULL, NULL), "ABT_task_create_on_xstream") ||
      fails(ABTX_eventual_wait_any(1, &done, &which), "ABTX_eventual_wait_any") || which != 0) {
    return 1;
  }
  if (fails(ABT_xstream_free(&streams[1]), "ABT_xstream_free") || fails(ABT_finalize(), "ABT_finalize")) return 1;
  printf("%d\n", sum);
  return sum == ULTS * (ULTS - 1) / 2 ? 0 : 1;
}
