// ABT_key_*, and values of other units.
#include "support/abt_units.hpp"

namespace {

using namespace weft_test;

class AbtKey : public AbtTest {};

void count(void* value) { ++*static_cast<std::atomic<int>*>(value); }

class AKey {
 public:
  explicit AKey(void (*destructor)(void*) = nullptr) { EXPECT_TRUE(abt_ok(ABT_key_create(destructor, &handle))); }
  AKey(const AKey&) = delete;
  AKey& operator=(const AKey&) = delete;
  ~AKey() {
    if (handle != ABT_KEY_NULL) {
      EXPECT_TRUE(abt_ok(ABT_key_free(&handle)));
    }
  }
  operator ABT_key() const { return handle; }
  ABT_key handle;
};

void* value_of(ABT_key key) {
  void* value = &key;
  EXPECT_TRUE(abt_ok(ABT_key_get(key, &value)));
  return value;
}

TEST_F(AbtKey, ValuesAreAUnitsOwn) {
  const AKey a, b;
  int one = 1, two = 2;
  const auto use = [&] {
    EXPECT_EQ(value_of(a), nullptr);
    EXPECT_TRUE(abt_ok(ABT_key_set(a, &one)));
    EXPECT_TRUE(abt_ok(ABT_self_set_specific(b, &two)));
    ABT_thread_yield();
    EXPECT_EQ(value_of(a), &one);
    EXPECT_EQ(value_of(b), &two);
    EXPECT_TRUE(abt_ok(ABT_key_set(a, &two)));
    EXPECT_EQ(value_of(a), &two);
    EXPECT_TRUE(abt_ok(ABT_key_set(a, nullptr)));
    EXPECT_EQ(value_of(a), nullptr);
  };
  use();
  in_abt_ult(use);
  in_abt_task(use);
  on_external([&] {
    void* value;
    EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_key_set(a, &one)));
    EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_key_get(a, &value)));
  });
}

TEST_F(AbtKey, DestructorsAreCalledWhenAUnitIsFreed) {
  std::atomic<int> destroyed = 0;
  const AKey key(count), none;
  AbtCall call([&] {
    EXPECT_TRUE(abt_ok(ABT_key_set(key, &destroyed)));
    EXPECT_TRUE(abt_ok(ABT_key_set(none, &destroyed)));
  });
  for (const bool task : {false, true}) {
    ABT_thread unit = task ? call.task(main_pool()) : call.thread(main_pool());
    EXPECT_TRUE(abt_ok(ABT_thread_join(unit)));
    EXPECT_EQ(destroyed, task ? 1 : 0);
    EXPECT_TRUE(abt_ok(ABT_thread_free(&unit)));
    EXPECT_EQ(destroyed, task ? 2 : 1);
  }
  EXPECT_TRUE(abt_ok(ABT_thread_create(main_pool(), &AbtCall::run, &call, ABT_THREAD_ATTR_NULL, nullptr)));
  EXPECT_TRUE(abt_ok(ABT_task_create(main_pool(), &AbtCall::run, &call, nullptr)));
  EXPECT_TRUE(abt_wait_until([&] { return destroyed == 4; }));
}

TEST_F(AbtKey, ValuesSurviveARevival) {
  std::atomic<int> destroyed = 0;
  const AKey key(count);
  AbtCall first([&] { EXPECT_TRUE(abt_ok(ABT_key_set(key, &destroyed))); });
  AbtCall second([&] { EXPECT_EQ(value_of(key), &destroyed); });
  ABT_thread thread = first.thread(main_pool());
  EXPECT_TRUE(abt_ok(ABT_thread_join(thread)));
  EXPECT_TRUE(abt_ok(ABT_thread_revive(main_pool(), &AbtCall::run, &second, &thread)));
  EXPECT_TRUE(abt_ok(ABT_thread_join(thread)));
  EXPECT_EQ(destroyed, 0);
  EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
  EXPECT_EQ(destroyed, 1);
}

