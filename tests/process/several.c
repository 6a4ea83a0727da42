/* several.c: two libraries of one process use Weft without knowing of each other.
 *
 * usage: several LIBRARY LIBRARY
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <weft/weft.h>

static void check(int condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "several: %s\n", what);
  exit(1);
}

struct user {
  void* library;
  int (*start)(unsigned workers);
  int (*stop)(void);
  int (*running)(void);
  long (*sum_of_squares)(size_t n);
};

static struct user load(const char* path) {
  struct user user;
  user.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (user.library == NULL) fprintf(stderr, "%s\n", dlerror());
  check(user.library != NULL, "dlopen");
  user.start = (int (*)(unsigned))dlsym(user.library, "user_start");
  user.stop = (int (*)(void))dlsym(user.library, "user_stop");
  user.running = (int (*)(void))dlsym(user.library, "user_running");
  user.sum_of_squares = (long (*)(size_t))dlsym(user.library, "user_sum_of_squares");
  check(user.start && user.stop && user.running && user.sum_of_squares, "dlsym");
  return user;
}

static void use(const struct user* user) { check(user->sum_of_squares(100) == 328350, "the sum"); }

/* The second one comes from another thread, with other wishes. */
static void* second_user(void* arg) {
  const struct user* user = arg;
  check(user->start(3) == WEFT_OK, "second start");
  check(weft_worker_count() == 2, "the first one's options count");
  for (int i = 0; i < 100; ++i) use(user);
  check(user->stop() == WEFT_OK, "second stop, from its own thread");
  return NULL;
}

int main(int argc, char** argv) {
  check(argc == 3, "two libraries, please");
  for (int round = 0; round < 20; ++round) {
    struct user a = load(argv[1]);
    struct user b = load(argv[2]);
    check(!a.running(), "nobody has started it");
    check(a.start(2) == WEFT_OK, "first start");
    pthread_t thread;
    check(pthread_create(&thread, NULL, second_user, &b) == 0, "pthread_create");
    for (int i = 0; i < 100; ++i) use(&a);
    while (pthread_tryjoin_np(thread, NULL) != 0) weft_yield();

    /* The order of the ends does not matter, as long as the thread of the first start makes the last one. */
    check(b.start(0) == WEFT_OK && a.stop() == WEFT_OK, "the first one goes first");
    check(b.running(), "counted");
    use(&b);
    check(dlclose(a.library) == 0, "dlclose of one of them");
    use(&b);
    check(b.stop() == WEFT_OK, "last stop");
    check(!b.running() && b.stop() == WEFT_ERR_UNINITIALIZED, "it has ended");
    check(dlclose(b.library) == 0, "dlclose of the other one");
  }
  puts("ok");
  return 0;
}
