// ABT_cond.
#include <vector>

#include "front/front.hpp"
#include "support/abt_fixture.hpp"

namespace {

using namespace weft_test;

// A condition variable and a mutex in the program's memory, and what they are about.
struct Pair {
  explicit Pair(bool recursive = false) { mutex_memory.dummy[0] = recursive; }
  void lock() { EXPECT_TRUE(abt_ok(ABT_mutex_lock(mutex))); }
  void unlock() { EXPECT_TRUE(abt_ok(ABT_mutex_unlock(mutex))); }

  ABT_mutex_memory mutex_memory = ABT_MUTEX_INITIALIZER;
  ABT_cond_memory cond_memory = ABT_COND_INITIALIZER;
  ABT_mutex mutex = ABT_MUTEX_MEMORY_GET_HANDLE(&mutex_memory);
  ABT_cond cond = ABT_COND_MEMORY_GET_HANDLE(&cond_memory);
  int value = 0;  // under the mutex
};

class AbtCond : public AbtTest {};

TEST(AbtCondMemory, WorksBetweenThreadsWithoutTheRuntime) {
  for (const bool recursive : {false, true}) {
    Pair pair(recursive);
    std::thread other([&] {
      pair.lock();
      while (pair.value == 0) EXPECT_TRUE(abt_ok(ABT_cond_wait(pair.cond, pair.mutex)));
      pair.value = 2;
      EXPECT_TRUE(abt_ok(ABT_cond_broadcast(pair.cond)));
      pair.unlock();
    });
    pair.lock();
    pair.value = 1;
    EXPECT_TRUE(abt_ok(ABT_cond_signal(pair.cond)));
    while (pair.value != 2) EXPECT_TRUE(abt_ok(ABT_cond_wait(pair.cond, pair.mutex)));
    pair.unlock();
    other.join();
  }
}

// It may begin between two words, and a mutex's memory does as well.
TEST(AbtCondMemory, NeedsNoAlignment) {
  alignas(8) int room[16 + 2] = {};
  const ABT_cond cond = ABT_COND_MEMORY_GET_HANDLE(room + 1);
  Pair pair;
  pair.lock();
  const timespec soon = abt_after_ms(2);
  EXPECT_TRUE(abt_fails(ABT_ERR_COND_TIMEDOUT, ABT_cond_timedwait(cond, pair.mutex, &soon)));
  pair.unlock();
  EXPECT_EQ(room[0], 0);
  EXPECT_EQ(room[17], 0);
}

// One for each signal, in the order in which they came; all at a broadcast. In every context but a tasklet.
TEST_F(AbtCond, WakesInOrder) {
  Pair pair;
  std::vector<int> order;
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  for (int i = 0; i < 6; ++i) {
    calls.push_back(std::make_unique<Call>([&, i] {
      pair.lock();
      EXPECT_TRUE(abt_ok(ABT_cond_wait(pair.cond, pair.mutex)));
      order.push_back(i);
      pair.unlock();
    }));
    units.push_back(calls.back()->ult());
    ASSERT_TRUE(wait_until([&] { return weft_unit_state(units.back()) == WEFT_UNIT_BLOCKED; }));
  }
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(abt_ok(ABT_cond_signal(pair.cond)));
    ASSERT_TRUE(wait_until([&] { return order.size() == i + 1; }));
    for (int j = 0; j < 10; ++j) weft_yield();
    EXPECT_EQ(order.size(), i + 1);
  }
  EXPECT_TRUE(abt_ok(ABT_cond_broadcast(pair.cond)));
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5}));
}

