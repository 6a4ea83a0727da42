// Work units: creation, join, free, revive, attributes and queries.
#include <cfenv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "sanitizer_switch.hpp"
#include "support/runtime_fixture.hpp"

namespace {

using namespace weft_test;

void increment(void* counter) {
  static_cast<std::atomic<int>*>(counter)->fetch_add(1, std::memory_order_relaxed);
}
void yield_and_increment(void* counter) {
  weft_yield();
  increment(counter);
}

class ApiUnit : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, ApiUnit, kWorkerCounts);

TEST_P(ApiUnit, CreateJoinFree) {
  int value = 0;
  weft_unit_t unit = nullptr;
  ASSERT_TRUE(
      ok(weft_ult_create([](void* v) { *static_cast<int*>(v) = 42; }, &value, nullptr, &unit)));
  ASSERT_NE(unit, nullptr);
  EXPECT_TRUE(ok(weft_join(unit)));
  EXPECT_EQ(value, 42);
  EXPECT_EQ(weft_unit_state(unit), WEFT_UNIT_TERMINATED);
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_EQ(unit, nullptr);
}

TEST_P(ApiUnit, FreeJoinsFirst) {
  std::atomic<int> count = 0;
  for (auto create : {weft_ult_create, weft_tasklet_create}) {
    weft_unit_t unit = nullptr;
    ASSERT_TRUE(ok(create(increment, &count, nullptr, &unit)));
    EXPECT_TRUE(ok(weft_free(&unit)));
    EXPECT_EQ(unit, nullptr);
  }
  EXPECT_EQ(count, 2);
}

TEST_P(ApiUnit, ManyJoinedInEitherOrder) {
  constexpr int kUnits = weft::rt::san::kSignalsComeLate ? 1000 : 5000;  // with ThreadSanitizer a ULT costs 0.3 ms
  for (auto create : {weft_ult_create, weft_tasklet_create}) {
    for (const bool newest_first : {false, true}) {
      for (weft_fn fn : {increment, yield_and_increment}) {
        std::atomic<int> count = 0;
        std::vector<weft_unit_t> units(kUnits);
        for (auto& u : units) {
          ASSERT_TRUE(ok(create(fn, &count, nullptr, &u)));
        }
        for (int i = 0; i < kUnits; ++i) {
          ASSERT_TRUE(ok(weft_free(&units[newest_first ? kUnits - 1 - i : i])));
        }
        EXPECT_EQ(count, kUnits);
      }
    }
  }
}

