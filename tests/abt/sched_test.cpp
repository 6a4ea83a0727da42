// ABT_sched_* and ABT_sched_config_*: predefined, user-defined, stacked.
#include "support/abt_units.hpp"
#include "weft/abt_ext.h"

namespace {

using namespace weft_test;

class AbtSched : public AbtTest {};

struct Data {
  int inits = 0;
  int frees = 0;
  std::atomic<int> runs{0};
  int wanted = ABT_SUCCESS;
  ABT_bool primary_type_seen = ABT_FALSE;
};

Data* of_next = nullptr;

Data* data_of(ABT_sched sched) {
  void* data = nullptr;
  EXPECT_TRUE(abt_ok(ABT_sched_get_data(sched, &data)));
  return static_cast<Data*>(data);
}

int init(ABT_sched sched, ABT_sched_config config) {
  if (of_next->wanted != ABT_SUCCESS) return of_next->wanted;
  if (config != ABT_SCHED_CONFIG_NULL) {
    EXPECT_TRUE(abt_ok(ABT_sched_config_read(config, 1, &of_next->inits)));
  }
  ++of_next->inits;
  return ABT_sched_set_data(sched, of_next);
}

int end(ABT_sched sched) {
  ++data_of(sched)->frees;
  return ABT_SUCCESS;
}

// All that Argobots' schedulers do.
void run(ABT_sched sched) {
  Data* data = data_of(sched);
  ++data->runs;
  int count;
  EXPECT_TRUE(abt_ok(ABT_sched_get_num_pools(sched, &count)));
  std::vector<ABT_pool> pools(static_cast<size_t>(count));
  EXPECT_TRUE(abt_ok(ABT_sched_get_pools(sched, count, 0, pools.data())));
  ABT_unit_type type;
  EXPECT_TRUE(abt_ok(ABT_self_get_type(&type)));
  EXPECT_EQ(type, ABT_UNIT_TYPE_THREAD);
  for (;;) {
    for (const ABT_pool pool : pools) {
      ABT_thread thread;
      EXPECT_TRUE(abt_ok(ABT_pool_pop_thread(pool, &thread)));
      if (thread != ABT_THREAD_NULL) {
        EXPECT_TRUE(abt_ok(ABT_self_schedule(thread, pool)));
      }
    }
    ABT_bool stop;
    EXPECT_TRUE(abt_ok(ABT_sched_has_to_stop(sched, &stop)));
    if (stop == ABT_TRUE) break;
    EXPECT_TRUE(abt_ok(ABT_xstream_check_events(sched)));
  }
}

// Does one thing at a time, and is called again.
void run_once(ABT_sched sched) {
  ++data_of(sched)->runs;
  ABT_pool pool;
  EXPECT_TRUE(abt_ok(ABT_sched_get_pools(sched, 1, 0, &pool)));
  ABT_unit unit;
  EXPECT_TRUE(abt_ok(ABT_pool_pop(pool, &unit)));
  if (unit != ABT_UNIT_NULL) {
    EXPECT_TRUE(abt_ok(ABT_xstream_run_unit(unit, pool)));
  }
}

// Sleeps until something comes.
void run_waiting(ABT_sched sched) {
  ++data_of(sched)->runs;
  ABT_pool pool;
  EXPECT_TRUE(abt_ok(ABT_sched_get_pools(sched, 1, 0, &pool)));
  for (ABT_bool stop = ABT_FALSE; stop == ABT_FALSE;) {
    ABT_unit unit;
    EXPECT_TRUE(abt_ok(ABT_pool_pop_wait(pool, &unit, 60)));
    if (unit != ABT_UNIT_NULL) {
      EXPECT_TRUE(abt_ok(ABT_xstream_run_unit(unit, pool)));
    }
    EXPECT_TRUE(abt_ok(ABT_xstream_check_events(sched)));
    EXPECT_TRUE(abt_ok(ABT_sched_has_to_stop(sched, &stop)));
  }
}

ABT_sched make(Data& data, std::vector<ABT_pool> pools, ABT_sched_run_fn function = run,
               ABT_sched_config config = ABT_SCHED_CONFIG_NULL) {
  of_next = &data;
  ABT_sched_def def = {ABT_SCHED_TYPE_ULT, init, function, end, nullptr};
  ABT_sched sched = ABT_SCHED_NULL;
  EXPECT_TRUE(abt_ok(ABT_sched_create(&def, static_cast<int>(pools.size()), pools.data(), config, &sched)));
  return sched;
}

TEST_F(AbtSched, PredefinedOnes) {
  for (int predef = ABT_SCHED_DEFAULT; predef <= ABT_SCHED_BASIC_WAIT; ++predef) {
    ABT_sched sched;
    ASSERT_TRUE(abt_ok(ABT_sched_create_basic(static_cast<ABT_sched_predef>(predef), 0, nullptr,
                                              ABT_SCHED_CONFIG_NULL, &sched)));
    int count = 0;
    EXPECT_TRUE(abt_ok(ABT_sched_get_num_pools(sched, &count)));
    EXPECT_EQ(count, predef == ABT_SCHED_PRIO ? 3 : 1);
    ABT_pool pools[4];
    EXPECT_TRUE(abt_ok(ABT_sched_get_pools(sched, count, 0, pools)));
    EXPECT_TRUE(abt_fails(kAbt20 ? ABT_SUCCESS : ABT_ERR_SCHED, ABT_sched_get_pools(sched, count, 1, pools)));
    EXPECT_TRUE(abt_fails(ABT_ERR_INV_ARG, ABT_sched_get_pools(sched, -1, 0, pools)));
    EXPECT_TRUE(abt_fails(ABT_ERR_INV_ARG, ABT_sched_get_pools(sched, 1, -1, pools)));
    size_t size = 7;
    EXPECT_TRUE(abt_ok(ABT_sched_get_size(sched, &size)));
    EXPECT_EQ(size, 0u);
    EXPECT_TRUE(abt_ok(ABT_sched_get_total_size(sched, &size)));
    EXPECT_EQ(size, 0u);
    EXPECT_TRUE(abt_ok(ABT_sched_free(&sched)));
    EXPECT_EQ(sched, ABT_SCHED_NULL);
  }
}

TEST_F(AbtSched, WrongArguments) {
  ABT_sched sched = nullptr, none = ABT_SCHED_NULL;
  ABT_sched_def def = {ABT_SCHED_TYPE_ULT, nullptr, nullptr, nullptr, nullptr};
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_ARG, ABT_sched_create(&def, 0, nullptr, ABT_SCHED_CONFIG_NULL, &sched)));
  def.run = run;
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_ARG, ABT_sched_create(&def, -1, nullptr, ABT_SCHED_CONFIG_NULL, &sched)));
  EXPECT_TRUE(abt_fails(ABT_ERR_SCHED, ABT_sched_create(&def, 0, nullptr, ABT_SCHED_CONFIG_NULL, nullptr)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_SCHED_PREDEF, ABT_sched_create_basic(static_cast<ABT_sched_predef>(9), 0, nullptr,
                                                                         ABT_SCHED_CONFIG_NULL, &sched)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_ARG,
                        ABT_sched_create_basic(ABT_SCHED_BASIC, -1, nullptr, ABT_SCHED_CONFIG_NULL, &sched)));
  size_t size;
  int number;
  void* data;
  ABT_bool flag;
  ABT_pool pool;
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_SCHED, ABT_sched_free(&none)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_SCHED, ABT_sched_get_size(none, &size)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_SCHED, ABT_sched_get_total_size(none, &size)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_SCHED, ABT_sched_get_num_pools(none, &number)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_SCHED, ABT_sched_get_pools(none, 1, 0, &pool)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_SCHED, ABT_sched_get_data(none, &data)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_SCHED, ABT_sched_set_data(none, nullptr)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_SCHED, ABT_sched_finish(none)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_SCHED, ABT_sched_exit(none)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_SCHED, ABT_sched_has_to_stop(none, &flag)));
}

