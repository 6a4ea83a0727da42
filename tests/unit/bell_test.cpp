// What every worker does once when it is asked: asleep, busy, under a user's scheduler; asked from a signal handler.
#include <signal.h>

#include "front/front.hpp"
#include "support/runtime_fixture.hpp"

namespace {

using namespace weft_test;

std::atomic<int> answers;
std::atomic<unsigned> who;  // a bit for each worker
std::atomic<bool> hold;

void answer() {
  EXPECT_EQ(weft_self(), nullptr);
  who |= 1u << weft_worker_index(weft_worker_self());
  ++answers;
  while (hold) std::this_thread::yield();
}

class Bell : public RuntimeTest {
 protected:
  explicit Bell(unsigned workers = 3) : RuntimeTest(workers) {}
  void SetUp() override {
    answers = 0;
    who = 0;
    hold = false;
    RuntimeTest::SetUp();
    weft::front::set_bell(answer);
  }
  void TearDown() override {
    weft::front::set_bell(nullptr);
    RuntimeTest::TearDown();
  }
  static bool all_answered(int n) {
    return wait_until([n] { return answers == n; });
  }
};

TEST_F(Bell, WakesThoseThatSleep) {
  for (int round = 1; round <= 20; ++round) {
    EXPECT_TRUE(ok(weft_sleep(round % 5 == 0 ? 2'000'000 : 0)));
    weft::front::ring_bell();
    ASSERT_TRUE(all_answered(3 * round));
    EXPECT_EQ(who.exchange(0), 7u);
  }
}

// A worker that does not come back to its scheduler answers later, once for all that it has missed.
TEST_F(Bell, WaitsForThoseThatAreBusy) {
  SideWorker side;
  const weft_unit_attr_t attr = side.attr();
  std::atomic<bool> busy = true;
  std::atomic<bool> begun = false;
  Call call([&] {
    begun = true;
    while (busy) std::this_thread::yield();
  });
  weft_unit_t unit = call.ult(&attr);
  ASSERT_TRUE(wait_until([&] { return begun.load(); }));
  weft::front::ring_bell();
  ASSERT_TRUE(all_answered(3));
  weft::front::ring_bell();
  ASSERT_TRUE(all_answered(6));
  EXPECT_EQ(who, 7u);
  busy = false;
  ASSERT_TRUE(all_answered(7));
  EXPECT_EQ(who, 15u);
  EXPECT_TRUE(ok(weft_free(&unit)));
}

// It may block its worker; the others go on.
TEST_F(Bell, MayBlockItsWorker) {
  hold = true;
  weft_event_t done = WEFT_EVENT_INIT;
  std::thread klt([&] {
    weft::front::ring_bell();
    while (answers < 3) std::this_thread::yield();
    hold = false;
    EXPECT_TRUE(ok(weft_event_set(&done)));
  });
  EXPECT_TRUE(ok(weft_event_wait(&done)));
  klt.join();
  EXPECT_EQ(who, 7u);
}

TEST_F(Bell, IsRungByASignalHandler) {
  struct sigaction action{};
  struct sigaction before;
  action.sa_handler = [](int) { weft::front::ring_bell(); };
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &action, &before);
  for (int round = 1; round <= 5; ++round) {
    raise(SIGUSR1);
    ASSERT_TRUE(all_answered(3 * round));
  }
  sigaction(SIGUSR1, &before, nullptr);
}

// One that is started later is not called for what was before.
TEST_F(Bell, IsNotHeardByTheUnborn) {
  weft::front::ring_bell();
  ASSERT_TRUE(all_answered(3));
  SideWorker side;
  const weft_unit_attr_t attr = side.attr();
  in_ult([] {}, &attr);
  EXPECT_EQ(answers, 3);
}

void poll_now_and_then(weft_sched_t sched, void*) {
  weft_pool_t pool;
  weft_sched_pools(sched, 1, &pool);
  while (!weft_sched_should_stop(sched)) {
    if (weft_unit_t unit = weft_pool_pop(pool)) {
      weft_sched_run(sched, unit);
    } else {
      weft_sched_idle(sched);
    }
    weft::front::poll();
  }
}

TEST_F(Bell, IsHeardByPollsOfAUsersScheduler) {
  const weft_sched_ops_t ops{nullptr, nullptr, poll_now_and_then};
  weft_pool_t pool;
  ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &pool)));
  weft_sched_t sched;
  ASSERT_TRUE(ok(weft_sched_create_user(&ops, nullptr, 1, &pool, &sched)));
  weft_worker_t worker;
  ASSERT_TRUE(ok(weft_worker_create(sched, &worker)));
  for (int round = 1; round <= 5; ++round) {
    EXPECT_TRUE(ok(weft_sleep(1'000'000)));
    weft::front::ring_bell();
    ASSERT_TRUE(all_answered(4 * round));
  }
  EXPECT_EQ(who, 15u);
  EXPECT_TRUE(ok(weft_worker_free(&worker)));
  EXPECT_TRUE(ok(weft_sched_free(&sched)));
  EXPECT_TRUE(ok(weft_pool_free(&pool)));
}

TEST(BellAlone, RingsNobodyWithoutTheRuntime) { weft::front::ring_bell(); }

}  // namespace
