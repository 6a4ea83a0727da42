/* deaf.c: threads that have all signals blocked, by the system call itself, and wait for each other by looking, and by sleeping for a moment:
 * more of them than there are workers. No tick comes to them, and each is to have its turn all the same. */
#define _GNU_SOURCE
#include <omp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { kThreads = 5, kRounds = 4 };

static atomic_int turn, passed;

static void look(void) {}

static void sleep_for_a_moment(void) {
  const struct timespec moment = {.tv_nsec = 1000};
  syscall(SYS_nanosleep, &moment, NULL);
}

static void hand_round(void (*wait)(void)) {
  PRAGMA(omp parallel num_threads(kThreads)) {
    const int me = omp_get_thread_num();
    const uint64_t all = ~UINT64_C(0);
    uint64_t was;
    CHECK(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &was, sizeof all) == 0);
    for (int i = 0; i < kRounds; ++i) {
      while (atomic_load(&turn) != me) wait();
      atomic_fetch_add(&passed, 1);
      atomic_store(&turn, (me + 1) % kThreads);
    }
    CHECK(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &was, NULL, sizeof was) == 0);
  }
}

int main(void) {
  hand_round(look);
  hand_round(sleep_for_a_moment);
  CHECK(atomic_load(&passed) == 2 * kThreads * kRounds);
  return check_end();
}
