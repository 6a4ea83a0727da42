// OMP_AFFINITY_FORMAT: fields, names, widths.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "affinity.hpp"

namespace {

using namespace weft::omp;

struct OmpAffinityFormat : testing::Test {
  OmpAffinityFormat() {
    team.n = 4;
    team.level = 1;
    member.team = &team;
    member.num = 3;
  }
  std::string text(const char* format) { return affinity_text(format, &member); }
  Team team;
  Member member;
};

TEST_F(OmpAffinityFormat, LettersAndNames) {
  EXPECT_EQ(text("%n of %N at %L"), "3 of 4 at 1");
  EXPECT_EQ(text("%{thread_num} of %{num_threads} at %{nesting_level}"), "3 of 4 at 1");
  EXPECT_EQ(text("%t/%T %{team_num}/%{num_teams}"), "0/1 0/1");
  EXPECT_EQ(text("%P"), std::to_string(getpid()));
  EXPECT_EQ(text("%i"), std::to_string(syscall(SYS_gettid)));
  EXPECT_EQ(text("100%%"), "100%");
  EXPECT_EQ(text("%x %{what}"), "undefined undefined");
  EXPECT_EQ(text(""), "");
  EXPECT_FALSE(text("%H").empty());
  EXPECT_FALSE(text("%A").empty());
}

TEST_F(OmpAffinityFormat, Widths) {
  EXPECT_EQ(text("[%4n]"), "[3   ]");
  EXPECT_EQ(text("[%.4n]"), "[   3]");
  EXPECT_EQ(text("[%0.4n]"), "[0003]");
  EXPECT_EQ(text("[%0.4{thread_num}]"), "[0003]");
  EXPECT_EQ(text("[%0.1P]"), "[" + std::to_string(getpid()) + "]");
  team.level = 0;
  EXPECT_EQ(text("[%0.4a]"), "[-001]");
}

TEST_F(OmpAffinityFormat, BrokenOnesDoNoHarm) {
  for (const char* format : {"%", "%0", "%0.", "%{", "%{thread_num", "%.99999999999999999999n", "%%%"}) text(format);
}

TEST(OmpAffinityText, CpusAreShownAsRanges) {
  EXPECT_EQ(text_of_cpus({}), "");
  EXPECT_EQ(text_of_cpus({3}), "3");
  EXPECT_EQ(text_of_cpus({6, 0, 1, 2, 3}), "0-3,6");
}

}  // namespace
