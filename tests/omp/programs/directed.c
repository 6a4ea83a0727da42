/* directed.c: signals for the main thread by the kernel's number of it: each comes once, with what it brings, to the main thread where that
 * is: in regions, in its own code, in a system call. Those for the process, which the main thread is the first to be asked for, come once,
 * to whatever thread.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { kSignals = 400 };

static pthread_t main_thread;
static pid_t main_number;
static __thread int mine;
static atomic_int handled, over;
static int by_number, by_value, of_process;

static void check_where(void) { CHECK(mine == 42 && pthread_equal(pthread_self(), main_thread)); }

static void count(int number, siginfo_t* info, void* context) {
  (void)context;
  CHECK(info->si_code == (number == by_number ? SI_TKILL : SI_QUEUE) && info->si_pid == getpid());
  check_where();
  atomic_fetch_add(&handled, 1);
}

static atomic_char seen[kSignals];

static void take_value(int number, siginfo_t* info, void* context) {
  (void)context;
  CHECK(number == of_process && info->si_code == SI_QUEUE);
  CHECK(atomic_fetch_add(&seen[info->si_value.sival_int], 1) == 0);
  atomic_fetch_add(&handled, 1);
}

static void* send_to_number(void* arg) {
  for (int i = 0; i < kSignals; ++i) {
    CHECK(syscall(SYS_tgkill, getpid(), main_number, by_number) == 0);
    if (i % 3 == 0) usleep(50);
  }
  atomic_store(&over, 1);
  return arg;
}

static void* send_to_process(void* arg) {
  for (int i = 0; i < kSignals; ++i) {
    const union sigval value = {.sival_int = i};
    CHECK(sigqueue(getpid(), of_process, value) == 0);
    if (i % 3 == 0) usleep(50);
  }
  atomic_store(&over, 1);
  return arg;
}

static void compute(int rounds) {
  for (volatile int k = 0; k < rounds; ++k) continue;
}

/* A real-time signal: as many come as are sent. */
static void among_regions(void* (*send)(void*), int threads) {
  atomic_store(&handled, 0);
  atomic_store(&over, 0);
  for (int i = 0; i < kSignals; ++i) atomic_store(&seen[i], 0);
  pthread_t sender;
  CHECK(pthread_create(&sender, NULL, send, NULL) == 0);
  for (int i = 0; !atomic_load(&over) || atomic_load(&handled) < kSignals; ++i) {
#pragma omp parallel num_threads(threads)
    {
      compute(1000 * (omp_get_thread_num() + 1));
#pragma omp barrier
      if (omp_get_thread_num() == threads - 1) usleep(100);
    }
    if (i % 3 == 0) compute(20000);
    if (i % 4 == 0) usleep(50);
  }
  CHECK(pthread_join(sender, NULL) == 0 && atomic_load(&handled) == kSignals);
}

static int ends[2];

static void* interrupt(void* arg) {
  usleep(20000);
  for (int i = 0; i < 3; ++i) {
    CHECK(syscall(SYS_tgkill, getpid(), main_number, by_number) == 0);
    usleep(2000);
  }
  CHECK(write(ends[1], "x", 1) == 1);
  return arg;
}

static void in_a_call(void) {
  pthread_t other;
  char c;
  int interrupted = 0;
  atomic_store(&handled, 0);
  CHECK(pipe(ends) == 0 && pthread_create(&other, NULL, interrupt, NULL) == 0);
  while (read(ends[0], &c, 1) != 1) {
    CHECK(errno == EINTR);
    ++interrupted;
  }
  CHECK(interrupted == 3 && atomic_load(&handled) == 3);
  CHECK(pthread_join(other, NULL) == 0 && close(ends[0]) == 0 && close(ends[1]) == 0);
}

static void* send_some(void* arg) {
  const union sigval value = {.sival_int = 0};
  for (int i = 0; i < 3; ++i) {
    CHECK(syscall(SYS_tgkill, getpid(), main_number, by_number) == 0);
    CHECK(pthread_kill(main_thread, SIGUSR1) == 0);
    CHECK(pthread_sigqueue(main_thread, by_value, value) == 0);
  }
  return arg;
}

