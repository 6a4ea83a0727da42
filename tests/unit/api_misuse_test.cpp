// Misuse gets a defined answer.
#include <vector>

#include "support/runtime_fixture.hpp"

namespace {

using namespace weft_test;

void nothing(void*) {}

class ApiMisuse : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, ApiMisuse, kWorkerCounts);

TEST_P(ApiMisuse, NullArguments) {
  weft_unit_t none = nullptr;
  weft_unit_t unit = nullptr;
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_ult_create(nullptr, nullptr, nullptr, &unit)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_tasklet_create(nullptr, nullptr, nullptr, &unit)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID,
                    weft_ult_create_many(1, nullptr, nullptr, 0, nullptr, &unit, nullptr)));
  EXPECT_EQ(unit, nullptr);
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_join(nullptr)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_free(nullptr)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_free(&none)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_join_many(1, nullptr)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_free_many(1, nullptr)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_unit_set_priority(nullptr, 1)));
  EXPECT_FALSE(weft_is_ult(nullptr));
  EXPECT_STREQ(weft_unit_name(nullptr), "");
  EXPECT_EQ(weft_unit_pool(nullptr), nullptr);
  EXPECT_EQ(weft_unit_stack_size(nullptr), 0u);
  EXPECT_EQ(weft_unit_stack_used(nullptr), 0u);
}

TEST_P(ApiMisuse, AttributesOutOfRange) {
  weft_unit_t unit = nullptr;
  weft_unit_attr_t attr = default_attr();
  attr.technique = static_cast<weft_technique_t>(77);
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_ult_create(nothing, nullptr, &attr, &unit)));
  attr = default_attr();
  attr.fp_environment = static_cast<weft_fp_environment_t>(77);
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_ult_create(nothing, nullptr, &attr, &unit)));
  attr = default_attr();
  attr.stack_size = SIZE_MAX / 2;
  EXPECT_NE(weft_ult_create(nothing, nullptr, &attr, &unit), WEFT_OK);
  EXPECT_EQ(unit, nullptr);
}

TEST_P(ApiMisuse, JoinAndFreeOfOneself) {
  in_ult([] {
    weft_unit_t self = weft_self();
    EXPECT_TRUE(fails(WEFT_ERR_SELF, weft_join(self)));
    EXPECT_TRUE(fails(WEFT_ERR_SELF, weft_free(&self)));
    EXPECT_NE(self, nullptr);
  });
  EXPECT_TRUE(fails(WEFT_ERR_SELF, weft_join(weft_self())));  // the primary ULT
}

TEST_P(ApiMisuse, JoinOfThePrimaryUlt) {
  const weft_unit_t primary = weft_self();
  in_ult([&] { EXPECT_NE(weft_join(primary), WEFT_OK); });
}

TEST_P(ApiMisuse, TwoJoiners) {
  Call victim_call([] { EXPECT_TRUE(ok(weft_suspend())); });
  weft_unit_t victim = victim_call.ult();
  ASSERT_TRUE(wait_until([&] { return weft_unit_state(victim) == WEFT_UNIT_BLOCKED; }));
  Call joiner_call([&] { EXPECT_TRUE(ok(weft_join(victim))); });
  weft_unit_t joiner = joiner_call.ult();
  ASSERT_TRUE(wait_until([&] { return weft_unit_state(joiner) == WEFT_UNIT_BLOCKED; }));
  EXPECT_TRUE(fails(WEFT_ERR_JOINED, weft_join(victim)));
  weft_unit_t copy = victim;
  EXPECT_TRUE(fails(WEFT_ERR_JOINED, weft_free(&copy)));
  EXPECT_EQ(copy, victim);
  EXPECT_TRUE(ok(weft_resume(victim)));
  EXPECT_TRUE(ok(weft_free(&joiner)));
  EXPECT_TRUE(ok(weft_free(&victim)));
}

TEST_P(ApiMisuse, JoinAgainAfterTheJoin) {
  Call call([] {});
  weft_unit_t unit = call.ult();
  EXPECT_TRUE(ok(weft_join(unit)));
  const int again = weft_join(unit);
  EXPECT_TRUE(again == WEFT_OK || again == WEFT_ERR_JOINED) << weft_strerror(again);
  EXPECT_TRUE(ok(weft_free(&unit)));
}

TEST_P(ApiMisuse, UseAfterFree) {
  Call call([] {});
  weft_unit_t unit = call.ult();
  const weft_unit_t stale = unit;
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_join(stale)));
  weft_unit_t copy = stale;
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_free(&copy)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_revive(stale, nothing, nullptr)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_resume(stale)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_cancel(stale)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_yield_to(stale)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_migrate(stale, weft_worker_pool(weft_worker_get(0)))));
}

