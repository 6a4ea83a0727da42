// Timed waits, recursive mutex, rwlock, latch, semaphore, eventual, future, wait for any, channel, once: between
// ULTs, and between ULTs and kernel threads.
#include <memory>
#include <thread>
#include <vector>

#include "support/runtime_fixture.hpp"

namespace {

using namespace weft_test;

constexpr uint64_t kMs = 1'000'000;

class OneWorkerPrimitives : public OneWorkerTest {};
class Primitives : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, Primitives, kWorkerCounts);

// Runs each of them in a ULT at the same time.
void all_at_once(const std::vector<std::function<void()>>& bodies) {
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  for (const auto& body : bodies) {
    calls.push_back(std::make_unique<Call>(body));
    units.push_back(calls.back()->ult());
  }
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
}

// ---- time ----

TEST_P(Primitives, SleepTakesItsTimeAndLetsOthersRun) {
  bool other = false;
  Call call([&] { other = true; });
  weft_unit_t unit = call.ult();
  const uint64_t start = weft_now();
  EXPECT_TRUE(ok(weft_sleep(5 * kMs)));
  EXPECT_GE(weft_now() - start, 5 * kMs);
  EXPECT_TRUE(other || workers() > 1);
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_TRUE(ok(weft_sleep_until(start)));  // in the past
  in_tasklet([] { EXPECT_TRUE(fails(WEFT_ERR_CONTEXT, weft_sleep(1))); });
  on_klt([] {
    const uint64_t before = weft_now();
    EXPECT_TRUE(ok(weft_sleep(2 * kMs)));
    EXPECT_GE(weft_now() - before, 2 * kMs);
  });
  EXPECT_EQ(weft_after(WEFT_NEVER), WEFT_NEVER);
}

TEST_P(Primitives, ManySleepersWakeInOrderOfTheirDeadlines) {
  constexpr int kSleepers = 500;
  std::atomic<int> early = 0;
  std::vector<std::function<void()>> bodies;
  const uint64_t start = weft_now();
  for (int i = 0; i < kSleepers; ++i) {
    bodies.push_back([&, i] {
      for (int round = 1; round <= 3; ++round) {
        const uint64_t deadline = start + static_cast<uint64_t>((i * 7919) % 97 + 97 * round) * kMs / 10;
        EXPECT_TRUE(ok(weft_sleep_until(deadline)));
        if (weft_now() < deadline) ++early;
      }
    });
  }
  all_at_once(bodies);
  EXPECT_EQ(early, 0);
}

