/* number.c: the kernel's number of a thread: each OpenMP thread has one of its own, as long as it lasts, wherever it runs; the main thread has the
 * process's. What is sent by it comes to that thread, also what the kernel sends to one that has not let go meanwhile.
 *
 *   number worker   what holds for threads without an identity of their own, too
 *   number ends     numbers of many threads that are no more, while the runtime gives up what it keeps for others
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { kThreads = 8, kRounds = 200 };

static pid_t number(void) { return (pid_t)syscall(SYS_gettid); }

static pid_t numbers[kThreads];

/* A yield takes a thread to another kernel thread, as does a tick. */
static void all_differ(void) {
#pragma omp parallel num_threads(kThreads)
  {
    const int me = omp_get_thread_num();
    numbers[me] = number();
    CHECK(numbers[me] > 0);
    for (int round = 0; round < kRounds; ++round) {
      if (round % 10 == 0) usleep(10);
      sched_yield();
      CHECK(number() == numbers[me]);
      CHECK(gettid() == numbers[me]);
    }
  }
  CHECK(numbers[0] == getpid());
  for (int i = 0; i < kThreads; ++i) {
    for (int j = 0; j < i; ++j) CHECK(numbers[i] != numbers[j]);
  }
}

/* ---- what is sent by it */

static int by_number, by_timer, by_file, by_order;
static _Thread_local int handled, value;

static void count(int signal, siginfo_t* info, void* context) {
  (void)context;
  if (signal == by_number) CHECK(info->si_code == (info->si_value.sival_int != 0 ? SI_QUEUE : SI_TKILL));
  value = info->si_value.sival_int;
  __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
}

static void to_itself(void) {
#pragma omp parallel num_threads(kThreads)
  for (int round = 0; round < kRounds; ++round) {
    const int before = handled;
    CHECK(syscall(SYS_tgkill, getpid(), number(), 0) == 0);
    CHECK(syscall(SYS_tgkill, getpid(), number(), by_number) == 0 && handled == before + 1);
    CHECK(syscall(SYS_tkill, number(), by_number) == 0 && handled == before + 2);
    CHECK(tgkill(getpid(), gettid(), by_number) == 0 && handled == before + 3);
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_value.sival_int = 17;
    CHECK(syscall(SYS_rt_tgsigqueueinfo, getpid(), number(), by_number, &info) == 0 && handled == before + 4 && value == 17);
    if (round % 10 == 0) sched_yield();
  }
  CHECK(syscall(SYS_tgkill, getpid(), number(), 12345) == -1 && errno == EINVAL);
  CHECK(syscall(SYS_tgkill, getpid() + 1, number(), by_number) == -1 && errno == ESRCH);
}

static void blocked_by_itself(void) {
#pragma omp parallel num_threads(kThreads)
  {
    sigset_t one, before;
    sigemptyset(&one);
    sigaddset(&one, by_number);
    pthread_sigmask(SIG_BLOCK, &one, &before);
    const int so_far = handled;
    CHECK(syscall(SYS_tgkill, getpid(), number(), by_number) == 0 && handled == so_far);
    for (int i = 0; i < 5; ++i) sched_yield();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    CHECK(handled == so_far + 1);
  }
}

/* Each sends to the next one until that has counted it; what has come, comes once. */
static void to_each_other(void) {
  static int come[kThreads];
  memset(come, 0, sizeof come);
#pragma omp parallel num_threads(kThreads)
  {
    const int me = omp_get_thread_num(), next = (me + 1) % kThreads;
    const int before = handled;
    numbers[me] = number();
#pragma omp barrier
    CHECK(syscall(SYS_tgkill, getpid(), numbers[next], 0) == 0);
    CHECK(syscall(SYS_tgkill, getpid(), numbers[next], by_number) == 0);
    while (__atomic_load_n(&handled, __ATOMIC_RELAXED) == before) sched_yield();
    __atomic_fetch_add(&come[me], 1, __ATOMIC_RELAXED);
#pragma omp barrier
    CHECK(handled == before + 1);
  }
  for (int i = 0; i < kThreads; ++i) CHECK(come[i] == 1);
}

/* Those that queue come in the order in which they were sent, however many the other one has not taken yet. */
enum { kQueued = 100 };
static int in_order[kQueued], queued;

