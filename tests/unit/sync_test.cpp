// Synchronisation beyond the interface's own tests: every pair of ULTs and kernel threads,
// fairness, objects that are destroyed by whoever was let through, the runtime started while a
// thread waits.
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/runtime_fixture.hpp"

namespace {

using namespace weft_test;

// Runs f(0 … n - 1) at the same time in ULTs and kernel threads; returns when all have ended.
class Crowd {
 public:
  Crowd(int ults, int klts, const std::function<void(int)>& f) {
    for (int i = 0; i < klts; ++i) {
      klts_.emplace_back([this, f, i, ults] {
        f(ults + i);
        ++ended_;
      });
    }
    for (int i = 0; i < ults; ++i) {
      calls_.push_back(std::make_unique<Call>([f, i] { f(i); }));
      units_.push_back(calls_.back()->ult());
    }
  }
  ~Crowd() {
    if (!units_.empty()) {
      EXPECT_TRUE(ok(weft_free_many(units_.size(), units_.data())));
    }
    while (ended_ != static_cast<int>(klts_.size())) weft_yield();
    for (std::thread& klt : klts_) klt.join();
  }

 private:
  std::atomic<int> ended_ = 0;
  std::vector<std::thread> klts_;
  std::vector<std::unique_ptr<Call>> calls_;
  std::vector<weft_unit_t> units_;
};

struct Mix {
  unsigned workers;
  int ults;
  int klts;
};

class SyncTest : public testing::TestWithParam<Mix> {
 protected:
  void SetUp() override {
    weft_options_t options{};
    options.workers = GetParam().workers;
    ASSERT_TRUE(ok(weft_initialize(&options)));
  }
  void TearDown() override { EXPECT_TRUE(ok(weft_finalize())); }
  void everywhere(const std::function<void(int)>& f) { Crowd(GetParam().ults, GetParam().klts, f); }
  int callers() const { return GetParam().ults + GetParam().klts; }
};

std::string mix_name(const testing::TestParamInfo<Mix>& info) {
  return "W" + std::to_string(info.param.workers) + "Ults" + std::to_string(info.param.ults) +
         "Klts" + std::to_string(info.param.klts);
}
INSTANTIATE_TEST_SUITE_P(Mixes, SyncTest,
                         testing::Values(Mix{1, 4, 0}, Mix{1, 0, 3}, Mix{1, 3, 2}, Mix{2, 6, 0},
                                         Mix{2, 4, 2}, Mix{4, 16, 0}, Mix{4, 8, 3}),
                         mix_name);

TEST_P(SyncTest, MutexExcludesAlsoWhenItsHolderYields) {
  weft_mutex_t mutex = WEFT_MUTEX_INIT;
  int inside = 0;
  long count = 0;
  everywhere([&](int) {
    for (int i = 0; i < 500; ++i) {
      ASSERT_TRUE(ok(weft_mutex_lock(&mutex)));
      EXPECT_EQ(++inside, 1);
      if (i % 7 == 0) weft_yield();
      ++count;
      --inside;
      ASSERT_TRUE(ok(weft_mutex_unlock(&mutex)));
    }
  });
  EXPECT_EQ(count, 500l * callers());
  EXPECT_TRUE(fails(WEFT_ERR_NOT_OWNER, weft_mutex_unlock(&mutex)));
}

TEST_P(SyncTest, TryLockAmongLockers) {
  weft_mutex_t mutex = WEFT_MUTEX_INIT;
  int inside = 0;
  std::atomic<long> taken = 0;
  long count = 0;
  everywhere([&](int me) {
    for (int i = 0; i < 300; ++i) {
      if (me % 2 == 0) {
        ASSERT_TRUE(ok(weft_mutex_lock(&mutex)));
      } else {
        const int error = weft_mutex_trylock(&mutex);
        if (error == WEFT_ERR_BUSY) {
          weft_yield();
          continue;
        }
        ASSERT_TRUE(ok(error));
      }
      EXPECT_EQ(++inside, 1);
      ++taken;
      ++count;
      if (i % 5 == 0) weft_yield();
      --inside;
      ASSERT_TRUE(ok(weft_mutex_unlock(&mutex)));
    }
  });
  EXPECT_EQ(count, taken);
}

// Two sides that only go on by each other's signals.
TEST_P(SyncTest, CondTakesTurns) {
  constexpr int kRounds = 100;
  weft_mutex_t mutex = WEFT_MUTEX_INIT;
  weft_cond_t cond = WEFT_COND_INIT;
  int turn = 0;
  const int all = callers();
  everywhere([&](int me) {
    for (int i = 0; i < kRounds; ++i) {
      ASSERT_TRUE(ok(weft_mutex_lock(&mutex)));
      while (turn % all != me) ASSERT_TRUE(ok(weft_cond_wait(&cond, &mutex)));
      ++turn;
      ASSERT_TRUE(ok(weft_cond_broadcast(&cond)));
      ASSERT_TRUE(ok(weft_mutex_unlock(&mutex)));
    }
  });
  EXPECT_EQ(turn, kRounds * all);
}

// As many signals as there are waiters, given without the mutex: each wakes somebody.
TEST_P(SyncTest, SignalWakesOneEach) {
  weft_mutex_t mutex = WEFT_MUTEX_INIT;
  weft_cond_t cond = WEFT_COND_INIT;
  int waiting = 0;
  int tokens = 0;
  std::atomic<int> through = 0;
  {
    Crowd crowd(GetParam().ults, GetParam().klts, [&](int) {
      ASSERT_TRUE(ok(weft_mutex_lock(&mutex)));
      ++waiting;
      while (tokens == 0) ASSERT_TRUE(ok(weft_cond_wait(&cond, &mutex)));
      --tokens;
      ASSERT_TRUE(ok(weft_mutex_unlock(&mutex)));
      ++through;
    });
    auto number_waiting = [&] {
      EXPECT_TRUE(ok(weft_mutex_lock(&mutex)));
      const int n = waiting;
      EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
      return n;
    };
    EXPECT_TRUE(wait_until([&] { return number_waiting() == callers(); }));
    for (int i = 0; i < callers(); ++i) {
      EXPECT_TRUE(ok(weft_mutex_lock(&mutex)));
      ++tokens;
      EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
      EXPECT_TRUE(ok(weft_cond_signal(&cond)));
      EXPECT_TRUE(wait_until([&] { return through == i + 1; }));
    }
  }
  EXPECT_EQ(through, callers());
}

TEST_P(SyncTest, BarrierKeepsRoundsApart) {
  constexpr int kRounds = 100;
  const int all = callers();
  weft_barrier_t barrier = WEFT_BARRIER_INIT(static_cast<uint32_t>(all));
  std::vector<std::atomic<int>> arrived(kRounds);
  std::atomic<int> lasts = 0;
  everywhere([&](int me) {
    for (int i = 0; i < kRounds; ++i) {
      ++arrived[static_cast<size_t>(i)];
      bool last = false;
      ASSERT_TRUE(ok(weft_barrier_wait(&barrier, me == 0 ? nullptr : &last)));
      lasts += last ? 1 : 0;
      EXPECT_EQ(arrived[static_cast<size_t>(i)], all);
    }
  });
  EXPECT_LE(lasts, kRounds);
}

TEST_P(SyncTest, EventLetsAllPass) {
  weft_event_t event = WEFT_EVENT_INIT;
  std::atomic<int> passed = 0;
  int before = 0;
  {
    Crowd crowd(GetParam().ults, GetParam().klts, [&](int) {
      ASSERT_TRUE(ok(weft_event_wait(&event)));
      EXPECT_EQ(before, 1);
      ++passed;
    });
    for (int i = 0; i < 20; ++i) weft_yield();
    EXPECT_EQ(passed, 0);
    before = 1;
    EXPECT_TRUE(ok(weft_event_set(&event)));
  }
  EXPECT_EQ(passed, callers());
  EXPECT_TRUE(weft_event_is_set(&event));
  EXPECT_TRUE(ok(weft_event_reset(&event)));
  EXPECT_FALSE(weft_event_is_set(&event));
}

// The one that is let through frees what let it through, while the other is still on its way out.
TEST_P(SyncTest, ObjectsAreDestroyedByWhoeverIsLetThrough) {
  struct Shared {
    weft_mutex_t mutex = WEFT_MUTEX_INIT;
    weft_event_t event = WEFT_EVENT_INIT;
    int users = 2;
  };
  const int klts = GetParam().klts == 0 ? 0 : 1;
  const int rounds = klts == 0 ? 200 : 20;  // a new thread each shares the caller's CPU at first
  for (int round = 0; round < rounds; ++round) {
    auto* shared = new Shared;
    auto leave = [shared] {
      EXPECT_TRUE(ok(weft_mutex_lock(&shared->mutex)));
      const bool last = --shared->users == 0;
      EXPECT_TRUE(ok(weft_mutex_unlock(&shared->mutex)));
      if (last) delete shared;
    };
    Crowd crowd(2 - klts, klts, [leave](int) { leave(); });
  }
  for (int round = 0; round < rounds; ++round) {
    auto* event = new weft_event_t WEFT_EVENT_INIT;
    Crowd crowd(2 - klts, klts, [event](int me) {
      if (me == 0) {
        EXPECT_TRUE(ok(weft_event_set(event)));
      } else {
        EXPECT_TRUE(ok(weft_event_wait(event)));
        delete event;
      }
    });
  }
}

class SyncOneWorker : public OneWorkerTest {};

// A ULT that keeps locking cannot keep another one out for ever.
TEST_F(SyncOneWorker, AMutexStarvesNobody) {
  weft_mutex_t mutex = WEFT_MUTEX_INIT;
  bool done = false;
  int rounds = 0;
  Call greedy([&] {
    while (!done && rounds < 1000) {
      EXPECT_TRUE(ok(weft_mutex_lock(&mutex)));
      ++rounds;
      weft_yield();  // with the mutex
      EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
    }
  });
  Call modest([&] {
    EXPECT_TRUE(ok(weft_mutex_lock(&mutex)));
    done = true;
    EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
  });
  weft_unit_t units[2] = {greedy.ult(), modest.ult()};
  EXPECT_TRUE(ok(weft_free_many(2, units)));
  EXPECT_TRUE(done);
  EXPECT_LT(rounds, 10);
}

// Each looks for the other's event before it waits, once it has been sent for that; and does not keep its worker from a third.
TEST(SyncTwoWorkers, EventsThereAndBack) {
  weft_options_t options{};
  options.workers = 2;
  ASSERT_TRUE(ok(weft_initialize(&options)));
  constexpr int kRounds = 5000;
  weft_event_t events[2] = {WEFT_EVENT_INIT, WEFT_EVENT_INIT};
  int turns[2] = {};
  std::atomic<int> helped = 0;
  Call help([&] { ++helped; });
  const auto play = [&](int me) {
    weft_unit_attr_t other = WEFT_UNIT_ATTR_INIT;
    other.worker = weft_worker_get(static_cast<unsigned>(1 - me));
    other.pinned = true;
    for (int i = 0; i < kRounds; ++i) {
      if (me == 1) {
        ASSERT_EQ(weft_event_wait(&events[0]), WEFT_OK);
        ASSERT_EQ(weft_event_reset(&events[0]), WEFT_OK);
      }
      ++turns[me];
      ASSERT_EQ(turns[0], turns[1] + (me == 0 ? 1 : 0));
      weft_unit_t helper = i % 100 == me ? help.ult(&other) : nullptr;
      ASSERT_EQ(weft_event_set(&events[me]), WEFT_OK);
      if (helper != nullptr) weft_free(&helper);
      if (me == 0) {
        ASSERT_EQ(weft_event_wait(&events[1]), WEFT_OK);
        ASSERT_EQ(weft_event_reset(&events[1]), WEFT_OK);
      }
    }
  };
  Call players[2] = {Call([&] { play(0); }), Call([&] { play(1); })};
  weft_unit_t units[2];
  for (unsigned i = 0; i < 2; ++i) {
    weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
    attr.worker = weft_worker_get(i);
    attr.pinned = true;
    units[i] = players[i].ult(&attr);
  }
  EXPECT_TRUE(ok(weft_free_many(2, units)));
  EXPECT_EQ(turns[1], kRounds);
  EXPECT_EQ(helped, 2 * kRounds / 100);
  EXPECT_TRUE(ok(weft_finalize()));
}

TEST_F(SyncOneWorker, ErrorsInATasklet) {
  weft_mutex_t mutex = WEFT_MUTEX_INIT;
  weft_cond_t cond = WEFT_COND_INIT;
  weft_event_t event = WEFT_EVENT_INIT;
  weft_barrier_t barrier = WEFT_BARRIER_INIT(2);
  in_tasklet([&] {
    EXPECT_TRUE(fails(WEFT_ERR_NOT_OWNER, weft_cond_wait(&cond, &mutex)));
    EXPECT_TRUE(ok(weft_mutex_lock(&mutex)));
    EXPECT_TRUE(fails(WEFT_ERR_CONTEXT, weft_mutex_lock(&mutex)));
    EXPECT_TRUE(fails(WEFT_ERR_BUSY, weft_mutex_trylock(&mutex)));
    EXPECT_TRUE(fails(WEFT_ERR_CONTEXT, weft_cond_wait(&cond, &mutex)));
    EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
    EXPECT_TRUE(fails(WEFT_ERR_CONTEXT, weft_event_wait(&event)));
    EXPECT_TRUE(ok(weft_event_set(&event)));
    EXPECT_TRUE(ok(weft_event_wait(&event)));
    EXPECT_TRUE(fails(WEFT_ERR_CONTEXT, weft_barrier_wait(&barrier, nullptr)));
  });
  weft_barrier_t none = WEFT_BARRIER_INIT(0);
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_barrier_wait(&none, nullptr)));
}

