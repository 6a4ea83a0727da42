// Synchronisation objects in a forked child: those who waited stayed behind, the objects go on.
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "support/forked_child.hpp"
#include "weft/block.h"

namespace {

using namespace weft_test;

class ProcessSync : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, ProcessSync, kWorkerCounts);

// Two ULTs and a thread contend.
void contend(weft_mutex_t& mutex) {
  long count = 0;
  Call call([&] {
    for (int i = 0; i < 200; ++i) {
      CHILD_OK(weft_mutex_lock(&mutex));
      ++count;
      if (i % 8 == 0) weft_yield();
      CHILD_OK(weft_mutex_unlock(&mutex));
    }
  });
  std::vector<weft_unit_t> units{call.ult(), call.ult()};
  std::thread thread;
  if (kChildMayStartThreads || !weft_test_is_child) thread = std::thread([&] { Call::run(&call); });
  CHILD_OK(weft_free_many(units.size(), units.data()));
  const int contenders = thread.joinable() ? 3 : 2;
  if (thread.joinable()) thread.join();
  CHILD_CHECK(count == contenders * 200);
}

// A ULT and a thread wait for something; the predicate says when both do.
struct Waiting {
  template <class F>
  explicit Waiting(F wait) : call([this, wait] { wait(); ++through; }), thread([this, wait] { wait(); ++through; }) {
    unit = call.ult();
    EXPECT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
    // The thread: nobody can see that it sleeps.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(through, 0);
  }
  ~Waiting() {
    EXPECT_TRUE(ok(weft_free(&unit)));
    EXPECT_TRUE(wait_until([&] { return through == 2; }));
    thread.join();
  }
  std::atomic<int> through{0};
  Call call;
  weft_unit_t unit = nullptr;
  SteadyThread thread;
};

TEST_P(ProcessSync, AMutexThatTheCallerHolds) {
  weft_mutex_t mutex = WEFT_MUTEX_INIT;
  ASSERT_TRUE(ok(weft_mutex_lock(&mutex)));
  {
    Waiting waiting([&] {
      EXPECT_TRUE(ok(weft_mutex_lock(&mutex)));
      EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
    });
    EXPECT_EQ(run_in_child([&] {
      CHILD_CHECK(weft_mutex_trylock(&mutex) == WEFT_ERR_BUSY);
      CHILD_OK(weft_mutex_unlock(&mutex));
      CHILD_CHECK(weft_mutex_unlock(&mutex) == WEFT_ERR_NOT_OWNER);
      contend(mutex);
      CHILD_CHECK(run_in_child([&] { contend(mutex); }) == 0);
    }), 0);
    EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
  }
  contend(mutex);
}

// A waiter was woken and has not looked yet: in the child nobody will.
TEST_P(ProcessSync, AMutexWhoseWaiterWasJustWoken) {
  weft_mutex_t mutex = WEFT_MUTEX_INIT;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(ok(weft_mutex_lock(&mutex)));
    Call call([&] {
      EXPECT_TRUE(ok(weft_mutex_lock(&mutex)));
      EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
    });
    weft_unit_t unit = call.ult();
    ASSERT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
    EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
    const bool held = weft_mutex_trylock(&mutex) == WEFT_OK;
    EXPECT_EQ(run_in_child([&] {
      if (held) CHILD_OK(weft_mutex_unlock(&mutex));
      if (!held && weft_mutex_trylock(&mutex) != WEFT_OK) _exit(0);  // it is the waiter's, there
      if (!held) CHILD_OK(weft_mutex_unlock(&mutex));
      contend(mutex);
    }), 0);
    if (held) {
      EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
    }
    EXPECT_TRUE(ok(weft_free(&unit)));
  }
}

