// weft_wait_in_place(): a unit whose worker waits with it.
#include "support/runtime_fixture.hpp"

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

}  // namespace
