// ABT_xstream_*.
#include "support/abt_units.hpp"

namespace {

using namespace weft_test;

class AbtXstream : public AbtTest {};

int rank_of(ABT_xstream xstream) {
  int rank = -1;
  EXPECT_TRUE(abt_ok(ABT_xstream_get_rank(xstream, &rank)));
  return rank;
}

ABT_xstream_state state_of_es(ABT_xstream xstream) {
  ABT_xstream_state state = ABT_XSTREAM_STATE_RUNNING;
  EXPECT_TRUE(abt_ok(ABT_xstream_get_state(xstream, &state)));
  return state;
}

TEST_F(AbtXstream, RunsWhatIsPutIntoItsPool) {
  std::atomic<int> ran = 0;
  {
    const AnXstream a, b;
    EXPECT_EQ(rank_of(a), 1);
    EXPECT_EQ(rank_of(b), 2);
    std::vector<std::unique_ptr<AbtCall>> calls;
    std::vector<ABT_thread> threads;
    for (int i = 0; i < 100; ++i) {
      const bool first = i % 2 == 0;
      calls.push_back(std::make_unique<AbtCall>([&ran, first] {
        EXPECT_EQ(my_rank(), first ? 1 : 2);
        ABT_thread_yield();
        EXPECT_EQ(my_rank(), first ? 1 : 2);
        ++ran;
      }));
      threads.push_back(calls.back()->thread((first ? a : b).pool()));
    }
    for (ABT_thread& thread : threads) EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
  }
  EXPECT_EQ(ran, 100);
}

TEST_F(AbtXstream, Ranks) {
  int count = 0;
  EXPECT_TRUE(abt_ok(ABT_xstream_get_num(&count)));
  EXPECT_EQ(count, 1);
  ABT_xstream a, b, c;
  EXPECT_TRUE(abt_ok(ABT_xstream_create_with_rank(ABT_SCHED_NULL, 5, &a)));
  EXPECT_TRUE(abt_ok(ABT_xstream_create(ABT_SCHED_NULL, &b)));
  EXPECT_EQ(rank_of(a), 5);
  EXPECT_EQ(rank_of(b), 1);  // the smallest that is free
  EXPECT_TRUE(abt_ok(ABT_xstream_get_num(&count)));
  EXPECT_EQ(count, 3);
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM_RANK, ABT_xstream_create_with_rank(ABT_SCHED_NULL, 5, &c)));
  EXPECT_EQ(c, kAbt20 ? c : ABT_XSTREAM_NULL);
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM_RANK, ABT_xstream_create_with_rank(ABT_SCHED_NULL, -1, &c)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM_RANK, ABT_xstream_set_rank(a, 1)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM_RANK, ABT_xstream_set_rank(a, -1)));
  EXPECT_EQ(rank_of(a), 5);
  EXPECT_TRUE(abt_ok(ABT_xstream_set_rank(a, 2)));
  EXPECT_EQ(rank_of(a), 2);
  EXPECT_TRUE(abt_ok(ABT_xstream_free(&b)));
  EXPECT_TRUE(abt_ok(ABT_xstream_create(ABT_SCHED_NULL, &b)));
  EXPECT_EQ(rank_of(b), 1);
  EXPECT_TRUE(abt_ok(ABT_xstream_free(&b)));
  EXPECT_TRUE(abt_ok(ABT_xstream_free(&a)));
}

TEST_F(AbtXstream, ThePrimaryOne) {
  ABT_xstream self;
  ABT_bool flag = ABT_FALSE;
  EXPECT_TRUE(abt_ok(ABT_xstream_self(&self)));
  EXPECT_TRUE(abt_ok(ABT_xstream_is_primary(self, &flag)));
  EXPECT_EQ(flag, ABT_TRUE);
  EXPECT_EQ(rank_of(self), 0);
  ABT_xstream copy = self;
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_xstream_join(self)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_xstream_free(&copy)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_xstream_cancel(self)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_xstream_revive(self)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_xstream_set_rank(self, 3)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_xstream_exit()));
  EXPECT_EQ(state_of_es(self), ABT_XSTREAM_STATE_RUNNING);
  ABT_bool equal = ABT_FALSE;
  EXPECT_TRUE(abt_ok(ABT_xstream_equal(self, copy, &equal)));
  EXPECT_EQ(equal, ABT_TRUE);
}