TEST_P(ProcessSync, AConditionVariable) {
  weft_mutex_t mutex = WEFT_MUTEX_INIT;
  weft_cond_t cond = WEFT_COND_INIT;
  bool set = false;
  {
    Waiting waiting([&] {
      EXPECT_TRUE(ok(weft_mutex_lock(&mutex)));
      while (!set) EXPECT_TRUE(ok(weft_cond_wait(&cond, &mutex)));
      EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
    });
    EXPECT_EQ(run_in_child([&] {
      for (const bool early : {false, true}) {
        if (early) CHILD_OK(weft_cond_signal(&cond));
        Call call([&] {
          CHILD_OK(weft_mutex_lock(&mutex));
          while (!set) CHILD_OK(weft_cond_wait(&cond, &mutex));
          CHILD_OK(weft_mutex_unlock(&mutex));
        });
        weft_unit_t unit = call.ult();
        for (int i = 0; i < 10; ++i) weft_yield();
        CHILD_OK(weft_mutex_lock(&mutex));
        set = true;
        CHILD_OK(early ? weft_cond_broadcast(&cond) : weft_cond_signal(&cond));
        CHILD_OK(weft_mutex_unlock(&mutex));
        CHILD_OK(weft_free(&unit));
        set = false;
      }
    }), 0);
    ASSERT_TRUE(ok(weft_mutex_lock(&mutex)));
    set = true;
    EXPECT_TRUE(ok(weft_cond_broadcast(&cond)));
    EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
  }
}

TEST_P(ProcessSync, AnEvent) {
  weft_event_t event = WEFT_EVENT_INIT;
  {
    Waiting waiting([&] { EXPECT_TRUE(ok(weft_event_wait(&event))); });
    for (const bool wait_first : {false, true}) {
      EXPECT_EQ(run_in_child([&] {
        Call call([&] { CHILD_OK(weft_event_wait(&event)); });
        weft_unit_t unit = nullptr;
        if (wait_first) {
          unit = call.ult();
          for (int i = 0; i < 10; ++i) weft_yield();
        }
        CHILD_OK(weft_event_set(&event));
        if (wait_first) CHILD_OK(weft_free(&unit));
        CHILD_OK(weft_event_wait(&event));
      }), 0);
    }
    EXPECT_TRUE(ok(weft_event_set(&event)));
  }
}

// Those who had arrived are not counted: they will not go on.
// While it waits main leaves its thread, and another one gives the object's lock back, which may just be made, or be woken, as the process forks.
TEST_P(ProcessSync, AnEventForWhichMainWaitsJustThen) {
  ASSERT_TRUE(ok(weft_blocking_set_mode(WEFT_BLOCKING_ON)));
  constexpr int kForks = 60;
  weft_event_t event = WEFT_EVENT_INIT;
  std::atomic<int> turn{0};
  std::thread forks([&] {
    for (int i = 1; i <= kForks; ++i) {
      while (turn != i) {
      }
      for (std::atomic<int> j = 0; j < i * 50; ++j) {
      }
      EXPECT_EQ(run_in_child([&] { CHILD_OK(weft_event_set(&event)); }), 0);
      EXPECT_TRUE(ok(weft_event_set(&event)));
    }
  });
  for (int i = 1; i <= kForks; ++i) {
    turn = i;
    EXPECT_TRUE(ok(weft_event_wait(&event)));
    EXPECT_TRUE(ok(weft_event_reset(&event)));
  }
  forks.join();
  EXPECT_TRUE(ok(weft_blocking_set_mode(WEFT_BLOCKING_OFF)));
}

TEST_P(ProcessSync, ABarrier) {
  weft_barrier_t barrier = WEFT_BARRIER_INIT(3);
  {
    Waiting waiting([&] { EXPECT_TRUE(ok(weft_barrier_wait(&barrier, nullptr))); });
    EXPECT_EQ(run_in_child([&] {
      std::atomic<int> last{0};
      Call call([&] {
        bool me = false;
        CHILD_OK(weft_barrier_wait(&barrier, &me));
        if (me) ++last;
      });
      std::vector<weft_unit_t> units{call.ult(), call.ult(), call.ult()};
      CHILD_OK(weft_free_many(units.size(), units.data()));
      CHILD_CHECK(last == 1);
    }), 0);
    EXPECT_TRUE(ok(weft_barrier_wait(&barrier, nullptr)));
  }
}