static void note_order(int signal, siginfo_t* info, void* context) {
  (void)signal;
  (void)context;
  if (queued < kQueued) in_order[queued] = info->si_value.sival_int;
  ++queued;
}

static int queue(pid_t to, int value) {
  siginfo_t info;
  memset(&info, 0, sizeof info);
  info.si_code = SI_QUEUE;
  info.si_pid = getpid();
  info.si_value.sival_int = value;
  return (int)syscall(SYS_rt_tgsigqueueinfo, getpid(), to, by_order, &info);
}

static void in_the_order_of_their_sending(void) {
  for (int receiver = 0; receiver < 2; ++receiver) {
    static pid_t receivers;
    queued = 0;
#pragma omp parallel num_threads(2)
    {
      if (omp_get_thread_num() == receiver) receivers = number();
#pragma omp barrier
      if (omp_get_thread_num() != receiver) {
        for (int i = 0; i < kQueued; ++i) CHECK(queue(receivers, i) == 0);
      } else {
        while (__atomic_load_n(&queued, __ATOMIC_RELAXED) < kQueued) sched_yield();
      }
    }
    CHECK(queued == kQueued);
    for (int i = 0; i < kQueued; ++i) CHECK(in_order[i] == i);
  }
}

/* What is blocked is waited for, or asked for. */
static void waited_for(void) {
  static pid_t waiters[2];
#pragma omp parallel num_threads(2)
  {
    const int me = omp_get_thread_num();
    sigset_t one, before, pending;
    sigemptyset(&one);
    sigaddset(&one, by_number);
    pthread_sigmask(SIG_BLOCK, &one, &before);
    waiters[me] = number();
#pragma omp barrier
    CHECK(syscall(SYS_tgkill, getpid(), waiters[1 - me], by_number) == 0);
    siginfo_t info;
    CHECK(sigwaitinfo(&one, &info) == by_number && info.si_pid == getpid());
#pragma omp barrier
    CHECK(syscall(SYS_tkill, waiters[1 - me], by_number) == 0);
#pragma omp barrier
    CHECK(sigpending(&pending) == 0 && sigismember(&pending, by_number));
    int which = 0;
    CHECK(sigwait(&one, &which) == 0 && which == by_number);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
  }
}

static void to_another_process(void) {
  int status;
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  CHECK(syscall(SYS_tkill, child, SIGTERM) == 0);
  CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

static void from_where_nothing_is(void) {
  void* nowhere = (void*)8;
  CHECK(syscall(SYS_rt_tgsigqueueinfo, getpid(), number(), by_number, nowhere) == -1 && errno == EFAULT);
  CHECK(syscall(SYS_timer_create, CLOCK_MONOTONIC, nowhere, nowhere) == -1 && errno == EFAULT);
  CHECK(fcntl(-1, F_SETOWN_EX, nowhere) == -1 && errno == EBADF);
  CHECK(fcntl(0, F_SETOWN_EX, nowhere) == -1 && (errno == EFAULT || errno == EBADF));
}

static void of_nobody(void) {
  int status;
  const pid_t child = fork();
  if (child == 0) _exit(0);
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(syscall(SYS_tgkill, getpid(), child, by_number) == -1 && errno == ESRCH);
}

/* In 3 s all that nobody needs has ended. A number that is nobody's, or some thread's for whom nothing was meant, is told so. */
enum { kMany = 100 };
static pid_t old_numbers[kMany];
static int over;

static void* send_to_old(void* arg) {
  while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
    for (int i = 1; i < kMany; ++i) {
      const long result = syscall(SYS_tgkill, getpid(), old_numbers[i], i % 2 == 0 ? 0 : by_number);
      CHECK(result == 0 || (result == -1 && errno == ESRCH));
    }
  }
  return arg;
}

static void ends(void) {
#pragma omp parallel num_threads(kMany)
  old_numbers[omp_get_thread_num()] = number();
  omp_pause_resource_all(omp_pause_soft);
  pthread_t senders[2];
  for (int i = 0; i < 2; ++i) CHECK(pthread_create(&senders[i], NULL, send_to_old, NULL) == 0);
  const double end = omp_get_wtime() + 3;
  while (omp_get_wtime() < end) {
#pragma omp parallel num_threads(3)
    usleep(10000);
  }
  __atomic_store_n(&over, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < 2; ++i) CHECK(pthread_join(senders[i], NULL) == 0);
}

