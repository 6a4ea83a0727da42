/* relayed.c: what a program sets for a signal is what it is told when it asks, and what the kernel does, though its handlers are called by ours.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "check.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static volatile int plain, with_info;
static volatile uid_t sent_by;
static void take_plain(int number) { plain += number; }
static void take_other(int number) { plain -= number; }
static void take_with_info(int number, siginfo_t* info, void* context) {
  CHECK(info->si_signo == number && context != NULL);
  with_info += number;
  sent_by = info->si_uid;
}

static void is_told_what_it_has_set(void) {
  struct sigaction now, set = {.sa_handler = take_plain, .sa_flags = SA_RESTART};
  plain = with_info = 0;
  sigemptyset(&set.sa_mask);
  sigaddset(&set.sa_mask, SIGUSR2);
  CHECK(sigaction(SIGUSR1, &set, &now) == 0 && now.sa_handler == SIG_DFL && (now.sa_flags & SA_SIGINFO) == 0);
  CHECK(sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == take_plain);
  CHECK((now.sa_flags & (SA_RESTART | SA_SIGINFO | SA_NODEFER | SA_ONSTACK)) == SA_RESTART);
  CHECK(sigismember(&now.sa_mask, SIGUSR2) == 1 && sigismember(&now.sa_mask, SIGUSR1) == 0);

  /* The same place for both, through a pointer that the compiler does not see. */
  struct sigaction both = {.sa_sigaction = take_with_info, .sa_flags = SA_SIGINFO | SA_NODEFER};
  struct sigaction* volatile same = &both;
  CHECK(sigaction(SIGUSR1, &both, same) == 0 && both.sa_handler == take_plain && (both.sa_flags & SA_SIGINFO) == 0);
  CHECK(sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_sigaction == take_with_info);
  CHECK((now.sa_flags & (SA_RESTART | SA_SIGINFO | SA_NODEFER)) == (SA_SIGINFO | SA_NODEFER));
  CHECK(kill(getpid(), SIGUSR1) == 0 && with_info == SIGUSR1 && sent_by == getuid());

  CHECK(signal(SIGUSR1, take_plain) == (void (*)(int))(uintptr_t)take_with_info);
  CHECK(sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == take_plain && (now.sa_flags & (SA_RESTART | SA_SIGINFO)) == SA_RESTART);
  CHECK(raise(SIGUSR1) == 0 && plain == SIGUSR1);
  CHECK(siginterrupt(SIGUSR1, 1) == 0);
  CHECK(sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == take_plain && (now.sa_flags & (SA_RESTART | SA_SIGINFO)) == 0);
  CHECK(signal(SIGUSR1, take_other) == take_plain);
  CHECK(sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == take_other && (now.sa_flags & (SA_RESTART | SA_SIGINFO)) == 0);
  CHECK(siginterrupt(SIGUSR1, 0) == 0);
  CHECK(raise(SIGUSR1) == 0 && plain == 0);
  sigset_t one, mask;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  CHECK(sigprocmask(SIG_BLOCK, &one, NULL) == 0 && signal(SIGUSR1, take_other) == take_other);
  CHECK(sigprocmask(SIG_SETMASK, NULL, &mask) == 0 && sigismember(&mask, SIGUSR1) == 1);
  CHECK(sigset(SIGUSR1, take_other) == SIG_HOLD);
  CHECK(sigprocmask(SIG_SETMASK, NULL, &mask) == 0 && sigismember(&mask, SIGUSR1) == 0);
  CHECK(sigset(SIGUSR1, take_plain) == take_other);
  CHECK(sigset(SIGUSR1, take_other) == take_plain);
  CHECK(__sysv_signal(SIGUSR1, take_plain) == take_other);
  CHECK(raise(SIGUSR1) == 0 && plain == SIGUSR1);
  CHECK(sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == SIG_DFL);
  plain = 0;

  CHECK(signal(SIGUSR1, take_plain) == SIG_DFL && sigignore(SIGUSR1) == 0);
  CHECK(sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == SIG_IGN);
  CHECK(raise(SIGUSR1) == 0 && plain == 0);
  errno = 0;
  CHECK(signal(SIGKILL, take_plain) == SIG_ERR && errno == EINVAL);
  errno = 0;
  CHECK(sigaction(SIGSTOP, &set, NULL) == -1 && errno == EINVAL);
  errno = 0;
  CHECK(sigaction(_NSIG, &set, NULL) == -1 && errno == EINVAL);
  errno = 0;
  CHECK(signal(0, take_plain) == SIG_ERR && errno == EINVAL);
  CHECK(signal(SIGUSR1, SIG_ERR) == SIG_ERR && errno == EINVAL);
  CHECK(signal(SIGUSR1, SIG_DFL) == SIG_IGN);
}

