// ABT_pool_* of built-in pools, and ABT_pool_config_*.
#include <sys/resource.h>

#include "support/abt_units.hpp"

namespace {

using namespace weft_test;

class AbtPool : public AbtTest {};

void nothing(void*) {}

ABT_thread a_thread(ABT_pool pool) {
  ABT_thread thread = ABT_THREAD_NULL;
  EXPECT_TRUE(abt_ok(ABT_thread_create(pool, nothing, nullptr, ABT_THREAD_ATTR_NULL, &thread)));
  return thread;
}

// Those of a pool that nobody schedules are run by an ES of their own.
void run_and_free(ABT_pool pool, std::vector<ABT_thread> threads) {
  for (ABT_thread& thread : threads) {
    EXPECT_TRUE(abt_ok(ABT_pool_push_thread(main_pool(), thread)));
    EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
  }
  EXPECT_EQ(size_of(pool), 0u);
}

// As Thallium's examples do.
TEST_F(AbtPool, FreedBeforeTheStreamsThatHaveIt) {
  ABT_pool pool = ABT_POOL_NULL;
  ASSERT_TRUE(abt_ok(ABT_pool_create_basic(ABT_POOL_FIFO, ABT_POOL_ACCESS_MPMC, ABT_FALSE, &pool)));
  ABT_xstream streams[2];
  for (ABT_xstream& stream : streams) {
    ASSERT_TRUE(abt_ok(ABT_xstream_create_basic(ABT_SCHED_DEFAULT, 1, &pool, ABT_SCHED_CONFIG_NULL, &stream)));
  }
  ABT_thread thread = a_thread(pool);
  EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
  for (ABT_xstream stream : streams) EXPECT_TRUE(abt_ok(ABT_xstream_join(stream)));
  EXPECT_TRUE(abt_ok(ABT_pool_free(&pool)));
  EXPECT_EQ(pool, ABT_POOL_NULL);
  for (ABT_xstream& stream : streams) EXPECT_TRUE(abt_ok(ABT_xstream_free(&stream)));
}

TEST_F(AbtPool, KindsAndAccesses) {
  for (int kind = ABT_POOL_FIFO; kind <= ABT_POOL_RANDWS; ++kind) {
    for (int access = ABT_POOL_ACCESS_PRIV; access <= ABT_POOL_ACCESS_MPMC; ++access) {
      APool pool(static_cast<ABT_pool_kind>(kind), static_cast<ABT_pool_access>(access));
      ABT_pool_access is;
      EXPECT_TRUE(abt_ok(ABT_pool_get_access(pool, &is)));
      EXPECT_EQ(is, access);
      ABT_bool empty = ABT_FALSE;
      EXPECT_TRUE(abt_ok(ABT_pool_is_empty(pool, &empty)));
      EXPECT_EQ(empty, ABT_TRUE);
      std::vector<ABT_thread> threads;
      for (int i = 0; i < 3; ++i) threads.push_back(a_thread(pool));
      EXPECT_EQ(size_of(pool), 3u);
      EXPECT_EQ(total_size_of(pool), 3u);
      EXPECT_TRUE(abt_ok(ABT_pool_is_empty(pool, &empty)));
      EXPECT_EQ(empty, ABT_FALSE);
      for (int i = 0; i < 3; ++i) {
        ABT_thread popped = ABT_THREAD_NULL;
        EXPECT_TRUE(abt_ok(ABT_pool_pop_thread(pool, &popped)));
        EXPECT_NE(popped, ABT_THREAD_NULL);
        if (kind != ABT_POOL_RANDWS) {
          EXPECT_EQ(popped, threads[i]);
        }
      }
      ABT_thread popped = threads[0];
      EXPECT_TRUE(abt_ok(ABT_pool_pop_thread(pool, &popped)));
      EXPECT_EQ(popped, ABT_THREAD_NULL);
      run_and_free(pool, threads);
    }
  }
}

TEST_F(AbtPool, WrongArguments) {
  ABT_pool pool = nullptr;
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL_KIND, ABT_pool_create_basic(static_cast<ABT_pool_kind>(3),
                                                                      ABT_POOL_ACCESS_MPMC, ABT_TRUE, &pool)));
  EXPECT_EQ(pool, kAbt20 ? nullptr : ABT_POOL_NULL);
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL_ACCESS,
                        ABT_pool_create_basic(ABT_POOL_FIFO, static_cast<ABT_pool_access>(5), ABT_TRUE, &pool)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL_USER_DEF, ABT_pool_create(nullptr, ABT_POOL_CONFIG_NULL, &pool)));
  ABT_pool none = ABT_POOL_NULL;
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL, ABT_pool_free(&none)));
  size_t size;
  int id;
  void* data;
  ABT_bool flag;
  ABT_pool_access access;
  ABT_thread thread = ABT_THREAD_NULL;
  ABT_unit unit = ABT_UNIT_NULL;
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL, ABT_pool_get_size(none, &size)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL, ABT_pool_get_total_size(none, &size)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL, ABT_pool_is_empty(none, &flag)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL, ABT_pool_get_access(none, &access)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL, ABT_pool_get_id(none, &id)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL, ABT_pool_get_data(none, &data)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL, ABT_pool_set_data(none, nullptr)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL, ABT_pool_pop_thread(none, &thread)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL, ABT_pool_pop(none, &unit)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL, ABT_pool_pop_threads(none, &thread, 1, &size)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL, ABT_pool_pop_wait_thread(none, &thread, 0)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL, ABT_pool_pop_wait(none, &unit, 0)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL, ABT_pool_push_thread(none, thread)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL, ABT_pool_push_threads(none, &thread, 1)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL, ABT_pool_push(none, unit)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL, ABT_pool_remove(none, unit)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL, ABT_pool_print_all(none, nullptr, nullptr)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL, ABT_pool_print_all_threads(none, nullptr, nullptr)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL, ABT_pool_add_sched(none, ABT_SCHED_NULL)));
  APool some;
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_UNIT, ABT_pool_push(some, ABT_UNIT_NULL)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_UNIT, ABT_pool_remove(some, ABT_UNIT_NULL)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_SCHED, ABT_pool_add_sched(some, ABT_SCHED_NULL)));
  EXPECT_TRUE(abt_ok(ABT_pool_push_thread(some, ABT_THREAD_NULL)));
  EXPECT_EQ(size_of(some), 0u);
}

