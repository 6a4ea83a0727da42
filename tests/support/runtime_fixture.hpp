// runtime_fixture.hpp: what the tests of the C and C++ interfaces share: a fixture that starts the
// runtime for each test and checks at its end that nothing is left alive, and short ways to run
// code in a ULT, in a tasklet or on a kernel thread.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>

#include "weft/weft.h"

namespace weft_test {

// EXPECT_TRUE(ok(weft_join(u))): prints the error's text.
inline testing::AssertionResult ok(int error) {
  if (error == WEFT_OK) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "error " << error << ": " << weft_strerror(error);
}

inline testing::AssertionResult fails(int expected, int error) {
  if (error == expected) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure()
         << "expected error " << expected << " (" << weft_strerror(expected) << "), got " << error
         << " (" << weft_strerror(error) << ")";
}

// Starts the runtime. What a test leaves alive makes weft_finalize(), and so the test, fail.
class RuntimeTest : public testing::Test {
 protected:
  explicit RuntimeTest(unsigned workers = 2) : workers_(workers) {}
  void SetUp() override {
    weft_options_t options{};
    options.workers = workers_;
    ASSERT_TRUE(ok(weft_initialize(&options)));
    ASSERT_EQ(weft_worker_count(), workers_);
  }
  void TearDown() override {
    if (weft_initialized()) {
      EXPECT_TRUE(ok(weft_finalize()));
    }
  }
  unsigned workers() const { return workers_; }

 private:
  unsigned workers_;
};

class OneWorkerTest : public RuntimeTest {
 protected:
  OneWorkerTest() : RuntimeTest(1) {}
};

// The number of workers is the parameter: INSTANTIATE_TEST_SUITE_P(Workers, X, kWorkerCounts).
class WorkersTest : public RuntimeTest, public testing::WithParamInterface<unsigned> {
 protected:
  WorkersTest() : RuntimeTest(GetParam()) {}
};
inline const auto kWorkerCounts = testing::Values(1u, 2u, 4u);

// A function with captures as the function of a unit. Must outlive the unit.
class Call {
 public:
  explicit Call(std::function<void()> f) : f_(std::move(f)) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  weft_unit_t ult(const weft_unit_attr_t* attr = nullptr) {
    weft_unit_t unit = nullptr;
    EXPECT_TRUE(ok(weft_ult_create(&Call::run, this, attr, &unit)));
    return unit;
  }
  weft_unit_t tasklet(const weft_unit_attr_t* attr = nullptr) {
    weft_unit_t unit = nullptr;
    EXPECT_TRUE(ok(weft_tasklet_create(&Call::run, this, attr, &unit)));
    return unit;
  }
  static void run(void* self) { static_cast<Call*>(self)->f_(); }

 private:
  std::function<void()> f_;
};

inline void in_ult(std::function<void()> f, const weft_unit_attr_t* attr = nullptr) {
  Call call(std::move(f));
  weft_unit_t unit = call.ult(attr);
  ASSERT_NE(unit, nullptr);
  EXPECT_TRUE(ok(weft_free(&unit)));
}

inline void in_tasklet(std::function<void()> f) {
  Call call(std::move(f));
  weft_unit_t unit = call.tasklet();
  ASSERT_NE(unit, nullptr);
  EXPECT_TRUE(ok(weft_free(&unit)));
}

// Lets others run until the condition holds; false after a minute, by which it never will. A thousand
// ULTs under ThreadSanitizer on a loaded machine take ten seconds: it sets up each fiber in milliseconds.
template <class P>
bool wait_until(P condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    weft_yield();
  }
  return true;
}

// Runs f on a new kernel thread while the caller lets other units run.
inline void on_klt(const std::function<void()>& f) {
  std::atomic<bool> done = false;
  std::thread klt([&] {
    f();
    done = true;
  });
  while (!done) {
    weft_yield();
  }
  klt.join();
}

inline weft_unit_attr_t default_attr() { return WEFT_UNIT_ATTR_INIT; }

// A pool with a worker of its own that runs nothing else.
class SideWorker {
 public:
  explicit SideWorker(weft_sched_kind_t kind = WEFT_SCHED_BASIC,
                      weft_pool_kind_t pool_kind = WEFT_POOL_FIFO,
                      weft_access_t access = WEFT_ACCESS_MPMC) {
    EXPECT_TRUE(ok(weft_pool_create(pool_kind, access, &pool)));
    EXPECT_TRUE(ok(weft_sched_create(kind, 1, &pool, &sched)));
    EXPECT_TRUE(ok(weft_worker_create(sched, &worker)));
  }
  SideWorker(const SideWorker&) = delete;
  SideWorker& operator=(const SideWorker&) = delete;
  ~SideWorker() {
    EXPECT_TRUE(ok(weft_worker_free(&worker)));
    EXPECT_TRUE(ok(weft_sched_free(&sched)));
    EXPECT_TRUE(ok(weft_pool_free(&pool)));
  }
  weft_unit_attr_t attr() const {
    weft_unit_attr_t a = WEFT_UNIT_ATTR_INIT;
    a.pool = pool;
    return a;
  }

  weft_pool_t pool = nullptr;
  weft_sched_t sched = nullptr;
  weft_worker_t worker = nullptr;
};

}  // namespace weft_test
