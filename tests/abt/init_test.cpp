// ABT_init, ABT_finalize, ABT_initialized.
#include <unistd.h>

#include <fstream>

#include "support/abt_units.hpp"

namespace {

using namespace weft_test;

TEST(AbtInit, Counts) {
  EXPECT_TRUE(abt_fails(ABT_ERR_UNINITIALIZED, ABT_initialized()));
  EXPECT_TRUE(abt_fails(ABT_ERR_UNINITIALIZED, ABT_finalize()));
  ASSERT_TRUE(abt_ok(ABT_init(0, nullptr)));
  EXPECT_TRUE(abt_ok(ABT_init(0, nullptr)));
  EXPECT_TRUE(abt_ok(ABT_initialized()));
  EXPECT_TRUE(abt_ok(ABT_finalize()));
  EXPECT_TRUE(abt_ok(ABT_initialized()));
  EXPECT_TRUE(abt_ok(ABT_finalize()));
  EXPECT_TRUE(abt_fails(ABT_ERR_UNINITIALIZED, ABT_initialized()));
}

TEST(AbtInit, CanStartAgain) {
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(abt_ok(ABT_init(0, nullptr)));
    int id = -1;
    EXPECT_TRUE(abt_ok(ABT_pool_get_id(main_pool(), &id)));
    EXPECT_EQ(id, 0);
    int ran = 0;
    in_abt_ult([&] { ++ran; });
    EXPECT_EQ(ran, 1);
    ASSERT_TRUE(abt_ok(ABT_finalize()));
  }
}

TEST(AbtInit, OnAnyThread) {
  std::thread thread([] {
    ASSERT_TRUE(abt_ok(ABT_init(0, nullptr)));
    int ran = 0;
    in_abt_ult([&] { ++ran; });
    EXPECT_EQ(ran, 1);
    EXPECT_TRUE(abt_ok(ABT_finalize()));
  });
  thread.join();
}

// A refusal changes nothing: the count is as it was.
TEST(AbtInit, OnlyThePrimaryUltFinalises) {
  ASSERT_TRUE(abt_ok(ABT_init(0, nullptr)));
  on_external([] { EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_finalize())); });
  in_abt_ult([] { EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_finalize())); });
  in_abt_task([] { EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_finalize())); });
  EXPECT_TRUE(abt_ok(ABT_initialized()));
  EXPECT_TRUE(abt_ok(ABT_finalize()));
  EXPECT_TRUE(abt_fails(ABT_ERR_UNINITIALIZED, ABT_initialized()));
}

TEST(AbtInit, FinaliseRunsWhatIsLeft) {
  ASSERT_TRUE(abt_ok(ABT_init(0, nullptr)));
  std::atomic<int> ran = 0;
  AbtCall call([&] {
    ABT_thread_yield();
    ++ran;
  });
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(abt_ok(ABT_thread_create(main_pool(), &AbtCall::run, &call, ABT_THREAD_ATTR_NULL, nullptr)));
  }
  ASSERT_TRUE(abt_ok(ABT_finalize()));
  EXPECT_EQ(ran, 10);
}

// Argobots aborts where an ES has not been freed.
TEST(AbtInit, FinaliseJoinsXstreams) {
  ASSERT_TRUE(abt_ok(ABT_init(0, nullptr)));
  ABT_xstream xstream;
  ASSERT_TRUE(abt_ok(ABT_xstream_create(ABT_SCHED_NULL, &xstream)));
  std::atomic<int> ran = 0;
  AbtCall call([&] { ++ran; });
  EXPECT_TRUE(abt_ok(
      ABT_thread_create(main_pool_of(xstream), &AbtCall::run, &call, ABT_THREAD_ATTR_NULL, nullptr)));
  ASSERT_TRUE(abt_ok(ABT_finalize()));
  EXPECT_EQ(ran, 1);
}