TEST_F(AbtKey, DestructorsOfFreedKeysAreCalledToo) {
  std::atomic<int> destroyed = 0;
  AbtCall call([&] {
    AKey key(count);
    EXPECT_TRUE(abt_ok(ABT_key_set(key, &destroyed)));
    EXPECT_TRUE(abt_ok(ABT_key_free(&key.handle)));
    EXPECT_EQ(key.handle, ABT_KEY_NULL);
    const AKey next(count);  // maybe in its place
    EXPECT_EQ(value_of(next), nullptr);
  });
  ABT_thread thread = call.thread(main_pool());
  EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
  EXPECT_EQ(destroyed, 1);
}

TEST_F(AbtKey, ThePrimaryUltsValuesEndAtTheEnd) {
  static std::atomic<int> destroyed = 0;
  ABT_key key;
  ASSERT_TRUE(abt_ok(ABT_key_create(count, &key)));
  EXPECT_TRUE(abt_ok(ABT_key_set(key, &destroyed)));
  EXPECT_TRUE(abt_ok(ABT_key_free(&key)));
  EXPECT_TRUE(abt_ok(ABT_finalize()));
  EXPECT_EQ(destroyed, 1);
  EXPECT_TRUE(abt_ok(ABT_init(0, nullptr)));
}

TEST_F(AbtKey, MoreThanTheCoreHas) {
  std::vector<std::unique_ptr<AKey>> keys;
  for (int i = 0; i < 1000; ++i) keys.push_back(std::make_unique<AKey>());
  in_abt_ult([&] {
    for (const auto& key : keys) EXPECT_TRUE(abt_ok(ABT_key_set(*key, key.get())));
    for (const auto& key : keys) EXPECT_EQ(value_of(*key), key.get());
  });
}

TEST_F(AbtKey, OfOtherUnits) {
  const AnXstream other;
  const AKey a, b;
  int one = 1, two = 2;
  AbtCall call([&] {
    EXPECT_EQ(value_of(a), &one);
    EXPECT_TRUE(abt_ok(ABT_key_set(b, &two)));
  });
  for (const ABT_pool pool : {main_pool(), other.pool()}) {
    ABT_thread thread;
    APool parking;
    thread = call.thread(parking);
    EXPECT_TRUE(abt_ok(ABT_thread_set_specific(thread, a, &one)));
    ABT_thread popped;
    EXPECT_TRUE(abt_ok(ABT_pool_pop_thread(parking, &popped)));
    EXPECT_TRUE(abt_ok(ABT_pool_push_thread(pool, popped)));
    EXPECT_TRUE(abt_ok(ABT_thread_join(thread)));
    void* value = nullptr;
    on_external([&] { EXPECT_TRUE(abt_ok(ABT_thread_get_specific(thread, b, &value))); });
    EXPECT_EQ(value, &two);
    EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
  }
}

// Several threads at once, and the unit itself.
TEST_F(AbtKey, AreAtomic) {
  const AnXstream other;
  std::vector<std::unique_ptr<AKey>> keys;
  for (int i = 0; i < 32; ++i) keys.push_back(std::make_unique<AKey>());
  std::atomic<bool> stop = false;
  AbtCall call([&] {
    while (!stop) {
      for (const auto& key : keys) EXPECT_TRUE(abt_ok(ABT_key_set(*key, key.get())));
    }
  });
  ABT_thread thread = call.thread(other.pool());
  for (int round = 0; round < 50; ++round) {
    for (const auto& key : keys) {
      EXPECT_TRUE(abt_ok(ABT_thread_set_specific(thread, *key, key.get())));
      void* value = nullptr;
      EXPECT_TRUE(abt_ok(ABT_thread_get_specific(thread, *key, &value)));
      EXPECT_EQ(value, key.get());
    }
  }
  stop = true;
  EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
}

TEST_F(AbtKey, WrongArguments) {
  ABT_key none = ABT_KEY_NULL;
  void* value;
  ABT_thread self;
  EXPECT_TRUE(abt_ok(ABT_self_get_thread(&self)));
  const AKey key;
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_KEY, ABT_key_free(&none)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_KEY, ABT_key_set(none, nullptr)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_KEY, ABT_key_get(none, &value)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_KEY, ABT_thread_set_specific(self, none, nullptr)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_KEY, ABT_thread_get_specific(self, none, &value)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_set_specific(ABT_THREAD_NULL, key, nullptr)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_get_specific(ABT_THREAD_NULL, key, &value)));
}

}  // namespace
