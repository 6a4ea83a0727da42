// Argobots in a child that fork() has made.
#include <deque>
#include <mutex>

#include "support/abt_units.hpp"
#include "support/forked_child.hpp"

namespace {

using namespace weft_test;

#define CHILD_ABT(call) CHILD_CHECK((call) == ABT_SUCCESS)

// What a child does with pools that the parent knew.
void use(std::initializer_list<ABT_pool> pools) {
  int ran = 0;
  AbtCall call([&ran] {
    CHILD_ABT(ABT_self_yield());
    ++ran;
  });
  AbtCall at_once([&ran] { ++ran; });
  std::vector<ABT_thread> threads;
  for (int i = 0; i < 20; ++i) {
    for (const ABT_pool pool : pools) threads.push_back(call.thread(pool));
  }
  for (const ABT_pool pool : pools) {
    ABT_task task = at_once.task(pool);
    CHILD_ABT(ABT_task_free(&task));
  }
  CHILD_ABT(ABT_thread_free_many(static_cast<int>(threads.size()), threads.data()));
  CHILD_CHECK(ran == static_cast<int>(21 * pools.size()));
}

void use_another_es() {
  if (!kChildMayStartThreads) return;
  ABT_xstream other;
  CHILD_ABT(ABT_xstream_create(ABT_SCHED_NULL, &other));
  use({main_pool_of(other)});
  CHILD_ABT(ABT_xstream_free(&other));
}

// A second ES, with a pool of its own or a scheduler of the program's.
class OtherEs {
 public:
  explicit OtherEs(ABT_sched sched = ABT_SCHED_NULL) { EXPECT_TRUE(abt_ok(ABT_xstream_create(sched, &handle))); }
  OtherEs(const OtherEs&) = delete;
  OtherEs& operator=(const OtherEs&) = delete;
  ~OtherEs() { EXPECT_TRUE(abt_ok(ABT_xstream_free(&handle))); }

