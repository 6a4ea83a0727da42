// ABT_mutex and its attributes.
#include <memory>

#include "support/abt_fixture.hpp"

namespace {

using namespace weft_test;

class AbtMutex : public AbtTest {};

class AMutex {
 public:
  explicit AMutex(bool recursive = false) {
    ABT_mutex_attr attr;
    EXPECT_TRUE(abt_ok(ABT_mutex_attr_create(&attr)));
    EXPECT_TRUE(abt_ok(ABT_mutex_attr_set_recursive(attr, recursive)));
    EXPECT_TRUE(abt_ok(ABT_mutex_create_with_attr(attr, &handle)));
    EXPECT_TRUE(abt_ok(ABT_mutex_attr_free(&attr)));
    EXPECT_EQ(attr, ABT_MUTEX_ATTR_NULL);
  }
  AMutex(const AMutex&) = delete;
  AMutex& operator=(const AMutex&) = delete;
  ~AMutex() {
    EXPECT_TRUE(abt_ok(ABT_mutex_free(&handle)));
    EXPECT_EQ(handle, ABT_MUTEX_NULL);
  }
  operator ABT_mutex() const { return handle; }

  ABT_mutex handle = nullptr;
};

using Operation = int (*)(ABT_mutex);
// The library's functions, and what abt.h has of them in the program's own code; those that do not wait come last.
constexpr Operation kLocks[] = {ABT_mutex_lock,     ABT_mutex_lock_high,
                                ABT_mutex_lock_low, ABT_mutex_spinlock,
                                [](ABT_mutex mutex) { return ABT_mutex_lock(mutex); },
                                [](ABT_mutex mutex) { return ABT_mutex_spinlock(mutex); },
                                ABT_mutex_trylock,  [](ABT_mutex mutex) { return ABT_mutex_trylock(mutex); }};
constexpr size_t kWaiting = 6;
constexpr Operation kUnlocks[] = {ABT_mutex_unlock, ABT_mutex_unlock_se, ABT_mutex_unlock_de,
                                  [](ABT_mutex mutex) { return ABT_mutex_unlock(mutex); }};

TEST(AbtMutexMemory, NeedsNeitherRuntimeNorAlignment) {
  alignas(8) int room[2 * 16 + 1] = {};
  for (int* at : {room, room + 1}) {
    for (const bool recursive : {false, true}) {
      std::fill_n(at, 16, 0);
      at[0] = recursive;
      const ABT_mutex mutex = ABT_MUTEX_MEMORY_GET_HANDLE(at);
      in_and_out_of_runtime([&] {
        for (const Operation lock : kLocks) {
          EXPECT_TRUE(abt_ok(lock(mutex)));
          EXPECT_TRUE(abt_fails(recursive ? ABT_SUCCESS : ABT_ERR_MUTEX_LOCKED, ABT_mutex_trylock(mutex)));
          std::thread other([&] { EXPECT_TRUE(abt_fails(ABT_ERR_MUTEX_LOCKED, ABT_mutex_trylock(mutex))); });
          other.join();
          if (recursive) {
            EXPECT_TRUE(abt_ok(ABT_mutex_unlock(mutex)));
          }
          EXPECT_TRUE(abt_ok(ABT_mutex_unlock(mutex)));
        }
      });
      EXPECT_EQ(at[0], recursive);
    }
  }
  EXPECT_EQ(room[32], 0);  // behind it nothing is written
}

TEST(AbtMutexMemory, InitializersAreOfTheTwoKinds) {
  ABT_mutex_memory plain = ABT_MUTEX_INITIALIZER;
  ABT_mutex_memory recursive = ABT_RECURSIVE_MUTEX_INITIALIZER;
  for (ABT_mutex_memory* memory : {&plain, &recursive}) {
    ABT_mutex_attr attr;
    ABT_bool is_recursive = -1;
    EXPECT_TRUE(abt_ok(ABT_mutex_get_attr(ABT_MUTEX_MEMORY_GET_HANDLE(memory), &attr)));
    EXPECT_TRUE(abt_ok(ABT_mutex_attr_get_recursive(attr, &is_recursive)));
    EXPECT_EQ(is_recursive, memory == &recursive ? ABT_TRUE : ABT_FALSE);
    EXPECT_TRUE(abt_ok(ABT_mutex_attr_free(&attr)));
  }
}

TEST_F(AbtMutex, EveryLockGoesWithEveryUnlockInEveryContext) {
  for (const bool recursive : {false, true}) {
    const AMutex mutex(recursive);
    in_each_context([&](Context) {
      for (const Operation lock : kLocks) {
        for (const Operation unlock : kUnlocks) {
          EXPECT_TRUE(abt_ok(lock(mutex)));
          EXPECT_TRUE(abt_ok(unlock(mutex)));
        }
      }
    });
  }
}

// Also tasklets, which hold their ES as long as they wait.
TEST_F(AbtMutex, KeepsEverybodyElseOut) {
  constexpr int kTimes = 200;
  SideWorker side;
  const weft_unit_attr_t there = side.attr();
  for (const bool recursive : {false, true}) {
    const AMutex mutex(recursive);
    int counter = 0;
    std::atomic<int> kind = 0;
    const auto work = [&](bool may_yield) {
      const Operation lock = kLocks[kind++ % kWaiting];
      for (int i = 0; i < kTimes; ++i) {
        EXPECT_TRUE(abt_ok(lock(mutex)));
        if (recursive) {
          EXPECT_TRUE(abt_ok(lock(mutex)));
        }
        const int seen = counter;
        // Not with others of this ES spinning or holding it for the mutex.
        if (may_yield && i % 16 == 0) std::this_thread::yield();
        counter = seen + 1;
        if (recursive) {
          EXPECT_TRUE(abt_ok(ABT_mutex_unlock(mutex)));
        }
        EXPECT_TRUE(abt_ok(ABT_mutex_unlock(mutex)));
      }
    };
    Call ult([&] { work(true); });
    Call tasklet([&] { work(false); });
    std::vector<weft_unit_t> units;
    for (int i = 0; i < 4; ++i) {
      units.push_back(ult.ult());
      units.push_back(ult.ult(&there));
      units.push_back(tasklet.tasklet(&there));
    }
    std::thread external([&] { work(true); });
    EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
    external.join();
    EXPECT_EQ(counter, 13 * kTimes);
  }
}

TEST_F(AbtMutex, AUltLeavesItsStreamToOthersWhileItWaits) {
  const AMutex mutex;
  EXPECT_TRUE(abt_ok(ABT_mutex_lock(mutex)));
  bool locked = false;
  Call call([&] {
    EXPECT_TRUE(abt_ok(ABT_mutex_lock(mutex)));
    locked = true;
    EXPECT_TRUE(abt_ok(ABT_mutex_unlock(mutex)));
  });
  weft_unit_t unit = call.ult();
  ASSERT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
  EXPECT_FALSE(locked);
  EXPECT_TRUE(abt_ok(ABT_mutex_unlock_se(mutex)));
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_TRUE(locked);
}

// A spinlock does not let others run: what follows comes first.
TEST_F(AbtMutex, ASpinlockHoldsItsStream) {
  SideWorker side;
  const weft_unit_attr_t there = side.attr();
  const AMutex mutex;
  EXPECT_TRUE(abt_ok(ABT_mutex_lock(mutex)));
  weft_event_t begun = WEFT_EVENT_INIT;
  std::atomic<bool> locked = false;
  Call spinner([&] {
    EXPECT_TRUE(ok(weft_event_set(&begun)));
    EXPECT_TRUE(abt_ok(ABT_mutex_spinlock(mutex)));
    locked = true;
    EXPECT_TRUE(abt_ok(ABT_mutex_unlock(mutex)));
  });
  Call other([&] { EXPECT_TRUE(locked); });
  weft_unit_t units[] = {spinner.ult(&there), nullptr};
  EXPECT_TRUE(ok(weft_event_wait(&begun)));
  units[1] = other.ult(&there);
  EXPECT_TRUE(ok(weft_sleep(5'000'000)));  // it has stopped spinning, most times
  EXPECT_TRUE(abt_ok(ABT_mutex_unlock(mutex)));
  EXPECT_TRUE(ok(weft_free_many(2, units)));
}

TEST_F(AbtMutex, ARecursiveOneBelongsToItsUnit) {
  const AMutex mutex(true);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(abt_ok(ABT_mutex_lock(mutex)));
  in_ult([&] {
    EXPECT_TRUE(abt_fails(ABT_ERR_MUTEX_LOCKED, ABT_mutex_trylock(mutex)));
    EXPECT_TRUE(abt_fails(ABT_ERR_MUTEX, ABT_mutex_unlock(mutex)));
  });
  on_klt([&] { EXPECT_TRUE(abt_fails(ABT_ERR_MUTEX_LOCKED, ABT_mutex_trylock(mutex))); });
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(abt_ok(ABT_mutex_unlock(mutex)));
  in_ult([&] {
    EXPECT_TRUE(abt_ok(ABT_mutex_trylock(mutex)));
    EXPECT_TRUE(abt_ok(ABT_mutex_unlock(mutex)));
  });
}

// A plain one may be unlocked by anybody, if it is locked.
TEST_F(AbtMutex, UnlockedByAnother) {
  const AMutex mutex;
  EXPECT_TRUE(abt_ok(ABT_mutex_lock(mutex)));
  in_ult([&] { EXPECT_TRUE(abt_ok(ABT_mutex_unlock(mutex))); });
  EXPECT_TRUE(abt_fails(ABT_ERR_MUTEX, ABT_mutex_unlock(mutex)));
}

// Whoever gets it after another may free it at once.
TEST_F(AbtMutex, FreedRightAfterItWasHandedOver) {
  SideWorker side;
  const weft_unit_attr_t there = side.attr();
  for (int i = 0; i < 300; ++i) {
    ABT_mutex mutex;
    ASSERT_TRUE(abt_ok(ABT_mutex_create(&mutex)));
    EXPECT_TRUE(abt_ok(ABT_mutex_lock(mutex)));
    ABT_mutex again = mutex;
    Call call([&] {
      EXPECT_TRUE(abt_ok(ABT_mutex_lock(again)));
      EXPECT_TRUE(abt_ok(ABT_mutex_unlock(again)));
      EXPECT_TRUE(abt_ok(ABT_mutex_free(&again)));
    });
    weft_unit_t unit = call.ult(&there);
    EXPECT_TRUE(abt_ok(ABT_mutex_unlock(mutex)));
    EXPECT_TRUE(ok(weft_free(&unit)));
  }
}

TEST_F(AbtMutex, AttributesAndEquality) {
  ABT_mutex_attr attr;
  ABT_bool value = -1;
  ASSERT_TRUE(abt_ok(ABT_mutex_attr_create(&attr)));
  EXPECT_TRUE(abt_ok(ABT_mutex_attr_get_recursive(attr, &value)));
  EXPECT_EQ(value, ABT_FALSE);
  EXPECT_TRUE(abt_ok(ABT_mutex_attr_set_recursive(attr, 5)));
  EXPECT_TRUE(abt_ok(ABT_mutex_attr_get_recursive(attr, &value)));
  EXPECT_EQ(value, ABT_TRUE);
  EXPECT_TRUE(abt_ok(ABT_mutex_attr_free(&attr)));

  ABT_mutex one;
  ABT_mutex other;
  ASSERT_TRUE(abt_ok(ABT_mutex_create_with_attr(ABT_MUTEX_ATTR_NULL, &one)));
  ASSERT_TRUE(abt_ok(ABT_mutex_create(&other)));
  EXPECT_TRUE(abt_ok(ABT_mutex_equal(one, one, &value)));
  EXPECT_EQ(value, ABT_TRUE);
  EXPECT_TRUE(abt_ok(ABT_mutex_equal(one, other, &value)));
  EXPECT_EQ(value, ABT_FALSE);
  EXPECT_TRUE(abt_ok(ABT_mutex_free(&one)));
  EXPECT_TRUE(abt_ok(ABT_mutex_free(&other)));
}

TEST_F(AbtMutex, NullIsRefused) {
  ABT_mutex null = ABT_MUTEX_NULL;
  for (const Operation lock : kLocks) EXPECT_TRUE(abt_fails(ABT_ERR_INV_MUTEX, lock(null)));
  for (const Operation unlock : kUnlocks) EXPECT_TRUE(abt_fails(ABT_ERR_INV_MUTEX, unlock(null)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_MUTEX, ABT_mutex_free(&null)));
  ABT_mutex_attr attr = nullptr;
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_MUTEX, ABT_mutex_get_attr(null, &attr)));
  if (!kAbt20) {
    EXPECT_EQ(attr, ABT_MUTEX_ATTR_NULL);
  }
  attr = ABT_MUTEX_ATTR_NULL;
  ABT_bool value;
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_MUTEX_ATTR, ABT_mutex_attr_set_recursive(attr, ABT_TRUE)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_MUTEX_ATTR, ABT_mutex_attr_get_recursive(attr, &value)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_MUTEX_ATTR, ABT_mutex_attr_free(&attr)));
}

}  // namespace
