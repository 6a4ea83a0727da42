/* user.c: a library that uses Weft by itself, as a plug-in or a Python module does. Built as two libraries that do
 * not know each other, and used by the programs and the script beside it.
 */
#include <weft/weft.h>

#include <stdlib.h>

#define USER_API __attribute__((visibility("default")))

static void square(void* number) {
  long* n = number;
  weft_yield();
  *n *= *n;
}

/* Counted by Weft: other parts of the process do the same. */
USER_API int user_start(unsigned workers) {
  weft_options_t options = {0};
  options.workers = workers;
  return weft_initialize(&options);
}

USER_API int user_stop(void) { return weft_finalize(); }

USER_API int user_running(void) { return weft_initialized(); }

/* In a child that a thread has forked the runtime is not there: whoever wants it starts it. */
USER_API int user_ensure(unsigned workers) {
  return weft_initialized() ? WEFT_OK : user_start(workers);
}

/* The sum of the squares of 0 to n - 1, each from a ULT of its own; minus an error. */
USER_API long user_sum_of_squares(size_t n) {
  long* numbers = malloc(n * sizeof *numbers);
  weft_unit_t* units = malloc(n * sizeof *units);
  size_t created = 0;
  long sum = 0;
  for (size_t i = 0; i < n && numbers != NULL; ++i) numbers[i] = (long)i;
  int error = numbers == NULL || units == NULL
                  ? WEFT_ERR_NO_MEMORY
                  : weft_ult_create_many(n, square, numbers, sizeof *numbers, NULL, units, &created);
  if (created > 0) {
    const int joined = weft_free_many(created, units);
    if (error == WEFT_OK) error = joined;
  }
  for (size_t i = 0; i < n && error == WEFT_OK; ++i) sum += numbers[i];
  free(units);
  free(numbers);
  return error == WEFT_OK ? sum : -error;
}

/* A ULT that waits until user_release(): in a forked child it is not there. */
static weft_event_t go = WEFT_EVENT_INIT;
static weft_unit_t waiting;

static void wait_for_go(void* arg) {
  (void)arg;
  weft_event_wait(&go);
}

USER_API int user_hold(void) { return weft_ult_create(wait_for_go, NULL, NULL, &waiting); }

USER_API int user_release(void) {
  weft_event_set(&go);
  const int error = weft_free(&waiting);
  weft_event_reset(&go);
  return error;
}

USER_API int user_error_forked(void) { return WEFT_ERR_FORKED; }
