/* awaited.c: signals that the process is sent when there have been regions. What the main thread blocks then stays pending until it waits for it,
 * and nobody else takes it; what it lets in while it waits ends its wait; what nobody handles stops or ends the process. So it is with the last real-time signals, of which Weft takes some. */
#define _GNU_SOURCE
#include <omp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static volatile sig_atomic_t handled;
static void handle(int signal) { handled += signal == SIGUSR2; }

static void region(void) {
  int count = 0;
  PRAGMA(omp parallel reduction(+ : count))
  ++count;
  CHECK(count > 0);
}

static sigset_t set_of(int signal) {
  sigset_t set;
  sigemptyset(&set);
  if (signal != 0) sigaddset(&set, signal);
  return set;
}

/* In a while, by another process. */
static pid_t send_soon(int signal) {
  const pid_t to = getpid(), child = fork();
  if (child != 0) return child;
  usleep(20000);
  _exit(kill(to, signal) != 0);
}

static void sent(pid_t child) {
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* Default: to end the process. Alone it has no other thread that could take it. */
static void wait_for_blocked(int alone) {
  const sigset_t set = set_of(SIGUSR1);
  CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
  for (int round = 0; round < 3; ++round) {
    int signal = 0;
    pid_t child = send_soon(SIGUSR1);
    CHECK(sigwait(&set, &signal) == 0 && signal == SIGUSR1);
    sent(child);
    siginfo_t info;
    child = send_soon(SIGUSR1);
    CHECK(sigwaitinfo(&set, &info) == SIGUSR1 && info.si_pid == child);
    sent(child);
    region();
    if (!alone) continue;
    usleep(20000); /* it gets its processor back from somebody */
    CHECK(kill(getpid(), SIGUSR1) == 0);
    region();
    usleep(2000);
    sigset_t pending;
    CHECK(sigpending(&pending) == 0 && sigismember(&pending, SIGUSR1) == 1);
    const struct timespec no_time = {0, 0};
    CHECK(sigtimedwait(&set, NULL, &no_time) == SIGUSR1);
    CHECK(sigtimedwait(&set, NULL, &no_time) == -1);
    const int fd = signalfd(-1, &set, SFD_CLOEXEC);
    child = send_soon(SIGUSR1);
    struct signalfd_siginfo read_info;
    CHECK(read(fd, &read_info, sizeof read_info) == sizeof read_info && read_info.ssi_signo == SIGUSR1);
    sent(child);
    CHECK(close(fd) == 0);
  }
  CHECK(sigprocmask(SIG_UNBLOCK, &set, NULL) == 0);
}

static pthread_t main_thread;

static void* send_to_main(void* signal) {
  CHECK(pthread_kill(main_thread, *(const int*)signal) == 0);
  return NULL;
}

static void from_another_thread(int signal) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, send_to_main, &signal) == 0 && pthread_join(thread, NULL) == 0);
}

/* What it is sent itself waits for it, whatever it does meanwhile, and wherever it goes. */
static void wait_for_own(void) {
  const sigset_t set = set_of(SIGUSR1);
  CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
  for (int round = 0; round < 20; ++round) {
    if (round % 3 == 0) CHECK(raise(SIGUSR1) == 0);
    if (round % 3 == 1) from_another_thread(SIGUSR1);
    PRAGMA(omp parallel) {
      if (round % 3 == 2 && omp_get_thread_num() == omp_get_num_threads() - 1) from_another_thread(SIGUSR1);
      if (omp_get_thread_num() != 0) usleep(3000);
    }
    region();
    sigset_t pending;
    CHECK(sigpending(&pending) == 0 && sigismember(&pending, SIGUSR1) == 1);
    int signal = 0;
    CHECK(sigwait(&set, &signal) == 0 && signal == SIGUSR1);
    CHECK(sigpending(&pending) == 0 && sigismember(&pending, SIGUSR1) == 0);
  }
  CHECK(sigprocmask(SIG_UNBLOCK, &set, NULL) == 0);
}