TEST_F(AbtSched, AFailingInitMakesNone) {
  Data data;
  data.wanted = ABT_ERR_SYS;
  of_next = &data;
  ABT_sched_def def = {ABT_SCHED_TYPE_ULT, init, run, end, nullptr};
  ABT_sched sched = nullptr;
  EXPECT_TRUE(abt_fails(ABT_ERR_SYS, ABT_sched_create(&def, 1, nullptr, ABT_SCHED_CONFIG_NULL, &sched)));
  EXPECT_EQ(data.frees, 0);
}

// It gets what comes, those that wait for a time go on, and it ends when it is joined.
TEST_F(AbtSched, AUsersWaitsForItsPool) {
  const double start = ABT_get_wtime();
  for (const ABT_pool_kind kind : {ABT_POOL_FIFO, ABT_POOL_FIFO_WAIT, ABT_POOL_RANDWS}) {
    Data data;
    APool pool(kind);
    ABT_xstream xstream;
    ASSERT_TRUE(abt_ok(ABT_xstream_create(make(data, {pool}, run_waiting), &xstream)));
    for (int i = 0; i < 100; ++i) {
      in_abt_ult(
          [i] {
            ABT_thread_yield();
            EXPECT_TRUE(abt_ok(ABTX_sleep(i % 20 == 0 ? 0.002 : 0)));
          },
          pool);
      if (i % 20 == 10) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(abt_ok(ABT_xstream_free(&xstream)));
  }
  EXPECT_LT(ABT_get_wtime() - start, 50);
}

// The only ES there is: nobody else would look at the times.
TEST_F(AbtSched, AUsersOfThePrimaryXstreamWaits) {
  const double start = ABT_get_wtime();
  Data data;
  APool pool;
  ABT_xstream self;
  ASSERT_TRUE(abt_ok(ABT_self_get_xstream(&self)));
  ASSERT_TRUE(abt_ok(ABT_xstream_set_main_sched(self, make(data, {pool}, run_waiting))));
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(abt_ok(ABTX_sleep(0.005)));
  in_abt_ult([] { EXPECT_TRUE(abt_ok(ABTX_sleep(0.005))); }, pool);
  ASSERT_TRUE(abt_ok(ABT_xstream_set_main_sched_basic(self, ABT_SCHED_DEFAULT, 0, nullptr)));
  EXPECT_LT(ABT_get_wtime() - start, 50);
}

// The primary ULT runs on its thread only: another ES that gets it sends for that thread, which sleeps on the pool.
// Three sleep there, so that what a push wakes is another one, too.
TEST_F(AbtSched, OneThatWaitsIsSentForThePrimaryUlt) {
  const double start = ABT_get_wtime();
  Data data[3];
  APool pool;
  ABT_xstream self, others[2];
  ASSERT_TRUE(abt_ok(ABT_self_get_xstream(&self)));
  ASSERT_TRUE(abt_ok(ABT_xstream_set_main_sched(self, make(data[2], {pool}, run_waiting))));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(abt_ok(ABT_xstream_create(make(data[i], {pool}, run_waiting), &others[i])));
  for (int i = 0; i < 300; ++i) {
    in_abt_ult([] { std::this_thread::sleep_for(std::chrono::microseconds(200)); }, pool);
  }
  for (ABT_xstream& other : others) EXPECT_TRUE(abt_ok(ABT_xstream_free(&other)));
  ASSERT_TRUE(abt_ok(ABT_xstream_set_main_sched_basic(self, ABT_SCHED_DEFAULT, 0, nullptr)));
  EXPECT_LT(ABT_get_wtime() - start, 50);
}

TEST_F(AbtSched, AUsersRunsAnXstream) {
  for (const ABT_sched_run_fn function : {run, run_once}) {
    Data data;
    APool first, second;
    ABT_sched sched = make(data, {first, second}, function);
    EXPECT_EQ(data.inits, 1);
    ABT_xstream xstream;
    ASSERT_TRUE(abt_ok(ABT_xstream_create(sched, &xstream)));
    std::atomic<int> ran = 0;
    AbtCall call([&] {
      EXPECT_EQ(my_rank(), 1);
      ABT_thread_yield();
      ++ran;
    });
    std::vector<ABT_thread> threads;
    for (int i = 0; i < 40; ++i) {
      const ABT_pool pool = i % 2 == 0 || function == run_once ? first : second;
      threads.push_back(i % 5 == 4 ? call.task(pool) : call.thread(pool));
    }
    for (ABT_thread& thread : threads) EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
    EXPECT_EQ(ran, 40);
    EXPECT_TRUE(abt_ok(ABT_xstream_join(xstream)));
    EXPECT_TRUE(abt_ok(ABT_xstream_revive(xstream)));
    int again = 0;
    in_abt_ult([&] { ++again; }, first);
    EXPECT_EQ(again, 1);
    EXPECT_TRUE(abt_ok(ABT_xstream_free(&xstream)));
    EXPECT_GE(data.runs, function == run ? 2 : 40);
    EXPECT_EQ(data.frees, 0);  // it is not automatic
    EXPECT_TRUE(abt_ok(ABT_sched_free(&sched)));
    EXPECT_EQ(data.frees, 1);
  }
}

// With a stack of the usual size and of others; while they handle an exception; and to be cancelled.
TEST_F(AbtSched, UltsYieldToAUsers) {
  Data data;
  APool pool;
  ABT_sched sched = make(data, {pool});
  ABT_xstream xstream;
  ASSERT_TRUE(abt_ok(ABT_xstream_create(sched, &xstream)));
  std::atomic<int> done = 0;
  AbtCall call([&] {
    for (int i = 0; i < 200; ++i) {
      try {
        if (i % 3 == 0) throw i;
        EXPECT_TRUE(abt_ok(ABT_thread_yield()));
      } catch (int caught) {
        EXPECT_TRUE(abt_ok(ABT_self_yield()));
        EXPECT_EQ(caught, i);
      }
      EXPECT_EQ(my_rank(), 1);
    }
    ++done;
  });
  std::atomic<bool> cancelled = false;
  std::atomic<bool> yields = false;
  AbtCall forever([&] {
    for (;;) {
      yields = true;
      ABT_thread_yield();
      EXPECT_FALSE(cancelled);
    }
  });
  ABT_thread_attr attr;
  ASSERT_TRUE(abt_ok(ABT_thread_attr_create(&attr)));
  for (int round = 0; round < 3; ++round) {
    std::vector<ABT_thread> threads;
    for (const size_t size : {size_t{16} << 10, size_t{128} << 10, size_t{1} << 20, size_t{4} << 20}) {
      EXPECT_TRUE(abt_ok(ABT_thread_attr_set_stacksize(attr, size)));
      for (int i = 0; i < 5; ++i) threads.push_back(call.thread(pool, attr));
    }
    for (ABT_thread thread : threads) EXPECT_TRUE(abt_ok(ABT_thread_join(thread)));
    for (ABT_thread& thread : threads) {
      EXPECT_TRUE(abt_ok(ABT_thread_revive(pool, &AbtCall::run, &call, &thread)));
    }
    for (ABT_thread& thread : threads) EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
    EXPECT_EQ(done, 40 * (round + 1));
  }
  ABT_thread thread = forever.thread(pool);
  while (!yields) ABT_thread_yield();
  EXPECT_TRUE(abt_ok(ABT_thread_cancel(thread)));
  EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
  cancelled = true;
  EXPECT_TRUE(abt_ok(ABT_thread_attr_free(&attr)));
  EXPECT_TRUE(abt_ok(ABT_xstream_free(&xstream)));
  EXPECT_TRUE(abt_ok(ABT_sched_free(&sched)));
}

// A ULT that yields comes behind all that was pushed before, by whom ever.
TEST_F(AbtSched, WhoYieldsToAUsersOvertakesNobody) {
  Data data;
  APool pool;
  ABT_sched sched = make(data, {pool});
  ABT_xstream xstream;
  ASSERT_TRUE(abt_ok(ABT_xstream_create(sched, &xstream)));
  for (int round = 0; round < 50; ++round) {
    std::vector<int> order;
    ABT_thread threads[2];
    AbtCall first([&] { order.push_back(1); });
    AbtCall second([&] { order.push_back(2); });
    in_abt_ult(
        [&] {
          threads[0] = first.thread(pool);
          std::thread external([&] { threads[1] = second.thread(pool); });
          external.join();
          ABT_thread_yield();
          order.push_back(3);
        },
        pool);
    EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
    for (ABT_thread& thread : threads) EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
  }
  EXPECT_TRUE(abt_ok(ABT_xstream_free(&xstream)));
  EXPECT_TRUE(abt_ok(ABT_sched_free(&sched)));
}

TEST_F(AbtSched, AUsersRunsThePrimaryXstream) {
  Data data;
  ABT_sched_config config;
  ASSERT_TRUE(abt_ok(ABT_sched_config_create(&config, ABT_sched_config_automatic, 1, ABT_sched_config_var_end)));
  ABT_sched sched = make(data, {ABT_POOL_NULL}, run, config);
  EXPECT_TRUE(abt_ok(ABT_sched_config_free(&config)));
  ABT_xstream self;
  EXPECT_TRUE(abt_ok(ABT_self_get_xstream(&self)));
  EXPECT_TRUE(abt_ok(ABT_xstream_set_main_sched(self, sched)));
  ABT_sched is;
  EXPECT_TRUE(abt_ok(ABT_xstream_get_main_sched(self, &is)));
  EXPECT_EQ(is, sched);
  int ran = 0;
  in_abt_ult([&] {
    ABT_thread_yield();
    ++ran;
  });
  EXPECT_EQ(ran, 1);
  EXPECT_TRUE(abt_ok(ABT_finalize()));  // ends it
  EXPECT_EQ(data.runs, 1);
  EXPECT_EQ(data.frees, 1);
  EXPECT_TRUE(abt_ok(ABT_init(0, nullptr)));
}

// The code of a main scheduler is a ULT too, as far as it may be asked.
ABT_key sched_key;
void ask(ABT_sched sched) {
  ABT_thread self;
  EXPECT_TRUE(abt_ok(ABT_self_get_thread(&self)));
  EXPECT_EQ(state_of(self), ABT_THREAD_STATE_RUNNING);
  int value = 5;
  void* got = nullptr;
  EXPECT_TRUE(abt_ok(ABT_key_set(sched_key, &value)));
  EXPECT_TRUE(abt_ok(ABT_thread_get_specific(self, sched_key, &got)));
  EXPECT_EQ(got, &value);
  EXPECT_TRUE(abt_ok(ABT_key_set(sched_key, nullptr)));
  EXPECT_TRUE(abt_ok(ABT_self_yield()));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_self_suspend()));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_self_exit()));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_join(self)));
  ABT_bool migratable = ABT_TRUE;
  EXPECT_TRUE(abt_ok(ABT_thread_is_migratable(self, &migratable)));
  EXPECT_EQ(migratable, ABT_FALSE);
  run(sched);
}

