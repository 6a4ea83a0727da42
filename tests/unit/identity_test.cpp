// ULTs with an identity of their own: thread-local storage, errno, keys, pthread_self(), for life.
#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cfenv>
#include <cwchar>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "sanitizer_switch.hpp"
#include "support/forked_child.hpp"
#include "support/runtime_fixture.hpp"
#include "weft/identity.h"
#include "weft/preempt.h"
#include "weft/weft.hpp"

namespace {

using namespace weft_test;

weft_unit_attr_t own_identity() {
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.identity = WEFT_IDENTITY_OWN;
  return attr;
}

bool supported() {
  weft_identity_info_t info;
  EXPECT_TRUE(ok(weft_identity_info(&info)));
  return info.why_not == nullptr;
}

// Not inlined: a ULT of worker identity may be on another thread each time.
[[gnu::noinline]] int get_errno() { return errno; }
[[gnu::noinline]] void set_errno(int value) { errno = value; }

thread_local int variable = 7;
[[gnu::noinline]] int& here() { return variable; }

class Identity : public WorkersTest {
 protected:
  void SetUp() override {
    WorkersTest::SetUp();
    if (const char* why = weft::rt::san::no_identities()) GTEST_SKIP() << why;
    ASSERT_TRUE(supported());
  }
  // f(i) in n ULTs at once, each with an identity of its own.
  template <class F>
  void in_each(int n, F f) {
    const weft_unit_attr_t attr = own_identity();
    std::vector<std::unique_ptr<Call>> calls;
    std::vector<weft_unit_t> units;
    for (int i = 0; i < n; ++i) calls.push_back(std::make_unique<Call>([=] { f(i); }));
    for (auto& call : calls) units.push_back(call->ult(&attr));
    for (auto& unit : units) EXPECT_TRUE(ok(weft_free(&unit)));
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, Identity, kWorkerCounts);

TEST_P(Identity, StaysWithTheUlt) {
  in_each(64, [](int i) {
    const pthread_t self = pthread_self();
    EXPECT_EQ(here(), 7);
    here() = i;
    set_errno(1000 + i);
    int* const address = &here();
    for (int round = 0; round < 200; ++round) {
      weft_yield();
      ASSERT_EQ(here(), i);
      ASSERT_EQ(&here(), address);
      ASSERT_EQ(get_errno(), 1000 + i);
      ASSERT_TRUE(pthread_equal(pthread_self(), self));
    }
  });
}

TEST_P(Identity, NoTwoAtOnceAreTheSame) {
  std::mutex lock;
  std::set<pthread_t> seen;
  weft::barrier all(32);
  in_each(32, [&](int) {
    {
      const std::lock_guard hold(lock);
      seen.insert(pthread_self());
    }
    all.arrive_and_wait();
  });
  EXPECT_EQ(seen.size(), 32u);
}

TEST_P(Identity, BeginsLikeANewThread) {
  for (int round = 0; round < 50; ++round) {
    in_each(4, [](int i) {
      ASSERT_EQ(here(), 7);
      ASSERT_EQ(get_errno(), 0);
      here() = i;
      set_errno(EINVAL);
    });
  }
}

TEST_P(Identity, OthersKeepThatOfTheirWorker) {
  const int native = here();
  Call call([] {
    for (int i = 0; i < 100; ++i) {
      here() = 5;
      weft_yield();
      ASSERT_EQ(here(), 5);
    }
  });
  const weft_unit_attr_t attr = own_identity();
  weft_unit_t unit = call.ult(&attr);
  std::vector<weft_unit_t> others;
  Call other([native] {
    for (int i = 0; i < 100; ++i) {
      weft_yield();
      ASSERT_EQ(here(), native);
    }
  });
  for (int i = 0; i < 8; ++i) others.push_back(other.ult());
  EXPECT_TRUE(ok(weft_free_many(others.size(), others.data())));
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_EQ(here(), native);
}

TEST_P(Identity, RevivedItKeepsItsValues) {
  const weft_unit_attr_t attr = own_identity();
  pthread_t first{};
  Call call([&] {
    here() = 42;
    first = pthread_self();
  });
  Call again([&] {
    EXPECT_EQ(here(), 42);
    EXPECT_TRUE(pthread_equal(pthread_self(), first));
    ++here();
  });
  weft_unit_t unit = call.ult(&attr);
  EXPECT_TRUE(ok(weft_join(unit)));
  EXPECT_TRUE(ok(weft_revive(unit, &Call::run, &again)));
  EXPECT_TRUE(ok(weft_join(unit)));
  Call third([] { EXPECT_EQ(here(), 43); });
  EXPECT_TRUE(ok(weft_revive(unit, &Call::run, &third)));
  EXPECT_TRUE(ok(weft_free(&unit)));
}

// ---- destructors

std::atomic<int> constructed{0}, destroyed{0}, destroyed_elsewhere{0};
struct Watched {
  Watched() { ++constructed; }
  ~Watched() {
    ++destroyed;
    if (!pthread_equal(pthread_self(), mine)) ++destroyed_elsewhere;
  }
  pthread_t mine = pthread_self();
};
[[gnu::noinline]] Watched& watched() {
  thread_local Watched object;
  return object;
}

TEST_P(Identity, DestructorsRunOnIt) {
  constructed = destroyed = destroyed_elsewhere = 0;
  in_each(20, [](int) {
    watched();
    weft_yield();
    watched();
  });
  EXPECT_EQ(constructed, 20);
  EXPECT_EQ(destroyed, 20);
  EXPECT_EQ(destroyed_elsewhere, 0);
}

TEST_P(Identity, DestructorsOfADetachedOneRunAtItsEnd) {
  constructed = destroyed = destroyed_elsewhere = 0;
  const weft_unit_attr_t attr = own_identity();
  std::atomic<int> runs{0};
  Call call([&] {
    watched();
    ++runs;
  });
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(ok(weft_ult_create(&Call::run, &call, &attr, nullptr)));
  EXPECT_TRUE(wait_until([] { return destroyed == 10; }));
  EXPECT_EQ(destroyed_elsewhere, 0);
}

TEST_P(Identity, RevivalsDestroyNothing) {
  constructed = destroyed = 0;
  const weft_unit_attr_t attr = own_identity();
  Call call([] { watched(); });
  weft_unit_t unit = call.ult(&attr);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(ok(weft_join(unit)));
    EXPECT_TRUE(ok(weft_revive(unit, &Call::run, &call)));
  }
  EXPECT_TRUE(ok(weft_join(unit)));
  EXPECT_EQ(constructed, 1);
  EXPECT_EQ(destroyed, 0);
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_EQ(destroyed, 1);
}

pthread_key_t key;
std::atomic<int> values_destroyed{0};

TEST_P(Identity, KeysAreItsOwn) {
  values_destroyed = 0;
  ASSERT_EQ(pthread_key_create(&key, [](void*) { ++values_destroyed; }), 0);
  in_each(16, [](int i) {
    EXPECT_EQ(pthread_getspecific(key), nullptr);
    pthread_setspecific(key, reinterpret_cast<void*>(static_cast<intptr_t>(i + 1)));
    for (int round = 0; round < 10; ++round) {
      weft_yield();
      ASSERT_EQ(pthread_getspecific(key), reinterpret_cast<void*>(static_cast<intptr_t>(i + 1)));
    }
  });
  EXPECT_EQ(values_destroyed, 16);
  pthread_key_delete(key);
}

TEST_P(Identity, ManyKeys) {
  std::vector<pthread_key_t> keys(100);
  for (auto& k : keys) ASSERT_EQ(pthread_key_create(&k, [](void*) { ++values_destroyed; }), 0);
  for (int round = 0; round < 3; ++round) {
    values_destroyed = 0;
    in_each(3, [&](int) {
      for (auto k : keys) EXPECT_EQ(pthread_getspecific(k), nullptr);
      for (auto k : keys) pthread_setspecific(k, &key);
    });
    EXPECT_EQ(values_destroyed, 300);
  }
  for (auto k : keys) pthread_key_delete(k);
}

// A destructor may wait, and make new values.
TEST_P(Identity, ADestructorMayUseWeft) {
  static weft_event_t event;
  event = WEFT_EVENT_INIT;
  values_destroyed = 0;
  ASSERT_EQ(pthread_key_create(&key, [](void* value) {
              EXPECT_TRUE(ok(weft_event_wait(&event)));
              if (value != nullptr && ++values_destroyed == 1) pthread_setspecific(key, &key);
            }), 0);
  Call sets([&] { EXPECT_TRUE(ok(weft_event_set(&event))); });
  weft_unit_t setter = nullptr;
  const weft_unit_attr_t attr = own_identity();
  Call call([&] {
    pthread_setspecific(key, &key);
    setter = sets.ult();
  });
  weft_unit_t unit = call.ult(&attr);
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_EQ(values_destroyed, 2);
  EXPECT_TRUE(ok(weft_free(&setter)));
  pthread_key_delete(key);
}

// ---- what else a thread has

TEST_P(Identity, RecursiveMutexesKnowTheirOwner) {
  pthread_mutexattr_t recursive;
  pthread_mutexattr_init(&recursive);
  pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_t mutex;
  pthread_mutex_init(&mutex, &recursive);
  std::atomic<bool> held{false}, tried{false};
  in_each(2, [&](int i) {
    if (i == 0) {
      EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
      held = true;
      while (!tried) weft_yield();
      EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
      EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
      EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
    } else {
      while (!held) weft_yield();
      EXPECT_EQ(pthread_mutex_trylock(&mutex), EBUSY);
      tried = true;
    }
  });
  pthread_mutex_destroy(&mutex);
  pthread_mutexattr_destroy(&recursive);
}

TEST_P(Identity, ARobustMutexTellsOfItsEnd) {
  pthread_mutexattr_t robust;
  pthread_mutexattr_init(&robust);
  pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_t one, two;
  pthread_mutex_init(&one, &robust);
  pthread_mutex_init(&two, &robust);
  in_each(1, [&](int) {
    EXPECT_EQ(pthread_mutex_lock(&one), 0);
    EXPECT_EQ(pthread_mutex_lock(&two), 0);
  });
  in_each(1, [&](int) {
    for (pthread_mutex_t* mutex : {&one, &two}) {
      EXPECT_EQ(pthread_mutex_lock(mutex), EOWNERDEAD);
      EXPECT_EQ(pthread_mutex_consistent(mutex), 0);
      EXPECT_EQ(pthread_mutex_unlock(mutex), 0);
    }
  });
  EXPECT_EQ(pthread_mutex_lock(&one), 0);
  EXPECT_EQ(pthread_mutex_unlock(&one), 0);
  pthread_mutex_destroy(&one);
  pthread_mutex_destroy(&two);
  pthread_mutexattr_destroy(&robust);
}

TEST_P(Identity, ALocaleIsLeftBehind) {
  const locale_t c = newlocale(LC_ALL_MASK, "C.UTF-8", nullptr);
  ASSERT_NE(c, nullptr);
  in_each(2, [c](int) {
    EXPECT_EQ(uselocale(nullptr), LC_GLOBAL_LOCALE);
    uselocale(c);
    weft_yield();
    EXPECT_EQ(uselocale(nullptr), c);
  });
  in_each(2, [](int) {
    EXPECT_EQ(uselocale(nullptr), LC_GLOBAL_LOCALE);
    EXPECT_NE(isalpha('a'), 0);
  });
  freelocale(c);
}

TEST_P(Identity, KnowsItsCpu) {
  in_each(4, [](int) { EXPECT_GE(sched_getcpu(), 0); });
}

TEST_P(Identity, ExceptionsAcrossSwitches) {
  in_each(16, [](int i) {
    for (int round = 0; round < 20; ++round) {
      try {
        weft_yield();
        throw std::runtime_error(std::to_string(i));
      } catch (const std::runtime_error& e) {
        weft_yield();
        ASSERT_EQ(e.what(), std::to_string(i));
        try {
          throw 5;
        } catch (int) {
          weft_yield();
          ASSERT_EQ(std::uncaught_exceptions(), 0);
        }
      }
    }
  });
}

TEST_P(Identity, EndsFromTheMiddle) {
  in_each(8, [](int i) {
    here() = i;
    if (weft::rt::san::kOwnThreadLocals) weft_exit();  // AddressSanitizer misses the exception, which nobody frees
    try {
      throw 1;
    } catch (int) {
      weft_exit();
    }
  });
  in_each(8, [](int) {
    EXPECT_EQ(here(), 7);
    EXPECT_EQ(std::uncaught_exceptions(), 0);
  });
}

TEST_P(Identity, ItWaitsInEveryWay) {
  weft::mutex mutex;
  weft::barrier barrier(8);
  std::atomic<int> sum{0};
  in_each(8, [&](int i) {
    here() = i;
    for (int round = 0; round < 50; ++round) {
      const std::lock_guard hold(mutex);
      sum += here();
      weft_yield();
      ASSERT_EQ(here(), i);
    }
    barrier.arrive_and_wait();
    ASSERT_EQ(here(), i);
    weft::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_EQ(here(), i);
    in_ult([] { ASSERT_EQ(weft_is_ult(weft_self()), true); });
    in_tasklet([] {});
    ASSERT_EQ(here(), i);
  });
  EXPECT_EQ(sum, 50 * 28);
}

// What it joins would run on its stack otherwise, and so on its identity.
TEST_P(Identity, ItsChildrenHaveThatOfTheirWorker) {
  in_each(2, [](int) {
    const pthread_t self = pthread_self();
    for (int i = 0; i < 20; ++i) {
      in_ult([self] { EXPECT_FALSE(pthread_equal(pthread_self(), self)); });
    }
  });
}

TEST_P(Identity, OfAThread) {
  weft::thread thread(weft::attributes{.name = "own", .identity = WEFT_IDENTITY_OWN}, [] {
    EXPECT_EQ(here(), 7);
    here() = 8;
    weft_yield();
    EXPECT_EQ(here(), 8);
  });
  thread.join();
}

TEST_P(Identity, WithAFloatingPointEnvironment) {
  weft_unit_attr_t attr = own_identity();
  attr.fp_environment = WEFT_FP_OWN;
  in_ult([] {
    here() = 3;
    weft_yield();
    EXPECT_EQ(here(), 3);
  }, &attr);
}

TEST_P(Identity, BesideOnesWithAFloatingPointEnvironment) {
  const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  for (int i = 0; i < 20; ++i) {
    const bool own = i % 4 != 0;  // the others share what main has
    const int mode = own ? modes[i % 4 - 1] : FE_TONEAREST;
    weft_unit_attr_t attr = own_identity();
    if (own) attr.fp_environment = WEFT_FP_OWN;
    calls.push_back(std::make_unique<Call>([own, mode] {
      if (own) std::fesetround(mode);
      for (int k = 0; k < 100; ++k) {
        weft_yield();
        ASSERT_EQ(std::fegetround(), mode);
      }
    }));
    units.push_back(calls.back()->ult(&attr));
  }
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
}

TEST_P(Identity, OnMemoryOfTheProgram) {
  weft_unit_attr_t attr = own_identity();
  std::vector<char> memory(128 * 1024);
  attr.stack_memory = memory.data();
  attr.stack_size = memory.size();
  in_ult([] {
    watched();
    weft_yield();
  }, &attr);
}

TEST_P(Identity, CancelledBeforeItBegins) {
  const weft_unit_attr_t attr = own_identity();
  for (int i = 0; i < 10; ++i) {
    Call call([] {});
    weft_unit_t unit = call.ult(&attr);
    EXPECT_TRUE(ok(weft_cancel(unit)));
    EXPECT_TRUE(ok(weft_free(&unit)));
  }
}

TEST_P(Identity, NotForATasklet) {
  const weft_unit_attr_t attr = own_identity();
  weft_unit_t unit = nullptr;
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_tasklet_create([](void*) {}, nullptr, &attr, &unit)));
  weft_unit_attr_t wrong = WEFT_UNIT_ATTR_INIT;
  wrong.identity = static_cast<weft_identity_t>(9);
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_ult_create([](void*) {}, nullptr, &wrong, &unit)));
}