/* The kernel sends it later: to a thread that has let nobody else go on meanwhile. */
static void wait_for(int count) {
  while (__atomic_load_n(&handled, __ATOMIC_RELAXED) < count) continue;
}

static int timer_for(pid_t thread, int through, timer_t* timer) {
  struct sigevent event;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = by_timer;
#ifdef sigev_notify_thread_id
  event.sigev_notify_thread_id = thread;
#else
  event._sigev_un._tid = thread;
#endif
  if (through != 0) return timer_create(CLOCK_MONOTONIC, &event, timer);
  int kernels = 0;
  const int result = (int)syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &kernels);
  *timer = (timer_t)(intptr_t)kernels;
  return result;
}

static void by_timers(void) {
  const struct itimerspec soon = {.it_value = {.tv_nsec = 1000000}};
#pragma omp parallel num_threads(kThreads)
  for (int through = 0; through < 2; ++through) {
    const int before = handled;
    timer_t timer;
    CHECK(timer_for(number(), through, &timer) == 0);
    if (through == 0) {
      CHECK(syscall(SYS_timer_settime, (int)(intptr_t)timer, 0, &soon, NULL) == 0);
    } else {
      CHECK(timer_settime(timer, 0, &soon, NULL) == 0);
    }
    wait_for(before + 1);
  }
}

static void by_files(void) {
#pragma omp parallel num_threads(kThreads)
  {
    const int before = handled;
    int ends[2];
    CHECK(pipe(ends) == 0);
    const struct f_owner_ex owner = {F_OWNER_TID, number()};
    CHECK(fcntl(ends[0], F_SETOWN_EX, &owner) == 0);
    CHECK(fcntl(ends[0], F_SETSIG, by_file) == 0);
    CHECK(fcntl(ends[0], F_SETFL, fcntl(ends[0], F_GETFL) | O_ASYNC) == 0);
    CHECK(write(ends[1], "x", 1) == 1);
    wait_for(before + 1);
    close(ends[0]);
    close(ends[1]);
  }
  CHECK(fcntl(-1, F_SETOWN_EX, NULL) == -1 && (errno == EBADF || errno == EFAULT));
}

/* Another thread sees to the main thread's timer: it comes to where that is. */
static void by_anothers_timer(void) {
#pragma omp parallel num_threads(2)
  {
    const int before = handled;
    timer_t timer;
#pragma omp barrier
    if (omp_get_thread_num() == 1) {
      CHECK(timer_for(getpid(), 1, &timer) == 0);
      const struct itimerspec soon = {.it_value = {.tv_nsec = 1000000}};
      struct itimerspec now;
      CHECK(timer_settime(timer, 0, &soon, NULL) == 0 && timer_gettime(timer, &now) == 0);
    } else {
      wait_for(before + 1);
    }
#pragma omp barrier
    if (omp_get_thread_num() == 1) CHECK(timer_getoverrun(timer) == 0 && timer_delete(timer) == 0);
  }
}

/* What a thread has blocked, and waits for: while it comes, and after it has come. */
static void waited(int signal, int code, int while_it_comes) {
  sigset_t set, pending;
  sigemptyset(&set);
  sigaddset(&set, signal);
  if (!while_it_comes) {
    do CHECK(sigpending(&pending) == 0);
    while (sigismember(&pending, signal) == 0);
    for (int other = SIGRTMIN; other <= SIGRTMAX; ++other) CHECK(other == signal || sigismember(&pending, other) == 0);
  }
  const struct timespec long_time = {10, 0}, no_time = {0, 0};
  siginfo_t info;
  int got;
  do got = sigtimedwait(&set, &info, while_it_comes ? &long_time : &no_time);
  while (got == -1 && errno == EINTR);
  CHECK(got == signal && info.si_code == code);
  CHECK(sigtimedwait(&set, &info, &no_time) == -1 && errno == EAGAIN);
}