TEST_F(AbtSched, AMainSchedulerIsAskedWhoItIs) {
  ASSERT_TRUE(abt_ok(ABT_key_create(nullptr, &sched_key)));
  Data data;
  APool pool;
  ABT_sched sched = make(data, {pool}, ask);
  ABT_xstream xstream;
  ASSERT_TRUE(abt_ok(ABT_xstream_create(sched, &xstream)));
  int ran = 0;
  in_abt_ult([&] { ++ran; }, pool);
  EXPECT_EQ(ran, 1);
  EXPECT_TRUE(abt_ok(ABT_xstream_free(&xstream)));
  EXPECT_TRUE(abt_ok(ABT_sched_free(&sched)));
  EXPECT_TRUE(abt_ok(ABT_key_free(&sched_key)));
}

TEST_F(AbtSched, Stacked) {
  for (const bool user : {false, true}) {
    Data data;
    APool pool;
    ABT_sched sched = ABT_SCHED_NULL;
    if (user) {
      sched = make(data, {pool});
    } else {
      ABT_pool pools[] = {pool};
      ABT_sched_config config;
      ASSERT_TRUE(abt_ok(ABT_sched_config_create(&config, ABT_sched_config_automatic, 0, ABT_sched_config_var_end)));
      EXPECT_TRUE(abt_ok(ABT_sched_create_basic(ABT_SCHED_BASIC, 1, pools, config, &sched)));
      EXPECT_TRUE(abt_ok(ABT_sched_config_free(&config)));
    }
    int ran = 0;
    AbtCall call([&] {
      ABT_thread_yield();
      ++ran;
    });
    std::vector<ABT_thread> threads;
    for (int i = 0; i < 10; ++i) threads.push_back(call.thread(pool));
    AbtCall suspends([&] {
      EXPECT_TRUE(abt_ok(ABT_self_suspend()));
      ++ran;
    });
    ABT_thread suspended = suspends.thread(pool);
    EXPECT_TRUE(abt_ok(ABT_pool_add_sched(main_pool(), sched)));
    EXPECT_TRUE(abt_fails(ABT_ERR_INV_SCHED, ABT_pool_add_sched(main_pool(), sched)));
    EXPECT_TRUE(abt_fails(ABT_ERR_SCHED, ABT_sched_free(&sched)));
    if (user) {
      // It polls: a thread has to come to the rescue.
      std::thread resumer([&] {
        while (state_of(suspended) != ABT_THREAD_STATE_BLOCKED) std::this_thread::yield();
        EXPECT_TRUE(abt_ok(ABT_thread_resume(suspended)));
      });
      EXPECT_TRUE(abt_wait_until([&] { return ran == 11; }));
      resumer.join();
    } else {
      EXPECT_TRUE(abt_wait_until([&] { return ran == 10; }));
      EXPECT_TRUE(abt_wait_until([&] { return state_of(suspended) == ABT_THREAD_STATE_BLOCKED; }));
      EXPECT_TRUE(abt_ok(ABT_thread_resume(suspended)));
    }
    for (ABT_thread& thread : threads) EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
    EXPECT_TRUE(abt_ok(ABT_thread_free(&suspended)));
    EXPECT_EQ(ran, 11);
    // It has nothing left to do, and ends.
    EXPECT_TRUE(abt_wait_until([&] { return ABT_sched_free(&sched) == ABT_SUCCESS; }));
    EXPECT_EQ(data.frees, user ? 1 : 0);
  }
}

