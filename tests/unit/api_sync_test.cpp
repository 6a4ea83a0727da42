// Mutex, condition variable, barrier and event, between ULTs, and between ULTs and kernel threads.
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "support/runtime_fixture.hpp"

namespace {

using namespace weft_test;

class ApiSync : public WorkersTest {
 protected:
  // Runs f(i) in `ults` ULTs and, at the same time, in `klts` kernel threads.
  static void everywhere(int ults, int klts, const std::function<void(int)>& f) {
    std::vector<std::unique_ptr<Call>> calls;
    std::vector<weft_unit_t> units;
    std::vector<std::thread> threads;
    std::atomic<int> left = klts;
    for (int i = 0; i < klts; ++i) {
      threads.emplace_back([&, i] {
        f(ults + i);
        --left;
      });
    }
    for (int i = 0; i < ults; ++i) {
      calls.push_back(std::make_unique<Call>([&, i] { f(i); }));
      units.push_back(calls.back()->ult());
    }
    EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
    while (left != 0) {
      weft_yield();
    }
    for (auto& t : threads) {
      t.join();
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, ApiSync, kWorkerCounts);

TEST(ApiSyncStatic, NoRuntimeIsNeeded) {
  ASSERT_FALSE(weft_initialized());
  static weft_mutex_t mutex = WEFT_MUTEX_INIT;
  static weft_cond_t cond = WEFT_COND_INIT;
  static weft_event_t event = WEFT_EVENT_INIT;
  static weft_barrier_t barrier = WEFT_BARRIER_INIT(2);
  static int turn = 0;
  std::thread other([] {
    EXPECT_TRUE(ok(weft_mutex_lock(&mutex)));
    turn = 1;
    EXPECT_TRUE(ok(weft_cond_signal(&cond)));
    EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
    EXPECT_TRUE(ok(weft_event_wait(&event)));
    EXPECT_TRUE(ok(weft_barrier_wait(&barrier, nullptr)));
  });
  EXPECT_TRUE(ok(weft_mutex_lock(&mutex)));
  while (turn == 0) {
    EXPECT_TRUE(ok(weft_cond_wait(&cond, &mutex)));
  }
  EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
  EXPECT_TRUE(ok(weft_event_set(&event)));
  EXPECT_TRUE(ok(weft_barrier_wait(&barrier, nullptr)));
  other.join();
}

TEST_P(ApiSync, AMutexExcludes) {
  for (const auto& [ults, klts] : {std::pair{20, 0}, {10, 3}, {0, 3}}) {
    weft_mutex_t mutex = WEFT_MUTEX_INIT;
    long plain = 0;
    everywhere(ults, klts, [&](int i) {
      for (int k = 0; k < 300; ++k) {
        ASSERT_TRUE(ok(weft_mutex_lock(&mutex)));
        const long seen = plain;
        if ((k + i) % 50 == 0) {
          weft_yield();  // hold it across a switch
        }
        plain = seen + 1;
        ASSERT_TRUE(ok(weft_mutex_unlock(&mutex)));
      }
    });
    EXPECT_EQ(plain, 300L * (ults + klts));
  }
}

TEST_P(ApiSync, TryLock) {
  weft_mutex_t mutex = WEFT_MUTEX_INIT;
  EXPECT_TRUE(ok(weft_mutex_trylock(&mutex)));
  EXPECT_TRUE(fails(WEFT_ERR_BUSY, weft_mutex_trylock(&mutex)));
  in_ult([&] { EXPECT_TRUE(fails(WEFT_ERR_BUSY, weft_mutex_trylock(&mutex))); });
  in_tasklet([&] { EXPECT_TRUE(fails(WEFT_ERR_BUSY, weft_mutex_trylock(&mutex))); });
  on_klt([&] { EXPECT_TRUE(fails(WEFT_ERR_BUSY, weft_mutex_trylock(&mutex))); });
  EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
  EXPECT_TRUE(fails(WEFT_ERR_NOT_OWNER, weft_mutex_unlock(&mutex)));
  EXPECT_TRUE(ok(weft_mutex_lock(&mutex)));
  EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
}

TEST_P(ApiSync, AMutexInATasklet) {
  weft_mutex_t mutex = WEFT_MUTEX_INIT;
  in_tasklet([&] {
    EXPECT_TRUE(ok(weft_mutex_lock(&mutex)));
    EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
  });
  EXPECT_TRUE(ok(weft_mutex_lock(&mutex)));
  in_tasklet([&] { EXPECT_TRUE(fails(WEFT_ERR_CONTEXT, weft_mutex_lock(&mutex))); });
  EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
  EXPECT_TRUE(ok(weft_mutex_lock(&mutex)));
  EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
}

TEST_P(ApiSync, WaitersForAMutexDoNotHoldTheirWorker) {
  weft_mutex_t mutex = WEFT_MUTEX_INIT;
  EXPECT_TRUE(ok(weft_mutex_lock(&mutex)));
  std::atomic<int> got = 0;
  Call waiting([&] {
    EXPECT_TRUE(ok(weft_mutex_lock(&mutex)));
    ++got;
    EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
  });
  std::vector<weft_unit_t> units;
  for (int i = 0; i < 50; ++i) {
    units.push_back(waiting.ult());
  }
  for (weft_unit_t u : units) {
    ASSERT_TRUE(wait_until([&] { return weft_unit_state(u) == WEFT_UNIT_BLOCKED; }));
  }
  in_ult([] {});  // others still run
  EXPECT_EQ(got, 0);
  EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  EXPECT_EQ(got, 50);
}

TEST_P(ApiSync, ACondWakesOneOrAll) {
  weft_mutex_t mutex = WEFT_MUTEX_INIT;
  weft_cond_t cond = WEFT_COND_INIT;
  EXPECT_TRUE(ok(weft_cond_signal(&cond)));  // nobody waits
  EXPECT_TRUE(ok(weft_cond_broadcast(&cond)));
  int tickets = 0;
  std::atomic<int> passed = 0;
  Call call([&] {
    EXPECT_TRUE(ok(weft_mutex_lock(&mutex)));
    while (tickets == 0) {
      EXPECT_TRUE(ok(weft_cond_wait(&cond, &mutex)));
    }
    --tickets;
    EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
    ++passed;
  });
  std::vector<weft_unit_t> units;
  for (int i = 0; i < 20; ++i) {
    units.push_back(call.ult());
  }
  for (weft_unit_t u : units) {
    ASSERT_TRUE(wait_until([&] { return weft_unit_state(u) == WEFT_UNIT_BLOCKED; }));
  }
  for (int i = 1; i <= 5; ++i) {
    EXPECT_TRUE(ok(weft_mutex_lock(&mutex)));
    ++tickets;
    EXPECT_TRUE(ok(weft_cond_signal(&cond)));
    EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
    EXPECT_TRUE(wait_until([&] { return passed == i; }));
  }
  EXPECT_TRUE(ok(weft_mutex_lock(&mutex)));
  tickets += 15;
  EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
  EXPECT_TRUE(ok(weft_cond_broadcast(&cond)));
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  EXPECT_EQ(passed, 20);
}

TEST_P(ApiSync, ABoundedBufferBetweenUltsAndKernelThreads) {
  for (const auto& [ults, klts] : {std::pair{8, 0}, {4, 4}, {0, 4}}) {
    weft_mutex_t mutex = WEFT_MUTEX_INIT;
    weft_cond_t not_full = WEFT_COND_INIT;
    weft_cond_t not_empty = WEFT_COND_INIT;
    std::deque<int> buffer;
    std::atomic<long> sum = 0;
    constexpr int kItems = 500;
    everywhere(ults, klts, [&](int me) {
      for (int k = 0; k < kItems; ++k) {
        ASSERT_TRUE(ok(weft_mutex_lock(&mutex)));
        if (me % 2 == 0) {
          while (buffer.size() >= 4) {
            ASSERT_TRUE(ok(weft_cond_wait(&not_full, &mutex)));
          }
          buffer.push_back(k);
          ASSERT_TRUE(ok(weft_cond_signal(&not_empty)));
        } else {
          while (buffer.empty()) {
            ASSERT_TRUE(ok(weft_cond_wait(&not_empty, &mutex)));
          }
          sum += buffer.front();
          buffer.pop_front();
          ASSERT_TRUE(ok(weft_cond_signal(&not_full)));
        }
        ASSERT_TRUE(ok(weft_mutex_unlock(&mutex)));
      }
    });
    EXPECT_TRUE(buffer.empty());
    EXPECT_EQ(sum, (ults + klts) / 2 * (kItems * (kItems - 1L) / 2));
  }
}

TEST_P(ApiSync, ACondInATaskletIsRefused) {
  weft_mutex_t mutex = WEFT_MUTEX_INIT;
  weft_cond_t cond = WEFT_COND_INIT;
  in_tasklet([&] {
    EXPECT_TRUE(ok(weft_mutex_lock(&mutex)));
    EXPECT_TRUE(fails(WEFT_ERR_CONTEXT, weft_cond_wait(&cond, &mutex)));
    EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
  });
  EXPECT_TRUE(fails(WEFT_ERR_NOT_OWNER, weft_cond_wait(&cond, &mutex)));
}

TEST_P(ApiSync, ABarrierLetsAllPassTogether) {
  for (const auto& [ults, klts] : {std::pair{16, 0}, {6, 3}, {0, 3}}) {
    const int all = ults + klts;
    weft_barrier_t barrier = WEFT_BARRIER_INIT(static_cast<uint32_t>(all));
    constexpr int kRounds = 50;
    std::atomic<int> arrived[kRounds] = {};
    std::atomic<int> lasts = 0;
    everywhere(ults, klts, [&](int) {
      for (auto& a : arrived) {
        ++a;
        bool last = false;
        ASSERT_TRUE(ok(weft_barrier_wait(&barrier, &last)));
        ASSERT_EQ(a, all);
        lasts += last;
      }
    });
    EXPECT_EQ(lasts, kRounds);
  }
}

TEST_P(ApiSync, ABarrierOfOne) {
  weft_barrier_t barrier = WEFT_BARRIER_INIT(1);
  bool last = false;
  EXPECT_TRUE(ok(weft_barrier_wait(&barrier, &last)));
  EXPECT_TRUE(last);
  EXPECT_TRUE(ok(weft_barrier_wait(&barrier, nullptr)));
}

TEST_P(ApiSync, AnEventLetsWaitersPassUntilItIsReset) {
  weft_event_t event = WEFT_EVENT_INIT;
  EXPECT_FALSE(weft_event_is_set(&event));
  std::atomic<int> passed = 0;
  Call call([&] {
    EXPECT_TRUE(ok(weft_event_wait(&event)));
    ++passed;
  });
  std::vector<weft_unit_t> units;
  for (int i = 0; i < 20; ++i) {
    units.push_back(call.ult());
  }
  for (weft_unit_t u : units) {
    ASSERT_TRUE(wait_until([&] { return weft_unit_state(u) == WEFT_UNIT_BLOCKED; }));
  }
  EXPECT_EQ(passed, 0);
  in_tasklet([&] { EXPECT_TRUE(ok(weft_event_set(&event))); });
  EXPECT_TRUE(weft_event_is_set(&event));
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  EXPECT_EQ(passed, 20);
  EXPECT_TRUE(ok(weft_event_set(&event)));
  EXPECT_TRUE(ok(weft_event_wait(&event)));
  in_tasklet([&] { EXPECT_TRUE(ok(weft_event_wait(&event))); });  // set: nothing to wait for
  EXPECT_TRUE(ok(weft_event_reset(&event)));
  EXPECT_FALSE(weft_event_is_set(&event));
  in_tasklet([&] { EXPECT_TRUE(fails(WEFT_ERR_CONTEXT, weft_event_wait(&event))); });
}

TEST_P(ApiSync, AnEventBetweenKernelThreadsAndUlts) {
  for (int i = 0; i < 50; ++i) {
    weft_event_t there = WEFT_EVENT_INIT;
    weft_event_t back = WEFT_EVENT_INIT;
    std::thread klt([&] {
      EXPECT_TRUE(ok(weft_event_wait(&there)));
      EXPECT_TRUE(ok(weft_event_set(&back)));
    });
    in_ult([&] {
      EXPECT_TRUE(ok(weft_event_set(&there)));
      EXPECT_TRUE(ok(weft_event_wait(&back)));
    });
    klt.join();
  }
}

// One of those who set it at once has copied, whole, before anybody passes.
TEST_P(ApiSync, AnEventIsGivenACopyOnce) {
  constexpr size_t kWords = 64;
  for (int i = 0; i < 50; ++i) {
    weft_event_t event = WEFT_EVENT_INIT;
    int room[kWords] = {};
    std::atomic<int> set = 0;
    std::atomic<int> next = 1;
    Call setter([&] {
      int from[kWords];
      std::fill_n(from, kWords, next++);
      const int error = weft_event_set_copy(&event, room, from, sizeof room);
      if (error == WEFT_OK) {
        ++set;
      } else {
        EXPECT_TRUE(fails(WEFT_ERR_STATE, error));
      }
    });
    Call waiter([&] {
      EXPECT_TRUE(ok(weft_event_wait(&event)));
      EXPECT_EQ(weft_event_value(&event), room);
      for (const int word : room) EXPECT_EQ(word, room[0]);
      EXPECT_NE(room[0], 0);
    });
    std::vector<weft_unit_t> units = {waiter.ult(), setter.ult(), setter.ult(), waiter.ult(), setter.ult()};
    EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
    EXPECT_EQ(set, 1);
  }
  weft_event_t event = WEFT_EVENT_INIT;
  int from = 1;
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_event_set_copy(nullptr, nullptr, nullptr, 0)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_event_set_copy(&event, nullptr, &from, sizeof from)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_event_set_copy(&event, &from, nullptr, sizeof from)));
  EXPECT_FALSE(weft_event_is_set(&event));
  EXPECT_TRUE(ok(weft_event_set_copy(&event, &from, nullptr, 0)));
  EXPECT_EQ(weft_event_value(&event), &from);
}

TEST_P(ApiSync, ArgumentsAreChecked) {
  weft_mutex_t mutex = WEFT_MUTEX_INIT;
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_mutex_lock(nullptr)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_mutex_trylock(nullptr)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_mutex_unlock(nullptr)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_cond_wait(nullptr, &mutex)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_cond_signal(nullptr)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_cond_broadcast(nullptr)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_barrier_wait(nullptr, nullptr)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_event_wait(nullptr)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_event_set(nullptr)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_event_reset(nullptr)));
}

}  // namespace
