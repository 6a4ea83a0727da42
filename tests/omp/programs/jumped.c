/* jumped.c: handlers that leave by siglongjmp(), of threads that spin, sleep, wait for their turn in pthread_sigmask(), or have called another
 * function of the C library's, and faults' on alternate stacks: the thread goes on as before, with the signal mask that the jump gives it, and
 * takes no signal that it has blocked. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

enum { kThreads = 6, kRounds = 60, kMaskRounds = 24 };

static __thread sigjmp_buf back;
static __thread volatile int jumps;
static int jumped, strayed;

static void jump(int signal) {
  (void)signal;
  if (jumps) {
    jumps = 0;
    siglongjmp(back, 1);
  }
  __atomic_fetch_add(&strayed, 1, __ATOMIC_RELAXED);
}

static void change(int how, int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  CHECK(pthread_sigmask(how, &set, NULL) == 0);
}

static int blocks(int signal) {
  sigset_t now;
  CHECK(pthread_sigmask(SIG_BLOCK, NULL, &now) == 0);
  return sigismember(&now, signal);
}

/* Until the handler has left by a jump to here. Sleeps that short are the ULT's own. */
static __attribute__((noinline)) void wait_for_jump(int* turn, int me, int sleeps) {
  if (sigsetjmp(back, 1) != 0) return;
  jumps = 1;
  __atomic_store_n(turn, me, __ATOMIC_RELEASE);
  change(SIG_UNBLOCK, SIGUSR1);
  for (volatile double number = 0;;) {
    number += 1;
    if (sleeps) usleep(200);
  }
}

static __attribute__((noinline)) void raise_and_jump(int saves) {
  if (sigsetjmp(back, saves) != 0) return;
  jumps = 1;
  change(SIG_UNBLOCK, SIGUSR2);
  raise(SIGUSR2);
  CHECK(!"come back from raise()");
}

/* In the kernel, or by a switch to another thread. */
static void meet(pthread_barrier_t* all, int in_kernel) {
  if (in_kernel) {
    pthread_barrier_wait(all);
  } else {
    sched_yield();
#pragma omp barrier
  }
}

/* Each in its turn opens the signal, and waits until it has come: to the thread, or to the process, of which no other one has it open. */
static void in_turns(int sleeps, int to_process, int in_kernel) {
  pthread_t threads[kThreads];
  pthread_barrier_t all;
  jumped = 0;
  pthread_barrier_init(&all, NULL, kThreads);
  int turn = -1;
#pragma omp parallel num_threads(kThreads)
  for (int i = 0; i < kRounds; ++i) {
    const int me = omp_get_thread_num();
    threads[me] = pthread_self();
    meet(&all, in_kernel);
    if (me == i % kThreads) {
      wait_for_jump(&turn, me, sleeps);
      __atomic_fetch_add(&jumped, 1, __ATOMIC_RELAXED);
      CHECK(blocks(SIGUSR1));
      __atomic_store_n(&turn, -1, __ATOMIC_RELEASE);
    } else if (me == (i + 1) % kThreads) {
      while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != i % kThreads) usleep(20);
      CHECK((to_process ? kill(getpid(), SIGUSR1) : pthread_kill(threads[i % kThreads], SIGUSR1)) == 0);
    }
    meet(&all, in_kernel);
  }
  CHECK(jumped == kRounds && strayed == 0);
  pthread_barrier_destroy(&all);
}

/* What the jump gives back, or leaves (without a mask: that of the handler), is what the thread has wherever it runs. */
static void keeps_its_mask(int saves) {
#pragma omp parallel num_threads(kThreads)
  for (int i = 0; i < kMaskRounds; ++i) {
    if (i % kThreads == omp_get_thread_num()) {
      change(SIG_BLOCK, SIGUSR2);
      raise_and_jump(saves);
    }
    for (int k = 0; k < 5; ++k) {
      CHECK(blocks(SIGUSR2) == (i % kThreads == omp_get_thread_num()));
      sched_yield();
#pragma omp barrier
      usleep(100);
    }
    change(SIG_UNBLOCK, SIGUSR2);
  }
  CHECK(strayed == 0);
}