TEST_P(Identity, FromAKernelThread) {
  on_klt([this] {
    in_each(4, [](int) {
      watched();
      weft_yield();
    });
  });
}

TEST_P(Identity, OneThatIsNeverFreedGoesWithTheRuntime) {
  const weft_unit_attr_t attr = own_identity();
  Call call([] { watched(); });
  weft_unit_t unit = call.ult(&attr);
  EXPECT_TRUE(ok(weft_join(unit)));
}

// ---- fork()

void in_child(int i) {
  CHILD_CHECK(here() == i);
  CHILD_CHECK(sched_getcpu() >= 0);
  std::vector<std::string> strings;
  for (int n = 0; n < 1000; ++n) strings.push_back(std::string(static_cast<size_t>(n), 'x'));
  strings.clear();
  pthread_mutexattr_t robust;
  pthread_mutexattr_init(&robust);
  pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_t mutex;
  pthread_mutex_init(&mutex, &robust);
  CHILD_CHECK(pthread_mutex_lock(&mutex) == 0);
  CHILD_CHECK(pthread_mutex_unlock(&mutex) == 0);
  if (kChildMayStartThreads) {
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int n = 0; n < 8; ++n) threads.emplace_back([&] { wrong += here() != 7; });
    for (auto& thread : threads) thread.join();
    CHILD_CHECK(wrong == 0);
  }
  std::atomic<int> right{0};
  Call worker_identity([&] {
    weft_yield();
    ++right;
  });
  Call own([&] {
    right += here() == 7;
    here() = 1;
    weft_yield();
    right += here() == 1;
  });
  const weft_unit_attr_t attr = own_identity();
  std::vector<weft_unit_t> units{worker_identity.ult(), own.ult(&attr), own.ult(&attr)};
  CHILD_OK(weft_free_many(units.size(), units.data()));
  CHILD_CHECK(right == 5);
  CHILD_CHECK(here() == i);
}

