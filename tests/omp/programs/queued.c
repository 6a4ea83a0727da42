/* queued.c: real-time signals come to the thread that they are sent to, as many as are sent: with values (pthread_sigqueue()), where it waits for them
 * by sigwaitinfo(), and in their order where it is in a region's barrier, or computes; and without (pthread_kill()).
 * None comes to another thread. */
#define _GNU_SOURCE
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { kThreads = 4, kValues = 10, kRounds = 10 };

static pthread_t threads[kThreads];
static int next_value[kThreads]; /* of the handler, by thread */
static int counted[kThreads];    /* the same of those without values */
static __thread int me;

static void handle(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)context;
  CHECK(info->si_value.sival_int == next_value[me]);
  __atomic_fetch_add(&next_value[me], 1, __ATOMIC_RELAXED);
}

static void count(int signal) {
  (void)signal;
  __atomic_fetch_add(&counted[me], 1, __ATOMIC_RELAXED);
}

static void send_plain(int to, int signal) {
  for (int i = 0; i < kValues; ++i) CHECK(pthread_kill(threads[to], signal) == 0);
}

static void send(int to, int signal) {
  for (int i = 0; i < kValues; ++i) {
    const union sigval value = {.sival_int = i};
    CHECK(pthread_sigqueue(threads[to], signal, value) == 0);
  }
}

/* Each one to the next, which waits for them, or will. */
static void waited_for(int thread, int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  if (thread % 2 == 0) usleep(2000);
  send((thread + 1) % kThreads, signal);
  unsigned values = 0;
  for (int i = 0; i < kValues; ++i) {
    siginfo_t info;
    int got;
    do got = sigwaitinfo(&set, &info);
    while (got == -1 && errno == EINTR);
    CHECK(got == signal && info.si_value.sival_int >= 0 && info.si_value.sival_int < kValues);
    if (got == signal) values |= 1u << info.si_value.sival_int;
  }
  CHECK(values == (1u << kValues) - 1);
}

/* The first one to all others, which wait for it, or compute. */
static void handled(int thread, int signal) {
  next_value[thread] = 0;
  PRAGMA(omp barrier)
  if (thread == 0) {
    for (int to = 1; to < kThreads; ++to) send(to, signal);
  } else if (thread == 1) {
    while (__atomic_load_n(&next_value[thread], __ATOMIC_RELAXED) < kValues) continue;
  }
  PRAGMA(omp barrier)
  while (thread != 0 && __atomic_load_n(&next_value[thread], __ATOMIC_RELAXED) < kValues) usleep(100);
  PRAGMA(omp barrier)
}

/* Each one to the next, as in waited_for(), and in handled(). */
static void plain(int thread, int waits, int handles) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, waits);
  if (thread % 2 != 0) usleep(2000);
  send_plain((thread + 1) % kThreads, waits);
  for (int i = 0; i < kValues; ++i) {
    int got;
    do got = sigwaitinfo(&set, NULL);
    while (got == -1 && errno == EINTR);
    CHECK(got == waits);
  }
  PRAGMA(omp barrier)
  send_plain((thread + 1) % kThreads, handles);
  if (thread % 2 == 0) {
    while (__atomic_load_n(&counted[thread], __ATOMIC_RELAXED) < kValues) continue;
  }
  PRAGMA(omp barrier)
  while (__atomic_load_n(&counted[thread], __ATOMIC_RELAXED) < kValues) usleep(100);
  PRAGMA(omp barrier)
  CHECK(counted[thread] == kValues);
  counted[thread] = 0;
}

/* Signals that do not queue, to threads that open and block them: they come to no other thread. The last one comes in any case. */
static const int numbers[] = {SIGUSR1, SIGUSR2, SIGHUP, SIGALRM, SIGURG};
enum { kNumbers = sizeof numbers / sizeof *numbers };
static int awaited[kThreads][kNumbers];

static void take(int signal, siginfo_t* info, void* context) {
  (void)context;
  CHECK(info->si_value.sival_int == me);
  for (int i = 0; i < kNumbers; ++i) {
    if (numbers[i] == signal) __atomic_store_n(&awaited[me][i], 0, __ATOMIC_SEQ_CST);
  }
}

static void opened_and_blocked(int thread) {
  sigset_t all;
  sigemptyset(&all);
  for (int i = 0; i < kNumbers; ++i) sigaddset(&all, numbers[i]);
  unsigned random = 977u * (unsigned)thread + 1;
  for (int i = 0; i < 1000; ++i) {
    random = random * 1664525u + 1013904223u;
    const int which = (int)(random >> 8) % kNumbers, to = (int)(random >> 16) % kThreads;
    const union sigval value = {.sival_int = to};
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, numbers[which]);
    switch (random >> 24 & 7) {
      case 0:
      case 1:
      case 2:
        __atomic_store_n(&awaited[to][which], 1, __ATOMIC_SEQ_CST);
        CHECK(pthread_sigqueue(threads[to], numbers[which], value) == 0);
        break;
      case 3: pthread_sigmask(SIG_BLOCK, &one, NULL); break;
      case 4:
      case 5: pthread_sigmask(SIG_UNBLOCK, &one, NULL); break;
      case 6: usleep(random >> 20 & 63); break;
      default:
        for (volatile unsigned k = 0; k < (random >> 12 & 8191); ++k) continue;
    }
  }
  PRAGMA(omp barrier)
  pthread_sigmask(SIG_UNBLOCK, &all, NULL);
  for (int i = 0; i < kNumbers; ++i) {
    while (__atomic_load_n(&awaited[thread][i], __ATOMIC_SEQ_CST)) usleep(100);
  }
  PRAGMA(omp barrier)
}

int main(void) {
  const int waits = SIGRTMIN + 3, handles = SIGRTMIN + 4, counts = SIGRTMIN + 5;
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, waits);
  sigprocmask(SIG_BLOCK, &blocked, NULL);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  CHECK(sigaction(handles, &action, NULL) == 0);
  action.sa_flags = SA_RESTART;
  action.sa_handler = count;
  CHECK(sigaction(counts, &action, NULL) == 0);
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  action.sa_sigaction = take;
  for (int i = 0; i < kNumbers; ++i) CHECK(sigaction(numbers[i], &action, NULL) == 0);
  PRAGMA(omp parallel num_threads(kThreads)) {
    me = omp_get_thread_num();
    threads[me] = pthread_self();
    for (int round = 0; round < kRounds; ++round) {
      PRAGMA(omp barrier)
      waited_for(me, waits);
      handled(me, handles);
      plain(me, waits, counts);
      opened_and_blocked(me);
    }
  }
  return check_end();
}
