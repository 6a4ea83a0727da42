/* filtered.c: a program that filters system calls for all of its threads, Weft's among them, and whose handler answers in the kernel's place, as
 * sandboxes do: nobody may open a file. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <omp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "check.h"

enum { kThreads = 8, kRounds = 20 };

static void answer(int number, siginfo_t* info, void* context) {
  (void)number, (void)info;
  ((ucontext_t*)context)->uc_mcontext.gregs[REG_RAX] = -EACCES;
}

static int filter(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_open, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {sizeof code / sizeof *code, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
}

static void sleep_and_open(int threads) {
  PRAGMA(omp parallel num_threads(threads))
  for (int i = 0; i < kRounds; ++i) {
    usleep(2000);
    errno = 0;
    CHECK(open("/dev/null", O_RDONLY) == -1 && errno == EACCES);
    PRAGMA(omp barrier)
  }
}

int main(int argc, char** argv) {
  (void)argv;
  const struct sigaction action = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO};
  CHECK(sigaction(SIGSYS, &action, NULL) == 0);
  if (argc == 1) {
    PRAGMA(omp parallel num_threads(kThreads))
    usleep(2000);
  }
  CHECK(filter() == 0);
  sleep_and_open(kThreads);
  sleep_and_open(2 * kThreads);
  return check_end();
}
