// Sleeps of threads take their time, whoever waits for their workers meanwhile; a signal of the program's ends them.
#define _GNU_SOURCE
#include <errno.h>
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
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

// Threads that wait for each other by the shortest of sleeps, and whose times are their own.
static int polling(void) {
  static int arrived, turn;
  int wrong = 0;
#pragma omp parallel num_threads(4 * kThreads) reduction(+ : wrong)
  for (int round = 0; round < kRounds; ++round) {
    const int me = omp_get_thread_num(), mine = __atomic_load_n(&turn, __ATOMIC_ACQUIRE);
    if (__atomic_add_fetch(&arrived, 1, __ATOMIC_ACQ_REL) == 4 * kThreads) {
      __atomic_store_n(&arrived, 0, __ATOMIC_RELAXED);
      __atomic_store_n(&turn, mine + 1, __ATOMIC_RELEASE);
    }
    while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) == mine) {
      const double start = now();
      const long ns = 1 + me * 20000L;
      const double end = start + 1e-9 * (double)ns;
      struct timespec wish = {0, ns};
      if (round % 2 != 0) {
        clock_gettime(CLOCK_MONOTONIC, &wish);
        wish.tv_nsec += ns;
        if (wish.tv_nsec >= 1000000000) wish.tv_sec += 1, wish.tv_nsec -= 1000000000;
      }
      wrong += clock_nanosleep(CLOCK_MONOTONIC, round % 2 != 0 ? TIMER_ABSTIME : 0, &wish, NULL) != 0;
      wrong += now() < end;
    }
  }
  return wrong;
}

// Who sleeps for a moment goes on although another one, for whom its worker is, computes until it does.
static int beside_one_that_spins(void) {
  int wrong = 0;
  for (int round = 0; round < kRounds; ++round) {
    int awake = 0;
#pragma omp parallel num_threads(kThreads) reduction(+ : wrong)
    if (omp_get_thread_num() != round % kThreads) {
      while (__atomic_load_n(&awake, __ATOMIC_ACQUIRE) == 0) {
      }
    } else {
      for (int i = 0; i < 5; ++i) wrong += usleep(50) != 0;
      __atomic_store_n(&awake, 1, __ATOMIC_RELEASE);
    }
  }
  return wrong;
}

static int in_handler_wrong;
static void sleeps_in_handler(int signal) {
  sigset_t blocked;
  for (int i = 0; i < 3; ++i) {
    if (usleep(100) != 0 && errno != EINTR) in_handler_wrong = 1;
  }
  pthread_sigmask(SIG_BLOCK, NULL, &blocked);
  if (!sigismember(&blocked, signal)) in_handler_wrong = 1;
}

// Its mask goes nowhere else meanwhile.
static int in_a_handler(void) {
  const struct sigaction action = {.sa_handler = sleeps_in_handler};
  sigaction(SIGUSR1, &action, NULL);
  int wrong = 0;
#pragma omp parallel num_threads(kThreads) reduction(+ : wrong)
  for (int round = 0; round < kRounds; ++round) {
    sigset_t blocked;
    raise(SIGUSR1);
    for (int i = 0; i < 3; ++i) wrong += usleep(20) != 0;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    wrong += sigismember(&blocked, SIGUSR1);
  }
  return wrong + in_handler_wrong;
}

static void on_alarm(int signal) { (void)signal; }

// By a timer whose signals are for the thread that sleeps.
static int interrupted(void) {
  const struct sigaction action = {.sa_handler = on_alarm};
  sigaction(SIGALRM, &action, NULL);
  int seen = 0;
  for (int i = 0; i < 10 && !seen; ++i) {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM};
    event._sigev_un._tid = syscall(SYS_gettid);
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
  const int early = short_sleeps() + polling() + beside_one_that_spins() + in_a_handler();
  const int ended = interrupted();
  printf("%d sleeps were not as they should; a signal %s\n", early, ended ? "ended one" : "did not end one");
  return early != 0 || !ended;
}
