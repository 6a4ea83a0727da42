// Condition variables and channels that one worker has had to itself (src/sync/list_lock.hpp): that they come
// to be its own, and everything that others may do with them then.
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "klt/guard.hpp"
#include "support/runtime_fixture.hpp"
#include "sync/list_lock.hpp"

namespace {

using namespace weft_test;

constexpr uint64_t kMs = 1'000'000;

bool owned(const weft_cond_t& cond) {
  return __atomic_load_n(&cond.state, __ATOMIC_RELAXED) >= 1u << weft::rt::kTagShift;
}

// Two that take turns.
struct Turns {
  weft_mutex_t mutex = WEFT_MUTEX_INIT;
  weft_cond_t cond = WEFT_COND_INIT;
  int turn = 0;  // guarded by mutex

  void play(int me, int times) {
    ASSERT_TRUE(ok(weft_mutex_lock(&mutex)));
    for (int i = 0; i < times; ++i) {
      while (turn != me) ASSERT_TRUE(ok(weft_cond_wait(&cond, &mutex)));
      turn = 1 - me;
      ASSERT_TRUE(ok(weft_cond_signal(&cond)));
    }
    ASSERT_TRUE(ok(weft_mutex_unlock(&mutex)));
  }
  void play_together(int times) {
    Call other([&] { play(1, times); });
    weft_unit_t unit = other.ult();
    play(0, times);
    EXPECT_TRUE(ok(weft_free(&unit)));
  }
};

class ListLock : public OneWorkerTest {
 protected:
  void SetUp() override {
    OneWorkerTest::SetUp();
    turns.play_together(100);
    ASSERT_TRUE(owned(turns.cond));
  }
  Turns turns;
};

TEST_F(ListLock, ComesAfterAWhileOnly) {
  Turns young;
  young.play_together(3);
  EXPECT_FALSE(owned(young.cond));
}

TEST_F(ListLock, NobodyWaits) {
  EXPECT_TRUE(ok(weft_cond_signal(&turns.cond)));
  EXPECT_TRUE(ok(weft_cond_broadcast(&turns.cond)));
  EXPECT_TRUE(owned(turns.cond));
  on_klt([&] { EXPECT_TRUE(ok(weft_cond_signal(&turns.cond))); });
  EXPECT_FALSE(owned(turns.cond));
  turns.play_together(100);
  EXPECT_FALSE(owned(turns.cond));  // once taken away, for good
}

TEST_F(ListLock, AKernelThreadWakesThoseThatWait) {
  std::vector<weft_unit_t> units;
  int woken = 0;  // guarded by the mutex
  Call waiter([&] {
    ASSERT_TRUE(ok(weft_mutex_lock(&turns.mutex)));
    ASSERT_TRUE(ok(weft_cond_wait(&turns.cond, &turns.mutex)));
    ++woken;
    ASSERT_TRUE(ok(weft_mutex_unlock(&turns.mutex)));
  });
  for (int i = 0; i < 4; ++i) units.push_back(waiter.ult());
  for (weft_unit_t unit : units) {
    ASSERT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
  }
  EXPECT_TRUE(owned(turns.cond));
  on_klt([&] {
    EXPECT_TRUE(ok(weft_cond_signal(&turns.cond)));
    EXPECT_TRUE(ok(weft_cond_broadcast(&turns.cond)));
  });
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  EXPECT_EQ(woken, 4);
}

TEST_F(ListLock, AKernelThreadTakesTurns) {
  std::thread klt([&] { turns.play(1, 100); });
  turns.play(0, 100);
  klt.join();
}

TEST_F(ListLock, ADeadline) {
  ASSERT_TRUE(ok(weft_mutex_lock(&turns.mutex)));
  EXPECT_TRUE(fails(WEFT_ERR_TIMEOUT, weft_cond_wait_until(&turns.cond, &turns.mutex, weft_after(2 * kMs))));
  EXPECT_TRUE(ok(weft_mutex_unlock(&turns.mutex)));
  EXPECT_TRUE(owned(turns.cond));
  on_klt([&] {
    ASSERT_TRUE(ok(weft_mutex_lock(&turns.mutex)));
    EXPECT_TRUE(fails(WEFT_ERR_TIMEOUT, weft_cond_wait_until(&turns.cond, &turns.mutex, weft_after(2 * kMs))));
    EXPECT_TRUE(ok(weft_mutex_unlock(&turns.mutex)));
  });
  turns.play_together(10);
}

TEST_F(ListLock, OutlivesTheRuntime) {
  EXPECT_TRUE(ok(weft_finalize()));
  ASSERT_TRUE(owned(turns.cond));
  EXPECT_TRUE(ok(weft_cond_signal(&turns.cond)));
  weft_options_t options{};
  options.workers = 1;
  ASSERT_TRUE(ok(weft_initialize(&options)));
  turns.play_together(100);
}

class ChannelListLock : public OneWorkerTest {
 protected:
  void SetUp() override {
    OneWorkerTest::SetUp();
    ASSERT_TRUE(ok(weft_channel_create(2, sizeof(int), &channel)));
    // ThreadSanitizer's allocator may give such a one: it is nobody's own.
    if (weft::rt::guard_in(channel) == weft::rt::kGuardDown) {
      ASSERT_TRUE(ok(weft_channel_create(2, sizeof(int), &spare)));
      std::swap(channel, spare);
    }
    Call receiver([&] { receive(0, 100); });
    weft_unit_t unit = receiver.ult();
    send(0, 100);
    EXPECT_TRUE(ok(weft_free(&unit)));
  }
  void TearDown() override {
    EXPECT_TRUE(ok(weft_channel_free(&channel)));
    if (spare != nullptr) {
      EXPECT_TRUE(ok(weft_channel_free(&spare)));
    }
    OneWorkerTest::TearDown();
  }
  void send(int from, int to) {
    for (int i = from; i < to; ++i) ASSERT_TRUE(ok(weft_channel_send(channel, &i)));
  }
  void receive(int from, int to) {
    for (int i = from; i < to; ++i) {
      int got = -1;
      ASSERT_TRUE(ok(weft_channel_receive(channel, &got)));
      EXPECT_EQ(got, i);
    }
  }
  bool owned() const { return __atomic_load_n(reinterpret_cast<const uint32_t*>(channel), __ATOMIC_RELAXED) >= 1u << weft::rt::kTagShift; }
  weft_channel_t channel = nullptr, spare = nullptr;
};

TEST_F(ChannelListLock, AKernelThreadSends) {
  std::thread klt([&] { send(0, 1000); });
  receive(0, 1000);
  klt.join();
}

TEST_F(ChannelListLock, AKernelThreadReceives) {
  std::thread klt([&] { receive(0, 1000); });
  send(0, 1000);
  klt.join();
}

TEST_F(ChannelListLock, AKernelThreadClosesIt) {
  Call receiver([&] {
    int got;
    EXPECT_TRUE(fails(WEFT_ERR_CLOSED, weft_channel_receive(channel, &got)));
  });
  weft_unit_t unit = receiver.ult();
  ASSERT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
  on_klt([&] { EXPECT_TRUE(ok(weft_channel_close(channel))); });
  EXPECT_TRUE(ok(weft_free(&unit)));
}

TEST_F(ChannelListLock, ItsWorkerClosesIt) {
  ASSERT_TRUE(owned());
  send(0, 2);
  EXPECT_TRUE(ok(weft_channel_close(channel)));
  EXPECT_FALSE(owned());
  int value = 2;
  EXPECT_TRUE(fails(WEFT_ERR_CLOSED, weft_channel_send(channel, &value)));
  receive(0, 2);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(fails(WEFT_ERR_CLOSED, weft_channel_receive(channel, &value)));
  EXPECT_FALSE(owned());
  EXPECT_TRUE(fails(WEFT_ERR_STATE, weft_channel_close(channel)));
}

// As if the caller were in the middle of a send or a receive.
TEST_F(ChannelListLock, WhoeverTakesItAwayWaitsForTheOneInIt) {
  using namespace weft::rt;
  ASSERT_TRUE(owned());
  std::atomic<bool> sent{false};
  static_cast<void>(guard_try_enter_in(channel));
  std::thread other([&] {
    send(0, 1);
    sent = true;
  });
  while (owned()) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(sent);
  guard_leave(guard_worker());
  other.join();
  receive(0, 1);
}

TEST_F(ChannelListLock, ADeadline) {
  int got;
  EXPECT_TRUE(fails(WEFT_ERR_TIMEOUT, weft_channel_receive_until(channel, &got, weft_after(2 * kMs))));
  EXPECT_TRUE(fails(WEFT_ERR_BUSY, weft_channel_tryreceive(channel, &got)));
  on_klt([&] {
    EXPECT_TRUE(fails(WEFT_ERR_TIMEOUT, weft_channel_receive_until(channel, &got, weft_after(2 * kMs))));
  });
}

TEST_F(ChannelListLock, AUnitMoves) {
  SideWorker side;
  weft_unit_attr_t attr = default_attr();
  attr.stack_size = 64 << 10;  // not run on this stack, which is pinned
  in_ult([&] {
    weft_worker_t here = weft_worker_self();
    ASSERT_TRUE(ok(weft_migrate(weft_self(), side.pool)));
    ASSERT_TRUE(wait_until([&] { return weft_worker_self() != here; }));
    send(0, 2);
  }, &attr);
  receive(0, 2);
}

// Again and again new ones that one worker comes to have to itself, and others that come when they like.
TEST(ListLockOnTwoWorkers, ManyChannels) {
  weft_options_t options{};
  options.workers = 2;
  ASSERT_TRUE(ok(weft_initialize(&options)));
  for (int round = 0; round < 200; ++round) {
    weft_channel_t channel;
    ASSERT_TRUE(ok(weft_channel_create(static_cast<size_t>(round % 3), sizeof(long), &channel)));
    constexpr int kEach = 300;
    std::atomic<long> sum = 0;
    const auto receive = [&] {
      for (int i = 0; i < kEach; ++i) {
        long got = 0;
        ASSERT_TRUE(ok(weft_channel_receive(channel, &got)));
        sum += got;
        if ((i + round) % 64 == 0) weft_yield();
      }
    };
    const auto send = [&] {
      for (long i = 1; i <= kEach; ++i) ASSERT_TRUE(ok(weft_channel_send(channel, &i)));
    };
    Call sending(send), receiving(receive);
    std::vector<weft_unit_t> units{sending.ult(), receiving.ult(), sending.ult(), receiving.ult()};
    if (round % 4 == 0) {
      std::thread sender(send), receiver(receive);
      sender.join();
      receiver.join();
    }
    EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
    EXPECT_EQ(sum, (round % 4 == 0 ? 3L : 2L) * kEach * (kEach + 1) / 2);
    EXPECT_TRUE(ok(weft_channel_free(&channel)));
  }
  EXPECT_TRUE(ok(weft_finalize()));
}

}  // namespace
