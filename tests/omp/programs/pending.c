/* pending.c: what a thread has blocked and is sent stays pending for it, wherever it runs meanwhile: nobody else gets it, and it comes before the
 * call returns that unblocks it. What the process is sent, and all threads have blocked, stays pending for whoever asks for it. */
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { kRounds = 60, kMostThreads = 8 };

static __thread volatile sig_atomic_t own;
static atomic_int all;

static void count(int number) {
  (void)number;
  ++own;
  atomic_fetch_add(&all, 1);
}

static sigset_t only(int number) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  return set;
}

/* Each thread sends itself one; the barriers take it through other kernel threads. */
static void to_oneself(int n) {
  const sigset_t set = only(SIGUSR1);
  PRAGMA(omp parallel num_threads(n))
  for (int i = 0; i < kRounds; ++i) {
    CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
    const int before = own;
    if (i % 3 == 0) CHECK(pthread_kill(pthread_self(), SIGUSR1) == 0);
    else CHECK(raise(SIGUSR1) == 0);
    PRAGMA(omp barrier)
    sigset_t pending;
    CHECK(sigpending(&pending) == 0 && sigismember(&pending, SIGUSR1) && own == before);
    if (i % 4 == 3) {
      int number;
      CHECK(sigwait(&set, &number) == 0 && number == SIGUSR1);
    }
    CHECK(pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0);
    CHECK(own == before + (i % 4 != 3));
  }
}

/* One does; the others unblock it before. */
static void to_one_of_all(int n) {
  const sigset_t set = only(SIGUSR1);
  PRAGMA(omp parallel num_threads(n))
  for (int i = 0; i < kRounds; ++i) {
    const int sends = omp_get_thread_num() == i % n, before = own;
    sigset_t was;
    CHECK(pthread_sigmask(SIG_BLOCK, &set, &was) == 0);
    PRAGMA(omp barrier)
    if (sends) CHECK(raise(SIGUSR1) == 0);
    PRAGMA(omp barrier)
    if (!sends) CHECK(pthread_sigmask(SIG_SETMASK, &was, NULL) == 0);
    PRAGMA(omp barrier)
    CHECK(own == before);
    if (sends) CHECK(pthread_sigmask(SIG_SETMASK, &was, NULL) == 0);
    CHECK(own == before + sends);
    PRAGMA(omp barrier)
  }
}

static void to_the_process(int n) {
  const sigset_t set = only(SIGUSR2);
  CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
  PRAGMA(omp parallel num_threads(kMostThreads))
  CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
  const int before = atomic_load(&all);
  for (int i = 0; i < kRounds; ++i) {
    PRAGMA(omp parallel num_threads(n))
    usleep(20);
    CHECK(kill(getpid(), SIGUSR2) == 0);
    if (i % 2 == 0) {
      PRAGMA(omp parallel num_threads(n))
      usleep(20);
    }
    const struct timespec most = {.tv_sec = 100};
    CHECK(sigtimedwait(&set, NULL, &most) == SIGUSR2);
  }
  CHECK(atomic_load(&all) == before);
  PRAGMA(omp parallel num_threads(kMostThreads))
  CHECK(pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0);
}

int main(void) {
  const struct sigaction action = {.sa_handler = count, .sa_flags = SA_RESTART};
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  for (int handled = 0; handled <= 1; ++handled) {
    if (handled) CHECK(sigaction(SIGUSR2, &action, NULL) == 0);
    for (int n = 1; n <= kMostThreads; n *= 2) {
      PRAGMA(omp parallel num_threads(n))
      own = 0;
      usleep(10000); /* what the first region starts is through */
      to_oneself(n);
      to_one_of_all(n);
      to_the_process(n);
    }
  }
  return check_end();
}