// Whose deadlines come while the child uses the object: those of units that are not there.
struct TimedWaiting {
  template <class F>
  explicit TimedWaiting(F wait) {
    for (uint64_t ms : {5u, 20u, 200u}) {
      calls.push_back(std::make_unique<Call>([wait, ms] { wait(weft_after(ms * 1'000'000)); }));
      units.push_back(calls.back()->ult());
      EXPECT_TRUE(wait_until([&] { return weft_unit_state(units.back()) != WEFT_UNIT_FRESH; }));
    }
  }
  ~TimedWaiting() { EXPECT_TRUE(ok(weft_free_many(units.size(), units.data()))); }
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
};

void child_sleeps() {
  const uint64_t until = weft_after(30'000'000);
  Call call([&] { CHILD_OK(weft_sleep_until(until)); });
  std::vector<weft_unit_t> units{call.ult(), call.ult()};
  CHILD_OK(weft_sleep(1'000'000));
  CHILD_OK(weft_free_many(units.size(), units.data()));
  CHILD_CHECK(weft_now() >= until);
}

TEST_P(ProcessSync, SleepersAndDeadlines) {
  weft_mutex_t mutex = WEFT_MUTEX_INIT;
  weft_cond_t cond = WEFT_COND_INIT;
  weft_event_t event = WEFT_EVENT_INIT;
  ASSERT_TRUE(ok(weft_mutex_lock(&mutex)));
  {
    TimedWaiting sleepers([](uint64_t deadline) { EXPECT_TRUE(ok(weft_sleep_until(deadline))); });
    TimedWaiting waiters([&](uint64_t deadline) {
      EXPECT_TRUE(fails(WEFT_ERR_TIMEOUT, weft_event_wait_until(&event, deadline)));
    });
    TimedWaiting lockers([&](uint64_t deadline) {
      EXPECT_TRUE(fails(WEFT_ERR_TIMEOUT, weft_mutex_lock_until(&mutex, deadline)));
    });
    EXPECT_EQ(run_in_child([&] {
      child_sleeps();
      CHILD_CHECK(weft_event_wait_until(&event, weft_after(1'000'000)) == WEFT_ERR_TIMEOUT);
      CHILD_CHECK(weft_mutex_lock_until(&mutex, weft_after(1'000'000)) == WEFT_ERR_TIMEOUT);
      CHILD_CHECK(weft_cond_wait_until(&cond, &mutex, weft_after(1'000'000)) == WEFT_ERR_TIMEOUT);
      CHILD_OK(weft_mutex_unlock(&mutex));
      contend(mutex);
      CHILD_CHECK(run_in_child(child_sleeps) == 0);
      CHILD_OK(weft_finalize());
    }), 0);
  }
  EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
}

TEST_P(ProcessSync, ARwlockThatTheCallerHolds) {
  weft_rwlock_t lock = WEFT_RWLOCK_INIT;
  const auto use = [&] {
    CHILD_OK(weft_rwlock_unlock(&lock));
    CHILD_CHECK(weft_rwlock_unlock(&lock) == WEFT_ERR_NOT_OWNER);
    int value = 0;
    Call writer([&] {
      for (int i = 0; i < 100; ++i) {
        CHILD_OK(weft_rwlock_wrlock(&lock));
        ++value;
        if (i % 8 == 0) weft_yield();
        CHILD_OK(weft_rwlock_unlock(&lock));
      }
    });
    Call reader([&] {
      for (int i = 0; i < 100; ++i) {
        CHILD_OK(weft_rwlock_rdlock(&lock));
        weft_yield();
        CHILD_OK(weft_rwlock_unlock(&lock));
      }
    });
    std::vector<weft_unit_t> units{writer.ult(), reader.ult(), writer.ult(), reader.ult()};
    CHILD_OK(weft_free_many(units.size(), units.data()));
    CHILD_CHECK(value == 200);
  };
  for (const bool write : {false, true}) {
    ASSERT_TRUE(ok(write ? weft_rwlock_wrlock(&lock) : weft_rwlock_rdlock(&lock)));
    Waiting waiting([&] {
      EXPECT_TRUE(ok(weft_rwlock_wrlock(&lock)));
      EXPECT_TRUE(ok(weft_rwlock_unlock(&lock)));
    });
    EXPECT_EQ(run_in_child(use), 0);
    EXPECT_TRUE(ok(weft_rwlock_unlock(&lock)));
  }
}