TEST_P(Identity, Forks) {
  in_each(6, [](int i) {
    here() = i;
    weft_yield();
    EXPECT_EQ(run_in_child([i] {
      in_child(i);
      if (i == 0) {  // and once more
        CHILD_CHECK(run_in_child([i] { in_child(i); }) == 0);
      }
    }), 0);
    EXPECT_EQ(here(), i);
    weft_yield();
    EXPECT_EQ(here(), i);
  });
}

TEST_P(Identity, StaysBehindInTheChildOfMain) {
  const weft_unit_attr_t attr = own_identity();
  Call ends([] { watched(); });
  weft_unit_t ended = ends.ult(&attr);
  EXPECT_TRUE(ok(weft_join(ended)));
  std::atomic<bool> go{false};
  Call waits([&] {
    while (!go) weft_yield();
  });
  weft_unit_t waiting = waits.ult(&attr);
  EXPECT_EQ(run_in_child([&] {
    CHILD_CHECK(weft_free(&waiting) == WEFT_ERR_FORKED);
    CHILD_OK(weft_free(&ended));
    in_child(here());
    CHILD_OK(weft_finalize());
  }), 0);
  go = true;
  EXPECT_TRUE(ok(weft_free(&waiting)));
  EXPECT_TRUE(ok(weft_free(&ended)));
}