TEST_P(ApiUnit, DetachedUnitsFreeThemselves) {
  constexpr int kUnits = 1000;
  std::atomic<int> count = 0;
  for (int i = 0; i < kUnits; ++i) {
    ASSERT_TRUE(ok(weft_ult_create(yield_and_increment, &count, nullptr, nullptr)));
    ASSERT_TRUE(ok(weft_tasklet_create(increment, &count, nullptr, nullptr)));
  }
  EXPECT_TRUE(wait_until([&] { return count == 2 * kUnits; }));
  // The last one counts before it frees itself; the fixture's finalise must not be too early.
  for (int i = 0; i < 100; ++i) {
    weft_yield();
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

TEST_P(ApiUnit, CreateManyPassesEachItsArgument) {
  struct Item {
    int in;
    int out;
  };
  constexpr size_t kUnits = 777;
  std::vector<Item> items(kUnits);
  for (size_t i = 0; i < kUnits; ++i) {
    items[i] = {static_cast<int>(i), -1};
  }
  std::vector<weft_unit_t> units(kUnits);
  size_t created = 0;
  ASSERT_TRUE(ok(weft_ult_create_many(
      kUnits,
      [](void* p) {
        auto* item = static_cast<Item*>(p);
        item->out = item->in * 3;
      },
      items.data(), sizeof(Item), nullptr, units.data(), &created)));
  EXPECT_EQ(created, kUnits);
  EXPECT_TRUE(ok(weft_join_many(kUnits, units.data())));
  for (size_t i = 0; i < kUnits; ++i) {
    ASSERT_EQ(items[i].out, static_cast<int>(3 * i));
    ASSERT_EQ(weft_unit_state(units[i]), WEFT_UNIT_TERMINATED);
  }
  EXPECT_TRUE(ok(weft_free_many(kUnits, units.data())));
  for (weft_unit_t u : units) {
    ASSERT_EQ(u, nullptr);
  }
}

TEST_P(ApiUnit, FreeManyJoinsFirst) {
  std::atomic<int> count = 0;
  std::vector<weft_unit_t> units(300);
  ASSERT_TRUE(ok(weft_ult_create_many(units.size(), yield_and_increment, &count, 0, nullptr,
                                      units.data(), nullptr)));
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  EXPECT_EQ(count, 300);
}

TEST_P(ApiUnit, CreateManyDetached) {
  std::atomic<int> count = 0;
  ASSERT_TRUE(ok(weft_ult_create_many(500, increment, &count, 0, nullptr, nullptr, nullptr)));
  EXPECT_TRUE(wait_until([&] { return count == 500; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

TEST_P(ApiUnit, CreateNoneAndJoinNone) {
  size_t created = 5;
  EXPECT_TRUE(ok(weft_ult_create_many(0, increment, nullptr, 0, nullptr, nullptr, &created)));
  EXPECT_EQ(created, 0u);
  EXPECT_TRUE(ok(weft_join_many(0, nullptr)));
  EXPECT_TRUE(ok(weft_free_many(0, nullptr)));
}

TEST_P(ApiUnit, JoinFromAUlt) {
  std::atomic<int> count = 0;
  in_ult([&] {
    Call inner([&] { yield_and_increment(&count); });
    weft_unit_t u = inner.ult();
    EXPECT_TRUE(ok(weft_join(u)));
    EXPECT_EQ(count, 1);
    EXPECT_TRUE(ok(weft_free(&u)));
  });
}

TEST_P(ApiUnit, CreateAndJoinFromAKernelThread) {
  on_klt([] {
    EXPECT_EQ(weft_self(), nullptr);
    EXPECT_EQ(weft_worker_self(), nullptr);
    std::atomic<int> count = 0;
    for (int i = 0; i < 50; ++i) {
      weft_unit_t ult = nullptr;
      weft_unit_t tasklet = nullptr;
      ASSERT_TRUE(ok(weft_ult_create(yield_and_increment, &count, nullptr, &ult)));
      ASSERT_TRUE(ok(weft_tasklet_create(increment, &count, nullptr, &tasklet)));
      EXPECT_TRUE(ok(weft_join(ult)));
      EXPECT_TRUE(ok(weft_join(tasklet)));
      EXPECT_TRUE(ok(weft_free(&ult)));
      EXPECT_TRUE(ok(weft_free(&tasklet)));
    }
    EXPECT_EQ(count, 100);
    std::vector<weft_unit_t> units(64);
    ASSERT_TRUE(ok(
        weft_ult_create_many(units.size(), increment, &count, 0, nullptr, units.data(), nullptr)));
    EXPECT_TRUE(ok(weft_join_many(units.size(), units.data())));
    EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
    EXPECT_EQ(count, 164);
  });
}

TEST_P(ApiUnit, JoinAfterTheEnd) {
  std::atomic<int> count = 0;
  weft_unit_t unit = nullptr;
  ASSERT_TRUE(ok(weft_ult_create(increment, &count, nullptr, &unit)));
  ASSERT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_TERMINATED; }));
  EXPECT_TRUE(ok(weft_join(unit)));
  EXPECT_TRUE(ok(weft_free(&unit)));
}

TEST_P(ApiUnit, DeepChainOfJoins) {
  struct Chain {
    static void run(void* depth) {
      const auto d = reinterpret_cast<uintptr_t>(depth);
      if (d == 0) {
        weft_yield();
        return;
      }
      weft_unit_t u = nullptr;
      ASSERT_TRUE(ok(weft_ult_create(run, reinterpret_cast<void*>(d - 1), nullptr, &u)));
      if (d % 3 == 0) {
        weft_yield();
      }
      EXPECT_TRUE(ok(weft_free(&u)));
    }
  };
  weft_unit_t u = nullptr;
  ASSERT_TRUE(ok(weft_ult_create(Chain::run, reinterpret_cast<void*>(2000), nullptr, &u)));
  EXPECT_TRUE(ok(weft_free(&u)));
}

TEST_P(ApiUnit, ReviveRunsTheNewFunction) {
  for (auto create : {weft_ult_create, weft_tasklet_create}) {
    std::atomic<int> count = 0;
    weft_unit_t unit = nullptr;
    ASSERT_TRUE(ok(create(increment, &count, nullptr, &unit)));
    const uint64_t id = weft_unit_id(unit);
    EXPECT_TRUE(ok(weft_join(unit)));
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(ok(weft_revive(unit, i % 2 ? increment : yield_and_increment, &count)));
      ASSERT_TRUE(ok(weft_join(unit)));
    }
    EXPECT_EQ(count, 21);
    EXPECT_EQ(weft_unit_id(unit), id);
    EXPECT_TRUE(ok(weft_free(&unit)));
  }
}

TEST_P(ApiUnit, ReviveOfALiveUnitIsRefused) {
  Call call([] { EXPECT_TRUE(ok(weft_suspend())); });
  weft_unit_t unit = call.ult();
  EXPECT_TRUE(fails(WEFT_ERR_STATE, weft_revive(unit, increment, nullptr)));
  EXPECT_TRUE(ok(weft_resume(unit)));
  EXPECT_TRUE(ok(weft_join(unit)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_revive(unit, nullptr, nullptr)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_revive(nullptr, increment, nullptr)));
  EXPECT_TRUE(ok(weft_free(&unit)));
}

TEST_P(ApiUnit, StatesAsSeenFromOutside) {
  std::atomic<bool> leave = false;
  std::atomic<bool> yielding = false;
  Call call([&] {
    EXPECT_EQ(weft_unit_state(weft_self()), WEFT_UNIT_RUNNING);
    EXPECT_TRUE(ok(weft_suspend()));
    yielding = true;
    while (!leave) {
      weft_yield();
    }
  });
  weft_pool_t pool = nullptr;
  ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &pool)));
  weft_unit_attr_t attr = default_attr();
  attr.pool = pool;
  weft_unit_t unit = call.ult(&attr);
  EXPECT_EQ(weft_unit_state(unit), WEFT_UNIT_FRESH);
  ASSERT_EQ(weft_pool_pop(pool), unit);
  ASSERT_TRUE(ok(weft_migrate(unit, weft_worker_pool(weft_worker_self()))));
  ASSERT_TRUE(ok(weft_pool_push(weft_worker_pool(weft_worker_self()), unit)));
  ASSERT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
  ASSERT_TRUE(ok(weft_resume(unit)));
  ASSERT_TRUE(wait_until([&] { return yielding.load(); }));
  const auto state = weft_unit_state(unit);
  EXPECT_TRUE(state == WEFT_UNIT_READY || state == WEFT_UNIT_RUNNING) << state;
  if (workers() == 1) {
    EXPECT_EQ(state, WEFT_UNIT_READY);
  }
  leave = true;
  EXPECT_TRUE(ok(weft_join(unit)));
  EXPECT_EQ(weft_unit_state(unit), WEFT_UNIT_TERMINATED);
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_TRUE(ok(weft_pool_free(&pool)));
}