TEST_F(AbtPool, DataAndIds) {
  APool a, b;
  int id_a, id_b;
  EXPECT_TRUE(abt_ok(ABT_pool_get_id(a, &id_a)));
  EXPECT_TRUE(abt_ok(ABT_pool_get_id(b, &id_b)));
  EXPECT_EQ(id_b, id_a + 1);
  void* data = &a;
  EXPECT_TRUE(abt_ok(ABT_pool_get_data(a, &data)));
  EXPECT_EQ(data, nullptr);
  EXPECT_TRUE(abt_ok(ABT_pool_set_data(a, &b)));
  EXPECT_TRUE(abt_ok(ABT_pool_get_data(a, &data)));
  EXPECT_EQ(data, &b);
}

TEST_F(AbtPool, UnitsGoInAndOutOneByOne) {
  APool pool;
  std::vector<ABT_thread> threads;
  for (int i = 0; i < 4; ++i) threads.push_back(a_thread(pool));
  ABT_unit second;
  EXPECT_TRUE(abt_ok(ABT_thread_get_unit(threads[1], &second)));
  ABT_thread back;
  EXPECT_TRUE(abt_ok(ABT_unit_get_thread(second, &back)));
  EXPECT_EQ(back, threads[1]);
  EXPECT_TRUE(abt_ok(ABT_pool_remove(pool, second)));
  EXPECT_TRUE(abt_fails(ABT_ERR_POOL, ABT_pool_remove(pool, second)));
  EXPECT_EQ(size_of(pool), 3u);
  EXPECT_TRUE(abt_ok(ABT_pool_push(pool, second)));
  for (const int next : {0, 2, 3, 1}) {
    ABT_unit unit;
    EXPECT_TRUE(abt_ok(ABT_pool_pop(pool, &unit)));
    EXPECT_TRUE(abt_ok(ABT_unit_get_thread(unit, &back)));
    EXPECT_EQ(back, threads[next]);
  }
  run_and_free(pool, threads);
}

