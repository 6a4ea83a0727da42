// ABT_task_*: tasklets.
#include "support/abt_units.hpp"

namespace {

using namespace weft_test;

class AbtTask : public AbtTest {};

ABT_task_state task_state(ABT_task task) {
  ABT_task_state state = ABT_TASK_STATE_READY;
  EXPECT_TRUE(abt_ok(ABT_task_get_state(task, &state)));
  return state;
}

TEST_F(AbtTask, CreateJoinFree) {
  int ran = 0;
  ABT_task task = ABT_TASK_NULL;
  AbtCall call([&] {
    ++ran;
    ABT_task self;
    EXPECT_TRUE(abt_ok(ABT_task_self(&self)));
    EXPECT_EQ(self, task);
    EXPECT_EQ(task_state(self), ABT_TASK_STATE_RUNNING);
  });
  task = call.task(main_pool());
  EXPECT_EQ(task_state(task), ABT_TASK_STATE_READY);
  EXPECT_EQ(ran, 0);
  EXPECT_TRUE(abt_ok(ABT_task_join(task)));
  EXPECT_EQ(task_state(task), ABT_TASK_STATE_TERMINATED);
  EXPECT_TRUE(abt_ok(ABT_task_join(task)));
  EXPECT_TRUE(abt_ok(ABT_task_revive(main_pool(), &AbtCall::run, &call, &task)));
  EXPECT_TRUE(abt_ok(ABT_task_free(&task)));
  EXPECT_EQ(task, ABT_TASK_NULL);
  EXPECT_EQ(ran, 2);
}

TEST_F(AbtTask, OnAnXstream) {
  const AnXstream other;
  int rank = -1;
  AbtCall call([&] { rank = my_rank(); });
  ABT_task task;
  EXPECT_TRUE(abt_ok(ABT_task_create_on_xstream(other, &AbtCall::run, &call, &task)));
  EXPECT_TRUE(abt_ok(ABT_task_join(task)));
  EXPECT_EQ(rank, 1);
  ABT_xstream last;
  EXPECT_TRUE(abt_ok(ABT_task_get_xstream(task, &last)));
  EXPECT_EQ(last, other.handle);
  EXPECT_TRUE(abt_ok(ABT_task_free(&task)));
}

TEST_F(AbtTask, Queries) {
  int ran = 0;
  AbtCall call([&] { ++ran; });
  ABT_task task = call.task(main_pool()), other = call.task(main_pool());
  ABT_pool pool;
  int id, pool_id;
  uint64_t a, b;
  void* arg;
  ABT_bool flag = ABT_FALSE;
  EXPECT_TRUE(abt_ok(ABT_task_get_last_pool(task, &pool)));
  EXPECT_EQ(pool, main_pool());
  EXPECT_TRUE(abt_ok(ABT_task_get_last_pool_id(task, &id)));
  EXPECT_TRUE(abt_ok(ABT_pool_get_id(pool, &pool_id)));
  EXPECT_EQ(id, pool_id);
  EXPECT_TRUE(abt_ok(ABT_task_get_id(task, &a)));
  EXPECT_TRUE(abt_ok(ABT_task_get_id(other, &b)));
  EXPECT_NE(a, b);
  EXPECT_TRUE(abt_ok(ABT_task_get_arg(task, &arg)));
  EXPECT_EQ(arg, &call);
  EXPECT_TRUE(abt_ok(ABT_task_is_migratable(task, &flag)));
  EXPECT_EQ(flag, ABT_TRUE);
  EXPECT_TRUE(abt_ok(ABT_task_set_migratable(task, ABT_FALSE)));
  EXPECT_TRUE(abt_ok(ABT_task_is_migratable(task, &flag)));
  EXPECT_EQ(flag, ABT_FALSE);
  EXPECT_TRUE(abt_ok(ABT_task_equal(task, task, &flag)));
  EXPECT_EQ(flag, ABT_TRUE);
  EXPECT_TRUE(abt_ok(ABT_task_equal(task, other, &flag)));
  EXPECT_EQ(flag, ABT_FALSE);
  EXPECT_TRUE(abt_ok(ABT_task_cancel(other)));
  EXPECT_TRUE(abt_ok(ABT_task_free(&other)));
  EXPECT_TRUE(abt_ok(ABT_thread_join(task)));  // of either kind
  EXPECT_TRUE(abt_ok(ABT_thread_free(&task)));
  EXPECT_EQ(ran, 1);  // the other one has been cancelled
}

TEST_F(AbtTask, WrongArguments) {
  ABT_task none = ABT_TASK_NULL;
  ABT_task_state state;
  ABT_pool pool;
  ABT_xstream xstream;
  ABT_bool flag;
  uint64_t id;
  int number;
  void* arg;
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL, ABT_task_create(ABT_POOL_NULL, [](void*) {}, nullptr, &none)));
  none = ABT_TASK_NULL;
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM,
                        ABT_task_create_on_xstream(ABT_XSTREAM_NULL, [](void*) {}, nullptr, &none)));
  none = ABT_TASK_NULL;
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_TASK, ABT_task_join(none)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_TASK, ABT_task_free(&none)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_TASK, ABT_task_cancel(none)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_TASK, ABT_task_revive(main_pool(), [](void*) {}, nullptr, &none)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_TASK, ABT_task_get_state(none, &state)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_TASK, ABT_task_get_xstream(none, &xstream)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_TASK, ABT_task_get_last_pool(none, &pool)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_TASK, ABT_task_get_last_pool_id(none, &number)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_TASK, ABT_task_set_migratable(none, ABT_TRUE)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_TASK, ABT_task_is_migratable(none, &flag)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_TASK, ABT_task_get_id(none, &id)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_TASK, ABT_task_get_arg(none, &arg)));
}

}  // namespace
