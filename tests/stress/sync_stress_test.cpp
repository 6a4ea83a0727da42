// Everything at once for a few seconds: ULTs and kernel threads that lock, yield with the lock,
// wait for conditions, meet at barriers and pass events. A lost wake-up is a hang.
#include <cstdlib>
#include <functional>
#include <random>

#include "front/front.hpp"
#include "support/everywhere.hpp"
#include "weft/sync.hpp"

namespace {

using namespace weft_test;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTime{800};  // per test

class SyncStress : public testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override {
    weft_options_t options{};
    options.workers = GetParam();
    ASSERT_TRUE(ok(weft_initialize(&options)));
    end_ = Clock::now() + kTime;
  }
  void TearDown() override { EXPECT_TRUE(ok(weft_finalize())); }
  bool time_is_up() const { return Clock::now() > end_; }

 private:
  Clock::time_point end_;
};
INSTANTIATE_TEST_SUITE_P(Workers, SyncStress, testing::Values(2u, 4u));

TEST_P(SyncStress, AFewMutexesAndManyUsers) {
  struct Account {
    weft_mutex_t mutex = WEFT_MUTEX_INIT;
    long value = 0;
  };
  Account accounts[4];
  std::atomic<long> moved = 0;
  everywhere(24, 2, [&](int me) {
    std::minstd_rand random(static_cast<unsigned>(me) + 1);
    while (!time_is_up()) {
      const unsigned low = random() % 3;
      const unsigned high = low + 1 + random() % (3 - low);
      ASSERT_EQ(weft_mutex_lock(&accounts[low].mutex), WEFT_OK);
      if (random() % 8 == 0) weft_yield();
      ASSERT_EQ(weft_mutex_lock(&accounts[high].mutex), WEFT_OK);
      --accounts[low].value;
      ++accounts[high].value;
      if (random() % 16 == 0) weft_yield();
      ASSERT_EQ(weft_mutex_unlock(&accounts[high].mutex), WEFT_OK);
      ASSERT_EQ(weft_mutex_unlock(&accounts[low].mutex), WEFT_OK);
      ++moved;
    }
  });
  long sum = 0;
  for (const Account& account : accounts) sum += account.value;
  EXPECT_EQ(sum, 0);
  EXPECT_GT(moved, 0);
}

// Again and again a fresh mutex that one worker comes to have to itself, and others who come when they like.
template <class Mutex>
void mutexes_that_one_worker_had_to_itself(const std::function<bool()>& time_is_up) {
  constexpr int kUsers = 4, kPairs = 300;
  std::minstd_rand random(7);
  while (!time_is_up()) {
    Mutex mutex;
    long count = 0;  // guarded by mutex
    std::atomic<int> first_pairs = 0;
    const int others_come_at = static_cast<int>(random() % (kPairs * 11 / 10));
    everywhere(kUsers, 1, [&](int me) {
      if (me != 0) {
        while (first_pairs < others_come_at && first_pairs < kPairs) {
          if (me < kUsers) weft_yield();
        }
      }
      for (int i = 0; i < kPairs; ++i) {
        mutex.lock();
        ++count;
        if (i % 16 == me) weft_yield();
        mutex.unlock();
        if (me == 0) ++first_pairs;
      }
    });
    ASSERT_EQ(count, (kUsers + 1) * kPairs);
  }
}

struct ByCalls {
  weft_mutex_t mutex = WEFT_MUTEX_INIT;
  void lock() { ASSERT_EQ(weft_mutex_lock(&mutex), WEFT_OK); }
  void unlock() { ASSERT_EQ(weft_mutex_unlock(&mutex), WEFT_OK); }
};

TEST_P(SyncStress, MutexesThatOneWorkerHadToItself) {
  mutexes_that_one_worker_had_to_itself<ByCalls>([&] { return time_is_up(); });
}

TEST_P(SyncStress, MutexesThatOneWorkerHadToItselfInItsOwnCode) {
  mutexes_that_one_worker_had_to_itself<weft::mutex>([&] { return time_is_up(); });
}

// A bounded buffer, signalled with and without the mutex held.
TEST_P(SyncStress, ProducersAndConsumers) {
  constexpr int kRoom = 3;
  weft_mutex_t mutex = WEFT_MUTEX_INIT;
  weft_cond_t not_full = WEFT_COND_INIT;
  weft_cond_t not_empty = WEFT_COND_INIT;
  int filled = 0;
  int producers = 9;  // the even ones of 18
  long produced = 0;
  long consumed = 0;
  auto produce = [&](int me) {
    ASSERT_EQ(weft_mutex_lock(&mutex), WEFT_OK);
    while (filled == kRoom) ASSERT_EQ(weft_cond_wait(&not_full, &mutex), WEFT_OK);
    ++filled;
    ++produced;
    const bool early = me % 4 == 0;
    if (early) weft_cond_signal(&not_empty);
    ASSERT_EQ(weft_mutex_unlock(&mutex), WEFT_OK);
    if (!early) weft_cond_signal(&not_empty);
  };
  auto consume = [&] {  // false: no more will come
    weft_mutex_lock(&mutex);
    while (filled == 0 && producers > 0) weft_cond_wait(&not_empty, &mutex);
    const bool got = filled > 0;
    if (got) {
      --filled;
      ++consumed;
    }
    weft_mutex_unlock(&mutex);
    if (got) weft_cond_signal(&not_full);
    return got;
  };
  everywhere(16, 2, [&](int me) {
    if (me % 2 != 0) {
      while (consume()) {
      }
      return;
    }
    while (!time_is_up()) produce(me);
    weft_mutex_lock(&mutex);
    const bool last = --producers == 0;
    weft_mutex_unlock(&mutex);
    if (last) weft_cond_broadcast(&not_empty);
  });
  EXPECT_EQ(produced, consumed);
  EXPECT_EQ(filled, 0);
}

