// Which CPUs workers get, and in which order.

#include "os/topology.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <string>
#include <thread>

namespace weft::rt {
namespace {

namespace fs = std::filesystem;

CpuSet set_of(std::initializer_list<int> cpus) {
  CpuSet set;
  for (const int cpu : cpus) set.add(cpu);
  return set;
}

CpuSet first_cpus(int count) {
  CpuSet set;
  for (int cpu = 0; cpu < count; ++cpu) set.add(cpu);
  return set;
}

std::vector<int> order(const Topology& topology) {
  std::vector<int> cpus;
  for (const Pu& pu : topology.pus) cpus.push_back(pu.cpu);
  return cpus;
}

TEST(Topology, HoldsWhatTheThreadMayUse) {
  CpuSet allowed;
  ASSERT_EQ(get_affinity(allowed), 0);
  const Topology* topology = read_topology();
  ASSERT_NE(topology, nullptr);
  EXPECT_EQ(static_cast<int>(topology->pus.size()), allowed.count());
  std::set<int> seen;
  for (const Pu& pu : topology->pus) {
    EXPECT_TRUE(allowed.contains(pu.cpu));
    EXPECT_TRUE(seen.insert(pu.cpu).second) << pu.cpu << " twice";
  }
  EXPECT_GE(topology->nodes, 1);
}

TEST(Topology, HwlocAgreesOnTheCpus) {
  CpuSet allowed;
  ASSERT_EQ(get_affinity(allowed), 0);
  const Topology by_hwloc = topology_by_hwloc(allowed);
  const std::vector<int> cpus = order(by_hwloc);
  EXPECT_EQ(std::set<int>(cpus.begin(), cpus.end()).size(),
            static_cast<std::size_t>(allowed.count()));
}

TEST(Topology, HwlocAgreesOnWhatIsShared) {
  CpuSet allowed;
  ASSERT_EQ(get_affinity(allowed), 0);
  const std::optional<Topology> by_sysfs = topology_by_sysfs(allowed);
  if (!by_sysfs) GTEST_SKIP() << "sysfs does not tell";
  const auto by_cpu = [](Topology topology) {
    std::sort(topology.pus.begin(), topology.pus.end(), [](const Pu& a, const Pu& b) { return a.cpu < b.cpu; });
    return topology.pus;
  };
  const std::vector<Pu> ours = by_cpu(*by_sysfs);
  const std::vector<Pu> theirs = by_cpu(topology_by_hwloc(allowed));
  ASSERT_EQ(ours.size(), theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    EXPECT_EQ(ours[i].node, theirs[i].node) << "CPU " << ours[i].cpu;
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_EQ(ours[i].core == ours[j].core, theirs[i].core == theirs[j].core) << "CPUs " << ours[i].cpu << ", " << ours[j].cpu;
    }
  }
}

class MadeUpSysfs : public testing::Test {
 protected:
  MadeUpSysfs() {
    std::string pattern = (fs::temp_directory_path() / "weft-sysfs-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
  }
  ~MadeUpSysfs() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    const fs::path file = root_ + "/devices/system/" + path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  void write_siblings(std::initializer_list<const char*> lists) const {
    int cpu = 0;
    for (const char* list : lists) write("cpu/cpu" + std::to_string(cpu++) + "/topology/thread_siblings_list", list);
  }

  std::string root_;
};

TEST_F(MadeUpSysfs, SiblingsFarFromEachOther) {
  write("node/online", "0-1");
  write("node/node0/cpulist", "0-1,4-5");
  write("node/node1/cpulist", "2-3,6-7");
  write("cpu/smt/active", "1");
  write_siblings({"0,4", "1,5", "2,6", "3,7", "0,4", "1,5", "2,6", "3,7"});
  const std::optional<Topology> topology = topology_by_sysfs(first_cpus(8), root_);
  ASSERT_TRUE(topology);
  EXPECT_EQ(order(*topology), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(topology->nodes, 2);
  EXPECT_EQ(topology->pus[2].node, 1);
  EXPECT_EQ(topology->pus[3].core, topology->pus[7].core);
  const std::optional<Topology> some = topology_by_sysfs(set_of({1, 2, 5, 7}), root_);
  ASSERT_TRUE(some);
  EXPECT_EQ(order(*some), (std::vector<int>{1, 2, 7, 5}));
}

TEST_F(MadeUpSysfs, NodesThatTakeTurns) {
  write("node/online", "0,2");
  write("node/node0/cpulist", "0,2");
  write("node/node2/cpulist", "1,3");
  write("cpu/smt/active", "0");
  const std::optional<Topology> topology = topology_by_sysfs(first_cpus(4), root_);
  ASSERT_TRUE(topology);
  EXPECT_EQ(order(*topology), (std::vector<int>{0, 2, 1, 3}));
  EXPECT_EQ(topology->pus[2].node, 2);
}

TEST_F(MadeUpSysfs, ANodeOfMemoryAlone) {
  write("node/online", "0-1");
  write("node/node0/cpulist", "0-1");
  write("node/node1/cpulist", "");
  write("cpu/smt/active", "0");
  const std::optional<Topology> topology = topology_by_sysfs(first_cpus(2), root_);
  ASSERT_TRUE(topology);
  EXPECT_EQ(topology->nodes, 1);
}

TEST_F(MadeUpSysfs, AnOldKernel) {  // without NUMA, and before 4.19
  write_siblings({"0-1", "0-1", "2-3", "2-3"});
  const std::optional<Topology> topology = topology_by_sysfs(first_cpus(4), root_);
  ASSERT_TRUE(topology);
  EXPECT_EQ(order(*topology), (std::vector<int>{0, 2, 1, 3}));
  EXPECT_EQ(topology->nodes, 1);
}

TEST_F(MadeUpSysfs, SaysTooLittle) {
  EXPECT_FALSE(topology_by_sysfs(first_cpus(2), root_));
  write_siblings({"0"});
  EXPECT_FALSE(topology_by_sysfs(first_cpus(2), root_));
  write_siblings({"0", "nonsense"});
  EXPECT_FALSE(topology_by_sysfs(first_cpus(2), root_));
  write_siblings({"0", "1"});
  EXPECT_TRUE(topology_by_sysfs(first_cpus(2), root_));
  write("node/online", "0-1");
  EXPECT_FALSE(topology_by_sysfs(first_cpus(2), root_));
  write("node/node0/cpulist", "0");
  write("node/node1/cpulist", "");
  EXPECT_FALSE(topology_by_sysfs(first_cpus(2), root_));
}

TEST(Topology, SpreadsOverCoresFirst) {
  const Topology topology = topology_by_hwloc(first_cpus(8), "node:2 core:2 pu:2");
  EXPECT_EQ(order(topology), (std::vector<int>{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(topology.nodes, 2);
  EXPECT_EQ(topology.pus[1].node, 0);
  EXPECT_EQ(topology.pus[2].node, 1);
  EXPECT_EQ(topology.pus[0].core, topology.pus[4].core);
}

TEST(Topology, LeavesOutWhatTheMaskLeavesOut) {
  const Topology topology = topology_by_hwloc(set_of({1, 2, 3, 7}), "node:2 core:2 pu:2");
  EXPECT_EQ(order(topology), (std::vector<int>{1, 2, 7, 3}));
}

TEST(Topology, WithoutSmtEachCpuIsACore) {
  const Topology topology = topology_without_smt(set_of({0, 3, 5000}));
  EXPECT_EQ(order(topology), (std::vector<int>{0, 3, 5000}));
  EXPECT_EQ(topology.nodes, 1);
}

TEST(Topology, ABadDescriptionGivesNothing) {
  EXPECT_TRUE(topology_by_hwloc(first_cpus(4), "nonsense").pus.empty());
}

TEST(Topology, IsReadOncePerAffinityMask) {
  std::thread([] {  // a thread of its own: the mask is changed
    const Topology* all = read_topology();
    ASSERT_NE(all, nullptr);
    EXPECT_EQ(all, read_topology());
    const int cpu = all->pus.back().cpu;
    ASSERT_EQ(bind_thread(cpu), 0);
    const Topology* one = read_topology();
    ASSERT_NE(one, nullptr);
    EXPECT_EQ(order(*one), std::vector<int>{cpu});
  })
      .join();
}

TEST(Topology, AffinityCanBeGivenBack) {
  std::thread([] {
    CpuSet before;
    CpuSet after;
    ASSERT_EQ(get_affinity(before), 0);
    ASSERT_EQ(bind_thread(read_topology()->pus.front().cpu), 0);
    ASSERT_EQ(get_affinity(after), 0);
    EXPECT_EQ(after.count(), 1);
    ASSERT_EQ(set_affinity(before), 0);
    ASSERT_EQ(get_affinity(after), 0);
    EXPECT_TRUE(before == after);
  }).join();
}

TEST(Topology, BindingToACpuThatIsNotThereFails) {
  std::thread([] { EXPECT_EQ(bind_thread(kMaxCpus - 1), EINVAL); }).join();
}

TEST(Topology, SelectKeepsTheOrderAskedFor) {
  const Topology topology = topology_without_smt(first_cpus(4));
  const std::vector<Pu> selected = select_pus(topology, {3, 9, 1});
  ASSERT_EQ(selected.size(), 2u);
  EXPECT_EQ(selected[0].cpu, 3);
  EXPECT_EQ(selected[1].cpu, 1);
}

TEST(Topology, UsableCpusFollowsTheQuota) {
  const Topology topology = topology_without_smt(first_cpus(8));
  EXPECT_EQ(usable_cpus(topology, std::numeric_limits<double>::infinity()), 8);
  EXPECT_EQ(usable_cpus(topology, 100), 8);
  EXPECT_EQ(usable_cpus(topology, 2.5), 3);
  EXPECT_EQ(usable_cpus(topology, 2), 2);
  EXPECT_EQ(usable_cpus(topology, 0.1), 1);
  EXPECT_EQ(usable_cpus(Topology{}, 4), 1);
}

}  // namespace
}  // namespace weft::rt