TEST_P(ApiUnit, NamesAreCopiedAndCut) {
  char name[64] = "reader-7";
  weft_unit_attr_t attr = default_attr();
  attr.name = name;
  Call call([] { EXPECT_STREQ(weft_unit_name(weft_self()), "reader-7"); });
  weft_unit_t unit = call.ult(&attr);
  std::memset(name, 'x', sizeof name - 1);
  EXPECT_STREQ(weft_unit_name(unit), "reader-7");
  EXPECT_TRUE(ok(weft_free(&unit)));

  const std::string longer(40, 'n');
  attr.name = longer.c_str();
  Call other([] {});
  unit = other.tasklet(&attr);
  EXPECT_EQ(weft_unit_name(unit), std::string(31, 'n'));
  EXPECT_TRUE(ok(weft_free(&unit)));

  unit = other.ult();
  EXPECT_STREQ(weft_unit_name(unit), "");
  EXPECT_TRUE(ok(weft_free(&unit)));
}

TEST_P(ApiUnit, IdsAreUnique) {
  std::set<uint64_t> ids{weft_unit_id(weft_self())};
  Call call([] {});
  for (int i = 0; i < 300; ++i) {
    weft_unit_t unit = i % 2 ? call.ult() : call.tasklet();
    EXPECT_TRUE(ids.insert(weft_unit_id(unit)).second) << i;
    EXPECT_TRUE(ok(weft_free(&unit)));
  }
}

