// Which place each thread of a team gets.
#include <gtest/gtest.h>

#include <string>

#include "places.hpp"

namespace {

using namespace weft::omp;

// "place[first+count]" of each thread.
std::string all(Bind bind, int n, const Placement& parent) {
  std::string text;
  for (int i = 0; i < n; ++i) {
    const Placement got = placement_of(bind, i, n, parent);
    text += (i > 0 ? " " : "") + std::to_string(got.place);
    if (got.first != parent.first || got.count != parent.count)
      text += "[" + std::to_string(got.first) + "+" + std::to_string(got.count) + "]";
  }
  return text;
}

constexpr Placement kEight{-1, 0, 8};

TEST(OmpPlaces, Primary) { EXPECT_EQ(all(Bind::kPrimary, 3, {5, 0, 8}), "5 5 5"); }

TEST(OmpPlaces, CloseGoesOnFromTheParentAndAround) {
  EXPECT_EQ(all(Bind::kClose, 4, kEight), "0 1 2 3");
  EXPECT_EQ(all(Bind::kClose, 4, {6, 0, 8}), "6 7 0 1");
  EXPECT_EQ(all(Bind::kClose, 3, {5, 4, 2}), "5 5 4");
  EXPECT_EQ(all(Bind::kTrue, 2, kEight), "0 1");
}

TEST(OmpPlaces, CloseWithMoreThreadsThanPlaces) {
  EXPECT_EQ(all(Bind::kClose, 8, {-1, 0, 4}), "0 0 1 1 2 2 3 3");
  EXPECT_EQ(all(Bind::kClose, 6, {-1, 0, 4}), "0 0 1 1 2 3");
}

TEST(OmpPlaces, SpreadDividesThePartition) {
  EXPECT_EQ(all(Bind::kSpread, 4, kEight), "0[0+2] 2[2+2] 4[4+2] 6[6+2]");
  EXPECT_EQ(all(Bind::kSpread, 4, {5, 0, 8}), "5[4+2] 6[6+2] 0[0+2] 2[2+2]");
  EXPECT_EQ(all(Bind::kSpread, 3, kEight), "0[0+3] 3[3+3] 6[6+2]");
  EXPECT_EQ(all(Bind::kSpread, 2, {-1, 4, 2}), "4[4+1] 5[5+1]");
}

TEST(OmpPlaces, SpreadWithMoreThreadsThanPlaces) {
  EXPECT_EQ(all(Bind::kSpread, 4, {-1, 0, 2}), "0[0+1] 0[0+1] 1[1+1] 1[1+1]");
}

// How many come before each at its place.
std::string before(Bind bind, int n, const Placement& parent) {
  std::string text;
  for (int i = 0; i < n; ++i) text += std::to_string(placement_of(bind, i, n, parent).before);
  return text;
}

TEST(OmpPlaces, ThreadsOfAPlaceAreNumbered) {
  EXPECT_EQ(before(Bind::kPrimary, 4, {5, 0, 8}), "0123");
  EXPECT_EQ(before(Bind::kClose, 8, {5, 0, 8}), "00000000");
  EXPECT_EQ(before(Bind::kClose, 7, {1, 0, 3}), "0120101");
  EXPECT_EQ(before(Bind::kSpread, 5, {-1, 0, 2}), "01201");
  EXPECT_EQ(before(Bind::kSpread, 2, {-1, 0, 8}), "00");
}

TEST(OmpPlaces, NoneOrNoBinding) {
  EXPECT_EQ(all(Bind::kFalse, 2, {3, 0, 8}), "-1 -1");
  EXPECT_EQ(all(Bind::kClose, 2, {-1, 0, 0}), "-1 -1");
}

}  // namespace
