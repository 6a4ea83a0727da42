/* weakly.c: a program without OpenMP loads a library that has it and one that refers to it weakly. In a region the first is told so, and
 * the second not: it would have found no runtime if ours were not preloaded. It would if the program had begun with one.
 *
 * usage: weakly LIBRARY WEAK [begun]   (library.c and weak.c as shared libraries; LIBRARY was there from the beginning)
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { kThreads = 3 }; /* of come_inside() */

typedef int Asks(int unused);
typedef int Inside(Asks* asks);

static void* loaded(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) fprintf(stderr, "%s\n", dlerror());
  CHECK(library != NULL);
  return library;
}

static void begin_with(const char* self, const char* library, const char* weak) {
  const char* preloaded = getenv("LD_PRELOAD");
  char list[8192];
  if (preloaded == NULL || snprintf(list, sizeof list, "%s:%s", preloaded, library) >= (int)sizeof list) return;
  setenv("LD_PRELOAD", list, 1);
  execl(self, self, library, weak, "begun", (char*)NULL);
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int begun = argc == 4;
  void* library = loaded(argv[1]);
  Inside* come_inside = (Inside*)dlsym(library, "come_inside");
  Asks* strong = (Asks*)dlsym(library, "in_region");
  CHECK(come_inside != NULL && strong != NULL);
  for (int i = 0; i < 3; ++i) { /* at the same place again, as a rule */
    void* weak = loaded(argv[2]);
    Asks* asks = (Asks*)dlsym(weak, "asks");
    int (*is_bound)(void) = (int (*)(void))dlsym(weak, "is_bound");
    CHECK(asks != NULL && is_bound != NULL && is_bound());
    for (int calls = 0; calls < 100; ++calls) {
      CHECK(come_inside(strong) == kThreads);
      CHECK(come_inside(asks) == (begun ? kThreads : 0));
    }
    CHECK(strong(0) == 0 && asks(0) == 0);
    dlclose(weak);
  }
  if (check_failures != 0 || begun) return check_end();
  begin_with(argv[0], argv[1], argv[2]);
  return 3;
}
