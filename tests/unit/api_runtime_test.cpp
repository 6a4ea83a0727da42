// Starting and ending the runtime, and what the interface answers while it does not run.
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "support/runtime_fixture.hpp"

namespace {

using namespace weft_test;

void nothing(void*) {}

TEST(ApiRuntime, VersionIsThatOfTheHeader) {
  const std::string expected = std::to_string(WEFT_VERSION_MAJOR) + "." +
                               std::to_string(WEFT_VERSION_MINOR) + "." +
                               std::to_string(WEFT_VERSION_PATCH);
  EXPECT_EQ(weft_version(), expected);
}

TEST(ApiRuntime, EveryErrorHasASentence) {
  for (int e = WEFT_OK; e <= WEFT_ERR_FORKED; ++e) {
    ASSERT_NE(weft_strerror(e), nullptr);
    EXPECT_GT(std::strlen(weft_strerror(e)), 0u) << e;
  }
  for (int e = WEFT_OK; e < WEFT_ERR_FORKED; ++e) {
    EXPECT_STRNE(weft_strerror(e), weft_strerror(e + 1)) << e;
  }
  EXPECT_NE(weft_strerror(-1), nullptr);
  EXPECT_NE(weft_strerror(10000), nullptr);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they need address space themselves
size_t address_space() {
  size_t pages = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%zu", &pages) != 1) std::abort();
  std::fclose(file);
  return pages * 4096;
}

// Whatever weft_initialize() lacks memory for, it leaves nothing behind: it can be called again.
TEST(ApiRuntime, InitialiseWithTooLittleMemory) {
  const auto child = [] {
    rlimit old{};
    getrlimit(RLIMIT_AS, &old);
    weft_options_t options{};
    options.workers = 3;
    int failed = 0;
    for (size_t more = 0; more < size_t{16} << 20; more += size_t{64} << 10) {
      const rlimit little{address_space() + more, old.rlim_max};
      setrlimit(RLIMIT_AS, &little);
      const int error = weft_initialize(&options);
      setrlimit(RLIMIT_AS, &old);
      if (error == WEFT_ERR_NO_MEMORY) {
        ++failed;
      } else if (error != WEFT_OK || weft_finalize() != WEFT_OK) {
        std::_Exit(2);
      }
    }
    if (failed == 0 || weft_initialize(&options) != WEFT_OK) std::_Exit(3);
    int ran = 0;
    Call call([&] { ++ran; });
    weft_unit_t unit = call.ult();
    if (weft_free(&unit) != WEFT_OK || ran != 1 || weft_finalize() != WEFT_OK) std::_Exit(4);
    std::_Exit(0);
  };
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "");
}
#endif

TEST(ApiRuntime, BeforeInitialiseEverythingHasADefinedAnswer) {
  ASSERT_FALSE(weft_initialized());
  weft_unit_t unit = nullptr;
  weft_worker_t worker = nullptr;
  EXPECT_TRUE(fails(WEFT_ERR_UNINITIALIZED, weft_ult_create(nothing, nullptr, nullptr, &unit)));
  EXPECT_TRUE(fails(WEFT_ERR_UNINITIALIZED, weft_ult_create(nothing, nullptr, nullptr, nullptr)));
  EXPECT_TRUE(fails(WEFT_ERR_UNINITIALIZED, weft_tasklet_create(nothing, nullptr, nullptr, &unit)));
  size_t created = 7;
  EXPECT_TRUE(fails(WEFT_ERR_UNINITIALIZED,
                    weft_ult_create_many(1, nothing, nullptr, 0, nullptr, &unit, &created)));
  EXPECT_EQ(created, 0u);
  EXPECT_TRUE(fails(WEFT_ERR_UNINITIALIZED, weft_worker_create(nullptr, &worker)));
  EXPECT_TRUE(fails(WEFT_ERR_UNINITIALIZED, weft_finalize()));
  EXPECT_NE(weft_suspend(), WEFT_OK);
  EXPECT_NE(weft_exit(), WEFT_OK);
  EXPECT_EQ(unit, nullptr);
  EXPECT_EQ(weft_self(), nullptr);
  EXPECT_EQ(weft_worker_self(), nullptr);
  EXPECT_EQ(weft_worker_get(0), nullptr);
  EXPECT_EQ(weft_worker_count(), 0u);
  weft_yield();
  weft_cancel_point();
}

TEST(ApiRuntime, AfterFinaliseItIsAsBefore) {
  ASSERT_TRUE(ok(weft_initialize(nullptr)));
  ASSERT_TRUE(ok(weft_finalize()));
  EXPECT_FALSE(weft_initialized());
  weft_unit_t unit = nullptr;
  EXPECT_TRUE(fails(WEFT_ERR_UNINITIALIZED, weft_ult_create(nothing, nullptr, nullptr, &unit)));
  EXPECT_TRUE(fails(WEFT_ERR_UNINITIALIZED, weft_finalize()));
  EXPECT_EQ(weft_self(), nullptr);
}

TEST(ApiRuntime, InitialiseNestsAndOnlyTheFirstOptionsCount) {
  weft_options_t options{};
  options.workers = 2;
  ASSERT_TRUE(ok(weft_initialize(&options)));
  options.workers = 3;
  ASSERT_TRUE(ok(weft_initialize(&options)));
  EXPECT_EQ(weft_worker_count(), 2u);
  EXPECT_TRUE(ok(weft_finalize()));
  EXPECT_TRUE(weft_initialized());
  EXPECT_EQ(weft_worker_count(), 2u);
  in_ult([] {});
  EXPECT_TRUE(ok(weft_finalize()));
  EXPECT_FALSE(weft_initialized());
}

TEST(ApiRuntime, DefaultOptionsGiveAWorkerPerUsableCpu) {
  cpu_set_t set;
  ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  ASSERT_TRUE(ok(weft_initialize(nullptr)));
  EXPECT_GE(weft_worker_count(), 1u);
  EXPECT_LE(weft_worker_count(), static_cast<unsigned>(CPU_COUNT(&set)));
  EXPECT_TRUE(ok(weft_finalize()));
}

TEST(ApiRuntime, BadOptionsAreRefused) {
  weft_options_t options{};
  options.stack_size = 100;
  EXPECT_NE(weft_initialize(&options), WEFT_OK);
  EXPECT_FALSE(weft_initialized());
  options = {};
  options.workers = 100'000'000;
  EXPECT_NE(weft_initialize(&options), WEFT_OK);
  EXPECT_FALSE(weft_initialized());
}

TEST(ApiRuntime, StartsAndEndsManyTimes) {
  for (int i = 0; i < 100; ++i) {
    weft_options_t options{};
    options.workers = 1 + i % 4;
    ASSERT_TRUE(ok(weft_initialize(&options)));
    if (i % 3 == 0) {
      in_ult([] { weft_yield(); });
    }
    ASSERT_TRUE(ok(weft_finalize()));
  }
}

// They have woken a ULT, which has ended by the time they look whether anybody is to be told of it. The runtime is not started again before they have
// looked: what they look at would be there again.
TEST(ApiRuntime, EndsWhileThreadsAreInItsFunctions) {
  static weft_mutex_t mutex = WEFT_MUTEX_INIT;
  for (unsigned round = 0; round < 40; ++round) {
    std::atomic<bool> over = false;
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&] {
        while (!over) {
          weft_mutex_lock(&mutex);
          sched_yield();
          weft_mutex_unlock(&mutex);
        }
      });
    }
    weft_options_t options{};
    options.workers = 1 + round % 3;
    options.bind = -1;
    ASSERT_TRUE(ok(weft_initialize(&options)));
    Call call([] {
      for (int k = 0; k < 5; ++k) {
        weft_mutex_lock(&mutex);
        weft_mutex_unlock(&mutex);
      }
    });
    std::vector<weft_unit_t> units;
    for (int k = 0; k < 4; ++k) units.push_back(call.ult());
    for (weft_unit_t& unit : units) EXPECT_TRUE(ok(weft_free(&unit)));
    EXPECT_TRUE(ok(weft_finalize()));
    over = true;
    for (std::thread& each : threads) each.join();
  }
}

