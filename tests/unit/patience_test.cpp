// Looking on instead of sleeping: os/patience.hpp.
#include <gtest/gtest.h>

#include "os/patience.hpp"

namespace {

using weft::rt::Patience;

constexpr uint64_t kMost = 5'000'000;
constexpr uint64_t kNow = 1'000'000'000;

TEST(Patience, ThereIsNoneBeforeASleep) { EXPECT_FALSE(Patience().any()); }

TEST(Patience, ShortSleepsMakeItAndLongOnesEndIt) {
  Patience patience;
  patience.slept(kMost - 1, kMost, kNow);
  EXPECT_TRUE(patience.any());
  patience.slept(kMost, kMost, kNow);
  EXPECT_FALSE(patience.any());
}

TEST(Patience, ItEndsWhereOneHasLookedInVain) {
  Patience patience;
  patience.slept(0, kMost, kNow);
  uint64_t since = 0;
  EXPECT_TRUE(patience.looks(&since, kMost, kNow));
  EXPECT_EQ(since, kNow);
  EXPECT_TRUE(patience.looks(&since, kMost, kNow + kMost));
  EXPECT_FALSE(patience.looks(&since, kMost, kNow + kMost + 1));
  EXPECT_FALSE(patience.any());
}

TEST(Patience, WhereTheCpuIsWantedForAMomentItEndsForThisTime) {
  Patience patience;
  patience.slept(0, kMost, kNow);
  patience.offered(Patience::kWantedNs - 1, kNow);
  EXPECT_TRUE(patience.any());
  patience.offered(Patience::kWantedNs, kNow);
  EXPECT_FALSE(patience.any());
  patience.slept(0, kMost, kNow);
  EXPECT_TRUE(patience.any());
}

TEST(Patience, WhereOthersComputeItEndsForAWhile) {
  Patience patience;
  patience.slept(0, kMost, kNow);
  patience.offered(Patience::kSharedNs, kNow);
  EXPECT_FALSE(patience.any());
  patience.slept(0, kMost, kNow + Patience::kSharedForNs - 1);
  EXPECT_FALSE(patience.any());
  patience.slept(0, kMost, kNow + Patience::kSharedForNs);
  EXPECT_TRUE(patience.any());
}

}  // namespace
