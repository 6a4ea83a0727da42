// ABT_eventual.
#include <algorithm>
#include <atomic>
#include <climits>
#include <cstring>
#include <deque>
#include <iterator>
#include <vector>

#include "support/abt_units.hpp"

namespace {

using namespace weft_test;

class AbtEventual : public AbtTest {};

class AnEventual {
 public:
  explicit AnEventual(int size) { EXPECT_TRUE(abt_ok(ABT_eventual_create(size, &handle))); }
  AnEventual(const AnEventual&) = delete;
  AnEventual& operator=(const AnEventual&) = delete;
  ~AnEventual() {
    EXPECT_TRUE(abt_ok(ABT_eventual_free(&handle)));
    EXPECT_EQ(handle, ABT_EVENTUAL_NULL);
  }
  operator ABT_eventual() const { return handle; }

  ABT_eventual handle = nullptr;
};

bool is_ready(ABT_eventual eventual) {
  ABT_bool ready = -1;
  EXPECT_TRUE(abt_ok(ABT_eventual_test(eventual, nullptr, &ready)));
  return ready == ABT_TRUE;
}

TEST_F(AbtEventual, CarriesAValueOnce) {
  for (const int size : {1, 8, 13, 5000}) {
    const AnEventual eventual(size);
    std::vector<char> value(static_cast<size_t>(size), 'a');
    void* got = nullptr;
    ABT_bool ready = ABT_TRUE;
    EXPECT_TRUE(abt_ok(ABT_eventual_test(eventual, &got, &ready)));
    EXPECT_EQ(ready, ABT_FALSE);
    EXPECT_TRUE(abt_ok(ABT_eventual_set(eventual, value.data(), size)));
    std::fill(value.begin(), value.end(), 'b');
    EXPECT_TRUE(abt_fails(ABT_ERR_EVENTUAL, ABT_eventual_set(eventual, value.data(), size)));
    EXPECT_TRUE(abt_ok(ABT_eventual_wait(eventual, &got)));
    std::fill(value.begin(), value.end(), 'a');
    EXPECT_EQ(std::memcmp(got, value.data(), value.size()), 0);
    void* again = nullptr;
    EXPECT_TRUE(abt_ok(ABT_eventual_test(eventual, &again, &ready)));
    EXPECT_EQ(ready, ABT_TRUE);
    EXPECT_EQ(again, got);
    // A reset leaves what is there; the next value may be shorter.
    EXPECT_TRUE(abt_ok(ABT_eventual_reset(eventual)));
    EXPECT_FALSE(is_ready(eventual));
    EXPECT_EQ(std::memcmp(got, value.data(), value.size()), 0);
    EXPECT_TRUE(abt_ok(ABT_eventual_set(eventual, nullptr, 0)));
    EXPECT_TRUE(abt_ok(ABT_eventual_wait(eventual, &again)));
    EXPECT_EQ(again, got);
  }
}

TEST_F(AbtEventual, WithoutAValueItGivesNull) {
  const AnEventual eventual(0);
  EXPECT_TRUE(abt_ok(ABT_eventual_set(eventual, nullptr, 0)));
  void* got = &got;
  EXPECT_TRUE(abt_ok(ABT_eventual_wait(eventual, &got)));
  EXPECT_EQ(got, nullptr);
  EXPECT_TRUE(abt_ok(ABT_eventual_wait(eventual, nullptr)));
}

// Waiters of every kind, and setters of every kind; in the program's memory too, which begins where it likes.
TEST_F(AbtEventual, LetsAllPass) {
  SideWorker side;
  const weft_unit_attr_t there = side.attr();
  alignas(8) int room[17] = {};
  const AnEventual created(0);
  for (const ABT_eventual eventual : {created.handle, ABT_EVENTUAL_MEMORY_GET_HANDLE(room),
                                      ABT_EVENTUAL_MEMORY_GET_HANDLE(room + 1)}) {
    std::fill_n(room, 17, 0);
    const auto set = [&] { EXPECT_TRUE(abt_ok(ABT_eventual_set(eventual, nullptr, 0))); };
    for (int how = 0; how < 4; ++how) {
      std::atomic<int> passed = 0;
      const auto wait = [&] {
        EXPECT_TRUE(abt_ok(ABT_eventual_wait(eventual, nullptr)));
        ++passed;
      };
      Call call(wait);
      std::vector<weft_unit_t> units;
      for (int i = 0; i < 5; ++i) {
        units.push_back(call.ult());
        units.push_back(call.ult(&there));
      }
      std::thread external(wait);
      for (int i = 0; i < 20; ++i) weft_yield();
      EXPECT_EQ(passed, 0);
      if (how == 0) set();
      if (how == 1) in_ult(set);
      if (how == 2) in_tasklet(set);
      if (how == 3) on_klt(set);
      EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
      external.join();
      EXPECT_EQ(passed, 11);
      EXPECT_TRUE(abt_ok(ABT_eventual_reset(eventual)));
    }
  }
}

TEST(AbtEventualMemory, NeedsNoRuntime) {
  ABT_eventual_memory memory = ABT_EVENTUAL_INITIALIZER;
  const ABT_eventual eventual = ABT_EVENTUAL_MEMORY_GET_HANDLE(&memory);
  in_and_out_of_runtime([&] {
    EXPECT_FALSE(is_ready(eventual));
    EXPECT_TRUE(abt_ok(ABT_eventual_set(eventual, nullptr, 0)));
    EXPECT_TRUE(is_ready(eventual));
    EXPECT_TRUE(abt_ok(ABT_eventual_reset(eventual)));
  });
}

// Who has waited resets it, and then the frame that it lies in may go: whoever set it is done with it.
TEST_F(AbtEventual, MayStandInAFrame) {
  SideWorker side;
  const weft_unit_attr_t there = side.attr();
  for (int i = 0; i < 1000; ++i) {
    auto memory = std::make_unique<ABT_eventual_memory>();
    const ABT_eventual eventual = ABT_EVENTUAL_MEMORY_GET_HANDLE(memory.get());
    Call setter([&, eventual] { EXPECT_TRUE(abt_ok(ABT_eventual_set(eventual, nullptr, 0))); });
    weft_unit_t unit = setter.ult(&there);
    EXPECT_TRUE(abt_ok(ABT_eventual_wait(eventual, nullptr)));
    EXPECT_TRUE(abt_ok(ABT_eventual_reset(eventual)));
    memory.reset();
    EXPECT_TRUE(ok(weft_free(&unit)));
  }
}

TEST_F(AbtEventual, TimedwaitEndsAtItsTime) {
  const AnEventual eventual(4);
  int value = 7;
  const auto wait = [&](Context context) {
    if (context == Context::kTasklet && !kAbt20) return;
    void* got = &value;
    const double begin = ABT_get_wtime();
    const timespec soon = abt_after_ms(3);
    EXPECT_TRUE(abt_fails(ABT_ERR_COND_TIMEDOUT, ABT_eventual_timedwait(eventual, &got, &soon)));
    EXPECT_GE(ABT_get_wtime() - begin, 0.0029);
    const timespec past{};
    EXPECT_TRUE(abt_fails(ABT_ERR_COND_TIMEDOUT, ABT_eventual_timedwait(eventual, nullptr, &past)));
  };
  in_each_context(wait);
  EXPECT_TRUE(abt_ok(ABT_eventual_set(eventual, &value, sizeof value)));
  const timespec past{};
  void* got = nullptr;
  EXPECT_TRUE(abt_ok(ABT_eventual_timedwait(eventual, &got, &past)));
  EXPECT_EQ(*static_cast<int*>(got), 7);
  const timespec never{LONG_MAX, 0};
  EXPECT_TRUE(abt_ok(ABT_eventual_timedwait(eventual, &got, &never)));
}

TEST_F(AbtEventual, TimedwaitIsEndedBySet) {
  const AnEventual eventual(0);
  const timespec never{LONG_MAX, 0};
  Call waiter([&] { EXPECT_TRUE(abt_ok(ABT_eventual_timedwait(eventual, nullptr, &never))); });
  weft_unit_t unit = waiter.ult();
  ASSERT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
  EXPECT_TRUE(abt_ok(ABT_eventual_set(eventual, nullptr, 0)));
  EXPECT_TRUE(ok(weft_free(&unit)));
}

TEST_F(AbtEventual, ATaskletMayNotWait) {
  const AnEventual eventual(0);
  const timespec past{};
  EXPECT_TRUE(abt_ok(ABT_eventual_set(eventual, nullptr, 0)));
  in_tasklet([&] {
    const int expected = kAbt20 ? ABT_SUCCESS : ABT_ERR_EVENTUAL;
    EXPECT_TRUE(abt_fails(expected, ABT_eventual_wait(eventual, nullptr)));
    EXPECT_TRUE(abt_fails(expected, ABT_eventual_timedwait(eventual, nullptr, &past)));
    EXPECT_TRUE(is_ready(eventual));
  });
}

TEST_F(AbtEventual, Errors) {
  ABT_eventual null = nullptr;
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_ARG, ABT_eventual_create(-1, &null)));
  EXPECT_EQ(null, kAbt20 ? nullptr : ABT_EVENTUAL_NULL);
  null = ABT_EVENTUAL_NULL;
  const timespec past{};
  ABT_bool ready;
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_EVENTUAL, ABT_eventual_wait(null, nullptr)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_EVENTUAL, ABT_eventual_timedwait(null, nullptr, &past)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_EVENTUAL, ABT_eventual_test(null, nullptr, &ready)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_EVENTUAL, ABT_eventual_set(null, nullptr, 0)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_EVENTUAL, ABT_eventual_reset(null)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_EVENTUAL, ABT_eventual_free(&null)));
  const AnEventual eventual(4);
  int value[2] = {};
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_ARG, ABT_eventual_set(eventual, value, -1)));
  EXPECT_TRUE(abt_fails(kAbt20 ? ABT_ERR_INV_ARG : ABT_ERR_INV_EVENTUAL,
                        ABT_eventual_set(eventual, value, sizeof value)));
  EXPECT_FALSE(is_ready(eventual));
}

