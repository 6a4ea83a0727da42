#include "os/proc_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace {

using namespace weft::rt;

TEST(ProcFiles, HowManyCpusThereAre) { EXPECT_EQ(online_cpus(), static_cast<unsigned long>(sysconf(_SC_NPROCESSORS_ONLN))); }

TEST(ProcFiles, WhoAsksRuns) { EXPECT_GE(runnable_threads(), 1u); }

TEST(ProcFiles, OneThatCannotBeRead) { EXPECT_STREQ(ProcFile("/proc/self/none").text, ""); }

TEST(ProcFiles, AnotherFileUnderTheNumberStays) {
  const int zero = open("/dev/zero", O_RDONLY);
  ASSERT_GE(zero, 0);
  close_kernels_file(zero);
  EXPECT_EQ(close(zero), 0);
  const int load = open("/proc/loadavg", O_RDONLY);
  ASSERT_GE(load, 0);
  close_kernels_file(load);
  EXPECT_EQ(fcntl(load, F_GETFD), -1);
}

}  // namespace
