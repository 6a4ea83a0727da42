/* check.h: what is wrong, and the exit status that tells. Any OpenMP thread may find it. */
#pragma once
#include <stdio.h>

#define PRAGMA(...) _Pragma(#__VA_ARGS__)
#define CHECK(condition) check_is(!!(condition), #condition, __FILE__, __LINE__)

static int check_failures;

static inline void check_is(int is, const char* what, const char* file, int line) {
  if (is) return;
  if (__atomic_fetch_add(&check_failures, 1, __ATOMIC_RELAXED) < 20) {
    fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
  }
}

static inline int check_end(void) {
  puts(check_failures == 0 ? "ok" : "FAILED");
  return check_failures != 0;
}