// ---- without the runtime, and across its start

template <class F>
void on_threads(int n, F f) {
  std::vector<std::thread> threads;
  for (int i = 0; i < n; ++i) threads.emplace_back(f, i);
  for (std::thread& thread : threads) thread.join();
}

TEST(SyncKlt, MutexAndCondWithoutTheRuntime) {
  weft_mutex_t mutex = WEFT_MUTEX_INIT;
  weft_cond_t cond = WEFT_COND_INIT;
  int turn = 0;
  on_threads(3, [&](int me) {
    for (int i = 0; i < 2000; ++i) {
      ASSERT_TRUE(ok(weft_mutex_lock(&mutex)));
      while (turn % 3 != me) ASSERT_TRUE(ok(weft_cond_wait(&cond, &mutex)));
      ++turn;
      ASSERT_TRUE(ok(weft_cond_broadcast(&cond)));
      ASSERT_TRUE(ok(weft_mutex_unlock(&mutex)));
    }
  });
  EXPECT_EQ(turn, 6000);
}

TEST(SyncKlt, MutexWithoutTheRuntime) {
  weft_mutex_t mutex = WEFT_MUTEX_INIT;
  long count = 0;
  on_threads(4, [&](int) {
    for (int i = 0; i < 20000; ++i) {
      ASSERT_EQ(weft_mutex_lock(&mutex), WEFT_OK);
      ++count;
      ASSERT_EQ(weft_mutex_unlock(&mutex), WEFT_OK);
    }
  });
  EXPECT_EQ(count, 80000);
}