TEST_P(ApiUnit, PriorityIsKeptAndChecked) {
  weft_unit_attr_t attr = default_attr();
  Call call([] { EXPECT_TRUE(ok(weft_suspend())); });
  weft_unit_t unit = call.ult();
  EXPECT_EQ(weft_unit_priority(unit), WEFT_PRIORITY_DEFAULT);
  EXPECT_TRUE(ok(weft_unit_set_priority(unit, 7)));
  EXPECT_EQ(weft_unit_priority(unit), 7);
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_unit_set_priority(unit, -1)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_unit_set_priority(unit, WEFT_PRIORITIES)));
  EXPECT_EQ(weft_unit_priority(unit), 7);
  EXPECT_TRUE(ok(weft_resume(unit)));
  EXPECT_TRUE(ok(weft_free(&unit)));
  for (const int bad : {-1, WEFT_PRIORITIES}) {
    attr.priority = bad;
    EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_ult_create(increment, nullptr, &attr, &unit)));
  }
}

TEST_P(ApiUnit, SelfAndKind) {
  weft_unit_t seen = nullptr;
  bool is_ult = true;
  Call call([&] {
    seen = weft_self();
    is_ult = weft_is_ult(seen);
  });
  weft_unit_t unit = call.tasklet();
  EXPECT_TRUE(ok(weft_join(unit)));
  EXPECT_EQ(seen, unit);
  EXPECT_FALSE(is_ult);
  EXPECT_TRUE(ok(weft_free(&unit)));
  unit = call.ult();
  EXPECT_TRUE(ok(weft_join(unit)));
  EXPECT_EQ(seen, unit);
  EXPECT_TRUE(is_ult);
  EXPECT_TRUE(ok(weft_free(&unit)));
}

TEST_P(ApiUnit, SelfIsTheJoinersAgainAfterTheJoin) {
  in_ult([] {
    const weft_unit_t before = weft_self();
    in_ult([&] {
      EXPECT_NE(weft_self(), before);
      weft_yield();
      EXPECT_NE(weft_self(), before);
    });
    EXPECT_EQ(weft_self(), before);
  });
}

TEST_P(ApiUnit, HomePoolIsTheOneAskedFor) {
  SideWorker side;
  const weft_unit_attr_t attr = side.attr();
  weft_worker_t ran_on = nullptr;
  Call call([&] {
    weft_yield();
    ran_on = weft_worker_self();
  });
  weft_unit_t unit = call.ult(&attr);
  EXPECT_EQ(weft_unit_pool(unit), side.pool);
  EXPECT_TRUE(ok(weft_join(unit)));
  EXPECT_EQ(ran_on, side.worker);
  EXPECT_TRUE(ok(weft_free(&unit)));
  unit = call.tasklet(&attr);
  EXPECT_TRUE(ok(weft_join(unit)));
  EXPECT_EQ(ran_on, side.worker);
  EXPECT_TRUE(ok(weft_free(&unit)));
}

TEST_P(ApiUnit, APinnedUnitStaysOnItsWorker) {
  for (unsigned w = 0; w < workers(); ++w) {
    const weft_worker_t worker = weft_worker_get(w);
    weft_unit_attr_t attr = default_attr();
    attr.worker = worker;
    attr.pinned = true;
    std::vector<std::unique_ptr<Call>> calls;
    std::vector<weft_unit_t> units;
    for (int i = 0; i < 100; ++i) {
      calls.push_back(std::make_unique<Call>([worker] {
        for (int k = 0; k < 20; ++k) {
          ASSERT_EQ(weft_worker_self(), worker);
          weft_yield();
        }
      }));
      units.push_back(calls.back()->ult(&attr));
      EXPECT_EQ(weft_unit_pool(units.back()), weft_worker_pool(worker));
    }
    EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  }
}

