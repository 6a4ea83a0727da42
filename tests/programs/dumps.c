/* A ULT writes dumps where workers are taken from ULTs. It asks threads that wait for it, and one of those may have the only worker that it could go on
 * with, if it lost its own meanwhile: in what reads stacks for it, and calls the program's sigprocmask(), which is Weft's in a program that is linked so. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "weft/block.h"
#include "weft/preempt.h"
#include "weft/weft.h"

enum { kYielders = 3, kDumps = 300 };

static atomic_bool over;
static int failures, file;

static void yields(void* unused) {
  (void)unused;
  while (!atomic_load(&over)) weft_yield();
}

static void dumps(void* unused) {
  (void)unused;
  for (int i = 0; i < kDumps; ++i) {
    failures += weft_dump(file) != WEFT_OK;
    weft_yield();
  }
  atomic_store(&over, true);
}

int main(void) {
  weft_unit_t units[kYielders + 1];
  weft_options_t options = {0};
  options.workers = 2;
  options.bind = -1;
  file = open("/dev/null", O_WRONLY);
  failures += weft_initialize(&options) != WEFT_OK;
  failures += weft_preemption_set_mode(WEFT_PREEMPTION_ON) != WEFT_OK;
  failures += weft_blocking_set_mode(WEFT_BLOCKING_ON) != WEFT_OK;
  for (int i = 0; i <= kYielders; ++i) failures += weft_ult_create(i < kYielders ? yields : dumps, NULL, NULL, &units[i]) != WEFT_OK;
  failures += weft_free_many(kYielders + 1, units) != WEFT_OK;
  failures += weft_finalize() != WEFT_OK;
  close(file);
  printf("%d failures\n", failures);
  return failures != 0;
}