// A scheduler that only waits for one ULT ends when that one goes on elsewhere, without having been in the pool again.
TEST_F(AbtSched, TheLastUltOfAStackedOneGoesOnElsewhere) {
  for (const bool exits : {false, true}) {
    for (const ABT_sched_predef kind : {ABT_SCHED_BASIC, ABT_SCHED_BASIC_WAIT, ABT_SCHED_PRIO}) {
      APool pool;
      ABT_pool pools[] = {pool};
      ABT_sched_config config;
      ASSERT_TRUE(abt_ok(ABT_sched_config_create(&config, ABT_sched_config_automatic, 0, ABT_sched_config_var_end)));
      ABT_sched sched;
      EXPECT_TRUE(abt_ok(ABT_sched_create_basic(kind, 1, pools, config, &sched)));
      EXPECT_TRUE(abt_ok(ABT_sched_config_free(&config)));
      AbtCall suspends([&] { EXPECT_TRUE(abt_ok(ABT_self_suspend())); });
      ABT_thread suspended = suspends.thread(pool);
      EXPECT_TRUE(abt_ok(ABT_pool_add_sched(main_pool(), sched)));
      in_abt_ult([&] {
        EXPECT_TRUE(abt_wait_until([&] { return state_of(suspended) == ABT_THREAD_STATE_BLOCKED; }));
        for (int i = 0; i < 100; ++i) ABT_thread_yield();  // the scheduler sleeps by then
        EXPECT_TRUE(abt_ok(exits ? ABT_self_resume_exit_to(suspended) : ABT_self_resume_yield_to(suspended)));
      });
      EXPECT_TRUE(abt_ok(ABT_thread_free(&suspended)));
      EXPECT_TRUE(abt_wait_until([&] { return ABT_sched_free(&sched) == ABT_SUCCESS; }));
    }
  }
}

