/* ticked.c: calls that wait in the kernel for some time, in threads that ticks of preemption meet: none is told EINTR, and none ends early.
 *
 *   ticked signal   without ticks: a signal that the program handles ends them
 */
#define _GNU_SOURCE
#include <errno.h>
#include <omp.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { kThreads = 6, kRounds = 15, kCalls = 11 };

struct Files {
  int nothing[2], set; /* a socket to which nobody writes */
  sem_t zero;
};

static struct Files open_files(void) {
  struct Files files;
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, files.nothing) == 0);
  files.set = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN};
  CHECK(epoll_ctl(files.set, EPOLL_CTL_ADD, files.nothing[0], &event) == 0);
  CHECK(sem_init(&files.zero, 0, 0) == 0);
  return files;
}

static void close_files(struct Files* files) {
  close(files->nothing[0]);
  close(files->nothing[1]);
  close(files->set);
  sem_destroy(&files->zero);
}

/* Nothing comes: 0, or the error that tells so. */
static int waits(int call, struct Files* files, long ms) {
  struct pollfd readable = {.fd = files->nothing[0], .events = POLLIN};
  struct timespec time = {ms / 1000, ms % 1000 * 1000000}, end;
  struct timeval limit = {ms / 1000, ms % 1000 * 1000};
  struct epoll_event event;
  struct iovec piece = {&event, sizeof event};
  struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
  sigset_t set;
  fd_set in;
  int result = -1;
  FD_ZERO(&in);
  FD_SET(files->nothing[0], &in);
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += time.tv_sec + (end.tv_nsec + time.tv_nsec) / 1000000000;
  end.tv_nsec = (end.tv_nsec + time.tv_nsec) % 1000000000;
  CHECK(setsockopt(files->nothing[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0);
  errno = 0;
  switch (call) {
    case 0: result = poll(&readable, 1, (int)ms); break;
    case 1: result = ppoll(&readable, 1, &time, NULL); break;
    case 2: result = select(files->nothing[0] + 1, &in, NULL, NULL, &limit); break;
    case 3: result = pselect(files->nothing[0] + 1, &in, NULL, NULL, &time, NULL); break;
    case 4: result = epoll_wait(files->set, &event, 1, (int)ms); break;
    case 5: result = epoll_pwait(files->set, &event, 1, (int)ms, NULL); break;
    case 6: result = epoll_pwait2(files->set, &event, 1, &time, NULL); break;
    case 7: result = sem_timedwait(&files->zero, &end); break;
    case 8: result = sigtimedwait(&set, NULL, &time); break;
    case 9: result = (int)recv(files->nothing[0], &event, 1, 0); break;
    case 10: result = (int)recvmsg(files->nothing[0], &message, 0); break;
  }
  return result == 0 ? 0 : errno;
}

static int what_tells(int call) { return call < 7 ? 0 : call == 7 ? ETIMEDOUT : EAGAIN; }

static void compute(double seconds) {
  for (const double end = omp_get_wtime() + seconds; omp_get_wtime() < end;) continue;
}

static void beside_ticks(void) {
  PRAGMA(omp parallel num_threads(kThreads)) {
    struct Files files = open_files();
    for (int round = 0; round < kRounds; ++round) {
      for (int call = 0; call < kCalls; ++call) {
        const double begin = omp_get_wtime();
        const int told = waits(call, &files, 3);
        if (told != what_tells(call)) fprintf(stderr, "call %d: %s\n", call, strerror(told));
        CHECK(told == what_tells(call));
        CHECK(omp_get_wtime() - begin >= 0.0029);
        compute(0.0005);
      }
    }
    close_files(&files);
  }
}

static int handled;
static void handle(int signal) {
  (void)signal;
  __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
}

static void ended_by_signals(void) {
  signal(SIGALRM, handle);
  PRAGMA(omp parallel num_threads(kThreads)) compute(0.001);
  struct Files files = open_files();
  for (int call = 0; call < kCalls; ++call) {
    const struct itimerval soon = {.it_value = {.tv_usec = 20000}};
    handled = 0;
    setitimer(ITIMER_REAL, &soon, NULL);
    CHECK(waits(call, &files, 10000) == EINTR);
    while (__atomic_load_n(&handled, __ATOMIC_RELAXED) == 0) usleep(2000); /* by another kernel thread, perhaps */
    CHECK(handled == 1);
  }
  close_files(&files);
}

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "signal") == 0) {
    ended_by_signals();
  } else {
    beside_ticks();
  }
  return check_end();
}