TEST(ApiRuntime, StackSizeOptionIsThatOfUlts) {
  weft_options_t options{};
  options.workers = 1;
  options.stack_size = 512 * 1024;
  ASSERT_TRUE(ok(weft_initialize(&options)));
  weft_unit_attr_t attr = default_attr();
  attr.technique = WEFT_TECHNIQUE_SS;
  in_ult(
      [] {
        EXPECT_GE(weft_unit_stack_size(weft_self()), 448u * 1024);
        volatile char space[400 * 1024];
        space[0] = 1;
        space[sizeof space - 1] = 1;
      },
      &attr);
  EXPECT_TRUE(ok(weft_finalize()));
}

TEST(ApiRuntime, BindingCanBeTurnedOff) {
  weft_options_t options{};
  options.workers = 2;
  options.bind = -1;
  ASSERT_TRUE(ok(weft_initialize(&options)));
  for (unsigned i = 0; i < 2; ++i) {
    EXPECT_EQ(weft_worker_cpu(weft_worker_get(i)), -1);
  }
  EXPECT_TRUE(ok(weft_finalize()));
}

TEST(ApiRuntime, TheAffinityOfTheInitialisingThreadIsGivenBack) {
  cpu_set_t before;
  cpu_set_t after;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  ASSERT_TRUE(ok(weft_initialize(nullptr)));
  ASSERT_TRUE(ok(weft_finalize()));
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

class ApiRuntimeRunning : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, ApiRuntimeRunning, kWorkerCounts);