/* Within a handler, which goes on: nothing has changed when that returns. */
static void jump_within(int signal) {
  jmp_buf here;
  sigjmp_buf there;
  (void)signal;
  volatile int times = 0;
  if (setjmp(here) < 1) longjmp(here, 1);
  if (sigsetjmp(there, 1) < 2) siglongjmp(there, ++times);
  CHECK(times == 2);
  __atomic_fetch_add(&jumped, 1, __ATOMIC_RELAXED);
}

static void within_a_handler(void) {
  jumped = 0;
#pragma omp parallel num_threads(kThreads)
  for (int i = 0; i < 10; ++i) {
    raise(SIGALRM);
    CHECK(!blocks(SIGALRM));
    sched_yield();
#pragma omp barrier
    CHECK(!blocks(SIGALRM));
  }
  CHECK(jumped == 10 * kThreads);
}

/* The C library's siglongjmp() where programs are fortified: it asks whether the jump leads out of an alternate stack. */
extern void __longjmp_chk(struct __jmp_buf_tag* target, int value) __attribute__((noreturn));

static void jump_checked(int signal) {
  (void)signal;
  __longjmp_chk(back, 1);
}

static __attribute__((noinline)) void fault_and_jump(char* nothing) {
  if (sigsetjmp(back, 1) == 0) *nothing = 1;
}

/* Stacks that lie above the threads' own, and below them. */
static void off_alternate_stacks(char* nothing, char* above) {
  enum { kBytes = 64 << 10 };
  char* below = mmap(NULL, kThreads * kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(below != MAP_FAILED);
#pragma omp parallel num_threads(kThreads)
  for (int i = 0; i < 10; ++i) {
    stack_t stack;
    memset(&stack, 0, sizeof stack);
    stack.ss_sp = (i % 2 ? above : below) + omp_get_thread_num() * kBytes;
    stack.ss_size = kBytes;
    CHECK(sigaltstack(&stack, NULL) == 0);
    fault_and_jump(nothing);
    CHECK(!blocks(SIGSEGV));
    sched_yield();
    stack.ss_flags = SS_DISABLE;
    CHECK(sigaltstack(&stack, NULL) == 0);
  }
}

/* A fault of Weft's own, at an address that it was given. */
static __attribute__((noinline)) void fault_inside(int (*set)(void*), char* nothing) {
  if (sigsetjmp(back, 1) == 0) set(nothing);
}

static void out_of_faults_inside(char* nothing) {
  int (*set)(void*);
  *(void**)&set = dlsym(RTLD_DEFAULT, "weft_event_set");
  if (set == NULL) return; /* it runs on another runtime */
#pragma omp parallel num_threads(kThreads)
  for (int i = 0; i < 10; ++i) {
    fault_inside(set, nothing);
    CHECK(!blocks(SIGSEGV));
#pragma omp barrier
    usleep(100);
  }
}

int main(void) {
  char* nothing = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char* above = mmap(NULL, kThreads * (64 << 10), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(nothing != MAP_FAILED && above != MAP_FAILED);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = jump;
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  change(SIG_BLOCK, SIGUSR1); /* in all threads */
  for (int sleeps = 0; sleeps < 2; ++sleeps) {
    for (int on_stack = 0; on_stack < 2; ++on_stack) {
      action.sa_flags = on_stack ? SA_ONSTACK : 0;
      CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
      for (int to_process = 0; to_process < 2; ++to_process) {
        in_turns(sleeps, to_process, 1);
        in_turns(sleeps, to_process, 0);
      }
    }
  }
  for (int on_stack = 0; on_stack < 2; ++on_stack) {
    action.sa_flags = on_stack ? SA_ONSTACK : 0;
    CHECK(sigaction(SIGUSR2, &action, NULL) == 0);
    keeps_its_mask(1);
    keeps_its_mask(0);
  }
  action.sa_handler = jump_within;
  CHECK(sigaction(SIGALRM, &action, NULL) == 0);
  within_a_handler();
  action.sa_handler = jump_checked;
  action.sa_flags = SA_ONSTACK;
  CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
  off_alternate_stacks(nothing, above);
  out_of_faults_inside(nothing);
  return check_end();
}
