// What Weft adds to Argobots' interface.
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <climits>
#include <cmath>
#include <cstdio>

#include "support/abt_fixture.hpp"
#include "weft/abt_ext.h"

namespace {

using namespace weft_test;

class AbtExt : public AbtTest {};

struct Eventuals {
  explicit Eventuals(size_t n) : handles(n) {
    for (ABT_eventual& eventual : handles) EXPECT_TRUE(abt_ok(ABT_eventual_create(0, &eventual)));
  }
  Eventuals(const Eventuals&) = delete;
  Eventuals& operator=(const Eventuals&) = delete;
  ~Eventuals() {
    for (ABT_eventual& eventual : handles) EXPECT_TRUE(abt_ok(ABT_eventual_free(&eventual)));
  }
  size_t wait() const {
    size_t which = SIZE_MAX;
    EXPECT_TRUE(abt_ok(ABTX_eventual_wait_any(handles.size(), handles.data(), &which)));
    return which;
  }
  void set(size_t i) const { EXPECT_TRUE(abt_ok(ABT_eventual_set(handles[i], nullptr, 0))); }

  std::vector<ABT_eventual> handles;
};

// A ULT, and a thread; few, and more than there is room for in a frame.
TEST_F(AbtExt, WaitAnyTellsWhichIsReady) {
  for (const size_t n : {size_t{1}, size_t{3}, size_t{16}, size_t{40}}) {
    for (const bool external : {false, true}) {
      const Eventuals eventuals(n);
      std::atomic<size_t> which = SIZE_MAX;
      const auto wait = [&] { which = eventuals.wait(); };
      Call call(wait);
      weft_unit_t unit = nullptr;
      std::thread thread;
      if (external) {
        thread = std::thread(wait);
      } else {
        unit = call.ult();
        ASSERT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
      }
      EXPECT_EQ(which, SIZE_MAX);
      eventuals.set(n / 2);
      if (external) {
        thread.join();
      } else {
        EXPECT_TRUE(ok(weft_free(&unit)));
      }
      EXPECT_EQ(which, n / 2);
      if (n > 1) eventuals.set(0);
      EXPECT_EQ(eventuals.wait(), 0u);
      EXPECT_TRUE(abt_ok(ABTX_eventual_wait_any(n, eventuals.handles.data(), nullptr)));
    }
  }
}

TEST_F(AbtExt, WaitAnyEndsAtItsTime) {
  const Eventuals eventuals(3);
  const double begin = ABT_get_wtime();
  const timespec soon = abt_after_ms(3);
  size_t which = 7;
  EXPECT_TRUE(abt_fails(ABT_ERR_COND_TIMEDOUT,
                        ABTX_eventual_timedwait_any(3, eventuals.handles.data(), &soon, &which)));
  EXPECT_GE(ABT_get_wtime() - begin, 0.0029);
  EXPECT_EQ(which, 7u);
  eventuals.set(1);
  const timespec never{LONG_MAX, 0};
  EXPECT_TRUE(abt_ok(ABTX_eventual_timedwait_any(3, eventuals.handles.data(), &never, &which)));
  EXPECT_EQ(which, 1u);
}

TEST_F(AbtExt, WaitAnyErrors) {
  const Eventuals eventuals(2);
  const ABT_eventual with_null[] = {eventuals.handles[0], ABT_EVENTUAL_NULL};
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_ARG, ABTX_eventual_wait_any(0, with_null, nullptr)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_ARG, ABTX_eventual_wait_any(1, nullptr, nullptr)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_EVENTUAL, ABTX_eventual_wait_any(2, with_null, nullptr)));
  eventuals.set(0);
  in_tasklet([&] {
    EXPECT_TRUE(abt_fails(kAbt20 ? ABT_SUCCESS : ABT_ERR_EVENTUAL,
                          ABTX_eventual_wait_any(2, eventuals.handles.data(), nullptr)));
  });
}

