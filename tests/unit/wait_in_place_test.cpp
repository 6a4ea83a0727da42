// weft_wait_in_place(): a unit whose worker waits with it.
#include "support/runtime_fixture.hpp"
#include "sync/wait_queue.hpp"

namespace {

using namespace weft_test;

class WaitInPlace : public RuntimeTest {};

class InPlace {
 public:
  InPlace() : was_(weft_wait_in_place(true)) {}
  ~InPlace() { EXPECT_TRUE(weft_wait_in_place(was_)); }

 private:
  bool was_;
};

// What each kind of object lets a tasklet wait for, while another worker gives it.
TEST_F(WaitInPlace, LetsATaskletWait) {
  SideWorker side;
  const weft_unit_attr_t attr = side.attr();
  weft_mutex_t mutex = WEFT_MUTEX_INIT;
  weft_event_t held = WEFT_EVENT_INIT;
  weft_event_t event = WEFT_EVENT_INIT;
  weft_cond_t cond = WEFT_COND_INIT;
  weft_rwlock_t rwlock = WEFT_RWLOCK_INIT;
  weft_sem_t sem = WEFT_SEM_INIT(0);
  weft_barrier_t barrier = WEFT_BARRIER_INIT(2);
  bool ready = false;
  int protected_by_mutex = 0;
  ASSERT_TRUE(ok(weft_mutex_lock(&mutex)));
  ASSERT_TRUE(ok(weft_rwlock_wrlock(&rwlock)));
  Call tasklet([&] {
    EXPECT_TRUE(fails(WEFT_ERR_CONTEXT, weft_mutex_lock(&mutex)));
    InPlace in_place;
    EXPECT_TRUE(ok(weft_event_set(&held)));
    EXPECT_TRUE(ok(weft_mutex_lock(&mutex)));
    EXPECT_EQ(protected_by_mutex, 1);
    while (!ready) EXPECT_TRUE(ok(weft_cond_wait(&cond, &mutex)));
    EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
    EXPECT_TRUE(ok(weft_event_wait(&event)));
    EXPECT_TRUE(ok(weft_rwlock_rdlock(&rwlock)));
    EXPECT_TRUE(ok(weft_rwlock_unlock(&rwlock)));
    EXPECT_TRUE(ok(weft_sem_acquire(&sem)));
    EXPECT_TRUE(ok(weft_barrier_wait(&barrier, nullptr)));
    EXPECT_TRUE(ok(weft_sleep(1'000'000)));
  });
  weft_unit_t unit = tasklet.tasklet(&attr);
  EXPECT_TRUE(ok(weft_event_wait(&held)));
  EXPECT_TRUE(ok(weft_sleep(5'000'000)));  // it has come to the mutex, most times
  protected_by_mutex = 1;
  EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
  EXPECT_TRUE(ok(weft_sleep(5'000'000)));
  EXPECT_TRUE(ok(weft_mutex_lock(&mutex)));
  ready = true;
  EXPECT_TRUE(ok(weft_cond_signal(&cond)));
  EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
  EXPECT_TRUE(ok(weft_event_set(&event)));
  EXPECT_TRUE(ok(weft_rwlock_unlock(&rwlock)));
  EXPECT_TRUE(ok(weft_sem_release(&sem, 1)));
  EXPECT_TRUE(ok(weft_barrier_wait(&barrier, nullptr)));
  EXPECT_TRUE(ok(weft_free(&unit)));
}

TEST_F(WaitInPlace, LetsATaskletJoin) {
  SideWorker side;
  const weft_unit_attr_t attr = side.attr();
  Call ult([] { EXPECT_TRUE(ok(weft_sleep(2'000'000))); });
  in_tasklet([&] {
    weft_unit_t unit = ult.ult(&attr);
    EXPECT_TRUE(fails(WEFT_ERR_CONTEXT, weft_join(unit)));
    InPlace in_place;
    EXPECT_TRUE(ok(weft_join(unit)));
    EXPECT_TRUE(ok(weft_free(&unit)));
  });
}

// The deadline comes, and it is the kernel that waits for it.
TEST_F(WaitInPlace, EndsAtTheDeadline) {
  weft_event_t event = WEFT_EVENT_INIT;
  weft_mutex_t mutex = WEFT_MUTEX_INIT;
  weft_cond_t cond = WEFT_COND_INIT;
  in_tasklet([&] {
    InPlace in_place;
    const uint64_t before = weft_now();
    EXPECT_TRUE(fails(WEFT_ERR_TIMEOUT, weft_event_wait_until(&event, weft_after(3'000'000))));
    EXPECT_TRUE(ok(weft_mutex_lock(&mutex)));
    EXPECT_TRUE(fails(WEFT_ERR_TIMEOUT, weft_cond_wait_until(&cond, &mutex, weft_after(3'000'000))));
    EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
    EXPECT_GE(weft_now() - before, 6'000'000u);
  });
}

// Nothing else runs on the worker of a ULT that waits in place.
TEST_F(WaitInPlace, KeepsTheWorkerOfAUlt) {
  SideWorker side;
  const weft_unit_attr_t attr = side.attr();
  weft_event_t event = WEFT_EVENT_INIT;
  weft_event_t begun = WEFT_EVENT_INIT;
  std::atomic<bool> overtaken = false;
  std::atomic<bool> passed = false;
  Call waiter([&] {
    InPlace in_place;
    EXPECT_TRUE(ok(weft_event_set(&begun)));
    EXPECT_TRUE(ok(weft_event_wait(&event)));
    passed = true;
    EXPECT_FALSE(overtaken);
  });
  Call other([&] {
    EXPECT_TRUE(passed);
    overtaken = true;
  });
  weft_unit_t units[] = {waiter.ult(&attr), nullptr};
  EXPECT_TRUE(ok(weft_event_wait(&begun)));
  units[1] = other.ult(&attr);
  EXPECT_TRUE(ok(weft_sleep(5'000'000)));
  EXPECT_FALSE(overtaken);
  EXPECT_TRUE(ok(weft_event_set(&event)));
  EXPECT_TRUE(ok(weft_free_many(2, units)));
  EXPECT_TRUE(overtaken);
}

class WaitInPlaceAlone : public OneWorkerTest {
 protected:
  void SetUp() override {
    OneWorkerTest::SetUp();
    ASSERT_TRUE(ok(weft_channel_create(1, sizeof(int), &there_)));
    ASSERT_TRUE(ok(weft_channel_create(1, sizeof(int), &back_)));
  }
  void TearDown() override {
    EXPECT_TRUE(ok(weft_channel_free(&there_)));
    EXPECT_TRUE(ok(weft_channel_free(&back_)));
    OneWorkerTest::TearDown();
  }
  // Two of them make the lists their worker's own.
  void take_turns(int me) {
    int element = 0;
    EXPECT_TRUE(ok(weft_mutex_lock(&mutex_)));
    for (int i = 0; i < 100; ++i) {
      while (turn_ != me) EXPECT_TRUE(ok(weft_cond_wait(&cond_, &mutex_)));
      turn_ = 1 - me;
      EXPECT_TRUE(ok(weft_cond_signal(&cond_)));
    }
    EXPECT_TRUE(ok(weft_mutex_unlock(&mutex_)));
    for (int i = 0; i < 100; ++i) {
      if (me == 0) weft_channel_send(there_, &element);
      EXPECT_TRUE(ok(weft_channel_receive(me == 0 ? back_ : there_, &element)));
      if (me == 1) weft_channel_send(back_, &element);
    }
  }

