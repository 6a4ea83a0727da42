// abt_fixture.hpp: what the tests of Argobots' interface share: a fixture, and short ways to do something in each
// context that the interface tells apart.
#pragma once

#include <cstdlib>
#include <string>

#include "abt.h"
#include "support/runtime_fixture.hpp"

namespace weft_test {

inline std::string abt_name(int error) {
  char name[64] = "no error code";
  static_cast<void>(ABT_error_get_str(error, name, nullptr));
  return name;
}

// EXPECT_TRUE(abt_ok(ABT_mutex_lock(m))), EXPECT_TRUE(abt_fails(ABT_ERR_INV_MUTEX, ABT_mutex_lock(m))).
inline testing::AssertionResult abt_fails(int expected, int error) {
  if (error == expected) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "expected " << abt_name(expected) << ", got " << abt_name(error);
}
inline testing::AssertionResult abt_ok(int error) { return abt_fails(ABT_SUCCESS, error); }

class AbtTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(abt_ok(ABT_init(0, nullptr))); }
  void TearDown() override { EXPECT_TRUE(abt_ok(ABT_finalize())); }
};

// With an environment variable that ABT_init() is to see.
class AbtTestWith : public AbtTest {
 protected:
  AbtTestWith(const char* name, const char* value) : name_(name), value_(value) {}
  void SetUp() override {
    setenv(name_, value_, 1);
    AbtTest::SetUp();
    unsetenv(name_);
  }

 private:
  const char* const name_;
  const char* const value_;
};

inline constexpr bool kAbt20 = ABT_ENABLE_VER_20_API_VAL;

enum class Context { kPrimary, kUlt, kTasklet, kExternal };

// f(context) in each of them, one after the other; called from the primary ULT.
inline void in_each_context(const std::function<void(Context)>& f) {
  f(Context::kPrimary);
  in_ult([&] { f(Context::kUlt); });
  in_tasklet([&] { f(Context::kTasklet); });
  on_klt([&] { f(Context::kExternal); });
}

// Before ABT_init() and after ABT_finalize() too.
inline void in_and_out_of_runtime(const std::function<void()>& f) {
  f();
  ASSERT_TRUE(abt_ok(ABT_init(0, nullptr)));
  in_each_context([&](Context) { f(); });
  ASSERT_TRUE(abt_ok(ABT_finalize()));
  f();
}

// The next to come, as a time for ABT_cond_timedwait() and its like.
inline timespec abt_after_ms(long ms) {
  timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  time.tv_nsec += ms * 1'000'000;
  time.tv_sec += time.tv_nsec / 1'000'000'000;
  time.tv_nsec %= 1'000'000'000;
  return time;
}

}  // namespace weft_test
