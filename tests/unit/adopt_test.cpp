// A kernel thread of the program's that becomes a ULT. It never is one of its own again, so each case is a process.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <thread>

#include "front/front.hpp"
#include "sanitizer_switch.hpp"
#include "weft/preempt.h"
#include "weft/sync.h"

namespace {

int adopt_caller() { return weft::front::adopt_caller(nullptr); }

thread_local int mine = 7;
[[gnu::noinline]] const int* where_mine_is() {
  asm volatile("");
  return &mine;
}

// Returns on another thread than main, which stays the primary ULT, in its own time.
void start() {
  std::atomic<bool> ready{false};
  std::thread([&ready] {
    weft_options_t options = {};
    options.workers = 2;
    if (weft_initialize(&options) != WEFT_OK) _exit(2);
    ready = true;
    weft_event_t never = WEFT_EVENT_INIT;
    weft_event_wait(&never);
  }).detach();
  while (!ready) usleep(100);
}

#define CHECK_THAT(condition) \
  do {                        \
    if (!(condition)) {       \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      _exit(1);               \
    }                         \
  } while (0)

class Adopt : public testing::Test {
 protected:
  void SetUp() override {
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    if (!weft::front::may_adopt()) GTEST_SKIP() << "no identities here";
  }
};

TEST_F(Adopt, ItGoesOnAsAUltWithItsOwnThreadLocals) {
  EXPECT_EXIT({
    mine = 12;
    const pthread_t self = pthread_self();
    start();
    CHECK_THAT(weft_self() == nullptr);
    CHECK_THAT(adopt_caller() == WEFT_OK);
    CHECK_THAT(weft_self() != nullptr && weft_is_ult(weft_self()));
    CHECK_THAT(mine == 12 && pthread_equal(self, pthread_self()));
    errno = 5;
    for (int i = 0; i < 1000; ++i) weft_yield();
    CHECK_THAT(errno == 5 && mine == 12);
    CHECK_THAT(adopt_caller() == WEFT_ERR_CONTEXT);
    CHECK_THAT(weft_exit() == WEFT_ERR_CONTEXT);
    CHECK_THAT(weft_cancel(weft_self()) == WEFT_ERR_CONTEXT);
    std::exit(0);
  }, testing::ExitedWithCode(0), "");
}

TEST_F(Adopt, ItJoinsAndMovesBetweenWorkersUnderTicks) {
  EXPECT_EXIT({
    start();
    CHECK_THAT(adopt_caller() == WEFT_OK);
    weft_preemption_set_interval(100'000);
    weft_preemption_set_mode(WEFT_PREEMPTION_ON);
    static std::atomic<long> sum;
    for (int round = 0; round < 200; ++round) {
      weft_unit_t units[10];
      for (auto& unit : units) {
        CHECK_THAT(weft_ult_create([](void*) {
          for (int i = 0; i < 20'000; ++i) sum.fetch_add(1, std::memory_order_relaxed);
          weft_yield();
        }, nullptr, nullptr, &unit) == WEFT_OK);
      }
      free(malloc(1000 + static_cast<size_t>(round)));
      CHECK_THAT(weft_free_many(10, units) == WEFT_OK);
      mine = round;
      weft_yield();
      CHECK_THAT(mine == round);
    }
    CHECK_THAT(sum == 200L * 10 * 20'000);
    std::exit(0);
  }, testing::ExitedWithCode(0), "");
}

TEST_F(Adopt, SeveralThreadsShareTheWorkers) {
  EXPECT_EXIT({
    start();
    static std::atomic<int> done;
    for (int i = 0; i < 6; ++i) {
      std::thread([i] {
        mine = i;
        CHECK_THAT(adopt_caller() == WEFT_OK);
        for (int k = 0; k < 500; ++k) {
          weft_yield();
          CHECK_THAT(mine == i);
        }
        done++;
        weft_suspend();
      }).detach();
    }
    while (done != 6) usleep(1000);
    _exit(0);
  }, testing::ExitedWithCode(0), "");
}

TEST_F(Adopt, OneThatIsPinnedStays) {
  EXPECT_EXIT({
    start();
    CHECK_THAT(weft::front::adopt_caller(weft_worker_pool(weft_worker_get(1))) == WEFT_OK);
    for (int i = 0; i < 1000; ++i) {
      CHECK_THAT(weft_worker_index(weft_worker_self()) == 1);
      weft_yield();
      if (i % 100 == 0) weft_sleep(1'000'000);
    }
    std::exit(0);
  }, testing::ExitedWithCode(0), "");
}

// There are no other identities yet.
TEST_F(Adopt, ItForks) {
  if (weft::rt::san::kSignalsComeLate) GTEST_SKIP() << "ThreadSanitizer's forked children start no threads";
  EXPECT_EXIT({
    mine = 12;
    start();
    CHECK_THAT(adopt_caller() == WEFT_OK);
    const pthread_t self = pthread_self();
    const int* const where = where_mine_is();
    const pid_t child = fork();
    if (child == 0) {
      CHECK_THAT(mine == 12 && where_mine_is() == where && pthread_equal(self, pthread_self()));
      for (int i = 0; i < 100; ++i) weft_yield();
      _exit(7);
    }
    int status = 0;
    CHECK_THAT(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_THAT(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    _exit(0);
  }, testing::ExitedWithCode(0), "");
}

TEST_F(Adopt, WithoutTheRuntimeItSaysSo) { EXPECT_EQ(adopt_caller(), WEFT_ERR_UNINITIALIZED); }

}  // namespace