TEST_P(ApiUnit, AStackOfItsOwnHasTheSizeAskedFor) {
  weft_unit_attr_t attr = default_attr();
  attr.stack_size = 1024 * 1024;
  in_ult(
      [] {
        EXPECT_GE(weft_unit_stack_size(weft_self()), 1000u * 1024);
        volatile char space[900 * 1024];
        space[0] = 1;
        space[sizeof space - 1] = 1;
        weft_yield();
        EXPECT_EQ(space[0], 1);
      },
      &attr);
}

TEST_P(ApiUnit, TheSmallestStackIsEnoughToYield) {
  weft_unit_attr_t attr = default_attr();
  attr.stack_size = WEFT_STACK_MIN;
  std::atomic<int> count = 0;
  weft_unit_t unit = nullptr;
  ASSERT_TRUE(ok(weft_ult_create(yield_and_increment, &count, &attr, &unit)));
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_EQ(count, 1);
}

TEST_P(ApiUnit, StackMemoryOfTheCaller) {
  constexpr size_t kSize = 64 * 1024;
  void* memory = std::aligned_alloc(4096, kSize);
  weft_unit_attr_t attr = default_attr();
  attr.stack_memory = memory;
  attr.stack_size = kSize;
  for (int i = 0; i < 10; ++i) {
    in_ult(
        [=] {
          volatile char here = 0;
          const auto address = reinterpret_cast<uintptr_t>(&here);
          EXPECT_GE(address, reinterpret_cast<uintptr_t>(memory));
          EXPECT_LT(address, reinterpret_cast<uintptr_t>(memory) + kSize);
          weft_yield();
        },
        &attr);
  }
  std::free(memory);
}

TEST_P(ApiUnit, StackTooSmallIsRefused) {
  weft_unit_attr_t attr = default_attr();
  weft_unit_t unit = nullptr;
  attr.stack_size = WEFT_STACK_MIN - 1;
  EXPECT_TRUE(fails(WEFT_ERR_STACK_TOO_SMALL, weft_ult_create(increment, nullptr, &attr, &unit)));
  char memory[4096];
  attr.stack_memory = memory;
  attr.stack_size = sizeof memory;
  EXPECT_TRUE(fails(WEFT_ERR_STACK_TOO_SMALL, weft_ult_create(increment, nullptr, &attr, &unit)));
  attr.stack_size = 0;
  EXPECT_NE(weft_ult_create(increment, nullptr, &attr, &unit), WEFT_OK);
  EXPECT_EQ(unit, nullptr);
  size_t created = 9;
  attr = default_attr();
  attr.stack_size = 1;
  EXPECT_TRUE(fails(WEFT_ERR_STACK_TOO_SMALL,
                    weft_ult_create_many(1, increment, nullptr, 0, &attr, &unit, &created)));
  EXPECT_EQ(created, 0u);
}

TEST_P(ApiUnit, WatermarkIsOffByDefault) {
  weft_unit_attr_t attr = default_attr();
  attr.technique = WEFT_TECHNIQUE_SS;
  in_ult([] { EXPECT_EQ(weft_unit_stack_used(weft_self()), 0u); }, &attr);
}

TEST_P(ApiUnit, EveryTechniqueWithAndWithoutDeviation) {
  for (const weft_technique_t technique :
       {WEFT_TECHNIQUE_AUTO, WEFT_TECHNIQUE_SC, WEFT_TECHNIQUE_SS_L, WEFT_TECHNIQUE_SS,
        WEFT_TECHNIQUE_JOINER}) {
    for (const int percent : {0, 50, 100}) {
      constexpr int kUnits = 1000;
      weft_unit_attr_t attr = default_attr();
      attr.technique = technique;
      std::atomic<int> count = 0;
      std::vector<weft_unit_t> units(kUnits);
      for (int i = 0; i < kUnits; ++i) {
        weft_fn fn = (i * 7919) % 100 < percent ? yield_and_increment : increment;
        ASSERT_TRUE(ok(weft_ult_create(fn, &count, &attr, &units[i])));
      }
      EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
      EXPECT_EQ(count, kUnits) << technique << " " << percent;
    }
  }
}