static atomic_int plain;

static void count_plain(int number, siginfo_t* info, void* context) {
  (void)context;
  CHECK(number == SIGUSR1 && info->si_code == SI_TKILL);
  check_where();
  atomic_fetch_add(&plain, 1);
}

static void region(void) {
#pragma omp parallel num_threads(4)
  compute(1000 * (omp_get_thread_num() + 1));
}

/* They come when it takes them again. */
static void while_blocked(void) {
  sigset_t all, before;
  pthread_t other;
  atomic_store(&handled, 0);
  sigemptyset(&all);
  sigaddset(&all, by_number);
  sigaddset(&all, by_value);
  sigaddset(&all, SIGUSR1);
  for (int i = 0; i < 10; ++i) {
    CHECK(pthread_sigmask(SIG_BLOCK, &all, &before) == 0);
    CHECK(pthread_create(&other, NULL, send_some, NULL) == 0 && pthread_join(other, NULL) == 0);
    usleep(300);
    CHECK(atomic_load(&handled) == 6 * i && atomic_load(&plain) == i);
    CHECK(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    while (atomic_load(&handled) < 6 * (i + 1) || atomic_load(&plain) <= i) region();
    region();
  }
}

static atomic_int ticks;

static void tick(int number, siginfo_t* info, void* context) {
  (void)number;
  (void)context;
  CHECK(info->si_code == SI_TIMER && info->si_value.sival_int == 17);
  check_where();
  atomic_fetch_add(&ticks, 1);
}

/* As profilers have it. */
static void by_a_timer(void) {
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF, .sigev_value.sival_int = 17};
  event._sigev_un._tid = main_number;
  const struct itimerspec every = {.it_interval.tv_nsec = 1000000, .it_value.tv_nsec = 1000000}, never = {0};
  timer_t timer;
  CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && timer_settime(timer, 0, &every, NULL) == 0);
  while (atomic_load(&ticks) < 10) compute(1000);
  while (atomic_load(&ticks) < 20) {
#pragma omp parallel num_threads(4)
    compute(10000);
  }
  CHECK(timer_settime(timer, 0, &never, NULL) == 0 && timer_delete(timer) == 0);
}

static void leave(int number) {
  (void)number;
  exit(mine);
}

static void* terminate(void* arg) {
  usleep(20000);
  kill(getpid(), SIGTERM);
  return arg;
}

/* While the main thread waits for its team. */
static void end_in_a_region(void) {
  const pid_t child = fork();
  if (child == 0) {
    pthread_t other;
    signal(SIGTERM, leave);
#pragma omp parallel num_threads(4)
    {
      if (omp_get_thread_num() == 0) CHECK(pthread_create(&other, NULL, terminate, NULL) == 0);
      if (omp_get_thread_num() == 1) sleep(60);
    }
    _exit(1);
  }
  int status = 0;
  CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 42);
}

static void set_handler(int number, void (*handler)(int, siginfo_t*, void*)) {
  const struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
  CHECK(sigaction(number, &action, NULL) == 0);
}

int main(void) {
  main_thread = pthread_self();
  main_number = (pid_t)syscall(SYS_gettid);
  mine = 42;
  by_number = SIGRTMIN + 3;
  of_process = SIGRTMIN + 4;
  by_value = SIGRTMIN + 5;
  set_handler(by_number, count);
  set_handler(by_value, count);
  set_handler(SIGUSR1, count_plain);
  set_handler(of_process, take_value);
  set_handler(SIGPROF, tick);
  for (int threads = 1; threads <= 8; threads *= 2) {
    among_regions(send_to_number, threads);
    among_regions(send_to_process, threads);
  }
  in_a_call();
  while_blocked();
  by_a_timer();
  end_in_a_region();
  return 0;
}