// The same of an execution stream that is joined.
TEST_F(AbtSched, TheLastUltOfAnXstreamGoesOnElsewhere) {
  for (const bool exits : {false, true}) {
    ABT_xstream xstream;
    ASSERT_TRUE(abt_ok(ABT_xstream_create(ABT_SCHED_NULL, &xstream)));
    ABT_pool pool;
    EXPECT_TRUE(abt_ok(ABT_xstream_get_main_pools(xstream, 1, &pool)));
    AbtCall suspends([&] { EXPECT_TRUE(abt_ok(ABT_self_suspend())); });
    ABT_thread suspended = suspends.thread(pool);
    EXPECT_TRUE(abt_wait_until([&] { return state_of(suspended) == ABT_THREAD_STATE_BLOCKED; }));
    AbtCall joins([&] { EXPECT_TRUE(abt_ok(ABT_xstream_join(xstream))); });
    ABT_thread joiner = joins.thread(main_pool());
    in_abt_ult([&] {
      EXPECT_TRUE(abt_wait_until([&] { return state_of(joiner) == ABT_THREAD_STATE_BLOCKED; }));
      EXPECT_TRUE(abt_ok(exits ? ABT_self_resume_exit_to(suspended) : ABT_self_resume_yield_to(suspended)));
    });
    EXPECT_TRUE(abt_ok(ABT_thread_free(&suspended)));
    EXPECT_TRUE(abt_ok(ABT_thread_free(&joiner)));
    EXPECT_TRUE(abt_ok(ABT_xstream_free(&xstream)));
  }
}