static void is_called_once(void) {
  struct sigaction now;
  const struct sigaction once = {.sa_handler = take_plain, .sa_flags = (int)(SA_RESETHAND | SA_NODEFER)};
  plain = 0;
  CHECK(sigaction(SIGUSR1, &once, NULL) == 0);
  CHECK(sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == take_plain && (now.sa_flags & (int)SA_RESETHAND) != 0);
  CHECK(kill(getpid(), SIGUSR1) == 0 && plain == SIGUSR1);
  CHECK(sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == SIG_DFL);
}

/* As the kernel has it, by programs that do not ask the C library. */
struct kernel_action {
  void* handler;
  unsigned long flags;
  void* restorer;
  uint64_t mask;
};

static void may_be_put_back_as_the_kernel_had_it(void) {
  struct kernel_action was;
  struct sigaction now;
  plain = 0;
  CHECK(signal(SIGUSR2, take_plain) == SIG_DFL);
  CHECK(syscall(SYS_rt_sigaction, SIGUSR2, NULL, &was, sizeof was.mask) == 0);
  CHECK(signal(SIGUSR2, take_other) == take_plain);
  CHECK(syscall(SYS_rt_sigaction, SIGUSR2, &was, NULL, sizeof was.mask) == 0);
  CHECK(raise(SIGUSR2) == 0 && plain == SIGUSR2);
  CHECK(sigaction(SIGUSR2, NULL, &now) == 0 && now.sa_handler == take_plain && (now.sa_flags & SA_SIGINFO) == 0);
  CHECK(signal(SIGUSR2, SIG_DFL) == take_plain);
}

/* Who has read past the C library what was there calls just that. */
static volatile int first, between, last;
static struct kernel_action was_first;
static void (*was_between)(int);
static void take_first(int number) { first += number; }
static void take_between(int number) {
  between += number;
  ((void (*)(int, siginfo_t*, void*))was_first.handler)(number, NULL, NULL);
}
static void take_last(int number) {
  last += number;
  was_between(number);
}

static void may_be_chained_to(void) {
  struct sigaction now;
  const struct sigaction set_last = {.sa_handler = take_last};
  first = between = last = 0;
  CHECK(signal(SIGUSR2, take_first) == SIG_DFL);
  CHECK(syscall(SYS_rt_sigaction, SIGUSR2, NULL, &was_first, sizeof was_first.mask) == 0);
  struct kernel_action set_between = was_first;
  set_between.handler = (void*)(uintptr_t)take_between;
  CHECK(syscall(SYS_rt_sigaction, SIGUSR2, &set_between, NULL, sizeof set_between.mask) == 0);
  CHECK(sigaction(SIGUSR2, &set_last, &now) == 0 && now.sa_handler == take_between);
  was_between = now.sa_handler;
  CHECK(raise(SIGUSR2) == 0 && first == SIGUSR2 && between == SIGUSR2 && last == SIGUSR2);
  /* For another signal, too. */
  CHECK(syscall(SYS_rt_sigaction, SIGUSR1, &was_first, NULL, sizeof was_first.mask) == 0);
  CHECK(raise(SIGUSR1) == 0 && first == SIGUSR2 + SIGUSR1);
  CHECK(signal(SIGUSR1, SIG_DFL) == take_first && signal(SIGUSR2, SIG_DFL) == take_last);
}

/* What is a thread's own does not come to main. */
static pthread_t ran_on;
static volatile int ran;
static void note_thread(int number) {
  (void)number;
  ran_on = pthread_self();
  ran = ran + 1;
}

static void* is_sent_its_own(void* unused) {
  int ends[2];
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
  event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
  ran = 0;
  CHECK(pipe(ends) == 0 && close(ends[0]) == 0);
  CHECK(write(ends[1], "", 1) == -1 && errno == EPIPE && ran == 1 && pthread_equal(ran_on, pthread_self()));
  CHECK(close(ends[1]) == 0);
  CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
  CHECK(timer_settime(timer, 0, &(struct itimerspec){.it_value = {.tv_nsec = 1000000}}, NULL) == 0);
  while (ran == 1) sched_yield();
  CHECK(pthread_equal(ran_on, pthread_self()) && timer_delete(timer) == 0);
  return unused;
}

