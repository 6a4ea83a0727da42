/* dropped.c: calls that wait go on where the process is sent what it does not handle, and end where a handler has run, also one that takes
 * itself away. */
#define _GNU_SOURCE
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { kThreads = 4, kCalls = 20, kMilliseconds = 10 };

static int over;
static int set;

static void* send(void* signal) {
  while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
    CHECK(kill(getpid(), *(int*)signal) == 0);
    usleep(500);
  }
  return NULL;
}

static void wait_for_nothing(void) {
  struct epoll_event event;
  PRAGMA(omp parallel num_threads(kThreads)) {
    for (int i = 0; i < kCalls; ++i) {
      const double begin = omp_get_wtime();
      CHECK(epoll_wait(set, &event, 1, kMilliseconds) == 0);
      CHECK(omp_get_wtime() - begin > (kMilliseconds - 1) / 1000.0);
    }
  }
}

static void is_sent(int signal) {
  pthread_t sender;
  over = 0;
  CHECK(pthread_create(&sender, NULL, send, &signal) == 0);
  wait_for_nothing();
  __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
  CHECK(pthread_join(sender, NULL) == 0);
}

static void have_children(void) {
  pid_t children[10];
  for (int i = 0; i < 10; ++i) {
    children[i] = fork();
    if (children[i] == 0) {
      usleep((useconds_t)(10000 * (i + 1)));
      _exit(0);
    }
    CHECK(children[i] > 0);
  }
  wait_for_nothing();
  for (int i = 0; i < 10; ++i) CHECK(waitpid(children[i], NULL, 0) == children[i]);
}

static int handled;
static const struct itimerval often = {.it_value = {.tv_usec = 2000}, .it_interval = {.tv_usec = 2000}}, never;

static void once(int number) {
  signal(number, SIG_DFL);
  __atomic_store_n(&handled, 1, __ATOMIC_RELEASE);
}

static void a_handler_ends_it(void) {
  struct epoll_event event;
  CHECK(signal(SIGALRM, once) == SIG_DFL);
  alarm(1);
  while (!__atomic_load_n(&handled, __ATOMIC_ACQUIRE)) CHECK(epoll_wait(set, &event, 1, -1) == -1 && errno == EINTR);
}

static void note(int number) {
  (void)number;
  __atomic_store_n(&handled, 1, __ATOMIC_RELEASE);
}

/* Who calls again for a flag that is not set yet would wait for a signal that has come. */
static void a_handler_has_run_when_a_call_ends(void) {
  enum { kTimes = 300 };
  struct epoll_event event;
  CHECK(signal(SIGALRM, note) != SIG_ERR);
  CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
  for (int i = 0; i < kTimes; ++i) {
    handled = 0;
    CHECK(epoll_wait(set, &event, 1, 60000) == -1 && errno == EINTR);
    CHECK(__atomic_load_n(&handled, __ATOMIC_ACQUIRE));
  }
  CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
  CHECK(signal(SIGALRM, SIG_DFL) == note);
}

static int count;

static void count_one(int number) {
  (void)number;
  __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
}

/* The program may take away what the handler uses. */
static void no_handler_runs_once_its_timer_has_stopped(void) {
  enum { kTimes = 400 };
  const struct itimerval often_now = {.it_value = {.tv_usec = 150}, .it_interval = {.tv_usec = 150}};
  const struct itimerspec never_now = {.it_value = {0}};
  const struct itimerspec often_then = {.it_value = {.tv_nsec = 150000}, .it_interval = {.tv_nsec = 150000}};
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
  timer_t timer;
  CHECK(signal(SIGALRM, count_one) == SIG_DFL);
  CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
  for (int i = 0; i < kTimes; ++i) {
    if (i % 2 == 0) {
      CHECK(setitimer(ITIMER_REAL, &often_now, NULL) == 0);
    } else {
      CHECK(timer_settime(timer, 0, &often_then, NULL) == 0);
    }
    const double end = omp_get_wtime() + 0.0005;
    while (omp_get_wtime() < end) {
    }
    if (i % 4 == 0) {
      CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
    } else if (i % 2 == 0) {
      alarm(0);  // the same timer
    } else {
      CHECK(timer_settime(timer, 0, &never_now, NULL) == 0);
    }
    const int before = __atomic_load_n(&count, __ATOMIC_RELAXED);
    const double later = omp_get_wtime() + 0.0005;
    while (omp_get_wtime() < later) {
    }
    CHECK(__atomic_load_n(&count, __ATOMIC_RELAXED) == before);
  }
  CHECK(timer_delete(timer) == 0);
  CHECK(count > 0);
  CHECK(signal(SIGALRM, SIG_DFL) == count_one);
}