// Whatever pool the one that yields lives in: whoever waits there, and in those before it, gets its turn.
TEST_F(AbtSched, AYieldLetsAllRunThatComeFirst) {
  for (const ABT_sched_predef kind : {ABT_SCHED_BASIC, ABT_SCHED_BASIC_WAIT, ABT_SCHED_PRIO, ABT_SCHED_RANDWS}) {
    ABT_pool pools[3];
    for (ABT_pool& pool : pools) {
      ASSERT_TRUE(abt_ok(ABT_pool_create_basic(ABT_POOL_FIFO, ABT_POOL_ACCESS_MPMC, ABT_TRUE, &pool)));
    }
    ABT_xstream xstream;
    ASSERT_TRUE(abt_ok(ABT_xstream_create_basic(kind, 3, pools, ABT_SCHED_CONFIG_NULL, &xstream)));
    const bool in_order = kind != ABT_SCHED_RANDWS;
    for (int mine = 0; mine < 3; ++mine) {
      for (int others = in_order ? 0 : mine; others <= mine; ++others) {
        std::atomic<bool> ran = false;
        int yields = 0;
        AbtCall other([&] { ran = true; });
        AbtCall yielder([&] {
          ABT_thread thread = other.thread(pools[others]);
          for (; !ran && yields < 10'000; ++yields) ABT_thread_yield();
          EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
        });
        ABT_thread thread = yielder.thread(pools[mine]);
        EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
        EXPECT_LT(yields, 10'000) << "kind " << kind << ", from pool " << mine << " for one in pool " << others;
      }
    }
    EXPECT_TRUE(abt_ok(ABT_xstream_free(&xstream)));
  }
}

// From the end of a deque that the yielder's scheduler does not take its own units from.
TEST_F(AbtSched, AYieldLetsRunWhatOthersHavePushed) {
  for (const ABT_sched_predef kind : {ABT_SCHED_BASIC, ABT_SCHED_RANDWS}) {
    ABT_pool pool;
    ASSERT_TRUE(abt_ok(ABT_pool_create_basic(ABT_POOL_RANDWS, ABT_POOL_ACCESS_MPMC, ABT_TRUE, &pool)));
    ABT_xstream xstream;
    ASSERT_TRUE(abt_ok(ABT_xstream_create_basic(kind, 1, &pool, ABT_SCHED_CONFIG_NULL, &xstream)));
    std::atomic<int> ran = 0;
    std::atomic<bool> yields = false;
    AbtCall yielder([&] {
      while (ran < 3) {
        yields = true;
        ABT_thread_yield();
      }
    });
    AbtCall other([&] { ++ran; });
    ABT_thread threads[4];
    threads[3] = yielder.thread(pool);
    EXPECT_TRUE(abt_wait_until([&] { return yields.load(); }));
    on_external([&] {
      for (int i = 0; i < 3; ++i) threads[i] = other.thread(pool);
    });
    for (ABT_thread& thread : threads) EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
    EXPECT_TRUE(abt_ok(ABT_xstream_free(&xstream)));
  }
}

TEST_F(AbtSched, FinishAndExit) {
  for (const bool finish : {true, false}) {
    ABT_xstream xstream;
    ASSERT_TRUE(abt_ok(ABT_xstream_create(ABT_SCHED_NULL, &xstream)));
    ABT_sched sched;
    EXPECT_TRUE(abt_ok(ABT_xstream_get_main_sched(xstream, &sched)));
    in_abt_ult([&] {
      ABT_bool stop = ABT_TRUE;
      EXPECT_TRUE(abt_ok(ABT_sched_has_to_stop(sched, &stop)));
      EXPECT_EQ(stop, ABT_FALSE);
    });
    on_external([&] {
      ABT_bool stop;
      EXPECT_TRUE(abt_fails(kAbt20 ? ABT_SUCCESS : ABT_ERR_INV_XSTREAM, ABT_sched_has_to_stop(sched, &stop)));
    });
    EXPECT_TRUE(abt_ok(finish ? ABT_sched_finish(sched) : ABT_sched_exit(sched)));
    EXPECT_TRUE(abt_wait_until([&] {
      ABT_xstream_state state;
      EXPECT_TRUE(abt_ok(ABT_xstream_get_state(xstream, &state)));
      return state == ABT_XSTREAM_STATE_TERMINATED;
    }));
    EXPECT_TRUE(abt_ok(ABT_xstream_free(&xstream)));
  }
}

TEST_F(AbtSched, OnlyWhoRunsItChecksItsEvents) {
  Data data;
  ABT_sched sched = make(data, {ABT_POOL_NULL});
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_xstream_check_events(sched)));
  on_external([&] { EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_xstream_check_events(sched))); });
  in_abt_task([&] { EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_xstream_check_events(sched))); });
  EXPECT_TRUE(abt_ok(ABT_sched_free(&sched)));
}

TEST_F(AbtSched, HasManyPools) {
  std::vector<ABT_pool> pools(200);
  for (ABT_pool& pool : pools) {
    ASSERT_TRUE(abt_ok(ABT_pool_create_basic(ABT_POOL_FIFO, ABT_POOL_ACCESS_MPMC, ABT_TRUE, &pool)));
  }
  ABT_xstream xstream;
  ASSERT_TRUE(abt_ok(ABT_xstream_create_basic(ABT_SCHED_BASIC, 200, pools.data(), ABT_SCHED_CONFIG_NULL, &xstream)));
  int ran = 0;
  for (const ABT_pool pool : pools) in_abt_ult([&] { ++ran; }, pool);
  EXPECT_EQ(ran, 200);
  EXPECT_TRUE(abt_ok(ABT_xstream_free(&xstream)));
}