TEST_P(ApiUnit, LocalsSurviveYields) {
  constexpr int kUnits = 200;
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  for (int i = 0; i < kUnits; ++i) {
    calls.push_back(std::make_unique<Call>([i] {
      volatile int mine[256];
      for (int k = 0; k < 256; ++k) {
        mine[k] = i * k;
      }
      double d = i * 0.5;
      for (int y = 0; y < 10; ++y) {
        weft_yield();
        d += 1;
      }
      for (int k = 0; k < 256; ++k) {
        ASSERT_EQ(mine[k], i * k);
      }
      EXPECT_EQ(d, i * 0.5 + 10);
    }));
    units.push_back(calls.back()->ult());
  }
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
}

TEST_P(ApiUnit, FloatingPointEnvironmentIsInheritedAtCreation) {
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  weft_unit_attr_t attr = default_attr();
  attr.fp_environment = WEFT_FP_OWN;
  Call call([] {
    EXPECT_EQ(std::fegetround(), FE_UPWARD);
    weft_yield();
    EXPECT_EQ(std::fegetround(), FE_UPWARD);
  });
  weft_unit_t unit = call.ult(&attr);
  ASSERT_EQ(std::fesetround(FE_TONEAREST), 0);
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
}

TEST_P(ApiUnit, AnOwnFloatingPointEnvironmentStaysWithTheUnit) {
  weft_unit_attr_t attr = default_attr();
  attr.fp_environment = WEFT_FP_OWN;
  const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST};
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  for (int i = 0; i < 40; ++i) {
    calls.push_back(std::make_unique<Call>([mode = modes[i % 4]] {
      std::fesetround(mode);
      for (int k = 0; k < 10; ++k) {
        weft_yield();
        ASSERT_EQ(std::fegetround(), mode);
      }
    }));
    units.push_back(calls.back()->ult(&attr));
  }
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
  in_ult([] { EXPECT_EQ(std::fegetround(), FE_TONEAREST); });
}

#if WEFT_DEBUG
TEST(ApiUnitDeath, DebugBuildsStopAUltThatLeavesWithOtherRounding) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(
      {
        weft_options_t options{};
        options.workers = 1;
        weft_initialize(&options);
        weft_unit_attr_t attr = default_attr();
        attr.technique = WEFT_TECHNIQUE_SS;
        in_ult(
            [] {
              std::fesetround(FE_UPWARD);
              weft_yield();
            },
            &attr);
      },
      "rounding");
}
#endif

TEST_P(ApiUnit, AUnitMaySuspendInsideACatchBlock) {
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  for (int i = 0; i < 50; ++i) {
    calls.push_back(std::make_unique<Call>([i] {
      for (int k = 0; k < 10; ++k) {
        try {
          throw std::runtime_error(std::to_string(i));
        } catch (const std::exception& e) {
          weft_yield();
          ASSERT_NE(std::current_exception(), nullptr);
          ASSERT_EQ(e.what(), std::to_string(i));
          try {
            throw;
          } catch (const std::runtime_error& again) {
            weft_yield();
            ASSERT_EQ(again.what(), std::to_string(i));
          }
        }
        ASSERT_EQ(std::current_exception(), nullptr);
        ASSERT_EQ(std::uncaught_exceptions(), 0);
      }
    }));
    units.push_back(calls.back()->ult());
  }
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
}

TEST_P(ApiUnit, AUnitMaySuspendDuringUnwinding) {
  struct YieldAtEnd {
    ~YieldAtEnd() {
      EXPECT_EQ(std::uncaught_exceptions(), 1);
      weft_yield();
      EXPECT_EQ(std::uncaught_exceptions(), 1);
    }
  };
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  for (int i = 0; i < 30; ++i) {
    calls.push_back(std::make_unique<Call>([] {
      try {
        YieldAtEnd y;
        throw 1;
      } catch (int) {
      }
      EXPECT_EQ(std::uncaught_exceptions(), 0);
    }));
    units.push_back(calls.back()->ult());
  }
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
}

}  // namespace