TEST_F(AbtPool, ManyAtOnce) {
  APool pool, other;
  std::vector<ABT_thread> threads;
  for (int i = 0; i < 5; ++i) threads.push_back(a_thread(pool));
  ABT_thread popped[8];
  size_t count = 77;
  EXPECT_TRUE(abt_ok(ABT_pool_pop_threads(pool, popped, 0, &count)));
  EXPECT_EQ(count, 77u);
  EXPECT_TRUE(abt_ok(ABT_pool_pop_threads(pool, popped, 3, &count)));
  EXPECT_EQ(count, 3u);
  EXPECT_TRUE(abt_ok(ABT_pool_pop_threads_ex(pool, popped + 3, 5, &count, 777)));
  EXPECT_EQ(count, 2u);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(popped[i], threads[i]);
  popped[5] = ABT_THREAD_NULL;  // left out
  EXPECT_TRUE(abt_ok(ABT_pool_push_threads(other, popped, 6)));
  EXPECT_EQ(size_of(other), 5u);
  for (const ABT_thread thread : threads) {
    ABT_pool home;
    EXPECT_TRUE(abt_ok(ABT_thread_get_last_pool(thread, &home)));
    EXPECT_EQ(home, other.handle);
    EXPECT_TRUE(abt_ok(ABT_pool_pop_thread(other, &popped[0])));
    EXPECT_EQ(popped[0], thread);
  }
  run_and_free(pool, threads);
}

TEST_F(AbtPool, PopWaits) {
  for (const ABT_pool_kind kind : {ABT_POOL_FIFO, ABT_POOL_FIFO_WAIT}) {
    APool pool(kind);
    ABT_thread thread = nullptr;
    const double start = ABT_get_wtime();
    EXPECT_TRUE(abt_ok(ABT_pool_pop_wait_thread(pool, &thread, 0.02)));
    EXPECT_EQ(thread, ABT_THREAD_NULL);
    EXPECT_GE(ABT_get_wtime() - start, 0.019);
    ABT_thread made = ABT_THREAD_NULL;
    std::thread pusher([&] { made = a_thread(pool); });
    EXPECT_TRUE(abt_ok(ABT_pool_pop_wait_thread_ex(pool, &thread, 60, 0)));
    pusher.join();
    EXPECT_EQ(thread, made);
    ABT_unit unit;
    EXPECT_TRUE(abt_ok(ABT_pool_pop_wait(pool, &unit, 0.001)));
    EXPECT_EQ(unit, ABT_UNIT_NULL);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    EXPECT_TRUE(abt_ok(ABT_pool_pop_timedwait(pool, &unit, ABT_get_wtime() + 0.001)));
#pragma GCC diagnostic pop
    EXPECT_EQ(unit, ABT_UNIT_NULL);
    run_and_free(pool, {thread});
  }
}

// Sleeping, not looking again and again: by the number of times that the thread has gone to sleep.
TEST_F(AbtPool, PopWaitsAsleep) {
  in_each_context([](Context context) {
    if (context == Context::kTasklet) return;
    APool pool;
    rusage before{}, after{};
    ABT_thread thread = ABT_THREAD_NULL;
    EXPECT_EQ(getrusage(RUSAGE_THREAD, &before), 0);
    EXPECT_TRUE(abt_ok(ABT_pool_pop_wait_thread(pool, &thread, 0.1)));
    EXPECT_EQ(getrusage(RUSAGE_THREAD, &after), 0);
    EXPECT_EQ(thread, ABT_THREAD_NULL);
    EXPECT_LE(after.ru_nvcsw - before.ru_nvcsw, 20);
  });
}

