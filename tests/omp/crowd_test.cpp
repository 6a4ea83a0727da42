// When regions that several of the program's own threads have open count as too many threads.
#include <gtest/gtest.h>

#include "crowd.hpp"

namespace {

using weft::omp::Crowd;

constexpr uint64_t kWindow = Crowd::kWindowNs;
constexpr uint64_t kStart = 100 * kWindow;

struct Root {
  uint64_t window = 0;
};

TEST(OmpCrowd, ThereIsNoneWithoutThreadsOfTheProgramsOwn) {
  Crowd crowd;
  EXPECT_FALSE(crowd.possible());
  crowd.comes();
  crowd.comes();
  EXPECT_TRUE(crowd.possible());
  crowd.goes();
  EXPECT_TRUE(crowd.possible());
  crowd.forget(0);
  EXPECT_FALSE(crowd.possible());
}

TEST(OmpCrowd, RegionsOfTheSameTimeCountTogether) {
  Crowd crowd;
  Root first, second;
  EXPECT_FALSE(crowd.begins(first.window, 2, 3, kStart));
  EXPECT_TRUE(crowd.begins(second.window, 2, 3, kStart + 1));
  EXPECT_TRUE(crowd.begins(first.window, 2, 3, kStart + 2));
}

TEST(OmpCrowd, OneRootCountsOnceHoweverManyRegionsItOpens) {
  Crowd crowd;
  Root root;
  for (uint64_t i = 0; i < 10; ++i) EXPECT_FALSE(crowd.begins(root.window, 2, 3, kStart + i * kWindow / 4));
}

TEST(OmpCrowd, RegionsOfTheWindowBeforeCountToo) {
  Crowd crowd;
  Root first, second;
  EXPECT_FALSE(crowd.begins(first.window, 2, 3, kStart));
  EXPECT_TRUE(crowd.begins(second.window, 2, 3, kStart));
  EXPECT_TRUE(crowd.begins(first.window, 2, 3, kStart + kWindow));
}

TEST(OmpCrowd, WhatWasLongAgoIsForgotten) {
  Crowd crowd;
  Root first, second;
  EXPECT_FALSE(crowd.begins(first.window, 2, 3, kStart));
  EXPECT_TRUE(crowd.begins(second.window, 2, 3, kStart));
  EXPECT_FALSE(crowd.begins(first.window, 2, 3, kStart + 2 * kWindow));
  EXPECT_FALSE(crowd.begins(first.window, 2, 3, kStart + 3 * kWindow));
}

}  // namespace