TEST(AbtInit, WhatNeedsItSaysSo) {
  ABT_xstream xstream;
  ABT_thread thread;
  ABT_pool pool;
  ABT_key key;
  int number;
  EXPECT_TRUE(abt_fails(ABT_ERR_UNINITIALIZED, ABT_xstream_create(ABT_SCHED_NULL, &xstream)));
  EXPECT_TRUE(abt_fails(ABT_ERR_UNINITIALIZED, ABT_self_get_xstream(&xstream)));
  EXPECT_TRUE(abt_fails(ABT_ERR_UNINITIALIZED, ABT_self_get_xstream_rank(&number)));
  EXPECT_TRUE(abt_fails(ABT_ERR_UNINITIALIZED, ABT_self_get_thread(&thread)));
  EXPECT_TRUE(abt_fails(ABT_ERR_UNINITIALIZED, ABT_thread_self(&thread)));
  EXPECT_TRUE(abt_fails(ABT_ERR_UNINITIALIZED, ABT_xstream_get_num(&number)));
  EXPECT_TRUE(abt_fails(ABT_ERR_UNINITIALIZED, ABT_key_create(nullptr, &key)));
  EXPECT_TRUE(abt_fails(ABT_ERR_UNINITIALIZED,
                        ABT_pool_create_basic(ABT_POOL_FIFO, ABT_POOL_ACCESS_MPMC, ABT_TRUE, &pool)));
  EXPECT_TRUE(abt_fails(ABT_ERR_UNINITIALIZED, ABT_thread_exit()));
  EXPECT_TRUE(abt_fails(ABT_ERR_UNINITIALIZED, ABT_xstream_exit()));
}

// Another user of Weft in the process.
TEST(AbtInit, SharesTheCore) {
  weft_options_t options{};
  options.workers = 2;
  ASSERT_TRUE(ok(weft_initialize(&options)));
  ASSERT_TRUE(abt_ok(ABT_init(0, nullptr)));
  int mine = 0;
  int theirs = 0;
  in_abt_ult([&] { ++mine; });
  in_ult([&] {
    ++theirs;
    ABT_thread self;
    EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_self_get_thread(&self)));
  });
  EXPECT_EQ(mine, 1);
  EXPECT_EQ(theirs, 1);
  EXPECT_TRUE(abt_ok(ABT_finalize()));
  in_ult([&] { ++theirs; });
  EXPECT_EQ(theirs, 2);
  EXPECT_TRUE(ok(weft_finalize()));
}

// What it has made ahead, for units to come, is there the next time.
TEST(AbtInit, TakesNoMoreMemoryEachTimeBesideWeft) {
  const auto resident = [] {
    std::ifstream statm("/proc/self/statm");
    long total = 0;
    long pages = 0;
    statm >> total >> pages;
    return pages * getpagesize();
  };
  weft_options_t options{};
  options.workers = 1;
  ASSERT_TRUE(ok(weft_initialize(&options)));
  long before = 0;
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(abt_ok(ABT_init(0, nullptr)));
    ASSERT_TRUE(abt_ok(ABT_finalize()));
    if (i == 10) before = resident();
  }
  EXPECT_LT(resident() - before, 8 << 20);  // 300 times 256 descriptors are 14 MiB
  EXPECT_TRUE(ok(weft_finalize()));
}

// As Argobots', which begin anew with each start; whoever asks first has the first one.
TEST(AbtInit, IdsOfUnitsBeginWithZero) {
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(abt_ok(ABT_init(0, nullptr)));
    ABT_unit_id id = 99;
    EXPECT_TRUE(abt_ok(ABT_self_get_thread_id(&id)));
    EXPECT_EQ(id, 0u);
    in_abt_ult([] {
      ABT_unit_id id = 99;
      EXPECT_TRUE(abt_ok(ABT_self_get_thread_id(&id)));
      EXPECT_EQ(id, 1u);
    });
    EXPECT_TRUE(abt_ok(ABT_self_get_thread_id(&id)));
    EXPECT_EQ(id, 0u);
    ASSERT_TRUE(abt_ok(ABT_finalize()));
  }
}

}  // namespace