// The pool is first in both streams' schedulers, and lies in the lane of the one that had it before.
TEST_F(AbtSched, WhoGivesAPoolUpLeavesTheLaneOfAnotherStreamAlone) {
  constexpr int kRounds = 300, kMost = 3000;
  ABT_xstream primary;
  ASSERT_TRUE(abt_ok(ABT_xstream_self(&primary)));
  ABT_pool last;
  ASSERT_TRUE(abt_ok(ABT_pool_create_basic(ABT_POOL_FIFO, ABT_POOL_ACCESS_MPMC, ABT_FALSE, &last)));
  for (int round = 0; round < kRounds; ++round) {
    ABT_pool both, others;
    ASSERT_TRUE(abt_ok(ABT_pool_create_basic(ABT_POOL_FIFO, ABT_POOL_ACCESS_MPMC, ABT_FALSE, &both)));
    ASSERT_TRUE(abt_ok(ABT_pool_create_basic(ABT_POOL_FIFO, ABT_POOL_ACCESS_MPMC, ABT_FALSE, &others)));
    ABT_pool of_primary[2] = {both, last}, of_other[2] = {both, others};
    ASSERT_TRUE(abt_ok(ABT_xstream_set_main_sched_basic(primary, ABT_SCHED_BASIC, 2, of_primary)));
    ABT_xstream other;
    ASSERT_TRUE(abt_ok(ABT_xstream_create_basic(ABT_SCHED_BASIC, 2, of_other, ABT_SCHED_CONFIG_NULL, &other)));
    std::atomic<bool> begun{false}, pushing{false}, replaced{false};
    std::atomic<int> ran{0};
    auto replace = [&] {
      begun = true;
      while (!pushing) {
      }
      EXPECT_TRUE(abt_ok(ABT_xstream_set_main_sched_basic(other, ABT_SCHED_BASIC, 2, of_other)));
      replaced = true;
    };
    ABT_thread replacer;
    ASSERT_TRUE(abt_ok(ABT_thread_create(others, [](void* f) { (*static_cast<decltype(replace)*>(f))(); }, &replace,
                                         ABT_THREAD_ATTR_NULL, &replacer)));
    while (!begun) std::this_thread::yield();
    pushing = true;
    int pushed = 0;
    for (; !replaced && pushed < kMost; ++pushed) {
      ASSERT_TRUE(abt_ok(ABT_thread_create(both, [](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &ran,
                                           ABT_THREAD_ATTR_NULL, nullptr)));
    }
    while (ran != pushed) ASSERT_TRUE(abt_ok(ABT_thread_yield()));
    EXPECT_TRUE(abt_ok(ABT_thread_free(&replacer)));
    EXPECT_TRUE(abt_ok(ABT_xstream_free(&other)));
    ASSERT_TRUE(abt_ok(ABT_xstream_set_main_sched_basic(primary, ABT_SCHED_BASIC, 1, &last)));
    EXPECT_TRUE(abt_ok(ABT_pool_free(&both)));
    EXPECT_TRUE(abt_ok(ABT_pool_free(&others)));
  }
}

TEST_F(AbtSched, Config) {
  const ABT_sched_config_var number = {0, ABT_SCHED_CONFIG_INT};
  const ABT_sched_config_var real = {1, ABT_SCHED_CONFIG_DOUBLE};
  const ABT_sched_config_var pointer = {2, ABT_SCHED_CONFIG_PTR};
  ABT_sched_config config;
  ASSERT_TRUE(abt_ok(ABT_sched_config_create(&config, number, 3, real, 2.5, pointer, &config,
                                             ABT_sched_basic_freq, 7, ABT_sched_config_var_end)));
  int a = 0, untouched = 11;
  double b = 0;
  void* c = nullptr;
  EXPECT_TRUE(abt_ok(ABT_sched_config_read(config, 4, &a, &b, &c, &untouched)));
  EXPECT_EQ(a, 3);
  EXPECT_EQ(b, 2.5);
  EXPECT_EQ(c, &config);
  EXPECT_EQ(untouched, 11);
  EXPECT_TRUE(abt_ok(ABT_sched_config_read(config, 2, nullptr, &b)));
  ABT_sched_config_type type;
  EXPECT_TRUE(abt_ok(ABT_sched_config_get(config, 1, &type, &b)));
  EXPECT_EQ(type, ABT_SCHED_CONFIG_DOUBLE);
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_ARG, ABT_sched_config_get(config, 9, &type, &b)));
  EXPECT_TRUE(abt_ok(ABT_sched_config_set(config, 9, ABT_SCHED_CONFIG_INT, &a)));
  EXPECT_TRUE(abt_ok(ABT_sched_config_get(config, 9, &type, &a)));
  EXPECT_TRUE(abt_ok(ABT_sched_config_set(config, 9, ABT_SCHED_CONFIG_INT, nullptr)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_ARG, ABT_sched_config_get(config, 9, &type, &a)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_ARG, ABT_sched_config_set(config, 9, static_cast<ABT_sched_config_type>(8), &a)));
  EXPECT_TRUE(abt_ok(ABT_sched_config_free(&config)));
  EXPECT_EQ(config, ABT_SCHED_CONFIG_NULL);
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_SCHED_CONFIG, ABT_sched_config_free(&config)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_SCHED_CONFIG, ABT_sched_config_read(config, 1, &a)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_SCHED_CONFIG, ABT_sched_config_get(config, 1, &type, &a)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_SCHED_CONFIG, ABT_sched_config_set(config, 1, ABT_SCHED_CONFIG_INT, &a)));
}

// A stacked scheduler of that pool, which ends when nothing of it is left.
void stack_on(ABT_pool pool, ABT_pool on) {
  ABT_sched_config config;
  ABT_sched sched;
  EXPECT_TRUE(abt_ok(ABT_sched_config_create(&config, ABT_sched_config_automatic, 1, ABT_sched_config_var_end)));
  EXPECT_TRUE(abt_ok(ABT_sched_create_basic(ABT_SCHED_BASIC, 1, &pool, config, &sched)));
  EXPECT_TRUE(abt_ok(ABT_sched_config_free(&config)));
  EXPECT_TRUE(abt_ok(ABT_pool_add_sched(on, sched)));
}