TEST_F(AbtExt, SleepsAtLeastThatLong) {
  in_each_context([](Context) {
    const double begin = ABT_get_wtime();
    EXPECT_TRUE(abt_ok(ABTX_sleep(0.003)));
    EXPECT_GE(ABT_get_wtime() - begin, 0.0029);
    EXPECT_TRUE(abt_ok(ABTX_sleep(0)));
    EXPECT_TRUE(abt_ok(ABTX_sleep(-1)));
    EXPECT_TRUE(abt_fails(ABT_ERR_INV_ARG, ABTX_sleep(std::nan(""))));
  });
}

TEST_F(AbtExt, OthersRunWhileAUltSleeps) {
  std::atomic<bool> awake = false;
  Call sleeper([&] {
    EXPECT_TRUE(abt_ok(ABTX_sleep(0.02)));
    awake = true;
  });
  weft_unit_t unit = sleeper.ult();
  ASSERT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
  EXPECT_FALSE(awake);
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_TRUE(awake);
}

ABT_pool main_pool() {
  ABT_xstream self;
  ABT_pool pool = ABT_POOL_NULL;
  EXPECT_TRUE(abt_ok(ABT_self_get_xstream(&self)));
  EXPECT_TRUE(abt_ok(ABT_xstream_get_main_pools(self, 1, &pool)));
  return pool;
}

// ---- preemption

class AbtExtPreemption : public AbtTestWith {
 protected:
  AbtExtPreemption() : AbtTestWith("WEFT_PREEMPTION", "on") {}
  void SetUp() override {
    setenv("WEFT_PREEMPTION_KIND", "none", 1);
    AbtTestWith::SetUp();
    unsetenv("WEFT_PREEMPTION_KIND");
  }
  // The primary ES's first ULT spins for that long, or until the second one has run: whether it has by then.
  static bool is_preempted(ABT_pool pool, ABT_thread_attr attr) {
    struct Pair {
      std::atomic<bool> ran{false};
      bool meanwhile = false;
    } pair;
    const auto spins = [](void* arg) {
      auto& p = *static_cast<Pair*>(arg);
      for (const double end = ABT_get_wtime() + 0.1; !p.ran && ABT_get_wtime() < end;) weft_cancel_point();
      p.meanwhile = p.ran;
    };
    const auto runs = [](void* arg) { static_cast<Pair*>(arg)->ran = true; };
    ABT_thread units[2];
    EXPECT_TRUE(abt_ok(ABT_thread_create(pool, spins, &pair, attr, &units[0])));
    EXPECT_TRUE(abt_ok(ABT_thread_create(pool, runs, &pair, ABT_THREAD_ATTR_NULL, &units[1])));
    for (ABT_thread& unit : units) EXPECT_TRUE(abt_ok(ABT_thread_free(&unit)));
    return pair.meanwhile;
  }
};

TEST_F(AbtExtPreemption, OfAUnit) {
  ABT_thread_attr attr;
  ASSERT_TRUE(abt_ok(ABT_thread_attr_create(&attr)));
  EXPECT_FALSE(is_preempted(main_pool(), attr));
  for (const auto kind : {ABTX_PREEMPTION_SIGNAL_YIELD, ABTX_PREEMPTION_KLT_SWITCHING}) {
    ASSERT_TRUE(abt_ok(ABTX_thread_attr_set_preemption(attr, kind)));
    EXPECT_TRUE(is_preempted(main_pool(), attr));
  }
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_ARG, ABTX_thread_attr_set_preemption(attr, static_cast<ABTX_preemption_kind>(4))));
  EXPECT_TRUE(abt_ok(ABT_thread_attr_free(&attr)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD_ATTR, ABTX_thread_attr_set_preemption(attr, ABTX_PREEMPTION_NONE)));
}