// Whoever serves a pool alone, and pushes to it without looking for sleepers, wakes a thread that waits for it.
void push_to_a_sleeper(ABT_pool pool) {
  constexpr int kRounds = 300;
  std::vector<ABT_thread> threads;
  std::atomic<int> popped = 0;
  const auto pop = [&] {
    while (popped < kRounds) {
      ABT_thread thread = ABT_THREAD_NULL;
      const double start = ABT_get_wtime();
      EXPECT_TRUE(abt_ok(ABT_pool_pop_wait_thread(pool, &thread, 60)));
      EXPECT_LT(ABT_get_wtime() - start, 50);
      if (thread != ABT_THREAD_NULL) ++popped;
    }
  };
  in_abt_ult(
      [&] {
        std::thread popper(pop);
        for (int i = 0; i < kRounds; ++i) {
          if (i % 10 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          threads.push_back(a_thread(pool));
          while (popped <= i) std::this_thread::yield();  // it holds its ES
        }
        popper.join();
      },
      pool);
  run_and_free(pool, threads);
}

TEST_F(AbtPool, PopWaitsForWhatTheOneServerPushes) {
  {
    const AnXstream xstream;
    push_to_a_sleeper(xstream.pool());
  }
  for (const ABT_pool_kind kind : {ABT_POOL_FIFO, ABT_POOL_FIFO_WAIT, ABT_POOL_RANDWS}) {
    APool pool(kind);
    ABT_xstream xstream;
    ABT_pool pools[] = {pool};
    ASSERT_TRUE(abt_ok(ABT_xstream_create_basic(ABT_SCHED_BASIC, 1, pools, ABT_SCHED_CONFIG_NULL, &xstream)));
    push_to_a_sleeper(pool);
    EXPECT_TRUE(abt_ok(ABT_xstream_free(&xstream)));
  }
}

struct Descent {
  ABT_pool pool;
  std::vector<int> back{};  // who has come back, in that order
  int depth = 0;
};

// Each makes one that runs in its place, and says when it goes on itself.
void descend(void* arg) {
  auto* descent = static_cast<Descent*>(arg);
  const int mine = descent->depth++;
  ABT_thread next = ABT_THREAD_NULL;
  if (mine < 4) {
    EXPECT_TRUE(abt_ok(ABT_thread_create_to(descent->pool, descend, arg, ABT_THREAD_ATTR_NULL, &next)));
  }
  descent->back.push_back(mine);
  if (next != ABT_THREAD_NULL) {
    EXPECT_TRUE(abt_ok(ABT_thread_free(&next)));
  }
}

// Else as many are alive at a time as a tree is broad, and not as it is deep.
TEST_F(AbtPool, InADequeWhoGivesItsPlaceToANewUnitIsNext) {
  for (const ABT_pool_kind kind : {ABT_POOL_RANDWS, ABT_POOL_FIFO}) {
    APool pool(kind);
    ABT_pool pools[] = {pool};
    Descent descent{pool};
    ABT_thread first;
    ASSERT_TRUE(abt_ok(ABT_thread_create(pool, descend, &descent, ABT_THREAD_ATTR_NULL, &first)));
    ABT_xstream xstream;
    ASSERT_TRUE(abt_ok(ABT_xstream_create_basic(ABT_SCHED_RANDWS, 1, pools, ABT_SCHED_CONFIG_NULL, &xstream)));
    EXPECT_TRUE(abt_ok(ABT_thread_free(&first)));
    EXPECT_TRUE(abt_ok(ABT_xstream_free(&xstream)));
    EXPECT_EQ(descent.back, kind == ABT_POOL_RANDWS ? (std::vector{4, 3, 2, 1, 0}) : (std::vector{4, 0, 1, 2, 3})) << kind;
  }
}

// Where it has run does not matter, nor which pool the joiner is of.
TEST_F(AbtPool, TheJoinerOfADequeGoesOnAtTheEndOfWhatItJoins) {
  APool first(ABT_POOL_RANDWS), second(ABT_POOL_RANDWS);
  std::vector<int> order;
  std::vector<ABT_thread> more(2, ABT_THREAD_NULL);
  AbtCall newer([&] { order.push_back(2); });
  AbtCall joined([&] {
    EXPECT_TRUE(abt_ok(ABT_self_suspend()));
    for (ABT_thread& thread : more) thread = newer.thread(first);
    order.push_back(0);
  });
  AbtCall joins([&] {
    ABT_thread thread = joined.thread(first);
    while (state_of(thread) != ABT_THREAD_STATE_BLOCKED) ABT_thread_yield();
    EXPECT_TRUE(abt_ok(ABT_thread_resume(thread)));
    EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
    order.push_back(1);
  });
  ABT_thread joiner = joins.thread(second);
  ABT_pool pools[] = {first, second};
  ABT_xstream xstream;
  ASSERT_TRUE(abt_ok(ABT_xstream_create_basic(ABT_SCHED_RANDWS, 2, pools, ABT_SCHED_CONFIG_NULL, &xstream)));
  EXPECT_TRUE(abt_ok(ABT_thread_free(&joiner)));
  for (ABT_thread& thread : more) EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
  EXPECT_TRUE(abt_ok(ABT_xstream_free(&xstream)));
  EXPECT_EQ(order, (std::vector{0, 1, 2, 2}));
}

// The running unit is counted nowhere, a suspended one in total.
TEST_F(AbtPool, SizesAreOfThoseThatWait) {
  const ABT_pool pool = main_pool();
  EXPECT_EQ(size_of(pool), 0u);
  EXPECT_EQ(total_size_of(pool), 0u);
  AbtCall suspends([&] {
    EXPECT_EQ(size_of(pool), 1u);  // the primary ULT
    EXPECT_TRUE(abt_ok(ABT_self_suspend()));
  });
  ABT_thread thread = suspends.thread(pool);
  EXPECT_EQ(size_of(pool), 1u);
  EXPECT_EQ(total_size_of(pool), 1u);
  ABT_thread_yield();
  EXPECT_EQ(state_of(thread), ABT_THREAD_STATE_BLOCKED);
  EXPECT_EQ(size_of(pool), 0u);
  EXPECT_EQ(total_size_of(pool), 1u);
  EXPECT_TRUE(abt_ok(ABT_thread_resume(thread)));
  EXPECT_EQ(size_of(pool), 1u);
  EXPECT_EQ(total_size_of(pool), 1u);
  EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
  EXPECT_EQ(total_size_of(pool), 0u);
}

// Those that were joined out of order leave no trace in the size.
TEST_F(AbtPool, SizeOfAnXstreamsOwnPoolIsExact) {
  const ABT_pool pool = main_pool();
  std::vector<ABT_thread> threads;
  for (int i = 0; i < 5; ++i) threads.push_back(a_thread(pool));
  size_t left = 5;
  for (const int i : {2, 1, 4, 0, 3}) {
    EXPECT_TRUE(abt_ok(ABT_thread_free(&threads[i])));
    EXPECT_LE(size_of(pool), --left);  // with one ES the joiner runs the unit itself
  }
  EXPECT_EQ(size_of(pool), 0u);
}

// First in, first out, whoever pushes.
TEST_F(AbtPool, AnXstreamsOwnPoolKeepsTheOrder) {
  const ABT_pool pool = main_pool();
  std::vector<int> order;
  std::vector<std::unique_ptr<AbtCall>> calls;
  std::vector<ABT_thread> threads;
  for (int i = 0; i < 6; ++i) {
    calls.push_back(std::make_unique<AbtCall>([&order, i] { order.push_back(i); }));
    if (i % 2 == 0) {
      threads.push_back(calls.back()->thread(pool));
    } else {
      std::thread other([&] { threads.push_back(calls.back()->thread(pool)); });
      other.join();
    }
  }
  ABT_thread_yield();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5}));
  for (ABT_thread& thread : threads) EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
}

