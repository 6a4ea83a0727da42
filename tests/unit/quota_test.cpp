// CPU quotas of cgroups, read from a made-up file system.

#include "os/quota.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

namespace weft::rt {
namespace {

namespace fs = std::filesystem;

class Quota : public testing::Test {
 protected:
  Quota() {
    std::string pattern = (fs::temp_directory_path() / "weft-quota-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
  }
  ~Quota() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }

  void use_v2(const std::string& cgroup, const std::string& mounted = "/") {
    write("/proc/self/cgroup", "0::" + cgroup + "\n");
    write("/proc/self/mountinfo",
          "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
          "41 31 0:38 " +
              mounted + " /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n");
  }

  void use_v1(const std::string& cgroup, const std::string& mounted = "/") {
    write("/proc/self/cgroup", "5:memory:/elsewhere\n4:cpu,cpuacct:" + cgroup + "\n3:cpuset:/\n");
    write("/proc/self/mountinfo",
          "33 31 0:30 / /cg/cpuset rw - cgroup cgroup rw,cpuset\n"
          "32 31 0:29 " +
              mounted + " /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n");
  }

  void limit_v1(const std::string& directory, const std::string& quota, const std::string& period) {
    write(directory + "/cpu.cfs_quota_us", quota + "\n");
    write(directory + "/cpu.cfs_period_us", period + "\n");
  }

  double quota() const { return cpu_quota(root_); }

  std::string root_;
};

TEST_F(Quota, NoneWithoutCgroups) { EXPECT_TRUE(std::isinf(quota())); }

TEST_F(Quota, OfThisMachineIsPositive) { EXPECT_GT(cpu_quota(), 0); }

TEST_F(Quota, V2OwnGroup) {
  use_v2("/app");
  write("/sys/fs/cgroup/app/cpu.max", "150000 100000\n");
  EXPECT_DOUBLE_EQ(quota(), 1.5);
}

TEST_F(Quota, V2WithoutLimit) {
  use_v2("/app");
  write("/sys/fs/cgroup/app/cpu.max", "max 100000\n");
  EXPECT_TRUE(std::isinf(quota()));
}

TEST_F(Quota, V2AnAncestorMayGrantLess) {
  use_v2("/slice/app/job");
  write("/sys/fs/cgroup/slice/cpu.max", "200000 100000\n");
  write("/sys/fs/cgroup/slice/app/cpu.max", "max 100000\n");
  write("/sys/fs/cgroup/slice/app/job/cpu.max", "400000 100000\n");
  EXPECT_DOUBLE_EQ(quota(), 2);
}

TEST_F(Quota, V2TheMountPointItselfCounts) {
  use_v2("/app");
  write("/sys/fs/cgroup/cpu.max", "50000 100000\n");
  EXPECT_DOUBLE_EQ(quota(), 0.5);
}

TEST_F(Quota, V2PartOfTheTreeMounted) {
  use_v2("/docker/box/app", "/docker/box");
  write("/sys/fs/cgroup/app/cpu.max", "300000 100000\n");
  write("/sys/fs/cgroup/docker/box/app/cpu.max", "100000 100000\n");  // not ours
  EXPECT_DOUBLE_EQ(quota(), 3);
}

TEST_F(Quota, V2GroupOutsideTheMount) {
  use_v2("/docker/boxer/app", "/docker/box");
  write("/sys/fs/cgroup/cpu.max", "300000 100000\n");
  write("/sys/fs/cgroup/er/app/cpu.max", "100000 100000\n");
  EXPECT_DOUBLE_EQ(quota(), 3);
  use_v2("/../other");
  EXPECT_DOUBLE_EQ(quota(), 3);
}

TEST_F(Quota, V1OwnGroupAndAncestor) {
  use_v1("/a/b");
  limit_v1("/cg/cpu/a/b", "800000", "100000");
  EXPECT_DOUBLE_EQ(quota(), 8);
  limit_v1("/cg/cpu/a", "250000", "50000");
  EXPECT_DOUBLE_EQ(quota(), 5);
}

TEST_F(Quota, V1MinusOneIsNoLimit) {
  use_v1("/");
  limit_v1("/cg/cpu", "-1", "100000");
  EXPECT_TRUE(std::isinf(quota()));
}

TEST_F(Quota, MountPointsWithSpaces) {
  write("/proc/self/cgroup", "0::/\n");
  write("/proc/self/mountinfo", "1 2 0:1 / /my\\040groups rw - cgroup2 none rw\n");
  write("/my groups/cpu.max", "100000 100000\n");
  EXPECT_DOUBLE_EQ(quota(), 1);
}

TEST_F(Quota, RubbishIsNoLimit) {
  use_v2("/app");
  write("/sys/fs/cgroup/app/cpu.max", "lots\n");
  EXPECT_TRUE(std::isinf(quota()));
  write("/sys/fs/cgroup/app/cpu.max", "100000 0\n");
  EXPECT_TRUE(std::isinf(quota()));
  write("/proc/self/cgroup", "0:\n::\n\n");
  write("/proc/self/mountinfo", "- cgroup2\n 1 2 - cgroup2 a b\n");
  EXPECT_TRUE(std::isinf(quota()));
}

}  // namespace
}  // namespace weft::rt
