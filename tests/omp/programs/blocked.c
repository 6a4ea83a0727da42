/* blocked.c: which signals a thread has blocked is its own, though there are more threads than workers: it finds the same in each region, and what
 * all but the main thread have blocked the main thread takes. */
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { kThreads = 8, kRounds = 10 };

static int number; /* of a thread of OpenMP's, from one on */
PRAGMA(omp threadprivate(number))
static int taken, taken_by_others;

static void take(int signal) {
  (void)signal;
  if (number > 1) __atomic_fetch_add(&taken_by_others, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED);
}

static int is_blocked(int signal) {
  sigset_t now;
  CHECK(pthread_sigmask(SIG_BLOCK, NULL, &now) == 0);
  return sigismember(&now, signal);
}

static void change(int how, int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  CHECK(pthread_sigmask(how, &set, NULL) == 0);
}

static void compute(void) {
  const double begin = omp_get_wtime();
  while (omp_get_wtime() < begin + 0.001) continue;
}

static void all_find_theirs(void) {
  PRAGMA(omp parallel num_threads(kThreads)) {
    CHECK(is_blocked(SIGUSR1) == (omp_get_thread_num() != 0));
    CHECK(is_blocked(SIGUSR2) == (omp_get_thread_num() == 1));
    compute();
    PRAGMA(omp barrier)
    usleep(2000); /* in the kernel */
    CHECK(is_blocked(SIGUSR1) == (omp_get_thread_num() != 0));
    CHECK(is_blocked(SIGUSR2) == (omp_get_thread_num() == 1));
  }
  CHECK(!is_blocked(SIGUSR1) && !is_blocked(SIGUSR2));
}

/* What the main thread has blocked it has blocked in a child, too, though others run there. */
static void in_a_child(void) {
  change(SIG_BLOCK, SIGUSR2);
  const pid_t child = fork();
  if (child == 0) {
    for (int round = 0; round < 3; ++round) {
      PRAGMA(omp parallel num_threads(kThreads)) {
        CHECK(omp_get_thread_num() != 0 || is_blocked(SIGUSR2));
        compute();
        PRAGMA(omp barrier)
        CHECK(is_blocked(SIGUSR2) == (omp_get_thread_num() == 0));
      }
      CHECK(is_blocked(SIGUSR2));
    }
    _exit(check_failures != 0);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(is_blocked(SIGUSR2));
}

int main(void) {
  signal(SIGUSR1, take);
  PRAGMA(omp parallel num_threads(kThreads)) {
    number = omp_get_thread_num() + 1;
    if (omp_get_thread_num() != 0) change(SIG_BLOCK, SIGUSR1);
    if (omp_get_thread_num() == 1) change(SIG_BLOCK, SIGUSR2);
  }
  for (int round = 0; round < kRounds; ++round) {
    all_find_theirs();
    CHECK(kill(getpid(), SIGUSR1) == 0);
    while (__atomic_load_n(&taken, __ATOMIC_RELAXED) <= round) usleep(2000);
  }
  CHECK(taken_by_others == 0);
  PRAGMA(omp parallel num_threads(kThreads)) {
    if (omp_get_thread_num() != 0) change(SIG_UNBLOCK, SIGUSR1);
    PRAGMA(omp barrier)
    compute();
    CHECK(!is_blocked(SIGUSR1));
  }
  in_a_child();
  return check_end();
}
