// ABT_self_*, ABT_thread_self, ABT_task_self: who calls, in each context.
#include "support/abt_units.hpp"

namespace {

using namespace weft_test;

class AbtSelf : public AbtTest {};

struct Answers {
  int thread_self = -1, task_self = -1, thread_id = -1, task_id = -1, self = -1, self_id = -1, type = -1,
      is_primary = -1, on_primary = -1, xstream = -1, rank = -1, unnamed = -1, pool = -1, pool_id = -1, unit = -1,
      set_arg = -1, get_arg = -1, function = -1, associate = -1;
  ABT_unit_type is = ABT_UNIT_TYPE_XSTREAM;
  ABT_bool primary = ABT_FALSE, on_first = ABT_FALSE;
};

Answers ask(ABT_pool same) {
  Answers a;
  ABT_thread thread;
  ABT_xstream xstream;
  ABT_unit_id id;
  ABT_pool pool;
  ABT_unit unit;
  ABT_bool flag;
  int number;
  void* arg;
  void (*function)(void*);
  a.thread_self = ABT_thread_self(&thread);
  a.thread_id = ABT_thread_self_id(&id);
  a.task_self = ABT_task_self(&thread);
  a.task_id = ABT_task_self_id(&id);
  a.self = ABT_self_get_thread(&thread);
  a.self_id = ABT_self_get_thread_id(&id);
  a.type = ABT_self_get_type(&a.is);
  a.is_primary = ABT_self_is_primary(&a.primary);
  a.on_primary = ABT_self_on_primary_xstream(&a.on_first);
  a.xstream = ABT_self_get_xstream(&xstream);
  a.rank = ABT_self_get_xstream_rank(&number);
  a.unnamed = ABT_self_is_unnamed(&flag);
  a.pool = ABT_self_get_last_pool(&pool);
  a.pool_id = ABT_self_get_last_pool_id(&number);
  a.unit = ABT_self_get_unit(&unit);
  a.get_arg = ABT_self_get_arg(&arg);
  a.set_arg = a.get_arg == ABT_SUCCESS ? ABT_self_set_arg(arg) : ABT_self_set_arg(nullptr);
  a.function = ABT_self_get_thread_func(&function);
  a.associate = ABT_self_set_associated_pool(same);
  return a;
}

void expect_all(const Answers& a, int error) {
  for (const int each : {a.self, a.self_id, a.xstream, a.rank, a.unnamed, a.pool, a.pool_id, a.unit, a.get_arg,
                         a.set_arg, a.function, a.associate}) {
    EXPECT_TRUE(abt_fails(error, each));
  }
}

TEST_F(AbtSelf, APrimaryUlt) {
  const Answers a = ask(main_pool());
  expect_all(a, ABT_SUCCESS);
  EXPECT_TRUE(abt_ok(a.thread_self));
  EXPECT_TRUE(abt_ok(a.thread_id));
  EXPECT_TRUE(abt_fails(kAbt20 ? ABT_SUCCESS : ABT_ERR_INV_TASK, a.task_self));
  EXPECT_EQ(a.is, ABT_UNIT_TYPE_THREAD);
  EXPECT_EQ(a.primary, ABT_TRUE);
  EXPECT_EQ(a.on_first, ABT_TRUE);
}

TEST_F(AbtSelf, AUltElsewhere) {
  const AnXstream other;
  in_abt_ult(
      [] {
        const Answers a = ask(main_pool());
        expect_all(a, ABT_SUCCESS);
        EXPECT_TRUE(abt_ok(a.thread_self));
        EXPECT_EQ(a.is, ABT_UNIT_TYPE_THREAD);
        EXPECT_EQ(a.primary, ABT_FALSE);
        EXPECT_EQ(a.on_first, ABT_FALSE);
      },
      other.pool());
}

TEST_F(AbtSelf, ATasklet) {
  in_abt_task([] {
    const Answers a = ask(main_pool());
    expect_all(a, ABT_SUCCESS);
    EXPECT_TRUE(abt_fails(kAbt20 ? ABT_SUCCESS : ABT_ERR_INV_THREAD, a.thread_self));
    EXPECT_TRUE(abt_fails(kAbt20 ? ABT_SUCCESS : ABT_ERR_INV_THREAD, a.thread_id));
    EXPECT_TRUE(abt_fails(kAbt20 ? ABT_SUCCESS : ABT_ERR_INV_THREAD, a.is_primary));
    EXPECT_TRUE(abt_ok(a.task_self));
    EXPECT_TRUE(abt_ok(a.task_id));
    EXPECT_EQ(a.is, ABT_UNIT_TYPE_TASK);
    EXPECT_EQ(a.on_first, ABT_TRUE);
  });
}

TEST_F(AbtSelf, AThreadThatIsNoXstream) {
  const ABT_pool pool = main_pool();
  on_external([&] {
    const Answers a = ask(pool);
    expect_all(a, ABT_ERR_INV_XSTREAM);
    const int answered = kAbt20 ? ABT_SUCCESS : ABT_ERR_INV_XSTREAM;
    EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, a.thread_self));
    EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, a.task_self));
    EXPECT_TRUE(abt_fails(answered, a.type));
    EXPECT_TRUE(abt_fails(answered, a.is_primary));
    EXPECT_TRUE(abt_fails(answered, a.on_primary));
    EXPECT_EQ(a.is, ABT_UNIT_TYPE_EXT);
    EXPECT_EQ(a.primary, ABT_FALSE);
  });
}

TEST(AbtSelfWithoutRuntime, SaysSo) {
  const Answers a = ask(ABT_POOL_NULL);
  expect_all(a, ABT_ERR_UNINITIALIZED);
}

TEST_F(AbtSelf, OnAPoolThatIsNone) {
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL, ABT_self_set_associated_pool(ABT_POOL_NULL)));
}

}  // namespace