// A bounded buffer of one, between ULTs of two ES and threads; recursive or not.
TEST_F(AbtCond, PassesEveryValueOnce) {
  constexpr int kEach = 200;
  SideWorker side;
  const weft_unit_attr_t there = side.attr();
  for (const bool recursive : {false, true}) {
    Pair pair(recursive);
    Pair full;
    long sum = 0;
    const ABT_cond emptied = full.cond;
    const auto produce = [&] {
      for (int i = 1; i <= kEach; ++i) {
        pair.lock();
        while (pair.value != 0) EXPECT_TRUE(abt_ok(ABT_cond_wait(emptied, pair.mutex)));
        pair.value = i;
        EXPECT_TRUE(abt_ok(ABT_cond_signal(pair.cond)));
        pair.unlock();
      }
    };
    const auto consume = [&] {
      for (int i = 1; i <= kEach; ++i) {
        pair.lock();
        while (pair.value == 0) EXPECT_TRUE(abt_ok(ABT_cond_wait(pair.cond, pair.mutex)));
        sum += pair.value;
        pair.value = 0;
        EXPECT_TRUE(abt_ok(ABT_cond_signal(emptied)));
        pair.unlock();
      }
    };
    Call producer(produce);
    Call consumer(consume);
    std::vector<weft_unit_t> units = {producer.ult(), consumer.ult(), producer.ult(&there), consumer.ult(&there)};
    std::thread threads[] = {std::thread(produce), std::thread(consume)};
    EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(sum, 3L * kEach * (kEach + 1) / 2);
  }
}

// The deadline is of the real clock; the mutex is the caller's again. Also in a tasklet, which holds its ES.
TEST_F(AbtCond, TimedwaitEndsAtItsTime) {
  for (const bool recursive : {false, true}) {
    in_each_context([&](Context) {
      Pair pair(recursive);
      for (const long ms : {-5, 0, 3}) {
        pair.lock();
        const double begin = ABT_get_wtime();
        const timespec time = abt_after_ms(ms < 0 ? 0 : ms);
        EXPECT_TRUE(abt_fails(ABT_ERR_COND_TIMEDOUT, ABT_cond_timedwait(pair.cond, pair.mutex, &time)));
        EXPECT_GE(ABT_get_wtime() - begin, 1e-3 * static_cast<double>(ms) - 1e-4);
        on_klt([&] { EXPECT_TRUE(abt_fails(ABT_ERR_MUTEX_LOCKED, ABT_mutex_trylock(pair.mutex))); });
        pair.unlock();
      }
    });
  }
}

TEST_F(AbtCond, TimedwaitIsEndedByASignal) {
  Pair pair;
  const timespec late = abt_after_ms(60'000);
  Call waiter([&] {
    pair.lock();
    EXPECT_TRUE(abt_ok(ABT_cond_timedwait(pair.cond, pair.mutex, &late)));
    pair.unlock();
  });
  weft_unit_t unit = waiter.ult();
  ASSERT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
  in_tasklet([&] { EXPECT_TRUE(abt_ok(ABT_cond_signal(pair.cond))); });
  EXPECT_TRUE(ok(weft_free(&unit)));
}

TEST_F(AbtCond, ATaskletMayWaitWithATimeOnly) {
  Pair pair;
  in_tasklet([&] {
    pair.lock();
    if (!kAbt20) {
      EXPECT_TRUE(abt_fails(ABT_ERR_COND, ABT_cond_wait(pair.cond, pair.mutex)));
    }
    pair.unlock();
  });
}

// Another mutex is good when nobody waits with the first one any more; Argobots never lets it go.
TEST_F(AbtCond, OneMutexAtATime) {
  Pair pair;
  Pair other;
  Call waiter([&] {
    pair.lock();
    EXPECT_TRUE(abt_ok(ABT_cond_wait(pair.cond, pair.mutex)));
    pair.unlock();
  });
  weft_unit_t unit = waiter.ult();
  ASSERT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
  const timespec soon = abt_after_ms(2);
  other.lock();
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_MUTEX, ABT_cond_wait(pair.cond, other.mutex)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_MUTEX, ABT_cond_timedwait(pair.cond, other.mutex, &soon)));
  EXPECT_TRUE(abt_ok(ABT_cond_signal(pair.cond)));
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_TRUE(abt_fails(ABT_ERR_COND_TIMEDOUT, ABT_cond_timedwait(pair.cond, other.mutex, &soon)));
  other.unlock();
}

