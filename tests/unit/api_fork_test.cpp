// weft_fork_push and weft_fork_pop, which weft::fork_join is made of.
#include <deque>

#include "support/runtime_fixture.hpp"

namespace {

using namespace weft_test;

struct Fork : weft_fork_t {
  explicit Fork(std::function<void()> f) : weft_fork_t{&run, nullptr, 0}, body(std::move(f)) {}
  static void run(weft_fork_t* self) { static_cast<Fork*>(self)->body(); }
  // What a caller does: takes it back and runs it, or finds it done.
  bool join() {
    const bool mine = weft_fork_pop(this);
    if (mine) {
      body();
    }
    return mine;
  }
  std::function<void()> body;
};

class ApiFork : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, ApiFork, kWorkerCounts);

TEST_P(ApiFork, EachForkIsRunOnce) {
  in_ult([] {
    for (int i = 0; i < 2000; ++i) {
      std::atomic<int> runs = 0;
      Fork fork([&] { ++runs; });
      weft_fork_push(&fork);
      fork.join();
      ASSERT_EQ(runs, 1);
    }
  });
}

TEST_P(ApiFork, PoppedInReverseOrder) {
  in_ult([] {
    for (int i = 0; i < 500; ++i) {
      std::atomic<int> runs[3] = {};
      Fork a([&] { ++runs[0]; });
      Fork b([&] { ++runs[1]; });
      Fork c([&] { ++runs[2]; });
      weft_fork_push(&a);
      weft_fork_push(&b);
      weft_fork_push(&c);
      c.join();
      b.join();
      a.join();
      for (auto& r : runs) {
        ASSERT_EQ(r, 1);
      }
    }
  });
}

TEST_P(ApiFork, OutsideAUlt) {
  std::atomic<int> runs = 0;
  auto two_forks = [&](bool alone) {
    Fork outer([&] { ++runs; });
    Fork inner([&] { ++runs; });
    weft_fork_push(&outer);
    weft_fork_push(&inner);
    const bool inner_mine = inner.join();
    const bool outer_mine = outer.join();
    EXPECT_TRUE(!alone || (inner_mine && outer_mine));
  };
  for (int i = 0; i < 200; ++i) {
    in_tasklet([&] { two_forks(workers() == 1); });
  }
  EXPECT_EQ(runs, 400);
  on_klt([&] { two_forks(true); });  // nobody else sees them
  EXPECT_EQ(runs, 402);
}

TEST(ApiForkStatic, WithoutARuntimeTheCallerRunsIt) {
  ASSERT_FALSE(weft_initialized());
  int runs = 0;
  Fork fork([&] { ++runs; });
  weft_fork_push(&fork);
  EXPECT_TRUE(fork.join());
  EXPECT_EQ(runs, 1);
}

TEST_P(ApiFork, AForkIsTakenWhileTheCallerIsBusy) {
  if (workers() == 1) {
    GTEST_SKIP() << "nobody to take it";
  }
  in_ult([] {
    std::atomic<bool> taken = false;
    Fork fork([&] { taken = true; });
    weft_fork_push(&fork);
    while (!taken) {  // never suspends: only another worker can run the fork
    }
    EXPECT_FALSE(fork.join());
  });
}

TEST_P(ApiFork, ATakenForkMaySuspendAndTheCallerWaits) {
  if (workers() == 1) {
    GTEST_SKIP() << "nobody to take it";
  }
  for (int i = 0; i < 50; ++i) {
    in_ult([] {
      std::atomic<bool> taken = false;
      std::atomic<bool> ended = false;
      weft_event_t event = WEFT_EVENT_INIT;
      Fork fork([&] {
        taken = true;
        EXPECT_TRUE(ok(weft_event_wait(&event)));
        weft_yield();
        ended = true;
      });
      weft_fork_push(&fork);
      while (!taken) {
      }
      Call set([&] { EXPECT_TRUE(ok(weft_event_set(&event))); });
      weft_unit_t setter = set.ult();
      EXPECT_FALSE(fork.join());
      EXPECT_TRUE(ended);
      EXPECT_TRUE(ok(weft_free(&setter)));
    });
  }
}

