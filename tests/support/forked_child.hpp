// forked_child.hpp: forks, runs something in the child, and tells how the child ended.
//
// A child says by its exit status whether all is well, and on stderr where not: gtest's own failures would
// stay in it. It ends with its parent: one that hangs does not outlive a test that was killed.
#pragma once

#include <semaphore.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <functional>
#include <thread>
#include <utility>

#include "support/runtime_fixture.hpp"

// The sanitizers' libraries look for these by name.
#define WEFT_TEST_HOOK extern "C" __attribute__((visibility("default"), used)) inline

// Memory that only dropped units could reach is unreachable in a child: that is no leak.
inline bool weft_test_is_child = false;
WEFT_TEST_HOOK int __lsan_is_turned_off() { return weft_test_is_child; }

// ThreadSanitizer ends a child that starts a thread, unless it is told not to.
WEFT_TEST_HOOK const char* __tsan_default_options() { return "die_after_fork=0"; }

namespace weft_test {

inline constexpr int kFailed = 99;

// ThreadSanitizer keeps the parent's threads in its books, and ends a child that starts one with the same
// pthread_t, which the C library gives out again. There a child goes without.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kChildMayStartThreads = false;
#else
inline constexpr bool kChildMayStartThreads = true;
#endif
// How many workers a child's own runtime has.
inline constexpr unsigned kChildWorkers = kChildMayStartThreads ? 3 : 1;

#define CHILD_CHECK(condition)                                                                  \
  do {                                                                                          \
    if (!(condition)) {                                                                         \
      std::fprintf(stderr, "%s:%d: in the child: %s\n", __FILE__, __LINE__, #condition);        \
      _exit(weft_test::kFailed);                                                                \
    }                                                                                           \
  } while (0)

#define CHILD_OK(call)                                                                          \
  do {                                                                                          \
    if (const int child_error = (call); child_error != WEFT_OK) {                               \
      std::fprintf(stderr, "%s:%d: in the child: %s: %s\n", __FILE__, __LINE__, #call,          \
                   weft_strerror(child_error));                                                 \
      _exit(weft_test::kFailed);                                                                \
    }                                                                                           \
  } while (0)

// In the parent: the exit status of the child, or minus the signal that ended it.
inline int status_of(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) return -1000;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// fork(); in the child nothing else has been done.
inline pid_t fork_child() {
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child != 0) return child;
  weft_test_is_child = true;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kFailed);
  return 0;
}

// The child runs f and ends at once, with status 0.
inline int run_in_child(const std::function<void()>& f) {
  const pid_t child = fork_child();
  if (child != 0) return status_of(child);
  f();
  _exit(0);
}

// A kernel thread beside which others fork. One that only starts, or ends, may be inside AddressSanitizer's allocator, and that
// of gcc 12 knows nothing of fork(): the child would wait for ever for its locks. So f has begun when the constructor returns,
// and the thread stays after f until join(). What f does meanwhile must not allocate.
class SteadyThread {
 public:
  explicit SteadyThread(std::function<void()> f) {
    sem_init(&end_, 0, 0);
    thread_ = std::thread([this, f = std::move(f)] {
      begun_ = true;
      f();
      done_ = true;
      while (sem_wait(&end_) != 0) continue;
    });
    while (!begun_) weft_yield();
  }
  SteadyThread(const SteadyThread&) = delete;
  SteadyThread& operator=(const SteadyThread&) = delete;
  ~SteadyThread() {
    join();
    sem_destroy(&end_);
  }
  bool done() const { return done_; }
  // By a ULT, which lets others run until f has returned. Precondition: nobody forks any more.
  void join() {
    while (!done_) weft_yield();
    if (!thread_.joinable()) return;
    sem_post(&end_);
    thread_.join();
  }

 private:
  std::atomic<bool> begun_{false}, done_{false};
  sem_t end_;
  std::thread thread_;
};

}  // namespace weft_test