TEST_P(ApiRuntimeRunning, TheCallerIsThePrimaryUlt) {
  const weft_unit_t primary = weft_self();
  ASSERT_NE(primary, nullptr);
  EXPECT_TRUE(weft_is_ult(primary));
  EXPECT_EQ(weft_unit_state(primary), WEFT_UNIT_RUNNING);
  EXPECT_EQ(weft_worker_self(), weft_worker_get(0));
  EXPECT_EQ(weft_worker_index(weft_worker_self()), 0u);
}

TEST_P(ApiRuntimeRunning, ThePrimaryUltStaysOnItsThread) {
  static thread_local int mine = 0;
  mine = 17;
  const long tid = syscall(SYS_gettid);
  const pthread_t self = pthread_self();
  for (int i = 0; i < 2000; ++i) {
    in_ult([] { weft_yield(); });
    weft_yield();
    ASSERT_EQ(syscall(SYS_gettid), tid);
    ASSERT_TRUE(pthread_equal(pthread_self(), self));
    ASSERT_EQ(mine, 17);
  }
}

TEST_P(ApiRuntimeRunning, FinaliseOutsideThePrimaryUltIsRefused) {
  in_ult([] { EXPECT_TRUE(fails(WEFT_ERR_CONTEXT, weft_finalize())); });
  in_tasklet([] { EXPECT_TRUE(fails(WEFT_ERR_CONTEXT, weft_finalize())); });
  on_klt([] { EXPECT_TRUE(fails(WEFT_ERR_CONTEXT, weft_finalize())); });
  EXPECT_TRUE(weft_initialized());
}

TEST_P(ApiRuntimeRunning, FinaliseWithLiveUnitsListsThemAndGoesOn) {
  weft_unit_attr_t attr = default_attr();
  attr.name = "still-here";
  Call call([] { EXPECT_TRUE(ok(weft_suspend())); });
  weft_unit_t unit = call.ult(&attr);
  ASSERT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
  testing::internal::CaptureStderr();
  const int error = weft_finalize();
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(fails(WEFT_ERR_STATE, error));
  EXPECT_NE(text.find("still-here"), std::string::npos) << text;
  EXPECT_TRUE(weft_initialized());
  in_ult([] {});
  EXPECT_TRUE(ok(weft_resume(unit)));
  EXPECT_TRUE(ok(weft_free(&unit)));
}

TEST_P(ApiRuntimeRunning, FinaliseWithAUnitThatDoesNotEndIsRefused) {
  std::atomic<bool> stop{false};
  Call call([&] {
    while (!stop) weft_yield();
  });
  weft_unit_t unit = call.ult();
  testing::internal::CaptureStderr();
  const int error = weft_finalize();
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(fails(WEFT_ERR_STATE, error)) << text;
  EXPECT_TRUE(weft_initialized());
  stop = true;
  EXPECT_TRUE(ok(weft_free(&unit)));
}

// As if the kernel had taken the core from it there.
TEST_P(ApiRuntimeRunning, FinaliseGivesADetachedUnitTimeToEnd) {
  std::atomic<bool> said{false};
  Call call([&] {
    said = true;
    const uint64_t end = weft_now() + 50'000'000;
    while (weft_now() < end) weft_yield();
  });
  EXPECT_TRUE(ok(weft_ult_create(&Call::run, &call, nullptr, nullptr)));
  while (!said) weft_yield();
  EXPECT_TRUE(ok(weft_finalize()));
}

TEST_P(ApiRuntimeRunning, ATerminatedUnitIsNotAlive) {
  Call call([] {});
  const weft_unit_t unit = call.ult();
  EXPECT_TRUE(ok(weft_join(unit)));
  EXPECT_TRUE(ok(weft_finalize()));  // frees what nobody has freed
}

}  // namespace
