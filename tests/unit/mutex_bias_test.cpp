// A mutex that one worker has had to itself (src/sync/bias.hpp): that it comes to be biased, and everything that
// others may do with it then.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <new>
#include <thread>
#include <vector>

#include "klt/guard.hpp"
#include "klt/hand_over.hpp"
#include "sanitizer_switch.hpp"
#include "support/runtime_fixture.hpp"
#include "sync/mutex.hpp"
#include "unit/unit.hpp"
#include "weft/block.h"
#include "weft/sync.hpp"

namespace {

using namespace weft_test;

constexpr uint64_t kMs = 1'000'000;

bool biased(weft_mutex_t& mutex) { return weft::rt::is_biased(weft::rt::mutex_of(&mutex).state.load()); }

void lock_and_unlock(weft_mutex_t& mutex, int times = 1) {
  for (int i = 0; i < times; ++i) {
    ASSERT_TRUE(ok(weft_mutex_lock(&mutex)));
    ASSERT_TRUE(ok(weft_mutex_unlock(&mutex)));
  }
}

class MutexBias : public OneWorkerTest {
 protected:
  void SetUp() override {
    OneWorkerTest::SetUp();
    lock_and_unlock(mutex, 100);
    ASSERT_TRUE(biased(mutex));
  }
  weft_mutex_t mutex = WEFT_MUTEX_INIT;
};

TEST_F(MutexBias, ComesAfterAWhileOnly) {
  weft_mutex_t young = WEFT_MUTEX_INIT;
  lock_and_unlock(young, 3);
  EXPECT_FALSE(biased(young));
  for (int i = 0; i < 100; ++i) {
    lock_and_unlock(young);
    on_klt([&] { lock_and_unlock(young); });
  }
  EXPECT_FALSE(biased(young));  // never often enough in a row
}

TEST_F(MutexBias, KernelThreadsHaveNone) {
  weft_mutex_t plain = WEFT_MUTEX_INIT;
  on_klt([&] { lock_and_unlock(plain, 100); });
  EXPECT_FALSE(biased(plain));
}

TEST_F(MutexBias, AnswersAsAnyOther) {
  EXPECT_TRUE(fails(WEFT_ERR_NOT_OWNER, weft_mutex_unlock(&mutex)));
  lock_and_unlock(mutex);
  EXPECT_TRUE(ok(weft_mutex_trylock(&mutex)));
  EXPECT_TRUE(fails(WEFT_ERR_BUSY, weft_mutex_trylock(&mutex)));
  EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
  lock_and_unlock(mutex, 100);
  EXPECT_FALSE(biased(mutex));  // once taken away, for good
}

TEST_F(MutexBias, AUnitOfTheSameWorkerWaits) {
  ASSERT_TRUE(ok(weft_mutex_lock(&mutex)));
  bool inside = false;
  Call call([&] {
    ASSERT_TRUE(ok(weft_mutex_lock(&mutex)));
    inside = true;
    ASSERT_TRUE(ok(weft_mutex_unlock(&mutex)));
  });
  weft_unit_t unit = call.ult();
  ASSERT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
  EXPECT_FALSE(inside);
  EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_TRUE(inside);
}

TEST_F(MutexBias, AKernelThreadTakesAFreeOne) {
  on_klt([&] { lock_and_unlock(mutex); });
  lock_and_unlock(mutex);
}

TEST_F(MutexBias, AKernelThreadFindsItHeld) {
  ASSERT_TRUE(ok(weft_mutex_lock(&mutex)));
  on_klt([&] { EXPECT_TRUE(fails(WEFT_ERR_BUSY, weft_mutex_trylock(&mutex))); });
  EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
}

TEST_F(MutexBias, AKernelThreadGivesUpInTime) {
  ASSERT_TRUE(ok(weft_mutex_lock(&mutex)));
  on_klt([&] { EXPECT_TRUE(fails(WEFT_ERR_TIMEOUT, weft_mutex_lock_until(&mutex, weft_after(5 * kMs)))); });
  EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
  on_klt([&] { EXPECT_TRUE(ok(weft_mutex_lock_until(&mutex, weft_after(5 * kMs)))); });
  EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
}

TEST_F(MutexBias, AKernelThreadWaitsForIt) {
  ASSERT_TRUE(ok(weft_mutex_lock(&mutex)));
  std::atomic<bool> begun = false;
  bool held = true;  // guarded by mutex
  std::thread klt([&] {
    begun = true;
    ASSERT_TRUE(ok(weft_mutex_lock(&mutex)));
    EXPECT_FALSE(held);
    ASSERT_TRUE(ok(weft_mutex_unlock(&mutex)));
  });
  ASSERT_TRUE(wait_until([&] { return begun.load(); }));
  ASSERT_TRUE(wait_until([&] { return !biased(mutex); }));
  held = false;
  EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
  klt.join();
}

TEST_F(MutexBias, AKernelThreadUnlocksForIt) {
  ASSERT_TRUE(ok(weft_mutex_lock(&mutex)));
  on_klt([&] { EXPECT_TRUE(ok(weft_mutex_unlock(&mutex))); });
  lock_and_unlock(mutex);
}

TEST_F(MutexBias, AUnitMovesWhileItHoldsIt) {
  SideWorker side;
  weft_mutex_t own = WEFT_MUTEX_INIT;
  bool still_biased = false;
  weft_unit_attr_t attr = default_attr();
  attr.stack_size = 64 << 10;  // not run on this stack, which is pinned
  in_ult([&] {
    lock_and_unlock(own, 100);
    ASSERT_TRUE(ok(weft_mutex_lock(&own)));
    still_biased = biased(own);
    weft_worker_t here = weft_worker_self();
    ASSERT_TRUE(ok(weft_migrate(weft_self(), side.pool)));
    ASSERT_TRUE(wait_until([&] { return weft_worker_self() != here; }));
    EXPECT_TRUE(ok(weft_mutex_unlock(&own)));
  }, &attr);
  EXPECT_TRUE(still_biased);
  lock_and_unlock(own);
}

TEST_F(MutexBias, WithAConditionVariable) {
  weft_cond_t cond = WEFT_COND_INIT;
  int turn = 0;  // guarded by mutex
  const auto play = [&](int me) {
    ASSERT_TRUE(ok(weft_mutex_lock(&mutex)));
    for (int i = 0; i < 100; ++i) {
      while (turn != me) ASSERT_TRUE(ok(weft_cond_wait(&cond, &mutex)));
      turn = 1 - me;
      ASSERT_TRUE(ok(weft_cond_signal(&cond)));
    }
    ASSERT_TRUE(ok(weft_mutex_unlock(&mutex)));
  };
  Call other([&] { play(1); });
  weft_unit_t unit = other.ult();
  play(0);
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_TRUE(fails(WEFT_ERR_NOT_OWNER, weft_cond_wait(&cond, &mutex)));
  // And with a kernel thread, which takes the bias away while somebody waits.
  turn = 0;
  std::thread klt([&] { play(1); });
  play(0);
  klt.join();
}

TEST_F(MutexBias, EndsWhereItBecomesOpen) {
  ASSERT_TRUE(ok(weft_mutex_lock(&mutex)));
  EXPECT_TRUE(ok(weft_mutex_open(&mutex)));
  EXPECT_FALSE(biased(mutex));
  EXPECT_TRUE(fails(WEFT_ERR_BUSY, weft_mutex_trylock(&mutex)));
  EXPECT_TRUE(ok(weft_mutex_unlock(&mutex)));
  lock_and_unlock(mutex, 100);
  EXPECT_FALSE(biased(mutex));
}

TEST_F(MutexBias, OutlivesTheRuntime) {
  EXPECT_TRUE(ok(weft_finalize()));
  ASSERT_TRUE(biased(mutex));
  lock_and_unlock(mutex);
  weft_options_t options{};
  options.workers = 1;
  ASSERT_TRUE(ok(weft_initialize(&options)));
  lock_and_unlock(mutex);
}

// weft::mutex, which does in the program's own code what can be done without a call.
class MutexOwn : public OneWorkerTest {
 protected:
  void SetUp() override {
    OneWorkerTest::SetUp();
    for (int i = 0; i < 100; ++i) std::lock_guard hold(mutex);
    ASSERT_TRUE(biased(*mutex.native_handle()));
  }
  static weft::rt::OwnWords& own() { return *weft::rt::klt_self()->own.load(); }
  static uint32_t tag() { return own().tag; }
  static uint32_t tag(const weft::rt::Klt* klt) { return klt->own.load()->tag; }
  uint32_t state() { return weft::rt::mutex_of(mutex.native_handle()).state; }
  weft::mutex mutex;
};

TEST_F(MutexOwn, IsKnownByTheTagOfItsWorker) {
  EXPECT_EQ(tag(), weft::rt::san::kSignalsComeLate ? weft::rt::kNoTag : state());
}

TEST_F(MutexOwn, AnswersAsAnyOther) {
  EXPECT_THROW(mutex.unlock(), weft::error);
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
  mutex.lock();
  EXPECT_FALSE(mutex.try_lock());
  mutex.unlock();
  EXPECT_THROW(mutex.unlock(), weft::error);
}

TEST_F(MutexOwn, LeavesTheGuardAsItWas) {
  const auto down = [] { return !weft::rt::klt_is_inside(weft::rt::klt_self()); };
  mutex.lock();
  EXPECT_TRUE(down());
  EXPECT_FALSE(mutex.try_lock());
  EXPECT_TRUE(down());
  mutex.unlock();
  EXPECT_TRUE(down());
}

// By a destructor of an object with static storage, say.
TEST_F(MutexOwn, OutlivesTheRuntime) {
  EXPECT_TRUE(ok(weft_finalize()));
  for (int i = 0; i < 2; ++i) std::lock_guard hold(mutex);
  weft_options_t options{};
  options.workers = 1;
  ASSERT_TRUE(ok(weft_initialize(&options)));
  std::lock_guard hold(mutex);
}

// What others want of a worker is done at the latest when it is unlocked.
TEST_F(MutexOwn, AnswersThoseWhoWantSomething) {
  mutex.lock();
  weft::rt::klt_self()->attention.fetch_or(weft::rt::attention::kTimer);
  mutex.unlock();
  EXPECT_EQ(weft::rt::klt_self()->attention & weft::rt::attention::kTimer, 0u);
}

// Which may stand there all the time.
TEST_F(MutexOwn, LeavesHungerToWhoPushes) {
  mutex.lock();
  weft::rt::klt_self()->attention.fetch_or(weft::rt::attention::kHungry);
  mutex.unlock();
  EXPECT_NE(weft::rt::klt_self()->attention & weft::rt::attention::kHungry, 0u);
  EXPECT_TRUE(ok(weft_mutex_lock(mutex.native_handle())));
  EXPECT_TRUE(ok((&weft_mutex_unlock)(mutex.native_handle())));
  EXPECT_NE(weft::rt::klt_self()->attention & weft::rt::attention::kHungry, 0u);
  weft_yield();
  EXPECT_EQ(weft::rt::klt_self()->attention & weft::rt::attention::kHungry, 0u);
}

// Where to say that a thread is in it would be to lower its guard.
TEST_F(MutexOwn, NotAtAnAddressThatTheGuardCannotTell) {
  const auto map_at = [](uintptr_t address) -> void* {
    void* page = mmap(reinterpret_cast<void*>(address), 4096, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (page == MAP_FAILED || reinterpret_cast<uintptr_t>(page) == address) return page;
    munmap(page, 4096);
    return MAP_FAILED;
  };
  void* page = MAP_FAILED;
  for (uintptr_t i = 0x10; i < 0x7fff && page == MAP_FAILED; ++i) page = map_at(i << 32);
  ASSERT_NE(page, MAP_FAILED);
  auto* odd = ::new (page) weft::mutex;
  for (int i = 0; i < 100; ++i) std::lock_guard hold(*odd);
  EXPECT_FALSE(biased(*odd->native_handle()));
  EXPECT_EQ(munmap(page, 4096), 0);
}

TEST_F(MutexOwn, OtherThreadsHaveNoTag) {
  mutex.lock();
  on_klt([&] { EXPECT_FALSE(mutex.try_lock()); });
  mutex.unlock();
  EXPECT_FALSE(biased(*mutex.native_handle()));
  on_klt([&] { std::lock_guard hold(mutex); });
}

// Who blocks says so, and its worker goes on: the thread has no mutex to itself until it is back.
TEST_F(MutexOwn, NotWhileTheWorkerIsElsewhere) {
  weft_blocking_begin();
  EXPECT_EQ(tag(), weft::rt::kNoTag);
  weft_blocking_end();
}

// A ULT with a thread pointer of its own asks the library each time; its thread's words are for others.
TEST_F(MutexOwn, IdentitiesHaveNoTag) {
  if (const char* why = weft::rt::san::no_identities()) GTEST_SKIP() << why;
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.identity = WEFT_IDENTITY_OWN;
  in_ult([&] {
    for (int i = 0; i < 3; ++i) std::lock_guard hold(mutex);
    if (weft::rt::unit_owns(weft::rt::klt_current(), weft::rt::own::kIdentity)) {
      EXPECT_EQ(weft::rt::weft_rt_own.tag, weft::rt::kNoTag);
    }
  }, &attr);
  EXPECT_TRUE(biased(*mutex.native_handle()));
}

// ---- in the middle of it: what the thread has said of itself counts as a guard

// As if the caller were between the first and the last instruction of a lock().
class MutexOwnInside : public MutexOwn {
 protected:
  void SetUp() override {
    MutexOwn::SetUp();
    if (weft::rt::san::kSignalsComeLate) GTEST_SKIP() << "all by calls";
  }
  void come_in() { own().mutex = weft::rt::guard_in(mutex.native_handle()); }
  void go_out() { own().mutex = 0; }
};

TEST_F(MutexOwnInside, WhoeverTakesTheBiasAwayWaits) {
  std::atomic<bool> has_it{false};
  come_in();
  std::thread other([&] {
    std::lock_guard hold(mutex);
    has_it = true;
  });
  while (biased(*mutex.native_handle())) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(has_it);
  go_out();
  other.join();
  EXPECT_TRUE(has_it);
}

TEST_F(MutexOwnInside, NobodyTakesTheWorker) {
  weft::rt::Klt* const self = weft::rt::klt_self();
  weft::rt::Worker* const worker = self->worker;
  come_in();
  on_klt([&] {
    for (int i = 0; i < 100; ++i) {
      weft::rt::Klt* victim = weft::rt::take_begin(worker);
      EXPECT_EQ(victim, nullptr);
      if (victim != nullptr) weft::rt::take_retract(worker, victim);
      std::this_thread::sleep_for(std::chrono::microseconds(100));  // it may be coming here still
    }
  });
  go_out();
  EXPECT_EQ(self->worker, worker);
  on_klt([&] {
    weft::rt::Klt* victim;
    while ((victim = weft::rt::take_begin(worker)) == nullptr) std::this_thread::yield();
    EXPECT_EQ(victim, self);
    EXPECT_EQ(tag(self), weft::rt::kNoTag);
    weft::rt::take_retract(worker, self);
  });
  std::lock_guard hold(mutex);
}

TEST_F(MutexOwnInside, WhoeverForksWaits) {
  std::atomic<bool> forked{false};
  come_in();
  std::thread other([&] {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    forked = true;
    EXPECT_EQ(waitpid(child, nullptr, 0), child);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(forked);
  go_out();
  other.join();
}

// Acted on by the unlock, where one comes.
TEST_F(MutexOwnInside, ATickIsNoted) {
  ASSERT_TRUE(ok(weft_preemption_set_default(WEFT_PREEMPTION_SIGNAL_YIELD)));
  ASSERT_TRUE(ok(weft_preemption_set_mode(WEFT_PREEMPTION_ON)));
  const weft::rt::Klt* self = weft::rt::klt_self();
  const uint64_t before = self->tick_handled;
  come_in();
  while (self->tick_handled == before) {
  }
  EXPECT_NE(self->attention & weft::rt::attention::kPreempt, 0u);
  go_out();
  EXPECT_TRUE(ok(weft_preemption_set_mode(WEFT_PREEMPTION_OFF)));
}

// Who locks looks for no note: another tick comes.
TEST_F(MutexOwnInside, ATickComesAgain) {
  ASSERT_TRUE(ok(weft_preemption_set_default(WEFT_PREEMPTION_SIGNAL_YIELD)));
  ASSERT_TRUE(ok(weft_preemption_set_mode(WEFT_PREEMPTION_ON)));
  std::atomic<bool> flag{false};
  Call sets([&] { flag = true; });
  Call spins([&] {
    const weft::rt::Klt* self = weft::rt::klt_self();
    uint64_t last = self->tick_handled;
    come_in();
    // Long enough for a spare KLT.
    unsigned ticks = 0;
    for (const uint64_t stop = weft_after(20 * kMs); ticks < 3 || weft_now() < stop;) {
      if (self->tick_handled != last) ++ticks;
      last = self->tick_handled;
    }
    EXPECT_FALSE(flag);
    go_out();
    while (!flag) {
    }
  });
  weft_unit_t units[] = {spins.ult(), sets.ult()};
  EXPECT_TRUE(ok(weft_free_many(2, units)));
  EXPECT_TRUE(ok(weft_preemption_set_mode(WEFT_PREEMPTION_OFF)));
}

}  // namespace
