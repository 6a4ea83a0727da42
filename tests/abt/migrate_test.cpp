// ABT_thread_migrate*: units that go to another pool.
#include "support/abt_units.hpp"

namespace {

using namespace weft_test;

class AbtMigrate : public AbtTest {};

struct Moves {
  std::atomic<int> count{0};
  std::atomic<ABT_thread> last{nullptr};
};
void note(ABT_thread thread, void* arg) {
  auto* moves = static_cast<Moves*>(arg);
  ++moves->count;
  moves->last = thread;
}

TEST_F(AbtMigrate, OfOneThatHasNotStarted) {
  const AnXstream other;
  for (const bool task : {false, true}) {
    Moves moves;
    int rank = -1;
    AbtCall call([&] { rank = my_rank(); });
    ABT_thread thread = task ? call.task(main_pool()) : call.thread(main_pool());
    EXPECT_TRUE(abt_ok(ABT_thread_set_callback(thread, note, &moves)));
    EXPECT_TRUE(abt_ok(ABT_thread_migrate_to_xstream(thread, other)));
    EXPECT_TRUE(abt_ok(ABT_thread_join(thread)));
    EXPECT_EQ(rank, 1);
    EXPECT_EQ(moves.count, 1);
    EXPECT_EQ(moves.last, thread);
    ABT_pool home;
    EXPECT_TRUE(abt_ok(ABT_thread_get_last_pool(thread, &home)));
    EXPECT_EQ(home, other.pool());
    EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
  }
}

TEST_F(AbtMigrate, OfItself) {
  const AnXstream other;
  std::vector<int> ranks;
  const ABT_pool here = main_pool(), there = other.pool();
  for (int i = 0; i < 20; ++i) {
    in_abt_ult([&] {
      ABT_thread self;
      EXPECT_TRUE(abt_ok(ABT_self_get_thread(&self)));
      EXPECT_EQ(my_rank(), 0);
      EXPECT_TRUE(abt_fails(ABT_ERR_MIGRATION_TARGET, ABT_thread_migrate_to_pool(self, here)));
      EXPECT_TRUE(abt_ok(ABT_thread_migrate_to_pool(self, there)));
      ABT_thread_yield();
      EXPECT_EQ(my_rank(), 1);
      EXPECT_TRUE(abt_ok(ABT_thread_migrate(self)));  // to whichever ES there is
      ABT_thread_yield();
      EXPECT_EQ(my_rank(), 0);
    });
    EXPECT_EQ(my_rank(), 0);
  }
}

// On the stack of the ULT that joins it, it takes that one along; which is back where it belongs afterwards.
TEST_F(AbtMigrate, OfAJoinedOne) {
  const AnXstream other, third;
  const ABT_pool there = other.pool();
  for (int i = 0; i < 20; ++i) {
    in_abt_ult(
        [&] {
          EXPECT_EQ(my_rank(), 2);
          in_abt_ult([&] {
            ABT_thread self;
            EXPECT_TRUE(abt_ok(ABT_self_get_thread(&self)));
            EXPECT_TRUE(abt_ok(ABT_thread_migrate_to_pool(self, there)));
            ABT_thread_yield();
            EXPECT_EQ(my_rank(), 1);
          });
          EXPECT_EQ(my_rank(), 2);
        },
        third.pool());
  }
}

TEST_F(AbtMigrate, OfASuspendedOne) {
  const AnXstream other;
  std::atomic<int> rank = -1;
  AbtCall call([&] {
    EXPECT_TRUE(abt_ok(ABT_self_suspend()));
    rank = my_rank();
  });
  ABT_thread thread = call.thread(main_pool());
  ABT_thread_yield();
  EXPECT_EQ(state_of(thread), ABT_THREAD_STATE_BLOCKED);
  ABT_sched sched;
  EXPECT_TRUE(abt_ok(ABT_xstream_get_main_sched(other, &sched)));
  EXPECT_TRUE(abt_ok(ABT_thread_migrate_to_sched(thread, sched)));
  EXPECT_EQ(rank, -1);
  EXPECT_TRUE(abt_ok(ABT_thread_resume(thread)));
  EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
  EXPECT_EQ(rank, 1);
}

TEST_F(AbtMigrate, TheLatestRequestCounts) {
  const AnXstream first, second;
  int rank = -1;
  AbtCall call([&] { rank = my_rank(); });
  ABT_thread thread = call.thread(main_pool());
  EXPECT_TRUE(abt_ok(ABT_thread_migrate_to_pool(thread, first.pool())));
  EXPECT_TRUE(abt_ok(ABT_thread_migrate_to_pool(thread, second.pool())));
  EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
  EXPECT_EQ(rank, 2);
}

TEST_F(AbtMigrate, ToAndFroUnderLoad) {
  const AnXstream other;
  const ABT_pool pools[] = {main_pool(), other.pool()};
  std::atomic<int> done = 0;
  AbtCall call([&] {
    ABT_thread self;
    EXPECT_TRUE(abt_ok(ABT_self_get_thread(&self)));
    for (int i = 0; i < 30; ++i) {
      ABT_pool home;
      EXPECT_TRUE(abt_ok(ABT_self_get_last_pool(&home)));
      const int to = home == pools[0] ? 1 : 0;
      EXPECT_TRUE(abt_ok(ABT_thread_migrate_to_pool(self, pools[to])));
      ABT_thread_yield();
      EXPECT_EQ(my_rank(), to);
    }
    ++done;
  });
  std::vector<ABT_thread> threads;
  for (int i = 0; i < 50; ++i) threads.push_back(call.thread(pools[i % 2]));
  for (ABT_thread& thread : threads) EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
  EXPECT_EQ(done, 50);
}

TEST_F(AbtMigrate, WhatCannotMove) {
  const AnXstream other;
  ABT_thread self;
  EXPECT_TRUE(abt_ok(ABT_self_get_thread(&self)));
  ABT_thread none = ABT_THREAD_NULL;
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_migrate_to_pool(self, other.pool())));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_migrate_to_xstream(self, other)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_migrate(self)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_migrate_to_pool(none, other.pool())));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_migrate_to_xstream(none, other)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_migrate_to_sched(none, ABT_SCHED_NULL)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_migrate(none)));
  AbtCall call([] {});
  ABT_thread thread = call.thread(main_pool());
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL, ABT_thread_migrate_to_pool(thread, ABT_POOL_NULL)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_thread_migrate_to_xstream(thread, ABT_XSTREAM_NULL)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_SCHED, ABT_thread_migrate_to_sched(thread, ABT_SCHED_NULL)));
  EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
}

TEST_F(AbtMigrate, NowhereToGo) {
  AbtCall call([] {});
  ABT_thread thread = call.thread(main_pool());
  EXPECT_TRUE(abt_fails(ABT_ERR_MIGRATION_NA, ABT_thread_migrate(thread)));
  EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
}

}  // namespace