// Its last unit waits for another one's end, and goes on in that one's place, past its pool: nobody pushes there any more.
TEST_F(AbtSched, AStackedOneEndsThoughItsLastUnitWentOnPastItsPool) {
  for (const int yields : {0, 2}) {
    ABT_xstream xstream;
    ASSERT_TRUE(abt_ok(ABT_xstream_create(ABT_SCHED_NULL, &xstream)));
    const ABT_pool outer = main_pool_of(xstream);
    ABT_pool inner;
    ASSERT_TRUE(abt_ok(ABT_pool_create_basic(ABT_POOL_FIFO, ABT_POOL_ACCESS_MPMC, ABT_FALSE, &inner)));
    AbtCall child([] {
      for (int i = 0; i < 5; ++i) EXPECT_TRUE(abt_ok(ABT_self_yield()));
    });
    AbtCall joins([&] {
      ABT_thread other = child.thread(outer);
      for (int i = 0; i < yields; ++i) EXPECT_TRUE(abt_ok(ABT_self_yield()));  // else it is run on this one's stack
      EXPECT_TRUE(abt_ok(ABT_thread_free(&other)));
      EXPECT_TRUE(abt_ok(ABT_self_yield()));
      other = child.thread(outer);
      for (int i = 0; i < yields; ++i) EXPECT_TRUE(abt_ok(ABT_self_yield()));
      EXPECT_TRUE(abt_ok(ABT_thread_free(&other)));
    });
    ABT_thread thread = joins.thread(inner);
    stack_on(inner, outer);
    EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
    EXPECT_TRUE(abt_ok(ABT_xstream_join(xstream)));
    EXPECT_TRUE(abt_ok(ABT_xstream_free(&xstream)));
    EXPECT_TRUE(abt_ok(ABT_pool_free(&inner)));
  }
}

// The child has gone to another ES with the stack of the joiner, which goes on at home once it has ended.
TEST_F(AbtSched, AnEsWaitsForAUnitBelowTheOneThatItJoins) {
  ABT_xstream xstreams[2];
  for (ABT_xstream& each : xstreams) ASSERT_TRUE(abt_ok(ABT_xstream_create(ABT_SCHED_NULL, &each)));
  const ABT_pool here = main_pool_of(xstreams[0]), there = main_pool_of(xstreams[1]);
  ABT_eventual gate;
  ASSERT_TRUE(abt_ok(ABT_eventual_create(0, &gate)));
  std::atomic<bool> waits = false, joined = false;
  AbtCall child([&] {
    ABT_thread self;
    EXPECT_TRUE(abt_ok(ABT_self_get_thread(&self)));
    EXPECT_TRUE(abt_ok(ABT_thread_migrate_to_pool(self, there)));
    EXPECT_TRUE(abt_ok(ABT_self_yield()));
    waits = true;
    EXPECT_TRUE(abt_ok(ABT_eventual_wait(gate, nullptr)));
  });
  AbtCall joiner([&] {
    ABT_thread thread = child.thread(here);
    EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
    joined = true;
  });
  ABT_thread thread = joiner.thread(here);
  ASSERT_TRUE(wait_until([&] { return waits.load(); }));
  std::thread sets([&] {
    usleep(20'000);
    EXPECT_TRUE(abt_ok(ABT_eventual_set(gate, nullptr, 0)));
  });
  EXPECT_TRUE(abt_ok(ABT_xstream_join(xstreams[0])));
  EXPECT_TRUE(joined);
  sets.join();
  EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
  for (ABT_xstream& each : xstreams) EXPECT_TRUE(abt_ok(ABT_xstream_free(&each)));
  EXPECT_TRUE(abt_ok(ABT_eventual_free(&gate)));
}

// An ES has the pool to itself until a thread pops, and may end just then, and its record serve another pool.
TEST_F(AbtSched, APoolIsPoppedFromOutsideWhileItsEsComesAndGoes) {
  ABT_pool pool, other;
  ASSERT_TRUE(abt_ok(ABT_pool_create_basic(ABT_POOL_FIFO, ABT_POOL_ACCESS_MPMC, ABT_FALSE, &pool)));
  ASSERT_TRUE(abt_ok(ABT_pool_create_basic(ABT_POOL_RANDWS, ABT_POOL_ACCESS_MPMC, ABT_FALSE, &other)));
  std::atomic<bool> stop = false;
  std::atomic<long> pops = 0;
  std::thread popper([&] {
    while (!stop) {
      ABT_thread thread = ABT_THREAD_NULL;
      EXPECT_TRUE(abt_ok(ABT_pool_pop_thread(pool, &thread)));
      EXPECT_EQ(thread, ABT_THREAD_NULL);
      ++pops;
      usleep(10);
    }
  });
  for (int i = 0; i < 300; ++i) {
    ABT_xstream xstream;
    ASSERT_TRUE(abt_ok(ABT_xstream_create_basic(ABT_SCHED_BASIC, 1, &pool, ABT_SCHED_CONFIG_NULL, &xstream)));
    if (i % 2 != 0) usleep(20);
    EXPECT_TRUE(abt_ok(ABT_xstream_free(&xstream)));
    ASSERT_TRUE(abt_ok(ABT_xstream_create_basic(ABT_SCHED_BASIC, 1, &other, ABT_SCHED_CONFIG_NULL, &xstream)));
    const long before = pops;
    EXPECT_TRUE(wait_until([&] { return pops != before; }));
    EXPECT_TRUE(abt_ok(ABT_xstream_free(&xstream)));
  }
  stop = true;
  popper.join();
  EXPECT_TRUE(abt_ok(ABT_pool_free(&pool)));
  EXPECT_TRUE(abt_ok(ABT_pool_free(&other)));
}

}  // namespace
