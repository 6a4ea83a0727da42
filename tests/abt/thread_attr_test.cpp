// ABT_thread_attr_*, and what becomes of them.
#include <sys/mman.h>

#include "support/abt_units.hpp"

namespace {

using namespace weft_test;

class AbtThreadAttr : public AbtTest {};

class AnAttr {
 public:
  AnAttr() { EXPECT_TRUE(abt_ok(ABT_thread_attr_create(&handle))); }
  AnAttr(const AnAttr&) = delete;
  AnAttr& operator=(const AnAttr&) = delete;
  ~AnAttr() {
    EXPECT_TRUE(abt_ok(ABT_thread_attr_free(&handle)));
    EXPECT_EQ(handle, ABT_THREAD_ATTR_NULL);
  }
  operator ABT_thread_attr() const { return handle; }
  ABT_thread_attr handle;
};

TEST_F(AbtThreadAttr, WrongArguments) {
  ABT_thread_attr none = ABT_THREAD_ATTR_NULL;
  void* stack;
  size_t size;
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD_ATTR, ABT_thread_attr_free(&none)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD_ATTR, ABT_thread_attr_set_stack(none, nullptr, 0)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD_ATTR, ABT_thread_attr_get_stack(none, &stack, &size)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD_ATTR, ABT_thread_attr_set_stacksize(none, 65536)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD_ATTR, ABT_thread_attr_get_stacksize(none, &size)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD_ATTR, ABT_thread_attr_set_callback(none, nullptr, nullptr)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD_ATTR, ABT_thread_attr_set_migratable(none, ABT_TRUE)));
  AnAttr attr;
  alignas(16) static char memory[65536];
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_ARG, ABT_thread_attr_set_stack(attr, memory + 1, 32768)));
}

