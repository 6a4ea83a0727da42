// The names of the error codes, and the exported variables.
#include <cstring>

#include "support/abt_fixture.hpp"

namespace {

using namespace weft_test;

TEST(AbtError, NamesEveryCode) {
  in_and_out_of_runtime([] {
    char name[64];
    size_t length = 0;
    for (int code = ABT_SUCCESS; code <= ABT_ERR_INV_POOL_USER_DEF; ++code) {
      ASSERT_TRUE(abt_ok(ABT_error_get_str(code, name, &length)));
      EXPECT_EQ(std::strlen(name), length);
      EXPECT_EQ(std::strncmp(name, code == 0 ? "ABT_SUCCESS" : "ABT_ERR_", 8), 0) << name;
    }
    EXPECT_STREQ(name, "ABT_ERR_INV_POOL_USER_DEF");
  });
}

TEST(AbtError, LeavesOutWhatIsNotAskedFor) {
  size_t length = 0;
  EXPECT_TRUE(abt_ok(ABT_error_get_str(ABT_ERR_MEM, nullptr, &length)));
  EXPECT_EQ(length, std::strlen("ABT_ERR_MEM"));
  char name[16];
  EXPECT_TRUE(abt_ok(ABT_error_get_str(ABT_ERR_MEM, name, nullptr)));
  EXPECT_STREQ(name, "ABT_ERR_MEM");
}

TEST(AbtError, RefusesOtherNumbers) {
  constexpr int kUnknown = kAbt20 ? ABT_ERR_INV_ARG : ABT_ERR_OTHER;
  for (const int code : {-1, ABT_ERR_INV_POOL_USER_DEF + 1, 1 << 30}) {
    EXPECT_TRUE(abt_fails(kUnknown, ABT_error_get_str(code, nullptr, nullptr)));
  }
}

TEST(AbtData, HasTheNumbersThatProgramsHaveCompiledIn) {
  EXPECT_EQ(ABT_sched_config_var_end.idx, -1);
  EXPECT_EQ(ABT_sched_config_access.idx, -2);
  EXPECT_EQ(ABT_sched_config_automatic.idx, -3);
  EXPECT_EQ(ABT_sched_basic_freq.idx, -4);
  EXPECT_EQ(ABT_pool_config_automatic.key, -2);
  for (const ABT_sched_config_var& var : {ABT_sched_config_access, ABT_sched_config_automatic, ABT_sched_basic_freq}) {
    EXPECT_EQ(var.type, ABT_SCHED_CONFIG_INT);
  }
  EXPECT_EQ(ABT_pool_config_automatic.type, ABT_POOL_CONFIG_INT);
}

}  // namespace