TEST_F(AbtXstream, WrongArguments) {
  ABT_xstream none = ABT_XSTREAM_NULL;
  ABT_xstream_state state;
  ABT_sched sched;
  ABT_pool pool;
  ABT_bool flag;
  int number;
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_xstream_join(none)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_xstream_free(&none)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_xstream_revive(none)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_xstream_cancel(none)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_xstream_get_rank(none, &number)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_xstream_set_rank(none, 1)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_xstream_get_state(none, &state)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_xstream_get_main_sched(none, &sched)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_xstream_get_main_pools(none, 1, &pool)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_xstream_set_main_sched(none, ABT_SCHED_NULL)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_xstream_set_main_sched_basic(none, ABT_SCHED_BASIC, 0, nullptr)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_xstream_is_primary(none, &flag)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_xstream_get_cpubind(none, &number)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_xstream_set_cpubind(none, 0)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_xstream_get_affinity(none, 0, nullptr, &number)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_xstream_set_affinity(none, 0, nullptr)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_SCHED, ABT_xstream_check_events(ABT_SCHED_NULL)));
  ABT_xstream made = nullptr;
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_ARG, ABT_xstream_create_basic(ABT_SCHED_PRIO, -1, nullptr,
                                                                  ABT_SCHED_CONFIG_NULL, &made)));
}

TEST_F(AbtXstream, JoinDrainsItsPool) {
  ABT_xstream xstream;
  ASSERT_TRUE(abt_ok(ABT_xstream_create(ABT_SCHED_NULL, &xstream)));
  std::atomic<int> ran = 0;
  AbtCall call([&] {
    for (int i = 0; i < 5; ++i) ABT_thread_yield();
    ++ran;
  });
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(abt_ok(
        ABT_thread_create(main_pool_of(xstream), &AbtCall::run, &call, ABT_THREAD_ATTR_NULL, nullptr)));
  }
  EXPECT_TRUE(abt_ok(ABT_xstream_join(xstream)));
  EXPECT_EQ(ran, 50);
  EXPECT_EQ(state_of_es(xstream), ABT_XSTREAM_STATE_TERMINATED);
  EXPECT_TRUE(abt_ok(ABT_xstream_join(xstream)));
  EXPECT_TRUE(abt_ok(ABT_xstream_free(&xstream)));
}

// A ULT that is blocked there, and that nobody else may run, is waited for.
TEST_F(AbtXstream, JoinWaitsForSuspendedUnits) {
  ABT_xstream xstream;
  ASSERT_TRUE(abt_ok(ABT_xstream_create(ABT_SCHED_NULL, &xstream)));
  std::atomic<bool> done = false;
  AbtCall call([&] {
    EXPECT_TRUE(abt_ok(ABT_self_suspend()));
    done = true;
  });
  ABT_thread thread = call.thread(main_pool_of(xstream));
  EXPECT_TRUE(abt_wait_until([&] { return state_of(thread) == ABT_THREAD_STATE_BLOCKED; }));
  std::thread resumer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(done);
    EXPECT_TRUE(abt_ok(ABT_thread_resume(thread)));
  });
  EXPECT_TRUE(abt_ok(ABT_xstream_join(xstream)));
  EXPECT_TRUE(done);
  resumer.join();
  EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
  EXPECT_TRUE(abt_ok(ABT_xstream_free(&xstream)));
}

TEST_F(AbtXstream, FromEachContext) {
  const auto use = [] {
    ABT_xstream xstream;
    ASSERT_TRUE(abt_ok(ABT_xstream_create(ABT_SCHED_NULL, &xstream)));
    int ran = 0;
    AbtCall call([&] { ++ran; });
    ABT_thread thread = call.thread(main_pool_of(xstream));
    EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
    EXPECT_EQ(ran, 1);
    EXPECT_TRUE(abt_ok(ABT_xstream_free(&xstream)));
  };
  use();
  in_abt_ult(use);
  on_external(use);
}

TEST_F(AbtXstream, AUnitDoesNotJoinItsOwn) {
  ABT_xstream xstream;
  ASSERT_TRUE(abt_ok(ABT_xstream_create(ABT_SCHED_NULL, &xstream)));
  in_abt_ult(
      [&] {
        ABT_xstream self = xstream;
        EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_xstream_join(self)));
        EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_xstream_free(&self)));
      },
      main_pool_of(xstream));
  EXPECT_TRUE(abt_ok(ABT_xstream_free(&xstream)));
}