static void let_in_while_waiting(void) {
  const sigset_t set = set_of(SIGUSR2), none = set_of(0);
  signal(SIGUSR2, handle);
  CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
  for (int way = 0; way < 6; ++way) {
    const int before = handled;
    const pid_t child = send_soon(SIGUSR2);
    const struct timespec long_time = {20, 0};
    while (handled == before) {
      const int result = way % 3 == 0   ? sigsuspend(&none)
                         : way % 3 == 1 ? ppoll(NULL, 0, &long_time, &none)
                                        : pselect(0, NULL, NULL, NULL, &long_time, &none);
      CHECK(result == -1);
    }
    CHECK(handled == before + 1);
    sent(child);
    region();
  }
  CHECK(sigprocmask(SIG_UNBLOCK, &set, NULL) == 0);
}

/* Has had a region, and computes, or waits in the kernel, or for a region of its own. */
static void be_busy(int how) {
  region();
  CHECK(write(1, "", 1) == 1);
  volatile unsigned long work = 0;
  for (;;) {
    if (how == 0) work = work + 1;
    if (how == 1) pause();
    if (how == 2) {
      PRAGMA(omp parallel num_threads(2))
      usleep(5000);
    }
  }
}

/* A program of its own, or a child that goes on with this one. */
static pid_t busy_process(int how, int of_its_own) {
  int ready[2];
  CHECK(pipe(ready) == 0);
  const pid_t child = fork();
  if (child == 0) {
    char number[] = {(char)('0' + how), '\0'};
    if (dup2(ready[1], 1) != 1) _exit(9);
    if (of_its_own) execl("/proc/self/exe", "awaited", "busy", number, (char*)NULL);
    be_busy(how);
  }
  char one;
  CHECK(read(ready[0], &one, 1) == 1 && close(ready[0]) == 0 && close(ready[1]) == 0);
  return child;
}

static void act_by_default(int of_its_own) {
  for (int how = 0; how < 3; ++how) {
    int status = 0;
    const pid_t child = busy_process(how, of_its_own);
    CHECK(kill(child, SIGCHLD) == 0 && kill(child, SIGWINCH) == 0); /* are ignored */
    CHECK(kill(child, SIGSTOP) == 0 && waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status));
    CHECK(kill(child, SIGCONT) == 0 && waitpid(child, &status, WCONTINUED) == child && WIFCONTINUED(status));
    usleep(5000);
    CHECK(waitpid(child, &status, WNOHANG) == 0);
    const int last = how == 0 ? SIGTERM : how == 1 ? SIGALRM : SIGHUP;
    CHECK(kill(child, last) == 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == last);
  }
}

/* Of those that nobody handles Weft takes some; not what is blocked before the first region. */
static void wait_for_last_ones(void) {
  const int last = SIGRTMAX;
  sigset_t set = set_of(last);
  for (int signal = last - 3; signal < last; ++signal) sigaddset(&set, signal);
  CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
  const int fd = signalfd(-1, &set, SFD_CLOEXEC);
  for (int signal = last - 3; signal <= last; ++signal) {
    region();
    const struct timespec long_time = {20, 0};
    siginfo_t info;
    CHECK(sigqueue(getpid(), signal, (union sigval){.sival_int = signal}) == 0);
    CHECK(sigtimedwait(&set, &info, &long_time) == signal && info.si_value.sival_int == signal);
    from_another_thread(signal);
    region();
    CHECK(sigtimedwait(&set, &info, &long_time) == signal && info.si_pid == getpid());
    struct signalfd_siginfo read_info;
    CHECK(sigqueue(getpid(), signal, (union sigval){.sival_int = signal}) == 0);
    CHECK(read(fd, &read_info, sizeof read_info) == sizeof read_info && read_info.ssi_signo == (unsigned)signal);
  }
  CHECK(close(fd) == 0);
}

int main(int argc, char** argv) {
  if (argc > 2) be_busy(atoi(argv[2]));
  const int alone = argc > 1 && atoi(argv[1]) == 1;
  main_thread = pthread_self();
  wait_for_last_ones();
  wait_for_blocked(alone);
  wait_for_own();
  let_in_while_waiting();
  act_by_default(0);
  act_by_default(1);
  return check_end();
}