TEST_F(AbtThreadAttr, StackSizes) {
  size_t usual = 0;
  AnAttr attr;
  EXPECT_TRUE(abt_ok(ABT_thread_attr_get_stacksize(attr, &usual)));
  EXPECT_GE(usual, 16384u);
  for (const size_t size : {size_t{4096}, size_t{16384}, size_t{65536}, size_t{100'000}, size_t{1} << 20}) {
    EXPECT_TRUE(abt_ok(ABT_thread_attr_set_stacksize(attr, size)));
    size_t is = 0;
    EXPECT_TRUE(abt_ok(ABT_thread_attr_get_stacksize(attr, &is)));
    EXPECT_EQ(is, size);
    int ran = 0;
    AbtCall call([&] {
      ABT_thread self;
      EXPECT_TRUE(abt_ok(ABT_self_get_thread(&self)));
      size_t mine = 0;
      EXPECT_TRUE(abt_ok(ABT_thread_get_stacksize(self, &mine)));
      EXPECT_EQ(mine, size);
      if (size >= 65536) {
        volatile char use[40'000];
        use[0] = 1;
        use[sizeof use - 1] = 1;
      }
      ABT_thread_yield();
      void* low = nullptr;
      EXPECT_TRUE(abt_ok(ABT_thread_get_stack(self, &low, &mine)));
      EXPECT_EQ(mine, size);
      const auto here = reinterpret_cast<uintptr_t>(&mine);
      if (low != nullptr && __builtin_frame_address(0) != nullptr) {
        EXPECT_GT(here, reinterpret_cast<uintptr_t>(low));
      }
      ABT_thread_attr got;
      EXPECT_TRUE(abt_ok(ABT_thread_get_attr(self, &got)));
      EXPECT_TRUE(abt_ok(ABT_thread_attr_get_stacksize(got, &mine)));
      EXPECT_EQ(mine, size);
      EXPECT_TRUE(abt_ok(ABT_thread_attr_free(&got)));
      ++ran;
    });
    ABT_thread thread = call.thread(main_pool(), attr);
    EXPECT_TRUE(abt_ok(ABT_thread_join(thread)));
    EXPECT_TRUE(abt_ok(ABT_thread_revive(main_pool(), &AbtCall::run, &call, &thread)));  // keeps them
    EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
    EXPECT_EQ(ran, 2);
  }
}

TEST_F(AbtThreadAttr, TheProgramsOwnStack) {
  constexpr size_t kSize = 65536;
  auto memory = std::make_unique<char[]>(kSize);
  char* const stack = memory.get();
  AnAttr attr;
  EXPECT_TRUE(abt_ok(ABT_thread_attr_set_stack(attr, stack, kSize)));
  int ran = 0;
  AbtCall call([&] {
    char here;
    EXPECT_GT(&here, stack);
    EXPECT_LT(&here, stack + kSize);
    ABT_thread_yield();
    ++ran;
  });
  ABT_thread thread = call.thread(main_pool(), attr);
  void* low;
  size_t size;
  EXPECT_TRUE(abt_ok(ABT_thread_get_stack(thread, &low, &size)));
  EXPECT_EQ(low, stack);
  EXPECT_EQ(size, kSize);
  EXPECT_TRUE(abt_ok(ABT_thread_join(thread)));
  EXPECT_TRUE(abt_ok(ABT_thread_revive(main_pool(), &AbtCall::run, &call, &thread)));
  EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
  EXPECT_EQ(ran, 2);
  ABT_pool pools[] = {main_pool()};
  void (*functions[])(void*) = {[](void*) {}};
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD_ATTR,
                        ABT_thread_create_many(1, pools, functions, nullptr, attr, &thread)));
}

// The destructor of a value of the unit gives the stack's memory back: by then nothing uses it.
TEST_F(AbtThreadAttr, TheStackMayBeUnmappedByADestructor) {
  constexpr size_t kSize = 65536;
  static void* stack;
  static int unmapped;
  unmapped = 0;
  ABT_key key;
  ASSERT_TRUE(abt_ok(ABT_key_create(
      [](void*) {
        EXPECT_EQ(munmap(stack, kSize), 0);
        ++unmapped;
      },
      &key)));
  for (const bool named : {true, false}) {
    stack = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(stack, MAP_FAILED);
    AnAttr attr;
    EXPECT_TRUE(abt_ok(ABT_thread_attr_set_stack(attr, stack, kSize)));
    AbtCall call([&] {
      EXPECT_TRUE(abt_ok(ABT_key_set(key, stack)));
      ABT_thread_yield();
    });
    if (named) {
      ABT_thread thread = call.thread(main_pool(), attr);
      EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
      EXPECT_EQ(unmapped, 1);
    } else {
      EXPECT_TRUE(abt_ok(ABT_thread_create(main_pool(), &AbtCall::run, &call, attr, nullptr)));
      EXPECT_TRUE(abt_wait_until([&] { return unmapped == 2; }));
    }
  }
  EXPECT_TRUE(abt_ok(ABT_key_free(&key)));
}

TEST_F(AbtThreadAttr, MigrationIsAnAttribute) {
  AnAttr attr;
  EXPECT_TRUE(abt_ok(ABT_thread_attr_set_migratable(attr, ABT_FALSE)));
  EXPECT_TRUE(abt_ok(ABT_thread_attr_set_callback(attr, [](ABT_thread, void*) {}, nullptr)));
  AbtCall call([] {});
  ABT_thread thread = call.thread(main_pool(), attr);
  ABT_bool flag = ABT_TRUE;
  EXPECT_TRUE(abt_ok(ABT_thread_is_migratable(thread, &flag)));
  EXPECT_EQ(flag, ABT_FALSE);
  APool other;
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_migrate_to_pool(thread, other)));
  EXPECT_TRUE(abt_ok(ABT_thread_set_migratable(thread, ABT_TRUE)));
  EXPECT_TRUE(abt_ok(ABT_thread_is_migratable(thread, &flag)));
  EXPECT_EQ(flag, ABT_TRUE);
  EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
}

}  // namespace
