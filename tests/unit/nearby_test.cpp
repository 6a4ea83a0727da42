// Straight from one ULT to another at the same worker (worker/straight.hpp), for those that are pinned there or have an identity of
// their own; and front::yield_nearby(), front::move_to().
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "api/handles.hpp"
#include "front/front.hpp"
#include "sanitizer_switch.hpp"
#include "support/runtime_fixture.hpp"
#include "weft/identity.h"

namespace {

using namespace weft_test;
namespace front = weft::front;
namespace rt = weft::rt;

enum class Kind { kPlain, kPinned, kOwn, kOwnPinned, kAll };

weft_unit_attr_t attr_of(Kind kind, unsigned worker = 0) {
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.worker = weft_worker_get(worker);
  if (kind == Kind::kPinned || kind == Kind::kOwnPinned) attr.pinned = true;
  if (kind == Kind::kOwn || kind == Kind::kOwnPinned) attr.identity = WEFT_IDENTITY_OWN;
  if (kind == Kind::kPlain || kind == Kind::kOwn) attr.worker = nullptr;
  return attr;
}

bool is_direct(weft_unit_t unit) { return rt::unit_is(rt::from_handle(unit), rt::flag::kDirect); }

uint64_t switches() {
  weft_worker_stats_t stats{};
  EXPECT_TRUE(ok(weft_worker_stats(weft_worker_get(0), &stats)));
  return stats.switches;
}

thread_local int variable = 0;
[[gnu::noinline]] int& here() { return variable; }

// ULTs that all have yielded and come back, and wait for the gate, before f(i) runs in each, one after the other.
class Nearby : public OneWorkerTest, public testing::WithParamInterface<Kind> {
 protected:
  void SetUp() override {
    if (has_identities() && rt::san::no_identities() != nullptr) GTEST_SKIP() << rt::san::no_identities();
    OneWorkerTest::SetUp();
  }
  static bool has_identities() { return GetParam() >= Kind::kOwn; }
  static Kind kind_of(int i) { return GetParam() == Kind::kAll ? static_cast<Kind>(i % 4) : GetParam(); }