// A thread that is no ES pops from an ES's own pool; it is everybody's from then on.
TEST_F(AbtPool, AnXstreamsOwnPoolCanBeSharedWithThreads) {
  const ABT_pool pool = main_pool();
  std::vector<ABT_thread> threads;
  for (int i = 0; i < 100; ++i) threads.push_back(a_thread(pool));
  std::vector<ABT_thread> popped;
  std::thread thief([&] {  // the primary ULT computes, and does not call anything
    for (;;) {
      ABT_thread thread;
      EXPECT_TRUE(abt_ok(ABT_pool_pop_thread(pool, &thread)));
      if (thread == ABT_THREAD_NULL) break;
      popped.push_back(thread);
    }
  });
  thief.join();
  EXPECT_EQ(popped, threads);
  EXPECT_EQ(size_of(pool), 0u);
  EXPECT_TRUE(abt_ok(ABT_pool_push_threads(pool, popped.data(), popped.size())));
  EXPECT_EQ(size_of(pool), 100u);
  for (ABT_thread& thread : threads) EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
}

TEST_F(AbtPool, AnXstreamsOwnPoolCanBeSharedWithAnotherXstream) {
  ABT_pool pool = main_pool();
  ABT_xstream second;
  ASSERT_TRUE(abt_ok(ABT_xstream_create_basic(ABT_SCHED_BASIC, 1, &pool, ABT_SCHED_CONFIG_NULL, &second)));
  std::atomic<int> ran = 0;
  std::atomic<bool> there = false;
  AbtCall call([&] {
    for (int i = 0; i < 10; ++i) {
      if (my_rank() == 1) there = true;
      ABT_thread_yield();
    }
    ++ran;
  });
  for (int round = 0; round < 50 || !there; ++round) {
    std::vector<ABT_thread> threads;
    for (int i = 0; i < 20; ++i) threads.push_back(call.thread(pool));
    for (ABT_thread& thread : threads) EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
  }
  EXPECT_TRUE(abt_ok(ABT_xstream_free(&second)));
  EXPECT_GE(ran, 1000);
}

