// ABT_timer and ABT_get_wtime(), which need no runtime.
#include "support/abt_fixture.hpp"

namespace {

using namespace weft_test;

TEST(AbtTimer, MeasuresWhatLiesBetweenStartAndStop) {
  in_and_out_of_runtime([] {
    ABT_timer timer;
    ASSERT_TRUE(abt_ok(ABT_timer_create(&timer)));
    EXPECT_TRUE(abt_ok(ABT_timer_start(timer)));
    const double begin = ABT_get_wtime();
    while (ABT_get_wtime() - begin < 0.002) {
    }
    const double end = ABT_get_wtime();
    EXPECT_TRUE(abt_ok(ABT_timer_stop(timer)));
    double first = 0;
    EXPECT_TRUE(abt_ok(ABT_timer_read(timer, &first)));
    EXPECT_GE(first, end - begin);
    double again = 0;
    EXPECT_TRUE(abt_ok(ABT_timer_read(timer, &again)));
    EXPECT_EQ(first, again);
    double sum = 1000;
    EXPECT_TRUE(abt_ok(ABT_timer_stop_and_add(timer, &sum)));
    EXPECT_GE(sum, 1000 + first);
    double longer = 0;
    EXPECT_TRUE(abt_ok(ABT_timer_stop_and_read(timer, &longer)));
    EXPECT_GE(longer, first);
    EXPECT_TRUE(abt_ok(ABT_timer_free(&timer)));
    EXPECT_EQ(timer, ABT_TIMER_NULL);
  });
}

TEST(AbtTimer, IsCopiedWithItsTimes) {
  ABT_timer timer;
  ABT_timer copy;
  ASSERT_TRUE(abt_ok(ABT_timer_create(&timer)));
  EXPECT_TRUE(abt_ok(ABT_timer_start(timer)));
  EXPECT_TRUE(abt_ok(ABT_timer_stop(timer)));
  ASSERT_TRUE(abt_ok(ABT_timer_dup(timer, &copy)));
  double one;
  double other;
  EXPECT_TRUE(abt_ok(ABT_timer_read(timer, &one)));
  EXPECT_TRUE(abt_ok(ABT_timer_free(&timer)));
  EXPECT_TRUE(abt_ok(ABT_timer_read(copy, &other)));
  EXPECT_EQ(one, other);
  EXPECT_TRUE(abt_ok(ABT_timer_free(&copy)));
}

TEST(AbtTimer, TimeIsThatOfTheRealClock) {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  EXPECT_NEAR(ABT_get_wtime(), static_cast<double>(now.tv_sec), 10);
}

TEST(AbtTimer, OverheadIsSmallAndNotNegative) {
  double overhead = -1;
  EXPECT_TRUE(abt_ok(ABT_timer_get_overhead(&overhead)));
  EXPECT_GE(overhead, 0);
  EXPECT_LT(overhead, 1e-3);
}

TEST(AbtTimer, NullIsRefused) {
  ABT_timer null = ABT_TIMER_NULL;
  double seconds;
  ABT_timer copy = nullptr;
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_TIMER, ABT_timer_start(null)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_TIMER, ABT_timer_stop(null)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_TIMER, ABT_timer_read(null, &seconds)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_TIMER, ABT_timer_stop_and_read(null, &seconds)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_TIMER, ABT_timer_stop_and_add(null, &seconds)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_TIMER, ABT_timer_dup(null, &copy)));
  if (!kAbt20) {
    EXPECT_EQ(copy, ABT_TIMER_NULL);
  }
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_TIMER, ABT_timer_free(&null)));
}

}  // namespace