  weft_channel_t there_ = nullptr, back_ = nullptr;
  weft_mutex_t mutex_ = WEFT_MUTEX_INIT;
  weft_cond_t cond_ = WEFT_COND_INIT;
  int turn_ = 0;  // guarded by mutex_
};

// Where what it waits for is its worker's own by now, and another one of that worker is ready, to which it could switch.
TEST_F(WaitInPlaceAlone, KeepsTheWorkerWhereTheListIsItsOwn) {
  std::atomic<int> waits = 0;
  bool passed = false;
  Call idler([&] {
    while (!passed) {
      EXPECT_EQ(waits, 0) << "its worker has left it";
      weft_yield();
    }
  });
  Call partner([&] { take_turns(1); });
  Call waiter([&] {
    take_turns(0);
    weft_unit_t other = idler.ult();
    for (int i = 0; i < 100; ++i) weft_yield();
    {
      InPlace in_place;
      int element = 0;
      waits = 1;
      EXPECT_TRUE(ok(weft_channel_receive(there_, &element)));
      EXPECT_EQ(element, 7);
      EXPECT_TRUE(ok(weft_mutex_lock(&mutex_)));
      waits = 2;
      while (turn_ != 7) EXPECT_TRUE(ok(weft_cond_wait(&cond_, &mutex_)));
      EXPECT_TRUE(ok(weft_mutex_unlock(&mutex_)));
    }
    waits = 0;
    passed = true;
    EXPECT_TRUE(ok(weft_free(&other)));
  });
  std::thread klt([&] {
    const int element = 7;
    while (waits != 1) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(ok(weft_channel_send(there_, &element)));
    while (waits != 2) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(ok(weft_mutex_lock(&mutex_)));
    turn_ = 7;
    EXPECT_TRUE(ok(weft_mutex_unlock(&mutex_)));
    EXPECT_TRUE(ok(weft_cond_signal(&cond_)));
  });
  weft_unit_t units[] = {partner.ult(), waiter.ult()};
  EXPECT_TRUE(ok(weft_free_many(2, units)));
  klt.join();
}

// It is off again where it is turned off, and where the unit is revived.
TEST_F(WaitInPlace, Ends) {
  weft_event_t event = WEFT_EVENT_INIT;
  Call forgets([&] { EXPECT_FALSE(weft_wait_in_place(true)); });
  weft_unit_t unit = forgets.tasklet();
  EXPECT_TRUE(ok(weft_join(unit)));
  Call again([&] {
    EXPECT_FALSE(weft_wait_in_place(false));
    EXPECT_TRUE(fails(WEFT_ERR_CONTEXT, weft_event_wait(&event)));
  });
  EXPECT_TRUE(ok(weft_revive(unit, &Call::run, &again)));
  EXPECT_TRUE(ok(weft_free(&unit)));
  on_klt([] {
    EXPECT_TRUE(weft_wait_in_place(false));
    EXPECT_TRUE(weft_wait_in_place(false));
  });
}

// ---- an open mutex: who waits for it in place may keep the one from running that was woken for it ----

struct OpenMutex : WaitInPlace {
  void lock() { EXPECT_TRUE(ok(weft_mutex_lock(&mutex))); }
  void unlock() { EXPECT_TRUE(ok(weft_mutex_unlock(&mutex))); }
  void lock_in_place() {
    InPlace in_place;
    lock();
  }
  bool has_waiter() { return (std::atomic_ref(mutex.state).load() & weft::rt::sync_bit::kWaiters) != 0; }

