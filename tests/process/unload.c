/* unload.c: libweft.so is loaded by dlopen(), used, and closed: with and without weft_finalize() before.
 *
 * usage: unload LIBWEFT
 */
#include <dirent.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/weft.h>

static void check(int condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "unload: %s\n", what);
  exit(1);
}

static int entries(const char* folder) {
  int n = 0;
  DIR* dir = opendir(folder);
  check(dir != NULL, folder);
  while (readdir(dir) != NULL) ++n;
  closedir(dir);
  return n;
}

static struct {
  void* library;
  int (*initialize)(const weft_options_t*);
  int (*finalize)(void);
  bool (*initialized)(void);
  int (*ult_create)(weft_fn, void*, const weft_unit_attr_t*, weft_unit_t*);
  int (*free)(weft_unit_t*);
} weft;

static void load(const char* path) {
  weft.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (weft.library == NULL) fprintf(stderr, "%s\n", dlerror());
  check(weft.library != NULL, "dlopen");
  weft.initialize = (int (*)(const weft_options_t*))dlsym(weft.library, "weft_initialize");
  weft.finalize = (int (*)(void))dlsym(weft.library, "weft_finalize");
  weft.initialized = (bool (*)(void))dlsym(weft.library, "weft_initialized");
  weft.ult_create =
      (int (*)(weft_fn, void*, const weft_unit_attr_t*, weft_unit_t*))dlsym(weft.library, "weft_ult_create");
  weft.free = (int (*)(weft_unit_t*))dlsym(weft.library, "weft_free");
  check(weft.initialize && weft.finalize && weft.initialized && weft.ult_create && weft.free, "dlsym");
}

static void increment(void* count) { ++*(int*)count; }

static void use(void) {
  int count = 0;
  weft_unit_t units[50];
  for (int i = 0; i < 50; ++i) {
    check(weft.ult_create(increment, &count, NULL, &units[i]) == WEFT_OK, "create");
    check(weft.free(&units[i]) == WEFT_OK, "free");
  }
  check(count == 50, "all have run");
}

static void start(void) {
  weft_options_t options = {0};
  options.workers = 2;
  check(weft.initialize(&options) == WEFT_OK, "weft_initialize");
  use();
}

static void check_nothing_left(void) {
  struct sigaction action;
  check(sigaction(SIGSEGV, NULL, &action) == 0 && action.sa_handler == SIG_DFL, "the handler of SIGSEGV is back");
  check(sigaction(SIGBUS, NULL, &action) == 0 && action.sa_handler == SIG_DFL, "the handler of SIGBUS is back");
  stack_t stack;
  check(sigaltstack(NULL, &stack) == 0 && (stack.ss_flags & SS_DISABLE) != 0, "no signal stack is left");
}

/* A child whose parent has closed the library: what Weft does round a fork() must still be there. */
static void fork_once(int uses) {
  const pid_t child = fork();
  check(child >= 0, "fork");
  if (child == 0) {
    if (uses) use();
    _exit(0);
  }
  int status = 0;
  check(waitpid(child, &status, 0) == child && status == 0, "the child's end");
}

int main(int argc, char** argv) {
  check(argc == 2, "the library, please");
  int threads = 0, files = 0;
  for (int i = 0; i < 200; ++i) {
    load(argv[1]);
    check(!weft.initialized(), "it does not run yet");
    start();
    check(weft.finalize() == WEFT_OK, "weft_finalize");
    check(dlclose(weft.library) == 0, "dlclose");
    check_nothing_left();
    if (i % 50 == 0) fork_once(0);
    if (i == 10) threads = entries("/proc/self/task"), files = entries("/proc/self/fd");
  }
  check(entries("/proc/self/task") == threads, "no thread is left");
  check(entries("/proc/self/fd") == files, "no file is left");

  /* Closed while it runs: its workers go on, and so does the primary ULT, which is this function. */
  load(argv[1]);
  start();
  check(dlclose(weft.library) == 0, "dlclose while it runs");
  use();
  fork_once(1);
  load(argv[1]);
  check(weft.initialized(), "opened again it runs still");
  use();
  check(weft.finalize() == WEFT_OK, "weft_finalize after all");
  check(dlclose(weft.library) == 0, "last dlclose");
  check_nothing_left();
  puts("ok");
  return 0;
}