TEST_F(AbtXstream, Revive) {
  ABT_xstream xstream;
  ASSERT_TRUE(abt_ok(ABT_xstream_create(ABT_SCHED_NULL, &xstream)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_xstream_revive(xstream)));
  for (int i = 0; i < 5; ++i) {
    int ran = 0;
    in_abt_ult([&] { ++ran; }, main_pool_of(xstream));
    EXPECT_EQ(ran, 1);
    EXPECT_TRUE(abt_ok(ABT_xstream_join(xstream)));
    EXPECT_TRUE(abt_ok(ABT_xstream_revive(xstream)));
    EXPECT_EQ(state_of_es(xstream), ABT_XSTREAM_STATE_RUNNING);
  }
  EXPECT_TRUE(abt_ok(ABT_xstream_free(&xstream)));
}

TEST_F(AbtXstream, ExitAndCancel) {
  for (const bool cancel : {false, true}) {
    ABT_xstream xstream;
    ASSERT_TRUE(abt_ok(ABT_xstream_create(ABT_SCHED_NULL, &xstream)));
    int after = 0;
    AbtCall call([&] {
      static_cast<void>(ABT_xstream_exit());
      ++after;
    });
    if (cancel) {
      EXPECT_TRUE(abt_ok(ABT_xstream_cancel(xstream)));
    } else {
      ABT_thread thread = call.thread(main_pool_of(xstream));
      EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
    }
    EXPECT_TRUE(abt_wait_until([&] { return state_of_es(xstream) == ABT_XSTREAM_STATE_TERMINATED; }));
    EXPECT_EQ(after, 0);
    EXPECT_TRUE(abt_ok(ABT_xstream_free(&xstream)));
  }
  in_abt_task([] { EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_xstream_exit())); });
  on_external([] { EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_xstream_exit())); });
}

TEST_F(AbtXstream, MainSchedulersAndPools) {
  for (int predef = ABT_SCHED_DEFAULT; predef <= ABT_SCHED_BASIC_WAIT; ++predef) {
    ABT_xstream xstream;
    ASSERT_TRUE(abt_ok(ABT_xstream_create_basic(static_cast<ABT_sched_predef>(predef), 0, nullptr,
                                                ABT_SCHED_CONFIG_NULL, &xstream)));
    ABT_sched sched;
    EXPECT_TRUE(abt_ok(ABT_xstream_get_main_sched(xstream, &sched)));
    int count = 0;
    EXPECT_TRUE(abt_ok(ABT_sched_get_num_pools(sched, &count)));
    EXPECT_EQ(count, predef == ABT_SCHED_PRIO ? 3 : 1);
    ABT_pool pools[4] = {ABT_POOL_NULL, ABT_POOL_NULL, ABT_POOL_NULL, ABT_POOL_NULL};
    EXPECT_TRUE(abt_ok(ABT_xstream_get_main_pools(xstream, 4, pools)));
    EXPECT_EQ(pools[3], ABT_POOL_NULL);
    EXPECT_TRUE(abt_fails(ABT_ERR_INV_ARG, ABT_xstream_get_main_pools(xstream, -1, pools)));
    for (int i = 0; i < count; ++i) {
      int rank = -1;
      in_abt_ult([&] { rank = my_rank(); }, pools[i]);
      EXPECT_EQ(rank, 1);
    }
    EXPECT_TRUE(abt_ok(ABT_xstream_free(&xstream)));
  }
}

TEST_F(AbtXstream, TheMainSchedulerIsReplaced) {
  const AnXstream other;
  const auto replace = [](ABT_xstream self) {
    ABT_pool before = main_pool_of(self);
    std::vector<int> order;
    AbtCall left([&] { order.push_back(1); });
    ABT_thread thread = left.thread(before);
    EXPECT_TRUE(abt_ok(ABT_xstream_set_main_sched_basic(self, ABT_SCHED_BASIC, 0, nullptr)));
    order.push_back(2);  // what was left for the old one has been done
    const ABT_pool after = main_pool_of(self);
    EXPECT_NE(before, after);
    ABT_pool home;
    EXPECT_TRUE(abt_ok(ABT_self_get_last_pool(&home)));
    EXPECT_EQ(home, after);
    EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
    EXPECT_EQ(order, (std::vector<int>{1, 2}));
    int ran = 0;
    in_abt_ult([&] { ++ran; }, after);
    EXPECT_EQ(ran, 1);
    EXPECT_TRUE(abt_ok(ABT_xstream_set_main_sched(self, ABT_SCHED_NULL)));
    in_abt_ult([&] { ++ran; }, main_pool_of(self));
    EXPECT_EQ(ran, 2);
  };
  in_abt_ult([&] { replace(other); }, other.pool());
  ABT_xstream self;
  EXPECT_TRUE(abt_ok(ABT_self_get_xstream(&self)));
  EXPECT_TRUE(abt_fails(kAbt20 ? ABT_ERR_INV_XSTREAM : ABT_ERR_XSTREAM_STATE,
                        ABT_xstream_set_main_sched(other, ABT_SCHED_NULL)));
  on_external([&] { EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_xstream_set_main_sched(self, ABT_SCHED_NULL))); });
  in_abt_task([&] { EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_xstream_set_main_sched(self, ABT_SCHED_NULL))); });
  ABT_sched used;
  EXPECT_TRUE(abt_ok(ABT_xstream_get_main_sched(other, &used)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_SCHED, ABT_xstream_set_main_sched(self, used)));
  EXPECT_TRUE(abt_fails(ABT_ERR_SCHED, ABT_sched_free(&used)));
  ABT_xstream made;
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_SCHED, ABT_xstream_create(used, &made)));
  replace(self);
}

