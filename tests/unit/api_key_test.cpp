// Unit-local storage.
#include <memory>
#include <vector>

#include "support/runtime_fixture.hpp"

namespace {

using namespace weft_test;

std::atomic<int> destroyed = 0;
void destroy(void* value) {
  EXPECT_NE(value, nullptr);
  ++destroyed;
}

void* value_of(int i) { return reinterpret_cast<void*>(static_cast<intptr_t>(i)); }

class ApiKey : public WorkersTest {
 protected:
  void SetUp() override {
    WorkersTest::SetUp();
    destroyed = 0;
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, ApiKey, kWorkerCounts);

TEST_P(ApiKey, EachUnitHasItsOwnValue) {
  weft_key_t key = nullptr;
  ASSERT_TRUE(ok(weft_key_create(nullptr, &key)));
  EXPECT_TRUE(ok(weft_key_set(key, value_of(1000))));
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  for (int i = 1; i <= 100; ++i) {
    calls.push_back(std::make_unique<Call>([=] {
      EXPECT_EQ(weft_key_get(key), nullptr);
      EXPECT_TRUE(ok(weft_key_set(key, value_of(i))));
      weft_yield();
      EXPECT_EQ(weft_key_get(key), value_of(i));
    }));
    units.push_back(i % 4 == 0 ? calls.back()->tasklet() : calls.back()->ult());
  }
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  EXPECT_EQ(weft_key_get(key), value_of(1000));
  EXPECT_TRUE(ok(weft_key_set(key, nullptr)));
  EXPECT_TRUE(ok(weft_key_free(&key)));
  EXPECT_EQ(key, nullptr);
}

TEST_P(ApiKey, AUnitOnItsJoinersStackHasItsOwnValues) {
  weft_key_t key = nullptr;
  ASSERT_TRUE(ok(weft_key_create(nullptr, &key)));
  in_ult([&] {
    EXPECT_TRUE(ok(weft_key_set(key, value_of(1))));
    in_ult([&] {
      EXPECT_EQ(weft_key_get(key), nullptr);
      EXPECT_TRUE(ok(weft_key_set(key, value_of(2))));
    });
    EXPECT_EQ(weft_key_get(key), value_of(1));
  });
  EXPECT_TRUE(ok(weft_key_free(&key)));
}

TEST_P(ApiKey, TheDestructorIsCalledWhenTheUnitIsFreed) {
  weft_key_t key = nullptr;
  weft_key_t unused = nullptr;
  ASSERT_TRUE(ok(weft_key_create(destroy, &key)));
  ASSERT_TRUE(ok(weft_key_create(destroy, &unused)));
  Call call([&] { EXPECT_TRUE(ok(weft_key_set(key, value_of(5)))); });
  weft_unit_t unit = call.ult();
  EXPECT_TRUE(ok(weft_join(unit)));
  EXPECT_EQ(destroyed, 0);
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_EQ(destroyed, 1);
  Call empty([&] {
    EXPECT_TRUE(ok(weft_key_set(key, value_of(5))));
    EXPECT_TRUE(ok(weft_key_set(key, nullptr)));
  });
  unit = empty.tasklet();
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_EQ(destroyed, 1);
  EXPECT_TRUE(ok(weft_key_free(&key)));
  EXPECT_TRUE(ok(weft_key_free(&unused)));
}

TEST_P(ApiKey, ADetachedUnitsValuesAreDestroyedAtItsEnd) {
  weft_key_t key = nullptr;
  ASSERT_TRUE(ok(weft_key_create(destroy, &key)));
  Call call([&] { EXPECT_TRUE(ok(weft_key_set(key, value_of(5)))); });
  ASSERT_TRUE(ok(weft_ult_create(&Call::run, &call, nullptr, nullptr)));
  ASSERT_TRUE(ok(weft_tasklet_create(&Call::run, &call, nullptr, nullptr)));
  EXPECT_TRUE(wait_until([] { return destroyed == 2; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(ok(weft_key_free(&key)));
}

TEST_P(ApiKey, ReviveKeepsTheValues) {
  weft_key_t key = nullptr;
  ASSERT_TRUE(ok(weft_key_create(destroy, &key)));
  Call set([&] { EXPECT_TRUE(ok(weft_key_set(key, value_of(7)))); });
  Call get([&] { EXPECT_EQ(weft_key_get(key), value_of(7)); });
  weft_unit_t unit = set.ult();
  EXPECT_TRUE(ok(weft_join(unit)));
  EXPECT_TRUE(ok(weft_revive(unit, &Call::run, &get)));
  EXPECT_TRUE(ok(weft_join(unit)));
  EXPECT_EQ(destroyed, 0);
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_EQ(destroyed, 1);
  EXPECT_TRUE(ok(weft_key_free(&key)));
}

TEST_P(ApiKey, OnAKernelThreadTheValuesAreTheThreads) {
  weft_key_t key = nullptr;
  ASSERT_TRUE(ok(weft_key_create(nullptr, &key)));
  on_klt([&] {
    EXPECT_EQ(weft_key_get(key), nullptr);
    EXPECT_TRUE(ok(weft_key_set(key, value_of(3))));
    EXPECT_EQ(weft_key_get(key), value_of(3));
  });
  on_klt([&] { EXPECT_EQ(weft_key_get(key), nullptr); });
  EXPECT_EQ(weft_key_get(key), nullptr);
  EXPECT_TRUE(ok(weft_key_free(&key)));
}

TEST_P(ApiKey, ANewKeyDoesNotShowTheValuesOfAFreedOne) {
  in_ult([] {
    for (int i = 0; i < 100; ++i) {
      weft_key_t key = nullptr;
      ASSERT_TRUE(ok(weft_key_create(nullptr, &key)));
      ASSERT_EQ(weft_key_get(key), nullptr) << i;
      ASSERT_TRUE(ok(weft_key_set(key, value_of(9))));
      ASSERT_TRUE(ok(weft_key_free(&key)));
    }
  });
}

TEST_P(ApiKey, FiveHundredAndTwelveKeysAndNoMore) {
  std::vector<weft_key_t> keys;
  int error = WEFT_OK;
  for (int i = 0; i <= 512 && error == WEFT_OK; ++i) {
    weft_key_t key = nullptr;
    error = weft_key_create(nullptr, &key);
    if (error == WEFT_OK) {
      keys.push_back(key);
    }
  }
  EXPECT_TRUE(fails(WEFT_ERR_LIMIT, error));
  EXPECT_EQ(keys.size(), 512u);
  in_ult([&] {
    for (size_t i = 0; i < keys.size(); ++i) {
      ASSERT_TRUE(ok(weft_key_set(keys[i], value_of(static_cast<int>(i) + 1))));
    }
    weft_yield();
    for (size_t i = 0; i < keys.size(); ++i) {
      ASSERT_EQ(weft_key_get(keys[i]), value_of(static_cast<int>(i) + 1));
    }
  });
  for (weft_key_t& key : keys) {
    ASSERT_TRUE(ok(weft_key_free(&key)));
  }
}

TEST_P(ApiKey, ArgumentsAreChecked) {
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_key_create(nullptr, nullptr)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_key_set(nullptr, nullptr)));
  EXPECT_EQ(weft_key_get(nullptr), nullptr);
  weft_key_t none = nullptr;
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_key_free(&none)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_key_free(nullptr)));
}

}  // namespace
