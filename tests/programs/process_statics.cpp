// Weft used from constructors and destructors of static objects, before main and after it. The first one
// starts the runtime, and its destructor, the last one, ends it.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include <weft/weft.hpp>

namespace {

void check(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "process_statics: %s\n", what);
  _exit(99);
}

int uses = 0;
bool parent = true;

void use() {
  const auto [a, b] = weft::fork_join([] { return 1; }, [] { return 2; });
  check(a + b == 3, "fork_join");
  weft::thread thread([] {
    weft::this_thread::yield();
    ++uses;
  });
  thread.join();
}

struct User {
  User() { use(); }
  ~User() { use(); }
};

// As early, and as late, as a program can be.
struct First {
  First() {
    weft_options_t options{};
    options.workers = 2;
    check(weft_initialize(&options) == WEFT_OK, "weft_initialize");
    use();
  }
  ~First() {
    use();
    check(weft_finalize() == WEFT_OK, "weft_finalize");
    check(!weft_initialized(), "the runtime has ended");
    check(uses == (parent ? 8 : 7), "all uses");
  }
};

__attribute__((init_priority(101))) First first;
__attribute__((init_priority(102))) User second;
User third;

}  // namespace

int main() {
  use();
  // A child has the objects too, and destroys its own.
  const pid_t child = fork();
  check(child >= 0, "fork");
  if (child == 0) {
    parent = false;
    return 0;
  }
  int status = 0;
  check(waitpid(child, &status, 0) == child && status == 0, "the child's end");
  weft::runtime nested;  // counted
  use();
  return 0;
}
