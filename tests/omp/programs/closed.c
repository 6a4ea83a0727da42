/* closed.c: what a daemon does: it closes all files that it does not know, some of which are the runtime's, and opens its own, which get
 * the same numbers. They stay its own. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { kFiles = 60 };

static struct stat opened[kFiles];
static int files[kFiles];

/* Long enough for the runtime to see who blocks. */
static void region(int n, double seconds) {
  const double end = omp_get_wtime() + seconds;
#pragma omp parallel num_threads(n)
  while (omp_get_wtime() < end) usleep(200);
}

static void close_all_and_open(void) {
  syscall(SYS_close_range, 3u, ~0u, 0u);
  for (int i = 0; i < kFiles; ++i) {
    files[i] = open("/dev/zero", O_RDONLY);
    CHECK(files[i] >= 3 && fstat(files[i], &opened[i]) == 0);
  }
}

static void check_files(void) {
  for (int i = 0; i < kFiles; ++i) {
    struct stat now;
    char byte = 1;
    CHECK(fstat(files[i], &now) == 0 && now.st_rdev == opened[i].st_rdev && now.st_ino == opened[i].st_ino);
    CHECK(read(files[i], &byte, 1) == 1 && byte == 0);
  }
}

static int status_of(pid_t child) {
  int status = 0;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  return status;
}

/* Its threads take the place of the parent's. */
static int child(int close_here) {
  if (close_here) close_all_and_open();
  region(4, 0.2);
  region(16, 0.05);
  check_files();
  return check_failures != 0;
}

/* The kernel's table of files has room for the runtime's before there is a second thread. Later the kernel takes 10 to 35 ms to make it larger, in
 * which a file of the runtime's has a number from where it is to be moved away. */
static void check_room(void) {
  FILE* status = fopen("/proc/self/status", "r");
  char line[256];
  int room = 0;
  CHECK(status != NULL);
  if (status == NULL) return;
  while (fgets(line, sizeof line, status) != NULL) sscanf(line, "FDSize:%d", &room);
  CHECK(room > 768);
  fclose(status);
}

int main(void) {
  check_room();
  region(4, 0.2);
  close_all_and_open();
  pid_t pid = fork();
  if (pid == 0) _exit(child(0));
  CHECK(status_of(pid) == 0);
  pid = fork();
  if (pid == 0) _exit(child(1));
  CHECK(status_of(pid) == 0);
  region(16, 0.1);
  check_files();
  return check_end();
}