TEST_F(AbtXstream, TheMainSchedulerOfAStoppedOneIsReplaced) {
  ABT_xstream xstream;
  ASSERT_TRUE(abt_ok(ABT_xstream_create(ABT_SCHED_NULL, &xstream)));
  EXPECT_TRUE(abt_ok(ABT_xstream_join(xstream)));
  APool pool;
  ABT_pool pools[] = {pool};
  EXPECT_TRUE(abt_ok(ABT_xstream_set_main_sched_basic(xstream, ABT_SCHED_BASIC, 1, pools)));
  EXPECT_EQ(main_pool_of(xstream), pool.handle);
  EXPECT_TRUE(abt_ok(ABT_xstream_revive(xstream)));
  int rank = -1;
  in_abt_ult([&] { rank = my_rank(); }, pool);
  EXPECT_EQ(rank, 1);
  EXPECT_TRUE(abt_ok(ABT_xstream_free(&xstream)));
}

class AbtBoundXstream : public AbtTestWith {
 protected:
  AbtBoundXstream() : AbtTestWith("ABT_SET_AFFINITY", "no") {}
};
TEST_F(AbtBoundXstream, RunsWhatItHasThere) {
  const AnXstream xstream;
  int all[64], count = 0;
  EXPECT_TRUE(abt_ok(ABT_xstream_get_affinity(xstream, 64, all, &count)));
  ASSERT_GE(count, 1);
  int cpu = -1;
  EXPECT_TRUE(abt_fails(kAbt20 ? ABT_ERR_CPUID : ABT_ERR_FEATURE_NA, ABT_xstream_get_cpubind(xstream, &cpu)));
  EXPECT_TRUE(abt_ok(ABT_xstream_set_cpubind(xstream, all[0])));
  EXPECT_TRUE(abt_ok(ABT_xstream_get_cpubind(xstream, &cpu)));
  EXPECT_EQ(cpu, all[0]);
  int is = -1;
  in_abt_ult([&] { is = sched_getcpu(); }, xstream.pool());
  EXPECT_EQ(is, all[0]);
  EXPECT_TRUE(abt_ok(ABT_xstream_get_affinity(xstream, 0, nullptr, &count)));
  EXPECT_EQ(count, 1);
  EXPECT_TRUE(abt_fails(ABT_ERR_CPUID, ABT_xstream_set_cpubind(xstream, 8191)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_ARG, ABT_xstream_set_affinity(xstream, -1, all)));
  EXPECT_TRUE(abt_ok(ABT_xstream_set_affinity(xstream, 0, nullptr)));  // as it was
  EXPECT_TRUE(abt_fails(kAbt20 ? ABT_ERR_CPUID : ABT_ERR_FEATURE_NA, ABT_xstream_get_cpubind(xstream, &cpu)));
}

// Its own pool lives on with another one's scheduler.
TEST_F(AbtXstream, ItsPoolMayOutliveIt) {
  ABT_xstream first, second;
  ASSERT_TRUE(abt_ok(ABT_xstream_create(ABT_SCHED_NULL, &first)));
  ABT_pool pool = main_pool_of(first);
  ASSERT_TRUE(abt_ok(ABT_xstream_create_basic(ABT_SCHED_BASIC, 1, &pool, ABT_SCHED_CONFIG_NULL, &second)));
  EXPECT_TRUE(abt_ok(ABT_xstream_free(&first)));
  int rank = -1;
  in_abt_ult([&] { rank = my_rank(); }, pool);
  EXPECT_EQ(rank, 2);
  EXPECT_TRUE(abt_ok(ABT_xstream_free(&second)));
}

}  // namespace
