/* ticked.c: calls that wait in the kernel for some time, in threads that ticks of preemption meet: none is told EINTR, and none ends early.
 *
 *   ticked signal   without ticks: a signal that the program handles ends them
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <omp.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { kThreads = 6, kRounds = 15, kTimed = 19, kCalls = 22, kMessages = 100 };

struct Message {
  long type, number;
};

struct Files {
  int nothing[2], set; /* a socket to which nobody writes */
  int full[2];         /* one from which nobody reads */
  int listening, waiting[2]; /* one to which nobody connects; the first of these does not accept the other, nor a third */
  int far[2];                /* the same by TCP; -1: there is none here */
  int semaphore, queue;
  sem_t zero;
};

/* Connections that wait: none, or one. */
static int listens(int most) {
  const struct sockaddr_un any = {.sun_family = AF_UNIX};
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  CHECK(bind(fd, (const struct sockaddr*)&any, sizeof any.sun_family) == 0);
  CHECK(listen(fd, most) == 0);
  return fd;
}

static int connects(int fd, int listening) {
  struct sockaddr_un to;
  socklen_t size = sizeof to;
  CHECK(getsockname(listening, (struct sockaddr*)&to, &size) == 0);
  return connect(fd, (const struct sockaddr*)&to, size);
}

static int connects_far(int fd, int listening) {
  struct sockaddr_in to;
  socklen_t size = sizeof to;
  CHECK(getsockname(listening, (struct sockaddr*)&to, &size) == 0);
  return connect(fd, (const struct sockaddr*)&to, size);
}

static void open_far(int far[2]) {
  const struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  far[0] = socket(AF_INET, SOCK_STREAM, 0);
  far[1] = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(far[0], (const struct sockaddr*)&any, sizeof any) == 0 && listen(far[0], 0) == 0 && connects_far(far[1], far[0]) == 0) return;
  close(far[0]);
  close(far[1]);
  far[0] = far[1] = -1;
}

static int new_queue(void) {
  const int queue = msgget(IPC_PRIVATE, 0600);
  struct msqid_ds all;
  CHECK(queue != -1 && msgctl(queue, IPC_STAT, &all) == 0);
  all.msg_qbytes = sizeof(long);
  CHECK(msgctl(queue, IPC_SET, &all) == 0);
  return queue;
}

static struct Files open_files(void) {
  struct Files files;
  char byte = 0;
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, files.nothing) == 0);
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, files.full) == 0);
  while (send(files.full[0], &byte, 1, MSG_DONTWAIT) == 1) continue;
  files.listening = listens(1);
  files.waiting[0] = listens(0);
  files.waiting[1] = socket(AF_UNIX, SOCK_STREAM, 0);
  CHECK(connects(files.waiting[1], files.waiting[0]) == 0);
  open_far(files.far);
  files.semaphore = semget(IPC_PRIVATE, 1, 0600);
  files.queue = new_queue();
  files.set = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN};
  CHECK(epoll_ctl(files.set, EPOLL_CTL_ADD, files.nothing[0], &event) == 0);
  CHECK(sem_init(&files.zero, 0, 0) == 0);
  return files;
}

static void close_files(struct Files* files) {
  for (int i = 0; i < 2; ++i) {
    close(files->nothing[i]);
    close(files->full[i]);
    close(files->waiting[i]);
    if (files->far[i] != -1) close(files->far[i]);
  }
  close(files->listening);
  close(files->set);
  sem_destroy(&files->zero);
  semctl(files->semaphore, 0, IPC_RMID);
  msgctl(files->queue, IPC_RMID, NULL);
}

