/* killed.c: what the main thread sends its own process comes to itself, before the call returns; and SIGSEGV that another process sends comes to
 * the main thread, too. */
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { kRounds = 60 };

static pthread_t main_thread;
static __thread int mine;
static volatile sig_atomic_t handled, code, value;

static void note(int signal, siginfo_t* info, void* context) {
  (void)context;
  CHECK(mine == 42 && pthread_equal(pthread_self(), main_thread));
  CHECK(info->si_signo == signal);
  CHECK(info->si_code != SI_USER || info->si_uid == getuid());
  code = info->si_code;
  value = info->si_code == SI_QUEUE ? info->si_value.sival_int : 0;
  ++handled;
}

static void open_region(void) {
  int sum = 0;
#pragma omp parallel num_threads(3) reduction(+ : sum)
  sum += 1;
  CHECK(sum == 3);
}

static void to_itself(int signal) {
  for (int i = 0; i < kRounds; ++i) {
    open_region();
    const int before = handled;
    CHECK(kill(getpid(), signal) == 0);
    CHECK(handled == before + 1 && code == SI_USER);
    CHECK(sigqueue(getpid(), signal, (union sigval){.sival_int = i}) == 0);
    CHECK(handled == before + 2 && code == SI_QUEUE && value == i);
  }
}

static void by_a_child(int signal) {
  for (int i = 0; i < kRounds; ++i) {
    open_region();
    const int before = handled;
    const pid_t child = fork();
    if (child == 0) {
      usleep(200);
      _exit(kill(getppid(), signal) != 0);
    }
    CHECK(child > 0);
    while (handled == before) {
    }
    int status = -1;
    while (waitpid(child, &status, 0) < 0) {
    }
    CHECK(status == 0 && handled == before + 1);
  }
}

int main(void) {
  const int signals[] = {SIGUSR1, SIGABRT, SIGSEGV, SIGFPE, SIGRTMIN + 3};
  mine = 42;
  main_thread = pthread_self();
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = note;
  action.sa_flags = SA_SIGINFO;
  for (size_t i = 0; i < sizeof signals / sizeof *signals; ++i) {
    CHECK(sigaction(signals[i], &action, NULL) == 0);
    to_itself(signals[i]);
  }
  by_a_child(SIGSEGV);
  CHECK(kill(getpid(), 0) == 0 && kill(getpid(), 65) == -1);
  return check_end();
}