TEST(SyncKlt, BarrierAndEventWithoutTheRuntime) {
  constexpr int kRounds = 1000;
  weft_barrier_t barrier = WEFT_BARRIER_INIT(3);
  std::vector<weft_event_t> events(kRounds, weft_event_t WEFT_EVENT_INIT);
  std::atomic<int> lasts = 0;
  on_threads(3, [&](int me) {
    for (int i = 0; i < kRounds; ++i) {
      weft_event_t& event = events[static_cast<size_t>(i)];
      if (i % 3 == me) {
        ASSERT_TRUE(ok(weft_event_set(&event)));
      } else {
        ASSERT_TRUE(ok(weft_event_wait(&event)));
      }
      bool last = false;
      ASSERT_TRUE(ok(weft_barrier_wait(&barrier, &last)));
      lasts += last ? 1 : 0;
    }
  });
  EXPECT_EQ(lasts, kRounds);
}

TEST(SyncKlt, TheRuntimeStartsWhileAThreadWaits) {
  static weft_event_t event = WEFT_EVENT_INIT;
  static weft_mutex_t mutex = WEFT_MUTEX_INIT;
  ASSERT_TRUE(ok(weft_mutex_lock(&mutex)));
  std::thread waiter([] { EXPECT_TRUE(ok(weft_event_wait(&event))); });
  std::thread locker([] {
    EXPECT_TRUE(ok(weft_mutex_lock(&mutex)));
    EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_TRUE(ok(weft_initialize(nullptr)));
  in_ult([] { EXPECT_TRUE(ok(weft_event_set(&event))); });
  in_ult([] { EXPECT_TRUE(ok(weft_mutex_unlock(&mutex))); });
  waiter.join();
  locker.join();
  EXPECT_TRUE(ok(weft_finalize()));
}

}  // namespace
