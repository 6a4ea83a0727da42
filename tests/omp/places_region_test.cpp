// Places of regions' threads, as the program sees them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "region.hpp"

namespace {

using namespace weft::omp;

struct Seen {
  int place = -2;
  int first = -2;
  int count = -2;
};

std::vector<Seen> seen;

void look(Member& member, void*) {
  const Icvs& icvs = icvs_of(member);
  seen[static_cast<size_t>(member.num)] = {member.place, icvs.place_first, icvs.place_count};
}

TEST(OmpPlacesOfRegions, FollowTheClauseOrTheVariable) {
  // Before the first use. A machine with one CPU has one place.
  ::setenv("OMP_PLACES", "threads", 1);
  const int places = static_cast<int>(device().places.size());
  ASSERT_GE(places, 1);
  EXPECT_EQ(this_member().place, 0);
  const int n = 2 * places;
  seen.assign(static_cast<size_t>(n), {});
  parallel({.threads = n}, look, nullptr);
  for (int i = 0; i < n; ++i) EXPECT_EQ(seen[static_cast<size_t>(i)].place, i / 2);
  parallel({.threads = n, .bind = static_cast<int>(Bind::kPrimary)}, look, nullptr);
  for (const Seen& one : seen) EXPECT_EQ(one.place, 0);
  parallel({.threads = n, .bind = static_cast<int>(Bind::kSpread)}, look, nullptr);
  for (int i = 0; i < n; ++i) {
    const Seen& one = seen[static_cast<size_t>(i)];
    EXPECT_EQ(one.place, i / 2);
    EXPECT_EQ(one.first, i / 2);
    EXPECT_EQ(one.count, 1);
  }
  parallel({.threads = n}, look, nullptr);
  for (const Seen& one : seen) EXPECT_EQ(one.count, places);
}

}  // namespace
