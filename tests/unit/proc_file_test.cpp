#include "os/proc_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace {

using namespace weft::rt;

TEST(ProcFiles, HowManyCpusThereAre) { EXPECT_EQ(online_cpus(), static_cast<unsigned long>(sysconf(_SC_NPROCESSORS_ONLN))); }

TEST(ProcFiles, WhoAsksRuns) { EXPECT_GE(runnable_threads(), 1u); }

TEST(ProcFiles, HowLongTheMachineHasIdled) {
  const uint64_t before = idle_of_machine();
  usleep(50'000);
  const uint64_t idle = idle_of_machine() - before;
  EXPECT_GT(before, 0u);
  EXPECT_LE(idle, online_cpus() * 1000);
}

TEST(ProcFiles, OneThatCannotBeRead) { EXPECT_STREQ(ProcFile("/proc/self/none").text, ""); }

TEST(ProcFiles, AFileIsKnownUnderEachOfItsNumbers) {
  const int load = open("/proc/loadavg", O_RDONLY), again = dup(load), zero = open("/dev/zero", O_RDONLY);
  struct stat file {};
  ASSERT_TRUE(file_status("/proc/loadavg", file));
  EXPECT_TRUE(is_file(load, file));
  EXPECT_TRUE(is_file(again, file));
  EXPECT_FALSE(is_file(zero, file));
  EXPECT_EQ(dup2(zero, load), load);
  EXPECT_FALSE(is_file(load, file));
  for (const int fd : {load, again, zero}) EXPECT_EQ(close(fd), 0);
  EXPECT_FALSE(is_file(load, file));
}

TEST(ProcFiles, NoneStaysOpen) {
  const int before = dup(STDERR_FILENO);
  close(before);
  for (const char* path : {"/proc/loadavg", "/sys/devices/system/cpu/online", "/proc/self/task"}) ProcFile{path};
  const int after = dup(STDERR_FILENO);
  close(after);
  EXPECT_EQ(after, before);
}

}  // namespace