// Rounds that a barrier separates; in each an event is awaited that somebody sets, and reset after
// it.
TEST_P(SyncStress, BarriersAndEvents) {
  constexpr int kAll = 10;
  weft_barrier_t barrier = WEFT_BARRIER_INIT(kAll);
  weft_event_t event = WEFT_EVENT_INIT;
  std::atomic<bool> stop = false;
  std::atomic<long> rounds = 0;
  everywhere(kAll - 2, 2, [&](int me) {
    for (int round = 0;; ++round) {
      if (round % kAll == me) {
        if (round % 3 == 0) weft_yield();
        ASSERT_EQ(weft_event_set(&event), WEFT_OK);
      } else {
        ASSERT_EQ(weft_event_wait(&event), WEFT_OK);
      }
      bool last = false;
      ASSERT_EQ(weft_barrier_wait(&barrier, &last), WEFT_OK);
      if (last) {  // the others wait at the second barrier
        ++rounds;
        ASSERT_EQ(weft_event_reset(&event), WEFT_OK);
        if (time_is_up()) stop = true;
      }
      ASSERT_EQ(weft_barrier_wait(&barrier, nullptr), WEFT_OK);
      if (stop) return;
    }
  });
  EXPECT_GT(rounds, 0);
}

// ULTs that are each bound to a worker wake each other, alone and many at once: what one worker gives to another one.
// kListed: in the middle the lanes become shared ones.
void pinned_units_wake_each_other(unsigned workers, bool listed, const std::function<bool()>& time_is_up) {
  constexpr int kEach = 6;
  const int all = static_cast<int>(workers) * kEach;
  weft_barrier_t barrier = WEFT_BARRIER_INIT(static_cast<uint32_t>(all) + 1);
  weft_mutex_t mutex = WEFT_MUTEX_INIT;
  weft_cond_t turned = WEFT_COND_INIT;
  weft_sem_t sem = WEFT_SEM_INIT(0);
  int round = 0;  // guarded by mutex
  std::atomic<bool> stop = false;
  const long before = listed ? 20 : 0;  // rounds, at least, however long they take; and one after it
  std::atomic<long> rounds = 0;
  const auto body = [&](int me) {
    for (int i = 0;; ++i) {
      ASSERT_EQ(weft_barrier_wait(&barrier, nullptr), WEFT_OK);
      if (i % all == me) {
        ASSERT_EQ(weft_mutex_lock(&mutex), WEFT_OK);
        ++round;
        ASSERT_EQ(weft_mutex_unlock(&mutex), WEFT_OK);
        ASSERT_EQ(weft_cond_broadcast(&turned), WEFT_OK);
        ASSERT_EQ(weft_sem_release(&sem, static_cast<uint32_t>(all)), WEFT_OK);
      } else {
        ASSERT_EQ(weft_mutex_lock(&mutex), WEFT_OK);
        while (round == i) ASSERT_EQ(weft_cond_wait(&turned, &mutex), WEFT_OK);
        ASSERT_EQ(weft_mutex_unlock(&mutex), WEFT_OK);
      }
      ASSERT_EQ(weft_sem_acquire(&sem), WEFT_OK);
      bool last = false;
      ASSERT_EQ(weft_barrier_wait(&barrier, &last), WEFT_OK);
      if (last && ++rounds > before && time_is_up()) stop = true;
      ASSERT_EQ(weft_barrier_wait(&barrier, nullptr), WEFT_OK);
      if (stop) return;
    }
  };
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  for (int i = 0; i < all; ++i) {
    weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
    attr.worker = weft_worker_get(static_cast<unsigned>(i) % workers);
    attr.pinned = true;
    calls.push_back(std::make_unique<Call>([&body, i] { body(i); }));
    units.push_back(calls.back()->ult(&attr));
  }
  std::thread klt([&] {  // and a thread that is no worker
    do {
      for (int i = 0; i < 3; ++i) ASSERT_EQ(weft_barrier_wait(&barrier, nullptr), WEFT_OK);
    } while (!stop);
  });
  if (listed) {
    while (rounds < before) weft_yield();
    for (unsigned i = 1; i < workers; ++i) weft::front::pool_share(weft_worker_pool(weft_worker_get(i)));
  }
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  klt.join();
  EXPECT_GT(rounds, before);
}

TEST_P(SyncStress, PinnedUnitsWakeEachOther) {
  pinned_units_wake_each_other(GetParam(), false, [&] { return time_is_up(); });
}

TEST_P(SyncStress, PinnedUnitsWakeEachOtherWhileLanesBecomeShared) {
  pinned_units_wake_each_other(GetParam(), true, [&] { return time_is_up(); });
}

}  // namespace
