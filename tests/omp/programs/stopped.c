/* stopped.c: a thread stops the main thread by a signal, again and again, as garbage collectors do, wherever it is: in regions, in its own
 * code, in a system call. Its handler runs as the main thread, and on its stack.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

#include "check.h"

enum { kStops = 1000, kMost = 8 << 20 };

static pthread_t main_thread;
static __thread int mine;
static uintptr_t main_stack;
static sem_t answered;
static atomic_int worlds, over;

static void wait_for(sem_t* semaphore) {
  while (sem_wait(semaphore) != 0) CHECK(errno == EINTR);
}

/* Stands still until the world goes on. */
static void stop(int number, siginfo_t* info, void* context) {
  const int error = errno, world = atomic_load(&worlds);
  const uintptr_t sp = ((ucontext_t*)context)->uc_mcontext.gregs[REG_RSP];
  CHECK(number == SIGUSR2 && info->si_code == SI_TKILL && info->si_pid == getpid());
  CHECK(mine == 42 && pthread_equal(pthread_self(), main_thread));
  CHECK(sp < main_stack && main_stack - sp < kMost);
  sem_post(&answered);
  while (atomic_load(&worlds) == world) usleep(10);
  errno = error;
}

/* The other way: it goes on by a second signal, and has blocked all others meanwhile. */
static volatile sig_atomic_t goes_on;

static void go_on(int number) {
  CHECK(number == SIGXCPU && mine == 42);
  goes_on = 1;
}

static void rest(int number) {
  const int error = errno;
  sigset_t others;
  CHECK(number == SIGPWR && mine == 42 && pthread_equal(pthread_self(), main_thread));
  sigfillset(&others);
  sigdelset(&others, SIGXCPU);
  goes_on = 0;
  sem_post(&answered);
  while (!goes_on) sigsuspend(&others);
  errno = error;
}

static void* collect_by_two(void* arg) {
  for (int i = 0; i < kStops; ++i) {
    CHECK(pthread_kill(main_thread, SIGPWR) == 0);
    wait_for(&answered);
    if (i % 3 == 0) usleep(20);
    CHECK(pthread_kill(main_thread, SIGXCPU) == 0);
    if (i % 5 == 0) usleep(100);
  }
  atomic_store(&over, 1);
  return arg;
}

static void* collect(void* arg) {
  for (int i = 0; i < kStops; ++i) {
    CHECK(pthread_kill(main_thread, SIGUSR2) == 0);
    wait_for(&answered);
    if (i % 3 == 0) usleep(20);
    atomic_fetch_add(&worlds, 1);
    if (i % 5 == 0) usleep(100);
  }
  atomic_store(&over, 1);
  return arg;
}

static void region(int threads, long rounds) {
  long sum = 0;
#pragma omp parallel for num_threads(threads) reduction(+ : sum)
  for (long i = 0; i < rounds; ++i) sum += i;
  CHECK(sum == rounds * (rounds - 1) / 2);
}

static void with_threads(int threads, void* (*collects)(void*)) {
  pthread_t collector;
  CHECK(pthread_create(&collector, NULL, collects, NULL) == 0);
  for (int i = 0; !atomic_load(&over); ++i) {
    region(threads, 1000);
    if (i % 3 == 0) usleep(50);
    if (i % 4 == 0) for (volatile int k = 0; k < 20000; ++k) continue;
    free(malloc((size_t)(i % 1000)));
  }
  CHECK(pthread_join(collector, NULL) == 0);
  atomic_store(&over, 0);
}

static int ends[2];
static atomic_int handled, reading;

static void count(int number) {
  (void)number;
  atomic_fetch_add(&handled, 1);
}

static void* interrupt(void* arg) {
  const struct timespec moment = {.tv_nsec = 1000000};
  while (!atomic_load(&reading)) usleep(100);
  /* Until it comes in the midst of the call. */
  while (atomic_load(&reading)) {
    CHECK(pthread_kill(main_thread, SIGUSR1) == 0);
    nanosleep(&moment, NULL);
    if (arg != NULL && atomic_load(&handled) >= 3) CHECK(write(ends[1], "x", 1) == 1), arg = NULL;
  }
  return NULL;
}

/* As the handler was set: the call fails, or goes on. */
static void in_a_call(int flags) {
  struct sigaction action = {.sa_handler = count, .sa_flags = flags};
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0 && pipe(ends) == 0);
  atomic_store(&handled, 0);
  pthread_t other;
  CHECK(pthread_create(&other, NULL, interrupt, (flags & SA_RESTART) != 0 ? ends : NULL) == 0);
  char c;
  atomic_store(&reading, 1);
  const ssize_t bytes = read(ends[0], &c, 1);
  const int error = errno;
  atomic_store(&reading, 0);
  CHECK((flags & SA_RESTART) != 0 ? bytes == 1 && atomic_load(&handled) >= 3 : bytes == -1 && error == EINTR);
  CHECK(pthread_join(other, NULL) == 0 && close(ends[0]) == 0 && close(ends[1]) == 0);
}

/* A cancellation does not go that way. */
static void* refused(void* arg) {
  CHECK(pthread_kill(main_thread, 0) == 0);
  CHECK(pthread_kill(main_thread, 1000) == EINVAL);
  CHECK(pthread_kill(main_thread, SIGRTMIN - 1) == EINVAL && pthread_kill(pthread_self(), SIGRTMIN - 1) == EINVAL);
  CHECK(pthread_cancel(main_thread) == ENOTSUP);
  return arg;
}

int main(void) {
  main_thread = pthread_self();
  main_stack = (uintptr_t)__builtin_frame_address(0) + 4096;
  mine = 42;
  const struct sigaction action = {.sa_sigaction = stop, .sa_flags = SA_RESTART | SA_SIGINFO};
  CHECK(sigaction(SIGUSR2, &action, NULL) == 0 && sem_init(&answered, 0, 0) == 0);
  struct sigaction with_all = {.sa_handler = rest, .sa_flags = SA_RESTART};
  sigfillset(&with_all.sa_mask);
  CHECK(sigaction(SIGPWR, &with_all, NULL) == 0);
  with_all.sa_handler = go_on;
  CHECK(sigaction(SIGXCPU, &with_all, NULL) == 0);
  region(4, 1000);
  for (int threads = 1; threads <= 8; threads *= 2) {
    with_threads(threads, collect);
    with_threads(threads, collect_by_two);
  }
  in_a_call(0);
  in_a_call(SA_RESTART);
  pthread_t other;
  CHECK(pthread_create(&other, NULL, refused, NULL) == 0 && pthread_join(other, NULL) == 0);
  return 0;
}
