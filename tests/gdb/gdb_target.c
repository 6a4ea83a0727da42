// The program that gdb_test.py looks at: ULTs in each state, and then a call of gdb_stop_here(). With an argument
// it aborts there.
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
#include <weft/weft.h>

static weft_event_t gate = WEFT_EVENT_INIT;
static atomic_int stop;
static atomic_int spinning;

__attribute__((noinline)) static void wait_innermost(int depth) {
  volatile int marker = depth + 4200;
  weft_event_wait(&gate);
  (void)marker;
}
__attribute__((noinline)) static void wait_outermost(void* depth) {
  wait_innermost(*(int*)depth);
  __asm__ volatile("" ::: "memory");  // no tail call
}
__attribute__((noinline)) static void suspend_here(void* arg) {
  (void)arg;
  weft_suspend();
  __asm__ volatile("" ::: "memory");
}
static __thread int own_number;
// With an identity of their own, these two.
__attribute__((noinline)) static void own_and_wait(void* arg) {
  (void)arg;
  own_number = 4400;
  errno = EDOM;
  weft_event_wait(&gate);
  __asm__ volatile("" ::: "memory");
}
__attribute__((noinline)) static void spin_here(void* arg) {
  (void)arg;
  own_number = 4300;
  errno = EXDEV;
  atomic_store(&spinning, 1);
  while (!atomic_load(&stop)) usleep(1000);
}
static void never_runs(void* arg) { (void)arg; }

__attribute__((noinline)) void gdb_stop_here(int end) {
  if (end) abort();
  __asm__ volatile("" ::: "memory");
}

static weft_unit_t start_as(weft_identity_t identity, weft_fn fn, void* arg, const char* name) {
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.identity = identity;
  attr.name = name;
  weft_unit_t unit = NULL;
  if (weft_ult_create(fn, arg, &attr, &unit) != WEFT_OK) exit(3);
  return unit;
}

static weft_unit_t start(weft_fn fn, void* arg, const char* name) { return start_as(WEFT_IDENTITY_WORKER, fn, arg, name); }

static void until(weft_unit_t unit, weft_unit_state_t state) {
  while (weft_unit_state(unit) != state) weft_yield();
}

int main(int argc, char** argv) {
  (void)argv;
  weft_options_t options = {0};
  options.workers = 2;
  if (weft_initialize(&options) != WEFT_OK) return 2;
  static int depth = 7;
  weft_unit_t waits = start(wait_outermost, &depth, "waits");
  until(waits, WEFT_UNIT_BLOCKED);
  weft_unit_t suspended = start(suspend_here, NULL, "suspended");
  until(suspended, WEFT_UNIT_BLOCKED);
  weft_unit_t ended = start(never_runs, NULL, "ended");
  until(ended, WEFT_UNIT_TERMINATED);
  weft_unit_t owner = start_as(WEFT_IDENTITY_OWN, own_and_wait, NULL, "owner");
  until(owner, WEFT_UNIT_BLOCKED);
  own_number = 4100;
  weft_unit_t runs = start_as(WEFT_IDENTITY_OWN, spin_here, NULL, "runs");
  while (!atomic_load(&spinning)) usleep(1000);  // not yield: the other worker shall run it
  weft_unit_t fresh = start(never_runs, NULL, "fresh");
  gdb_stop_here(argc > 1);
  atomic_store(&stop, 1);
  weft_event_set(&gate);
  weft_resume(suspended);
  weft_unit_t all[] = {waits, suspended, ended, owner, runs, fresh};
  weft_free_many(sizeof all / sizeof all[0], all);
  return weft_finalize();
}