static void in_another_thread(void) {
  pthread_t thread;
  CHECK(signal(SIGUSR1, note_thread) == SIG_DFL && signal(SIGPIPE, note_thread) == SIG_DFL);
  CHECK(pthread_create(&thread, NULL, is_sent_its_own, NULL) == 0 && pthread_join(thread, NULL) == 0);
  CHECK(signal(SIGUSR1, SIG_DFL) == note_thread && signal(SIGPIPE, SIG_DFL) == note_thread);
}

static volatile int children;
static void take_child(int number, siginfo_t* info, void* context) {
  (void)context;
  if (number == SIGCHLD && info->si_code == CLD_EXITED && info->si_status == 7) ++children;
}

static void in_children(void) {
  const struct sigaction set = {.sa_sigaction = take_child, .sa_flags = SA_SIGINFO};
  struct sigaction now;
  CHECK(signal(SIGUSR1, take_plain) == SIG_DFL && sigaction(SIGCHLD, &set, NULL) == 0);
  plain = children = 0;
  int status = 0;
  pid_t child = fork();
  if (child == 0) {
    if (sigaction(SIGUSR1, NULL, &now) != 0 || now.sa_handler != take_plain) _exit(1);
    if (kill(getpid(), SIGUSR1) != 0 || plain != SIGUSR1) _exit(2);
    if (signal(SIGUSR1, take_other) != take_plain || kill(getpid(), SIGUSR1) != 0 || plain != 0) _exit(3);
    _exit(7);
  }
  CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
  while (children == 0) sched_yield();
  CHECK(raise(SIGUSR1) == 0 && plain == SIGUSR1);
  /* Its memory is ours. */
  child = vfork();
  if (child == 0) {
    const struct sigaction other = {.sa_handler = take_other};
    sigaction(SIGUSR1, &other, NULL);
    _exit(7);
  }
  CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
  CHECK(sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == take_plain);
  CHECK(raise(SIGUSR1) == 0 && plain == 2 * SIGUSR1);
  CHECK(signal(SIGCHLD, SIG_DFL) == (void (*)(int))(uintptr_t)take_child && signal(SIGUSR1, SIG_DFL) == take_plain);
}

/* Who looks at the stack there sees what it would see: below the handler, the frame by which the kernel has called it. */
static const char* volatile called_by;
static void look_at_stack(int number) {
  (void)number;
  void* frames[3];
  Dl_info where;
  if (backtrace(frames, 3) >= 2 && dladdr((char*)frames[1], &where) != 0) called_by = where.dli_fname;
}

static jmp_buf out;
static void leave(int number) {
  (void)number;
  siglongjmp(out, 1);
}

static void is_called_as_by_the_kernel(void) {
  CHECK(signal(SIGUSR1, look_at_stack) == SIG_DFL && raise(SIGUSR1) == 0);
  CHECK(called_by != NULL && strstr(called_by, "libc.so") != NULL);
  CHECK(signal(SIGUSR1, leave) == look_at_stack);
  if (sigsetjmp(out, 1) == 0) {
    kill(getpid(), SIGUSR1);
    CHECK(0);
  }
  CHECK(signal(SIGUSR1, SIG_DFL) == leave);
  /* A fault is where it is. */
  CHECK(signal(SIGFPE, leave) == SIG_DFL);
  if (sigsetjmp(out, 1) == 0) {
    volatile int none = 0, some = 7;
    some = some / none;
    CHECK(0);
  }
  CHECK(signal(SIGFPE, SIG_DFL) == leave);
}

/* A call that a tick has interrupted is about to be begun again when the next signal comes: it ends by that. Here a step of one instruction stands
 * for the tick. */
static void send_before_call(int number, siginfo_t* info, void* context) {
  greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  const unsigned char* code = (const unsigned char*)(uintptr_t)registers[REG_RIP];
  (void)number, (void)info;
  registers[REG_EFL] &= ~0x100;
  CHECK(code[0] == 0x0f && code[1] == 0x05 && registers[REG_RAX] == SYS_read);
  CHECK(raise(SIGUSR1) == 0); /* blocked here */
}

static long read_after_step(int file) {
  char byte;
  long result = SYS_read;
  __asm__ volatile(
      "lea -128(%%rsp), %%rsp\n\t"
      "pushfq\n\t"
      "orq $0x100, (%%rsp)\n\t"
      "popfq\n\t"
      "nop\n\t"
      "syscall\n\t"
      "lea 128(%%rsp), %%rsp"
      : "+a"(result)
      : "D"((long)file), "S"(&byte), "d"(1L)
      : "rcx", "r11", "cc", "memory");
  return result;
}