  void in_each(int n, const std::function<void(int)>& f) {
    bool open = false;
    std::vector<std::unique_ptr<Call>> calls;
    for (int i = 0; i < n; ++i) {
      calls.push_back(std::make_unique<Call>([&, i] {
        while (!open) weft_yield();
        f(i);
      }));
      const weft_unit_attr_t attr = attr_of(kind_of(i));
      units.push_back(calls.back()->ult(&attr));
    }
    for (int i = 0; i < 3; ++i) weft_yield();
    while (switches() % 64 > 16) weft_yield();  // the scheduler's turn is far away
    for (const weft_unit_t unit : units) EXPECT_TRUE(is_direct(unit));
    open = true;
    EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  }
  std::vector<weft_unit_t> units;
};
std::string name_of(const testing::TestParamInfo<Kind>& info) {
  constexpr const char* kNames[] = {"Plain", "Pinned", "Own", "OwnPinned", "All"};
  return kNames[static_cast<int>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(Kinds, Nearby,
                         testing::Values(Kind::kPlain, Kind::kPinned, Kind::kOwn, Kind::kOwnPinned, Kind::kAll), name_of);

TEST_P(Nearby, WhoIsNamedComesNext) {
  std::string order;
  in_each(4, [&](int i) {
    order += std::to_string(i);
    if (i == 0) {
      EXPECT_TRUE(front::yield_nearby(units[2]));  // which leaves its place to this one: 1, 0, 3
    }
    if (i == 2) weft_yield();
    order += std::to_string(i);
  });
  EXPECT_EQ(order, "02110332");
}

TEST_P(Nearby, AtTheSchedulersTurnWhoIsNamedComesSecond) {
  bool told = false;
  std::string order;
  in_each(5, [&](int i) {
    if (i == 0) {
      while ((switches() + 1) % 64 != 0) weft_yield();
      EXPECT_FALSE(front::yield_nearby(units[4]));
      told = true;
    }
    while (!told) weft_yield();
    if (i == 0) weft_yield();
    order += std::to_string(i);
  });
  EXPECT_EQ(order, "14320");
}

TEST_P(Nearby, NobodyElseCanBeYieldedTo) {
  bool suspended = false;
  in_each(3, [&](int i) {
    if (i == 0) {
      suspended = true;
      EXPECT_TRUE(ok(weft_suspend()));
      return;
    }
    if (i == 1) {
      EXPECT_TRUE(suspended);
      EXPECT_FALSE(front::yield_nearby(nullptr));
      EXPECT_FALSE(front::yield_nearby(weft_self()));
      EXPECT_FALSE(front::yield_nearby(units[0]));
      Call call([] {});
      const weft_unit_attr_t attr = attr_of(GetParam());
      weft_unit_t fresh = call.ult(&attr);
      EXPECT_FALSE(front::yield_nearby(fresh));
      EXPECT_TRUE(ok(weft_free(&fresh)));
      EXPECT_TRUE(ok(weft_resume(units[0])));
    }
  });
}

TEST_P(Nearby, OthersThanUltsCannotYield) {
  in_each(1, [&](int) {
    const weft_unit_t unit = weft_self();
    in_tasklet([&] { EXPECT_FALSE(front::yield_nearby(unit)); });
    on_klt([&] {
      EXPECT_FALSE(front::yield_nearby(unit));
      front::move_to(weft_worker_get(0));
    });
  });
}

// Two that name each other all the time keep nobody from the worker: one switch of 64 is the scheduler's.
TEST_P(Nearby, OthersGetTheirTurns) {
  constexpr int kTurns = 20;
  int turns[3] = {};
  in_each(5, [&](int i) {
    if (i >= 2) {
      while (turns[i - 2] < kTurns) {
        ++turns[i - 2];
        weft_yield();
      }
      return;
    }
    const uint64_t before = switches();
    while (turns[0] < kTurns || turns[1] < kTurns || turns[2] < kTurns) {
      if (!front::yield_nearby(units[static_cast<size_t>(1 - i)])) weft_yield();
      ASSERT_LE(switches() - before, 3u * kTurns * 64 * 2);
    }
  });
}

TEST_P(Nearby, ThreadLocalVariablesAndExceptionsAreWhereTheyBelong) {
  in_each(8, [&](int i) {
    const bool own = kind_of(i) >= Kind::kOwn && kind_of(i) != Kind::kAll;
    if (own) here() = i + 1;
    for (int round = 0; round < 200; ++round) {
      const weft_unit_t other = units[static_cast<size_t>((i + round) % 8)];
      const auto leave = [&] {
        if (weft_unit_state(other) == WEFT_UNIT_TERMINATED || !front::yield_nearby(other)) weft_yield();
        ASSERT_EQ(here(), own ? i + 1 : 0);
      };
      leave();
      try {
        throw std::runtime_error(std::to_string(i));
      } catch (const std::runtime_error& e) {
        leave();
        ASSERT_EQ(e.what(), std::to_string(i));
      }
      ASSERT_EQ(std::uncaught_exceptions(), 0);
    }
  });
}

TEST_P(Nearby, OneThatIsCancelledEndsWhenItIsResumed) {
  in_each(2, [&](int i) {
    if (i == 1) {
      EXPECT_TRUE(ok(weft_cancel(units[0])));
      return;
    }
    if (!front::yield_nearby(units[1])) weft_yield();
    ADD_FAILURE() << "has been cancelled";
  });
}

class NearbyWorkers : public RuntimeTest {};

// What is homed at a worker leaves by a mere switch; so the scheduler has its turn now and then, to look what has been sent there.
TEST_F(NearbyWorkers, WhatIsSentToAWorkerRunsWhileItsOwnYield) {
  std::atomic<bool> ran = false;
  std::atomic<int> began = 0;
  Call spinner([&] {
    ++began;
    while (!ran) weft_yield();
    EXPECT_TRUE(is_direct(weft_self()));
    EXPECT_EQ(weft_worker_self(), weft_worker_get(1));
  });
  Call call([&] { ran = true; });
  const weft_unit_attr_t attr = attr_of(Kind::kPinned, 1);
  weft_unit_t units[] = {spinner.ult(&attr), spinner.ult(&attr), nullptr};
  EXPECT_TRUE(wait_until([&] { return began == 2; }));
  units[2] = call.ult(&attr);
  EXPECT_TRUE(ok(weft_free_many(3, units)));
}

// A worker whose ring has only what it alone may run has been found to have nothing; then one that others may run takes a pinned
// one's place, which keeps the worker.
TEST_F(NearbyWorkers, WhoLeavesForAPinnedOneIsTakenByOthers) {
  for (int round = 0; round < 100; ++round) {
    std::atomic<bool> went = false;
    std::atomic<bool> ready = false;
    std::atomic<weft_unit_t> pinned = nullptr;
    Call keeps([&] {
      pinned = weft_self();
      while (!ready) weft_yield();
      while (!went) {
      }
    });
    Call goes([&] {
      while (pinned == nullptr || !is_direct(pinned)) weft_yield();
      weft_yield();
      for (int i = 0; i < 30 * (round % 20); ++i) {
        if (!front::yield_nearby(pinned)) weft_yield();
      }
      const weft_worker_t before = weft_worker_self();
      if (before != weft_worker_get(1)) {
        went = true;
        ready = true;
        return;
      }
      ready = true;
      if (!front::yield_nearby(pinned)) weft_yield();
      went = true;
    });
    const weft_unit_attr_t attr = attr_of(Kind::kPinned, 1);
    weft_unit_attr_t free_attr = attr_of(Kind::kPinned, 1);
    free_attr.pinned = false;
    weft_unit_t units[] = {keeps.ult(&attr), goes.ult(&free_attr)};
    EXPECT_TRUE(ok(weft_free_many(2, units)));
  }
}

TEST_F(NearbyWorkers, OneThatIsPinnedDoesNotMove) {
  const weft_unit_attr_t attr = attr_of(Kind::kPinned, 1);
  in_ult(
      [] {
        for (unsigned i = 0; i < 20; ++i) {
          front::move_to(weft_worker_get(i % 2));
          EXPECT_EQ(weft_worker_self(), weft_worker_get(1));
        }
      },
      &attr);
}

// Nothing is to be stolen from an inbox, so it stays where it has been sent until it has run there.
TEST_F(NearbyWorkers, WhoHasMovedRunsThere) {
  std::atomic<bool> stop = false;
  Call busy([&] {
    while (!stop) weft_yield();
  });
  const weft_unit_attr_t pinned[] = {attr_of(Kind::kPinned, 0), attr_of(Kind::kPinned, 1)};
  weft_unit_t units[] = {busy.ult(&pinned[0]), busy.ult(&pinned[1])};  // so that no worker looks for work
  std::atomic<int> there = 0;
  Call moves([&] {
    for (unsigned i = 0; i < 100; ++i) {
      front::move_to(weft_worker_get(i % 2));
      there += weft_worker_self() == weft_worker_get(i % 2) ? 1 : 0;
    }
    stop = true;
  });
  weft_unit_t unit = moves.ult();
  EXPECT_TRUE(wait_until([&] { return stop.load(); }));  // joined before it begins, it would run on main's stack, and stay here
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_TRUE(ok(weft_free_many(2, units)));
  EXPECT_EQ(there, 100);
}

}  // namespace
