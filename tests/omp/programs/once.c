/* once.c: a call with a signal mask of its own ends for each signal that it lets in, and for nothing else: be the handler one that blocks all
 * others, or none. And calls that wait, with no signal sent and no handler there, end when their time is over. */
#define _GNU_SOURCE
#include <errno.h>
#include <omp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { kThreads = 8, kRounds = 120, kWaits = 30, kCalls = 5, kSignals = 3 };

static pthread_t threads[kThreads];
static int handled[kThreads]; /* by thread */
static __thread int me;

static void handle(int signal) {
  (void)signal;
  __atomic_add_fetch(&handled[me], 1, __ATOMIC_SEQ_CST);
}

static int handled_here(void) { return __atomic_load_n(&handled[me], __ATOMIC_SEQ_CST); }

static int wait_in(int call, int set, const sigset_t* mask) {
  const struct timespec long_time = {60, 0};
  struct epoll_event event;
  switch (call) {
    case 0: return ppoll(NULL, 0, &long_time, mask);
    case 1: return pselect(0, NULL, NULL, NULL, &long_time, mask);
    case 2: return sigsuspend(mask);
    case 3: return epoll_pwait(set, &event, 1, 60000, mask);
    default: return epoll_pwait2(set, &event, 1, &long_time, mask);
  }
}

/* The threads of a pair in turns. */
static void exchange(const int* signals, int set) {
  const int other = me ^ 1;
  sigset_t none;
  sigemptyset(&none);
  for (int round = 0; round < kRounds; ++round) {
    if (me % 2 == 0) {
      if (round % 5 == 0) usleep(100);
      CHECK(pthread_kill(threads[other], signals[round % kSignals]) == 0);
    }
    CHECK(handled_here() == round);
    CHECK(wait_in(round % kCalls, set, &none) == -1 && errno == EINTR);
    CHECK(handled_here() == round + 1);
    if (me % 2 == 1) CHECK(pthread_kill(threads[other], signals[(round + 1) % kSignals]) == 0);
  }
}

static void compute(double seconds) {
  for (const double end = omp_get_wtime() + seconds; omp_get_wtime() < end;) continue;
}

static void nothing_comes(int set) {
  int pair[2];
  char byte;
  struct epoll_event event;
  struct pollfd readable = {.events = POLLIN};
  const struct timeval limit = {.tv_usec = 2000};
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  CHECK(setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0);
  readable.fd = pair[0];
  for (int i = 0; i < kWaits; ++i) {
    compute(300e-6);
    CHECK(epoll_wait(set, &event, 1, 1 + i % 3) == 0);
    CHECK(recv(pair[0], &byte, 1, 0) == -1 && errno == EAGAIN);
    CHECK(poll(&readable, 1, 2) == 0);
  }
  close(pair[0]);
  close(pair[1]);
}

static void all(int blocks_others) {
  const int signals[kSignals] = {SIGUSR1, SIGUSR2, SIGRTMIN + 5};
  sigset_t blocked;
  sigemptyset(&blocked);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handle;
  if (blocks_others) sigfillset(&action.sa_mask);
  for (int i = 0; i < kSignals; ++i) {
    CHECK(sigaction(signals[i], &action, NULL) == 0);
    sigaddset(&blocked, signals[i]);
  }
  PRAGMA(omp parallel num_threads(kThreads)) {
    me = omp_get_thread_num();
    threads[me] = pthread_self();
    handled[me] = 0;
    const int set = epoll_create1(0);
    sigset_t before;
    CHECK(pthread_sigmask(SIG_BLOCK, &blocked, &before) == 0);
    PRAGMA(omp barrier)
    exchange(signals, set);
    nothing_comes(set);
    CHECK(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    close(set);
  }
}

int main(void) {
  all(0);
  all(1);
  return check_end();
}
