/* process.c: fork() after regions and inside of one, exec(), regions in children, the ways to end, dlclose().
 *
 * usage: process LIBRARY   (library.c as a shared library)
 */
#include <ctype.h>
#include <dlfcn.h>
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static int counter;
#pragma omp threadprivate(counter)

static int region(int n) {
  int come = 0;
#pragma omp parallel num_threads(n) reduction(+ : come)
  {
    counter++;
#pragma omp single
    for (int i = 0; i < 10; ++i) {
#pragma omp task
      __asm__ volatile("" ::: "memory");
    }
    come++;
  }
  return come;
}

static int status_of(pid_t child) {
  int status = 0;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void* a_region(void* n) { return (void*)(long)region((int)(long)n); }

static int region_in_thread(int n) {
  pthread_t thread;
  void* come = NULL;
  CHECK(pthread_create(&thread, NULL, a_region, (void*)(long)n) == 0 && pthread_join(thread, &come) == 0);
  return (int)(long)come;
}

/* What multiprocessing does: several children at a time, each of which opens regions, and has children too. */
static int child(int depth) {
  for (int n = 1; n < 6; ++n) {
    if (region(n) != n) return 1;
  }
  if (region_in_thread(3) != 3) return 2;
  if (depth > 0) {
    const pid_t inner = fork();
    if (inner == 0) _exit(child(depth - 1));
    if (region(4) != 4 || status_of(inner) != 0) return 3;
  }
  return 0;
}

static void children(void) {
  pid_t pids[4];
  for (int i = 0; i < 4; ++i) {
    pids[i] = fork();
    if (pids[i] == 0) {
      if (i % 2) exit(child(1)); /* with all that is done at the end */
      _exit(child(1));
    }
  }
  for (int i = 0; i < 10; ++i) CHECK(region(3) == 3);
  for (int i = 0; i < 4; ++i) CHECK(status_of(pids[i]) == 0);
}

/* Threads of a region fork at the same time, and each child goes on as the thread that it was. */
static void children_of_threads(int n) {
  for (int i = 0; i < 10; ++i) {
#pragma omp parallel num_threads(n)
    {
      const pid_t pid = fork();
      if (pid == 0) _exit(region(4) == 1 && region_in_thread(3) == 3 ? 0 : 5); /* nested, and another root */
      CHECK(status_of(pid) == 0);
    }
  }
}

/* The runtime is there, but none of its threads has begun yet. */
static int before_any_region(void) {
  volatile int letter = 'x'; /* its kind stands in a table that thread-local storage leads to */
  omp_set_num_threads(3);
  const pid_t pid = fork();
  if (pid == 0) _exit(isalpha(letter) && omp_get_max_threads() == 3 ? child(1) : 4);
  return status_of(pid);
}

static void* children_of_thread(void* unused) {
  CHECK(region(3) == 3);
  children();
  return unused;
}

static void ends(const char* self) {
  const char* ways[] = {"single", "task", "master", "thread", "quick", "abort", "main"};
  const int wanted[] = {41, 42, 43, 44, 45, -6, -6};
  for (int i = 0; i < 7; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      execl(self, self, "--end", ways[i], (char*)NULL);
      _exit(100);
    }
    const int is = status_of(pid);
    if (is != wanted[i]) fprintf(stderr, "end in %s: %d\n", ways[i], is);
    CHECK(is == wanted[i]);
  }
}

static void* end_here(void* unused) {
#pragma omp parallel num_threads(3)
  {
#pragma omp single
    exit(44);
  }
  return unused;
}

static int at_end = 0;
static void check_at_end(void) {
  at_end++;
  if (at_end != 1) _exit(90);
}

static void end_by(const char* way) {
  atexit(check_at_end);
  region(2);
  if (strcmp(way, "main") == 0) pthread_exit(NULL); /* it is a ULT: refused, and told on standard error */
  if (strcmp(way, "thread") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, end_here, NULL);
    pthread_join(thread, NULL);
  }
#pragma omp parallel num_threads(4)
  {
    if (strcmp(way, "master") == 0) {
#pragma omp master
      exit(43);
    }
#pragma omp single
    {
      if (strcmp(way, "single") == 0) exit(41);
#pragma omp task
      {
        if (strcmp(way, "task") == 0) exit(42);
        if (strcmp(way, "quick") == 0) _exit(45);
        if (strcmp(way, "abort") == 0) abort();
      }
    }
#pragma omp barrier
    while (1) usleep(1000); /* until the process ends */
  }
}

static void inside_a_region(void) {
#pragma omp parallel num_threads(3)
#pragma omp single
  {
    const pid_t pid = fork();
    if (pid == 0) {
      execl("/bin/sh", "sh", "-c", "exit 7", (char*)NULL);
      _exit(100);
    }
    CHECK(status_of(pid) == 7);
    CHECK(WEXITSTATUS(system("exit 5")) == 5);
  }
}

/* The runtime stays, and so do its threads. */
static void unloaded(const char* path) {
  for (int i = 0; i < 5; ++i) {
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) fprintf(stderr, "%s\n", dlerror());
    CHECK(library != NULL);
    int (*come)(int) = (int (*)(int))dlsym(library, "come");
    CHECK(come != NULL && come(4) == 4 && come(2) == 2);
    CHECK(dlclose(library) == 0);
    CHECK(region(3) == 3);
  }
}

/* A child that neither the C library nor Weft has been told of; it ends as any process does. Not with a tool: that has its own end, in
 * which it looks for the parent's threads.
 */
static void bare_child(void) {
  if (getenv("OMP_TOOL_LIBRARIES") != NULL) return;
  usleep(30000); /* all that the first region leaves for later is there */
  const pid_t child = (pid_t)syscall(SYS_fork);
  if (child == 0) exit(7);
  CHECK(status_of(child) == 7);
}

/* clang's program asks for its thread's number once, where the function begins: it is the same in the child. */
static void* fork_between(void* none) {
  (void)none;
  const pid_t pid = fork();
  for (int i = 0; i < 3; ++i) {
    int come = 0;
#pragma omp parallel num_threads(3) reduction(+ : come)
    come++;
    if (pid == 0 && come != 3) _exit(1);
    CHECK(come == 3);
  }
  if (pid == 0) _exit(0);
  CHECK(status_of(pid) == 0);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc == 3 && strcmp(argv[1], "--end") == 0) {
    end_by(argv[2]);
    return 99;
  }
  if (argc != 2) return 2;
  CHECK(before_any_region() == 0);
  children(); /* of a process that has opened no region yet */
  unloaded(argv[1]);
  CHECK(region(4) == 4);
  bare_child();
  children();
  inside_a_region();
  children_of_threads(2);
  children_of_threads(5);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, children_of_thread, NULL) == 0 && pthread_join(thread, NULL) == 0);
  CHECK(pthread_create(&thread, NULL, fork_between, NULL) == 0 && pthread_join(thread, NULL) == 0);
  children();
  ends(argv[0]);
  CHECK(region(4) == 4);
  return check_end();
}
