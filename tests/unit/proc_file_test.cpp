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
  const int fd = open("/proc/loadavg", O_RDONLY), zero = open("/dev/zero", O_RDONLY);
  ASSERT_GE(fd, 0);
  const OpenedFile opened(fd);
  EXPECT_TRUE(opened.is(fd));
  EXPECT_FALSE(opened.is(zero));
  EXPECT_EQ(dup2(zero, fd), fd);
  opened.close(fd);
  EXPECT_EQ(close(fd), 0);
  EXPECT_EQ(close(zero), 0);
}

TEST(ProcFiles, TheFileItselfIsClosed) {
  const int fd = open("/proc/loadavg", O_RDONLY);
  const OpenedFile opened(fd);
  opened.close(fd);
  EXPECT_FALSE(opened.is(fd));
  EXPECT_EQ(fcntl(fd, F_GETFD), -1);
}

}  // namespace
