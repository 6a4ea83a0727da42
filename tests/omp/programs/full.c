/* full.c: no signal can be queued for the process, and no timer made (`ulimit -i`, of all that the user has). Threads that spin for each other
 * get on all the same, those that have blocked come back, and nothing of that is seen at SIGURG, which carries the ticks then.
 *
 *   full early     before there is a second thread
 *   full late      afterwards
 *   full handled   early, and SIGURG is handled before that
 */
#define _GNU_SOURCE
#include <errno.h>
#include <omp.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { kThreads = 8, kInKernel = 2000 }; /* us: a sleep that is the kernel thread's; a shorter one may be the ULT's alone */

static void let_nothing_be_queued(void) {
  struct rlimit limit;
  CHECK(getrlimit(RLIMIT_SIGPENDING, &limit) == 0);
  limit.rlim_cur = 0;
  CHECK(setrlimit(RLIMIT_SIGPENDING, &limit) == 0);
}

static void spin_for_each_other(void) {
  static int came;
  __atomic_store_n(&came, 0, __ATOMIC_RELAXED);
  PRAGMA(omp parallel num_threads(kThreads)) {
    for (int round = 1; round <= 10; ++round) {
      __atomic_fetch_add(&came, 1, __ATOMIC_RELAXED);
      while (__atomic_load_n(&came, __ATOMIC_RELAXED) < round * kThreads) continue;
    }
  }
}

static void compute(long ns) {
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do clock_gettime(CLOCK_MONOTONIC, &now);
  while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < ns);
}

/* Each computes for longer than one that has come back may. */
static void block_and_compute(void) {
  PRAGMA(omp parallel num_threads(kThreads)) {
    for (int round = 0; round < 15; ++round) {
      usleep(kInKernel);
      compute(2000000);
    }
  }
}

static int handled;
static void handle(int signal) {
  CHECK(signal == SIGURG);
  __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
}

static void (*action(void))(int) {
  struct sigaction now;
  CHECK(sigaction(SIGURG, NULL, &now) == 0);
  return now.sa_handler;
}

static void handler_of_program(void) {
  CHECK(action() == handle);
  handled = 0;
  block_and_compute();
  CHECK(handled == 0);
  raise(SIGURG);
  CHECK(handled == 1);
  CHECK(signal(SIGURG, SIG_DFL) == handle);
  CHECK(action() == SIG_DFL);
}

static void waited_for(void) {
  sigset_t urgent, before;
  sigemptyset(&urgent);
  sigaddset(&urgent, SIGURG);
  const struct timespec at_once = {0, 0};
  PRAGMA(omp parallel num_threads(kThreads) private(before)) {
    pthread_sigmask(SIG_BLOCK, &urgent, &before);
    usleep(kInKernel);
    compute(2000000);
    CHECK(sigtimedwait(&urgent, NULL, &at_once) == -1 && errno == EAGAIN);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
  }
  sigprocmask(SIG_BLOCK, &urgent, &before);
  raise(SIGURG);
  CHECK(sigtimedwait(&urgent, NULL, &at_once) == SIGURG);
  sigprocmask(SIG_SETMASK, &before, NULL);
}

/* Its exit status. */
static int child(const char* what) {
  const pid_t pid = fork();
  if (pid == 0 && strcmp(what, "raise") == 0) {
    raise(SIGURG);
    _exit(0);
  }
  if (pid == 0) {
    execl("/proc/self/exe", "full", what, (char*)NULL);
    _exit(1);
  }
  int status = -1;
  CHECK(waitpid(pid, &status, 0) == pid);
  return status;
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "early";
  if (strcmp(how, "ignored") == 0) return action() != SIG_IGN;
  if (strcmp(how, "default") == 0) return action() != SIG_DFL;
  if (strcmp(how, "handled") == 0) signal(SIGURG, handle);
  if (strcmp(how, "late") == 0) block_and_compute();
  let_nothing_be_queued();
  if (strcmp(how, "handled") != 0) spin_for_each_other();
  block_and_compute();
  if (strcmp(how, "handled") == 0) handler_of_program();
  CHECK(action() == SIG_DFL);
  block_and_compute();
  CHECK(child("default") == 0);
  CHECK(child("raise") == 0);
  for (int round = 0; round < 10; ++round) waited_for();
  CHECK(signal(SIGURG, handle) == SIG_DFL);
  block_and_compute(); /* one that was on its way has come */
  handler_of_program();
  CHECK(signal(SIGURG, SIG_IGN) == SIG_DFL);
  block_and_compute();
  CHECK(child("ignored") == 0);
  CHECK(signal(SIGURG, SIG_DFL) == SIG_IGN);
  block_and_compute();
  spin_for_each_other();
  return check_end();
}