// A fork that another worker takes is a unit, which ends as any other does.
TEST_P(ApiFork, ATakenForksValuesAreDestroyed) {
  if (workers() == 1) {
    GTEST_SKIP() << "nobody to take it";
  }
  weft_key_t key;
  const auto destroy = [](void* count) { ++*static_cast<std::atomic<int>*>(count); };
  ASSERT_TRUE(ok(weft_key_create(destroy, &key)));
  std::atomic<int> destroyed = 0;
  in_ult([&] {
    for (int i = 1; i <= 20; ++i) {
      std::atomic<bool> taken = false;
      Fork fork([&] {
        EXPECT_EQ(weft_key_get(key), nullptr);
        EXPECT_TRUE(ok(weft_key_set(key, &destroyed)));
        taken = true;
      });
      weft_fork_push(&fork);
      while (!taken) {
      }
      EXPECT_FALSE(fork.join());
      EXPECT_EQ(destroyed, i);
    }
  });
  EXPECT_TRUE(ok(weft_key_free(&key)));
}

long tree(int depth, int yield_every, std::atomic<long>& nodes) {
  ++nodes;
  if (depth == 0) {
    return 1;
  }
  long right = 0;
  Fork fork([&] { right = tree(depth - 1, yield_every, nodes); });
  weft_fork_push(&fork);
  if (yield_every != 0 && nodes % yield_every == 0) {
    weft_yield();
  }
  const long left = tree(depth - 1, yield_every, nodes);
  fork.join();
  return left + right;
}

TEST_P(ApiFork, NestedForksWithAndWithoutYields) {
  for (const int yield_every : {0, 100, 7, 1}) {
    std::atomic<long> nodes = 0;
    in_ult([&] { EXPECT_EQ(tree(11, yield_every, nodes), 1 << 11); });
    EXPECT_EQ(nodes, (1 << 12) - 1);
  }
}

TEST_P(ApiFork, InThePrimaryUlt) {
  std::atomic<long> nodes = 0;
  EXPECT_EQ(tree(12, 50, nodes), 1 << 12);
}

TEST_P(ApiFork, SeveralUltsForkAtOnce) {
  std::atomic<long> nodes = 0;
  Call call([&] { EXPECT_EQ(tree(9, 13, nodes), 1 << 9); });
  weft_unit_t units[8];
  for (auto& u : units) {
    u = call.ult();
  }
  EXPECT_TRUE(ok(weft_free_many(8, units)));
  EXPECT_EQ(nodes, 8 * ((1 << 10) - 1));
}

// The others get all of them while the caller is busy, also those far beyond what a lane first has room for.
TEST_P(ApiFork, DeepForksAreOfferedToo) {
  if (workers() < 2) {
    GTEST_SKIP() << "nobody takes them";
  }
  in_ult([] {
    constexpr int kForks = 10'000;
    std::atomic<int> runs = 0;
    std::deque<Fork> forks;
    for (int i = 0; i < kForks; ++i) {
      weft_fork_push(&forks.emplace_back([&] { ++runs; }));
    }
    while (runs.load() < kForks) {
    }
    int taken_back = 0;
    for (int i = kForks; i-- > 0;) {
      taken_back += forks[static_cast<size_t>(i)].join();
    }
    EXPECT_EQ(taken_back, 0);
    EXPECT_EQ(runs, kForks);
  });
}

TEST_P(ApiFork, MoreForksThanAnyDequeHolds) {
  // All pushed before the first is popped, by recursion.
  struct Deep {
    static void run(int n, std::atomic<int>& runs) {
      if (n == 0) {
        return;
      }
      Fork fork([&] { ++runs; });
      weft_fork_push(&fork);
      run(n - 1, runs);
      fork.join();
    }
  };
  weft_unit_attr_t attr = default_attr();
  attr.stack_size = 16 * 1024 * 1024;
  std::atomic<int> runs = 0;
  in_ult([&] { Deep::run(20000, runs); }, &attr);
  EXPECT_EQ(runs, 20000);
}

}  // namespace
