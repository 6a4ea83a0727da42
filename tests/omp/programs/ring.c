/* ring.c: a program that has blocked signals from the start. What a thread is sent then, by another one or by itself, comes to that
 * thread's sigtimedwait(), and to no other's, wherever it was when it was sent. */
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "check.h"

enum { kMost = 8, kRounds = 150 };

static pthread_t threads[kMost];

static void send(pthread_t to, int signal, int round, int from) {
  if ((round + from) % 7 == 0) usleep(50);
  const union sigval value = {.sival_int = from};
  CHECK((round % 3 == 0 ? pthread_sigqueue(to, signal, value) : pthread_kill(to, signal)) == 0);
}

static void send_to_itself(int signal, int round, int me) {
  const union sigval value = {.sival_int = me};
  if (round % 3 == 0) CHECK(pthread_sigqueue(pthread_self(), signal, value) == 0);
  if (round % 3 == 1) CHECK(pthread_kill(pthread_self(), signal) == 0);
  if (round % 3 == 2) CHECK(raise(signal) == 0);
  PRAGMA(omp barrier)
  if ((round + me) % 3 == 0) usleep(200);
  PRAGMA(omp barrier)
}

static void get(const sigset_t* blocked, int signal, int round, int from) {
  const struct timespec long_time = {60, 0};
  siginfo_t info = {0};
  CHECK(sigtimedwait(blocked, &info, &long_time) == signal);
  if (round % 3 == 0) CHECK(info.si_value.sival_int == from);
  PRAGMA(omp barrier)
}

static void go_round(int n, const sigset_t* blocked) {
  PRAGMA(omp parallel num_threads(n)) {
    const int me = omp_get_thread_num();
    threads[me] = pthread_self();
    PRAGMA(omp barrier)
    for (int round = 0; round < kRounds; ++round) {
      const int signal = round % 2 == 0 ? SIGRTMIN + 5 : SIGUSR1;
      send(threads[(me + 1) % n], signal, round, me);
      get(blocked, signal, round, (me + n - 1) % n);
      send_to_itself(signal, round, me);
      get(blocked, signal, round, me);
    }
  }
}

int main(void) {
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  sigaddset(&blocked, SIGRTMIN + 5);
  CHECK(sigprocmask(SIG_BLOCK, &blocked, NULL) == 0);
  for (int n = 2; n <= kMost; n *= 2) go_round(n, &blocked);
  return check_end();
}