// What the parent's workers have counted is held still.
TEST_P(ProcessSync, ARwlockWhoseReadersAreCounted) {
  weft_rwlock_t lock = WEFT_RWLOCK_INIT;
  for (int i = 0; i < 5000; ++i) {
    ASSERT_TRUE(ok(weft_rwlock_rdlock(&lock)));
    ASSERT_TRUE(ok(weft_rwlock_unlock(&lock)));
  }
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(ok(weft_rwlock_rdlock(&lock)));
  EXPECT_EQ(run_in_child([&] {
    CHILD_OK(weft_rwlock_unlock(&lock));
    CHILD_CHECK(weft_rwlock_trywrlock(&lock) == WEFT_ERR_BUSY);
    CHILD_OK(weft_rwlock_unlock(&lock));
    CHILD_CHECK(weft_rwlock_unlock(&lock) == WEFT_ERR_NOT_OWNER);
    CHILD_OK(weft_rwlock_wrlock(&lock));
    CHILD_OK(weft_rwlock_unlock(&lock));
  }), 0);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(ok(weft_rwlock_unlock(&lock)));
  EXPECT_TRUE(fails(WEFT_ERR_NOT_OWNER, weft_rwlock_unlock(&lock)));
}

// A channel that one worker had to itself, and somebody who waits there.
TEST_P(ProcessSync, AChannelThatIsAWorkers) {
  weft_channel_t channel = nullptr;
  ASSERT_TRUE(ok(weft_channel_create(1, sizeof(int), &channel)));
  const auto pass = [&](int n) {
    for (int i = 0; i < n; ++i) {
      int got = -1;
      CHILD_OK(weft_channel_send(channel, &i));
      CHILD_OK(weft_channel_receive(channel, &got));
      CHILD_CHECK(got == i);
    }
  };
  pass(100);
  {
    Call call([&] {
      int got = -1;
      EXPECT_TRUE(ok(weft_channel_receive(channel, &got)));
      EXPECT_EQ(got, 0);
    });
    weft_unit_t unit = call.ult();
    ASSERT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
    EXPECT_EQ(run_in_child([&] { pass(100); }), 0);  // nobody takes anything away there
    const int sent = 0;
    EXPECT_TRUE(ok(weft_channel_send(channel, &sent)));
    EXPECT_TRUE(ok(weft_free(&unit)));
  }
  EXPECT_TRUE(ok(weft_channel_free(&channel)));
}

TEST_P(ProcessSync, ASemaphore) {
  weft_sem_t sem = WEFT_SEM_INIT(0);
  {
    Waiting waiting([&] { EXPECT_TRUE(ok(weft_sem_acquire(&sem))); });
    EXPECT_EQ(run_in_child([&] {
      CHILD_CHECK(weft_sem_tryacquire(&sem) == WEFT_ERR_BUSY);
      CHILD_OK(weft_sem_release(&sem, 2));
      CHILD_CHECK(weft_sem_value(&sem) == 2);  // nobody is there who would have been given one
      Call call([&] { CHILD_OK(weft_sem_acquire(&sem)); });
      std::vector<weft_unit_t> units{call.ult(), call.ult(), call.ult()};
      for (int i = 0; i < 10; ++i) weft_yield();
      CHILD_OK(weft_sem_release(&sem, 1));
      CHILD_OK(weft_free_many(units.size(), units.data()));
    }), 0);
    EXPECT_TRUE(ok(weft_sem_release(&sem, 2)));
  }
}