  weft_mutex_t mutex = WEFT_MUTEX_OPEN_INIT;
};

// It is free when the holder has unlocked it, also where a ULT of this worker waits.
TEST_F(OpenMutex, IsNotHandedToAUlt) {
  SideWorker side;
  const weft_unit_attr_t attr = side.attr();
  Call waiter([&] {
    lock();
    unlock();
  });
  Call holder([&] {
    lock();
    weft_unit_t unit = waiter.ult(&attr);
    EXPECT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
    unlock();
    lock_in_place();
    unlock();
    EXPECT_TRUE(ok(weft_free(&unit)));
  });
  weft_unit_t unit = holder.ult(&attr);
  EXPECT_TRUE(ok(weft_free(&unit)));
}

// Who is in the way is preferred.
TEST_F(OpenMutex, IsGivenFirstToWhoWaitsInPlace) {
  SideWorker side;
  const weft_unit_attr_t attr = side.attr();
  lock();
  Call ult([&] {
    lock();
    unlock();
  });
  Call tasklet([&] {
    lock_in_place();
    unlock();
  });
  weft_unit_t units[] = {ult.ult(&attr), nullptr, nullptr};
  ASSERT_TRUE(wait_until([&] { return weft_unit_state(units[0]) == WEFT_UNIT_BLOCKED; }));
  units[1] = tasklet.tasklet(&attr);
  EXPECT_TRUE(ok(weft_sleep(5'000'000)));  // it waits now, most times
  units[2] = ult.ult(&attr);
  unlock();
  EXPECT_TRUE(ok(weft_free_many(3, units)));
}

// Who has been woken and cannot run does not count as the one who comes for it.
TEST_F(OpenMutex, WakesWhoWaitsInPlaceThoughAnotherIsUnderWay) {
  SideWorker side;
  const weft_unit_attr_t attr = side.attr();
  lock();
  Call ult([&] {
    lock();
    unlock();
  });
  std::atomic<int> step = 0;
  Call in_the_way([&] {
    step = 1;
    while (step != 2) {
    }
    lock_in_place();
    unlock();
  });
  weft_unit_t units[] = {ult.ult(&attr), nullptr};
  ASSERT_TRUE(wait_until([&] { return weft_unit_state(units[0]) == WEFT_UNIT_BLOCKED; }));
  units[1] = in_the_way.ult(&attr);
  ASSERT_TRUE(wait_until([&] { return step == 1; }));
  unlock();  // wakes the first, behind the second
  lock();
  step = 2;
  ASSERT_TRUE(wait_until([&] { return has_waiter(); }));
  EXPECT_TRUE(ok(weft_sleep(1'000'000)));
  unlock();
  EXPECT_TRUE(ok(weft_free_many(2, units)));
}

// ULTs, tasklets and threads at once; and it may become open late.
TEST_F(OpenMutex, KeepsEverybodyElseOut) {
  constexpr int kTimes = 500;
  SideWorker side;
  const weft_unit_attr_t attr = side.attr();
  for (const bool from_the_start : {true, false}) {
    mutex = WEFT_MUTEX_INIT;
    if (from_the_start) mutex = WEFT_MUTEX_OPEN_INIT;
    int counter = 0;
    const auto work = [&](bool in_place) {
      for (int i = 0; i < kTimes; ++i) {
        EXPECT_TRUE(ok(weft_mutex_open(&mutex)));
        if (in_place) {
          lock_in_place();
        } else {
          lock();
        }
        ++counter;
        if (i % 8 == 0) std::this_thread::yield();
        unlock();
        if (i % 32 == 0 && !in_place) weft_yield();
      }
    };
    Call ult([&] { work(false); });
    Call spinner([&] { work(true); });
    std::vector<weft_unit_t> units;
    for (int i = 0; i < 4; ++i) {
      for (const weft_unit_attr_t* where : {&attr, static_cast<const weft_unit_attr_t*>(nullptr)}) {
        units.push_back(ult.ult(where));
        units.push_back(spinner.ult(where));
        units.push_back(spinner.tasklet(where));
      }
    }
    std::thread klt([&] { work(false); });
    EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
    klt.join();
    EXPECT_EQ(counter, 25 * kTimes);
  }
}

}  // namespace