struct Told {
  char* low;
  size_t size;
  bool has(const void* address) const { return static_cast<size_t>(static_cast<const char*>(address) - low) < size; }
};
Told told_stack(pthread_t thread) {
  pthread_attr_t attr;
  void* low = nullptr;
  Told told{};
  EXPECT_EQ(pthread_getattr_np(thread, &attr), 0);
  EXPECT_EQ(pthread_attr_getstack(&attr, &low, &told.size), 0);
  EXPECT_EQ(pthread_attr_destroy(&attr), 0);
  told.low = static_cast<char*>(low);
  return told;
}

// As much of the stack as that, with what is on the way.
[[gnu::noinline]] char* touch_stack(size_t bytes) {
  auto* low = static_cast<char*>(alloca(bytes));
  for (size_t i = 0; i < bytes; i += 4096) static_cast<volatile char*>(low)[bytes - 1 - i] = 1;
  asm volatile("" : : "r"(low) : "memory");
  return low + 4096;
}

bool in_memory(const char* address) {
  unsigned char resident = 0;
  auto* page = reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(address) & ~uintptr_t{4095});
  return mincore(page, 1, &resident) == 0 && (resident & 1) != 0;  // or not mapped at all
}

// Collectors take what is told for all that a thread may keep pointers in.
TEST_P(Identity, TheStackThatIsToldIsItsOwnWithItsVariables) {
  weft_unit_attr_t attr = own_identity();
  attr.stack_size = size_t{1} << 20;
  for (int round = 0; round < 3; ++round) {
    std::atomic<pthread_t> who{};
    std::atomic<char*> place{nullptr};
    std::atomic<int*> its_variable{nullptr};
    Call call([&] {
      char local = 0;
      const Told told = told_stack(pthread_self());
      EXPECT_TRUE(told.has(&local) && told.has(&here()));
      EXPECT_GE(told.size, attr.stack_size);
      who = pthread_self();
      its_variable = &here();
      place = &local;
      while (place != nullptr) weft_yield();
    });
    weft_unit_t unit = call.ult(&attr);
    while (place == nullptr) weft_yield();
    const Told told = told_stack(who);  // from elsewhere
    EXPECT_TRUE(told.has(place) && told.has(its_variable));
    EXPECT_EQ(run_in_child([] {}), 0);
    EXPECT_EQ(told_stack(who).low, told.low);  // as before
    place = nullptr;
    EXPECT_TRUE(ok(weft_free(&unit)));
  }
}