TEST_P(ProcessSync, AChannel) {
  weft_channel_t channel = nullptr;
  ASSERT_TRUE(ok(weft_channel_create(1, sizeof(int), &channel)));
  const int one = 1;
  const auto use = [&] {
    int value = 0;
    while (weft_channel_tryreceive(channel, &value) == WEFT_OK) {
    }
    int sum = 0;
    Call receiver([&] {
      int got = 0;
      while (weft_channel_receive(channel, &got) == WEFT_OK) sum += got;
    });
    weft_unit_t unit = receiver.ult();
    for (int i = 0; i < 10; ++i) CHILD_OK(weft_channel_send(channel, &one));
    CHILD_OK(weft_channel_close(channel));
    CHILD_OK(weft_free(&unit));
    CHILD_CHECK(sum == 10);
    CHILD_OK(weft_channel_free(&channel));
  };
  {
    Waiting receivers([&] {
      int value = 0;
      EXPECT_TRUE(ok(weft_channel_receive(channel, &value)));
    });
    EXPECT_EQ(run_in_child(use), 0);
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(ok(weft_channel_send(channel, &one)));
  }
  {
    EXPECT_TRUE(ok(weft_channel_send(channel, &one)));
    Waiting senders([&] { EXPECT_TRUE(ok(weft_channel_send(channel, &one))); });
    EXPECT_EQ(run_in_child(use), 0);
    int value = 0;
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(ok(weft_channel_receive(channel, &value)));
  }
  EXPECT_TRUE(ok(weft_channel_free(&channel)));
}

TEST_P(ProcessSync, ALatchAFutureAndAnyOfThem) {
  weft_latch_t latch = WEFT_LATCH_INIT(1);
  weft_future_t future = WEFT_FUTURE_INIT(1, nullptr, nullptr, nullptr);
  const weft_waitable_t both[] = {{WEFT_WAITABLE_LATCH, &latch}, {WEFT_WAITABLE_FUTURE, &future}};
  {
    Waiting any([&] { EXPECT_TRUE(ok(weft_wait_any(2, both, nullptr))); });
    Waiting one([&] { EXPECT_TRUE(ok(weft_latch_wait(&latch))); });
    Waiting other([&] { EXPECT_TRUE(ok(weft_future_wait(&future))); });
    EXPECT_EQ(run_in_child([&] {
      Call call([&] {
        size_t which = 9;
        CHILD_OK(weft_wait_any(2, both, &which));
        CHILD_CHECK(which == 1);
        CHILD_OK(weft_latch_wait(&latch));
      });
      weft_unit_t unit = call.ult();
      for (int i = 0; i < 10; ++i) weft_yield();
      CHILD_OK(weft_future_set(&future, nullptr));
      for (int i = 0; i < 10; ++i) weft_yield();
      CHILD_OK(weft_latch_count_down(&latch, 1));
      CHILD_OK(weft_free(&unit));
    }), 0);
    EXPECT_TRUE(ok(weft_latch_count_down(&latch, 1)));
    EXPECT_TRUE(ok(weft_future_set(&future, nullptr)));
  }
}

// A recursive mutex is the caller's in the child too.
TEST_P(ProcessSync, ARecursiveMutex) {
  weft_recursive_mutex_t mutex = WEFT_RECURSIVE_MUTEX_INIT;
  in_ult([&] {
    ASSERT_TRUE(ok(weft_recursive_mutex_lock(&mutex)));
    {
      Waiting waiting([&] {
        EXPECT_TRUE(ok(weft_recursive_mutex_lock(&mutex)));
        EXPECT_TRUE(ok(weft_recursive_mutex_unlock(&mutex)));
      });
      EXPECT_EQ(run_in_child([&] {
        CHILD_OK(weft_recursive_mutex_lock(&mutex));
        CHILD_OK(weft_recursive_mutex_unlock(&mutex));
        CHILD_OK(weft_recursive_mutex_unlock(&mutex));
        in_ult([&] { CHILD_OK(weft_recursive_mutex_lock(&mutex)); });
      }), 0);
      EXPECT_TRUE(ok(weft_recursive_mutex_unlock(&mutex)));
    }
  });
}

// A thread that is no KLT waits for a unit, and the process forks: the thread goes on afterwards.
TEST_P(ProcessSync, AThreadThatJoins) {
  weft_event_t event = WEFT_EVENT_INIT;
  Call call([&] { EXPECT_TRUE(ok(weft_event_wait(&event))); });
  weft_unit_t unit = call.ult();
  std::atomic<bool> joined{false};
  SteadyThread thread([&] {
    EXPECT_TRUE(ok(weft_free(&unit)));
    joined = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(run_in_child([&] { in_ult([] {}); }), 0);
  }
  EXPECT_TRUE(ok(weft_event_set(&event)));
  EXPECT_TRUE(wait_until([&] { return joined.load(); }));
  thread.join();
}

}  // namespace
