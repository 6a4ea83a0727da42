// Places of regions' threads, as the program sees them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "affinity.hpp"
#include "omp/in_parallel.hpp"
#include "region.hpp"

namespace {

using namespace weft::omp;

struct Seen {
  int place = -2;
  int first = -2;
  int count = -2;
};

std::vector<Seen> seen;

void look(Member& member) {
  const Icvs& icvs = icvs_of(member);
  seen[static_cast<size_t>(member.num)] = {member.place, icvs.place_first, icvs.place_count};
}

// Before the first use. A machine with one CPU has one place.
int places_of_machine() {
  ::setenv("OMP_PLACES", "threads", 1);
  return static_cast<int>(device().places.size());
}

TEST(OmpPlacesOfRegions, FollowTheClauseOrTheVariable) {
  const int places = places_of_machine();
  ASSERT_GE(places, 1);
  EXPECT_EQ(this_member().place, 0);
  const int n = 2 * places;
  seen.assign(static_cast<size_t>(n), {});
  in_parallel(RegionWish{.threads = n}, look);
  for (int i = 0; i < n; ++i) EXPECT_EQ(seen[static_cast<size_t>(i)].place, i / 2);
  in_parallel(RegionWish{.threads = n, .bind = static_cast<int>(Bind::kPrimary)}, look);
  for (const Seen& one : seen) EXPECT_EQ(one.place, 0);
  in_parallel(RegionWish{.threads = n, .bind = static_cast<int>(Bind::kSpread)}, look);
  for (int i = 0; i < n; ++i) {
    const Seen& one = seen[static_cast<size_t>(i)];
    EXPECT_EQ(one.place, i / 2);
    EXPECT_EQ(one.first, i / 2);
    EXPECT_EQ(one.count, 1);
  }
  in_parallel(RegionWish{.threads = n}, look);
  for (const Seen& one : seen) EXPECT_EQ(one.count, places);
}

TEST(OmpPlacesOfRegions, EachTeamOfALeagueHasItsPart) {
  const int places = places_of_machine();
  seen.clear();
  league(places, 0, [](void*) {
    Member& first = this_member();
    seen.push_back({first.place, icvs_of(first).place_first, icvs_of(first).place_count});
    // Its region's threads stay there.
    in_parallel(2, [](Member& member) { EXPECT_EQ(member.place, member.team->opener->place); });
  }, nullptr);
  ASSERT_EQ(seen.size(), static_cast<size_t>(places));
  for (int i = 0; i < places; ++i) {
    const Seen& one = seen[static_cast<size_t>(i)];
    EXPECT_EQ(one.place, i);
    EXPECT_EQ(one.first, i);
    EXPECT_EQ(one.count, 1);
  }
  EXPECT_EQ(this_member().place, 0);
}

// Lines of OMP_DISPLAY_AFFINITY.
long shown_by(int threads, Bind bind) {
  testing::internal::CaptureStdout();
  in_parallel(RegionWish{.threads = threads, .bind = static_cast<int>(bind)}, [](Member&) {});
  const std::string lines = testing::internal::GetCapturedStdout();
  return std::count(lines.begin(), lines.end(), '\n');
}

TEST(OmpPlacesOfRegions, AreShownAgainByAllMembersWhenOneIsElsewhere) {
  const int places = places_of_machine();
  device().display_affinity = true;
  EXPECT_EQ(shown_by(3, Bind::kPrimary), 3);
  EXPECT_EQ(shown_by(3, Bind::kPrimary), 0);
  EXPECT_EQ(shown_by(2, Bind::kPrimary), 2);
  EXPECT_EQ(shown_by(2, Bind::kClose), places > 1 ? 2 : 0);  // where member 0 is as before
  EXPECT_EQ(shown_by(2, Bind::kClose), 0);
  device().display_affinity = false;
}

}  // namespace