TEST_P(Identity, OfMemoryOfTheProgramThatIsTold) {
  weft_unit_attr_t attr = own_identity();
  std::vector<char> memory(128 * 1024);
  attr.stack_memory = memory.data();
  attr.stack_size = memory.size();
  for (int round = 0; round < 2; ++round) {
    in_ult([] {
      char local = 0;
      EXPECT_TRUE(told_stack(pthread_self()).has(&local));
    }, &attr);
    const weft_unit_attr_t without = own_identity();
    in_ult([] { EXPECT_TRUE(told_stack(pthread_self()).has(&here())); }, &without);
  }
}

TEST_P(Identity, WhoWantsMoreStackHasIt) {
  for (const size_t wish : {size_t{0}, size_t{4} << 20, size_t{0}, size_t{16} << 20, size_t{1} << 20}) {
    weft_unit_attr_t attr = own_identity();
    attr.stack_size = wish;
    in_ult([wish] {
      if (wish != 0) touch_stack(wish - 65536);
      EXPECT_GE(weft_unit_stack_size(weft_self()), std::max(wish, size_t{128 * 1024}));
      EXPECT_EQ(here(), 7);
      here() = 8;
    }, &attr);
  }
}

TEST_P(Identity, WhoWantsMoreStackThanThereIsHarmsNobody) {
  weft_unit_attr_t attr = own_identity();
  attr.stack_size = size_t{1} << 47;
  Call call([] {});
  weft_unit_t unit = nullptr;
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(fails(WEFT_ERR_NO_MEMORY, weft_ult_create(&Call::run, &call, &attr, &unit)));
    in_each(4, [](int) { EXPECT_EQ(here(), 7); });
  }
}