// A pool is there before the ES that serves it, and after; in between it is that ES's alone, or several share it.
TEST_F(AbtPool, IsServedByOneAfterTheOther) {
  for (const ABT_pool_access access : {ABT_POOL_ACCESS_PRIV, ABT_POOL_ACCESS_MPMC}) {
    APool pool(ABT_POOL_FIFO, access);
    std::vector<int> order;
    std::vector<std::unique_ptr<AbtCall>> calls;
    std::vector<ABT_thread> threads;
    const auto put = [&](int number) {
      calls.push_back(std::make_unique<AbtCall>([&order, number] {
        order.push_back(number);
        ABT_thread_yield();
      }));
      threads.push_back(calls.back()->thread(pool));
    };
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 5; ++i) put(10 * round + i);
      EXPECT_EQ(size_of(pool), 5u);
      ABT_pool pools[] = {pool};
      ABT_xstream xstream;
      ASSERT_TRUE(abt_ok(ABT_xstream_create_basic(ABT_SCHED_BASIC, 1, pools, ABT_SCHED_CONFIG_NULL, &xstream)));
      for (ABT_thread& thread : threads) EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
      threads.clear();
      EXPECT_EQ(size_of(pool), 0u);
      EXPECT_TRUE(abt_ok(ABT_xstream_join(xstream)));
      put(10 * round + 5);  // while it rests
      EXPECT_EQ(size_of(pool), 1u);
      EXPECT_TRUE(abt_ok(ABT_xstream_revive(xstream)));
      EXPECT_TRUE(abt_ok(ABT_thread_free(&threads[0])));
      threads.clear();
      EXPECT_TRUE(abt_ok(ABT_xstream_free(&xstream)));
    }
    std::vector<int> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(order, sorted);
    EXPECT_EQ(order.size(), 18u);
  }
}

TEST_F(AbtPool, GoesOverFromOneToSeveral) {
  APool pool;
  ABT_pool pools[] = {pool};
  ABT_xstream xstreams[2];
  std::atomic<int> ran = 0;
  AbtCall call([&] {
    for (int i = 0; i < 20; ++i) ABT_thread_yield();
    ++ran;
  });
  std::vector<ABT_thread> threads;
  ASSERT_TRUE(abt_ok(ABT_xstream_create_basic(ABT_SCHED_BASIC, 1, pools, ABT_SCHED_CONFIG_NULL, &xstreams[0])));
  for (int i = 0; i < 50; ++i) threads.push_back(call.thread(pool));
  ASSERT_TRUE(abt_ok(ABT_xstream_create_basic(ABT_SCHED_BASIC, 1, pools, ABT_SCHED_CONFIG_NULL, &xstreams[1])));
  for (int i = 0; i < 50; ++i) threads.push_back(call.thread(pool));
  EXPECT_TRUE(abt_ok(ABT_xstream_free(&xstreams[0])));  // and the other one goes on with it
  for (ABT_thread& thread : threads) EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
  EXPECT_EQ(ran, 100);
  EXPECT_TRUE(abt_ok(ABT_xstream_free(&xstreams[1])));
}

