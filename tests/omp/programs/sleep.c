// Sleeps of threads take their time, whoever waits for their workers meanwhile; a signal of the program's ends them.
#define _GNU_SOURCE
#include <errno.h>
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { kThreads = 6, kRounds = 20 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int short_sleeps(void) {
  int wrong = 0;
  for (int round = 0; round < kRounds; ++round) {
#pragma omp parallel num_threads(kThreads) reduction(+ : wrong)
    {
      const double start = now();
      const struct timespec wish = {0, 5000000};
      switch (omp_get_thread_num() % 3) {
        case 0: wrong += usleep(5000) != 0; break;
        case 1: wrong += nanosleep(&wish, NULL) != 0; break;
        default: wrong += clock_nanosleep(CLOCK_MONOTONIC, 0, &wish, NULL) != 0; break;
      }
      wrong += now() - start < 0.005;
    }
  }
  return wrong;
}

static void on_alarm(int signal) { (void)signal; }

// By a timer whose signals are for the thread that sleeps.
static int interrupted(void) {
  const struct sigaction action = {.sa_handler = on_alarm};
  sigaction(SIGALRM, &action, NULL);
  int seen = 0;
  for (int i = 0; i < 10 && !seen; ++i) {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM};
    event._sigev_un._tid = gettid();
    timer_t timer;
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    const struct itimerspec soon = {{0, 50000000}, {0, 50000000}};
    const struct timespec wish = {1, 0};
    struct timespec rest = {0, 0};
    timer_settime(timer, 0, &soon, NULL);
    const int result = nanosleep(&wish, &rest);
    seen = result == -1 && errno == EINTR && (rest.tv_sec != 0 || rest.tv_nsec > 0);
    timer_delete(timer);
  }
  return seen;
}

int main(void) {
  const int early = short_sleeps();
  const int ended = interrupted();
  printf("%d sleeps ended early; a signal %s\n", early, ended ? "ended one" : "did not end one");
  return early != 0 || !ended;
}