TEST_P(ApiMisuse, ADetachedUnitIsNotJoined) {
  std::atomic<weft_unit_t> self = nullptr;
  weft_event_t leave = WEFT_EVENT_INIT;
  std::atomic<bool> left = false;
  Call call([&] {
    self = weft_self();
    EXPECT_TRUE(ok(weft_event_wait(&leave)));
    left = true;
  });
  ASSERT_TRUE(ok(weft_ult_create(&Call::run, &call, nullptr, nullptr)));
  ASSERT_TRUE(wait_until([&] { return self.load() != nullptr; }));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_join(self)));
  weft_unit_t copy = self;
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_free(&copy)));
  EXPECT_TRUE(ok(weft_event_set(&leave)));
  EXPECT_TRUE(wait_until([&] { return left.load(); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

TEST_P(ApiMisuse, WaitingInATasklet) {
  Call other_call([] { EXPECT_TRUE(ok(weft_suspend())); });
  weft_unit_t other = other_call.ult();
  in_tasklet([&] {
    EXPECT_TRUE(fails(WEFT_ERR_CONTEXT, weft_join(other)));
    weft_unit_t copy = other;
    EXPECT_TRUE(fails(WEFT_ERR_CONTEXT, weft_free(&copy)));
    EXPECT_TRUE(fails(WEFT_ERR_CONTEXT, weft_join_many(1, &other)));
    EXPECT_TRUE(fails(WEFT_ERR_CONTEXT, weft_suspend()));
    EXPECT_TRUE(fails(WEFT_ERR_CONTEXT, weft_yield_to(other)));
    EXPECT_TRUE(fails(WEFT_ERR_CONTEXT, weft_exit()));
  });
  EXPECT_TRUE(ok(weft_resume(other)));
  EXPECT_TRUE(ok(weft_free(&other)));
}

TEST_P(ApiMisuse, JoinManyWithABadHandleSaysSo) {
  Call call([] {});
  weft_unit_t units[3] = {call.ult(), nullptr, call.ult()};
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_join_many(3, units)));
  EXPECT_TRUE(ok(weft_free(&units[0])));
  EXPECT_TRUE(ok(weft_free(&units[2])));
}

// Some dozens of these stacks are all that the address space has room for: a clear error, and what
// exists goes on.
TEST_P(ApiMisuse, OutOfAddressSpace) {
  weft_unit_attr_t attr = default_attr();
  attr.technique = WEFT_TECHNIQUE_SS;
  attr.stack_size = size_t{1} << 42;
  weft_event_t leave = WEFT_EVENT_INIT;
  Call call([&] { EXPECT_TRUE(ok(weft_event_wait(&leave))); });
  std::vector<weft_unit_t> units;
  int error = WEFT_OK;
  for (int i = 0; i < 200 && error == WEFT_OK; ++i) {
    weft_unit_t u = nullptr;
    error = weft_ult_create(&Call::run, &call, &attr, &u);
    if (error == WEFT_OK) {
      units.push_back(u);
    }
  }
  EXPECT_TRUE(fails(WEFT_ERR_NO_MEMORY, error));
  EXPECT_TRUE(ok(weft_event_set(&leave)));
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  in_ult([] { weft_yield(); });
}

int use_stack(int n) {
  volatile char space[256];
  space[0] = static_cast<char>(n);
  return n == 0 ? 0 : use_stack(n - 1) + space[0];
}

TEST(ApiMisuseDeath, StackOverflowNamesTheUlt) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(
      {
        weft_options_t options{};
        options.workers = 1;
        weft_initialize(&options);
        weft_unit_attr_t attr = default_attr();
        attr.name = "recursive-one";
        attr.stack_size = 65536;
        in_ult([] { use_stack(1 << 20); }, &attr);
      },
      "recursive-one");
}

TEST(ApiMisuseDeath, StackOverflowOnASharedKindOfStack) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(
      {
        weft_options_t options{};
        options.workers = 1;
        weft_initialize(&options);
        weft_unit_attr_t attr = default_attr();
        attr.name = "recursive-two";
        Call call([] { use_stack(1 << 20); });
        weft_unit_t u = call.ult(&attr);
        while (weft_unit_state(u) != WEFT_UNIT_TERMINATED) {
          weft_yield();
        }
      },
      "recursive-two");
}

}  // namespace
