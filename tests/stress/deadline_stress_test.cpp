// Every wait with a deadline that may come at the very moment of the wake-up: whichever is first, nothing is
// lost and nothing is given twice. A lost wake-up is a hang.
#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include <weft/weft.hpp>

#include "support/everywhere.hpp"

namespace {

using namespace weft_test;

class DeadlineStress : public testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override {
    weft_options_t options{};
    options.workers = GetParam();
    ASSERT_TRUE(ok(weft_initialize(&options)));
  }
  void TearDown() override { EXPECT_TRUE(ok(weft_finalize())); }
  bool time_is_up() const { return weft_now() > end_; }

 private:
  const uint64_t end_ = weft_after(800'000'000);
};
INSTANTIATE_TEST_SUITE_P(Workers, DeadlineStress, testing::Values(1u, 2u, 4u));

using Random = std::minstd_rand;

// In the past, now, soon, never.
uint64_t some_deadline(Random& random) {
  switch (random() % 8) {
    case 0: return weft_now();
    case 1: return WEFT_NEVER;
    default: return weft_after(random() % 100'000);
  }
}

bool came(int error) {
  EXPECT_TRUE(error == WEFT_OK || error == WEFT_ERR_TIMEOUT) << weft_strerror(error);
  return error == WEFT_OK;
}

void hold_on(Random& random) {
  if (random() % 4 == 0) weft_yield();
  if (random() % 32 == 0) weft_sleep(random() % 50'000);
}

TEST_P(DeadlineStress, OneHoldsTheMutex) {
  weft_mutex_t mutex = WEFT_MUTEX_INIT;
  int inside = 0;
  long held = 0;
  everywhere(20, 2, [&](int me) {
    Random random(static_cast<unsigned>(me) + 1);
    while (!time_is_up()) {
      if (!came(weft_mutex_lock_until(&mutex, some_deadline(random)))) continue;
      ASSERT_EQ(++inside, 1);
      ++held;
      hold_on(random);
      --inside;
      ASSERT_EQ(weft_mutex_unlock(&mutex), WEFT_OK);
    }
  });
  EXPECT_GT(held, 0);
  EXPECT_EQ(weft_mutex_trylock(&mutex), WEFT_OK);
}

TEST_P(DeadlineStress, ReadersOrAWriter) {
  weft_rwlock_t lock = WEFT_RWLOCK_INIT;
  std::atomic<int> readers = 0;
  std::atomic<int> writers = 0;
  everywhere(20, 2, [&](int me) {
    Random random(static_cast<unsigned>(me) + 1);
    while (!time_is_up()) {
      const bool write = random() % 4 == 0;
      const uint64_t deadline = some_deadline(random);
      const int error = write ? weft_rwlock_wrlock_until(&lock, deadline) : weft_rwlock_rdlock_until(&lock, deadline);
      if (!came(error)) continue;
      (write ? writers : readers)++;
      hold_on(random);
      ASSERT_LE(writers, 1);
      ASSERT_TRUE(writers == 0 || readers == 0);
      (write ? writers : readers)--;
      ASSERT_EQ(weft_rwlock_unlock(&lock), WEFT_OK);
    }
  });
  EXPECT_EQ(weft_rwlock_trywrlock(&lock), WEFT_OK);
}

TEST_P(DeadlineStress, TheSemaphoreKeepsItsCount) {
  constexpr uint32_t kCount = 3;
  weft_sem_t sem = WEFT_SEM_INIT(kCount);
  std::atomic<int> holders = 0;
  everywhere(20, 2, [&](int me) {
    Random random(static_cast<unsigned>(me) + 1);
    while (!time_is_up()) {
      if (!came(weft_sem_acquire_until(&sem, some_deadline(random)))) continue;
      ASSERT_LE(++holders, static_cast<int>(kCount));
      hold_on(random);
      --holders;
      ASSERT_EQ(weft_sem_release(&sem, 1), WEFT_OK);
    }
  });
  EXPECT_EQ(weft_sem_value(&sem), kCount);
}

TEST_P(DeadlineStress, WhatIsSentIsReceivedOnce) {
  constexpr int kAll = 22;
  for (const size_t capacity : {size_t{0}, size_t{2}}) {
    weft_channel_t channel = nullptr;
    ASSERT_TRUE(ok(weft_channel_create(capacity, sizeof(long), &channel)));
    std::atomic<int> senders = kAll / 2;
    std::array<std::vector<long>, kAll> sent;
    std::array<std::vector<long>, kAll> received;
    const uint64_t end = weft_after(400'000'000);
    everywhere(kAll - 2, 2, [&](int me) {
      Random random(static_cast<unsigned>(me) + 1);
      const auto mine = static_cast<size_t>(me);
      if (me % 2 != 0) {
        for (;;) {
          long element = 0;
          const int error = weft_channel_receive_until(channel, &element, some_deadline(random));
          if (error == WEFT_ERR_CLOSED) return;
          if (came(error)) received[mine].push_back(element);
        }
      }
      for (long element = me; weft_now() < end; element += kAll) {
        hold_on(random);
        if (came(weft_channel_send_until(channel, &element, some_deadline(random)))) sent[mine].push_back(element);
      }
      if (--senders == 0) {
        EXPECT_TRUE(ok(weft_channel_close(channel)));
      }
    });
    std::vector<long> in;
    std::vector<long> out;
    for (const auto& some : sent) in.insert(in.end(), some.begin(), some.end());
    for (const auto& some : received) out.insert(out.end(), some.begin(), some.end());
    std::sort(in.begin(), in.end());
    std::sort(out.begin(), out.end());
    EXPECT_FALSE(in.empty());
    EXPECT_EQ(in, out);
    EXPECT_TRUE(ok(weft_channel_free(&channel)));
  }
}

// Tokens that wait for a signal, of which none may get lost: whoever gives up without one leaves it to another.
TEST_P(DeadlineStress, ASignalReachesWhoeverStillWaits) {
  weft_mutex_t mutex = WEFT_MUTEX_INIT;
  weft_cond_t cond = WEFT_COND_INIT;
  long tokens = 0;
  long given = 0;
  long taken = 0;
  int givers = 11;
  everywhere(20, 2, [&](int me) {
    Random random(static_cast<unsigned>(me) + 1);
    if (me % 2 == 0) {
      while (!time_is_up()) {
        ASSERT_EQ(weft_mutex_lock(&mutex), WEFT_OK);
        ++tokens;
        ++given;
        ASSERT_EQ(weft_cond_signal(&cond), WEFT_OK);
        ASSERT_EQ(weft_mutex_unlock(&mutex), WEFT_OK);
        hold_on(random);
      }
      ASSERT_EQ(weft_mutex_lock(&mutex), WEFT_OK);
      if (--givers == 0) {
        EXPECT_TRUE(ok(weft_cond_broadcast(&cond)));
      }
      ASSERT_EQ(weft_mutex_unlock(&mutex), WEFT_OK);
      return;
    }
    ASSERT_EQ(weft_mutex_lock(&mutex), WEFT_OK);
    while (tokens > 0 || givers > 0) {
      if (tokens == 0) came(weft_cond_wait_until(&cond, &mutex, some_deadline(random)));
      if (tokens == 0) continue;
      --tokens;
      ++taken;
    }
    ASSERT_EQ(weft_mutex_unlock(&mutex), WEFT_OK);
  });
  EXPECT_EQ(given, taken);
  EXPECT_GT(given, 0);
}

// Each waits for any of three, of which others set and reset two.
TEST_P(DeadlineStress, AnyOfSeveral) {
  weft_event_t events[2] = {WEFT_EVENT_INIT, WEFT_EVENT_INIT};
  weft_latch_t end = WEFT_LATCH_INIT(1);
  std::atomic<long> woken = 0;
  everywhere(16, 2, [&](int me) {
    Random random(static_cast<unsigned>(me) + 1);
    if (me < 4) {
      while (!time_is_up()) {
        weft_event_t& event = events[random() % 2];
        ASSERT_EQ(weft_event_set(&event), WEFT_OK);
        hold_on(random);
        ASSERT_EQ(weft_event_reset(&event), WEFT_OK);
        hold_on(random);
      }
      if (me == 0) {
        EXPECT_TRUE(ok(weft_latch_count_down(&end, 1)));
      }
      return;
    }
    const weft_waitable_t all[] = {{WEFT_WAITABLE_EVENT, &events[0]},
                                   {WEFT_WAITABLE_LATCH, &end},
                                   {WEFT_WAITABLE_EVENT, &events[1]}};
    for (;;) {
      size_t which = 0;
      if (!came(weft_wait_any_until(3, all, some_deadline(random), &which))) continue;
      ++woken;
      if (which == 1) return;
      if (weft_latch_is_down(&end)) return;  // an event that stays set comes first
      weft_yield();
    }
  });
  EXPECT_GT(woken, 0);
}

TEST_P(DeadlineStress, NobodyWakesEarly) {
  std::atomic<long> slept = 0;
  everywhere(200, 2, [&](int me) {
    Random random(static_cast<unsigned>(me) + 1);
    while (!time_is_up()) {
      const uint64_t deadline = weft_after(random() % 2'000'000);
      ASSERT_EQ(weft_sleep_until(deadline), WEFT_OK);
      ASSERT_GE(weft_now(), deadline);
      ++slept;
    }
  });
  EXPECT_GT(slept, 0);
}

// Whoever wakes computes until all have, and never comes back to Weft meanwhile: somebody else has to watch the next
// deadline, and not only the one after the first.
TEST(DeadlineWatch, GoesOnWhileThoseWhoWatchedCompute) {
  constexpr int kUlts = 5;
  weft_options_t options{};
  options.workers = kUlts + 1;
  ASSERT_TRUE(ok(weft_initialize(&options)));
  Random random(1);
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> started = 0;
    std::atomic<int> awake = 0;
    const uint64_t base = weft_after(300'000);
    std::vector<weft::thread> sleepers;
    for (int i = 0; i < kUlts; ++i) {
      sleepers.emplace_back([&, deadline = base + random() % 1'000'000] {
        ++started;
        ASSERT_EQ(weft_sleep_until(deadline), WEFT_OK);
        for (++awake; awake < kUlts; sched_yield()) {
        }
      });
    }
    // What is joined before it has started runs on the stack of main, and there only on its worker.
    while (started < kUlts) weft_sleep(10'000);
    for (weft::thread& sleeper : sleepers) sleeper.join();
  }
  EXPECT_TRUE(ok(weft_finalize()));
}

}  // namespace