// Those of an ES's pool go on in the order in which they have waited, of each of several; those of a pool that two ES serve, and that are asleep, on both.
TEST_F(AbtEventual, ManyWaitersGoOnInEachPoolInTheirOrder) {
  constexpr size_t kOwn = 6, kEach = 5, kPools = kOwn + 1;
  ABT_pool pools[kPools] = {main_pool()};
  ABT_pool& shared = pools[kOwn];
  ASSERT_TRUE(abt_ok(ABT_pool_create_basic(ABT_POOL_FIFO, ABT_POOL_ACCESS_MPMC, ABT_TRUE, &shared)));
  ABT_xstream xstreams[kOwn + 1] = {};
  for (size_t i = 1; i < kOwn; ++i) {
    ASSERT_TRUE(abt_ok(ABT_xstream_create(ABT_SCHED_NULL, &xstreams[i])));
    pools[i] = main_pool_of(xstreams[i]);
  }
  for (ABT_xstream* each : {&xstreams[0], &xstreams[kOwn]}) {
    ASSERT_TRUE(abt_ok(ABT_xstream_create_basic(ABT_SCHED_BASIC_WAIT, 1, &shared, ABT_SCHED_CONFIG_NULL, each)));
  }
  for (const bool external : {false, true}) {
    const AnEventual eventual(0);
    std::atomic<int> place = 0;
    int places[kPools][kEach] = {};
    std::deque<AbtCall> calls;
    std::vector<ABT_thread> threads;
    for (size_t each = 0; each < kEach; ++each) {
      for (size_t pool = 0; pool < kPools; ++pool) {
        calls.emplace_back([&, pool, each] {
          EXPECT_TRUE(abt_ok(ABT_eventual_wait(eventual, nullptr)));
          places[pool][each] = ++place;
        });
        threads.push_back(calls.back().thread(pools[pool]));
        ABT_thread_state state = ABT_THREAD_STATE_READY;
        ASSERT_TRUE(wait_until([&] {
          EXPECT_TRUE(abt_ok(ABT_thread_get_state(threads.back(), &state)));
          return state == ABT_THREAD_STATE_BLOCKED;
        }));
      }
    }
    const auto set = [&] { EXPECT_TRUE(abt_ok(ABT_eventual_set(eventual, nullptr, 0))); };
    external ? on_external(set) : set();
    EXPECT_TRUE(abt_ok(ABT_thread_free_many(static_cast<int>(threads.size()), threads.data())));
    EXPECT_EQ(place.load(), static_cast<int>(kPools * kEach));
    for (size_t pool = 0; pool < kOwn; ++pool) {
      EXPECT_TRUE(std::is_sorted(std::begin(places[pool]), std::end(places[pool]))) << pool;
    }
  }
  for (ABT_xstream& each : xstreams) EXPECT_TRUE(abt_ok(ABT_xstream_free(&each)));
}

}  // namespace