static void waited_timers_and_files(void) {
  const struct itimerspec soon = {.it_value = {.tv_nsec = 1000000}};
#pragma omp parallel num_threads(kThreads)
  {
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, by_timer);
    sigaddset(&set, by_file);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    timer_t timer;
    CHECK(timer_for(number(), 1, &timer) == 0);
    int ends[2];
    CHECK(pipe(ends) == 0);
    const struct f_owner_ex owner = {F_OWNER_TID, number()};
    CHECK(fcntl(ends[0], F_SETOWN_EX, &owner) == 0 && fcntl(ends[0], F_SETSIG, by_file) == 0);
    CHECK(fcntl(ends[0], F_SETFL, fcntl(ends[0], F_GETFL) | O_ASYNC) == 0);
    for (int round = 0; round < 10; ++round) {
      CHECK(timer_settime(timer, 0, &soon, NULL) == 0);
      waited(by_timer, SI_TIMER, round % 2);
      CHECK(write(ends[1], "x", 1) == 1);
      waited(by_file, POLL_IN, round % 2);
    }
    close(ends[0]);
    close(ends[1]);
    timer_delete(timer);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
  }
}

/* ---- children: one that has all of the parent's memory, one that has a copy, one that Weft knows nothing of */

static pid_t of_its_parent;

static int is_first(void* arg) {
  (void)arg;
  const int not_its = syscall(SYS_tgkill, getpid(), of_its_parent, 0) == -1;
  return gettid() == getpid() && number() == getpid() && not_its ? 0 : 1;
}

static int succeeded(pid_t child, int wait_for) {
  int status = -1;
  return child > 0 && waitpid(child, &status, wait_for) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void in_children(void) {
#pragma omp parallel num_threads(3)
#pragma omp critical
  {
    static _Alignas(64) char stack[65536];
    of_its_parent = number();
    const pid_t copy = fork();
    if (copy == 0) {
      int is = is_first(NULL) == 0;
      is &= syscall(SYS_tgkill, getpid(), number(), 0) == 0;
      _exit(is ? 0 : 1);
    }
    CHECK(succeeded(copy, 0));
    CHECK(succeeded(clone(is_first, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL), 0));
    const pid_t unknown = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (unknown == 0) syscall(SYS_exit_group, is_first(NULL));
    CHECK(succeeded(unknown, 0));
  }
}

/* What has six arguments, and results that are no numbers of threads. */
static void other_calls(void) {
  char text[4] = "abc", copy[4] = "";
  int ends[2];
  CHECK(syscall(SYS_pipe2, ends, O_CLOEXEC) == 0);
  CHECK(syscall(SYS_write, ends[1], text, sizeof text) == 4 && syscall(SYS_read, ends[0], copy, sizeof copy) == 4 && strcmp(text, copy) == 0);
  int word = 0;
  const struct timespec at = {0, 1};
  CHECK(syscall(SYS_futex, &word, 9 /* WAIT_BITSET */, 0, &at, NULL, 0xffffffff) == -1 && errno == ETIMEDOUT);
  CHECK(syscall(SYS_futex, &word, 9, 0, &at, NULL, 0) == -1 && errno == EINVAL);
  CHECK(syscall(-1) == -1 && errno == ENOSYS);
  CHECK(fcntl(ends[0], F_GETFD) == FD_CLOEXEC);
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  CHECK(fcntl(-1, F_SETLK, &lock) == -1 && errno == EBADF);
  close(ends[0]);
  close(ends[1]);
}

static void set_handlers(void) {
  by_number = SIGRTMIN + 3;
  by_timer = SIGRTMIN + 4;
  by_file = SIGRTMIN + 5;
  by_order = SIGRTMIN + 6;
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = count;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(by_number, &action, NULL);
  sigaction(by_timer, &action, NULL);
  sigaction(by_file, &action, NULL);
  action.sa_sigaction = note_order;
  sigaction(by_order, &action, NULL);
}

int main(int argc, char** argv) {
  set_handlers();
  if (argc > 1 && strcmp(argv[1], "ends") == 0) {
    ends();
    return check_end();
  }
  const int own = argc < 2 || strcmp(argv[1], "worker") != 0;
  CHECK(number() == getpid());
  other_calls();
#pragma omp parallel num_threads(2)
  CHECK(number() > 0);
  CHECK(number() == getpid() && gettid() == getpid());
  other_calls();
  if (own) {
    all_differ();
    to_itself();
    blocked_by_itself();
    to_each_other();
    in_the_order_of_their_sending();
    waited_for();
    by_timers();
    by_anothers_timer();
    by_files();
    waited_timers_and_files();
  }
  of_nobody();
  to_another_process();
  from_where_nothing_is();
  in_children();
  CHECK(number() == getpid());
  return check_end();
}