TEST_P(Identity, WhatNobodyNeedsOfAStackIsGivenBack) {
  if (weft::rt::san::kOwnThreadLocals) GTEST_SKIP() << "no identity is used twice";
  weft_unit_attr_t attr = own_identity();
  attr.stack_size = size_t{1} << 20;
  char* deep = nullptr;
  in_ult([&] {
    deep = touch_stack(size_t{1} << 19);
    EXPECT_TRUE(in_memory(deep));
  }, &attr);
  while (in_memory(deep)) usleep(10000);
}

// Those of the others, who have stayed behind, are gone.
TEST_P(Identity, TheStackThatIsToldInAChild) {
  std::atomic<char*> place{nullptr};
  const weft_unit_attr_t attr = own_identity();
  Call call([&] {
    char local = 1;
    place = &local;
    while (place != nullptr) weft_yield();
    EXPECT_EQ(local, 1);
  });
  weft_unit_t unit = call.ult(&attr);
  while (place == nullptr) weft_yield();
  in_ult([&] {
    EXPECT_EQ(run_in_child([&] {
      const auto told_right = [] {
        char local = 0;
        const Told told = told_stack(pthread_self());
        return told.has(&local) && told.has(&here());
      };
      CHILD_CHECK(told_right());
      CHILD_CHECK(!in_memory(place));
      if (!kChildMayStartThreads) return;
      for (int i = 0; i < 20; ++i) {
        bool right = false;
        in_ult([&] {
          touch_stack(size_t{1} << 16);
          right = told_right();
        }, &attr);
        CHILD_CHECK(right);
      }
      CHILD_CHECK(told_right());
    }), 0);
  }, &attr);
  place = nullptr;
  EXPECT_TRUE(ok(weft_free(&unit)));
}

