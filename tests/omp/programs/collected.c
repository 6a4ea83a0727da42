/* collected.c: threads of teams that a garbage collector knows. Whoever collects stops all others by a signal, waits until each has answered
 * from its handler, and lets them go on by a second one: those that compute, that wait at a barrier, for a lock, a task, or in a call, and
 * those that wait for the next region. A handler runs as the thread that was sent the signal, and on its stack.
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

enum { kThreads = 8, kMost = 32, kCollections = 60, kStack = 8 << 20 };

struct Thread {
  pthread_t thread;
  uintptr_t stack; /* an address of its first frames */
  atomic_int stopped;
  int there;
};

static struct Thread known[kMost];
static int threads;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the collector, and of what it knows */
static __thread struct Thread* self;
static sem_t answered;
static atomic_uint stops;

static void go_on(int number) { CHECK(number == SIGXCPU && self != NULL && pthread_equal(self->thread, pthread_self())); }

static void stop(int number, siginfo_t* info, void* context) {
  const int error = errno;
  const uintptr_t sp = ((ucontext_t*)context)->uc_mcontext.gregs[REG_RSP];
  CHECK(number == SIGPWR && info->si_code == SI_TKILL);
  CHECK(self != NULL && pthread_equal(self->thread, pthread_self()));
  CHECK(sp < self->stack + 65536 && (sp > self->stack || self->stack - sp < kStack));
  sigset_t others, before;
  sigfillset(&others);
  sigdelset(&others, SIGXCPU);
  /* What a library does for a moment; what it restores is the handler's mask, and no longer the thread's when that has returned. */
  CHECK(pthread_sigmask(SIG_BLOCK, &others, &before) == 0 && pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
  atomic_store(&self->stopped, 1);
  sem_post(&answered);
  while (atomic_load(&self->stopped)) sigsuspend(&others);
  sem_post(&answered);
  errno = error;
}

static void wait_for(int answers) {
  while (answers > 0) {
    if (sem_wait(&answered) == 0) --answers;
    else CHECK(errno == EINTR);
  }
}

static void enroll(void) {
  if (self != NULL) return;
  CHECK(pthread_mutex_lock(&lock) == 0);
  CHECK(threads < kMost);
  struct Thread* mine = &known[threads++];
  mine->there = 1;
  mine->thread = pthread_self();
  mine->stack = (uintptr_t)__builtin_frame_address(0);
  self = mine;
  CHECK(pthread_mutex_unlock(&lock) == 0);
}

/* It may end. */
static void dismiss(void) {
  CHECK(pthread_mutex_lock(&lock) == 0);
  self->there = 0;
  self = NULL;
  CHECK(pthread_mutex_unlock(&lock) == 0);
}

/* Of a collector's: nobody is stopped while he has the lock, and who stops all has it. */
static void collect(void) {
  CHECK(pthread_mutex_lock(&lock) == 0);
  int others = 0;
  for (int i = 0; i < threads; ++i) {
    if (&known[i] == self || !known[i].there) continue;
    CHECK(pthread_kill(known[i].thread, SIGPWR) == 0);
    ++others;
  }
  wait_for(others);
  for (int i = 0; i < threads; ++i) {
    if (&known[i] == self || !known[i].there) continue;
    CHECK(atomic_load(&known[i].stopped) == 1);
    atomic_store(&known[i].stopped, 0);
    CHECK(pthread_kill(known[i].thread, SIGXCPU) == 0);
  }
  wait_for(others);
  atomic_fetch_add(&stops, 1);
  CHECK(pthread_mutex_unlock(&lock) == 0);
}

static void compute(int rounds) {
  for (volatile int k = 0; k < rounds; ++k) continue;
}

/* The others wait at the barrier meanwhile. */
static void at_a_barrier(int n) {
#pragma omp parallel num_threads(kThreads)
  {
    enroll();
#pragma omp barrier
    for (int i = 0; i < n; ++i) {
      if (omp_get_thread_num() == i % kThreads) collect();
#pragma omp barrier
    }
  }
}

static void all_at_once(int n) {
#pragma omp parallel num_threads(kThreads)
  {
    enroll();
    for (int i = 0; i < n; ++i) {
      compute(1000 * omp_get_thread_num());
      free(malloc((size_t)(i % 1000)));
      if (i % 4 == omp_get_thread_num() % 4) collect();
    }
  }
}

static void for_a_lock_or_a_task(int n) {
  omp_lock_t held;
  omp_init_lock(&held);
  int sum = 0;
#pragma omp parallel num_threads(kThreads)
  {
    enroll();
    for (int i = 0; i < n; ++i) {
      omp_set_lock(&held);
      if (i % kThreads == omp_get_thread_num()) collect();
      omp_unset_lock(&held);
#pragma omp task shared(sum)
      {
        if (i % 8 == 0) collect();
#pragma omp atomic
        ++sum;
      }
#pragma omp taskwait
    }
  }
  omp_destroy_lock(&held);
  CHECK(sum == n * kThreads);
}

/* Two collectors do not stop each other: whoever is in the call is not one. */
static void in_a_call(int n) {
#pragma omp parallel num_threads(kThreads)
  {
    enroll();
    for (int i = 0; i < n; ++i) {
      if (omp_get_thread_num() == 0) collect();
      else usleep(200);
    }
  }
}

static void between_regions(int n) {
  for (int i = 0; i < n; ++i) {
    collect();
    if (i % 3 == 0) usleep(300);
    if (i % 5 == 0) {
#pragma omp parallel num_threads(kThreads)
      enroll();
    }
  }
}

static void nested(int n) {
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
  {
    enroll();
#pragma omp parallel num_threads(3)
    {
      enroll();
      for (int i = 0; i < n; ++i) {
        if (i % 3 == omp_get_thread_num()) collect();
#pragma omp barrier
      }
      if (omp_get_thread_num() > 0) dismiss();
    }
    dismiss();
  }
  omp_set_max_active_levels(1);
}

int main(void) {
  struct sigaction action = {.sa_sigaction = stop, .sa_flags = SA_RESTART | SA_SIGINFO};
  sigfillset(&action.sa_mask);
  CHECK(sem_init(&answered, 0, 0) == 0 && sigaction(SIGPWR, &action, NULL) == 0);
  action.sa_handler = go_on;
  action.sa_flags = SA_RESTART;
  CHECK(sigaction(SIGXCPU, &action, NULL) == 0);
  enroll();
  at_a_barrier(kCollections);
  all_at_once(kCollections);
  for_a_lock_or_a_task(kCollections);
  in_a_call(kCollections);
  between_regions(kCollections);
#pragma omp parallel num_threads(kThreads)
  dismiss();
  nested(kCollections);
  enroll();
  for (int i = 0; i < kCollections; ++i) collect();
  CHECK(atomic_load(&stops) > 0);
  return 0;
}