/* What the process is sent is handled on main while that runs and has it open, and does not end other threads' calls: it ended each. */
static void others_do_not_hear(void) {
  enum { kTimes = 100 };
  int ended = 0;
  CHECK(signal(SIGALRM, note) == SIG_DFL);
  CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
  PRAGMA(omp parallel num_threads(kThreads)) {
    struct epoll_event event;
    if (omp_get_thread_num() == 0) {
      const double end = omp_get_wtime() + 1;
      while (omp_get_wtime() < end) {
      }
      CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
    } else {
      for (int i = 0; i < kTimes; ++i) {
        if (epoll_wait(set, &event, 1, 10) != 0) __atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);
      }
    }
  }
  CHECK(ended == 0);
  CHECK(signal(SIGALRM, SIG_DFL) == note);
}

/* But where main has blocked it, it does. */
static void who_has_it_open_hears(void) {
  sigset_t one;
  int open = 0;
  sigemptyset(&one);
  sigaddset(&one, SIGALRM);
  CHECK(signal(SIGALRM, note) == SIG_DFL);
  PRAGMA(omp parallel num_threads(kThreads)) {
    struct epoll_event event;
    CHECK(pthread_sigmask(omp_get_thread_num() == 1 ? SIG_UNBLOCK : SIG_BLOCK, &one, NULL) == 0);
    PRAGMA(omp barrier)
    if (omp_get_thread_num() == 1) {
      CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
      for (int i = 0; i < 20; ++i) CHECK(epoll_wait(set, &event, 1, 60000) == -1 && errno == EINTR);
      CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
      open = 1;
    }
    PRAGMA(omp barrier)
    CHECK(pthread_sigmask(SIG_UNBLOCK, &one, NULL) == 0);
  }
  CHECK(open == 1);
  CHECK(signal(SIGALRM, SIG_DFL) == note);
}

static void wait_a_little(void) {
  PRAGMA(omp parallel num_threads(2)) {
    for (volatile int i = 0; i < 1000; ++i) {
    }
  }
}

static void sets_a_default(int number) {
  (void)number;
  signal(SIGHUP, SIG_DFL);
}

/* While another process sends others it sets that, and so does who calls. */
static void handlers_set_defaults(void) {
  const double end = omp_get_wtime() + 2;
  struct epoll_event event;
  CHECK(signal(SIGUSR1, sets_a_default) == SIG_DFL && signal(SIGUSR2, sets_a_default) == SIG_DFL);
  const pid_t parent = getpid(), sender = fork();
  if (sender == 0) {
    for (unsigned i = 0; getppid() == parent; ++i) {
      kill(parent, i % 2 == 0 ? SIGUSR1 : SIGUSR2);
      if (rand() % 3 == 0) usleep((useconds_t)(rand() % 300));
    }
    _exit(0);
  }
  CHECK(sender > 0);
  for (unsigned i = 0; omp_get_wtime() < end; ++i) {
    if (i % 4 == 0) CHECK(signal(SIGHUP, SIG_DFL) == SIG_DFL);
    if (i % 4 == 1) epoll_wait(set, &event, 1, 1);
    if (i % 4 == 2) wait_a_little();
    if (i % 4 == 3) usleep(100);
  }
  CHECK(kill(sender, SIGKILL) == 0 && waitpid(sender, NULL, 0) == sender);
}

int main(void) {
  set = epoll_create1(0);
  CHECK(set >= 0);
  is_sent(SIGWINCH);
  is_sent(SIGCONT);
  have_children();
  a_handler_ends_it();
  a_handler_has_run_when_a_call_ends();
  no_handler_runs_once_its_timer_has_stopped();
  others_do_not_hear();
  who_has_it_open_hears();
  handlers_set_defaults();
  return check_end();
}