TEST_F(AbtExtPreemption, OfAPool) {
  const ABT_pool pool = main_pool();
  ASSERT_TRUE(abt_ok(ABTX_pool_set_preemption(pool, ABTX_PREEMPTION_KLT_SWITCHING)));
  EXPECT_TRUE(is_preempted(pool, ABT_THREAD_ATTR_NULL));
  ABT_thread_attr attr;
  ASSERT_TRUE(abt_ok(ABT_thread_attr_create(&attr)));
  ASSERT_TRUE(abt_ok(ABTX_thread_attr_set_preemption(attr, ABTX_PREEMPTION_NONE)));
  EXPECT_FALSE(is_preempted(pool, attr));
  EXPECT_TRUE(abt_ok(ABT_thread_attr_free(&attr)));
  ASSERT_TRUE(abt_ok(ABTX_pool_set_preemption(pool, ABTX_PREEMPTION_DEFAULT)));
  EXPECT_FALSE(is_preempted(pool, ABT_THREAD_ATTR_NULL));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL, ABTX_pool_set_preemption(ABT_POOL_NULL, ABTX_PREEMPTION_NONE)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_ARG, ABTX_pool_set_preemption(pool, static_cast<ABTX_preemption_kind>(-1))));
}

// ---- blocking

class AbtExtBlocking : public AbtTestWith {
 protected:
  AbtExtBlocking() : AbtTestWith("WEFT_BLOCKING", "on") {}
  // Of the primary ES: the first ULT blocks until the second has run, for so long at most (-1: as long as it takes): whether it has.
  static bool others_run(ABT_pool pool, ABT_thread_attr attr, int most_ms) {
    struct Pair {
      int most_ms;
      int ends[2];
      bool meanwhile = false;
    } pair{most_ms, {}};
    EXPECT_EQ(pipe(pair.ends), 0);
    const auto blocks = [](void* arg) {
      auto& p = *static_cast<Pair*>(arg);
      pollfd wanted{p.ends[0], POLLIN, 0};
      p.meanwhile = poll(&wanted, 1, p.most_ms) == 1;
    };
    const auto runs = [](void* arg) { EXPECT_EQ(write(static_cast<Pair*>(arg)->ends[1], "x", 1), 1); };
    ABT_thread units[2];
    EXPECT_TRUE(abt_ok(ABT_thread_create(pool, blocks, &pair, attr, &units[0])));
    EXPECT_TRUE(abt_ok(ABT_thread_create(pool, runs, &pair, ABT_THREAD_ATTR_NULL, &units[1])));
    for (ABT_thread& unit : units) EXPECT_TRUE(abt_ok(ABT_thread_free(&unit)));
    close(pair.ends[0]);
    close(pair.ends[1]);
    return pair.meanwhile;
  }
};

TEST_F(AbtExtBlocking, OfAUnit) {
  const ABT_pool pool = main_pool();
  ABT_thread_attr attr;
  ASSERT_TRUE(abt_ok(ABT_thread_attr_create(&attr)));
  EXPECT_TRUE(others_run(pool, attr, -1));
  ASSERT_TRUE(abt_ok(ABTX_thread_attr_set_blocking(attr, ABTX_BLOCKING_UNAWARE)));
  EXPECT_FALSE(others_run(pool, attr, 100));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_ARG, ABTX_thread_attr_set_blocking(attr, static_cast<ABTX_blocking_kind>(3))));
  EXPECT_TRUE(abt_ok(ABT_thread_attr_free(&attr)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD_ATTR, ABTX_thread_attr_set_blocking(attr, ABTX_BLOCKING_UNAWARE)));
}

