/* signals.c: events that a signal handler fulfils, on whatever kernel thread the signal meets; signals for a thread of a team; its
 * alternate stack.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

enum { kRounds = 300 };

static omp_event_handle_t event;
static sem_t made;

static void handler(int number) {
  (void)number;
  omp_fulfill_event(event);
}

static void* send(void* arg) {
  for (int i = 0; i < kRounds; ++i) {
    while (sem_wait(&made) != 0) continue;
    if (i % 3 == 0) usleep(200); /* the others sleep */
    kill(getpid(), SIGUSR1);
  }
  return arg;
}

static __thread volatile sig_atomic_t handled;

static void count(int number) {
  (void)number;
  ++handled;
}

/* Each can signal itself, and another one, wherever that is. */
static void signal_threads(void) {
  const struct sigaction action = {.sa_handler = count};
  CHECK(sigaction(SIGUSR2, &action, NULL) == 0);
  pthread_t threads[4];
#pragma omp parallel num_threads(4)
  {
    const int me = omp_get_thread_num();
    threads[me] = pthread_self();
    CHECK(pthread_kill(pthread_self(), SIGUSR2) == 0 && handled == 1);
#pragma omp barrier
    const pthread_t other = threads[me % 3 + 1]; /* never itself, and of 1 to 3 each another one */
    CHECK(pthread_kill(other, 0) == 0 && pthread_kill(other, 1000) == EINVAL);
    if (me > 0) CHECK(pthread_kill(other, SIGUSR2) == 0);
#pragma omp barrier
    while (me > 0 && handled < 2) continue;
    CHECK(me > 0 || handled == 1);
  }
}

enum { kStack = 1 << 16 };
static const stack_t none = {.ss_flags = SS_DISABLE};
static __thread stack_t its;
static __thread int seen;

static void look(int number) {
  stack_t now;
  (void)number;
  CHECK(sigaltstack(NULL, &now) == 0 && now.ss_sp == its.ss_sp && now.ss_flags == SS_ONSTACK);
  errno = 0;
  CHECK(sigaltstack(&none, NULL) == -1 && errno == EPERM);
  ++seen;
}

static void compute(double seconds) {
  for (const double end = omp_get_wtime() + seconds; omp_get_wtime() < end;) continue;
}

/* Each sets its own, is told of it, and gives the memory back, while others use the same kernel threads and ticks come. */
static void alternate_stacks(void) {
  const struct sigaction action = {.sa_handler = look, .sa_flags = SA_ONSTACK};
  CHECK(sigaction(SIGUSR2, &action, NULL) == 0);
#pragma omp parallel num_threads(6)
  for (int i = 0; i < 10; ++i) {
    stack_t was;
    its.ss_sp = mmap(NULL, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    its.ss_size = kStack;
    CHECK(its.ss_sp != MAP_FAILED);
    CHECK(sigaltstack(&its, &was) == 0 && was.ss_flags == SS_DISABLE);
    CHECK(raise(SIGUSR2) == 0);
    compute(0.003);
#pragma omp barrier
    CHECK(raise(SIGUSR2) == 0 && seen == 2 * (i + 1));
    CHECK(sigaltstack(&none, &was) == 0 && was.ss_sp == its.ss_sp && was.ss_size == kStack && was.ss_flags == 0);
    CHECK(munmap(its.ss_sp, kStack) == 0);
    compute(0.003);
  }
}

static __thread char* guarded;
static __thread uintptr_t frames;
static __thread int faults;

static void open_page(int number, siginfo_t* info, void* context) {
  const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
  (void)context;
  CHECK(number == SIGSEGV && info->si_addr == guarded + 100 && here < frames && frames - here < 65536);
  CHECK(mprotect(guarded, kStack, PROT_READ | PROT_WRITE) == 0);
  ++faults;
}

static void set_barrier(void) {
  const struct sigaction action = {.sa_sigaction = open_page, .sa_flags = SA_SIGINFO | SA_RESTART};
  CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
}

/* A collector's: who writes into a page is noted, on its own stack, whose pointer is taken from there. */
static void write_barriers(void) {
#pragma omp parallel num_threads(6)
  {
    char here;
    frames = (uintptr_t)&here + 4096;
    guarded = mmap(NULL, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(guarded != MAP_FAILED);
    faults = 0;
    for (int i = 0; i < 100; ++i) {
      CHECK(mprotect(guarded, kStack, PROT_NONE) == 0);
      *(volatile char*)(guarded + 100) = (char)i;
      CHECK(faults == i + 1 && guarded[100] == (char)i);
      if (i % 30 == 0) compute(0.003);
    }
    CHECK(munmap(guarded, kStack) == 0);
  }
}

int main(void) {
  set_barrier(); /* the runtime will put its own handler in the place of this one, and call it */
  signal_threads();
  write_barriers();
  set_barrier();
  write_barriers();
  alternate_stacks();
  sigset_t mine, before;
  sigemptyset(&mine);
  sigaddset(&mine, SIGUSR1);
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0 && sem_init(&made, 0, 0) == 0);
  pthread_t sender;
  CHECK(pthread_sigmask(SIG_BLOCK, &mine, &before) == 0);
  CHECK(pthread_create(&sender, NULL, send, NULL) == 0);
  CHECK(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
  int ran = 0, after = 0;
  for (int i = 0; i < kRounds; ++i) {
    int x = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
      omp_event_handle_t new_one;
#pragma omp task detach(new_one) depend(out : x) shared(ran, x)
      {
        x = 1;
        ++ran;
        event = new_one;
        sem_post(&made);
      }
#pragma omp task depend(in : x) shared(after, x)
      after += x;
    }
  }
  CHECK(ran == kRounds && after == kRounds);
  CHECK(pthread_join(sender, NULL) == 0);
  return check_end();
}