  ABT_xstream handle = ABT_XSTREAM_NULL;
};

class AbtFork : public AbtTest {
 protected:
  // The child is the primary ULT's, and finalises as often as was initialised.
  static void in_child(const std::function<void()>& f) {
    const int status = run_in_child([&] {
      f();
      CHILD_ABT(ABT_finalize());
      CHILD_CHECK(ABT_initialized() == ABT_ERR_UNINITIALIZED);
      CHILD_ABT(ABT_init(0, nullptr));
      use({main_pool()});
      CHILD_ABT(ABT_finalize());
    });
    EXPECT_EQ(status, 0);
  }
};

TEST_F(AbtFork, MainGoesOnWithItsEs) {
  const OtherEs other;
  const ABT_pool pool = main_pool();
  ABT_xstream mine;
  ASSERT_TRUE(abt_ok(ABT_self_get_xstream(&mine)));
  in_child([&] {
    ABT_xstream now;
    int count = 0;
    CHILD_ABT(ABT_self_get_xstream(&now));
    CHILD_CHECK(now == mine && main_pool() == pool);
    CHILD_ABT(ABT_xstream_get_num(&count));
    CHILD_CHECK(count == 1);
    use({pool});
    use_another_es();
  });
  in_child([] { CHILD_CHECK(run_in_child([] { use({main_pool()}); }) == 0); });
}

TEST_F(AbtFork, AUltGoesOnWithItsEsAsThePrimaryOne) {
  const OtherEs other;
  const ABT_pool pool = main_pool_of(other.handle);
  in_abt_ult(
      [&] {
        in_child([&] {
          ABT_xstream now;
          ABT_bool primary = ABT_FALSE;
          CHILD_ABT(ABT_self_get_xstream(&now));
          CHILD_CHECK(now == other.handle && main_pool() == pool);
          CHILD_ABT(ABT_xstream_is_primary(now, &primary));
          CHILD_CHECK(primary == ABT_TRUE);
          use({pool});
          use_another_es();
        });
      },
      pool);
}

TEST_F(AbtFork, InitialisedTwiceIsFinalisedTwice) {
  ASSERT_TRUE(abt_ok(ABT_init(0, nullptr)));
  in_child([] {
    CHILD_ABT(ABT_finalize());
    use({main_pool()});
  });
  EXPECT_TRUE(abt_ok(ABT_finalize()));
}

// Of a pool that the child's ES serves together with one that is not there.
TEST_F(AbtFork, ThePoolsOfTheMainSchedulerAreServed) {
  ABT_pool pools[3];
  for (ABT_pool& pool : pools) {
    ASSERT_TRUE(abt_ok(ABT_pool_create_basic(ABT_POOL_FIFO, ABT_POOL_ACCESS_MPMC, ABT_FALSE, &pool)));
  }
  for (const ABT_sched_predef kind : {ABT_SCHED_BASIC, ABT_SCHED_BASIC_WAIT, ABT_SCHED_PRIO, ABT_SCHED_RANDWS}) {
    ABT_sched sched, shared;
    ASSERT_TRUE(abt_ok(ABT_sched_create_basic(kind, 3, pools, ABT_SCHED_CONFIG_NULL, &sched)));
    ASSERT_TRUE(abt_ok(ABT_sched_create_basic(ABT_SCHED_BASIC, 1, &pools[2], ABT_SCHED_CONFIG_NULL, &shared)));
    const OtherEs other(sched);
    const OtherEs sharing(shared);
    for (const ABT_pool home : {pools[0], pools[1], pools[2]}) {
      in_abt_ult(
          [&] {
            in_child([&] {
              ABT_pool now;
              ABT_thread self;
              CHILD_ABT(ABT_self_get_thread(&self));
              CHILD_ABT(ABT_thread_get_last_pool(self, &now));
              int rank = -1;
              CHILD_ABT(ABT_self_get_xstream_rank(&rank));
              if (rank == 1) {
                CHILD_CHECK(now == home);
                use({pools[0], pools[1], pools[2]});
              } else {
                use({pools[2]});
              }
            });
          },
          home);
    }
  }
  for (ABT_pool& pool : pools) EXPECT_TRUE(abt_ok(ABT_pool_free(&pool)));
}

// They are called anew; what they keep is as it was.
TEST_F(AbtFork, SchedulersAndPoolsOfTheProgramsGoOn) {
  struct Queue {
    std::mutex lock;
    std::deque<ABT_unit> units;
  };
  static Queue queue;
  ABT_pool_user_def def;
  ASSERT_TRUE(abt_ok(ABT_pool_user_def_create(
      [](ABT_pool, ABT_thread thread) { return reinterpret_cast<ABT_unit>(reinterpret_cast<uintptr_t>(thread) + 2); },
      [](ABT_pool, ABT_unit) {}, [](ABT_pool) { return queue.units.empty() ? ABT_TRUE : ABT_FALSE; },
      [](ABT_pool, ABT_pool_context) {
        const std::lock_guard hold(queue.lock);
        if (queue.units.empty()) return ABT_THREAD_NULL;
        ABT_unit unit = queue.units.front();
        queue.units.pop_front();
        ABT_thread thread = ABT_THREAD_NULL;
        EXPECT_TRUE(abt_ok(ABT_unit_get_thread(unit, &thread)));
        return thread;
      },
      [](ABT_pool, ABT_unit unit, ABT_pool_context) {
        const std::lock_guard hold(queue.lock);
        queue.units.push_back(unit);
      },
      &def)));
  ABT_pool pool;
  ASSERT_TRUE(abt_ok(ABT_pool_create(def, ABT_POOL_CONFIG_NULL, &pool)));
  ABT_sched_def sched_def{};
  sched_def.type = ABT_SCHED_TYPE_ULT;
  sched_def.run = [](ABT_sched self) {
    ABT_pool pool;
    ASSERT_TRUE(abt_ok(ABT_sched_get_pools(self, 1, 0, &pool)));
    for (ABT_bool stop = ABT_FALSE; stop == ABT_FALSE;) {
      ABT_thread thread;
      EXPECT_TRUE(abt_ok(ABT_pool_pop_thread(pool, &thread)));
      if (thread != ABT_THREAD_NULL) {
        EXPECT_TRUE(abt_ok(ABT_self_schedule(thread, ABT_POOL_NULL)));
      }
      EXPECT_TRUE(abt_ok(ABT_xstream_check_events(self)));
      EXPECT_TRUE(abt_ok(ABT_sched_has_to_stop(self, &stop)));
    }
  };
  ABT_sched sched;
  ASSERT_TRUE(abt_ok(ABT_sched_create(&sched_def, 1, &pool, ABT_SCHED_CONFIG_NULL, &sched)));
  {
    const OtherEs other(sched);
    in_abt_ult([&] { in_child([&] { use({pool}); }); }, pool);
  }
  EXPECT_TRUE(abt_ok(ABT_pool_free(&pool)));
  EXPECT_TRUE(abt_ok(ABT_pool_user_def_free(&def)));
}

// What has stayed behind can be told: nobody waits for it.
TEST_F(AbtFork, OthersAreNotWaitedFor) {
  const OtherEs other;
  ABT_eventual never;
  ASSERT_TRUE(abt_ok(ABT_eventual_create(0, &never)));
  AbtCall waits([&] { EXPECT_TRUE(abt_ok(ABT_eventual_wait(never, nullptr))); });
  ABT_thread thread = waits.thread(main_pool_of(other.handle));
  ABT_thread_state state = ABT_THREAD_STATE_READY;
  ASSERT_TRUE(wait_until([&] {
    EXPECT_TRUE(abt_ok(ABT_thread_get_state(thread, &state)));
    return state == ABT_THREAD_STATE_BLOCKED;
  }));
  in_child([&] {
    CHILD_CHECK(ABT_thread_join(thread) != ABT_SUCCESS);
    CHILD_CHECK(ABT_xstream_join(other.handle) != ABT_SUCCESS);
    CHILD_ABT(ABT_eventual_set(never, nullptr, 0));
  });
  EXPECT_TRUE(abt_ok(ABT_eventual_set(never, nullptr, 0)));
  EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
  EXPECT_TRUE(abt_ok(ABT_eventual_free(&never)));
}

// One that is no ES has none in its child, and may start anew.
TEST_F(AbtFork, AThreadsChildStartsAnew) {
  int status = -1;
  on_external([&] {
    status = run_in_child([] {
      CHILD_CHECK(ABT_initialized() == ABT_ERR_UNINITIALIZED);
      CHILD_ABT(ABT_init(0, nullptr));
      use({main_pool()});
      use_another_es();
      CHILD_ABT(ABT_finalize());
    });
  });
  EXPECT_EQ(status, 0);
}

}  // namespace
