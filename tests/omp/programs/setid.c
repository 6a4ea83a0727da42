/* setid.c: a program that gives up rights after regions, as services do: setuid() and its kin reach every thread, from main, from a team's threads
 * and from a thread of the program's own, while others compute; and in a child.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { kThreads = 8, kNobody = 65534 };

static int threads_of_team(void) {
  int n = 0;
  PRAGMA(omp parallel num_threads(kThreads) reduction(+ : n))
  n += 1;
  return n;
}

/* Not beside a sanitizer, which stands in the same place. */
static int weft_stands_before(void) {
  Dl_info info;
  void* there = dlsym(RTLD_DEFAULT, "setegid");
  return there != NULL && dladdr(there, &info) != 0 && strstr(info.dli_fname, "weft") != NULL;
}

/* How many threads of the process have another effective group; a thread that ends meanwhile has none. */
static int threads_with_another(gid_t group) {
  int others = 0;
  DIR* tasks = opendir("/proc/self/task");
  for (struct dirent* task; (task = readdir(tasks)) != NULL;) {
    char path[300], line[200];
    snprintf(path, sizeof path, "/proc/self/task/%s/status", task->d_name);
    FILE* status = task->d_name[0] != '.' ? fopen(path, "r") : NULL;
    if (status == NULL) continue;
    unsigned real, effective;
    while (fgets(line, sizeof line, status) != NULL)
      if (sscanf(line, "Gid: %u %u", &real, &effective) == 2) others += effective != group;
    fclose(status);
  }
  closedir(tasks);
  return others;
}

static void to_whom_we_are(void) {
  CHECK(setgid(getgid()) == 0);
  CHECK(setuid(getuid()) == 0);
  CHECK(setegid(getegid()) == 0 && seteuid(geteuid()) == 0);
  CHECK(setregid(-1, getegid()) == 0 && setreuid(-1, geteuid()) == 0);
  CHECK(setresgid(-1, -1, -1) == 0 && setresuid(-1, -1, -1) == 0);
  errno = 0;
  CHECK(seteuid(-1) == -1 && errno == EINVAL);
}

static void in_a_team(void) {
  static atomic_int done;
  atomic_store(&done, 0);
  PRAGMA(omp parallel num_threads(kThreads)) {
    if (omp_get_thread_num() % 3 == 0) {
      for (int i = 0; i < 2; ++i) to_whom_we_are();
      atomic_fetch_add(&done, 1);
    } else {
      while (atomic_load(&done) < 1) continue;
    }
  }
}

static void* in_a_thread(void* arg) {
  for (int i = 0; i < 2; ++i) to_whom_we_are();
  CHECK(threads_of_team() == kThreads);
  to_whom_we_are();
  return arg;
}

/* As root only, and not where the system knows no other group (a user namespace) or allows none (a container). */
static void give_up_and_take_back(void) {
  const gid_t root = getegid();
  if (setegid(kNobody) != 0) {
    CHECK(errno == EPERM || errno == EINVAL);
    puts("no other group is to be had here: not tried");
    return;
  }
  CHECK(getegid() == kNobody);
  if (weft_stands_before()) CHECK(threads_with_another(kNobody) == 0);
  CHECK(threads_of_team() == kThreads);
  CHECK(setegid(root) == 0);
  if (weft_stands_before()) CHECK(threads_with_another(root) == 0);
  gid_t groups[256];
  const int count = getgroups(256, groups);
  CHECK(count >= 0);
  if (initgroups("nobody", root) == 0) {
    CHECK(setgroups((size_t)count, groups) == 0);
  } else {
    CHECK(errno == EPERM);
  }
}

static void in_a_child(void) {
  const pid_t child = fork();
  if (child == 0) {
    to_whom_we_are();
    CHECK(threads_of_team() == kThreads);
    to_whom_we_are();
    in_a_team();
    _exit(check_failures != 0);
  }
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(void) {
  to_whom_we_are();
  CHECK(threads_of_team() == kThreads);
  to_whom_we_are();
  in_a_team();
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, in_a_thread, NULL) == 0);
  in_a_team();
  CHECK(pthread_join(thread, NULL) == 0);
  if (geteuid() == 0) give_up_and_take_back();
  in_a_child();
  to_whom_we_are();
  return check_end();
}
