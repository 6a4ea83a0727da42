/* faulted.c: handlers of faults that a program sets, or takes back, once there are threads: they are called as the kernel does it, and told as
 * they were set.
 *
 *   faulted overflow   ends with a stack that is used up in a region: the last handler is for other faults, and on the same stack
 */
#define _GNU_SOURCE
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { kThreads = 4, kRounds = 50 };

static int handled, blocked_usr1, blocked_itself;

static int is_blocked(int signal) {
  sigset_t now;
  sigprocmask(SIG_BLOCK, NULL, &now);
  return sigismember(&now, signal);
}

static void handle(int signal, siginfo_t* info, void* context) {
  (void)context;
  __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&blocked_usr1, is_blocked(SIGUSR1), __ATOMIC_RELAXED);
  __atomic_fetch_add(&blocked_itself, is_blocked(signal), __ATOMIC_RELAXED);
  if (info->si_code > 0 && mprotect(info->si_addr, 4096, PROT_READ | PROT_WRITE) != 0) abort();
}
static void handle_simply(int signal) {
  (void)signal;
  __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
}

static void fault(void) {
  char* page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *(volatile char*)page = 1;
  munmap(page, 4096);
}

static void set(int flags, int also) {
  struct sigaction action, now;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | flags;
  sigemptyset(&action.sa_mask);
  if (also != 0) sigaddset(&action.sa_mask, also);
  CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
  CHECK(sigaction(SIGSEGV, NULL, &now) == 0);
  CHECK(now.sa_sigaction == handle && (now.sa_flags & (SA_SIGINFO | flags)) == (SA_SIGINFO | flags));
  CHECK(sigismember(&now.sa_mask, SIGUSR1) == (also == SIGUSR1));
  handled = blocked_usr1 = blocked_itself = 0;
}

static void (*told(int signal))(int) {
  struct sigaction now;
  CHECK(sigaction(signal, NULL, &now) == 0);
  return now.sa_handler;
}

static void in_regions(void) {
  PRAGMA(omp parallel num_threads(kThreads)) {
    for (int round = 0; round < kRounds; ++round) fault();
  }
  fault();
}

static void called_as_set(void) {
  const int all = kThreads * kRounds + 1;
  set(0, SIGUSR1);
  in_regions();
  CHECK(handled == all && blocked_usr1 == all && blocked_itself == all);
  set(SA_NODEFER, 0);
  in_regions();
  CHECK(handled == all && blocked_usr1 == 0 && blocked_itself == 0);
  set(SA_ONSTACK, 0);
  in_regions();
  CHECK(handled == all && blocked_usr1 == 0 && blocked_itself == all);
  CHECK(!is_blocked(SIGSEGV) && !is_blocked(SIGUSR1));
}

static int ends_with(int signal, void (*what)(void)) {
  int status = 0;
  const pid_t child = fork();
  if (child == 0) {
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    what();
    _exit(0);
  }
  if (child < 0 || waitpid(child, &status, 0) != child) return 0;
  return signal != 0 ? WIFSIGNALED(status) && WTERMSIG(status) == signal : WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void raise_it(void) { raise(SIGSEGV); }
static void raise_bus(void) { raise(SIGBUS); }

static void set_once(void) {
  set((int)SA_RESETHAND, 0);
  fault();
  CHECK(handled == 1 && told(SIGSEGV) == SIG_DFL);
  CHECK(ends_with(SIGSEGV, fault) && ends_with(SIGSEGV, raise_it));
}

static void other_functions(void) {
  CHECK(signal(SIGSEGV, handle_simply) == SIG_DFL);
  CHECK(told(SIGSEGV) == handle_simply);
  handled = 0;
  CHECK(raise(SIGSEGV) == 0 && raise(SIGSEGV) == 0 && handled == 2);
  CHECK(signal(SIGSEGV, SIG_IGN) == handle_simply && told(SIGSEGV) == SIG_IGN);
  CHECK(raise(SIGSEGV) == 0 && handled == 2);
  CHECK(signal(SIGSEGV, handle_simply) == SIG_IGN && raise(SIGSEGV) == 0 && handled == 3);
  CHECK(signal(SIGSEGV, SIG_DFL) == handle_simply && told(SIGSEGV) == SIG_DFL && told(SIGBUS) == SIG_DFL);
  CHECK(ends_with(SIGSEGV, raise_it) && ends_with(SIGBUS, raise_bus));
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  CHECK(sigset(SIGBUS, handle_simply) == SIG_DFL && sigset(SIGBUS, SIG_HOLD) == handle_simply);
  CHECK(is_blocked(SIGBUS) && raise(SIGBUS) == 0 && handled == 3);
  CHECK(sigset(SIGBUS, handle_simply) == SIG_HOLD && handled == 4 && !is_blocked(SIGBUS));
  CHECK(sigset(SIGBUS, SIG_DFL) == handle_simply);
}

/* By a child that has this memory: its own handlers are its own. */
static void by_a_vfork(void) {
  set(0, 0);
  const pid_t child = vfork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
    _exit(1);
  }
  int status = 0;
  CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
  struct sigaction now;
  CHECK(sigaction(SIGSEGV, NULL, &now) == 0 && now.sa_sigaction == handle);
  fault();
  CHECK(handled == 1);
}

static void in_a_child(void) {
  in_regions();
  CHECK(handled == kThreads * kRounds + 1);
  signal(SIGSEGV, SIG_DFL);
  if (!ends_with(SIGSEGV, fault) || check_failures != 0) _exit(1);
}

/* Handlers that come and go while others fault: each is one of the two. */
static int over;
static void* change(void* arg) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handle;
  for (int i = 0; !__atomic_load_n(&over, __ATOMIC_RELAXED); ++i) {
    action.sa_flags = SA_SIGINFO | (i % 2 == 0 ? SA_NODEFER : SA_ONSTACK);
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
  }
  return arg;
}
static void while_it_is_set(void) {
  pthread_t other;
  set(0, 0);
  CHECK(pthread_create(&other, NULL, change, NULL) == 0);
  for (int i = 0; i < 5; ++i) in_regions();
  CHECK(handled == 5 * (kThreads * kRounds + 1));
  for (int i = 0; i < 10; ++i) CHECK(ends_with(0, in_regions));
  __atomic_store_n(&over, 1, __ATOMIC_RELAXED);
  CHECK(pthread_join(other, NULL) == 0);
}

__attribute__((noinline)) static int use_up(volatile int* deep) {
  volatile int here[256] = {*deep};
  return here[0] < 0 ? 0 : use_up(here) + here[1];
}

int main(int argc, char** argv) {
  PRAGMA(omp parallel num_threads(kThreads)) CHECK(omp_get_num_threads() == kThreads);
  CHECK(told(SIGSEGV) == SIG_DFL && told(SIGBUS) == SIG_DFL);
  if (argc > 1 && strcmp(argv[1], "overflow") == 0) {
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    set(0, 0);
    volatile int first = 0;
    PRAGMA(omp parallel num_threads(kThreads)) if (omp_get_thread_num() == 1) use_up(&first);
  }
  called_as_set();
  set_once();
  other_functions();
  by_a_vfork();
  set(0, 0);
  CHECK(ends_with(0, in_a_child));
  while_it_is_set();
  return check_end();
}
