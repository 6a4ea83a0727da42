/* constructed.c: the first region of a process, and the first thread that sleeps, in the constructor of a library that is loaded by
 * dlopen(). Whoever loads has the loader's lock meanwhile.
 *
 * usage: constructed LIBRARY   (constructor.c as a shared library)
 */
#include <dlfcn.h>
#include <omp.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static int loads(const char* library) {
  alarm(20);
  void* handle = dlopen(library, RTLD_NOW);
  const int* done = handle != NULL ? dlsym(handle, "done") : NULL;
  if (done == NULL || !*done) return 1;
  int come = 0;
#pragma omp parallel num_threads(3) reduction(+ : come)
  come++;
  return come != 3;
}

static void in_child(const char* what, const char* library) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("WHAT", what, 1);
    exit(loads(library));
  }
  int status = 1;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  if (status != 0) fprintf(stderr, "%s: status 0x%x\n", what, status);
  CHECK(status == 0);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  in_child("regions", argv[1]);
  in_child("threads", argv[1]);
  in_child("regions in a thread", argv[1]);
  return check_end();
}