// Also where one worker has had the condition variable to itself for long.
TEST_F(AbtCond, AnotherMutexAfterManyWaiters) {
  Pair pair;
  Pair other;
  Call waiter([&] {
    pair.lock();
    EXPECT_TRUE(abt_ok(ABT_cond_wait(pair.cond, pair.mutex)));
    pair.unlock();
  });
  std::vector<weft_unit_t> units;
  for (int i = 0; i < 100; ++i) units.push_back(waiter.ult());
  for (weft_unit_t unit : units) {
    ASSERT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
  }
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(abt_ok(ABT_cond_signal(pair.cond)));
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  const timespec soon = abt_after_ms(2);
  other.lock();
  EXPECT_TRUE(abt_fails(ABT_ERR_COND_TIMEDOUT, ABT_cond_timedwait(pair.cond, other.mutex, &soon)));
  other.unlock();
}

TEST_F(AbtCond, AMutexThatIsNotLockedOnceIsRefused) {
  Pair plain;
  Pair recursive(true);
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_MUTEX, ABT_cond_wait(plain.cond, plain.mutex)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_MUTEX, ABT_cond_wait(recursive.cond, recursive.mutex)));
  recursive.lock();
  recursive.lock();
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_MUTEX, ABT_cond_wait(recursive.cond, recursive.mutex)));
  recursive.unlock();
  recursive.unlock();
}

TEST_F(AbtCond, IsNotFreedUnderAWaiter) {
  ABT_cond cond;
  ASSERT_TRUE(abt_ok(ABT_cond_create(&cond)));
  Pair pair;
  Call waiter([&] {
    pair.lock();
    EXPECT_TRUE(abt_ok(ABT_cond_wait(cond, pair.mutex)));
    pair.unlock();
  });
  weft_unit_t unit = waiter.ult();
  ASSERT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
  EXPECT_TRUE(abt_fails(ABT_ERR_COND, ABT_cond_free(&cond)));
  EXPECT_TRUE(abt_ok(ABT_cond_broadcast(cond)));
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_TRUE(abt_ok(ABT_cond_free(&cond)));
  EXPECT_EQ(cond, ABT_COND_NULL);
}

// Two ULTs of one ES that take turns, until that one has both objects to itself.
void take_turns(Pair& pair, ABT_cond other) {
  Call first([&] {
    pair.lock();
    for (int i = 0; i < 100; ++i) {
      while (pair.value % 2 != 0) EXPECT_TRUE(abt_ok(ABT_cond_wait(pair.cond, pair.mutex)));
      ++pair.value;
      EXPECT_TRUE(abt_ok(ABT_cond_signal(other)));
    }
    pair.unlock();
  });
  Call second([&] {
    pair.lock();
    for (int i = 0; i < 100; ++i) {
      while (pair.value % 2 == 0) EXPECT_TRUE(abt_ok(ABT_cond_wait(other, pair.mutex)));
      ++pair.value;
      EXPECT_TRUE(abt_ok(ABT_cond_signal(pair.cond)));
    }
    pair.unlock();
  });
  weft_unit_t units[] = {first.ult(), second.ult()};
  EXPECT_TRUE(ok(weft_free_many(2, units)));
  EXPECT_EQ(pair.value, 200);
}

bool was_waited_for(const ABT_mutex_memory& memory) {
  return weft::front::mutex_mark(reinterpret_cast<const weft_mutex_t*>(&memory.dummy[2])) != 0;
}

