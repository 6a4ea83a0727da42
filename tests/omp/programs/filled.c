/* filled.c: a write() that waits for room in a pipe or a socket writes all that it is given, though ticks interrupt it; and a part where a handler
 * of the program's has run. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { kBytes = 1 << 20, kTimes = 24, kParts = 5 };

static char* bytes;
static int over;

/* Main's worker is wanted by others. */
static void* compute(void* unused) {
  while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
    PRAGMA(omp parallel num_threads(3)) {
      const double end = omp_get_wtime() + 0.001;
      while (omp_get_wtime() < end) {
      }
    }
  }
  return unused;
}

/* In the child: until the end, slowly. */
static void read_all(int from) {
  static char some[1 << 16];
  size_t at = 0;
  for (;;) {
    const ssize_t n = read(from, some, sizeof some);
    if (n < 0) _exit(2);
    if (n == 0) _exit(at == (size_t)2 * kTimes * kBytes ? 0 : 3);
    for (ssize_t i = 0; i < n; ++i, ++at) {
      if (some[i] != (char)(at % kBytes * 7)) _exit(4);
    }
    usleep(200);
  }
}

static pid_t read_in_child(int* ends) {
  const pid_t reader = fork();
  if (reader == 0) {
    close(ends[1]);
    read_all(ends[0]);
  }
  CHECK(reader > 0 && close(ends[0]) == 0);
  return reader;
}

static void child_has_read_all(pid_t reader) {
  int status = 0;
  CHECK(waitpid(reader, &status, 0) == reader && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void writes_all(void) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  const pid_t reader = read_in_child(ends);
  struct iovec parts[kParts] = {{bytes, 10}, {bytes + 10, 300000}, {bytes + 300010, 0}, {bytes + 300010, 90}, {bytes + 300100, kBytes - 300100}};
  for (int i = 0; i < kTimes; ++i) {
    errno = 7;
    CHECK(write(ends[1], bytes, kBytes) == kBytes);
    CHECK(writev(ends[1], parts, kParts) == kBytes);
    CHECK(errno == 7);
  }
  CHECK(close(ends[1]) == 0);
  child_has_read_all(reader);
}

static void sends_all(void) {
  int ends[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  const pid_t reader = read_in_child(ends);
  for (int i = 0; i < kTimes; ++i) {
    CHECK(send(ends[1], bytes, kBytes, 0) == kBytes);
    CHECK(write(ends[1], bytes, kBytes) == kBytes);
  }
  CHECK(close(ends[1]) == 0);
  child_has_read_all(reader);
}

static volatile int handled;
static void note(int number) {
  (void)number;
  handled = handled + 1;
}

static void a_handler_ends_it(void) {
  enum { kRoom = 1 << 16, kRounds = 20 };
  static char some[kRoom];
  int ends[2];
  const struct sigaction ends_calls = {.sa_handler = note};
  const struct itimerval soon = {.it_value = {.tv_usec = 20000}};
  struct iovec parts[2] = {{bytes, kRoom / 2}, {bytes, kBytes}};
  CHECK(pipe(ends) == 0 && sigaction(SIGALRM, &ends_calls, NULL) == 0);
  for (int i = 0; i < kRounds; ++i) {
    handled = 0;
    CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
    const ssize_t n = i % 2 == 0 ? write(ends[1], bytes, kBytes) : writev(ends[1], parts, 2);
    CHECK(n == kRoom && handled == 1);
    CHECK(read(ends[0], some, kRoom) == kRoom);
  }
  CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
}

static void errors_are_told(void) {
  int ends[2];
  struct iovec part = {bytes, 10};
  errno = 0;
  CHECK(write(-1, bytes, 10) == -1 && errno == EBADF);
  errno = 0;
  CHECK(writev(-1, &part, 1) == -1 && errno == EBADF);
  CHECK(pipe2(ends, O_NONBLOCK) == 0 && write(ends[1], bytes, kBytes) > 0);
  errno = 0;
  CHECK(write(ends[1], bytes, kBytes) == -1 && errno == EAGAIN);
  CHECK(close(ends[0]) == 0 && signal(SIGPIPE, SIG_IGN) == SIG_DFL);
  errno = 0;
  CHECK(write(ends[1], bytes, 1) == -1 && errno == EPIPE);
  CHECK(close(ends[1]) == 0 && signal(SIGPIPE, SIG_DFL) == SIG_IGN);
}

int main(void) {
  pthread_t other;
  sigset_t all, before;
  bytes = malloc(kBytes);
  for (size_t i = 0; i < kBytes; ++i) bytes[i] = (char)(i * 7);
  sigfillset(&all);
  CHECK(pthread_sigmask(SIG_BLOCK, &all, &before) == 0);
  CHECK(pthread_create(&other, NULL, compute, NULL) == 0);
  CHECK(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
  PRAGMA(omp parallel num_threads(2)) {
    PRAGMA(omp barrier)
  }
  writes_all();
  sends_all();
  a_handler_ends_it();
  errors_are_told();
  __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
  CHECK(pthread_join(other, NULL) == 0);
  free(bytes);
  return check_end();
}
