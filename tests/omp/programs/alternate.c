/* alternate.c: signal handlers that outlive a moment, and the alternate stacks of threads that may go on on another kernel thread.
 *
 *   alternate worker   what holds for threads without an identity of their own, too
 *   alternate late     the handlers of faults are set after the first region
 */
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "check.h"

enum { kThreads = 6, kRounds = 20, kStackBytes = 65536, kMostKernelThreads = 256 };

static void compute(double seconds) {
  for (const double end = omp_get_wtime() + seconds; omp_get_wtime() < end;) continue;
}

/* As runtimes of languages have it: the handler of a fault is called on the alternate stack, which the thread has set, goes on on another one
   with all signals open, and comes back. */
struct Thread {
  char* page; /* that cannot be read before its fault is handled */
  char *alternate, *other;
  ucontext_t handler;
};
static _Thread_local struct Thread* mine;
static int handled;

static void goes_on(void) {
  compute(0.003);
  swapcontext(&(ucontext_t){0}, &mine->handler);
}

static void handle_fault(int signal, siginfo_t* info, void* context) {
  (void)signal;
  (void)context;
  volatile uint64_t words[64];
  for (int i = 0; i < 64; ++i) words[i] = 0x0123456789abcdef + (uint64_t)i;
  const uintptr_t here = (uintptr_t)words - (uintptr_t)mine->alternate;
  if (info->si_addr != mine->page || here >= kStackBytes) abort();
  ucontext_t there;
  getcontext(&there);
  sigemptyset(&there.uc_sigmask);
  there.uc_stack.ss_sp = mine->other;
  there.uc_stack.ss_size = kStackBytes;
  there.uc_link = NULL;
  makecontext(&there, goes_on, 0);
  swapcontext(&mine->handler, &there);
  for (int i = 0; i < 64; ++i) {
    if (words[i] != 0x0123456789abcdef + (uint64_t)i) abort();
  }
  __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
  mprotect(mine->page, 4096, PROT_READ | PROT_WRITE);
}

static void faults(void) {
  struct sigaction action = {.sa_sigaction = handle_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
  PRAGMA(omp parallel num_threads(kThreads)) {
    struct Thread me = {.alternate = malloc(kStackBytes), .other = malloc(kStackBytes)};
    mine = &me;
    const stack_t stack = {.ss_sp = me.alternate, .ss_size = kStackBytes}, none = {.ss_flags = SS_DISABLE};
    CHECK(sigaltstack(&stack, NULL) == 0);
    for (int round = 0; round < kRounds; ++round) {
      me.page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      *(volatile char*)me.page = 1;
      munmap(me.page, 4096);
    }
    CHECK(sigaltstack(&none, NULL) == 0);
    free(me.alternate);
    free(me.other);
  }
  CHECK(handled == kThreads * kRounds);
}

/* No thread's handler runs on the stack that another one has set. */
static char* anothers;

static void handle_elsewhere(int signal, siginfo_t* info, void* context) {
  (void)signal;
  (void)context;
  volatile char here = 0;
  if ((uintptr_t)&here - (uintptr_t)anothers < kStackBytes) abort();
  __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
  mprotect(info->si_addr, 4096, PROT_READ | PROT_WRITE);
}

static void faults_beside_it(void) {
  struct sigaction action = {.sa_sigaction = handle_elsewhere, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
  anothers = malloc(kStackBytes);
  PRAGMA(omp parallel num_threads(kThreads)) {
    const stack_t stack = {.ss_sp = anothers, .ss_size = kStackBytes}, none = {.ss_flags = SS_DISABLE};
    if (omp_get_thread_num() == 1) CHECK(sigaltstack(&stack, NULL) == 0);
    PRAGMA(omp barrier)
    if (omp_get_thread_num() != 1) {
      char* page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      *(volatile char*)page = 1;
      munmap(page, 4096);
    }
    PRAGMA(omp barrier)
    if (omp_get_thread_num() == 1) CHECK(sigaltstack(&none, NULL) == 0);
  }
  CHECK(handled == kThreads - 1);
  free(anothers);
}

/* Those who wait in a handler let others go on, and the handler's end leaves each kernel thread with its alternate stack. */
struct KernelThread {
  long tid;
  void* stack;
};
static struct KernelThread seen[kMostKernelThreads];
static int in_handler;

static void handle_and_wait(int signal) {
  (void)signal;
  __atomic_fetch_add(&in_handler, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < 300; ++i) sched_yield();
}

/* gettid() tells the OpenMP thread's. */
static long kernel_thread(void) {
  char text[64] = "";
  if (readlink("/proc/thread-self", text, sizeof text - 1) < 0) return -1;
  return strtol(strrchr(text, '/') + 1, NULL, 10);
}

static int has_its_stack(void) {
  stack_t now;
  const long tid = kernel_thread();
  syscall(SYS_sigaltstack, NULL, &now);
  int same = 1, i = 0;
  PRAGMA(omp critical) {
    while (i < kMostKernelThreads - 1 && seen[i].tid != 0 && seen[i].tid != tid) ++i;
    if (seen[i].tid == 0) seen[i] = (struct KernelThread){tid, now.ss_sp};
    same = seen[i].stack == now.ss_sp;
  }
  return same;
}

static int is_blocked(int signal) {
  uint64_t now = 0;
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &now, sizeof now);
  return (now >> (signal - 1) & 1) != 0;
}

static void waits(void) {
  struct sigaction action = {.sa_handler = handle_and_wait};
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  PRAGMA(omp parallel num_threads(kThreads)) {
    for (int round = 0; round < kRounds; ++round) {
      CHECK(has_its_stack());
      CHECK(!is_blocked(SIGUSR1));
      CHECK(pthread_kill(pthread_self(), SIGUSR1) == 0);
      for (int i = 0; i < 20; ++i) sched_yield();
    }
  }
  CHECK(in_handler == kThreads * kRounds);
}

/* The handlers of faults are there before the runtime's: as runtimes of languages have it. */
int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "late") == 0) {
    PRAGMA(omp parallel num_threads(kThreads)) compute(0.001);
    faults();
  } else if (argc > 1 && strcmp(argv[1], "worker") == 0) {
    faults_beside_it();
  } else {
    faults();
    waits();
  }
  return check_end();
}