static int pipe_ends[2];
static void let_it_end(int number) { plain += write(pipe_ends[1], "", 1) == 1 ? number : 0; }

static void ends_a_call_that_is_begun_again(void) {
  struct sigaction step = {.sa_sigaction = send_before_call, .sa_flags = SA_SIGINFO};
  const struct sigaction ends = {.sa_handler = let_it_end}, restarts = {.sa_handler = let_it_end, .sa_flags = SA_RESTART};
  char byte;
  sigemptyset(&step.sa_mask);
  sigaddset(&step.sa_mask, SIGUSR1);
  plain = 0;
  CHECK(pipe(pipe_ends) == 0 && sigaction(SIGTRAP, &step, NULL) == 0 && sigaction(SIGUSR1, &ends, NULL) == 0);
  CHECK(read_after_step(pipe_ends[0]) == -EINTR && plain == SIGUSR1);
  CHECK(read(pipe_ends[0], &byte, 1) == 1);
  CHECK(sigaction(SIGUSR1, &restarts, NULL) == 0);
  CHECK(read_after_step(pipe_ends[0]) == 1 && plain == 2 * SIGUSR1);
  CHECK(close(pipe_ends[0]) == 0 && close(pipe_ends[1]) == 0);
  CHECK(signal(SIGTRAP, SIG_DFL) != SIG_ERR && signal(SIGUSR1, SIG_DFL) == let_it_end);
}

/* A handler sets another action, while who has set it has not returned. */
static int sends;
static void* send(void* unused) {
  while (__atomic_load_n(&sends, __ATOMIC_ACQUIRE)) kill(getpid(), SIGUSR1);
  return unused;
}
static void ignore_more(int number) {
  plain = number;
  signal(number, SIG_IGN);
}

static void sets_another_in_its_handler(void) {
  enum { kTimes = 3000 };
  pthread_t sender;
  sigset_t all, mask;
  sigfillset(&all);
  CHECK(signal(SIGUSR1, SIG_IGN) == SIG_DFL && pthread_sigmask(SIG_BLOCK, &all, &mask) == 0);
  sends = 1;
  CHECK(pthread_create(&sender, NULL, send, NULL) == 0 && pthread_sigmask(SIG_SETMASK, &mask, NULL) == 0);
  for (int i = 0; i < kTimes; ++i) {
    struct sigaction now;
    plain = 0;
    CHECK(signal(SIGUSR1, ignore_more) == SIG_IGN);
    while (plain == 0) {
    }
    CHECK(sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == SIG_IGN);
  }
  __atomic_store_n(&sends, 0, __ATOMIC_RELEASE);
  CHECK(pthread_join(sender, NULL) == 0 && signal(SIGUSR1, SIG_DFL) == SIG_IGN);
}

/* Each of its threads sets one, and another: who is sent one finds either. */
static void by_many_threads(void) {
  enum { kTimes = 2000 };
  CHECK(signal(SIGUSR1, take_plain) == SIG_DFL);
  PRAGMA(omp parallel num_threads(4)) {
    for (int i = 0; i < kTimes; ++i) {
      struct sigaction now;
      const struct sigaction set = {.sa_handler = i % 2 == 0 ? take_other : take_plain};
      if (omp_get_thread_num() == 3) {
        CHECK(kill(getpid(), SIGUSR1) == 0);
        continue;
      }
      CHECK(sigaction(SIGUSR1, &set, &now) == 0);
      CHECK((now.sa_handler == take_plain || now.sa_handler == take_other) && (now.sa_flags & SA_SIGINFO) == 0);
    }
  }
  CHECK(signal(SIGUSR1, SIG_DFL) != SIG_ERR);
}

static void all(void) {
  is_told_what_it_has_set();
  is_called_once();
  may_be_put_back_as_the_kernel_had_it();
  may_be_chained_to();
  in_another_thread();
  in_children();
  is_called_as_by_the_kernel();
}

int main(void) {
  void* frames[1];
  backtrace(frames, 1); /* loads what it needs, which a handler could not */
  all();
  sets_another_in_its_handler();
  PRAGMA(omp parallel num_threads(2)) {
    PRAGMA(omp masked) {
      all();
      ends_a_call_that_is_begun_again();
    }
  }
  all();
  by_many_threads();
  all();
  return check_end();
}
