/* mains.c: what the process is sent is main's, and no other thread's of a team that has it open. Where main has it blocked, and waits for it in a
 * call, that ends by it. Where a child has ended its handler has run when main is told of that, and no wait for the child ends by it. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <omp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { kRounds = 12 };

static atomic_int begun_before, over;
static _Thread_local int is_main;
static volatile int here;
static atomic_int elsewhere;

static void note(int number) {
  (void)number;
  if (is_main) here = here + 1;
  if (!is_main) atomic_fetch_add(&elsewhere, 1);
}

static void* compute(void* unused) {
  while (!atomic_load(&over)) {
    PRAGMA(omp parallel num_threads(3)) {
      atomic_store(&begun_before, 1);
      const double end = omp_get_wtime() + 0.001;
      while (omp_get_wtime() < end) {
      }
    }
  }
  return unused;
}

/* A thread of the parent's waits in a call that lets it in, with SIGWINCH blocked. */
static int waits(pid_t parent) {
  char name[320], line[128], state = 0;
  unsigned long blocked = 0;
  snprintf(name, sizeof name, "/proc/%d/task", (int)parent);
  DIR* tasks = opendir(name);
  for (struct dirent* task = NULL; tasks != NULL && (task = readdir(tasks)) != NULL;) {
    snprintf(name, sizeof name, "/proc/%d/task/%s/status", (int)parent, task->d_name);
    FILE* status = fopen(name, "r");
    if (status == NULL) continue;
    state = 0;
    while (fgets(line, sizeof line, status) != NULL) {
      sscanf(line, "State: %c", &state);
      if (sscanf(line, "SigBlk: %lx", &blocked) == 1) break;
    }
    fclose(status);
    if (state == 'S' && (blocked >> (SIGWINCH - 1) & 1) == 1 && (blocked >> (SIGUSR1 - 1) & 1) == 0) break;
    state = 0;
  }
  if (tasks != NULL) closedir(tasks);
  return state != 0;
}

/* A child sends it when it has been asked, as soon as main waits for it. */
static int asked[2];

static pid_t sender(void) {
  const pid_t parent = getpid(), child = fork();
  if (child != 0) return child;
  char byte;
  close(asked[1]);
  while (read(asked[0], &byte, 1) == 1) {
    while (!waits(parent) && getppid() == parent) usleep(200);
    if (getppid() == parent) kill(parent, SIGUSR1);
  }
  _exit(0);
}

static sigset_t one, winch;
static const struct timespec long_time = {.tv_sec = 100};

static int by_sigtimedwait(void) { return sigtimedwait(&one, NULL, &long_time) == SIGUSR1; }
static int by_sigwait(void) {
  int number;
  return sigwait(&one, &number) == 0 && number == SIGUSR1;
}
static int by_ppoll(void) { return ppoll(NULL, 0, &long_time, &winch) == -1 && errno == EINTR && here == 1; }
static int by_pselect(void) { return pselect(0, NULL, NULL, NULL, &long_time, &winch) == -1 && errno == EINTR && here == 1; }
static int by_epoll_pwait(void) {
  struct epoll_event event;
  const int set = epoll_create1(0);
  const int ended = epoll_pwait(set, &event, 1, 100000, &winch) == -1 && errno == EINTR && here == 1;
  close(set);
  return ended;
}
static int by_sigsuspend(void) { return sigsuspend(&winch) == -1 && errno == EINTR && here == 1; }

static void gets_it(int (*wait)(void)) {
  for (int i = 0; i < kRounds; ++i) {
    here = 0;
    CHECK(write(asked[1], "", 1) == 1);
    CHECK(wait() && atomic_load(&elsewhere) == 0);
  }
}

static volatile int ended;
static void note_end(int number) {
  (void)number;
  ended = ended + 1;
}

/* But for what another thread has been given and has not passed on yet: some of 100 000. */
static void has_handled_a_childs_end(void) {
  enum { kChildren = 200, kWays = 5, kMostLate = 2 };
  int late = 0;
  const struct sigaction action = {.sa_handler = note_end};
  CHECK(sigaction(SIGCHLD, &action, NULL) == 0);
  for (int i = 0; i < kChildren; ++i) {
    ended = 0;
    const pid_t child = fork();
    if (child == 0) {
      usleep((useconds_t)(500 + i % 8 * 300));
      _exit(0);
    }
    siginfo_t info;
    pid_t told = 0;
    switch (i % kWays) {
      case 0: told = wait(NULL); break;
      case 1: told = waitpid(child, NULL, 0); break;
      case 2: told = wait3(NULL, 0, NULL); break;
      case 3: told = wait4(child, NULL, 0, NULL); break;
      default: told = waitid(P_PID, (id_t)child, &info, WEXITED) == 0 ? info.si_pid : -1; break;
    }
    CHECK(child > 0 && told == child);
    late += ended == 0;
    while (ended == 0) usleep(100);
  }
  CHECK(late <= kMostLate);
  CHECK(signal(SIGCHLD, SIG_DFL) == note_end);
}

int main(void) {
  const struct sigaction action = {.sa_handler = note};
  pthread_t other;
  CHECK(pipe(asked) == 0);
  const pid_t child = sender();
  CHECK(child > 0 && close(asked[0]) == 0);
  is_main = 1;
  sigemptyset(&winch);
  sigaddset(&winch, SIGWINCH);
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  CHECK(pthread_create(&other, NULL, compute, NULL) == 0);
  /* It comes when others have been there. */
  while (!atomic_load(&begun_before)) sched_yield();
  PRAGMA(omp parallel num_threads(2)) {
    PRAGMA(omp barrier)
  }
  CHECK(pthread_sigmask(SIG_BLOCK, &one, NULL) == 0 && pthread_sigmask(SIG_BLOCK, &winch, NULL) == 0);
  gets_it(by_sigtimedwait);
  gets_it(by_sigwait);
  gets_it(by_ppoll);
  gets_it(by_pselect);
  gets_it(by_epoll_pwait);
  gets_it(by_sigsuspend);
  CHECK(close(asked[1]) == 0 && waitpid(child, NULL, 0) == child);
  has_handled_a_childs_end();
  atomic_store(&over, 1);
  CHECK(pthread_join(other, NULL) == 0);
  return check_end();
}
