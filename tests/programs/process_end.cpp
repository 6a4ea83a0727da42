// How a process ends while ULTs run on all workers: by return from main, by exit() from wherever it is called,
// by quick_exit(), _exit() and abort(). Each way is tried in a process of its own, which is this program again.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <thread>

#include <weft/weft.hpp>

extern char** environ;

namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kRounds = 2;  // a process takes a second to start
#else
constexpr int kRounds = 10;
#endif
constexpr int kStatus = 7;
constexpr unsigned kWorkers = 2;

void check(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "process_end: %s\n", what);
  _exit(99);
}

std::atomic<int> running{0};
weft_mutex_t mutex = WEFT_MUTEX_INIT;
weft_event_t never = WEFT_EVENT_INIT;

void nothing(void*) {}

// Never ends, and is in and out of Weft all the time.
void in_motion(void*) {
  ++running;
  for (;;) {
    weft_mutex_lock(&mutex);
    weft_unit_t unit = nullptr;
    if (weft_ult_create(nothing, nullptr, nullptr, &unit) == WEFT_OK) weft_free(&unit);
    weft_mutex_unlock(&mutex);
    weft_yield();
  }
}

void asleep(void*) {
  ++running;
  weft_sleep(3'600'000'000'000);
}

void blocked(void*) {
  ++running;
  weft_event_wait(&never);
}

// Detached: nobody has a handle that could be joined.
void start_all() {
  weft_options_t options{};
  options.workers = kWorkers;
  check(weft_initialize(&options) == WEFT_OK, "weft_initialize");
  const weft_fn functions[] = {in_motion, in_motion, in_motion, asleep, blocked};
  for (const weft_fn function : functions) {
    check(weft_ult_create(function, nullptr, nullptr, nullptr) == WEFT_OK, "weft_ult_create");
  }
  while (running < static_cast<int>(std::size(functions))) weft_yield();
}

void leave(void*) { std::exit(kStatus); }

// What a library does at the end: it uses Weft once more, and ends its own use of it.
void at_exit() {
  weft_unit_t unit = nullptr;
  check(weft_ult_create(nothing, nullptr, nullptr, &unit) == WEFT_OK, "create at exit");
  check(weft_free(&unit) == WEFT_OK, "free at exit");
  check(weft_finalize() == WEFT_OK, "finalise at exit: counted");
}

int by_return() { return kStatus; }
int by_exit() { std::exit(kStatus); }
int by_exit_in_a_ult() { return weft_ult_create(leave, nullptr, nullptr, nullptr), weft_suspend(); }
int by_exit_in_a_tasklet() { return weft_tasklet_create(leave, nullptr, nullptr, nullptr), weft_suspend(); }
int by_exit_in_a_thread() {
  std::thread(leave, nullptr).detach();
  return weft_suspend();
}
int by_quick_exit() { std::quick_exit(kStatus); }
int by_end_of_process() { _exit(kStatus); }
int by_abort() { std::abort(); }

int with_a_handler(int (*end)()) {
  check(weft_initialize(nullptr) == WEFT_OK, "second weft_initialize");
  std::atexit(at_exit);
  return end();
}
int by_return_with_a_handler() { return with_a_handler(by_return); }
int by_exit_in_a_ult_with_a_handler() { return with_a_handler(by_exit_in_a_ult); }

struct Way {
  const char* name;
  int (*end)();
};
const Way kWays[] = {
    {"return", by_return},
    {"exit", by_exit},
    {"exit-ult", by_exit_in_a_ult},
    {"exit-tasklet", by_exit_in_a_tasklet},
    {"exit-thread", by_exit_in_a_thread},
    {"quick_exit", by_quick_exit},
    {"_exit", by_end_of_process},
    {"abort", by_abort},
    {"return-atexit", by_return_with_a_handler},
    {"exit-ult-atexit", by_exit_in_a_ult_with_a_handler},
};

// The exit status; or minus the signal.
int status_of(const char* self, const char* name) {
  char* const arguments[] = {const_cast<char*>(self), const_cast<char*>(name), nullptr};
  pid_t child = -1;
  int status = 0;
  check(posix_spawn(&child, self, nullptr, nullptr, arguments, environ) == 0, "posix_spawn");
  check(waitpid(child, &status, 0) == child, "waitpid");
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace

int main(int argc, char** argv) {
  for (const Way& way : kWays) {
    if (argc == 2 && std::strcmp(argv[1], way.name) == 0) {
      start_all();
      return way.end();
    }
  }
  int failed = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (const Way& way : kWays) {
      const int status = status_of("/proc/self/exe", way.name);
      if (status == (way.end == by_abort ? -SIGABRT : kStatus)) continue;
      std::fprintf(stderr, "process_end: %s: status %d\n", way.name, status);
      ++failed;
    }
  }
  return failed == 0 ? 0 : 1;
}
