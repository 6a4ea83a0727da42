/* devices.c: numbers of devices that mean none, target regions and data by gcc's calls, memory that a task fills. With "mandatory", in an
 * environment that says so of devices, of which there are none.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { kInitial = -1, kHostFallback = -2, kInvalid = -4, kDefault = -5 }; /* omp_initial_device, gcc's if(0), ... */
enum { kFirstprivate = 12, kAttach = 80 };

static void (*target)(int, void (*)(void*), size_t, void**, size_t*, unsigned short*, unsigned, void**, void**);

static void one_more(void* addresses) { ++**(int**)addresses; }
static int runs_on(int device) {
  int count = 0;
  void* addresses[] = {&count};
  target(device, one_more, 1, addresses, (size_t[]){sizeof count}, (unsigned short[]){3}, 0, NULL, NULL);
  return count == 1;
}
/* The status that a process ends with, and whether it has said so. */
static int refused(int device, const char* text) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    _exit(runs_on(device) ? 0 : 99);
  }
  close(ends[1]);
  char said[256] = "";
  CHECK(read(ends[0], said, sizeof said - 1) >= 0);
  close(ends[0]);
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 1 && strstr(said, text) != NULL;
}

static void numbers(void) {
  CHECK(omp_get_default_device() == 0);
  const int kept[] = {kInitial, kInvalid, 0, 7};
  for (int i = 0; i < 4; ++i) {
    omp_set_default_device(kept[i]);
    CHECK(omp_get_default_device() == kept[i]);
    omp_set_default_device(kDefault);
    CHECK(omp_get_default_device() == kept[i]);
    int x;
    const int is_host = kept[i] == 0 || kept[i] == kInitial;
    CHECK(omp_target_is_present(&x, kDefault) == is_host && omp_pause_resource(omp_pause_soft, kDefault) == !is_host);
    if (kept[i] == kInvalid) {
      CHECK(refused(-1, "omp_invalid_device encountered"));
    } else {
      CHECK(runs_on(-1));
    }
  }
  omp_set_default_device(0);
  CHECK(runs_on(0) && runs_on(-1) && runs_on(kHostFallback) && runs_on(kDefault) && runs_on(3));
  CHECK(refused(kInvalid, "omp_invalid_device encountered"));
  CHECK(omp_target_is_present(NULL, kInitial) == 0);
}

static void only_the_host(void) {
  const char* text = "OMP_TARGET_OFFLOAD is set to MANDATORY, but only the host device is available";
  CHECK(omp_get_default_device() == kInvalid);
  CHECK(refused(-1, text) && refused(kInvalid, text) && refused(kDefault, text));
  CHECK(refused(3, "device not found"));
  CHECK(runs_on(kHostFallback) && runs_on(0));
  omp_set_default_device(kInitial);
  CHECK(runs_on(-1));
}

/* A Fortran array, firstprivate: what its descriptor says is the copy. */
struct Descriptor {
  long words;
  int* data;
};
static void change(void* all) {
  void** addresses = all;
  const struct Descriptor* own = *(struct Descriptor**)addresses[1];
  CHECK(own->data == addresses[0] && own->data[0] == 1 && *(int*)addresses[2] == 3);
  own->data[0] = 99;
}
static void arrays_of_fortran(void) {
  int array[3] = {1, 2, 3};
  struct Descriptor own = {5, array}, *descriptor = &own;
  void* addresses[] = {array, &descriptor, &array[2]};
  size_t sizes[] = {sizeof array, 1, sizeof array[2]};
  unsigned short kinds[] = {kFirstprivate | 2 << 8, kAttach | 3 << 8, 3};
  target(-1, change, 3, addresses, sizes, kinds, 0, NULL, NULL);
  CHECK(array[0] == 1 && array[2] == 3 && own.words == 5);
}

/* The caller goes on, and is the one that lets the task before end. */
struct Depend {
  void* address;
  uintptr_t kind;
};
static void by_tasks(int which) {
  char to[4] = "abc";
  const char from[4] = "xyz";
  const size_t two[] = {2}, none[] = {0}, four[] = {4};
  int x = 0;
  PRAGMA(omp parallel num_threads(2))
  PRAGMA(omp single) {
    omp_event_handle_t event;
    PRAGMA(omp task depend(out : x) detach(event))
    x = 1;
    const struct Depend on_x = {&x, 3};
    if (which == 0) {
      void* (*fill)(void*, int, size_t, int, int, const struct Depend*) =
          (void* (*)(void*, int, size_t, int, int, const struct Depend*))dlvsym(RTLD_DEFAULT, "omp_target_memset_async", "GOMP_6.0.1");
      CHECK(fill != NULL && fill(to, 'x', 2, kInitial, 1, &on_x) == to);
    } else if (which == 1) {
      int (*copy)(void*, const void*, size_t, size_t, size_t, int, int, int, const struct Depend*) =
          (int (*)(void*, const void*, size_t, size_t, size_t, int, int, int, const struct Depend*))dlvsym(
              RTLD_DEFAULT, "omp_target_memcpy_async", "OMP_5.1.1");
      CHECK(copy != NULL && copy(to, from, 2, 0, 0, kInitial, kInitial, 1, &on_x) == 0);
    } else {
      int (*copy)(void*, const void*, size_t, int, const size_t*, const size_t*, const size_t*, const size_t*, const size_t*, int, int, int,
                  const struct Depend*) =
          (int (*)(void*, const void*, size_t, int, const size_t*, const size_t*, const size_t*, const size_t*, const size_t*, int, int, int,
                   const struct Depend*))dlvsym(RTLD_DEFAULT, "omp_target_memcpy_rect_async", "OMP_5.1.1");
      CHECK(copy != NULL && copy(to, from, 1, 1, two, none, none, four, four, kInitial, kInitial, 1, &on_x) == 0);
    }
    CHECK(strcmp(to, "abc") == 0);
    omp_fulfill_event(event);
    PRAGMA(omp taskwait)
    CHECK(strcmp(to, which == 0 ? "xxc" : "xyc") == 0);
  }
}

int main(int argc, char** argv) {
  (void)argv;
  target = (void (*)(int, void (*)(void*), size_t, void**, size_t*, unsigned short*, unsigned, void**, void**))dlvsym(
      RTLD_DEFAULT, "GOMP_target_ext", "GOMP_4.5");
  CHECK(target != NULL);
  if (argc > 1) {
    only_the_host();
    return check_end();
  }
  numbers();
  arrays_of_fortran();
  for (int i = 0; i < 300; ++i) by_tasks(i % 3);
  return check_end();
}