// As long as nobody has to wait for the mutex, none of what there is for that is done.
TEST_F(AbtCond, AMutexThatNobodyWaitsForStaysOfOneStream) {
  Pair pair;
  Pair other;
  take_turns(pair, other.cond);
  EXPECT_FALSE(was_waited_for(pair.mutex_memory));
  const timespec soon = abt_after_ms(1);
  pair.lock();
  EXPECT_TRUE(abt_fails(ABT_ERR_COND_TIMEDOUT, ABT_cond_timedwait(pair.cond, pair.mutex, &soon)));
  on_klt([&] { EXPECT_TRUE(abt_fails(ABT_ERR_MUTEX_LOCKED, ABT_mutex_trylock(pair.mutex))); });
  pair.unlock();
  EXPECT_FALSE(was_waited_for(pair.mutex_memory));
}

// Who is woken while the mutex is held waits for it as one who locks it; a tasklet meanwhile, too, with its ES.
TEST_F(AbtCond, WhoIsWokenWaitsForAMutexOfOneStream) {
  for (const bool timed : {false, true}) {
    for (const bool recursive : {false, true}) {
      Pair pair(recursive);
      Pair other;
      take_turns(pair, other.cond);
      const timespec late = abt_after_ms(60'000);
      Call waiter([&] {
        pair.lock();
        if (timed) {
          EXPECT_TRUE(abt_ok(ABT_cond_timedwait(pair.cond, pair.mutex, &late)));
        } else {
          EXPECT_TRUE(abt_ok(ABT_cond_wait(pair.cond, pair.mutex)));
        }
        ++pair.value;
        pair.unlock();
      });
      weft_unit_t unit = waiter.ult();
      ASSERT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
      pair.lock();
      EXPECT_TRUE(abt_ok(ABT_cond_signal(pair.cond)));
      for (int i = 0; i < 10; ++i) weft_yield();
      EXPECT_EQ(pair.value, 200);
      EXPECT_EQ(weft_unit_state(unit), WEFT_UNIT_BLOCKED);
      pair.unlock();
      in_tasklet([&] {
        pair.lock();
        ++pair.value;
        pair.unlock();
      });
      EXPECT_TRUE(ok(weft_free(&unit)));
      EXPECT_EQ(pair.value, 202);
    }
  }
}

TEST_F(AbtCond, OfOneStreamIsNotFreedUnderAWaiterNorGivenAnotherMutex) {
  Pair pair;
  ABT_cond cond;
  ASSERT_TRUE(abt_ok(ABT_cond_create(&cond)));
  take_turns(pair, cond);
  Call waiter([&] {
    pair.lock();
    EXPECT_TRUE(abt_ok(ABT_cond_wait(cond, pair.mutex)));
    pair.unlock();
  });
  for (const bool from_outside : {false, true}) {
    weft_unit_t unit = waiter.ult();
    ASSERT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
    Pair other;
    const auto look = [&] {
      other.lock();
      EXPECT_TRUE(abt_fails(ABT_ERR_INV_MUTEX, ABT_cond_wait(cond, other.mutex)));
      other.unlock();
      EXPECT_TRUE(abt_fails(ABT_ERR_COND, ABT_cond_free(&cond)));
      EXPECT_TRUE(abt_ok(ABT_cond_signal(cond)));
    };
    if (from_outside) {
      on_klt(look);
    } else {
      look();
    }
    EXPECT_TRUE(ok(weft_free(&unit)));
  }
  EXPECT_TRUE(abt_ok(ABT_cond_free(&cond)));
}

TEST_F(AbtCond, NullIsRefused) {
  Pair pair;
  ABT_cond null = ABT_COND_NULL;
  const timespec soon = abt_after_ms(0);
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_COND, ABT_cond_wait(null, pair.mutex)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_MUTEX, ABT_cond_wait(pair.cond, ABT_MUTEX_NULL)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_COND, ABT_cond_timedwait(null, pair.mutex, &soon)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_MUTEX, ABT_cond_timedwait(pair.cond, ABT_MUTEX_NULL, &soon)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_COND, ABT_cond_signal(null)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_COND, ABT_cond_broadcast(null)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_COND, ABT_cond_free(&null)));
}

}  // namespace