TEST_P(Primitives, ASleeperIsWokenWhileItsWorkerComputes) {
  if (workers() < 2) GTEST_SKIP() << "needs another worker";
  std::atomic<bool> awake = false;
  Call sleeper([&] {
    EXPECT_TRUE(ok(weft_sleep(20 * kMs)));
    awake = true;
  });
  weft_unit_t unit = sleeper.ult();
  ASSERT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
  const uint64_t end = weft_after(10'000 * kMs);
  while (!awake && weft_now() < end) {
  }
  EXPECT_TRUE(awake);
  EXPECT_TRUE(ok(weft_free(&unit)));
}

// The worker that is made falls asleep first, while this one looks round still, and watches over the deadline; it ends while this one sleeps.
TEST(Deadlines, ASleeperIsWokenWhoseWatcherHasStopped) {
  weft_options_t options{};
  options.workers = 1;
  options.bind = -1;
  options.idle_spin_us = 3000;
  ASSERT_TRUE(ok(weft_initialize(&options)));
  for (int i = 0; i < 10; ++i) {
    std::atomic<bool> sleeps = false;
    std::thread outside([&] {
      weft_sched_t sched = nullptr;
      weft_worker_t worker = nullptr;
      EXPECT_TRUE(ok(weft_sched_create(WEFT_SCHED_BASIC_WAIT, 0, nullptr, &sched)));
      while (!sleeps) std::this_thread::yield();
      EXPECT_TRUE(ok(weft_worker_create(sched, &worker)));
      std::this_thread::sleep_for(std::chrono::milliseconds(6));
      EXPECT_TRUE(ok(weft_worker_free(&worker)));
      EXPECT_TRUE(ok(weft_sched_free(&sched)));
    });
    sleeps = true;
    EXPECT_TRUE(ok(weft_sleep(20 * kMs)));
    outside.join();
  }
  EXPECT_TRUE(ok(weft_finalize()));
}

// Who yields in a loop, alone, does not keep deadlines from coming: nobody else could look at them.
TEST_F(OneWorkerPrimitives, DeadlinesComeWhileOneYieldsInALoop) {
  bool awake = false;
  Call sleeper([&] {
    EXPECT_TRUE(ok(weft_sleep(2 * kMs)));
    awake = true;
  });
  weft_unit_t unit = sleeper.ult();
  EXPECT_TRUE(wait_until([&] { return awake; }));
  EXPECT_TRUE(ok(weft_free(&unit)));
}

TEST_F(OneWorkerPrimitives, DeadlinesComeUnderASchedulerThatNeverIdles) {
  weft_sched_ops_t ops{};
  ops.run = [](weft_sched_t sched, void*) {
    weft_pool_t pool;
    weft_sched_pools(sched, 1, &pool);
    while (!weft_sched_should_stop(sched)) {
      if (weft_unit_t unit = weft_pool_pop(pool)) weft_sched_run(sched, unit);
    }
  };
  weft_worker_t self = weft_worker_self();
  weft_sched_t before = weft_worker_sched(self);
  weft_sched_t sched;
  ASSERT_TRUE(ok(weft_sched_create_user(&ops, nullptr, 0, nullptr, &sched)));
  ASSERT_TRUE(ok(weft_worker_set_sched(self, sched)));
  EXPECT_TRUE(ok(weft_sleep(3 * kMs)));
  ASSERT_TRUE(ok(weft_worker_set_sched(self, before)));
  EXPECT_TRUE(ok(weft_sched_free(&sched)));
}

// ---- timed waits ----

TEST_P(Primitives, EveryTimedWaitEndsWithItsDeadline) {
  weft_mutex_t mutex = WEFT_MUTEX_INIT;
  weft_mutex_t held = WEFT_MUTEX_INIT;
  weft_cond_t cond = WEFT_COND_INIT;
  weft_rwlock_t rwlock = WEFT_RWLOCK_INIT;
  weft_sem_t sem = WEFT_SEM_INIT(0);
  weft_latch_t latch = WEFT_LATCH_INIT(1);
  weft_event_t event = WEFT_EVENT_INIT;
  weft_future_t future = WEFT_FUTURE_INIT(1, nullptr, nullptr, nullptr);
  weft_channel_t nobody_receives;
  weft_channel_t nobody_sends;
  ASSERT_TRUE(ok(weft_channel_create(0, sizeof(int), &nobody_receives)));
  ASSERT_TRUE(ok(weft_channel_create(0, sizeof(int), &nobody_sends)));
  ASSERT_TRUE(ok(weft_mutex_lock(&held)));
  ASSERT_TRUE(ok(weft_rwlock_wrlock(&rwlock)));
  const auto each = [&] {
    int element = 1;
    const auto times_out = [](const std::function<int(uint64_t)>& wait) {
      const uint64_t deadline = weft_after(2 * kMs);
      EXPECT_TRUE(fails(WEFT_ERR_TIMEOUT, wait(deadline)));
      EXPECT_GE(weft_now(), deadline);
      EXPECT_TRUE(fails(WEFT_ERR_TIMEOUT, wait(1)));  // long ago
    };
    times_out([&](uint64_t t) { return weft_mutex_lock_until(&held, t); });
    times_out([&](uint64_t t) { return weft_rwlock_rdlock_until(&rwlock, t); });
    times_out([&](uint64_t t) { return weft_rwlock_wrlock_until(&rwlock, t); });
    times_out([&](uint64_t t) { return weft_sem_acquire_until(&sem, t); });
    times_out([&](uint64_t t) { return weft_latch_wait_until(&latch, t); });
    times_out([&](uint64_t t) { return weft_event_wait_until(&event, t); });
    times_out([&](uint64_t t) { return weft_future_wait_until(&future, t); });
    times_out([&](uint64_t t) { return weft_channel_send_until(nobody_receives, &element, t); });
    times_out([&](uint64_t t) { return weft_channel_receive_until(nobody_sends, &element, t); });
    const weft_waitable_t any[] = {{WEFT_WAITABLE_EVENT, &event}, {WEFT_WAITABLE_LATCH, &latch}};
    times_out([&](uint64_t t) { return weft_wait_any_until(2, any, t, nullptr); });
    EXPECT_TRUE(ok(weft_mutex_lock(&mutex)));
    times_out([&](uint64_t t) { return weft_cond_wait_until(&cond, &mutex, t); });
    EXPECT_TRUE(fails(WEFT_ERR_BUSY, weft_mutex_trylock(&mutex)));  // it is held again
    EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
  };
  in_ult(each);
  on_klt(each);
  all_at_once(std::vector<std::function<void()>>(8, each));
  EXPECT_TRUE(ok(weft_mutex_unlock(&held)));
  EXPECT_TRUE(ok(weft_rwlock_unlock(&rwlock)));
  EXPECT_TRUE(ok(weft_channel_free(&nobody_receives)));
  EXPECT_TRUE(ok(weft_channel_free(&nobody_sends)));
  // Nothing of those who gave up is left.
  EXPECT_TRUE(ok(weft_mutex_trylock(&held)));
  EXPECT_TRUE(ok(weft_mutex_unlock(&held)));
  EXPECT_TRUE(ok(weft_rwlock_trywrlock(&rwlock)));
  EXPECT_TRUE(ok(weft_rwlock_unlock(&rwlock)));
}

TEST_P(Primitives, ADeadlineInThePastOnlyTriesInATaskletToo) {
  weft_mutex_t held = WEFT_MUTEX_INIT;
  weft_rwlock_t rwlock = WEFT_RWLOCK_INIT;
  weft_sem_t sem = WEFT_SEM_INIT(0);
  weft_event_t event = WEFT_EVENT_INIT;
  weft_channel_t channel;
  ASSERT_TRUE(ok(weft_channel_create(0, sizeof(int), &channel)));
  ASSERT_TRUE(ok(weft_mutex_lock(&held)));
  ASSERT_TRUE(ok(weft_rwlock_wrlock(&rwlock)));
  in_tasklet([&] {
    int element = 1;
    const weft_waitable_t any[] = {{WEFT_WAITABLE_EVENT, &event}};
    for (const auto& [deadline, error] :
         {std::pair{uint64_t{1}, WEFT_ERR_TIMEOUT}, {WEFT_NEVER, WEFT_ERR_CONTEXT}}) {
      EXPECT_TRUE(fails(error, weft_mutex_lock_until(&held, deadline)));
      EXPECT_TRUE(fails(error, weft_rwlock_rdlock_until(&rwlock, deadline)));
      EXPECT_TRUE(fails(error, weft_sem_acquire_until(&sem, deadline)));
      EXPECT_TRUE(fails(error, weft_event_wait_until(&event, deadline)));
      EXPECT_TRUE(fails(error, weft_channel_receive_until(channel, &element, deadline)));
      EXPECT_TRUE(fails(error, weft_wait_any_until(1, any, deadline, nullptr)));
    }
  });
  EXPECT_TRUE(ok(weft_mutex_unlock(&held)));
  EXPECT_TRUE(ok(weft_rwlock_unlock(&rwlock)));
  EXPECT_TRUE(ok(weft_channel_free(&channel)));
}

TEST_P(Primitives, ATimedWaitThatIsAnsweredIsNoTimeout) {
  weft_event_t event = WEFT_EVENT_INIT;
  weft_sem_t sem = WEFT_SEM_INIT(0);
  all_at_once({[&] { EXPECT_TRUE(ok(weft_event_wait_until(&event, weft_after(60'000 * kMs)))); },
               [&] { EXPECT_TRUE(ok(weft_sem_acquire_until(&sem, weft_after(60'000 * kMs)))); },
               [&] {
                 weft_yield();
                 EXPECT_TRUE(ok(weft_event_set(&event)));
                 EXPECT_TRUE(ok(weft_sem_release(&sem, 1)));
               }});
}

// ---- mutexes ----

TEST_P(Primitives, RecursiveMutexCountsItsOwner) {
  weft_recursive_mutex_t mutex = WEFT_RECURSIVE_MUTEX_INIT;
  EXPECT_TRUE(ok(weft_recursive_mutex_lock(&mutex)));
  EXPECT_TRUE(ok(weft_recursive_mutex_trylock(&mutex)));
  EXPECT_TRUE(ok(weft_recursive_mutex_lock_until(&mutex, 0)));
  const auto others = [&] {
    EXPECT_TRUE(fails(WEFT_ERR_BUSY, weft_recursive_mutex_trylock(&mutex)));
    EXPECT_TRUE(fails(WEFT_ERR_NOT_OWNER, weft_recursive_mutex_unlock(&mutex)));
    EXPECT_TRUE(fails(WEFT_ERR_TIMEOUT, weft_recursive_mutex_lock_until(&mutex, weft_after(kMs))));
  };
  in_ult(others);
  on_klt(others);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(ok(weft_recursive_mutex_unlock(&mutex)));
  EXPECT_TRUE(fails(WEFT_ERR_NOT_OWNER, weft_recursive_mutex_unlock(&mutex)));
  on_klt([&] {
    EXPECT_TRUE(ok(weft_recursive_mutex_lock(&mutex)));
    EXPECT_TRUE(ok(weft_recursive_mutex_unlock(&mutex)));
  });
}

TEST(RecursiveMutex, IsMainsBeforeWhileAndAfterTheRuntimeRuns) {
  weft_recursive_mutex_t before = WEFT_RECURSIVE_MUTEX_INIT, while_it_runs = WEFT_RECURSIVE_MUTEX_INIT;
  EXPECT_TRUE(ok(weft_recursive_mutex_lock(&before)));
  ASSERT_TRUE(ok(weft_initialize(nullptr)));
  EXPECT_TRUE(ok(weft_recursive_mutex_lock(&before)));
  EXPECT_TRUE(ok(weft_recursive_mutex_unlock(&before)));
  in_ult([&] { EXPECT_TRUE(fails(WEFT_ERR_NOT_OWNER, weft_recursive_mutex_unlock(&before))); });
  EXPECT_TRUE(ok(weft_recursive_mutex_unlock(&before)));
  in_ult([&] {
    EXPECT_TRUE(ok(weft_recursive_mutex_lock(&before)));
    EXPECT_TRUE(ok(weft_recursive_mutex_unlock(&before)));
  });
  EXPECT_TRUE(ok(weft_recursive_mutex_lock(&while_it_runs)));
  ASSERT_TRUE(ok(weft_finalize()));
  EXPECT_TRUE(ok(weft_recursive_mutex_unlock(&while_it_runs)));
}

TEST_F(OneWorkerPrimitives, MutexIsHandedToWaitersHereInTheOrderOfTheirRank) {
  weft_mutex_t mutex = WEFT_MUTEX_INIT;
  std::vector<int> order;
  const auto user = [&](int me, int (*lock)(weft_mutex_t*)) {
    return [&, me, lock] {
      EXPECT_TRUE(ok(lock(&mutex)));
      order.push_back(me);
      EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
    };
  };
  EXPECT_TRUE(ok(weft_mutex_lock(&mutex)));
  Call last([&] {
    weft_yield();
    weft_yield();
    EXPECT_TRUE(order.empty());
    EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
    EXPECT_TRUE(ok(weft_mutex_lock(&mutex)));  // it was handed over: the caller queues behind
    order.push_back(9);
    EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
  });
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  const auto add = [&](std::function<void()> f) {
    calls.push_back(std::make_unique<Call>(std::move(f)));
    units.push_back(calls.back()->ult());
  };
  add(user(5, weft_mutex_lock_low));
  add(user(1, weft_mutex_lock));
  add(user(2, weft_mutex_lock));
  add(user(0, weft_mutex_lock_high));
  add(user(6, weft_mutex_lock_low));
  units.push_back(last.ult());
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 9, 5, 6}));
}

// ---- rwlock ----

TEST_P(Primitives, RwlockKeepsReadersAndWritersApart) {
  weft_rwlock_t lock = WEFT_RWLOCK_INIT;
  std::atomic<int> readers = 0;
  std::atomic<int> writers = 0;
  const auto read = [&] {
    for (int i = 0; i < 300; ++i) {
      EXPECT_TRUE(ok(weft_rwlock_rdlock(&lock)));
      ++readers;
      EXPECT_EQ(writers, 0);
      if (i % 3 == 0) weft_yield();
      --readers;
      EXPECT_TRUE(ok(weft_rwlock_unlock(&lock)));
    }
  };
  const auto write = [&] {
    for (int i = 0; i < 300; ++i) {
      const uint64_t deadline = i % 2 == 0 ? WEFT_NEVER : weft_after(20'000);
      const int error = weft_rwlock_wrlock_until(&lock, deadline);
      if (error != WEFT_OK) {
        EXPECT_TRUE(fails(WEFT_ERR_TIMEOUT, error));
        continue;
      }
      EXPECT_EQ(++writers, 1);
      EXPECT_EQ(readers, 0);
      if (i % 4 == 0) weft_yield();
      --writers;
      EXPECT_TRUE(ok(weft_rwlock_unlock(&lock)));
    }
  };
  const auto read_twice = [&] {
    for (int i = 0; i < 300; ++i) {
      EXPECT_TRUE(ok(i % 2 == 0 ? weft_rwlock_rdlock(&lock) : weft_rwlock_rdlock_high(&lock)));
      ++readers;
      if (i % 5 == 0) weft_yield();
      EXPECT_TRUE(ok(weft_rwlock_rdlock_high(&lock)));
      EXPECT_EQ(writers, 0);
      EXPECT_TRUE(ok(weft_rwlock_unlock(&lock)));
      --readers;
      EXPECT_TRUE(ok(weft_rwlock_unlock(&lock)));
    }
  };
  std::vector<std::function<void()>> bodies(4, read);
  bodies.resize(6, read_twice);
  bodies.resize(9, write);
  std::atomic<bool> done = false;
  std::thread klt([&] {
    read();
    write();
    done = true;
  });
  all_at_once(bodies);
  EXPECT_TRUE(wait_until([&] { return done.load(); }));
  klt.join();
  EXPECT_TRUE(fails(WEFT_ERR_NOT_OWNER, weft_rwlock_unlock(&lock)));
}

TEST_F(OneWorkerPrimitives, ReadersDoNotPassAWriterThatWaits) {
  weft_rwlock_t lock = WEFT_RWLOCK_INIT;
  std::vector<int> order;
  EXPECT_TRUE(ok(weft_rwlock_rdlock(&lock)));
  Call writer([&] {
    EXPECT_TRUE(ok(weft_rwlock_wrlock(&lock)));
    order.push_back(1);
    EXPECT_TRUE(ok(weft_rwlock_unlock(&lock)));
  });
  Call reader([&] {
    EXPECT_TRUE(fails(WEFT_ERR_BUSY, weft_rwlock_tryrdlock(&lock)));
    EXPECT_TRUE(ok(weft_rwlock_rdlock(&lock)));
    order.push_back(2);
    weft_yield();
    EXPECT_TRUE(ok(weft_rwlock_unlock(&lock)));
  });
  std::vector<weft_unit_t> units = {writer.ult(), reader.ult(), reader.ult()};
  weft_yield();
  EXPECT_TRUE(ok(weft_rwlock_unlock(&lock)));
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  EXPECT_EQ(order, (std::vector<int>{1, 2, 2}));
}

TEST_F(OneWorkerPrimitives, HighReadersPassWritersThatWait) {
  weft_rwlock_t lock = WEFT_RWLOCK_INIT;
  std::vector<int> order;
  EXPECT_TRUE(ok(weft_rwlock_rdlock(&lock)));
  const auto write = [&] {
    EXPECT_TRUE(ok(weft_rwlock_wrlock(&lock)));
    order.push_back(1);
    weft_yield();
    EXPECT_TRUE(ok(weft_rwlock_unlock(&lock)));
  };
  Call writer(write);
  Call reader([&] {
    EXPECT_TRUE(ok(weft_rwlock_rdlock_high(&lock)));
    order.push_back(2);
    EXPECT_TRUE(ok(weft_rwlock_unlock(&lock)));
  });
  std::vector<weft_unit_t> units = {writer.ult(), writer.ult(), reader.ult()};
  weft_yield();
  EXPECT_EQ(order, (std::vector<int>{2}));  // it has not waited
  EXPECT_TRUE(ok(weft_rwlock_rdlock_high(&lock)));
  EXPECT_TRUE(ok(weft_rwlock_unlock(&lock)));
  units.push_back(reader.ult());
  EXPECT_TRUE(ok(weft_rwlock_unlock(&lock)));  // to the first writer; the reader waits in front of the second
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  EXPECT_EQ(order, (std::vector<int>{2, 1, 2, 1}));
  EXPECT_TRUE(fails(WEFT_ERR_NOT_OWNER, weft_rwlock_unlock(&lock)));
}

TEST_F(OneWorkerPrimitives, ReadersBehindAWriterThatGivesUpEnter) {
  weft_rwlock_t lock = WEFT_RWLOCK_INIT;
  EXPECT_TRUE(ok(weft_rwlock_rdlock(&lock)));
  bool read = false;
  Call writer([&] {
    EXPECT_TRUE(fails(WEFT_ERR_TIMEOUT, weft_rwlock_wrlock_until(&lock, weft_after(3 * kMs))));
  });
  Call reader([&] {
    EXPECT_TRUE(ok(weft_rwlock_rdlock(&lock)));
    read = true;
    EXPECT_TRUE(ok(weft_rwlock_unlock(&lock)));
  });
  std::vector<weft_unit_t> units = {writer.ult(), reader.ult()};
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  EXPECT_TRUE(read);
  EXPECT_TRUE(ok(weft_rwlock_unlock(&lock)));
}

// ---- barrier ----

TEST_P(Primitives, BarrierPhasesCompletionAndDrop) {
  static int completed;
  completed = 0;
  weft_barrier_t barrier = WEFT_BARRIER_INIT_COMPLETE(3, [](void*) { ++completed; }, nullptr);
  uint32_t phase = 0;
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_barrier_arrive(&barrier, 4, &phase)));
  EXPECT_TRUE(ok(weft_barrier_arrive(&barrier, 2, &phase)));
  all_at_once({[&] { EXPECT_TRUE(ok(weft_barrier_wait_phase(&barrier, phase))); EXPECT_EQ(completed, 1); },
               [&] { EXPECT_TRUE(ok(weft_barrier_wait(&barrier, nullptr))); }});
  EXPECT_TRUE(ok(weft_barrier_wait_phase(&barrier, phase)));
  EXPECT_TRUE(ok(weft_barrier_drop(&barrier)));
  all_at_once({[&] { EXPECT_TRUE(ok(weft_barrier_wait(&barrier, nullptr))); },
               [&] { EXPECT_TRUE(ok(weft_barrier_wait(&barrier, nullptr))); }});
  EXPECT_EQ(completed, 2);
  all_at_once({[&] { EXPECT_TRUE(ok(weft_barrier_wait(&barrier, nullptr))); },
               [&] { EXPECT_TRUE(ok(weft_barrier_wait(&barrier, nullptr))); }});
  EXPECT_EQ(completed, 3);
}

// ---- latch, semaphore, event, future, once ----

TEST_P(Primitives, LatchOpensAtZero) {
  weft_latch_t none = WEFT_LATCH_INIT(0);
  EXPECT_TRUE(weft_latch_is_down(&none));
  EXPECT_TRUE(ok(weft_latch_wait(&none)));
  weft_latch_t latch = WEFT_LATCH_INIT(3);
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_latch_count_down(&latch, 4)));
  std::atomic<int> passed = 0;
  const auto waiter = [&] {
    EXPECT_TRUE(ok(weft_latch_wait(&latch)));
    ++passed;
  };
  all_at_once({waiter, waiter, [&] {
                 weft_yield();
                 EXPECT_FALSE(weft_latch_is_down(&latch));
                 EXPECT_EQ(passed, 0);
                 EXPECT_TRUE(ok(weft_latch_count_down(&latch, 2)));
                 EXPECT_TRUE(ok(weft_latch_count_down(&latch, 1)));
               }});
  EXPECT_EQ(passed, 2);
}

TEST_P(Primitives, SemaphoreLosesNothing) {
  weft_sem_t sem = WEFT_SEM_INIT(2);
  EXPECT_TRUE(ok(weft_sem_tryacquire(&sem)));
  EXPECT_EQ(weft_sem_value(&sem), 1u);
  EXPECT_TRUE(ok(weft_sem_acquire(&sem)));
  EXPECT_TRUE(fails(WEFT_ERR_BUSY, weft_sem_tryacquire(&sem)));
  constexpr int kRounds = 2000;
  std::atomic<int> got = 0;
  const auto taker = [&] {
    for (int i = 0; i < kRounds; ++i) {
      const uint64_t deadline = i % 3 == 0 ? weft_after(5'000) : WEFT_NEVER;
      while (weft_sem_acquire_until(&sem, deadline) != WEFT_OK) {
        if (weft_sem_acquire_until(&sem, WEFT_NEVER) == WEFT_OK) break;
      }
      ++got;
    }
  };
  const auto giver = [&] {
    for (int i = 0; i < kRounds; ++i) {
      EXPECT_TRUE(ok(weft_sem_release(&sem, 1)));
      if (i % 5 == 0) weft_yield();
    }
  };
  std::thread klt(giver);
  all_at_once({taker, taker, taker, giver, giver});
  klt.join();
  EXPECT_EQ(got, 3 * kRounds);
  EXPECT_EQ(weft_sem_value(&sem), 0u);
  EXPECT_TRUE(fails(WEFT_ERR_LIMIT, weft_sem_release(&sem, 0x80000000u)));
}

TEST_P(Primitives, EventCarriesAValueUntilItIsReset) {
  weft_event_t event = WEFT_EVENT_INIT;
  int x = 0;
  EXPECT_EQ(weft_event_value(&event), nullptr);
  all_at_once({[&] {
                 EXPECT_TRUE(ok(weft_event_wait(&event)));
                 EXPECT_EQ(weft_event_value(&event), &x);
               },
               [&] { EXPECT_TRUE(ok(weft_event_set_value(&event, &x))); }});
  EXPECT_TRUE(fails(WEFT_ERR_STATE, weft_event_set_value(&event, nullptr)));
  EXPECT_TRUE(ok(weft_event_reset(&event)));
  EXPECT_FALSE(weft_event_is_set(&event));
  EXPECT_EQ(weft_event_value(&event), nullptr);
}

TEST_P(Primitives, AnEventMayGoAsSoonAsItsWaiterPasses) {
  for (int i = 0; i < 2000; ++i) {
    auto event = std::make_unique<weft_event_t>(weft_event_t WEFT_EVENT_INIT);
    weft_event_t* raw = event.get();
    all_at_once({[&] {
                   EXPECT_TRUE(ok(weft_event_wait(event.get())));
                   EXPECT_TRUE(ok(weft_event_reset(event.get())));  // after the set
                   event.reset();
                 },
                 [raw] { EXPECT_TRUE(ok(weft_event_set_value(raw, nullptr))); }});
  }
}

TEST_P(Primitives, FutureOfManyParts) {
  constexpr int kParts = 50;
  static int sum;
  sum = 0;
  int numbers[kParts];
  void* values[kParts];
  const auto add = [](void** v, void* arg) {
    for (int i = 0; i < kParts; ++i) sum += *static_cast<int*>(v[i]);
    EXPECT_EQ(arg, &sum);
  };
  weft_future_t future = WEFT_FUTURE_INIT(kParts, values, add, &sum);
  std::vector<std::function<void()>> bodies(3, [&] {
    EXPECT_TRUE(ok(weft_future_wait(&future)));
    EXPECT_EQ(sum, kParts * (kParts - 1) / 2);
  });
  for (int i = 0; i < kParts; ++i) {
    numbers[i] = i;
    bodies.push_back([&, i] { EXPECT_TRUE(ok(weft_future_set(&future, &numbers[i]))); });
  }
  all_at_once(bodies);
  EXPECT_TRUE(weft_future_is_ready(&future));
  EXPECT_TRUE(fails(WEFT_ERR_STATE, weft_future_set(&future, nullptr)));
  EXPECT_TRUE(ok(weft_future_reset(&future)));
  EXPECT_FALSE(weft_future_is_ready(&future));
}

TEST_P(Primitives, OnceIsCalledOnceAndAgainAfterAFailure) {
  static std::atomic<int> calls;
  calls = 0;
  weft_once_t once = WEFT_ONCE_INIT;
  std::atomic<int> failed = 0;
  std::vector<std::function<void()>> bodies(20, [&] {
    const int error = weft_once(
        &once,
        [](void*) {
          const int mine = ++calls;
          weft_yield();
          return mine == 3;
        },
        nullptr);
    if (error == WEFT_ERR_STATE) ++failed;
  });
  all_at_once(bodies);
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(failed, 2);
}

// ---- any of several ----

TEST_P(Primitives, WaitAnyTakesTheOneThatOpens) {
  for (int n : {2, 16, 40}) {
    std::vector<weft_event_t> events(static_cast<size_t>(n), weft_event_t WEFT_EVENT_INIT);
    std::vector<weft_waitable_t> any;
    for (weft_event_t& event : events) any.push_back({WEFT_WAITABLE_EVENT, &event});
    const auto wait_for_the_last = [&] {
      size_t which = 0;
      EXPECT_TRUE(ok(weft_wait_any(any.size(), any.data(), &which)));
      EXPECT_EQ(which, any.size() - 1);
    };
    std::atomic<bool> done = false;
    std::thread klt([&] {
      wait_for_the_last();
      done = true;
    });
    all_at_once({wait_for_the_last, wait_for_the_last, [&] {
                   weft_yield();
                   EXPECT_TRUE(ok(weft_event_set(&events.back())));
                 }});
    EXPECT_TRUE(wait_until([&] { return done.load(); }));
    klt.join();
  }
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_wait_any(0, nullptr, nullptr)));
}

TEST_P(Primitives, WaitAnyOfThoseThatOpenAtOnce) {
  for (int i = 0; i < 1000; ++i) {
    weft_event_t event = WEFT_EVENT_INIT;
    weft_latch_t latch = WEFT_LATCH_INIT(1);
    weft_future_t future = WEFT_FUTURE_INIT(1, nullptr, nullptr, nullptr);
    const weft_waitable_t any[] = {
        {WEFT_WAITABLE_EVENT, &event}, {WEFT_WAITABLE_LATCH, &latch}, {WEFT_WAITABLE_FUTURE, &future}};
    all_at_once({[&] {
                   size_t which = 9;
                   const uint64_t deadline = i % 2 == 0 ? WEFT_NEVER : weft_after(3'000);
                   const int error = weft_wait_any_until(3, any, deadline, &which);
                   EXPECT_TRUE(error == WEFT_OK ? which < 3 : error == WEFT_ERR_TIMEOUT);
                 },
                 [&] { EXPECT_TRUE(ok(weft_event_set(&event))); },
                 [&] { EXPECT_TRUE(ok(weft_latch_count_down(&latch, 1))); },
                 [&] { EXPECT_TRUE(ok(weft_future_set(&future, nullptr))); }});
  }
}

// ---- channel ----

TEST_P(Primitives, ChannelDeliversEachElementOnce) {
  for (size_t capacity : {0u, 1u, 7u}) {
    weft_channel_t channel;
    ASSERT_TRUE(ok(weft_channel_create(capacity, sizeof(int), &channel)));
    constexpr int kEach = 1500;
    std::atomic<long> sum = 0;
    std::atomic<int> senders = 3;
    const auto send = [&](int base) {
      for (int i = 0; i < kEach; ++i) {
        const int element = base + i;
        int error = weft_channel_send_until(channel, &element, weft_after(i % 7 == 0 ? 2'000 : 60'000 * kMs));
        if (error == WEFT_ERR_TIMEOUT) error = weft_channel_send(channel, &element);
        EXPECT_TRUE(ok(error));
      }
      if (--senders == 0) {
        EXPECT_TRUE(ok(weft_channel_close(channel)));
      }
    };
    const auto receive = [&] {
      int element;
      for (;;) {
        int error = weft_channel_receive_until(channel, &element, weft_after(2'000));
        if (error == WEFT_ERR_TIMEOUT) error = weft_channel_receive(channel, &element);
        if (error != WEFT_OK) {
          EXPECT_TRUE(fails(WEFT_ERR_CLOSED, error));
          return;
        }
        sum += element;
      }
    };
    std::atomic<bool> done = false;
    std::thread klt([&] {
      send(2 * kEach);
      receive();
      done = true;
    });
    all_at_once({[&] { send(0); }, [&] { send(kEach); }, receive, receive});
    EXPECT_TRUE(wait_until([&] { return done.load(); }));
    klt.join();
    EXPECT_EQ(sum, 3L * kEach * (3 * kEach - 1) / 2);
    int element = 0;
    EXPECT_TRUE(fails(WEFT_ERR_CLOSED, weft_channel_send(channel, &element)));
    EXPECT_TRUE(fails(WEFT_ERR_STATE, weft_channel_close(channel)));
    EXPECT_TRUE(ok(weft_channel_free(&channel)));
  }
}

TEST_F(OneWorkerPrimitives, ChannelIsFirstInFirstOut) {
  weft_channel_t channel;
  ASSERT_TRUE(ok(weft_channel_create(2, sizeof(int), &channel)));
  for (int i : {1, 2}) EXPECT_TRUE(ok(weft_channel_trysend(channel, &i)));
  int element = 3;
  EXPECT_TRUE(fails(WEFT_ERR_BUSY, weft_channel_trysend(channel, &element)));
  Call third([&] {
    const int three = 3;
    EXPECT_TRUE(ok(weft_channel_send(channel, &three)));
  });
  weft_unit_t unit = third.ult();
  weft_yield();
  EXPECT_EQ(weft_channel_size(channel), 2u);
  EXPECT_TRUE(fails(WEFT_ERR_STATE, weft_channel_free(&channel)));
  for (int i : {1, 2, 3}) {
    EXPECT_TRUE(ok(weft_channel_tryreceive(channel, &element)));
    EXPECT_EQ(element, i);
  }
  EXPECT_TRUE(fails(WEFT_ERR_BUSY, weft_channel_tryreceive(channel, &element)));
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_TRUE(ok(weft_channel_free(&channel)));
}

// ---- others ----

TEST_P(Primitives, InvokeRunsInAUltAlsoFromAKernelThread) {
  const auto check = [](void* ran) {
    EXPECT_TRUE(weft_is_ult(weft_self()));
    *static_cast<bool*>(ran) = true;
  };
  bool ran = false;
  EXPECT_TRUE(ok(weft_invoke(check, &ran)));
  EXPECT_TRUE(ran);
  ran = false;
  on_klt([&] { EXPECT_TRUE(ok(weft_invoke(check, &ran))); });
  EXPECT_TRUE(ran);
}

TEST_P(Primitives, InvokeInATaskletIsRefusedBeforeAnythingRuns) {
  bool ran = false;
  in_tasklet([&] {
    EXPECT_TRUE(fails(WEFT_ERR_CONTEXT,
                      weft_invoke([](void* flag) { *static_cast<bool*>(flag) = true; }, &ran)));
  });
  weft_yield();
  EXPECT_FALSE(ran);
}

TEST(PrimitivesStatic, NoRuntimeIsNeeded) {
  ASSERT_FALSE(weft_initialized());
  static weft_rwlock_t rwlock = WEFT_RWLOCK_INIT;
  static weft_sem_t sem = WEFT_SEM_INIT(0);
  static weft_latch_t latch = WEFT_LATCH_INIT(1);
  std::thread other([] {
    EXPECT_TRUE(ok(weft_rwlock_wrlock(&rwlock)));
    EXPECT_TRUE(ok(weft_sem_release(&sem, 1)));
    EXPECT_TRUE(ok(weft_latch_wait(&latch)));
    EXPECT_TRUE(ok(weft_rwlock_unlock(&rwlock)));
  });
  EXPECT_TRUE(ok(weft_sem_acquire(&sem)));
  EXPECT_TRUE(fails(WEFT_ERR_TIMEOUT, weft_rwlock_rdlock_until(&rwlock, weft_after(kMs))));
  EXPECT_TRUE(ok(weft_latch_count_down(&latch, 1)));
  EXPECT_TRUE(ok(weft_rwlock_rdlock(&rwlock)));
  EXPECT_TRUE(ok(weft_rwlock_unlock(&rwlock)));
  other.join();
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_rwlock_rdlock(nullptr)));
  EXPECT_TRUE(fails(WEFT_ERR_UNINITIALIZED, weft_invoke([](void*) {}, nullptr)));
}

}  // namespace
