// ABT_future.
#include "support/abt_fixture.hpp"

namespace {

using namespace weft_test;

class AbtFuture : public AbtTest {};

class AFuture {
 public:
  explicit AFuture(uint32_t parts, void (*callback)(void**) = nullptr) {
    EXPECT_TRUE(abt_ok(ABT_future_create(parts, callback, &handle)));
  }
  AFuture(const AFuture&) = delete;
  AFuture& operator=(const AFuture&) = delete;
  ~AFuture() {
    EXPECT_TRUE(abt_ok(ABT_future_free(&handle)));
    EXPECT_EQ(handle, ABT_FUTURE_NULL);
  }
  operator ABT_future() const { return handle; }
  bool ready() const {
    ABT_bool is_ready = -1;
    EXPECT_TRUE(abt_ok(ABT_future_test(handle, &is_ready)));
    return is_ready == ABT_TRUE;
  }

  ABT_future handle = nullptr;
};

std::vector<void*> seen;
std::atomic<bool> passed;

// All values, in the order in which they were set, before anybody passes.
TEST_F(AbtFuture, CallsBackWithAllValuesBeforeItIsReady) {
  int parts[3];
  static ABT_future current;
  const AFuture future(3, [](void** values) {
    seen.assign(values, values + 3);
    ABT_bool ready = ABT_TRUE;
    EXPECT_TRUE(abt_ok(ABT_future_test(current, &ready)));
    EXPECT_EQ(ready, ABT_FALSE);
    EXPECT_FALSE(passed);
  });
  current = future;
  for (int round = 0; round < 2; ++round) {
    seen.clear();
    passed = false;
    Call waiter([&] {
      EXPECT_TRUE(abt_ok(ABT_future_wait(future)));
      passed = true;
    });
    weft_unit_t unit = waiter.ult();
    const auto set = [&](int i) { EXPECT_TRUE(abt_ok(ABT_future_set(future, &parts[i]))); };
    EXPECT_FALSE(future.ready());
    set(2);
    in_tasklet([&] { set(0); });
    EXPECT_TRUE(seen.empty());
    EXPECT_FALSE(future.ready());
    on_klt([&] { set(1); });
    EXPECT_TRUE(future.ready());
    EXPECT_EQ(seen, (std::vector<void*>{&parts[2], &parts[0], &parts[1]}));
    EXPECT_TRUE(ok(weft_free(&unit)));
    EXPECT_TRUE(abt_fails(ABT_ERR_FUTURE, ABT_future_set(future, nullptr)));
    EXPECT_TRUE(abt_ok(ABT_future_wait(future)));
    EXPECT_TRUE(abt_ok(ABT_future_reset(future)));
    EXPECT_FALSE(future.ready());
  }
}

TEST_F(AbtFuture, LetsAllPass) {
  SideWorker side;
  const weft_unit_attr_t there = side.attr();
  constexpr int kParts = 8;
  const AFuture future(kParts);
  for (int round = 0; round < 20; ++round) {
    const auto wait = [&] {
      EXPECT_TRUE(abt_ok(ABT_future_wait(future)));
      EXPECT_TRUE(future.ready());
    };
    Call waiter(wait);
    Call setter([&] { EXPECT_TRUE(abt_ok(ABT_future_set(future, nullptr))); });
    std::vector<weft_unit_t> units = {waiter.ult(), waiter.ult(&there)};
    std::thread external(wait);
    for (int i = 0; i < kParts; ++i) units.push_back(setter.ult(i % 2 == 0 ? &there : nullptr));
    EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
    external.join();
    EXPECT_TRUE(abt_ok(ABT_future_reset(future)));
  }
}

TEST_F(AbtFuture, WithoutPartsItIsReady) {
  const AFuture future(0, [](void**) { ADD_FAILURE() << "nothing was set"; });
  EXPECT_TRUE(future.ready());
  EXPECT_TRUE(abt_ok(ABT_future_wait(future)));
  EXPECT_TRUE(abt_fails(ABT_ERR_FUTURE, ABT_future_set(future, nullptr)));
}

// Whoever has waited may free it, also while the call that set the last part has not returned.
TEST_F(AbtFuture, FreedByWhoeverPasses) {
  SideWorker side;
  const weft_unit_attr_t there = side.attr();
  for (int i = 0; i < 500; ++i) {
    ABT_future future;
    ASSERT_TRUE(abt_ok(ABT_future_create(1, nullptr, &future)));
    Call setter([&, future] { EXPECT_TRUE(abt_ok(ABT_future_set(future, nullptr))); });
    weft_unit_t unit = setter.ult(&there);
    EXPECT_TRUE(abt_ok(ABT_future_wait(future)));
    EXPECT_TRUE(abt_ok(ABT_future_free(&future)));
    EXPECT_TRUE(ok(weft_free(&unit)));
  }
}

// The callback lets somebody go on, who resets or frees the future before the callback has returned.
ABT_eventual called;

TEST_F(AbtFuture, ResetAndFreeWaitForTheCallback) {
  SideWorker side;
  const weft_unit_attr_t there = side.attr();
  ASSERT_TRUE(abt_ok(ABT_eventual_create(0, &called)));
  for (int i = 0; i < 100; ++i) {
    ABT_future future;
    const auto callback = [](void**) {
      EXPECT_TRUE(abt_ok(ABT_eventual_set(called, nullptr, 0)));
      for (int j = 0; j < 3; ++j) std::this_thread::yield();
    };
    ASSERT_TRUE(abt_ok(ABT_future_create(1, callback, &future)));
    for (const bool last : {false, true}) {
      Call setter([&, future] { EXPECT_TRUE(abt_ok(ABT_future_set(future, nullptr))); });
      weft_unit_t unit = setter.ult(&there);
      EXPECT_TRUE(abt_ok(ABT_eventual_wait(called, nullptr)));
      EXPECT_TRUE(abt_ok(ABT_eventual_reset(called)));
      if (last) {
        EXPECT_TRUE(abt_ok(ABT_future_free(&future)));
      } else if (i % 2 == 0) {
        EXPECT_TRUE(abt_ok(ABT_future_reset(future)));
      } else {
        in_tasklet([&] { EXPECT_TRUE(abt_ok(ABT_future_reset(future))); });
      }
      EXPECT_TRUE(ok(weft_free(&unit)));
    }
  }
  EXPECT_TRUE(abt_ok(ABT_eventual_free(&called)));
}

TEST_F(AbtFuture, Errors) {
  const AFuture future(1);
  in_tasklet([&] {
    if (kAbt20) return;
    EXPECT_TRUE(abt_fails(ABT_ERR_FUTURE, ABT_future_wait(future)));
  });
  ABT_future null = ABT_FUTURE_NULL;
  ABT_bool ready;
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_FUTURE, ABT_future_wait(null)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_FUTURE, ABT_future_test(null, &ready)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_FUTURE, ABT_future_set(null, nullptr)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_FUTURE, ABT_future_reset(null)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_FUTURE, ABT_future_free(&null)));
}

}  // namespace