// Runs a unit that blocks, as a scheduler would, and waits in between.
void schedule_one_that_blocks() {
  ABT_pool pool;
  ASSERT_TRUE(abt_ok(ABT_pool_create_basic(ABT_POOL_FIFO, ABT_POOL_ACCESS_MPMC, ABT_FALSE, &pool)));
  const auto blocks = [](void*) { usleep(20'000); };
  ABT_thread unit;
  ASSERT_TRUE(abt_ok(ABT_thread_create(pool, blocks, nullptr, ABT_THREAD_ATTR_NULL, &unit)));
  for (ABT_thread_state state = ABT_THREAD_STATE_READY; state != ABT_THREAD_STATE_TERMINATED;) {
    ABT_thread next = ABT_THREAD_NULL;
    ASSERT_TRUE(abt_ok(ABT_pool_pop_thread(pool, &next)));
    if (next != ABT_THREAD_NULL) {
      EXPECT_TRUE(abt_ok(ABT_self_schedule(next, ABT_POOL_NULL)));
    }
    ABTX_sleep(50e-6);
    ASSERT_TRUE(abt_ok(ABT_thread_get_state(unit, &state)));
  }
  EXPECT_TRUE(abt_ok(ABT_thread_free(&unit)));
  EXPECT_TRUE(abt_ok(ABT_pool_free(&pool)));
}

// It would take main's kernel thread along.
TEST_F(AbtExtBlocking, OfAUnitThatMainRuns) {
  const pthread_t mine = pthread_self();
  schedule_one_that_blocks();
  EXPECT_TRUE(pthread_equal(pthread_self(), mine));
  ABT_thread on_mains_stack;
  ASSERT_TRUE(abt_ok(ABT_thread_create(main_pool(), [](void*) { schedule_one_that_blocks(); }, nullptr, ABT_THREAD_ATTR_NULL, &on_mains_stack)));
  EXPECT_TRUE(abt_ok(ABT_thread_free(&on_mains_stack)));
  EXPECT_TRUE(pthread_equal(pthread_self(), mine));
}

TEST_F(AbtExtBlocking, OfAPool) {
  const ABT_pool pool = main_pool();
  ASSERT_TRUE(abt_ok(ABTX_pool_set_blocking(pool, ABTX_BLOCKING_UNAWARE)));
  EXPECT_FALSE(others_run(pool, ABT_THREAD_ATTR_NULL, 100));
  ABT_thread_attr attr;
  ASSERT_TRUE(abt_ok(ABT_thread_attr_create(&attr)));
  ASSERT_TRUE(abt_ok(ABTX_thread_attr_set_blocking(attr, ABTX_BLOCKING_AWARE)));
  EXPECT_TRUE(others_run(pool, attr, -1));
  EXPECT_TRUE(abt_ok(ABT_thread_attr_free(&attr)));
  ASSERT_TRUE(abt_ok(ABTX_pool_set_blocking(pool, ABTX_BLOCKING_DEFAULT)));
  EXPECT_TRUE(others_run(pool, ABT_THREAD_ATTR_NULL, -1));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL, ABTX_pool_set_blocking(ABT_POOL_NULL, ABTX_BLOCKING_UNAWARE)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_ARG, ABTX_pool_set_blocking(pool, static_cast<ABTX_blocking_kind>(-1))));
}

TEST_F(AbtExt, DumpTellsOfUnitsThatWait) {
  const Eventuals eventuals(1);
  Call waiter([&] { EXPECT_TRUE(abt_ok(ABT_eventual_wait(eventuals.handles[0], nullptr))); });
  weft_unit_t unit = waiter.ult();
  ASSERT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  EXPECT_TRUE(abt_ok(ABTX_dump(fileno(file))));
  std::rewind(file);
  std::string text(100'000, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  EXPECT_NE(text.find("waits for an event"), std::string::npos) << text;
  eventuals.set(0);
  EXPECT_TRUE(ok(weft_free(&unit)));
}

TEST(AbtExtAlone, NeedsTheRuntimeForADumpOnly) {
  EXPECT_TRUE(abt_fails(ABT_ERR_UNINITIALIZED, ABTX_dump(STDERR_FILENO)));
  EXPECT_TRUE(abt_ok(ABTX_sleep(0.001)));
}

}  // namespace
