/* handlers.c: what a program says of signals when its main thread has become a ULT: handlers that it installs then are called where they
 * are meant to be, and it may set all signals to their defaults, as daemons do, and others before they call exec().
 */
#define _GNU_SOURCE
#include <errno.h>
#include <omp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

typedef void (*handler_t)(int);
handler_t bsd_signal(int, handler_t);

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

enum { kSignals = 100 };

static void compute(double seconds) {
  const double end = omp_get_wtime() + seconds;
#pragma omp parallel num_threads(4)
  while (omp_get_wtime() < end) continue;
}

/* ---- handlers that are installed late --------------------------------------------------------- */

static pthread_t main_thread;
static __thread int mine;
static atomic_int by_main, by_others;

static void count(int number) {
  (void)number;
  atomic_fetch_add(mine == 42 && pthread_equal(pthread_self(), main_thread) ? &by_main : &by_others, 1);
}

static int sleep_long(void) {
  const struct timespec time = {.tv_sec = 3};
  return clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}
static int poll_long(void) { return poll(NULL, 0, 3000) == -1 ? errno : 0; }
static int select_long(void) {
  struct timeval time = {.tv_sec = 3};
  return select(0, NULL, NULL, NULL, &time) == -1 ? errno : 0;
}

static handler_t by_sigaction(int number, handler_t handler) {
  const struct sigaction action = {.sa_handler = handler};
  struct sigaction before;
  return sigaction(number, &action, &before) == 0 ? before.sa_handler : SIG_ERR;
}

/* The timer goes on: what comes while the runtime has not looked yet another thread may take. */
static void end_the_wait(const char* what, handler_t (*set)(int, handler_t), int (*wait)(void)) {
  const struct itimerval each = {.it_interval = {.tv_usec = 50000}, .it_value = {.tv_usec = 50000}}, off = {.it_interval = {.tv_sec = 0}};
  atomic_store(&by_main, 0);
  atomic_store(&by_others, 0);
  CHECK(set(SIGALRM, count) == SIG_IGN);
  CHECK(setitimer(ITIMER_REAL, &each, NULL) == 0);
  int error = EINTR;
  while (error == EINTR && atomic_load(&by_main) == 0) error = wait();
  CHECK(setitimer(ITIMER_REAL, &off, NULL) == 0);
  CHECK(error == EINTR);
  if (error != EINTR) {
    fprintf(stderr, "%s: it has waited to the end, %d signals by main, %d by others\n", what, atomic_load(&by_main), atomic_load(&by_others));
  }
  CHECK(set(SIGALRM, SIG_IGN) == count);
}

static void end_waits(void) {
  CHECK(signal(SIGALRM, SIG_IGN) == SIG_DFL);
  end_the_wait("sigaction", by_sigaction, sleep_long);
  end_the_wait("signal", signal, poll_long);
  end_the_wait("sigset", sigset, select_long);
  end_the_wait("ssignal", ssignal, sleep_long);
  end_the_wait("bsd_signal", bsd_signal, sleep_long);
}

static void* send_ignored(void* arg) {
  for (int i = 0; i < kSignals; ++i) {
    CHECK(kill(getpid(), SIGALRM) == 0);
    usleep(1000);
  }
  return arg;
}

/* What is ignored, though it has been handled, ends no wait. */
static void end_none(void) {
  pthread_t sender;
  int ended = 0;
  CHECK(signal(SIGALRM, count) == SIG_IGN);
  usleep(20000);
  CHECK(sigignore(SIGALRM) == 0);
  usleep(20000);
  CHECK(pthread_create(&sender, NULL, send_ignored, NULL) == 0);
  for (int i = 0; i < kSignals; ++i) ended += poll(NULL, 0, 1) != 0;
  CHECK(pthread_join(sender, NULL) == 0 && ended < kSignals / 10);
}

/* ---- all of them as they were ------------------------------------------------------------------ */

static void check_all(handler_t expected) {
  for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) {
    struct sigaction now;
    CHECK(sigaction(number, NULL, &now) == 0 && now.sa_handler == expected && (now.sa_flags & SA_SIGINFO) == 0);
  }
}

static void set_all(handler_t (*set)(int, handler_t), handler_t handler, handler_t before) {
  for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) CHECK(set(number, handler) == before);
  check_all(handler);
  compute(0.02);
}

static handler_t by_sigignore(int number, handler_t handler) {
  return handler == SIG_IGN && sigignore(number) == 0 ? SIG_DFL : SIG_ERR;
}

static void reset_all(void) {
  check_all(SIG_DFL);
  set_all(signal, SIG_DFL, SIG_DFL);
  set_all(by_sigaction, SIG_IGN, SIG_DFL);
  set_all(by_sigaction, SIG_DFL, SIG_IGN);
  set_all(sysv_signal, SIG_IGN, SIG_DFL);
  set_all(sigset, SIG_DFL, SIG_IGN);
  set_all(by_sigignore, SIG_IGN, SIG_DFL);
  set_all(signal, SIG_DFL, SIG_IGN);
}

static _Noreturn void reset_and_execute(const sigset_t* before) {
  for (int number = 1; number <= SIGRTMAX; ++number) {
    struct sigaction now;
    if (sigaction(number, NULL, &now) != 0 || now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN) continue;
    signal(number, SIG_DFL);
  }
  sigprocmask(SIG_SETMASK, before, NULL);
  for (const double end = omp_get_wtime() + 0.005; omp_get_wtime() < end;) continue;
  execl("/bin/true", "true", (char*)NULL);
  _exit(1);
}

/* As Ruby does: all are blocked meanwhile. In the child there is nobody but the calling thread, which goes on as the runtime's. */
static void reset_in_child(int shares_memory) {
  sigset_t all, before;
  sigfillset(&all);
  CHECK(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
  const pid_t child = shares_memory ? vfork() : fork();
  if (child == 0) reset_and_execute(&before);
  int status = -1;
  CHECK(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
  CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

static void reset_in_children(void) {
  for (int i = 0; i < 20; ++i) {
    compute(0.001);
    reset_in_child(i % 2);
  }
  check_all(SIG_DFL);
}

int main(void) {
  main_thread = pthread_self();
  mine = 42;
  compute(0.02);
  if (getenv("WEFT_PREEMPTION") == NULL) { /* else ticks end waits, too, and sleeping goes on after one */
    end_waits();
    end_none();
  }
  reset_all();
  reset_in_children();
  compute(0.02);
  return check_end();
}
