/* profiled.c: a profiler's handler, which takes a lock of its own. It comes to whatever kernel thread uses the processor: in a thread of a
 * team, which may be preempted, or in the runtime.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <omp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <time.h>

#include "check.h"

enum { kSamples = 1500 };

static atomic_flag held = ATOMIC_FLAG_INIT;
static int samples;

static void sample(int number) {
  const int error = errno;
  const struct timespec moment = {.tv_nsec = 20000};
  (void)number;
  for (int i = 0; atomic_flag_test_and_set(&held); ++i) {
    if (i > 100) nanosleep(&moment, NULL);
  }
  ++samples;
  for (volatile int k = 0; k < 20000; ++k) continue;
  atomic_flag_clear(&held);
  errno = error;
}

static int seen(void) {
  sigset_t prof, before;
  sigemptyset(&prof);
  sigaddset(&prof, SIGPROF);
  CHECK(sigprocmask(SIG_BLOCK, &prof, &before) == 0);
  while (atomic_flag_test_and_set(&held)) continue;
  const int n = samples;
  atomic_flag_clear(&held);
  CHECK(sigprocmask(SIG_SETMASK, &before, NULL) == 0);
  return n;
}

int main(void) {
  const struct sigaction action = {.sa_handler = sample, .sa_flags = SA_RESTART};
  const struct itimerval every = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
  CHECK(sigaction(SIGPROF, &action, NULL) == 0 && setitimer(ITIMER_PROF, &every, NULL) == 0);
  long sum = 0;
  while (seen() < kSamples) {
#pragma omp parallel num_threads(8) reduction(+ : sum)
    {
      for (volatile int k = 0; k < 200000; ++k) sum += k & 1;
#pragma omp barrier
      ++sum;
    }
  }
  CHECK(setitimer(ITIMER_PROF, &never, NULL) == 0 && sum > 0);
  return 0;
}
