// A lock for reading and writing whose readers are counted by their workers (src/sync/read_counts.hpp): that
// it comes to that, and everything that others may do with it then.
#include <vector>

#include "support/runtime_fixture.hpp"
#include "sync/read_counts.hpp"

namespace {

using namespace weft_test;

constexpr uint64_t kMs = 1'000'000;

// kCounted of src/sync/rwlock.cpp.
bool counted(weft_rwlock_t& lock) { return (__atomic_load_n(&lock.state, __ATOMIC_RELAXED) & 1u << 5) != 0; }

void read(weft_rwlock_t& lock, int times = 1) {
  for (int i = 0; i < times; ++i) {
    ASSERT_TRUE(ok(weft_rwlock_rdlock(&lock)));
    ASSERT_TRUE(ok(weft_rwlock_unlock(&lock)));
  }
}

void write(weft_rwlock_t& lock) {
  ASSERT_TRUE(ok(weft_rwlock_wrlock(&lock)));
  ASSERT_TRUE(ok(weft_rwlock_unlock(&lock)));
}

void make_counted(weft_rwlock_t& lock) {
  read(lock, 5000);
  ASSERT_TRUE(counted(lock));
}

class RwlockCounts : public OneWorkerTest {
 protected:
  void SetUp() override {
    OneWorkerTest::SetUp();
    make_counted(lock);
  }
  weft_rwlock_t lock = WEFT_RWLOCK_INIT;
};

TEST_F(RwlockCounts, ComeAfterManyReadersOnly) {
  weft_rwlock_t young = WEFT_RWLOCK_INIT;
  for (int i = 0; i < 20; ++i) {
    read(young, 1000);
    write(young);
  }
  EXPECT_FALSE(counted(young));
}

TEST_F(RwlockCounts, AnswerAsAnyOther) {
  EXPECT_TRUE(fails(WEFT_ERR_NOT_OWNER, weft_rwlock_unlock(&lock)));
  EXPECT_FALSE(counted(lock));
  make_counted(lock);  // and again
  ASSERT_TRUE(ok(weft_rwlock_tryrdlock(&lock)));
  ASSERT_TRUE(ok(weft_rwlock_rdlock_high(&lock)));
  ASSERT_TRUE(ok(weft_rwlock_rdlock_until(&lock, weft_after(kMs))));
  EXPECT_TRUE(counted(lock));
  EXPECT_TRUE(fails(WEFT_ERR_BUSY, weft_rwlock_trywrlock(&lock)));
  EXPECT_FALSE(counted(lock));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(ok(weft_rwlock_unlock(&lock)));
  EXPECT_TRUE(fails(WEFT_ERR_NOT_OWNER, weft_rwlock_unlock(&lock)));
  make_counted(lock);
  EXPECT_TRUE(ok(weft_rwlock_trywrlock(&lock)));
  EXPECT_TRUE(fails(WEFT_ERR_BUSY, weft_rwlock_tryrdlock(&lock)));
  EXPECT_TRUE(ok(weft_rwlock_unlock(&lock)));
}

TEST_F(RwlockCounts, AWriterWaitsForReaders) {
  ASSERT_TRUE(ok(weft_rwlock_rdlock(&lock)));
  EXPECT_TRUE(fails(WEFT_ERR_TIMEOUT, weft_rwlock_wrlock_until(&lock, weft_after(5 * kMs))));
  bool wrote = false;
  Call writer([&] {
    ASSERT_TRUE(ok(weft_rwlock_wrlock(&lock)));
    wrote = true;
    ASSERT_TRUE(ok(weft_rwlock_unlock(&lock)));
  });
  weft_unit_t unit = writer.ult();
  ASSERT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
  EXPECT_TRUE(fails(WEFT_ERR_BUSY, weft_rwlock_tryrdlock(&lock)));
  EXPECT_FALSE(wrote);
  EXPECT_TRUE(ok(weft_rwlock_unlock(&lock)));
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_TRUE(wrote);
}

TEST_F(RwlockCounts, KernelThreadsReadAndWrite) {
  ASSERT_TRUE(ok(weft_rwlock_rdlock(&lock)));
  on_klt([&] {
    read(lock, 3);
    EXPECT_TRUE(counted(lock));
    EXPECT_TRUE(fails(WEFT_ERR_BUSY, weft_rwlock_trywrlock(&lock)));
    EXPECT_FALSE(counted(lock));
  });
  EXPECT_TRUE(ok(weft_rwlock_unlock(&lock)));
  make_counted(lock);
  on_klt([&] { write(lock); });
  EXPECT_FALSE(counted(lock));
}

// Locked on one thread, unlocked on the other: the numbers are summed up.
TEST_F(RwlockCounts, UnlockedElsewhere) {
  ASSERT_TRUE(ok(weft_rwlock_rdlock(&lock)));
  on_klt([&] { EXPECT_TRUE(ok(weft_rwlock_unlock(&lock))); });
  EXPECT_TRUE(fails(WEFT_ERR_NOT_OWNER, weft_rwlock_unlock(&lock)));
  make_counted(lock);
  on_klt([&] { ASSERT_TRUE(ok(weft_rwlock_rdlock(&lock))); });
  EXPECT_TRUE(ok(weft_rwlock_unlock(&lock)));
  write(lock);
}

TEST_F(RwlockCounts, AUnitMovesWhileItReads) {
  SideWorker side;
  weft_unit_attr_t attr = default_attr();
  attr.stack_size = 64 << 10;  // not run on this stack, which is pinned
  in_ult([&] {
    ASSERT_TRUE(ok(weft_rwlock_rdlock(&lock)));
    EXPECT_TRUE(counted(lock));
    weft_worker_t here = weft_worker_self();
    ASSERT_TRUE(ok(weft_migrate(weft_self(), side.pool)));
    ASSERT_TRUE(wait_until([&] { return weft_worker_self() != here; }));
    EXPECT_TRUE(ok(weft_rwlock_unlock(&lock)));
    EXPECT_TRUE(fails(WEFT_ERR_NOT_OWNER, weft_rwlock_unlock(&lock)));
  }, &attr);
  write(lock);
}

// More locks than a worker has counts, all held at once.
TEST_F(RwlockCounts, ManyLocksAtOnce) {
  std::vector<weft_rwlock_t> locks(64, weft_rwlock_t WEFT_RWLOCK_INIT);
  for (auto& each : locks) make_counted(each);
  for (int round = 0; round < 3; ++round) {
    for (auto& each : locks) ASSERT_TRUE(ok(weft_rwlock_rdlock(&each)));
    for (auto& each : locks) ASSERT_TRUE(ok(weft_rwlock_rdlock(&each)));
    for (auto& each : locks) EXPECT_TRUE(counted(each));
    if (round == 1) {
      for (auto& each : locks) EXPECT_TRUE(fails(WEFT_ERR_BUSY, weft_rwlock_trywrlock(&each)));
    }
    for (auto& each : locks) ASSERT_TRUE(ok(weft_rwlock_unlock(&each)));
    for (auto& each : locks) ASSERT_TRUE(ok(weft_rwlock_unlock(&each)));
    for (auto& each : locks) make_counted(each);
  }
  for (auto& each : locks) {
    write(each);
    EXPECT_TRUE(fails(WEFT_ERR_NOT_OWNER, weft_rwlock_unlock(&each)));
  }
}

// As many readers as a worker's count can hold, and more: those are counted in the lock.
TEST_F(RwlockCounts, MoreReadersThanFit) {
  const auto most = static_cast<int>(weft::rt::read_count::kMost) + 10;
  for (int i = 0; i < most; ++i) ASSERT_TRUE(ok(weft_rwlock_rdlock(&lock)));
  EXPECT_TRUE(counted(lock));
  for (int i = 0; i < most; ++i) ASSERT_TRUE(ok(weft_rwlock_unlock(&lock)));
  EXPECT_TRUE(fails(WEFT_ERR_NOT_OWNER, weft_rwlock_unlock(&lock)));
}

// Somebody has left a lock held, and another one begins where that was.
TEST_F(RwlockCounts, ALockThatWasNeverUnlocked) {
  static weft_rwlock_t reused = WEFT_RWLOCK_INIT;  // nothing else is ever there
  read(reused, 5000);
  ASSERT_TRUE(ok(weft_rwlock_rdlock(&reused)));
  reused = WEFT_RWLOCK_INIT;
  read(reused, 10000);
  write(reused);
  EXPECT_TRUE(fails(WEFT_ERR_NOT_OWNER, weft_rwlock_unlock(&reused)));
}

TEST_F(RwlockCounts, OutliveTheRuntime) {
  ASSERT_TRUE(ok(weft_rwlock_rdlock(&lock)));
  EXPECT_TRUE(ok(weft_finalize()));
  ASSERT_TRUE(counted(lock));
  EXPECT_TRUE(fails(WEFT_ERR_BUSY, weft_rwlock_trywrlock(&lock)));
  EXPECT_TRUE(ok(weft_rwlock_unlock(&lock)));
  write(lock);
  weft_options_t options{};
  options.workers = 1;
  ASSERT_TRUE(ok(weft_initialize(&options)));
  make_counted(lock);
  write(lock);
}

// Readers on two workers, ULTs that move between them while they read, a kernel thread that reads, writers.
TEST(RwlockCountsOnTwoWorkers, ManyReadersAndSomeWriters) {
  weft_options_t options{};
  options.workers = 2;
  ASSERT_TRUE(ok(weft_initialize(&options)));
  weft_rwlock_t lock = WEFT_RWLOCK_INIT;
  long a = 0, b = 0;  // guarded by the lock
  std::atomic<bool> end{false};
  const auto read_both = [&](bool yields) {
    ASSERT_TRUE(ok(weft_rwlock_rdlock(&lock)));
    const long seen = a;
    if (yields) weft_yield();
    EXPECT_EQ(seen, b);
    ASSERT_TRUE(ok(weft_rwlock_unlock(&lock)));
  };
  const auto reader = [&] {
    for (int i = 0; !end; ++i) {
      read_both(i % 64 == 0);
      if (i % 256 == 0) weft_yield();
    }
  };
  Call reading(reader);
  Call writing([&] {
    for (int i = 0; i < 60; ++i) {
      for (int j = 0; j < 8000; ++j) read_both(false);
      if (i % 3 == 0) weft_yield();
      ASSERT_TRUE(ok(weft_rwlock_wrlock(&lock)));
      ++a;
      if (i % 2 == 0) weft_yield();
      ++b;
      ASSERT_TRUE(ok(weft_rwlock_unlock(&lock)));
    }
    end = true;
  });
  std::thread klt([&] {
    while (!end) {
      read_both(false);
      std::this_thread::yield();
    }
  });
  std::vector<weft_unit_t> units{reading.ult(), writing.ult(), reading.ult(), reading.ult()};
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  klt.join();
  EXPECT_EQ(a, 60);
  EXPECT_TRUE(fails(WEFT_ERR_NOT_OWNER, weft_rwlock_unlock(&lock)));
  EXPECT_TRUE(ok(weft_finalize()));
}

}  // namespace