void note(void* arg, ABT_thread thread) { static_cast<std::vector<ABT_thread>*>(arg)->push_back(thread); }
void note_unit(void* arg, ABT_unit unit) {
  ABT_thread thread;
  EXPECT_TRUE(abt_ok(ABT_unit_get_thread(unit, &thread)));
  note(arg, thread);
}

TEST_F(AbtPool, PrintsAll) {
  APool own;
  for (const ABT_pool pool : {own.handle, main_pool()}) {
    std::vector<ABT_thread> threads, seen;
    for (int i = 0; i < 3; ++i) threads.push_back(a_thread(pool));
    EXPECT_TRUE(abt_ok(ABT_pool_print_all_threads(pool, &seen, note)));
    EXPECT_EQ(seen, threads);
    seen.clear();
    EXPECT_TRUE(abt_ok(ABT_pool_print_all(pool, &seen, note_unit)));
    EXPECT_EQ(seen, threads);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(abt_ok(ABT_pool_pop_thread(pool, &seen[0])));
    run_and_free(pool, threads);
  }
}

TEST_F(AbtPool, Config) {
  ABT_pool_config config;
  ASSERT_TRUE(abt_ok(ABT_pool_config_create(&config)));
  const int number = 5;
  const double real = 2.5;
  void* const pointer = &config;
  EXPECT_TRUE(abt_ok(ABT_pool_config_set(config, 0, ABT_POOL_CONFIG_INT, &number)));
  EXPECT_TRUE(abt_ok(ABT_pool_config_set(config, 1, ABT_POOL_CONFIG_DOUBLE, &real)));
  EXPECT_TRUE(abt_ok(ABT_pool_config_set(config, 7, ABT_POOL_CONFIG_PTR, &pointer)));
  ABT_pool_config_type type;
  int got = 0;
  double got_real = 0;
  void* got_pointer = nullptr;
  EXPECT_TRUE(abt_ok(ABT_pool_config_get(config, 0, &type, &got)));
  EXPECT_EQ(type, ABT_POOL_CONFIG_INT);
  EXPECT_EQ(got, 5);
  EXPECT_TRUE(abt_ok(ABT_pool_config_get(config, 1, nullptr, &got_real)));
  EXPECT_EQ(got_real, 2.5);
  EXPECT_TRUE(abt_ok(ABT_pool_config_get(config, 7, &type, nullptr)));
  EXPECT_EQ(type, ABT_POOL_CONFIG_PTR);
  EXPECT_TRUE(abt_ok(ABT_pool_config_get(config, 7, nullptr, &got_pointer)));
  EXPECT_EQ(got_pointer, pointer);
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_ARG, ABT_pool_config_get(config, 2, &type, &got)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_ARG, ABT_pool_config_set(config, 2, static_cast<ABT_pool_config_type>(3), &got)));
  EXPECT_TRUE(abt_ok(ABT_pool_config_set(config, 0, ABT_POOL_CONFIG_INT, nullptr)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_ARG, ABT_pool_config_get(config, 0, &type, &got)));
  EXPECT_TRUE(abt_ok(ABT_pool_config_free(&config)));
  EXPECT_EQ(config, ABT_POOL_CONFIG_NULL);
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL_CONFIG, ABT_pool_config_free(&config)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL_CONFIG, ABT_pool_config_get(config, 0, &type, &got)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL_CONFIG, ABT_pool_config_set(config, 0, ABT_POOL_CONFIG_INT, &got)));
}

}  // namespace