/* Nothing comes: 0, or the error that tells so. The last ones know no limit. */
static int waits(int call, struct Files* files, long ms) {
  struct pollfd readable = {.fd = files->nothing[0], .events = POLLIN};
  struct timespec time = {ms / 1000, ms % 1000 * 1000000}, end;
  struct timeval limit = {ms / 1000, ms % 1000 * 1000};
  struct epoll_event event;
  struct iovec piece = {&event, 1};
  struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
  struct sembuf less = {.sem_op = -1};
  struct Message some = {1, 0};
  const int third = socket(call == 17 ? AF_INET : AF_UNIX, SOCK_STREAM, 0);
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
  CHECK(setsockopt(files->listening, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0);
  CHECK(setsockopt(files->full[0], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == 0);
  CHECK(setsockopt(third, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == 0);
  memset(&event, 0, sizeof event);
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
    case 11: result = (int)send(files->full[0], &event, 1, 0); break;
    case 12: result = (int)sendto(files->full[0], &event, 1, 0, NULL, 0); break;
    case 13: result = (int)sendmsg(files->full[0], &message, 0); break;
    case 14: result = accept(files->listening, NULL, NULL); break;
    case 15: result = accept4(files->listening, NULL, NULL, SOCK_CLOEXEC); break;
    case 16: result = connects(third, files->waiting[0]); break;
    case 17: result = connects_far(third, files->far[0]); break;
    case 18: result = semtimedop(files->semaphore, &less, 1, &time); break;
    case 19: result = semop(files->semaphore, &less, 1); break;
    case 20: result = (int)msgrcv(files->queue, &some, sizeof some.number, 0, 0); break;
    case 21:
      msgsnd(files->queue, &some, sizeof some.number, 0);
      result = msgsnd(files->queue, &some, sizeof some.number, 0);
      break;
  }
  const int error = errno;
  close(third);
  return result == 0 ? 0 : error;
}

static int what_tells(int call) { return call < 7 ? 0 : call == 7 ? ETIMEDOUT : call == 17 ? EINPROGRESS : EAGAIN; }

/* The kernel counts what is left of a socket's limit in jiffies of up to 10 ms, and a signal in the last one ends the call. */
static int is_a_sockets(int call) { return call >= 9 && call <= 17; }

static void compute(double seconds) {
  for (const double end = omp_get_wtime() + seconds; omp_get_wtime() < end;) continue;
}

static void beside_ticks(void) {
  PRAGMA(omp parallel num_threads(kThreads)) {
    struct Files files = open_files();
    for (int round = 0; round < kRounds; ++round) {
      for (int call = 0; call < kTimed; ++call) {
        if ((is_a_sockets(call) && round % 5 != 0) || (call == 17 && files.far[0] == -1)) continue;
        const double begin = omp_get_wtime();
        const int told = waits(call, &files, is_a_sockets(call) ? 24 : 3);
        const double took = omp_get_wtime() - begin, least = is_a_sockets(call) ? 0.0139 : 0.0029;
        if (told != what_tells(call) || took < least) fprintf(stderr, "call %d: %s, %.6f s\n", call, strerror(told), took);
        CHECK(told == what_tells(call));
        CHECK(took >= least);
        compute(0.0005);
      }
    }
    close_files(&files);
  }
}

/* One has sent all that the other one receives, and has heard that it was received. */
static void beside_ticks_without_limit(void) {
  struct Files files[kThreads / 2];
  for (int i = 0; i < kThreads / 2; ++i) files[i] = open_files();
  PRAGMA(omp parallel num_threads(kThreads)) {
    const int me = omp_get_thread_num();
    const struct Files* mine = &files[me / 2];
    for (long i = 0; i < kMessages; ++i) {
      struct Message message = {1, i};
      struct sembuf change = {.sem_op = me % 2 == 0 ? -1 : 1};
      if (me % 2 == 0) {
        CHECK(msgsnd(mine->queue, &message, sizeof message.number, 0) == 0);
        if (i % 8 == 7) CHECK(semop(mine->semaphore, &change, 1) == 0);
      } else {
        CHECK(msgrcv(mine->queue, &message, sizeof message.number, 0, 0) == sizeof message.number);
        CHECK(message.number == i);
        if (i % 16 > 8) compute(0.0005);
        if (i % 8 == 7) CHECK(semop(mine->semaphore, &change, 1) == 0);
      }
      if (me % 2 == 0 && i % 16 < 8) compute(0.0005);
    }
  }
  for (int i = 0; i < kThreads / 2; ++i) close_files(&files[i]);
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
    if (call == 17 && files.far[0] == -1) continue;
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
    beside_ticks_without_limit();
  }
  return check_end();
}