// ---- under ticks

class IdentityPreempted : public Identity {
 protected:
  void SetUp() override {
    Identity::SetUp();
    if (IsSkipped()) return;
    ASSERT_TRUE(ok(weft_preemption_set_interval(100000)));
    ASSERT_TRUE(ok(weft_preemption_set_mode(WEFT_PREEMPTION_ON)));
  }
  static void churn(int i) {
    here() = i;
    std::vector<std::string> strings;
    for (int round = 0; round < 300; ++round) {
      strings.push_back(std::string(static_cast<size_t>(round), 'x'));
      if (round % 7 == 0) strings.clear();
      char text[64];
      snprintf(text, sizeof text, "%d %f", i, i * 0.5);
      set_errno(i);
      try {
        if (round % 10 == 0) throw i;
      } catch (int caught) {
        ASSERT_EQ(caught, i);
      }
      ASSERT_EQ(here(), i);
      ASSERT_EQ(get_errno(), i);
      if (round % 50 == 0) weft_yield();
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, IdentityPreempted, kWorkerCounts);

TEST_P(IdentityPreempted, InMallocAndStdio) {
  for (int round = 0; round < 5; ++round) in_each(64, churn);
}

// With awareness of blocking they may be preempted by a mere switch, inside malloc too.
TEST_P(IdentityPreempted, InMallocAndStdioBySignalYield) {
  ASSERT_TRUE(ok(weft_preemption_set_default(WEFT_PREEMPTION_SIGNAL_YIELD)));
  ASSERT_TRUE(ok(weft_blocking_set_mode(WEFT_BLOCKING_ON)));
  for (int round = 0; round < 5; ++round) in_each(64, churn);
  EXPECT_TRUE(ok(weft_blocking_set_mode(WEFT_BLOCKING_OFF)));
}

TEST_P(IdentityPreempted, InMallocWithFourKernelThreads) {
  ASSERT_TRUE(ok(weft_preemption_set_default(WEFT_PREEMPTION_SIGNAL_YIELD)));
  ASSERT_TRUE(ok(weft_blocking_set_mode(WEFT_BLOCKING_ON)));
  EXPECT_TRUE(ok(weft_blocking_set_klts(4)));
  for (int round = 0; round < 5; ++round) in_each(64, churn);
  EXPECT_TRUE(ok(weft_blocking_set_klts(512)));
  EXPECT_TRUE(ok(weft_blocking_set_mode(WEFT_BLOCKING_OFF)));
}

TEST_P(IdentityPreempted, BySignalYield) {
  ASSERT_TRUE(ok(weft_preemption_set_default(WEFT_PREEMPTION_SIGNAL_YIELD)));
  in_each(16, [](int i) {
    here() = i;
    volatile double x = i;
    for (int round = 0; round < 200000; ++round) {
      x = x + 1;
      if (round % 1000 == 0) {
        ASSERT_EQ(here(), i);
      }
    }
  });
}

// ---- the pool

TEST(IdentityPool, IsBounded) {
  setenv("WEFT_IDENTITY_LIMIT", "3", 1);
  ASSERT_TRUE(ok(weft_initialize(nullptr)));
  if (supported()) {
    const weft_unit_attr_t attr = own_identity();
    Call call([] { weft_yield(); });
    std::vector<weft_unit_t> units;
    for (int i = 0; i < 3; ++i) units.push_back(call.ult(&attr));
    weft_unit_t more = nullptr;
    EXPECT_TRUE(fails(WEFT_ERR_LIMIT, weft_ult_create(&Call::run, &call, &attr, &more)));
    weft_identity_info_t info;
    EXPECT_TRUE(ok(weft_identity_info(&info)));
    EXPECT_EQ(info.limit, 3u);
    EXPECT_EQ(info.in_use, 3u);
    EXPECT_TRUE(ok(weft_free(&units[0])));
    EXPECT_TRUE(ok(weft_ult_create(&Call::run, &call, &attr, &units[0])));
    EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  }
  EXPECT_TRUE(ok(weft_finalize()));
  unsetenv("WEFT_IDENTITY_LIMIT");
}

TEST(IdentityPool, GrowsAndShrinks) {
  ASSERT_TRUE(ok(weft_initialize(nullptr)));
  if (supported()) {
    const weft_unit_attr_t attr = own_identity();
    std::vector<weft_unit_t> units(200);
    for (auto& unit : units) ASSERT_TRUE(ok(weft_ult_create([](void*) {}, nullptr, &attr, &unit)));
    EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
    weft_identity_info_t info;
    EXPECT_TRUE(wait_until([&] {
      EXPECT_TRUE(ok(weft_identity_info(&info)));
      return info.parked <= 40;
    }));
    EXPECT_EQ(info.in_use, 0u);
  }
  EXPECT_TRUE(ok(weft_finalize()));
}

TEST(IdentityPool, StartsAnewWithTheRuntime) {
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(ok(weft_initialize(nullptr)));
    if (supported()) {
      const weft_unit_attr_t attr = own_identity();
      in_ult([] { EXPECT_EQ(here(), 7); here() = 1; }, &attr);
    }
    EXPECT_TRUE(ok(weft_finalize()));
  }
}

// The kernel's word on the signal of the C library's by which it reaches all threads.
uintptr_t handler_of_set_id() {
  struct {
    uintptr_t handler, flags, restorer;
    uint64_t mask;
  } now{};
  EXPECT_EQ(syscall(SYS_rt_sigaction, 33, nullptr, &now, sizeof now.mask), 0);
  return now.handler;
}

TEST(IdentityPool, GivesTheHandlerOfSetuidBack) {
  std::thread([] {}).join();  // the C library sets it with the first thread
  const uintptr_t before = handler_of_set_id();
  ASSERT_TRUE(ok(weft_initialize(nullptr)));
  if (supported()) {
    const weft_unit_attr_t attr = own_identity();
    in_ult([] { EXPECT_EQ(setgid(getgid()), 0); }, &attr);
    EXPECT_NE(handler_of_set_id(), before);
  }
  EXPECT_TRUE(ok(weft_finalize()));
  EXPECT_EQ(handler_of_set_id(), before);
}

}  // namespace
