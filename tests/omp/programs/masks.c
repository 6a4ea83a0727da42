/* masks.c: a program that blocks signals, all of them too, and whose threads spin for each other, more of them than there are CPUs.
 * It handles all real-time signals but one, as programs do that are in part written in Go.
 */
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

enum { kThreads = 8, kMeetings = 20 };

static atomic_int here[kMeetings];

/* Nobody leaves before all have come. */
static void meet(int meeting) {
  atomic_fetch_add(&here[meeting], 1);
  while (atomic_load(&here[meeting]) < kThreads) continue;
}

static int is_blocked(int signal) {
  sigset_t now;
  CHECK(pthread_sigmask(SIG_SETMASK, NULL, &now) == 0);
  return sigismember(&now, signal);
}

/* What clang's code asks for long before a region. */
#ifdef __clang__
extern int __kmpc_global_thread_num(void*);
#else
static int __kmpc_global_thread_num(void* unused) { return unused != NULL; }
#endif

static void ignore(int number) { (void)number; }

static atomic_int got;

static void* wait_for_it(void* arg) {
  sigset_t it;
  int number;
  sigemptyset(&it);
  sigaddset(&it, SIGUSR1);
  CHECK(sigwait(&it, &number) == 0 && number == SIGUSR1);
  atomic_store(&got, 1);
  return arg;
}

int main(void) {
  const struct sigaction action = {.sa_handler = ignore};
  for (int signal = SIGRTMIN + 1; signal <= SIGRTMAX; ++signal) CHECK(sigaction(signal, &action, NULL) == 0);
  CHECK(__kmpc_global_thread_num(NULL) == 0);
  sigset_t all, before;
  sigfillset(&all);
  CHECK(pthread_sigmask(SIG_BLOCK, &all, &before) == 0);
  pthread_t waiter;
  CHECK(pthread_create(&waiter, NULL, wait_for_it, NULL) == 0);
  /* What main blocks its threads block. */
#pragma omp parallel num_threads(kThreads)
  {
    CHECK(is_blocked(SIGUSR1) && is_blocked(SIGTERM));
    for (int i = 0; i < kMeetings; ++i) meet(i);
  }
  CHECK(__kmpc_global_thread_num(NULL) == 0);
  CHECK(kill(getpid(), SIGUSR1) == 0);
  CHECK(pthread_join(waiter, NULL) == 0 && atomic_load(&got) == 1);
  /* Each blocks what it likes, by either function, and spins then. */
  for (int i = 0; i < kMeetings; ++i) atomic_store(&here[i], 0);
#pragma omp parallel num_threads(kThreads)
  for (int i = 0; i < kMeetings; ++i) {
    sigset_t mine, none;
    sigemptyset(&none);
    CHECK((i % 2 == 0 ? pthread_sigmask(SIG_SETMASK, &none, &mine) : sigprocmask(SIG_SETMASK, &none, &mine)) == 0);
    CHECK((i % 2 == 0 ? sigprocmask(SIG_BLOCK, &all, NULL) : pthread_sigmask(SIG_SETMASK, &all, NULL)) == 0);
    meet(i);
    CHECK(is_blocked(SIGUSR1));
    CHECK(pthread_sigmask(SIG_SETMASK, &mine, NULL) == 0);
  }
  /* By the kernel's own call nothing is left open; but who sleeps lets others run. */
  for (int i = 0; i < kMeetings; ++i) atomic_store(&here[i], 0);
#pragma omp parallel num_threads(kThreads)
  for (int i = 0; i < kMeetings; ++i) {
    unsigned long mine;
    const unsigned long each = -1ul;
    CHECK(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &each, &mine, sizeof mine) == 0);
    atomic_fetch_add(&here[i], 1);
    while (atomic_load(&here[i]) < kThreads) usleep(1);
    CHECK(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mine, NULL, sizeof mine) == 0);
  }
  CHECK(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
  return 0;
}
