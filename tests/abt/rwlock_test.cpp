// ABT_rwlock.
#include "support/abt_fixture.hpp"

namespace {

using namespace weft_test;

class AbtRwlock : public AbtTest {
 protected:
  void SetUp() override {
    AbtTest::SetUp();
    ASSERT_TRUE(abt_ok(ABT_rwlock_create(&lock)));
  }
  void TearDown() override {
    EXPECT_TRUE(abt_ok(ABT_rwlock_free(&lock)));
    EXPECT_EQ(lock, ABT_RWLOCK_NULL);
    AbtTest::TearDown();
  }
  void read() { EXPECT_TRUE(abt_ok(ABT_rwlock_rdlock(lock))); }
  void write() { EXPECT_TRUE(abt_ok(ABT_rwlock_wrlock(lock))); }
  void unlock() { EXPECT_TRUE(abt_ok(ABT_rwlock_unlock(lock))); }

  ABT_rwlock lock = ABT_RWLOCK_NULL;
};

TEST_F(AbtRwlock, KeepsReadersAndWritersApart) {
  SideWorker side;
  const weft_unit_attr_t there = side.attr();
  std::atomic<int> readers = 0;
  std::atomic<int> writers = 0;
  const auto work = [&] {
    for (int i = 0; i < 200; ++i) {
      if (i % 4 == 3) {
        write();
        EXPECT_EQ(++writers, 1);
        EXPECT_EQ(readers, 0);
        if (i % 8 == 3) weft_yield();
        --writers;
      } else {
        read();
        ++readers;
        EXPECT_EQ(writers, 0);
        if (i % 8 == 1) weft_yield();
        --readers;
      }
      unlock();
    }
  };
  Call call(work);
  std::vector<weft_unit_t> units;
  for (int i = 0; i < 4; ++i) {
    units.push_back(call.ult());
    units.push_back(call.ult(&there));
  }
  std::thread external(work);
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  external.join();
}

// Readers pass writers that wait, so one may lock it for reading twice.
TEST_F(AbtRwlock, PrefersReaders) {
  read();
  bool written = false;
  Call writer([&] {
    write();
    written = true;
    unlock();
  });
  weft_unit_t unit = writer.ult();
  ASSERT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
  read();
  in_ult([&] {
    read();
    unlock();
  });
  on_klt([&] {
    read();
    unlock();
  });
  unlock();
  EXPECT_FALSE(written);
  unlock();
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_TRUE(written);
}

TEST_F(AbtRwlock, ATaskletMayNotWait) {
  in_tasklet([&] {
    if (kAbt20) {
      read();
      unlock();
      write();
      unlock();
    } else {
      EXPECT_TRUE(abt_fails(ABT_ERR_RWLOCK, ABT_rwlock_rdlock(lock)));
      EXPECT_TRUE(abt_fails(ABT_ERR_RWLOCK, ABT_rwlock_wrlock(lock)));
    }
  });
}

TEST_F(AbtRwlock, Errors) {
  EXPECT_TRUE(abt_fails(ABT_ERR_RWLOCK, ABT_rwlock_unlock(lock)));
  ABT_rwlock null = ABT_RWLOCK_NULL;
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_RWLOCK, ABT_rwlock_rdlock(null)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_RWLOCK, ABT_rwlock_wrlock(null)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_RWLOCK, ABT_rwlock_unlock(null)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_RWLOCK, ABT_rwlock_free(&null)));
}

}  // namespace
